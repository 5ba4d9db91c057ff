//! CREATE, UPDATE and DROP STATISTICS.

use super::{Parsed, Parser};
use crate::ast::{CreateStatistics, OptionValue, StatementKind, UpdateStatistics};
use crate::error::ParseError;

impl Parser<'_> {
    /// `name ON table (columns) ...`, CREATE STATISTICS being read.
    pub(super) fn create_statistics(&mut self) -> Parsed<StatementKind> {
        let name = self.identifier()?;
        self.expect_word("ON")?;
        let table = self.name()?;
        let columns = self.enclosed(Self::identifier)?;
        let filter = self.optional_filter()?;
        let statistics = CreateStatistics {
            name,
            table,
            columns,
            filter,
            options: self.statistics_options()?,
        };
        Ok(StatementKind::CreateStatistics(Box::new(statistics)))
    }

    /// `table [name | (names)] ...`, UPDATE STATISTICS being read.
    pub(super) fn update_statistics(&mut self) -> Parsed<StatementKind> {
        let table = self.name()?;
        let names = if self.at(b'(') {
            self.enclosed(Self::identifier)?
        } else if self.at_identifier() {
            vec![self.identifier()?]
        } else {
            Vec::new()
        };
        let statistics = UpdateStatistics {
            table,
            names,
            options: self.statistics_options()?,
        };
        Ok(StatementKind::UpdateStatistics(Box::new(statistics)))
    }

    /// `table.name, ...`, DROP STATISTICS being read.
    pub(super) fn drop_statistics(&mut self) -> Parsed<StatementKind> {
        let names = self.list(|parser| {
            let name = parser.name()?;
            match name.parts.len() {
                1 => Err(parser.unexpected()),
                _ => Ok(name),
            }
        })?;
        Ok(StatementKind::DropStatistics(names))
    }

    fn statistics_options(&mut self) -> Parsed<Vec<OptionValue>> {
        if !self.eat_word("WITH")? {
            return Ok(Vec::new());
        }
        self.list(|parser| {
            if !parser.at_word("SAMPLE") {
                let option = parser.outer_option()?;
                if parser.at_words(&["ON", "PARTITIONS"])? {
                    return Err(ParseError::not_supported(parser.line(), "ON PARTITIONS"));
                }
                return Ok(option);
            }
            let (line, name) = (parser.line(), parser.any_word()?);
            let value = Some(parser.option_value()?);
            let unit_line = parser.line();
            let unit = match parser.eat_word("PERCENT")? {
                true => "PERCENT",
                false => {
                    parser.expect_word("ROWS")?;
                    "ROWS"
                }
            };
            Ok(OptionValue::with_unit(line, name, value, (unit_line, unit.to_owned())))
        })
    }
}
