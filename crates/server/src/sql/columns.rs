//! The columns of a result, announced to a client.

use engine::types::{SqlType, Value};
use tds::{Collation, Column, RowWriter};
use tsql::session::ResultColumn;
use tsql::sink::XmlCollectionName;

use super::values;

/// The UserType of TIMESTAMP columns, which are binary(8) else ([MS-TDS] 2.2.7.4). Clients know by it that they cannot be written.
const USER_TYPE_TIMESTAMP: u32 = 0x50;

/// The columns that a session announced last, in both worlds' words: a statement that is sent again announces the same.
#[derive(Default)]
pub struct Announced {
    columns: Vec<ResultColumn>,
    wire: Vec<Column>,
}

impl Announced {
    /// The wire's words for `columns`, whose rows come next.
    pub fn wire(&mut self, columns: &[ResultColumn]) -> &[Column] {
        if self.columns != columns {
            self.columns = columns.to_vec();
            let wire = |column: &ResultColumn| Column {
                nullable: column.nullable,
                identity: column.identity,
                collation: match column.sql_type {
                    SqlType::Json => Some(Collation(engine::types::Collation::Utf8Bin2.wire_bytes())),
                    SqlType::XML => None,
                    own => own
                        .is_character()
                        .then(|| Collation(column.label.collation().wire_bytes())),
                },
                xml_collection: column.xml_collection.as_deref().map(wire_collection),
                user_type: match column.sql_type {
                    SqlType::RowVersion => USER_TYPE_TIMESTAMP,
                    _ => 0,
                },
                ..Column::new(column.name.as_str(), values::column_type(column.sql_type))
            };
            self.wire = columns.iter().map(wire).collect();
        }
        &self.wire
    }
    /// Writes the values of a row of these columns.
    pub fn write_row(&self, writer: &mut RowWriter<'_>, row: &[Value]) {
        self.write_part(writer, row, 0);
    }

    /// Writes some of a row's values, the first of which is that of a column's number.
    pub fn write_part(&self, writer: &mut RowWriter<'_>, values: &[Value], first: usize) {
        for (value, column) in values.iter().zip(self.columns.iter().skip(first)) {
            values::write(writer, column.sql_type, value);
        }
    }
}

/// The names of a schema collection as the wire has them.
pub(super) fn wire_collection(own: &XmlCollectionName) -> tds::XmlCollection {
    tds::XmlCollection {
        database: own.database.clone(),
        schema: own.schema.clone(),
        name: own.name.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Drivers tell a rowversion column from binary(8) by the user type alone: bulk copies leave such columns out.
    #[test]
    fn a_row_version_is_a_binary_of_eight_bytes_with_its_own_user_type() {
        let columns = [
            ResultColumn::new("r", SqlType::RowVersion),
            ResultColumn::new("b", SqlType::Binary(8)),
        ];
        let mut announced = Announced::default();
        let told: Vec<_> = announced
            .wire(&columns)
            .iter()
            .map(|column| (column.column_type, column.user_type))
            .collect();
        assert_eq!(
            told,
            [(tds::ColumnType::Binary(8), 80), (tds::ColumnType::Binary(8), 0)]
        );
    }
}
