//! Which order the rows of a tree of FROM come in, and which columns no two of them have in common: properties of what was chosen, that joins
//! and groups above can go by.
//!
//! ```text
//! scan or search       the key of its index, forward; columns that are equal to something do not count
//! filter               that of its input
//! nested loops         that of its left side
//! merge join           that of the side whose rows come out in their order; inner, a key's columns of both sides are one
//! arranged             what it is arranged by
//! groups, projection   that of the input, as far as its columns are shown
//! hash join            none: a table that outgrows its memory parts the rows
//! ```

use engine::catalog::{IndexDefinition, TableDefinition};

use super::order::{fixed_column, is_single};
use crate::plan::{Condition, Expr, ExprKind, JoinKind, Node, ScanNode, SortKey};

/// Columns that rows come in the order of, ascending, NULL first: for each the places of the wide row that hold it.
pub(super) type Order = Vec<Vec<usize>>;

/// The place of a column that an expression has the order of: the column, or a whole number that a wider type holds.
pub(super) fn place_of(expression: &Expr) -> Option<usize> {
    match &expression.kind {
        ExprKind::Column(place) => Some(*place),
        ExprKind::Convert {
            operand, style: None, ..
        } => {
            let is_wider = operand.sql_type.is_integer()
                && expression.sql_type.is_integer()
                && operand.sql_type.precision() <= expression.sql_type.precision();
            place_of(operand).filter(|_| is_wider)
        }
        _ => None,
    }
}

/// The order of a tree's rows.
pub(super) fn of(node: &Node) -> Order {
    let mut conditions = Vec::new();
    of_filtered(node, &mut conditions)
}

/// The same below conditions.
pub(super) fn of_filtered(node: &Node, conditions: &mut Vec<Condition>) -> Order {
    match node {
        Node::Filter { input, condition } => {
            conditions.extend(condition.clone().into_conjuncts());
            of_filtered(input, conditions)
        }
        Node::Scan(scan) => of_scan(scan, conditions),
        Node::Loop { left, right, .. } if is_single(left) => of_filtered(right, conditions),
        Node::Loop { left, .. } => of_filtered(left, conditions),
        Node::Arrange { keys, .. } => keys.iter().map_while(place_of).map(|place| vec![place]).collect(),
        Node::Merge {
            left,
            right,
            kind,
            keys,
            is_many,
            ..
        } => {
            let by = |side: fn(&(Expr, Expr)) -> &Expr| -> Order {
                let places = keys.iter().map_while(|key| place_of(side(key)));
                places.map(|place| vec![place]).collect()
            };
            match kind {
                JoinKind::Left | JoinKind::Semi | JoinKind::Anti => of(left),
                JoinKind::Right | JoinKind::RightSemi | JoinKind::RightAnti => by(|(_, right)| right),
                JoinKind::Full => Order::new(),
                JoinKind::Inner => {
                    let mut order = if *is_many { of(left) } else { of(right) };
                    add_equals(&mut order, keys);
                    order
                }
            }
        }
        Node::Project { input, expressions, .. } => shown(&of(input), expressions),
        Node::Aggregate {
            input,
            keys,
            is_stream: true,
            ..
        } => shown(&of(input), keys),
        Node::Distinct {
            input, is_stream: true, ..
        }
        | Node::Top { input, .. }
        | Node::Slice { input, .. } => of(input),
        Node::Sort { keys, .. } => {
            let ascending = keys.iter().take_while(|key| !key.descending);
            ascending.map(|key| vec![key.column]).collect()
        }
        _ => Order::new(),
    }
}

/// An order by the columns of a row that expressions make of another.
fn shown(order: &Order, expressions: &[Expr]) -> Order {
    let columns = order.iter().map(|places| {
        let is_one = |one: &Expr| place_of(one).is_some_and(|place| places.contains(&place));
        let found = expressions.iter().enumerate().filter(|(_, one)| is_one(one));
        found.map(|(column, _)| column).collect::<Vec<_>>()
    });
    columns.take_while(|columns| !columns.is_empty()).collect()
}

/// Whether rows come in the order of a sort's keys.
pub(super) fn satisfies(node: &Node, keys: &[SortKey]) -> bool {
    let order = of(node);
    let (mut rest, mut seen) = (order.iter(), Vec::new());
    for key in keys {
        if seen.contains(&key.column) {
            continue;
        }
        // What stands behind a key does not count.
        if are_unique(node, &seen) {
            return true;
        }
        match rest.next() {
            Some(places) if !key.descending && places.contains(&key.column) => seen.extend(places),
            _ => return false,
        }
    }
    true
}

/// Whether rows that are the same by these expressions follow each other: the order begins with them, in whatever sequence, and those it
/// does not have are known from those it has.
pub(super) fn brings_together(node: &Node, keys: &[Expr]) -> bool {
    let (mut known, order) = (Vec::new(), of(node));
    let is_constant = |key: &Expr| key.is_same_for_every_row();
    let is_known = |key: &Expr, known: &[usize]| {
        place_of(key).is_some_and(|place| known.contains(&place) || is_determined(node, known, place))
    };
    let mut left: Vec<&Expr> = keys.iter().filter(|key| !is_constant(key)).collect();
    for places in &order {
        left.retain(|key| !is_known(key, &known));
        let is_key = |key: &&Expr| place_of(key).is_some_and(|place| places.contains(&place));
        if left.is_empty() || !left.iter().any(is_key) {
            break;
        }
        known.extend(places);
    }
    left.retain(|key| !is_known(key, &known));
    left.is_empty()
}

/// Whether all rows that have the same in the places that are known have the same in another: it is a column of a table of which those are a
/// key.
fn is_determined(node: &Node, known: &[usize], place: usize) -> bool {
    match node {
        Node::Filter { input, .. } | Node::Arrange { input, .. } => is_determined(input, known, place),
        Node::Loop { left, right, .. } | Node::Hash { left, right, .. } | Node::Merge { left, right, .. } => {
            is_determined(left, known, place) || is_determined(right, known, place)
        }
        Node::Scan(scan) => {
            let definition = scan.table.table.definition();
            let is_own = (scan.offset..scan.offset + definition.columns.len()).contains(&place);
            // A key that is NULL may be that of a row without partner.
            let is_given = |column: &usize| {
                let is_nullable = definition.columns.get(*column).is_none_or(|column| column.nullable);
                !is_nullable && tells_apart(definition, *column) && known.contains(&(scan.offset + column))
            };
            let mut unique = definition.indexes.iter().filter(|index| index.unique);
            is_own && unique.any(|index| index.keys.iter().all(|(column, _)| is_given(column)))
        }
        _ => false,
    }
}

/// Columns that keys set equal are one in an order.
fn add_equals(order: &mut Order, keys: &[(Expr, Expr)]) {
    for (left, right) in keys {
        let (Some(left), Some(right)) = (place_of(left), place_of(right)) else {
            continue;
        };
        for places in order.iter_mut() {
            if places.contains(&left) != places.contains(&right) {
                places.push(if places.contains(&left) { right } else { left });
            }
        }
    }
}

fn of_scan(scan: &ScanNode, conditions: &[Condition]) -> Order {
    let definition = scan.table.table.definition();
    let mut fixed: Vec<usize> = conditions
        .iter()
        .filter_map(|one| fixed_column(one, scan.offset))
        .collect();
    let (index, is_backward) = match &scan.seek {
        None => (definition.clustered(), false),
        Some(seek) if !seek.union.is_empty() => (None, false),
        Some(seek) => {
            let index = definition.indexes.get(seek.index);
            if let (Some(index), [range]) = (index, seek.ranges.as_slice()) {
                fixed.extend(index.keys.iter().take(range.equal.len()).map(|(column, _)| *column));
            }
            (index, seek.is_backward)
        }
    };
    let Some(index) = index else { return Order::new() };
    // Entries of one key come in the order of their locators.
    let behind = definition.clustered().filter(|_| !index.unique && index.index_id != 1);
    let behind = behind.map_or(&[][..], |clustered| clustered.keys.as_slice());
    let columns = index.keys.iter().chain(behind);
    let columns = columns.filter(|(column, _)| !fixed.contains(column));
    let ascending =
        columns.take_while(|(column, descends)| *descends == is_backward && tells_apart(definition, *column));
    ascending.map(|(column, _)| vec![scan.offset + column]).collect()
}

/// Whether an index orders a column, and tells its values apart, as comparisons do: zeros at the end of binary strings count in an index, and
/// nowhere else.
fn tells_apart(definition: &TableDefinition, column: usize) -> bool {
    let column = definition.columns.get(column);
    column.is_some_and(|column| !column.sql_type.is_binary())
}

/// Sees to it that the rows come in the order that [`of`] says, whatever changes while they are read.
pub(super) fn rely_on(node: &mut Node) {
    match node {
        Node::Filter { input, .. }
        | Node::Project { input, .. }
        | Node::Top { input, .. }
        | Node::Slice { input, .. } => rely_on(input),
        Node::Loop { left, right, .. } if is_single(left) => rely_on(right),
        Node::Loop { left, .. } => rely_on(left),
        Node::Scan(scan) => {
            if let Some(seek) = &mut scan.seek {
                seek.keeps_order = true;
            }
        }
        _ => {}
    }
}

/// Whether no two rows of a tree have the same in these places.
pub(super) fn are_unique(node: &Node, places: &[usize]) -> bool {
    match node {
        Node::Single | Node::Empty => true,
        Node::Filter { input, .. } | Node::Arrange { input, .. } => are_unique(input, places),
        Node::Loop { left, right, .. } if is_single(left) => are_unique(right, places),
        Node::Loop {
            left,
            kind: JoinKind::Semi | JoinKind::Anti,
            ..
        }
        | Node::Hash {
            left,
            kind: JoinKind::Semi | JoinKind::Anti,
            ..
        }
        | Node::Merge {
            left,
            kind: JoinKind::Semi | JoinKind::Anti,
            ..
        } => are_unique(left, places),
        Node::Hash {
            right,
            kind: JoinKind::RightSemi | JoinKind::RightAnti,
            ..
        }
        | Node::Merge {
            right,
            kind: JoinKind::RightSemi | JoinKind::RightAnti,
            ..
        }
        | Node::Merge {
            right,
            kind: JoinKind::Inner,
            is_many: false,
            ..
        } => are_unique(right, places),
        // Each group once.
        Node::Aggregate { keys, sets, .. } => sets.is_empty() && (0..keys.len()).all(|key| places.contains(&key)),
        Node::Scan(scan) => {
            let definition = scan.table.table.definition();
            let is_given = |index: &IndexDefinition| {
                let mut keys = index.keys.iter();
                keys.all(|(column, _)| places.contains(&(scan.offset + column)) && tells_apart(definition, *column))
            };
            definition.indexes.iter().any(|index| index.unique && is_given(index))
        }
        _ => false,
    }
}
