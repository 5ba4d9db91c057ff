//! Operators, one for each node that does something.

use super::element::{self, columns};
use super::expression::{condition, scalar};
use super::logical::{joined_units, outer_join};
use super::names::{Named, Names, quoted};
use super::scan::scanned;
use super::{Own, ShownOperator};
use crate::ast::ComparisonOperator;
use crate::measure::NodeAddress;
use crate::optimize::estimate::{ByNode, Expectations, Expected, UNKNOWN_ROWS, queries_of, queries_of_condition};
use crate::plan::{
    AggregateCall, AggregateNode, ArrangeNode, Condition, DerivedNode, DistinctNode, Expr, ExprKind, FilterNode,
    JoinKind, JoinMethod, JoinNode, ModuleNode, Node, ProjectNode, QueryPlan, SetKind, SliceNode, SortNode, TopNode,
    WindowNode,
};
use crate::showplan::escaped;

/// An operator's first row, and each other.
const FIRST_ROW: f64 = 0.000_158_1;
const ROW: f64 = 0.000_001_1;
/// Comparing two rows of a sort.
const COMPARE: f64 = 0.000_000_5;

pub(super) type Shown = (ShownOperator, Names);

/// What is known around an operator: what was expected of the plan, and what the places of a row are called that a search on the right of a
/// loop looks at.
pub(super) struct Around<'p> {
    expected: &'p ByNode,
    outer: Names,
}

impl Around<'_> {
    fn of(&self, node: &Node) -> Expected {
        self.expected.of(node)
    }

    /// Around the right side of a loop, whose left one has these names.
    pub(super) fn right_of(&self, left: &Names) -> Around<'_> {
        let mut outer = self.outer.clone();
        outer.extend(left.clone());
        Around {
            expected: self.expected,
            outer,
        }
    }

    /// Around a query of its own: its row is another one.
    fn apart(&self) -> Around<'_> {
        Around {
            expected: self.expected,
            outer: Names::default(),
        }
    }
}

/// Around what stands by itself.
pub(super) fn alone(expected: &ByNode) -> Around<'_> {
    Around {
        expected,
        outer: Names::default(),
    }
}

/// The operators of a plan, with what was expected of them.
pub fn show(root: &Node, expectations: &Expectations) -> ShownOperator {
    operator(root, &alone(&expectations.by_node(root))).0
}

impl ShownOperator {
    pub fn constant(rows: usize) -> ShownOperator {
        leaf("Constant Scan", "Constant Scan", rows as f64)
    }
}

pub(super) fn operator(node: &Node, around: &Around<'_>) -> Shown {
    if crate::stack::require().is_err() {
        return (leaf("Constant Scan", "Constant Scan", 1.0), Names::default());
    }
    let (mut shown, names) = operator_of(node, around);
    // What has no operator of its own is counted at the one that is shown in its place.
    if !matches!(node, Node::Scan(_) | Node::Derived(_)) {
        shown.counted = shown.counted.or(Some(NodeAddress::of(node)));
    }
    (shown, names)
}

/// Each operator of the algebra has a line here.
fn operator_of(node: &Node, around: &Around<'_>) -> Shown {
    let rows = around.of(node).rows;
    match node {
        Node::Single => source(leaf("Constant Scan", "Constant Scan", 1.0)),
        Node::Empty => source(leaf("Constant Scan", "Constant Scan", 0.0)),
        Node::Scan(scan) => scanned(scan, None, (around.of(node), around.of(node)), &around.outer),
        Node::View(view) => source(function(view.view.schema, view.view.name)),
        Node::Module(module) => source(module_function(module)),
        Node::Function(called) => source(function("sys", called.name)),
        Node::Values(values) => source(leaf("Constant Scan", "Constant Scan", values.rows.len() as f64)),
        Node::Variable(variable) => source(table_variable(variable.slot)),
        Node::Derived(derived) => query(node, derived, around),
        Node::Recursive(_) => several(node, ("Concatenation", "Concatenation"), around),
        Node::Round(_) => source(leaf("Table Spool", "Lazy Spool", UNKNOWN_ROWS)),
        Node::From(from) => joined_units(from, around),
        Node::Outer(outer) => outer_join(outer, around),
        Node::Join(join) => joined(join, rows, around),
        Node::Arrange(arrange) => arranged(arrange, around),
        Node::Filter(filter) => filtered(node, filter, around),
        Node::Aggregate(aggregate) => grouped(aggregate, rows, around),
        Node::Window(window) => windows(window, around),
        Node::Project(project) => computed(project, around),
        Node::Distinct(distinct) => once_each(distinct, rows, around),
        Node::Sort(sort) => sorted_by_columns(sort, around),
        Node::Top(top) => first_rows(top, rows, around),
        Node::Slice(slice) => sliced(slice, rows, around),
        Node::Append(_) => several(node, ("Concatenation", "Concatenation"), around),
        Node::Serialize(_) => several(node, ("UDX", "UDX"), around),
        Node::SetOperation(operation) => several(node, ("Hash Match", set_name(operation.kind)), around),
    }
}

/// What has rows of its own, and says no names of them.
fn source(shown: ShownOperator) -> Shown {
    (shown, Names::default())
}

/// A query in FROM: its operators, below a spool where its rows are kept.
fn query(node: &Node, derived: &DerivedNode, around: &Around<'_>) -> Shown {
    let DerivedNode {
        plan, offset, common, ..
    } = derived;
    let (mut shown, inner) = operator(&plan.root, &around.apart());
    if common.as_ref().is_some_and(|common| common.table.shared().is_some()) {
        shown = above("Table Spool", "Eager Spool", shown.rows, vec![shown]);
        shown.counted = Some(NodeAddress::of(node));
    }
    let mut names = Names::default();
    for place in 0..plan.columns.len() {
        names.set(offset + place, inner.of(place));
    }
    (shown, names)
}

fn set_name(kind: SetKind) -> &'static str {
    match kind {
        SetKind::Except => "Left Anti Semi Join",
        SetKind::Intersect => "Left Semi Join",
    }
}

pub(super) fn leaf(physical: &str, logical: &str, rows: f64) -> ShownOperator {
    ShownOperator {
        physical: physical.to_owned(),
        logical: logical.to_owned(),
        rows,
        cpu_cost: cpu(rows),
        row_bytes: 9,
        executions: 1.0,
        own: Own::of(physical),
        ..ShownOperator::default()
    }
}

fn cpu(rows: f64) -> f64 {
    FIRST_ROW + ROW * (rows - 1.0).max(0.0)
}

/// An operator above others.
pub(super) fn above(physical: &str, logical: &str, rows: f64, inputs: Vec<ShownOperator>) -> ShownOperator {
    let output: Vec<Named> = inputs.iter().flat_map(|input| input.output.clone()).collect();
    ShownOperator {
        row_bytes: inputs.iter().map(|input| input.row_bytes).sum(),
        output,
        inputs,
        ..leaf(physical, logical, rows)
    }
}

/// A view of the system, or a function that answers rows.
fn function(schema: &str, name: &str) -> ShownOperator {
    let mut shown = leaf("Table-valued function", "Table-valued function", UNKNOWN_ROWS);
    let (schema, name) = (quoted([schema]), quoted([name]));
    shown.own.before = format!("<Object Schema=\"{}\" Table=\"{}\"/>", escaped(&schema), escaped(&name));
    shown.argument = format!("OBJECT:({schema}.{name})");
    shown
}

/// A function of the user that answers rows.
fn module_function(module: &ModuleNode) -> ShownOperator {
    let name = module.call.module.name.as_str();
    let (schema, own) = name.split_once('.').unwrap_or(("dbo", name));
    function(schema, own)
}

fn table_variable(slot: usize) -> ShownOperator {
    let mut shown = leaf("Table Scan", "Table Scan", UNKNOWN_ROWS);
    shown.argument = format!("OBJECT:([@{slot}])");
    shown.own.before = format!("<Object Table=\"[@{slot}]\"/>");
    shown
}

fn filtered(node: &Node, filter: &FilterNode, around: &Around<'_>) -> Shown {
    let FilterNode {
        input,
        condition: given,
    } = filter;
    let mut queries = Vec::new();
    queries_of_condition(given, &mut queries);
    // A condition that asks a query stands above a join with that; another one is the scan's.
    if let Node::Scan(scan) = &**input
        && queries.is_empty()
    {
        let expected = (around.of(node), around.of(input));
        let (mut shown, names) = scanned(scan, Some(given), expected, &around.outer);
        shown.counted = Some(NodeAddress::of(node));
        return (shown, names);
    }
    let (shown, names) = operator(input, around);
    let below = with_queries(shown, &queries, around);
    let mut filter = above("Filter", "Filter", around.of(node).rows, vec![below]);
    filter.argument = format!("WHERE:({})", condition(given, &names));
    filter.own.after = element::predicate("Predicate", given, &names);
    (filter, names)
}

/// The queries that are asked for each row of an operator, each joined to it.
fn with_queries(below: ShownOperator, queries: &[&QueryPlan], around: &Around<'_>) -> ShownOperator {
    let mut shown = below;
    for query in queries {
        let (mut inner, _) = operator(&query.root, &around.apart());
        inner.executions = shown.rows.max(1.0);
        let rows = shown.rows;
        let counted = shown.counted;
        shown = above("Nested Loops", "Left Outer Join", rows, vec![shown, inner]);
        // It gives the rows of its left side.
        shown.counted = counted;
    }
    shown
}

fn joined(join: &JoinNode, rows: f64, around: &Around<'_>) -> Shown {
    match join.method {
        JoinMethod::Loop => looped(join, rows, around),
        JoinMethod::Hash { has_bitmap } => hashed(join, has_bitmap, rows, around),
        JoinMethod::Merge { is_many, .. } => merged(join, is_many, rows, around),
    }
}

fn looped(node: &JoinNode, rows: f64, around: &Around<'_>) -> Shown {
    let (outer, mut names) = operator(&node.left, around);
    let (mut inner, inner_names) = operator(&node.right, &around.right_of(&names));
    names.extend(inner_names);
    inner.executions = outer.rows.max(1.0);
    let mut join = above("Nested Loops", join_name(node.kind), rows, vec![outer, inner]);
    if !matches!(node.residual, Condition::Constant(Some(true))) {
        join.argument = format!("WHERE:({})", condition(&node.residual, &names));
        join.own.before = element::predicate("Predicate", &node.residual, &names);
    }
    (join, names)
}

fn hashed(node: &JoinNode, has_bitmap: bool, rows: f64, around: &Around<'_>) -> Shown {
    let JoinNode { keys, residual, .. } = node;
    let (probe, mut names) = operator(&node.left, around);
    let (build, build_names) = operator(&node.right, around);
    names.extend(build_names);
    let side = |of: fn(&(Expr, Expr)) -> &Expr| {
        let all: Vec<String> = keys.iter().map(|pair| scalar(of(pair), &names)).collect();
        all.join(", ")
    };
    let mut join = above("Hash Match", join_name(node.kind), rows, vec![build, probe]);
    join.cpu_cost += ROW * 10.0 * join.inputs.iter().map(|input| input.rows).sum::<f64>();
    join.argument = format!("HASH:({})=({})", side(|pair| &pair.1), side(|pair| &pair.0));
    let keys_of = |of: fn(&(Expr, Expr)) -> &Expr| -> String {
        let all: Vec<Named> = keys.iter().map(|pair| named(of(pair), &names)).collect();
        columns(&all)
    };
    join.own.before = format!(
        "<HashKeysBuild>{}</HashKeysBuild><HashKeysProbe>{}</HashKeysProbe>",
        keys_of(|pair| &pair.1),
        keys_of(|pair| &pair.0)
    );
    if has_bitmap {
        define_bitmap(&mut join, keys);
    }
    if !matches!(residual, Condition::Constant(Some(true))) {
        join.argument
            .push_str(&format!(", RESIDUAL:({})", condition(residual, &names)));
        join.own
            .before
            .push_str(&element::predicate("ProbeResidual", residual, &names));
    }
    (join, names)
}

/// A merge join. Its left side is SQL Server's outer one, which it shows first.
fn merged(node: &JoinNode, is_many: bool, rows: f64, around: &Around<'_>) -> Shown {
    let JoinNode { keys, residual, .. } = node;
    let (outer, mut names) = operator(&node.left, around);
    let (inner, inner_names) = operator(&node.right, around);
    names.extend(inner_names);
    let mut join = above("Merge Join", join_name(node.kind), rows, vec![outer, inner]);
    join.cpu_cost += ROW * join.inputs.iter().map(|input| input.rows).sum::<f64>();
    let (left_keys, right_keys): (Vec<Named>, Vec<Named>) = keys
        .iter()
        .map(|(left, right)| (named(left, &names), named(right, &names)))
        .unzip();
    let mut tested: Vec<Condition> = keys
        .iter()
        .map(|(left, right)| Condition::Compare {
            operator: ComparisonOperator::Equal,
            left: left.clone(),
            right: right.clone(),
        })
        .collect();
    let others = residual.clone().into_conjuncts().into_iter();
    tested.extend(others.filter(|one| !matches!(one, Condition::Constant(Some(true)))));
    let tested = Condition::all(tested);
    join.argument = format!(
        "{}MERGE:({})=({}), RESIDUAL:({})",
        if is_many { "MANY-TO-MANY " } else { "" },
        joined_text(&left_keys),
        joined_text(&right_keys),
        condition(&tested, &names)
    );
    join.own.attributes = format!(" ManyToMany=\"{}\"", u8::from(is_many));
    join.own.before = format!(
        "<InnerSideJoinColumns>{}</InnerSideJoinColumns><OuterSideJoinColumns>{}</OuterSideJoinColumns>{}",
        columns(&right_keys),
        columns(&left_keys),
        element::predicate("Residual", &tested, &names)
    );
    (join, names)
}

/// Says of a join that it makes a bitmap of its keys.
fn define_bitmap(join: &mut ShownOperator, keys: &[(Expr, Expr)]) {
    let mut places = Vec::new();
    keys.iter()
        .for_each(|(left, _)| left.for_each_column(&mut |place| places.push(place)));
    let bitmap = Named::bitmap(&places);
    join.argument.push_str(&format!(", DEFINE:({bitmap})"));
    join.own.attributes.push_str(" BitmapCreator=\"1\"");
    join.own.defined = defined_as(&bitmap, "");
    join.defined = vec![bitmap.to_string()];
}

/// What a value is called: by its column, or as it is written.
fn named(value: &Expr, names: &Names) -> Named {
    match value.kind {
        ExprKind::Column(place) => names.of(place),
        _ => Named::Expression(scalar(value, names)),
    }
}

/// The logical operator of a kind of join. The input that is built of, or looped over, is SQL Server's left one.
fn join_name(kind: JoinKind) -> &'static str {
    match kind {
        JoinKind::Inner => "Inner Join",
        JoinKind::Left => "Left Outer Join",
        JoinKind::Right => "Right Outer Join",
        JoinKind::Full => "Full Outer Join",
        JoinKind::Semi => "Left Semi Join",
        JoinKind::Anti => "Left Anti Semi Join",
        JoinKind::RightSemi => "Right Semi Join",
        JoinKind::RightAnti => "Right Anti Semi Join",
    }
}

fn once_each(node: &DistinctNode, rows: f64, around: &Around<'_>) -> Shown {
    let (shown, names) = operator(&node.input, around);
    let by: Vec<Named> = (0..node.columns).map(|place| names.of(place)).collect();
    let mut distinct = above(group_operator(node.is_stream), "Aggregate", rows, vec![shown]);
    group_by(&mut distinct, &by, node.is_stream);
    (distinct, names)
}

/// Window functions. Where they need no sort, or one of each part of the rows, their argument says so.
fn windows(node: &WindowNode, around: &Around<'_>) -> Shown {
    let WindowNode {
        input,
        input_width,
        calls,
        arrival,
    } = node;
    let (shown, mut names) = operator(input, around);
    let rows = shown.rows;
    let mut argument = String::new();
    if let Some(arrival) = arrival {
        let by: Vec<Named> = arrival.together.iter().map(|key| named(key, &names)).collect();
        if !by.is_empty() {
            argument = format!("STREAM BY:({}), ", joined_text(&by));
        }
        if arrival.are_ordered.iter().all(|&is| is) {
            argument.push_str("ORDERED, ");
        }
    }
    let defined: Vec<Named> = (0..calls.len())
        .map(|place| Named::computed(input_width + place))
        .collect();
    for (place, name) in defined.iter().enumerate() {
        names.set(input_width + place, name.clone());
    }
    let mut window = above("Window Aggregate", "Window Aggregate", rows, vec![shown]);
    window.argument = format!("{argument}DEFINE:({})", joined_text(&defined));
    window.own.defined = defined.iter().map(|name| defined_as(name, "")).collect();
    window.defined = defined.iter().map(Named::to_string).collect();
    (window, names)
}

/// Names, one after another.
fn joined_text(all: &[Named]) -> String {
    let all: Vec<String> = all.iter().map(Named::to_string).collect();
    all.join(", ")
}

/// `DefinedValue`: what a name stands for.
fn defined_as(name: &Named, value: &str) -> String {
    format!("<DefinedValue>{}{value}</DefinedValue>", element::column(name))
}

/// Computed columns; columns that are passed on take no operator.
fn computed(node: &ProjectNode, around: &Around<'_>) -> Shown {
    let ProjectNode { input, expressions, .. } = node;
    let (shown, below) = operator(input, around);
    let (mut names, mut defined, mut elements) = (Names::default(), Vec::new(), String::new());
    let mut queries = Vec::new();
    for (place, expression) in expressions.iter().enumerate() {
        if let ExprKind::Column(column) = expression.kind {
            names.set(place, below.of(column));
            continue;
        }
        queries_of(expression, &mut queries);
        let name = Named::computed(place);
        defined.push(format!("{name}={}", scalar(expression, &below)));
        elements.push_str(&defined_as(&name, &element::operator(expression, &below)));
        names.set(place, name);
    }
    if defined.is_empty() {
        return (shown, names);
    }
    let rows = shown.rows;
    let shown = with_queries(shown, &queries, around);
    let mut compute = above("Compute Scalar", "Compute Scalar", rows, vec![shown]);
    compute.argument = format!("DEFINE:({})", defined.join(", "));
    compute.defined = defined;
    compute.own.defined = elements;
    (compute, names)
}

/// The operator that makes groups.
fn group_operator(is_stream: bool) -> &'static str {
    match is_stream {
        true => "Stream Aggregate",
        false => "Hash Match",
    }
}

/// Says what an operator groups by.
fn group_by(shown: &mut ShownOperator, by: &[Named], is_stream: bool) {
    let (word, element) = match is_stream {
        true => ("GROUP BY", "GroupBy"),
        false => ("HASH", "HashKeysBuild"),
    };
    shown.argument = format!("{word}:({})", joined_text(by));
    shown.own.before = format!("<{element}>{}</{element}>", columns(by));
}

fn grouped(node: &AggregateNode, rows: f64, around: &Around<'_>) -> Shown {
    let AggregateNode {
        input,
        keys,
        aggregates,
        is_stream,
        ..
    } = node;
    let is_stream = *is_stream;
    let (shown, below) = operator(input, around);
    let mut names = Names::default();
    let by: Vec<Named> = keys.iter().map(|key| named(key, &below)).collect();
    for (place, key) in by.iter().enumerate() {
        names.set(place, key.clone());
    }
    let (mut defined, mut elements) = (Vec::new(), String::new());
    for (place, call) in aggregates.iter().enumerate() {
        let name = Named::computed(keys.len() + place);
        let (function, distinct) = (function_name(call), if call.distinct { "DISTINCT " } else { "" });
        let argument = call.argument.as_ref();
        let text = argument.map_or_else(|| "*".to_owned(), |argument| scalar(argument, &below));
        defined.push(format!("{name}={function}({distinct}{text})"));
        let inside = argument.map_or_else(String::new, |argument| element::operator(argument, &below));
        let aggregate = format!(
            "<ScalarOperator ScalarString=\"{}\"><Aggregate AggType=\"{function}\" Distinct=\"{}\">{inside}</Aggregate></ScalarOperator>",
            escaped(&format!("{function}({distinct}{text})")),
            u8::from(call.distinct)
        );
        elements.push_str(&defined_as(&name, &aggregate));
        names.set(keys.len() + place, name);
    }
    let physical = group_operator(is_stream || keys.is_empty());
    let mut aggregate = above(physical, "Aggregate", rows, vec![shown]);
    if !keys.is_empty() {
        group_by(&mut aggregate, &by, is_stream);
    }
    if !defined.is_empty() {
        let comma = if aggregate.argument.is_empty() { "" } else { " " };
        aggregate
            .argument
            .push_str(&format!("{comma}DEFINE:({})", defined.join(", ")));
    }
    aggregate.own.defined = elements;
    aggregate.defined = defined;
    (aggregate, names)
}

fn function_name(call: &AggregateCall) -> &'static str {
    use crate::plan::AggregateFunction as Function;
    match call.function {
        Function::CountRows | Function::Count => "COUNT",
        Function::Sum => "SUM",
        Function::Average => "AVG",
        Function::Minimum => "MIN",
        Function::Maximum => "MAX",
        Function::Deviation { .. } => "STDEV",
        Function::Concatenate => "STRING_AGG",
        Function::JsonArray => "JSON_ARRAYAGG",
        Function::JsonObject => "JSON_OBJECTAGG",
        Function::Checksum => "CHECKSUM_AGG",
    }
}

/// A sort by columns, each with whether it descends; of the first so many of them rows come in the order. SQL Server sorts all or nothing: its
/// schema of plans in XML has no word for the latter, so there it is a sort.
fn sorted((below, names): Shown, by: Vec<(Named, bool)>, presorted: usize) -> Shown {
    let rows = below.rows;
    let mut sort = above("Sort", "Sort", rows, vec![below]);
    sort.cpu_cost += COMPARE * rows * rows.max(2.0).log2();
    let direction = |descends: bool| if descends { "DESC" } else { "ASC" };
    let texts = by
        .iter()
        .map(|(name, descends)| format!("{name} {}", direction(*descends)));
    let texts: Vec<String> = texts.collect();
    sort.argument = format!("ORDER BY:({})", texts.join(", "));
    if let Some(first) = texts.get(..presorted).filter(|first| !first.is_empty()) {
        sort.argument = format!("PARTIAL SORT, PRESORTED:({}), {}", first.join(", "), sort.argument);
    }
    let elements = by.iter().map(|(name, descends)| {
        let column = element::column(name);
        format!(
            "<OrderByColumn Ascending=\"{}\">{column}</OrderByColumn>",
            u8::from(!descends)
        )
    });
    sort.own.before = format!("<OrderBy>{}</OrderBy>", elements.collect::<String>());
    (sort, names)
}

fn arranged(node: &ArrangeNode, around: &Around<'_>) -> Shown {
    let below = operator(&node.input, around);
    let by = node.keys.iter().map(|key| (named(key, &below.1), false)).collect();
    sorted(below, by, 0)
}

fn sorted_by_columns(node: &SortNode, around: &Around<'_>) -> Shown {
    let below = operator(&node.input, around);
    let by = node
        .keys
        .iter()
        .map(|key| (below.1.of(key.column), key.descending))
        .collect();
    sorted(below, by, node.presorted)
}

fn first_rows(node: &TopNode, rows: f64, around: &Around<'_>) -> Shown {
    let TopNode { input, top, .. } = node;
    let (shown, names) = operator(input, around);
    let count = scalar(&top.count, &names);
    let percent = if top.percent { " PERCENT" } else { "" };
    let mut shown = above("Top", "Top", rows, vec![shown]);
    shown.argument = format!("TOP EXPRESSION:({count}{percent})");
    shown.own.attributes = format!(
        " RowCount=\"0\" IsPercent=\"{}\" WithTies=\"{}\"",
        u8::from(top.percent),
        u8::from(top.ties.is_some())
    );
    shown.own.before = element::value("TopExpression", &top.count, &names);
    (shown, names)
}

/// OFFSET and FETCH.
fn sliced(node: &SliceNode, rows: f64, around: &Around<'_>) -> Shown {
    let SliceNode { input, offset, fetch } = node;
    let (shown, names) = operator(input, around);
    let fetched = fetch.as_ref().map(|fetch| scalar(fetch, &names));
    let mut top = above("Top", "Top", rows, vec![shown]);
    top.argument = format!("OFFSET EXPRESSION:({})", scalar(offset, &names));
    if let Some(fetched) = fetched {
        top.argument.push_str(&format!(",TOP EXPRESSION:({fetched})"));
    }
    top.own.before = element::value("OffsetExpression", offset, &names);
    if let Some(fetch) = fetch {
        top.own.before.push_str(&element::value("TopExpression", fetch, &names));
    }
    (top, names)
}

/// Several inputs of the same columns.
fn several(node: &Node, (physical, logical): (&str, &str), around: &Around<'_>) -> Shown {
    let shown: Vec<Shown> = node.inputs().into_iter().map(|input| operator(input, around)).collect();
    let names = shown.first().map(|(_, names)| names.clone()).unwrap_or_default();
    let inputs = shown.into_iter().map(|(shown, _)| shown).collect();
    (above(physical, logical, around.of(node).rows, inputs), names)
}
