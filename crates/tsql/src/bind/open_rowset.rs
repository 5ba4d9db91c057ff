//! OPENROWSET(BULK ...) in FROM (sql-docs, "OPENROWSET (BULK)"): a file as one value, or its rows with the columns of a format file.
//!
//! The format file is read when the statement is bound, so its plan is for this execution alone.

use std::sync::Arc;

use engine::error::Result;
use engine::types::{Collation, Length, SqlType};

use super::Binder;
use super::from::FromBuilder;
use super::source::BoundSource;
use super::table_function::projected;
use crate::ast::OpenRowset;
use crate::data_file::{Destination, FileRowset, FormattedRows, Layout, Options, RowsetContent, Single, read_format};
use crate::grammar::OPENROWSET_OPTIONS;
use crate::messages;
use crate::plan::{Label, RowCall, RowSource};
use crate::sink::ResultColumn;

/// The column of a file that is one value.
const BULK_COLUMN: &str = "BulkColumn";

impl<'a> Binder<'a> {
    /// # Errors
    /// 491 without an alias; 40517 for options that are not done, and without a format file or a word for one value; those of the format file.
    pub(super) fn open_rowset(&mut self, open: &'a OpenRowset, from: &mut FromBuilder) -> Result<BoundSource> {
        self.line = open.line;
        for option in &open.options {
            OPENROWSET_OPTIONS.admit_option(option).map_err(messages::syntax)?;
        }
        let alias = open.alias.as_ref().ok_or_else(messages::bulk_rowset_without_name)?;
        let options = Options::read(&open.options)?;
        let collation = self.session.database_collation();
        self.advice.recompile = true;
        let (content, columns) = match options.single {
            Some(single) => {
                let sql_type = match single {
                    Single::Blob => SqlType::VarBinary(Length::Max),
                    Single::Clob => SqlType::VarChar(Length::Max),
                    Single::NClob => SqlType::NVarChar(Length::Max),
                };
                let content = RowsetContent::Value(single, collation);
                (content, vec![column_of(BULK_COLUMN, sql_type, true, collation)])
            }
            None => self.formatted_rows(options, collation)?,
        };
        let rowset = FileRowset {
            file: open.file.clone(),
            content,
        };
        let called = RowCall {
            name: "openrowset",
            implementation: RowSource::File(Arc::new(rowset)),
            arguments: Vec::new(),
            columns,
        };
        let expressions = called.columns.iter().enumerate();
        let expressions = expressions.map(|(index, column)| column.expression(index)).collect();
        let columns = called.columns.clone();
        let plan = projected(called, expressions, columns);
        self.derived_columns(plan, &open.columns, &alias.text, alias.text.clone(), from)
    }

    fn formatted_rows(&self, options: Options, collation: Collation) -> Result<(RowsetContent, Vec<ResultColumn>)> {
        let Some(name) = &options.format_file else {
            return Err(messages::not_supported("OPENROWSET(BULK ...) without FORMATFILE"));
        };
        let format = read_format(&self.session.instance.open_rows_file(name)?)?;
        let mut destinations = Vec::with_capacity(format.columns.len());
        let mut columns = Vec::with_capacity(format.columns.len());
        for column in &format.columns {
            let sql_type = column.sql_type.ok_or_else(messages::bulk_decimal_without_digits)?;
            columns.push(column_of(&column.name, sql_type, column.nullable, collation));
            destinations.push(Destination {
                name: column.name.clone(),
                sql_type,
                collation,
                nullable: column.nullable,
            });
        }
        let layout = Layout::of_format(&format, &destinations, |column| {
            format.columns.iter().position(|other| other.field == column.field)
        });
        let rows = FormattedRows {
            layout,
            destinations,
            options,
        };
        Ok((RowsetContent::Rows(Box::new(rows)), columns))
    }
}

fn column_of(name: &str, sql_type: SqlType, nullable: bool, collation: Collation) -> ResultColumn {
    ResultColumn {
        nullable,
        label: match sql_type.is_character() {
            true => Label::Implicit(collation),
            false => Label::default(),
        },
        ..ResultColumn::new(name, sql_type)
    }
}
