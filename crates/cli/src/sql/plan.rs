//! `vlflab sql --plan`: a query's plan as a tree, with estimated and actual figures of each operator.
//!
//! ```text
//! select ...: 3 rows, 1 ms, 1 ms on a processor
//!                                                   rows  expected  times  ms  reads
//! Top  3                                               3         3      1   1
//! └─ Nested Loops  Inner Join                          3        20      1   1
//!    ├─ Clustered Index Scan  u.pk_u  where u.k<20     3        20      1   0      1
//!    └─ Clustered Index Seek  t.pk_t  a = u.a          3         1      3   0      9
//! ```
//! The tree is drawn from the XML of SET STATISTICS XML or SET SHOWPLAN_XML, so it works for SQL Server's plans as well. `rows` and
//! `expected` are totals of all executions, `ms` is the time of an operator including its inputs.

use super::document::Element;
use lab::client::Event;
use std::fmt::Write as _;

/// The name of the only column of a plan's result set, of every version.
const COLUMN: &str = "Microsoft SQL Server 2005 XML Showplan";
/// A tree is not cut to less than this.
const WIDTH_MIN: usize = 60;
/// Room that the operators have at least, beside the figures.
const OPERATOR_WIDTH_MIN: usize = 24;

/// Takes the plans out of what a batch answers.
#[derive(Default)]
pub(super) struct Plans {
    is_plan: bool,
    documents: Vec<String>,
}

impl Plans {
    /// Takes an event; false when it is to be printed: a message.
    pub(super) fn take(&mut self, event: &Event<'_>) -> bool {
        match event {
            Event::Columns(headings) => self.is_plan = matches!(headings, [only] if only.name == COLUMN),
            Event::Row(values) => {
                if let ([Some(document)], true) = (values, self.is_plan) {
                    self.documents.push(document.clone());
                }
            }
            Event::Done { .. } => {}
            _ => return false,
        }
        true
    }

    /// The plans so far.
    pub(super) fn documents(&mut self) -> Vec<String> {
        std::mem::take(&mut self.documents)
    }
}

/// A line of the tree.
struct Line {
    /// Branches, name, what it does.
    operator: String,
    /// The figures, as they are written; empty without any.
    figures: Vec<String>,
}

/// Draws all statements of a document, no wider than `width`.
pub(super) fn draw(document: &str, width: usize) -> Option<String> {
    let root = Element::read(document)?;
    let mut statements = Vec::new();
    collect(&root, &mut statements);
    let mut text = String::new();
    for statement in statements {
        if let Some(plan) = statement.child("QueryPlan") {
            text.push_str(&draw_statement(statement, plan, width.max(WIDTH_MIN)));
        }
    }
    Some(text)
}

/// The statements of a document, those inside of others as well.
fn collect<'e>(element: &'e Element, found: &mut Vec<&'e Element>) {
    if element.name.starts_with("Stmt") {
        found.push(element);
    }
    element.children.iter().for_each(|child| collect(child, found));
}

fn draw_statement(statement: &Element, plan: &Element, width: usize) -> String {
    let has_run = plan.child("RelOp").is_some_and(|root| counters(root).next().is_some());
    let mut lines = Vec::new();
    for root in plan.all("RelOp") {
        operator(root, "", "", has_run, &mut lines);
    }
    let mut text = head(statement, plan, width);
    let heads: &[&str] = match has_run {
        true => &["rows", "expected", "times", "ms", "reads"],
        false => &["expected", "cost"],
    };
    let widths: Vec<usize> = heads
        .iter()
        .enumerate()
        .map(|(place, head)| {
            let cells = lines.iter().filter_map(|line| line.figures.get(place));
            cells.map(String::len).max().unwrap_or(0).max(head.len())
        })
        .collect();
    let figures: usize = widths.iter().map(|width| width + 2).sum();
    let room = width.saturating_sub(figures).max(OPERATOR_WIDTH_MIN);
    let longest = lines
        .iter()
        .map(|line| line.operator.chars().count())
        .max()
        .unwrap_or(0);
    let room = longest.min(room);
    let mut row = |operator: &str, figures: &mut dyn Iterator<Item = &str>| {
        let _ = write!(text, "{:<room$}", cut(operator, room));
        for (cell, width) in figures.zip(&widths) {
            let _ = write!(text, "  {cell:>width$}");
        }
        text.truncate(text.trim_end_matches(' ').len());
        text.push('\n');
    };
    row("", &mut heads.iter().copied());
    for line in &lines {
        row(&line.operator, &mut line.figures.iter().map(String::as_str));
    }
    text.push('\n');
    text
}

/// The statement's text and what it came to.
fn head(statement: &Element, plan: &Element, width: usize) -> String {
    let words: Vec<&str> = statement.attribute("StatementText").split_whitespace().collect();
    let mut text = cut(&words.join(" "), width);
    text.push('\n');
    if let Some(time) = plan.child("QueryTimeStats") {
        let _ = writeln!(
            text,
            "{} ms, {} ms on a processor",
            time.attribute("ElapsedTime"),
            time.attribute("CpuTime")
        );
    }
    text
}

/// At most so many characters; a cut is marked.
fn cut(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_string();
    }
    let kept: String = text.chars().take(room.saturating_sub(1)).collect();
    kept + "…"
}

/// An operator and those below it.
fn operator(shown: &Element, lead: &str, indent: &str, has_run: bool, lines: &mut Vec<Line>) {
    lines.push(Line {
        operator: format!("{lead}{}", description(shown)),
        figures: figures(shown, has_run),
    });
    let mut inputs = Vec::new();
    below(shown, &mut inputs);
    for (place, input) in inputs.iter().enumerate() {
        let (branch, line) = match place + 1 == inputs.len() {
            true => ("└─ ", "   "),
            false => ("├─ ", "│  "),
        };
        operator(
            input,
            &format!("{indent}{branch}"),
            &format!("{indent}{line}"),
            has_run,
            lines,
        );
    }
}

/// The operators directly below one, which stand inside of the element that says what it is.
fn below<'e>(shown: &'e Element, found: &mut Vec<&'e Element>) {
    for child in &shown.children {
        match child.name.as_str() {
            "RelOp" => found.push(child),
            _ => below(child, found),
        }
    }
}

/// What each thread has counted.
fn counters(shown: &Element) -> impl Iterator<Item = &Element> {
    let counted = shown.child("RunTimeInformation").into_iter();
    counted.flat_map(|counted| counted.all("RunTimeCountersPerThread"))
}

fn figures(shown: &Element, has_run: bool) -> Vec<String> {
    let executions =
        1.0 + shown.number("EstimateRebinds").unwrap_or(0.0) + shown.number("EstimateRewinds").unwrap_or(0.0);
    let expected = whole(shown.number("EstimateRows").unwrap_or(0.0) * executions);
    if !has_run {
        let cost = shown.number("EstimatedTotalSubtreeCost").unwrap_or(0.0);
        return vec![expected, format!("{cost:.4}")];
    }
    let sum = |name: &str| {
        let all: Vec<f64> = counters(shown).filter_map(|thread| thread.number(name)).collect();
        (!all.is_empty()).then(|| all.iter().sum::<f64>())
    };
    let most = counters(shown).filter_map(|thread| thread.number("ActualElapsedms"));
    vec![
        sum("ActualRows").map_or_else(String::new, whole),
        expected,
        sum("ActualExecutions").map_or_else(String::new, whole),
        most.reduce(f64::max).map_or_else(String::new, whole),
        sum("ActualLogicalReads").map_or_else(String::new, whole),
    ]
}

/// A whole number with its thousands apart.
fn whole(number: f64) -> String {
    let digits = format!("{:.0}", number.max(0.0));
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// What an operator is and does, in a line.
fn description(shown: &Element) -> String {
    let (physical, logical) = (shown.attribute("PhysicalOp"), shown.attribute("LogicalOp"));
    let mut parts = vec![physical.to_string()];
    if logical != physical {
        parts.push(logical.to_string());
    }
    let around = [
        "OutputList",
        "RunTimeInformation",
        "Warnings",
        "MemoryFractions",
        "InternalInfo",
    ];
    if let Some(own) = shown
        .children
        .iter()
        .find(|child| !around.contains(&child.name.as_str()))
    {
        parts.extend(own.child("Object").map(object));
        if let Some(seek) = own.child("SeekPredicates") {
            parts.push(seek_text(seek));
        }
        if let Some(built) = own.child("HashKeysBuild") {
            parts.push(format!("by {}", column_list(built)));
        }
        if let Some(group) = own.child("GroupBy") {
            parts.push(format!("by {}", column_list(group)));
        }
        if let Some(order) = own.child("OrderBy") {
            parts.push(format!("by {}", order_text(order)));
        }
        for name in ["Predicate", "ProbeResidual", "Residual"] {
            parts.extend(own.child(name).map(|test| format!("where {}", scalar_text(test))));
        }
        for name in ["OffsetExpression", "TopExpression"] {
            parts.extend(own.child(name).map(scalar_text));
        }
    }
    parts.retain(|part| !part.is_empty());
    parts.join("  ")
}

fn bare(name: &str) -> &str {
    name.trim_start_matches('[').trim_end_matches(']')
}

/// `table.index`. A schema other than dbo is named too: `sys.tables`.
fn object(object: &Element) -> String {
    let schema = bare(object.attribute("Schema"));
    let mut names = vec![if schema == "dbo" {
        String::new()
    } else {
        schema.to_string()
    }];
    names.push(bare(object.attribute("Table")).to_string());
    names.push(bare(object.attribute("Index")).to_string());
    names.retain(|name| !name.is_empty());
    names.join(".")
}

fn column(column: &Element) -> String {
    let table = bare(column.attribute("Table"));
    match table.is_empty() {
        true => column.attribute("Column").to_string(),
        false => format!("{table}.{}", column.attribute("Column")),
    }
}

fn column_list(list: &Element) -> String {
    let all: Vec<String> = list.all("ColumnReference").map(column).collect();
    all.join(", ")
}

fn order_text(order: &Element) -> String {
    let all = order.all("OrderByColumn").map(|by| {
        let descending = matches!(by.attribute("Ascending"), "0" | "false");
        format!("{}{}", column_list(by), if descending { " desc" } else { "" })
    });
    all.collect::<Vec<_>>().join(", ")
}

/// The text of an expression, names without database and schema.
fn scalar_text(holder: &Element) -> String {
    let text = holder
        .child("ScalarOperator")
        .map_or("", |scalar| scalar.attribute("ScalarString"));
    shortened(text)
}

/// `[d].[s].[t].[c]` as `t.c`.
fn shortened(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('[') {
        result.push_str(&rest[..start]);
        rest = &rest[start..];
        let mut names = Vec::new();
        while let Some((name, after)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            names.push(name);
            rest = after;
            match after.strip_prefix('.') {
                Some(more) if more.starts_with('[') && more.contains(']') => rest = more,
                _ => break,
            }
        }
        if names.is_empty() {
            // A bracket that nothing closes.
            return result + rest;
        }
        let kept = names.len().saturating_sub(2);
        result.push_str(&names[kept..].join("."));
    }
    result + rest
}

/// The ranges of keys that a search looks for.
fn seek_text(seek: &Element) -> String {
    let mut ranges = Vec::new();
    for predicate in &seek.children {
        for keys in predicate.all("SeekKeys") {
            let parts: Vec<String> = keys.children.iter().map(range_text).collect();
            ranges.push(parts.join(" and "));
        }
    }
    ranges.join(" or ")
}

fn range_text(range: &Element) -> String {
    if range.name == "IsNotNull" {
        return format!("{} is not null", column_list(range));
    }
    let sign = match range.attribute("ScanType") {
        "EQ" => "=",
        "GE" => ">=",
        "GT" => ">",
        "LE" => "<=",
        "LT" => "<",
        other => other,
    };
    let columns = range.child("RangeColumns");
    let names = columns.into_iter().flat_map(|columns| columns.all("ColumnReference"));
    let values = range.child("RangeExpressions");
    let values = values.into_iter().flat_map(|values| values.all("ScalarOperator"));
    let pairs = names.zip(values).map(|(name, value)| {
        let value = shortened(value.attribute("ScalarString"));
        format!("{} {sign} {value}", name.attribute("Column"))
    });
    pairs.collect::<Vec<_>>().join(" and ")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const PLAN: &str = "<ShowPlanXML><BatchSequence><Batch><Statements><StmtSimple StatementText=\"select  x\nfrom t\" StatementType=\"SELECT\">\
        <QueryPlan><QueryTimeStats CpuTime=\"3\" ElapsedTime=\"4\"/>\
        <RelOp PhysicalOp=\"Nested Loops\" LogicalOp=\"Inner Join\" EstimateRows=\"20\" EstimateRebinds=\"0\" EstimateRewinds=\"0\" EstimatedTotalSubtreeCost=\"0.5\">\
        <OutputList/><RunTimeInformation><RunTimeCountersPerThread Thread=\"0\" ActualRows=\"1234\" ActualExecutions=\"1\" ActualElapsedms=\"4\"/></RunTimeInformation>\
        <NestedLoops Optimized=\"0\">\
        <RelOp PhysicalOp=\"Clustered Index Scan\" LogicalOp=\"Clustered Index Scan\" EstimateRows=\"20\">\
        <RunTimeInformation><RunTimeCountersPerThread Thread=\"1\" ActualRows=\"1\" ActualExecutions=\"1\" ActualElapsedms=\"2\" ActualLogicalReads=\"5\"/>\
        <RunTimeCountersPerThread Thread=\"2\" ActualRows=\"2\" ActualExecutions=\"1\" ActualElapsedms=\"1\" ActualLogicalReads=\"6\"/></RunTimeInformation>\
        <IndexScan><Object Database=\"[d]\" Schema=\"[dbo]\" Table=\"[u]\" Index=\"[pk]\"/>\
        <Predicate><ScalarOperator ScalarString=\"[d].[dbo].[u].[k]&lt;(20)\"/></Predicate></IndexScan></RelOp>\
        <RelOp PhysicalOp=\"Index Seek\" LogicalOp=\"Index Seek\" EstimateRows=\"1.5\" EstimateRebinds=\"19\">\
        <RunTimeInformation><RunTimeCountersPerThread Thread=\"0\" ActualRows=\"3\" ActualExecutions=\"3\" ActualElapsedms=\"0\" ActualLogicalReads=\"9\"/></RunTimeInformation>\
        <IndexScan><Object Table=\"[t]\" Index=\"[i]\"/><SeekPredicates><SeekPredicateNew><SeekKeys><Prefix ScanType=\"EQ\"><RangeColumns>\
        <ColumnReference Table=\"[t]\" Column=\"a\"/></RangeColumns><RangeExpressions><ScalarOperator ScalarString=\"[d].[dbo].[u].[a]\"/></RangeExpressions></Prefix>\
        </SeekKeys></SeekPredicateNew></SeekPredicates></IndexScan></RelOp>\
        </NestedLoops></RelOp></QueryPlan></StmtSimple></Statements></Batch></BatchSequence></ShowPlanXML>";

    #[test]
    fn a_plan_is_a_tree_with_its_figures_beside_it() {
        let expected = "select x from t
4 ms, 3 ms on a processor
                                                rows  expected  times  ms  reads
Nested Loops  Inner Join                       1,234        20      1   4
├─ Clustered Index Scan  u.pk  where u.k<(20)      3        20      2   2     11
└─ Index Seek  t.i  a = u.a                        3        30      3   0      9

";
        assert_eq!(draw(PLAN, 200).unwrap(), expected);
        let narrow = draw(PLAN, 60).unwrap();
        assert!(narrow.lines().all(|line| line.chars().count() <= 60), "{narrow}");
        assert!(narrow.contains('…'), "{narrow}");
    }

    #[test]
    fn a_plan_that_did_not_run_has_rows_expected_and_costs() {
        let begin = PLAN.find("<RunTimeInformation>").unwrap();
        let end = PLAN.find("<NestedLoops").unwrap();
        let estimated = format!("{}{}", &PLAN[..begin], &PLAN[end..]);
        let drawn = draw(&estimated, 120).unwrap();
        assert!(drawn.contains("expected    cost\n"), "{drawn}");
        assert!(drawn.contains("        20  0.5000\n"), "{drawn}");
    }

    #[test]
    fn names_lose_what_is_clear() {
        for (text, short) in [
            ("[d].[s].[t].[c]=(5)", "t.c=(5)"),
            ("[@0]+[Expr1001]", "@0+Expr1001"),
            ("a[", "a["),
            ("[a].[", "a.["),
        ] {
            assert_eq!(shortened(text), short);
        }
        assert_eq!(whole(1_234_567.4), "1,234,567");
    }
}
