//! EXECUTE ... WITH RESULT SETS: the client gets the result sets under the names and types that the statement describes (sql-docs, EXECUTE).
//!
//! ```text
//! module --columns, rows--> Described --renamed, converted--> client
//!                              |
//!                              +--> 11535 11537 11538 11553: the EXECUTE ends by it, nothing inside catches it
//! end of the module --fewer sets than described--> 11536
//! ```
//! Values are converted as by CAST: a string that is too long for its type is cut, a number that does not fit is 220 or 8115.

use engine::error::{Error, Result};
use engine::types::{Collation, Length, SqlType, Value};

use super::executor::{Executor, Outcome};
use crate::ast::{DataType, Name, ResultSet, ResultSetColumn};
use crate::bind::XML_COLUMN;
use crate::messages;
use crate::modules::{Declared, UserTypes};
use crate::plan::Label;
use crate::scalar::convert::convert;
use crate::scalar::data_type::check_conversion;
use crate::sink::{CallEnd, DoneKind, Message, ResultColumn, ResultSink, SinkClosed, TransactionEvent};

/// A sink that has result sets look as they are described.
struct Described<'c> {
    sets: Vec<Vec<ResultColumn>>,
    /// Result sets so far.
    sent: usize,
    /// The types of the result set under way, as the module sends it.
    types: Vec<SqlType>,
    /// Why a result set or a row could not be passed on.
    refused: Option<Error>,
    client: &'c mut dyn ResultSink,
}

impl Described<'_> {
    /// What is wrong with a result set of these columns, the next to come.
    fn check(&self, columns: &[ResultColumn]) -> Result<&[ResultColumn]> {
        let number = self.sent + 1;
        let described = self.sets.get(self.sent);
        let described = described.ok_or_else(|| messages::more_result_sets(self.sets.len()))?;
        if described.len() != columns.len() {
            return Err(messages::result_set_columns(described.len(), number, columns.len()));
        }
        for ((own, sent), place) in described.iter().zip(columns).zip(1..) {
            // AS FOR XML takes what FOR XML makes with TYPE as what it makes without.
            let is_document = own.name == XML_COLUMN && sent.sql_type == SqlType::XML;
            if !is_document && check_conversion(sent.sql_type, own.sql_type, false).is_err() {
                let (own, sent) = (messages::type_name(own.sql_type), messages::type_name(sent.sql_type));
                return Err(messages::result_set_type(own, place, number, sent));
            }
        }
        Ok(described)
    }

    /// A row in the types that are described.
    fn converted(&self, row: &[Value]) -> Result<Vec<Value>> {
        let number = self.sent;
        let described = self.sets.get(number.saturating_sub(1)).map_or(&[][..], Vec::as_slice);
        let columns = described.iter().zip(&self.types).zip(row).zip(1..);
        let converted = columns.map(|(((own, from), value), place)| {
            if value.is_null() && !own.nullable {
                return Err(messages::result_set_null(place, number));
            }
            let value = convert(value, *from, own.sql_type, None)?;
            Ok(match own.sql_type.is_character() {
                true => value.collated(own.label.collation()),
                false => value,
            })
        });
        converted.collect()
    }

    /// Notes why it goes on no longer.
    fn refuse(&mut self, error: Error) -> SinkClosed {
        self.refused = Some(error);
        SinkClosed
    }
}

impl ResultSink for Described<'_> {
    fn columns_to_come(&mut self, columns: &[ResultColumn]) -> std::result::Result<(), SinkClosed> {
        match self.check(columns) {
            Ok(_) => Ok(()),
            Err(error) => Err(self.refuse(error)),
        }
    }

    fn columns(&mut self, columns: &[ResultColumn]) -> std::result::Result<(), SinkClosed> {
        self.columns_to_come(columns)?;
        self.types = columns.iter().map(|column| column.sql_type).collect();
        let described = self.sets.get(self.sent).map_or(&[][..], Vec::as_slice);
        self.client.columns(described)?;
        self.sent += 1;
        Ok(())
    }

    fn row(&mut self, row: &[Value]) -> std::result::Result<(), SinkClosed> {
        match self.converted(row) {
            Ok(row) => self.client.row(&row),
            Err(error) => Err(self.refuse(error)),
        }
    }

    fn done(&mut self, row_count: Option<u64>, kind: DoneKind) -> std::result::Result<(), SinkClosed> {
        self.client.done(row_count, kind)
    }

    fn message(&mut self, message: &Message) -> std::result::Result<(), SinkClosed> {
        self.client.message(message)
    }

    fn database_changed(&mut self, from: &str, to: &str) {
        self.client.database_changed(from, to);
    }

    fn transaction_changed(&mut self, event: TransactionEvent) {
        self.client.transaction_changed(event);
    }

    fn return_status(&mut self, status: i32) {
        self.client.return_status(status);
    }

    fn call_begun(&mut self) {
        self.client.call_begun();
    }

    fn call_ended(&mut self, end: CallEnd) -> std::result::Result<(), SinkClosed> {
        self.client.call_ended(end)
    }

    fn flush(&mut self) -> std::result::Result<(), SinkClosed> {
        self.client.flush()
    }
}

impl Executor<'_> {
    /// Does something whose result sets are to be as they are described.
    pub(super) fn within_result_sets<T>(
        &mut self,
        sets: &[ResultSet],
        line: u32,
        work: impl FnOnce(&mut Executor<'_>) -> Outcome<T>,
    ) -> Outcome<T> {
        let columns = sets.iter().map(|set| self.described_set(set));
        let sets: Vec<Vec<ResultColumn>> = columns
            .collect::<Result<_>>()
            .map_err(|error| self.failure(error, line))?;
        let count = sets.len();
        let mut described = Described {
            sets,
            sent: 0,
            types: Vec::new(),
            refused: None,
            client: &mut *self.sink,
        };
        let variables = std::mem::take(&mut self.variables);
        let mut inner = Executor::new(self.session, self.prepared, &mut described, self.batch.clone());
        inner.variables = variables;
        inner.procedure.clone_from(&self.procedure);
        (inner.try_depth, inner.outer_try_depth) = (self.try_depth, self.outer_try_depth);
        let result = work(&mut inner);
        self.variables = std::mem::take(&mut inner.variables);
        let (refused, sent) = (described.refused, described.sent);
        if let Some(refused) = refused {
            return Err(self.failure(refused, line));
        }
        let result = result?;
        match sent < count {
            true => Err(self.failure(messages::fewer_result_sets(count, sent), line)),
            false => Ok(result),
        }
    }

    /// The columns of a result set that is described.
    ///
    /// # Errors
    /// Those of unknown types, collations and objects.
    fn described_set(&mut self, set: &ResultSet) -> Result<Vec<ResultColumn>> {
        match set {
            ResultSet::Columns(columns) => {
                let columns = columns.iter().zip(1..);
                columns
                    .map(|(column, place)| self.described_column(column, place))
                    .collect()
            }
            ResultSet::Object(name) => self.first_result_columns(&format!("select * from {}", bracketed(name))),
            ResultSet::Type(name) => self.columns_of_type(name),
            ResultSet::Xml => Ok(vec![ResultColumn::new(XML_COLUMN, SqlType::NVarChar(Length::Max))]),
        }
    }

    fn described_column(&self, column: &ResultSetColumn, place: usize) -> Result<ResultColumn> {
        let database = self.session.database();
        let types = UserTypes::of(&database, self.session.id, self.session.version());
        let (declared, _) = types.declared(&column.data_type, place)?;
        let Declared::Scalar(sql_type) = declared else {
            return Err(messages::unknown_type(place, &column.data_type.name.to_string()));
        };
        let collation = match &column.collation {
            Some(_) if !sql_type.is_character() => {
                return Err(messages::not_collatable(messages::type_name(sql_type)));
            }
            Some(written) => self.session.collation(&written.text)?,
            None if sql_type.is_character() => self.session.database_collation(),
            None => Collation::default(),
        };
        Ok(ResultColumn {
            label: Label::Implicit(collation),
            nullable: column.nullable.unwrap_or(true),
            ..ResultColumn::new(&column.name.text, sql_type)
        })
    }

    /// The columns of a table type.
    fn columns_of_type(&self, name: &Name) -> Result<Vec<ResultColumn>> {
        let database = self.session.database();
        let types = UserTypes::of(&database, self.session.id, self.session.version());
        let written = DataType {
            name: name.clone(),
            arguments: Vec::new(),
        };
        let (declared, _) = types.declared(&written, 1)?;
        let Declared::Table(shape) = declared else {
            return Err(messages::unknown_type(1, &name.to_string()));
        };
        let collation = self.session.database_collation();
        let columns = shape.columns.iter().map(|column| ResultColumn {
            label: Label::Implicit(column.collation.unwrap_or(collation)),
            nullable: column.nullable,
            ..ResultColumn::new(&column.name, column.sql_type)
        });
        Ok(columns.collect())
    }
}

/// A name as it is written in brackets.
fn bracketed(name: &Name) -> String {
    let parts = name.parts.iter().map(|part| match part.text.is_empty() {
        true => String::new(),
        false => format!("[{}]", part.text.replace(']', "]]")),
    });
    parts.collect::<Vec<_>>().join(".")
}
