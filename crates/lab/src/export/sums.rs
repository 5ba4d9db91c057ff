//! Counts and sums of a table's columns, computed by a server, so that two tables can be compared wherever they are.
//!
//! Sums are over numbers, over dates and times in nanoseconds, over the bits of floats, and for text and bytes over their lengths and the
//! first halves of their MD5 (before SQL Server 2016 HASHBYTES takes at most 8,000 bytes, so longer values count with their first 8,000).
//! Sums do not depend on the order of rows.

use super::catalog::{Column, Table};
use super::words::quoted;
use crate::client::{ClientError, Connection};

/// What both sides' rows of one table come to, compared at the end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sums {
    pub rows: u64,
    pub columns: Vec<ColumnSums>,
}

/// What both sides' values of one column come to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ColumnSums {
    pub name: String,
    /// Values that are not NULL.
    pub values: u64,
    /// As the server wrote it, none for no values.
    pub sum: Option<String>,
    /// Of bytes, for text and the like.
    pub bytes: Option<String>,
}

/// Numbers of more digits are summed by their remainder, or the sum would not fit 38.
const DIGITS_SUMMED: u8 = 28;
const REMAINDER: u32 = 1_000_000_007;

fn sum_of(column: &Column) -> String {
    let name = quoted(&column.name);
    let wide = |expression: &str, scale: u8| format!("SUM(CONVERT(decimal(38, {scale}), {expression}))");
    let moment = |day: &str, time: &str| {
        format!(
            "SUM({day} * CONVERT(decimal(38, 0), 86400000000000) + CONVERT(decimal(38, 0), DATEDIFF(second, '00:00:00', {time})) * 1000000000 + DATEPART(nanosecond, {name}))"
        )
    };
    let days = format!("CONVERT(decimal(38, 0), DATEDIFF(day, '19000101', {name}))");
    let digest = |bytes: &str| {
        let digest = format!("SUBSTRING(HASHBYTES('MD5', CONVERT(varbinary(8000), {bytes})), 1, 8)");
        wide(&format!("CONVERT(bigint, {digest})"), 0)
    };
    match column.base.as_str() {
        "bit" | "tinyint" | "smallint" | "int" | "bigint" => wide(&name, 0),
        "money" | "smallmoney" => wide(&name, 4),
        "decimal" | "numeric" if column.precision <= DIGITS_SUMMED => wide(&name, column.scale),
        "decimal" | "numeric" => wide(&format!("{name} % {REMAINDER}"), column.scale),
        "float" => wide(&format!("CONVERT(bigint, CONVERT(binary(8), {name}))"), 0),
        "real" => wide(&format!("CONVERT(bigint, CONVERT(binary(4), {name}))"), 0),
        "date" => wide(&format!("DATEDIFF(day, '19000101', {name})"), 0),
        "time" => moment("0", &name),
        // An offset moves the clock, not the moment: the digits shown are compared.
        "datetime" | "smalldatetime" | "datetime2" | "datetimeoffset" => {
            moment(&days, &format!("CONVERT(time(7), {name})"))
        }
        "xml" => digest(&format!("CONVERT(nvarchar(max), {name})")),
        "text" => digest(&format!("CONVERT(varchar(max), {name})")),
        "ntext" => digest(&format!("CONVERT(nvarchar(max), {name})")),
        "image" => digest(&format!("CONVERT(varbinary(max), {name})")),
        _ => digest(&name),
    }
}

/// Of values whose length varies.
fn bytes_of(column: &Column) -> Option<String> {
    let name = quoted(&column.name);
    let of = match column.base.as_str() {
        "xml" => format!("CONVERT(nvarchar(max), {name})"),
        "char" | "varchar" | "nchar" | "nvarchar" | "text" | "ntext" | "binary" | "varbinary" | "image" => name,
        _ => return None,
    };
    Some(format!("SUM(CONVERT(bigint, DATALENGTH({of})))"))
}

/// Whether a sum needs no server: of numbers.
pub(super) fn is_exact_number(column: &Column) -> bool {
    let is_short = column.precision <= DIGITS_SUMMED;
    match column.base.as_str() {
        "bit" | "tinyint" | "smallint" | "int" | "bigint" | "money" | "smallmoney" => true,
        "decimal" | "numeric" => is_short,
        _ => false,
    }
}

/// Asks for them.
///
/// # Errors
/// The first error of the server, a broken connection, [`ClientError::Interrupted`].
pub fn sums(connection: &mut Connection, table: &Table, watch: &mut dyn FnMut() -> bool) -> Result<Sums, ClientError> {
    let columns: Vec<&Column> = table.columns.iter().filter(|column| column.has_data()).collect();
    let mut wanted = vec!["COUNT_BIG(*)".to_owned()];
    for column in &columns {
        let count = match column.base.as_str() {
            // COUNT takes no text.
            "text" | "ntext" | "image" | "xml" => {
                format!("SUM(CASE WHEN {} IS NULL THEN 0 ELSE 1 END)", quoted(&column.name))
            }
            _ => format!("COUNT_BIG({})", quoted(&column.name)),
        };
        wanted.extend([count, sum_of(column), bytes_of(column).unwrap_or("NULL".to_owned())]);
    }
    let query = format!("SELECT {} FROM {}", wanted.join(", "), table.name);
    let mut cells = Vec::new();
    connection.wire_rows(&query, watch, &mut |row| {
        cells = row.values()?;
        Ok(())
    })?;
    let mut cells = cells.into_iter();
    let mut next = || cells.next().flatten();
    let count = |text: Option<String>| text.and_then(|text| text.parse().ok()).unwrap_or_default();
    let rows = count(next());
    let of = |column: &&Column| ColumnSums {
        name: column.name.clone(),
        values: count(next()),
        sum: next(),
        bytes: next(),
    };
    Ok(Sums {
        rows,
        columns: columns.iter().map(of).collect(),
    })
}

impl Sums {
    /// What differs, in words.
    pub fn differences(&self, table: &str, other: &Sums) -> Vec<String> {
        let mut found = Vec::new();
        if self.rows != other.rows {
            found.push(format!("{table}: {} rows here, {} there", self.rows, other.rows));
        }
        for (here, there) in self.columns.iter().zip(&other.columns) {
            let shown = |sums: &ColumnSums| {
                let sum = sums.sum.as_deref().unwrap_or("none");
                format!("{} values, sum {sum}", sums.values)
            };
            if here != there {
                found.push(format!(
                    "{table}.{}: {} here, {} there",
                    here.name,
                    shown(here),
                    shown(there)
                ));
            }
        }
        found
    }
}
