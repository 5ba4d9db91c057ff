//! The order of the rows of a FROM tree, and columns that are unique among them: properties of the chosen operators that joins and groups
//! above can use.
//!
//! ```text
//! scan or search       the key of its index, or its reverse; columns that are equal to something do not count
//! filter               that of its input
//! nested loops         that of its left side
//! merge join           that of the side whose rows come out in their order; inner, a key's columns of both sides are one
//! arranged             its sort expressions
//! groups, projection   that of the input, as far as its columns are returned
//! window functions     that of the input, if it is that of every call; else that of the last call, within adjacent parts
//! hash join            none: a hash table that outgrows its memory partitions the rows
//! ```

use engine::catalog::{IndexDefinition, TableDefinition};
use engine::types::SqlType;

use super::order::fixed_column;
use crate::plan::{
    AggregateNode, ArrangeNode, Condition, Expr, ExprKind, JoinKind, JoinMethod, JoinNode, Node, ScanNode, Shape,
    SortKey, SortNode, WindowCall, WindowNode,
};

/// Columns that rows come in the order of.
pub(super) type Order = Vec<OrderedBy>;

/// A column that rows come in the order of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OrderedBy {
    /// The places of the wide row that hold it.
    pub(super) places: Vec<usize>,
    /// Greatest first, NULL last. Else NULL first.
    pub(super) descending: bool,
}

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
pub(super) fn of_filtered<'n>(node: &'n Node, conditions: &mut Vec<&'n Condition>) -> Order {
    if let Node::Scan(scan) = node {
        return of_scan(scan, conditions);
    }
    if let Node::Join(join) = node
        && let JoinMethod::Merge { .. } = join.method
    {
        return of_merge(join);
    }
    if let Node::Arrange(arrange) = node {
        return arranged(arrange);
    }
    if let Node::Sort(sort) = node {
        return sorted(sort);
    }
    if let Node::Window(window) = node {
        return of_windows(window);
    }
    let Some(input) = node.driving() else {
        return Order::new();
    };
    if let Node::Filter(filter) = node {
        conditions.extend(filter.condition.conjuncts());
    }
    if matches!(node, Node::Filter(_) | Node::Join(_)) {
        return of_filtered(input, conditions);
    }
    if let Node::Project(project) = node {
        return shown(&of(input), &project.expressions);
    }
    if let Node::Aggregate(aggregate) = node {
        return shown(&of(input), &aggregate.keys);
    }
    of(input)
}

fn arranged(arrange: &ArrangeNode) -> Order {
    let columns = arrange.keys.iter().map_while(place_of).map(|place| OrderedBy {
        places: vec![place],
        descending: false,
    });
    columns.collect()
}

fn sorted(sort: &SortNode) -> Order {
    let columns = sort.keys.iter().map(|key| OrderedBy {
        places: vec![key.column],
        descending: key.descending,
    });
    columns.collect()
}

/// The order of two sides that are merged.
fn of_merge(join: &JoinNode) -> Order {
    let JoinMethod::Merge { is_descending, is_many } = join.method else {
        return Order::new();
    };
    match join.kind {
        JoinKind::Left | JoinKind::Semi | JoinKind::Anti => of(&join.left),
        JoinKind::Right | JoinKind::RightSemi | JoinKind::RightAnti => {
            let places = join.keys.iter().map_while(|(_, right)| place_of(right));
            let columns = places.map(|place| OrderedBy {
                places: vec![place],
                descending: is_descending,
            });
            columns.collect()
        }
        JoinKind::Full => Order::new(),
        JoinKind::Inner => {
            let mut order = if is_many { of(&join.left) } else { of(&join.right) };
            add_equals(&mut order, &join.keys);
            order
        }
    }
}

/// The order that rows leave window functions in.
fn of_windows(window: &WindowNode) -> Order {
    let Some(last) = window.calls.last() else {
        return Order::new();
    };
    let arrival = window.arrival.as_ref();
    let mut order = arrival.map(|_| of(&window.input)).unwrap_or_default();
    let is_ordered = |number: usize| arrival.is_some_and(|arrival| arrival.are_ordered.get(number) == Some(&true));
    if (0..window.calls.len()).all(is_ordered) {
        return order;
    }
    let is_last_ordered = is_ordered(window.calls.len() - 1);
    // Ranks that outgrow their memory are sorted for every call, for the last one too.
    if is_last_ordered && !window.calls.iter().all(WindowCall::is_ranking) {
        return order;
    }
    let is_together = |by: &OrderedBy| {
        let together = arrival.iter().flat_map(|arrival| &arrival.together);
        together.filter_map(place_of).any(|place| by.places.contains(&place))
    };
    let kept = order.iter().take_while(|by| is_together(by)).count();
    order.truncate(kept);
    if !is_last_ordered {
        add_order_of(last, &mut order);
    }
    order
}

/// Adds the order that a call sorts rows in, behind what they come in the order of.
fn add_order_of(call: &WindowCall, order: &mut Order) {
    let partition = call.partition.iter().map(|key| (key, false));
    let keys = partition.chain(call.order.iter().map(|(key, descending)| (key, *descending)));
    for (key, descending) in keys.filter(|(key, _)| !key.is_same_for_every_row()) {
        let Some(place) = place_of(key).filter(|_| !counts_zeros(key.sql_type)) else {
            return;
        };
        if !order.iter().any(|by| by.places.contains(&place)) {
            let places = vec![place];
            order.push(OrderedBy { places, descending });
        }
    }
}

/// An order by the columns of a row that expressions make of another.
fn shown(order: &Order, expressions: &[Expr]) -> Order {
    let columns = order.iter().map(|by| {
        let is_one = |one: &Expr| place_of(one).is_some_and(|place| by.places.contains(&place));
        let found = expressions.iter().enumerate().filter(|(_, one)| is_one(one));
        OrderedBy {
            places: found.map(|(column, _)| column).collect(),
            descending: by.descending,
        }
    });
    columns.take_while(|by| !by.places.is_empty()).collect()
}

/// How many of a sort's keys rows come in the order of anyway, from the first one on.
pub(super) fn leading(node: &Node, keys: &[SortKey]) -> usize {
    let order = of(node);
    let (mut rest, mut seen) = (order.iter(), Vec::new());
    for (position, key) in keys.iter().enumerate() {
        if seen.contains(&key.column) {
            continue;
        }
        // What stands behind a key does not count.
        if are_unique(node, &seen) {
            return keys.len();
        }
        match rest.next() {
            Some(by) if by.descending == key.descending && by.places.contains(&key.column) => seen.extend(&by.places),
            _ => return position,
        }
    }
    keys.len()
}

/// Those of some expressions by which rows come, in whatever sequence: rows that are the same in them follow each other.
pub(super) fn come_by(node: &Node, keys: &[Expr]) -> Vec<Expr> {
    let (mut found, order) = (Vec::new(), of(node));
    for by in &order {
        let is_key = |key: &&Expr| place_of(key).is_some_and(|place| by.places.contains(&place));
        match keys.iter().find(is_key) {
            Some(key) => found.push(key.clone()),
            None => break,
        }
    }
    found
}

/// Whether the rows of each partition follow each other, in an order.
pub(super) fn come_in_partitions(node: &Node, partition: &[Expr], keys: &[(Expr, bool)]) -> bool {
    if !brings_together(node, partition) {
        return false;
    }
    let is_of_partition = |by: &&OrderedBy| {
        let mut places = partition.iter().filter_map(place_of);
        places.any(|place| by.places.contains(&place))
    };
    let order = of(node);
    let divided = order.iter().take_while(is_of_partition).count();
    let (first, rest) = order.split_at(divided);
    let mut known: Vec<usize> = first.iter().flat_map(|by| by.places.iter().copied()).collect();
    let mut rest = rest.iter();
    for (key, descending) in keys.iter().filter(|(key, _)| !key.is_same_for_every_row()) {
        let Some(place) = place_of(key) else { return false };
        if known.contains(&place) || is_determined(node, &known, place) {
            continue;
        }
        if are_unique(node, &known) {
            return true;
        }
        match rest.next() {
            Some(by) if by.descending == *descending && by.places.contains(&place) => known.extend(&by.places),
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
    for by in &order {
        left.retain(|key| !is_known(key, &known));
        let is_key = |key: &&Expr| place_of(key).is_some_and(|place| by.places.contains(&place));
        if left.is_empty() || !left.iter().any(is_key) {
            break;
        }
        known.extend(&by.places);
    }
    left.retain(|key| !is_known(key, &known));
    left.is_empty()
}

/// Whether all rows that have the same in the places that are known have the same in another: it is a column of a table of which those are a
/// key.
fn is_determined(node: &Node, known: &[usize], place: usize) -> bool {
    let Node::Scan(scan) = node else {
        let mut is_below = false;
        node.for_each_in_row(&mut |below| is_below = is_below || is_determined(below, known, place));
        return is_below;
    };
    let definition = scan.table.table.definition();
    let is_own = (scan.offset..scan.offset + definition.columns.len()).contains(&place);
    // A key that is NULL may be that of a row without partner.
    let is_given = |column: &usize| {
        let is_nullable = definition.columns.get(*column).is_none_or(|column| column.nullable);
        !is_nullable && tells_apart(definition, *column) && known.contains(&(scan.offset + column))
    };
    let mut unique = definition.indexes.iter().filter(|index| index.is_unique_of_all());
    is_own && unique.any(|index| index.keys.iter().all(|(column, _)| is_given(column)))
}

/// Columns that keys set equal are one in an order.
fn add_equals(order: &mut Order, keys: &[(Expr, Expr)]) {
    for (left, right) in keys {
        let (Some(left), Some(right)) = (place_of(left), place_of(right)) else {
            continue;
        };
        for OrderedBy { places, .. } in order.iter_mut() {
            if places.contains(&left) != places.contains(&right) {
                places.push(if places.contains(&left) { right } else { left });
            }
        }
    }
}

fn of_scan(scan: &ScanNode, conditions: &[&Condition]) -> Order {
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
    // Partitions come one after the other.
    let index = index.filter(|index| definition.is_in_order(index));
    let Some(index) = index else { return Order::new() };
    // Entries of one key come in the order of their locators.
    let behind = definition.clustered().filter(|_| !index.unique && index.index_id != 1);
    let behind = behind.map_or(&[][..], |clustered| clustered.keys.as_slice());
    let columns = index.keys.iter().chain(behind);
    let columns = columns.filter(|(column, _)| !fixed.contains(column));
    let columns = columns.take_while(|(column, _)| tells_apart(definition, *column));
    let ordered = columns.map(|(column, descends)| OrderedBy {
        places: vec![scan.offset + column],
        descending: *descends != is_backward,
    });
    ordered.collect()
}

/// Whether an index tells values of a type apart that are equal: binary strings, those in variants too.
pub(super) fn counts_zeros(sql_type: SqlType) -> bool {
    sql_type.is_binary() || sql_type == SqlType::SqlVariant
}

/// Whether an index orders a column, and tells its values apart, as comparisons do: zeros at the end of binary strings count in an index, and
/// nowhere else.
pub(super) fn tells_apart(definition: &TableDefinition, column: usize) -> bool {
    let column = definition.columns.get(column);
    column.is_some_and(|column| !counts_zeros(column.sql_type))
}

/// Ensures that the rows arrive in the order of [`of`], even if the tables change while they are read.
pub(super) fn rely_on(node: &mut Node) {
    if let Node::Scan(scan) = node {
        if let Some(seek) = &mut scan.seek {
            seek.keeps_order = true;
        }
    } else if let Some(input) = node.driving_mut() {
        rely_on(input);
    }
}

/// Whether no two rows of a tree have the same in these places.
pub(super) fn are_unique(node: &Node, places: &[usize]) -> bool {
    if let Shape::Passed(input) = node.shape() {
        return are_unique(input, places);
    }
    if let Node::Join(join) = node {
        return side_of_rows(join).is_some_and(|side| are_unique(side, places));
    }
    if let Node::Aggregate(AggregateNode { keys, sets, .. }) = node {
        // Each group once.
        return sets.is_empty() && (0..keys.len()).all(|key| places.contains(&key));
    }
    let Node::Scan(scan) = node else {
        return matches!(node, Node::Single | Node::Empty);
    };
    let definition = scan.table.table.definition();
    let is_given = |index: &IndexDefinition| {
        let mut keys = index.keys.iter();
        keys.all(|(column, _)| places.contains(&(scan.offset + column)) && tells_apart(definition, *column))
    };
    definition
        .indexes
        .iter()
        .any(|index| index.is_unique_of_all() && is_given(index))
}

/// The side of a join whose rows come out once each, if there is one.
fn side_of_rows(join: &JoinNode) -> Option<&Node> {
    match (join.kind, join.method) {
        (_, JoinMethod::Loop) if join.left.is_single() => Some(&join.right),
        (JoinKind::Semi | JoinKind::Anti, _) => Some(&join.left),
        (JoinKind::RightSemi | JoinKind::RightAnti, _) => Some(&join.right),
        (JoinKind::Inner, JoinMethod::Merge { is_many: false, .. }) => Some(&join.right),
        (JoinKind::Inner | JoinKind::Left | JoinKind::Right | JoinKind::Full, _) => None,
    }
}
