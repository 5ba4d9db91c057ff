//! Scans and searches of tables, with the condition directly above them.

use super::ShownOperator;
use super::element;
use super::expression::condition;
use super::names::{Named, Names, quoted};
use super::operator::{Shown, leaf};
use crate::measure::NodeAddress;
use crate::optimize::estimate::Expected;
use crate::plan::{Condition, ScanNode, SeekEnd, SeekKey, SeekRange};
use crate::showplan::escaped;

/// A page read at random, and one read behind the other, in seconds.
const RANDOM_PAGE: f64 = 1.0 / 320.0;
const NEXT_PAGE: f64 = 1.0 / 1_350.0;

/// A scan or a search, with the condition directly above it; what is expected of both, and of the table; and what places of the
/// row around a search are called.
pub(super) fn scanned(
    scan: &ScanNode,
    above: Option<&Condition>,
    (expected, table): (Expected, Expected),
    outer: &Names,
) -> Shown {
    let definition = scan.table.table.definition();
    let database = scan.table.table.database().name();
    let full_name = [database.as_str(), definition.schema.as_str(), definition.name.as_str()];
    let mut names = outer.clone();
    for (column, defined) in definition.columns.iter().enumerate() {
        let [database, schema, table] = full_name.map(str::to_owned);
        let name = Named::Column(Box::new([database, schema, table, defined.name.clone()]));
        names.set(scan.offset + column, name);
    }
    let (physical, mut argument) = way(scan, &full_name, &names);
    let probes = scan.bitmaps.iter().map(|places| probe(places, &names).2);
    let own = above.map(|above| condition(above, &names));
    let tests: Vec<String> = own.into_iter().chain(probes).collect();
    if !tests.is_empty() {
        argument.push_str(&format!(", WHERE:({})", tests.join(" AND ")));
    }
    if let Some(seek) = &scan.seek {
        argument.push_str(if seek.is_backward {
            " ORDERED BACKWARD"
        } else {
            " ORDERED FORWARD"
        });
    }
    let (rows, pages) = (expected.rows, table.table_pages);
    let share = (rows / table.table_rows.max(1.0)).clamp(0.0, 1.0);
    let read = if scan.seek.is_some() {
        (pages * share).ceil()
    } else {
        pages
    };
    let columns = scan.columns.iter().filter_map(|column| definition.columns.get(*column));
    let width: u64 = columns
        .map(|column| u64::from(column.sql_type.max_length().clamp(1, 100).unsigned_abs()))
        .sum();
    let output: Vec<Named> = scan
        .columns
        .iter()
        .map(|column| names.of(scan.offset + column))
        .collect();
    let mut shown = ShownOperator {
        argument,
        io_cost: RANDOM_PAGE + NEXT_PAGE * (read - 1.0).max(0.0),
        row_bytes: 9 + width,
        output,
        table_rows: Some(table.table_rows),
        counted: Some(NodeAddress::of(scan)),
        read_by: Some(NodeAddress::of(scan)),
        ..leaf(&physical, &physical, rows)
    };
    describe(&mut shown, scan, above, &full_name, &names);
    (shown, names)
}

/// What the element of a scan says of it.
fn describe(
    shown: &mut ShownOperator,
    scan: &ScanNode,
    above: Option<&Condition>,
    full_name: &[&str; 3],
    names: &Names,
) {
    let definition = scan.table.table.definition();
    let index = match &scan.seek {
        Some(seek) => definition.indexes.get(seek.index),
        None => definition.clustered(),
    };
    let [database, schema, table] = full_name.map(|part| escaped(&quoted([part])));
    let object = format!("Database=\"{database}\" Schema=\"{schema}\" Table=\"{table}\"");
    let kind = match index {
        Some(index) if index.index_id == 1 => "Clustered",
        Some(_) => "NonClustered",
        None => "Heap",
    };
    let index = index.map_or_else(String::new, |index| {
        format!(" Index=\"{}\"", escaped(&quoted([&index.name])))
    });
    let values = shown.output.iter();
    shown.own.defined = values
        .map(|name| format!("<DefinedValue>{}</DefinedValue>", element::column(name)))
        .collect();
    shown.own.before = format!("<Object {object}{index} IndexKind=\"{kind}\" Storage=\"RowStore\"/>");
    shown.own.attributes = " Ordered=\"0\" ForcedIndex=\"0\" NoExpandHint=\"0\" Storage=\"RowStore\"".to_owned();
    if let Some(seek) = &scan.seek {
        let direction = if seek.is_backward { "BACKWARD" } else { "FORWARD" };
        shown.own.attributes = format!(
            " Ordered=\"1\" ScanDirection=\"{direction}\" ForcedIndex=\"0\" ForceSeek=\"0\" ForceScan=\"0\" NoExpandHint=\"0\" Storage=\"RowStore\""
        );
        let keys = seek.ranges.iter().map(|range| seek_keys(scan, range, names));
        let keys: String = keys
            .filter(|keys| !keys.is_empty())
            .map(|keys| format!("<SeekPredicateNew><SeekKeys>{keys}</SeekKeys></SeekPredicateNew>"))
            .collect();
        if !keys.is_empty() {
            shown
                .own
                .before
                .push_str(&format!("<SeekPredicates>{keys}</SeekPredicates>"));
        }
    }
    for places in &scan.bitmaps {
        let (bitmap, keys, text) = probe(places, names);
        shown.own.before.push_str(&element::probe(&bitmap, &keys, &text));
    }
    if let Some(above) = above {
        shown
            .own
            .before
            .push_str(&element::predicate("Predicate", above, names));
    }
}

/// A bitmap that rows are tested by: its name, its keys, and how the test is written.
fn probe(places: &[usize], names: &Names) -> (Named, Vec<Named>, String) {
    let keys: Vec<Named> = places.iter().map(|place| names.of(*place)).collect();
    let bitmap = Named::bitmap(places);
    let mut text = format!("PROBE({bitmap}");
    keys.iter().for_each(|key| text.push_str(&format!(",{key}")));
    text.push(')');
    (bitmap, keys, text)
}

/// What a range of keys is, as `SeekKeys` holds it.
fn seek_keys(scan: &ScanNode, range: &SeekRange, names: &Names) -> String {
    let definition = scan.table.table.definition();
    let keys = scan
        .seek
        .as_ref()
        .and_then(|seek| definition.indexes.get(seek.index))
        .map_or(&[][..], |index| &index.keys);
    let column = |position: usize| {
        let key = keys.get(position);
        key.map_or_else(String::new, |(column, _)| {
            element::column(&names.of(scan.offset + column))
        })
    };
    let part = |name: &str, how: &str, columns: String, values: String| {
        format!(
            "<{name} ScanType=\"{how}\"><RangeColumns>{columns}</RangeColumns><RangeExpressions>{values}</RangeExpressions></{name}>"
        )
    };
    let mut text = String::new();
    if !range.equal.is_empty() {
        let columns = (0..range.equal.len()).map(column).collect();
        let values = range.equal.iter().map(|key| match key {
            SeekKey::Value(value) => element::operator(value, names),
            SeekKey::Null => {
                "<ScalarOperator ScalarString=\"NULL\"><Const ConstValue=\"NULL\"/></ScalarOperator>".to_owned()
            }
        });
        text.push_str(&part("Prefix", "EQ", columns, values.collect()));
    }
    let next = column(range.equal.len());
    match &range.end {
        SeekEnd::All => {}
        SeekEnd::NotNull => text.push_str(&format!("<IsNotNull>{next}</IsNotNull>")),
        SeekEnd::Between { low, high } => {
            if let Some((value, is_in)) = low {
                let how = if *is_in { "GE" } else { "GT" };
                text.push_str(&part("StartRange", how, next.clone(), element::operator(value, names)));
            }
            if let Some((value, is_in)) = high {
                let how = if *is_in { "LE" } else { "LT" };
                text.push_str(&part("EndRange", how, next, element::operator(value, names)));
            }
        }
        SeekEnd::Prefix { pattern, .. } => {
            text.push_str(&part("StartRange", "GE", next, element::operator(pattern, names)));
        }
    }
    text
}

/// The operator's name and the beginning of its argument.
fn way(scan: &ScanNode, full_name: &[&str; 3], names: &Names) -> (String, String) {
    let definition = scan.table.table.definition();
    let object = |index: Option<&str>| {
        let parts = full_name.iter().copied().chain(index);
        format!("OBJECT:({})", quoted(parts))
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
    let conditions = scan.seek_conditions();
    if conditions.is_empty() {
        return (format!("{kind} Scan"), object(Some(&index.name)));
    }
    let parts: Vec<String> = conditions.iter().map(|one| condition(one, names)).collect();
    let argument = format!("{}, SEEK:({})", object(Some(&index.name)), parts.join(" AND "));
    (format!("{kind} Seek"), argument)
}
