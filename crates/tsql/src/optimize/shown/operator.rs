//! Operators, one for each node that does something.

use super::ShownOperator;
use super::expression::{Names, condition, scalar};
use crate::optimize::estimate::{Estimator, Sources, UNKNOWN_ROWS, column_of};
use crate::plan::{
    AggregateCall, Condition, Expr, ExprKind, Node, ScanNode, SeekEnd, SeekKey, SeekRange, SetKind, SortKey,
};

/// A page read at random, and one read behind the other, in seconds.
const RANDOM_PAGE: f64 = 1.0 / 320.0;
const NEXT_PAGE: f64 = 1.0 / 1_350.0;
/// An operator's first row, and each other.
const FIRST_ROW: f64 = 0.000_158_1;
const ROW: f64 = 0.000_001_1;
/// Comparing two rows of a sort.
const COMPARE: f64 = 0.000_000_5;
/// Rows left by TOP whose count is not known.
const TOP_ROWS_GUESS: f64 = 100.0;

type Shown = (ShownOperator, Names);

/// The operators of a plan.
pub fn show(node: &Node, estimator: &Estimator<'_>) -> ShownOperator {
    operator(node, estimator).0
}

fn operator(node: &Node, estimator: &Estimator<'_>) -> Shown {
    if crate::stack::require().is_err() {
        return (leaf("...", "...", 1.0), Names::default());
    }
    match node {
        Node::Filter { input, condition } => match &**input {
            Node::Scan(scan) => scanned(scan, Some(condition), estimator),
            _ => filtered(input, condition, estimator),
        },
        Node::Scan(scan) => scanned(scan, None, estimator),
        Node::Loop { .. } | Node::Hash { .. } => joined(node, estimator),
        Node::Derived { plan, offset, .. } => {
            let (shown, inner) = operator(&plan.root, estimator);
            let mut names = Names::default();
            for place in 0..plan.columns.len() {
                names.set(offset + place, inner.of(place));
            }
            (shown, names)
        }
        Node::Aggregate { .. } | Node::Distinct { .. } | Node::Window { .. } | Node::Project { .. } => {
            made(node, estimator)
        }
        Node::Sort { .. } | Node::Top { .. } | Node::Slice { .. } => ordered(node, estimator),
        Node::Append { inputs, .. } => several(inputs.iter().collect(), "Concatenation", "Concatenation", estimator),
        Node::SetOperation { kind, left, right, .. } => {
            let logical = match kind {
                SetKind::Except => "Left Anti Semi Join",
                SetKind::Intersect => "Left Semi Join",
            };
            several(vec![left, right], "Hash Match", logical, estimator)
        }
        Node::Recursive { anchor, step, .. } => {
            several(vec![&anchor.root, step], "Concatenation", "Concatenation", estimator)
        }
        source => (source_of(source), Names::default()),
    }
}

fn leaf(physical: &str, logical: &str, rows: f64) -> ShownOperator {
    ShownOperator {
        physical: physical.to_owned(),
        logical: logical.to_owned(),
        rows,
        cpu_cost: cpu(rows),
        row_bytes: 9,
        executions: 1.0,
        ..ShownOperator::default()
    }
}

fn cpu(rows: f64) -> f64 {
    FIRST_ROW + ROW * (rows - 1.0).max(0.0)
}

/// An operator above others.
fn above(physical: &str, logical: &str, rows: f64, inputs: Vec<ShownOperator>) -> ShownOperator {
    let output: Vec<String> = inputs.iter().flat_map(|input| input.output.clone()).collect();
    ShownOperator {
        row_bytes: inputs.iter().map(|input| input.row_bytes).sum(),
        output,
        inputs,
        ..leaf(physical, logical, rows)
    }
}

/// What has rows of its own.
fn source_of(node: &Node) -> ShownOperator {
    match node {
        Node::Single => leaf("Constant Scan", "Constant Scan", 1.0),
        Node::Values { rows, .. } => leaf("Constant Scan", "Constant Scan", rows.len() as f64),
        Node::View { view, .. } => ShownOperator {
            argument: format!("OBJECT:([{}].[{}])", view.schema, view.name),
            ..leaf("Table-valued function", "Table-valued function", UNKNOWN_ROWS)
        },
        Node::Module { .. } => leaf("Table-valued function", "Table-valued function", UNKNOWN_ROWS),
        Node::Variable { slot, .. } => ShownOperator {
            argument: format!("OBJECT:([@{slot}])"),
            ..leaf("Table Scan", "Table Scan", UNKNOWN_ROWS)
        },
        Node::Round { .. } => leaf("Table Spool", "Lazy Spool", UNKNOWN_ROWS),
        _ => leaf("Constant Scan", "Constant Scan", 0.0),
    }
}

fn quoted(parts: &[&str]) -> String {
    let parts: Vec<String> = parts.iter().map(|part| format!("[{part}]")).collect();
    parts.join(".")
}

/// A scan or a search, with the condition directly above it.
fn scanned(scan: &ScanNode, above: Option<&Condition>, estimator: &Estimator<'_>) -> Shown {
    let table = &scan.table.table;
    let definition = table.definition();
    let database = table.database().name();
    let full_name = [database.as_str(), definition.schema.as_str(), definition.name.as_str()];
    let mut names = Names::default();
    for (column, defined) in definition.columns.iter().enumerate() {
        names.set(
            scan.offset + column,
            format!("{}.[{}]", quoted(&full_name), defined.name),
        );
    }
    let (physical, mut argument) = way(scan, &full_name, &names);
    let searched = seek_conditions(scan);
    let mut all: Vec<Condition> = searched.clone();
    if let Some(above) = above {
        argument.push_str(&format!(", WHERE:({})", condition(above, &names)));
        // A search leaves its conditions where they are, unless it decides them by itself.
        all.push(above.clone());
        if !searched.is_empty() {
            all = vec![above.clone()];
            all.extend(searched.into_iter().filter(|one| !mentions(above, one, &names)));
        }
    }
    if let Some(seek) = &scan.seek {
        argument.push_str(if seek.is_backward {
            " ORDERED BACKWARD"
        } else {
            " ORDERED FORWARD"
        });
    }
    let rows = estimator.rows(scan, &all);
    let pages = estimator.table_pages(&scan.table);
    let share = (rows / estimator.table_rows(&scan.table)).clamp(0.0, 1.0);
    let read = if scan.seek.is_some() {
        (pages * share).ceil()
    } else {
        pages
    };
    let columns = scan.columns.iter().filter_map(|column| definition.columns.get(*column));
    let width: u64 = columns
        .map(|column| u64::from(column.sql_type.max_length().clamp(1, 100).unsigned_abs()))
        .sum();
    let output: Vec<String> = scan
        .columns
        .iter()
        .map(|column| names.of(scan.offset + column))
        .collect();
    let shown = ShownOperator {
        argument,
        io_cost: RANDOM_PAGE + NEXT_PAGE * (read - 1.0).max(0.0),
        row_bytes: 9 + width,
        output,
        ..leaf(&physical, &physical, rows)
    };
    (shown, names)
}

/// Whether a condition says what another one says, as plans write it.
fn mentions(whole: &Condition, part: &Condition, names: &Names) -> bool {
    condition(whole, names).contains(&condition(part, names))
}

/// The operator's name and the beginning of its argument.
fn way(scan: &ScanNode, full_name: &[&str; 3], names: &Names) -> (String, String) {
    let definition = scan.table.table.definition();
    let object = |index: Option<&str>| {
        let mut parts = full_name.to_vec();
        parts.extend(index);
        format!("OBJECT:({})", quoted(&parts))
    };
    let Some(seek) = &scan.seek else {
        return match definition.clustered() {
            Some(index) => ("Clustered Index Scan".to_owned(), object(Some(&index.name))),
            None => ("Table Scan".to_owned(), object(None)),
        };
    };
    let index = &definition.indexes[seek.index];
    let kind = if index.index_id == 1 {
        "Clustered Index"
    } else {
        "Index"
    };
    let conditions = seek_conditions(scan);
    if conditions.is_empty() {
        return (format!("{kind} Scan"), object(Some(&index.name)));
    }
    let parts: Vec<String> = conditions.iter().map(|one| condition(one, names)).collect();
    let argument = format!("{}, SEEK:({})", object(Some(&index.name)), parts.join(" AND "));
    (format!("{kind} Seek"), argument)
}

/// What a search looks for, as conditions on the table's columns.
fn seek_conditions(scan: &ScanNode) -> Vec<Condition> {
    let Some(seek) = &scan.seek else {
        return Vec::new();
    };
    let definition = scan.table.table.definition();
    let keys = &definition.indexes[seek.index].keys;
    let column = |position: usize| {
        let (column, _) = keys.get(position)?;
        let defined = &definition.columns[*column];
        Some(Expr::column(scan.offset + column, defined.sql_type, defined.nullable))
    };
    let of_range = |range: &SeekRange| {
        let equal = range.equal.iter().enumerate().filter_map(|(position, key)| {
            let column = column(position)?;
            Some(match key {
                SeekKey::Null => Condition::IsNull(column),
                SeekKey::Value(value) => compared(crate::ast::ComparisonOperator::Equal, column, value),
            })
        });
        let mut all: Vec<Condition> = equal.collect();
        if let Some(column) = column(range.equal.len()) {
            end_of(&range.end, &column, &mut all);
        }
        Condition::all(all)
    };
    let mut ranges: Vec<Condition> = seek.ranges.iter().map(of_range).collect();
    ranges.retain(|one| !matches!(one, Condition::Constant(Some(true))));
    match ranges.len() {
        0 => Vec::new(),
        1 => ranges.remove(0).into_conjuncts(),
        _ => vec![Condition::Or(ranges)],
    }
}

fn compared(operator: crate::ast::ComparisonOperator, left: Expr, right: &Expr) -> Condition {
    Condition::Compare {
        operator,
        left,
        right: right.clone(),
    }
}

fn end_of(end: &SeekEnd, column: &Expr, all: &mut Vec<Condition>) {
    use crate::ast::ComparisonOperator as Op;
    match end {
        SeekEnd::All => {}
        SeekEnd::NotNull => all.push(Condition::Not(Box::new(Condition::IsNull(column.clone())))),
        SeekEnd::Between { low, high } => {
            if let Some((value, is_in)) = low {
                let operator = if *is_in { Op::GreaterOrEqual } else { Op::Greater };
                all.push(compared(operator, column.clone(), value));
            }
            if let Some((value, is_in)) = high {
                let operator = if *is_in { Op::LessOrEqual } else { Op::Less };
                all.push(compared(operator, column.clone(), value));
            }
        }
        SeekEnd::Prefix { pattern, escape } => all.push(Condition::Like {
            operand: column.clone(),
            pattern: pattern.clone(),
            escape: escape.clone(),
        }),
    }
}

fn filtered(input: &Node, given: &Condition, estimator: &Estimator<'_>) -> Shown {
    let (shown, names) = operator(input, estimator);
    let mut sources = Sources::default();
    sources.add(input);
    let rows = shown.rows * estimator.selectivity(given, &sources);
    let argument = format!("WHERE:({})", condition(given, &names));
    let filter = above("Filter", "Filter", rows, vec![shown]);
    (ShownOperator { argument, ..filter }, names)
}

fn joined(node: &Node, estimator: &Estimator<'_>) -> Shown {
    let mut sources = Sources::default();
    sources.add(node);
    match node {
        Node::Loop {
            left,
            right,
            kind,
            condition: given,
            ..
        } => {
            let (outer, mut names) = operator(left, estimator);
            let (mut inner, inner_names) = operator(right, estimator);
            names.extend(inner_names);
            inner.executions = outer.rows.max(1.0);
            let selectivity = estimator.selectivity(given, &sources);
            let logical = join_name(&format!("{kind:?}"));
            let rows = join_rows(logical, outer.rows, inner.rows, selectivity);
            let mut argument = String::new();
            if !matches!(given, Condition::Constant(Some(true))) {
                argument = format!("WHERE:({})", condition(given, &names));
            }
            let join = above("Nested Loops", logical, rows, vec![outer, inner]);
            (ShownOperator { argument, ..join }, names)
        }
        Node::Hash {
            left,
            right,
            kind,
            keys,
            residual,
            ..
        } => {
            let (probe, mut names) = operator(left, estimator);
            let (build, build_names) = operator(right, estimator);
            names.extend(build_names);
            let each = keys
                .iter()
                .map(|(left, right)| estimator.equality(left, right, &sources));
            let selectivity = each.product::<f64>() * estimator.selectivity(residual, &sources);
            let logical = join_name(&format!("{kind:?}"));
            let rows = join_rows(logical, probe.rows, build.rows, selectivity);
            let side = |of: fn(&(Expr, Expr)) -> &Expr| {
                let all: Vec<String> = keys.iter().map(|pair| scalar(of(pair), &names)).collect();
                all.join(", ")
            };
            let mut argument = format!("HASH:({})=({})", side(|pair| &pair.1), side(|pair| &pair.0));
            if !matches!(residual, Condition::Constant(Some(true))) {
                argument.push_str(&format!(", RESIDUAL:({})", condition(residual, &names)));
            }
            let mut join = above("Hash Match", logical, rows, vec![build, probe]);
            join.cpu_cost += ROW * 10.0 * join.inputs.iter().map(|input| input.rows).sum::<f64>();
            (ShownOperator { argument, ..join }, names)
        }
        _ => (source_of(node), Names::default()),
    }
}

/// The logical operator of a kind of join, by its name in the plan. The input that is built of, or looped over, is SQL Server's left one.
fn join_name(kind: &str) -> &'static str {
    match kind {
        "Left" => "Left Outer Join",
        "Right" => "Right Outer Join",
        "Full" => "Full Outer Join",
        "Semi" => "Left Semi Join",
        "Anti" => "Left Anti Semi Join",
        "RightSemi" => "Right Semi Join",
        "RightAnti" => "Right Anti Semi Join",
        _ => "Inner Join",
    }
}

fn join_rows(logical: &str, left: f64, right: f64, selectivity: f64) -> f64 {
    let pairs = left * right * selectivity;
    match logical {
        "Left Outer Join" => pairs.max(left),
        "Right Outer Join" => pairs.max(right),
        "Full Outer Join" => pairs.max(left + right),
        "Left Semi Join" => pairs.min(left),
        "Left Anti Semi Join" => (left - pairs).max(1.0),
        "Right Semi Join" => pairs.min(right),
        "Right Anti Semi Join" => (right - pairs).max(1.0),
        _ => pairs,
    }
}

/// What makes rows of its own: groups, computed columns.
fn made(node: &Node, estimator: &Estimator<'_>) -> Shown {
    match node {
        Node::Aggregate {
            input,
            keys,
            aggregates,
            ..
        } => grouped(input, keys, aggregates, estimator),
        Node::Distinct { input, columns, .. } => {
            let (shown, names) = operator(input, estimator);
            let by: Vec<String> = (0..*columns).map(|place| names.of(place)).collect();
            let rows = (shown.rows * 0.5).max(1.0);
            let distinct = above("Hash Match", "Aggregate", rows, vec![shown]);
            let argument = format!("HASH:({})", by.join(", "));
            (ShownOperator { argument, ..distinct }, names)
        }
        Node::Window {
            input,
            input_width,
            calls,
        } => {
            let (shown, mut names) = operator(input, estimator);
            let rows = shown.rows;
            let defined: Vec<String> = (0..calls.len())
                .map(|place| format!("[Expr{:04}]", 1_000 + input_width + place))
                .collect();
            for (place, name) in defined.iter().enumerate() {
                names.set(input_width + place, name.clone());
            }
            let window = above("Window Aggregate", "Window Aggregate", rows, vec![shown]);
            let argument = format!("DEFINE:({})", defined.join(", "));
            (
                ShownOperator {
                    argument,
                    defined,
                    ..window
                },
                names,
            )
        }
        Node::Project { input, expressions, .. } => computed(input, expressions, estimator),
        _ => (source_of(node), Names::default()),
    }
}

/// Computed columns; columns that are passed on take no operator.
fn computed(input: &Node, expressions: &[Expr], estimator: &Estimator<'_>) -> Shown {
    let (shown, below) = operator(input, estimator);
    let mut names = Names::default();
    let mut defined = Vec::new();
    for (place, expression) in expressions.iter().enumerate() {
        if let ExprKind::Column(column) = expression.kind {
            names.set(place, below.of(column));
            continue;
        }
        let name = format!("[Expr{:04}]", 1_000 + place);
        defined.push(format!("{name}={}", scalar(expression, &below)));
        names.set(place, name);
    }
    if defined.is_empty() {
        return (shown, names);
    }
    let rows = shown.rows;
    let compute = above("Compute Scalar", "Compute Scalar", rows, vec![shown]);
    let argument = format!("DEFINE:({})", defined.join(", "));
    (
        ShownOperator {
            argument,
            defined,
            ..compute
        },
        names,
    )
}

fn grouped(input: &Node, keys: &[Expr], aggregates: &[AggregateCall], estimator: &Estimator<'_>) -> Shown {
    let (shown, below) = operator(input, estimator);
    let mut sources = Sources::default();
    sources.add(input);
    let by: Vec<String> = keys.iter().map(|key| scalar(key, &below)).collect();
    let places: Vec<usize> = keys.iter().filter_map(column_of).collect();
    let rows = match keys.is_empty() {
        true => 1.0,
        false => estimator.groups(&places, shown.rows, &sources),
    };
    let mut names = Names::default();
    for (place, key) in by.iter().enumerate() {
        names.set(place, key.clone());
    }
    let mut defined = Vec::new();
    for (place, call) in aggregates.iter().enumerate() {
        let name = format!("[Expr{:04}]", 1_000 + keys.len() + place);
        let argument = call
            .argument
            .as_ref()
            .map_or_else(|| "*".to_owned(), |argument| scalar(argument, &below));
        defined.push(format!("{name}={}({argument})", function_name(call)));
        names.set(keys.len() + place, name);
    }
    let (physical, mut argument) = match keys.is_empty() {
        true => ("Stream Aggregate", String::new()),
        false => ("Hash Match", format!("HASH:({})", by.join(", "))),
    };
    if !defined.is_empty() {
        let comma = if argument.is_empty() { "" } else { " " };
        argument.push_str(&format!("{comma}DEFINE:({})", defined.join(", ")));
    }
    let aggregate = above(physical, "Aggregate", rows, vec![shown]);
    (
        ShownOperator {
            argument,
            defined,
            ..aggregate
        },
        names,
    )
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
        Function::Checksum => "CHECKSUM_AGG",
    }
}

fn sort_text(keys: &[SortKey], names: &Names) -> String {
    let keys = keys.iter().map(|key| {
        let direction = if key.descending { "DESC" } else { "ASC" };
        format!("{} {direction}", names.of(key.column))
    });
    keys.collect::<Vec<_>>().join(", ")
}

/// Sorts, and what takes the first rows.
fn ordered(node: &Node, estimator: &Estimator<'_>) -> Shown {
    match node {
        Node::Sort { input, keys, .. } => {
            let (shown, names) = operator(input, estimator);
            let rows = shown.rows;
            let argument = format!("ORDER BY:({})", sort_text(keys, &names));
            let mut sort = above("Sort", "Sort", rows, vec![shown]);
            sort.cpu_cost += COMPARE * rows * rows.max(2.0).log2();
            (ShownOperator { argument, ..sort }, names)
        }
        Node::Top { input, top, .. } => {
            let (shown, names) = operator(input, estimator);
            let count = scalar(&top.count, &names);
            let known = count.trim_matches(['(', ')']).parse::<f64>().ok();
            let rows = match top.percent {
                true => shown.rows * known.unwrap_or(TOP_ROWS_GUESS) / 100.0,
                false => known.unwrap_or(TOP_ROWS_GUESS).min(shown.rows),
            };
            let percent = if top.percent { " PERCENT" } else { "" };
            let argument = format!("TOP EXPRESSION:({count}{percent})");
            let top = above("Top", "Top", rows, vec![shown]);
            (ShownOperator { argument, ..top }, names)
        }
        Node::Slice { input, offset, fetch } => {
            let (shown, names) = operator(input, estimator);
            let fetched = fetch.as_ref().map(|fetch| scalar(fetch, &names));
            let known = fetched
                .as_ref()
                .and_then(|text| text.trim_matches(['(', ')']).parse::<f64>().ok());
            let rows = known.unwrap_or(shown.rows).min(shown.rows);
            let mut argument = format!("OFFSET EXPRESSION:({})", scalar(offset, &names));
            if let Some(fetched) = fetched {
                argument.push_str(&format!(",TOP EXPRESSION:({fetched})"));
            }
            let top = above("Top", "Top", rows, vec![shown]);
            (ShownOperator { argument, ..top }, names)
        }
        _ => (source_of(node), Names::default()),
    }
}

/// Several inputs of the same columns.
fn several(inputs: Vec<&Node>, physical: &str, logical: &str, estimator: &Estimator<'_>) -> Shown {
    let shown: Vec<Shown> = inputs.into_iter().map(|input| operator(input, estimator)).collect();
    let rows = match physical {
        "Concatenation" => shown.iter().map(|(shown, _)| shown.rows).sum(),
        _ => shown.first().map_or(0.0, |(first, _)| first.rows),
    };
    let names = shown.first().map(|(_, names)| names.clone()).unwrap_or_default();
    let inputs = shown.into_iter().map(|(shown, _)| shown).collect();
    (above(physical, logical, rows, inputs), names)
}
