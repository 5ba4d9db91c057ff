//! Columns that were added to a table with rows, in databases that the tests' own writer makes.

use crate::support::database::{Cell, Column, Database, INT, NVARCHAR, Table, VARCHAR, utf16};
use genuine::DataFiles;
use genuine::catalog::Catalog;
use genuine::scan::Rows;
use genuine::types::Value;

/// `sql_variant` of an int, and of an nvarchar.
fn variant_int(value: i32) -> Cell {
    let mut bytes = vec![INT, 1];
    bytes.extend(value.to_le_bytes());
    Cell::Bytes(bytes)
}

fn variant_text(text: &str) -> Cell {
    let mut bytes = vec![NVARCHAR, 1, 40, 0];
    bytes.extend(0x3400_d008u32.to_le_bytes());
    bytes.extend(utf16(text));
    Cell::Bytes(bytes)
}

fn rows(columns: Vec<Column>, rows: &[&[Cell]]) -> Vec<Result<Vec<Value>, String>> {
    let table = rows
        .iter()
        .fold(Table::new("Orders", columns), |table, cells| table.row(cells));
    let database = Database::new("Sales", vec![table]);
    let files = DataFiles::open(vec![database.file()]).unwrap();
    let catalog = Catalog::open(&files).unwrap();
    let table = catalog.table("Orders").unwrap();
    let rows = Rows::new(&files, &table.rowsets[0]);
    rows.map(|row| row.map_err(|fault| fault.to_string())).collect()
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

/// ALTER TABLE Orders ADD status int NOT NULL DEFAULT 7, note nvarchar(20) NOT NULL DEFAULT N'open', later int NULL: SQL Server 2012 writes no row.
/// The rows from then on have values of their own, whatever the default has become.
#[test]
fn rows_that_are_older_than_a_column_have_the_value_that_the_catalog_kept_for_them() {
    let columns = vec![
        Column::new("id", INT, 4).not_null(),
        Column::new("status", INT, 4).added(variant_int(7), Cell::Null),
        Column::new("note", NVARCHAR, 40).added(variant_text("open"), Cell::Null),
        Column::new("later", INT, 4),
    ];
    let found = rows(
        columns,
        &[
            &[Cell::Number(1)],
            &[
                Cell::Number(2),
                Cell::Number(8),
                Cell::Bytes(utf16("shut")),
                Cell::Number(5),
            ],
        ],
    );
    let expected = [
        Ok(vec![Value::Integer(1), Value::Integer(7), text("open"), Value::Null]),
        Ok(vec![
            Value::Integer(2),
            Value::Integer(8),
            text("shut"),
            Value::Integer(5),
        ]),
    ];
    assert_eq!(found, expected);
}

/// A value that is kept as bytes outside `value`, one of another type, and none at all where the column is NOT NULL: the row is a fault that names the
/// column, and not NULL.
#[test]
fn a_value_that_is_not_known_is_a_fault_and_not_null() {
    let id = || Column::new("id", INT, 4).not_null();
    let kept_elsewhere = Column::new("note", VARCHAR, -1).added(Cell::Null, Cell::Bytes(b"open".to_vec()));
    let of_another_type = Column::new("note", INT, 4).added(variant_text("7"), Cell::Null);
    let lost = Column::new("note", INT, 4).not_null();
    for column in [kept_elsewhere, of_another_type, lost] {
        let found = rows(vec![id(), column], &[&[Cell::Number(1)]]);
        let fault = found[0].as_ref().unwrap_err();
        assert!(
            fault.contains("column note: the row is older than the column"),
            "{fault}"
        );
    }
}
