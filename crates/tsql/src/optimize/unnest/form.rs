//! The join form of a condition with a subquery.

use std::borrow::Cow;
use std::sync::Arc;

use engine::error::Result;

use super::moved::{Moved, is_movable};
use crate::ast::ComparisonOperator as Op;
use crate::plan::{
    AggregateNode, Condition, DerivedNode, DistinctNode, Expr, ExprKind, FromNode, FromUnit, JoinKind, JoinMethods,
    Node, ProjectNode, Quantifier, SortNode, Subquery, TopCount, TopNode,
};

/// A subquery as the right side of a join.
pub(super) struct Join {
    pub(super) right: Node,
    /// Semi or anti.
    pub(super) kind: JoinKind,
    /// What makes a partner.
    pub(super) on: Vec<Condition>,
    /// Width of the row with the right side's places.
    pub(super) width: usize,
    /// Whether the subquery uses the row around it, so that asking it row by row is another way.
    pub(super) is_correlated: bool,
}

/// The FROM around a subquery.
pub(super) struct Around {
    /// Its columns that hold no NULL, by place: those of tables are never NULL, or a condition accepts none.
    filled: Vec<usize>,
}

/// Places of a FROM that are not NULL where its conditions hold.
impl Around {
    pub(super) fn of(from: &FromNode, conditions: &[Condition]) -> Around {
        let mut filled = Vec::new();
        from.units.iter().for_each(|unit| declared(&unit.node, &mut filled));
        conditions.iter().for_each(|condition| accepted(condition, &mut filled));
        Around { filled }
    }

    /// Whether an expression is never NULL.
    fn is_filled(&self, expression: &Expr) -> bool {
        match &expression.kind {
            ExprKind::Constant(value) => !value.is_null(),
            ExprKind::Column(place) => self.filled.contains(place),
            ExprKind::Collate(operand) => self.is_filled(operand),
            ExprKind::Convert {
                operand,
                or_null: false,
                ..
            } => self.is_filled(operand),
            _ => false,
        }
    }
}

/// The places of a source in FROM that hold no NULL in a row for which conditions hold.
pub(in crate::optimize) fn never_null(source: &Node, conditions: &[Condition]) -> Vec<usize> {
    let mut filled = Vec::new();
    declared(source, &mut filled);
    conditions.iter().for_each(|condition| accepted(condition, &mut filled));
    filled
}

/// The places of columns that are declared NOT NULL, and that no outer join makes NULL.
fn declared(node: &Node, filled: &mut Vec<usize>) {
    if let Node::Scan(scan) = node {
        let columns = scan.table.table.definition().columns.iter().enumerate();
        let own = columns.filter(|(_, column)| !column.nullable);
        filled.extend(own.map(|(number, _)| scan.offset + number));
    } else if let Node::From(from) = node {
        from.units.iter().for_each(|unit| declared(&unit.node, filled));
        from.conjuncts.iter().for_each(|condition| accepted(condition, filled));
    } else if let Node::Outer(join) = node
        && join.kind.extends_left()
    {
        declared(&join.left, filled);
    }
}

/// The places of columns for whose NULL a condition does not hold.
fn accepted(condition: &Condition, filled: &mut Vec<usize>) {
    let mut add = |expression: &Expr| {
        if let ExprKind::Column(place) = expression.kind {
            filled.push(place);
        }
    };
    match condition {
        Condition::Compare { left, right, .. } => {
            add(left);
            add(right);
        }
        Condition::Like { operand, .. } | Condition::In { operand, .. } => add(operand),
        Condition::Not(inner) => match &**inner {
            Condition::IsNull(operand) => add(operand),
            Condition::Compare { left, right, .. } => {
                add(left);
                add(right);
            }
            _ => {}
        },
        Condition::And(parts) => parts.iter().for_each(|part| accepted(part, filled)),
        _ => {}
    }
}

/// What is asked of the rows of a subquery.
struct Question<'c> {
    subquery: &'c Subquery,
    kind: JoinKind,
    /// What is compared with the rows' value, and how. None for EXISTS.
    compared: Option<(&'c Expr, Op)>,
    /// Whether the answer is another one where a side is NULL.
    minds_null: bool,
}

impl<'c> Question<'c> {
    fn of(condition: &'c Condition, is_negated: bool) -> Option<Question<'c>> {
        match condition {
            Condition::Not(inner) => Question::of(inner, !is_negated),
            Condition::Exists(subquery) => Some(Question {
                subquery,
                kind: if is_negated { JoinKind::Anti } else { JoinKind::Semi },
                compared: None,
                minds_null: false,
            }),
            Condition::Quantified {
                operand,
                operator,
                quantifier,
                subquery,
            } => {
                let (kind, operator) = match (quantifier, is_negated) {
                    (Quantifier::Any, false) => (JoinKind::Semi, *operator),
                    (Quantifier::Any, true) => (JoinKind::Anti, *operator),
                    (Quantifier::All, false) => (JoinKind::Anti, opposite(*operator)),
                    (Quantifier::All, true) => (JoinKind::Semi, opposite(*operator)),
                };
                Some(Question {
                    subquery,
                    kind,
                    compared: Some((operand, operator)),
                    minds_null: kind == JoinKind::Anti,
                })
            }
            _ => None,
        }
    }
}

/// The comparison that is false where this one is true, and the other way round.
fn opposite(operator: Op) -> Op {
    match operator {
        Op::Equal => Op::NotEqual,
        Op::NotEqual => Op::Equal,
        Op::Less => Op::GreaterOrEqual,
        Op::GreaterOrEqual => Op::Less,
        Op::Greater => Op::LessOrEqual,
        Op::LessOrEqual => Op::Greater,
    }
}

/// The join that a condition is, if it is one, in a row of a width.
///
/// # Errors
/// 8631 when it is nested deeper than there is stack.
pub(super) fn of(condition: &Condition, around: &Around, width: usize) -> Result<Option<Join>> {
    let Some(question) = Question::of(condition, false) else {
        return Ok(None);
    };
    let captures = &question.subquery.captures;
    if captures.iter().any(Expr::contains_query) {
        return Ok(None);
    }
    let is_correlated = captures.iter().any(reads_column);
    if let Some((operand, _)) = question.compared
        && (operand.contains_query() || !reads_column(operand) && !is_correlated)
    {
        return Ok(None);
    }
    let Some(rows) = Rows::of(&question)? else {
        return Ok(None);
    };
    let inner = rows.from;
    for unit in &inner.units {
        if !is_movable(&unit.node)? {
            return Ok(None);
        }
    }
    let is_value_filled = rows
        .value
        .as_ref()
        .is_none_or(|value| Around::of(&inner, &inner.conjuncts).is_filled(value));
    let is_operand_filled = question.compared.is_none_or(|(operand, _)| around.is_filled(operand));
    if question.minds_null && !(is_value_filled && is_operand_filled) {
        return Ok(None);
    }
    let inner = inner.into_owned();
    let moved = Moved { by: width, captures };
    let mut on = Vec::new();
    if let (Some((operand, operator)), Some(mut value)) = (question.compared, rows.value) {
        moved.expression(&mut value)?;
        on.push(Condition::Compare {
            operator,
            left: operand.clone(),
            right: value,
        });
    }
    let inner_width = inner.width.max(rows.width);
    let right = moved_side(inner, &moved, &mut on)?;
    // A subquery that uses nothing of the row around it is run once anyway, and what it found is looked up only by equality.
    let is_join = match is_correlated {
        true => on
            .iter()
            .any(|one| side_of(width, |visit| one.for_each_column(visit)) != Side::Inner),
        false => on.iter().any(|one| is_key(one, width)),
    };
    Ok(is_join.then_some(Join {
        right,
        kind: question.kind,
        on,
        width: width + inner_width,
        is_correlated,
    }))
}

/// The right side that a subquery's FROM is in the row around it. Its conditions stay with it where nothing else has a part in them, and become
/// a part of ON where they compare both sides, or may fail.
fn moved_side(mut inner: FromNode, moved: &Moved<'_>, on: &mut Vec<Condition>) -> Result<Node> {
    let conjuncts = std::mem::take(&mut inner.conjuncts);
    let mut right = Node::From(Box::new(inner));
    moved.node(&mut right)?;
    for mut conjunct in conjuncts {
        moved.condition(&mut conjunct)?;
        let is_inner = side_of(moved.by, |visit| conjunct.for_each_column(visit)) == Side::Inner;
        if let Node::From(inner) = &mut right
            && is_inner
            && !conjunct.can_fail_by_row()
        {
            inner.conjuncts.push(conjunct);
        } else {
            on.push(conjunct);
        }
    }
    Ok(right)
}

/// Whose columns are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    /// None of the row around the subquery.
    Inner,
    /// None of the subquery.
    Around,
    Both,
}

fn side_of(width: usize, for_each_column: impl FnOnce(&mut dyn FnMut(usize))) -> Side {
    let (mut inner, mut around) = (false, false);
    for_each_column(&mut |place| {
        inner = inner || place >= width;
        around = around || place < width;
    });
    match (inner, around) {
        (_, false) => Side::Inner,
        (false, true) => Side::Around,
        (true, true) => Side::Both,
    }
}

/// Whether a condition sets something of the subquery equal to something of the row around it.
fn is_key(condition: &Condition, width: usize) -> bool {
    let Condition::Compare {
        operator: Op::Equal,
        left,
        right,
    } = condition
    else {
        return false;
    };
    let side = |expression: &Expr| side_of(width, |visit| expression.for_each_column(visit));
    let is_pair = matches!(
        (side(left), side(right)),
        (Side::Inner, Side::Around) | (Side::Around, Side::Inner)
    );
    is_pair && reads_column(left) && reads_column(right)
}

fn reads_column(expression: &Expr) -> bool {
    let mut reads = false;
    expression.for_each_column(&mut |_| reads = true);
    reads
}

/// The rows of a subquery, as a FROM with its conditions.
struct Rows<'q> {
    from: Cow<'q, FromNode>,
    /// The width that what stands above FROM gives its rows.
    width: usize,
    /// What is compared, over the rows of FROM.
    value: Option<Expr>,
}

impl<'q> Rows<'q> {
    /// The rows that a question is about. Those that are asked only whether they are there need no order, no select list, and need
    /// not be distinct.
    fn of(question: &Question<'q>) -> Result<Option<Rows<'q>>> {
        let plan = &question.subquery.plan;
        let mut node = &plan.root;
        // From the top down: what the value is over the rows below.
        let mut value = question
            .compared
            .and_then(|_| Some(plan.columns.first()?.expression(0)));
        if question.compared.is_some() && value.is_none() {
            return Ok(None);
        }
        let is_exists = question.compared.is_none();
        loop {
            if let Node::From(from) = node
                && is_exists
                && is_usable(from)
            {
                return Ok(Some(Rows {
                    from: Cow::Borrowed(&**from),
                    width: from.width,
                    value: None,
                }));
            }
            if let Node::Project(ProjectNode {
                input,
                input_width,
                expressions,
            }) = node
            {
                if let Some(value) = &mut value
                    && !over_input(value, expressions)
                {
                    return Ok(None);
                }
                if let Node::From(from) = &**input {
                    let is_sure = value.as_ref().is_none_or(|value| !value.can_fail());
                    return Ok((is_usable(from) && is_sure).then(|| Rows {
                        from: Cow::Borrowed(&**from),
                        width: *input_width,
                        value,
                    }));
                }
                node = input;
            } else if let Some(input) = asked_below(node, is_exists) {
                node = input;
            } else {
                return Ok(Rows::whole(question));
            }
        }
    }

    /// All of a subquery as one source, where it uses nothing of the row around it.
    fn whole(question: &Question<'q>) -> Option<Rows<'q>> {
        let Subquery { plan, captures } = question.subquery;
        question.compared.filter(|_| captures.is_empty())?;
        let unit = FromUnit {
            node: Node::Derived(DerivedNode {
                plan: Arc::clone(plan),
                captures: Vec::new(),
                offset: 0,
                common: None,
            }),
            lateral: false,
            methods: JoinMethods::ANY,
        };
        let width = plan.columns.len();
        let from = FromNode {
            units: vec![unit],
            width,
            ..FromNode::default()
        };
        let value = plan.columns.first()?.expression(0);
        Some(Rows {
            from: Cow::Owned(from),
            width,
            value: Some(value),
        })
    }
}

/// Whether a FROM can be joined with what is around the subquery.
fn is_usable(from: &FromNode) -> bool {
    !from.units.is_empty() && !from.is_forced
}

/// The input of an operator of which the answer is that of its input: neither order nor repetition counts.
fn asked_below(node: &Node, is_exists: bool) -> Option<&Node> {
    if let Node::Distinct(DistinctNode { input, .. }) | Node::Sort(SortNode { input, .. }) = node {
        return Some(input);
    }
    if let Node::Top(TopNode { input, top, .. }) = node {
        return (is_exists && is_some_rows(top)).then_some(input);
    }
    // A group is there where a row is.
    let Node::Aggregate(AggregateNode { input, keys, sets, .. }) = node else {
        return None;
    };
    (is_exists && !keys.is_empty() && sets.is_empty()).then_some(input)
}

/// Makes an expression over a projection's rows one over the rows below it.
fn over_input(value: &mut Expr, expressions: &[Expr]) -> bool {
    let mut is_whole = true;
    substitute(value, expressions, &mut is_whole);
    is_whole && !value.contains_query()
}

fn substitute(value: &mut Expr, expressions: &[Expr], is_whole: &mut bool) {
    if let ExprKind::Column(place) = value.kind {
        match expressions.get(place) {
            Some(expression) => *value = expression.clone(),
            None => *is_whole = false,
        }
        return;
    }
    let result = value.change_children::<std::convert::Infallible>(&mut |child| {
        substitute(child, expressions, is_whole);
        Ok(())
    });
    let Ok(()) = result;
}

/// Whether TOP surely keeps a row where there is one.
fn is_some_rows(top: &TopCount) -> bool {
    match &top.count.kind {
        ExprKind::Constant(value) => !top.percent && value.as_i64().is_some_and(|count| count > 0),
        _ => false,
    }
}
