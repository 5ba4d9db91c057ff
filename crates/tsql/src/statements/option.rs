//! SET options of the session.

use engine::error::{Error, Result};
use engine::session::Isolation;
use engine::types::{Length, SqlType, Value};

use super::executor::Executor;
use crate::ast::{Expression, IsolationLevel, Name, SetOption};
use crate::grammar::SET_VALUES;
use crate::messages;
use crate::scalar::convert::convert;
use crate::scalar::language::Language;
use crate::scalar::moment_parse::DateOrder;
use crate::sink::DoneKind;
use crate::state::{TEXT_SIZE_BYTES_DEFAULT, TEXT_SIZE_BYTES_MAX};

impl Executor<'_> {
    pub(super) fn set_option(&mut self, option: &SetOption) -> Result<()> {
        match option {
            SetOption::Switch { options, on } => {
                for name in options {
                    self.switch_option(name, *on);
                }
            }
            SetOption::Value { option, value } => self.set_value(option, value)?,
            SetOption::IsolationLevel(level) => self.set_isolation(*level)?,
            SetOption::IdentityInsert { table, on } => self.set_identity_insert(table, *on)?,
        }
        self.session.set_row_count(0);
        self.done(None, DoneKind::Other)
    }

    /// "When invoked inside a stored procedure, the setting of SET ANSI_NULLS is not changed" (SQL Server docs, SET ANSI_NULLS), nor is
    /// that of QUOTED_IDENTIFIER: both are the module's.
    fn switch_option(&self, name: &str, on: bool) {
        let is_in_module = !self.procedure.is_empty();
        self.session.change_options(|options| {
            let of_module = (options.ansi_nulls, options.quoted_identifier);
            options.switch(name, on);
            if is_in_module {
                (options.ansi_nulls, options.quoted_identifier) = of_module;
            }
        });
    }

    /// Options with a value. What the grammar has no place for, the parser has refused.
    fn set_value(&mut self, option: &str, value: &Expression) -> Result<()> {
        match option {
            "ROWCOUNT" => self.set_row_limit(value),
            "LOCK_TIMEOUT" => {
                let timeout_ms = self.value(value)?.0.as_i64();
                let timeout_ms = timeout_ms.and_then(|timeout| i32::try_from(timeout).ok()).unwrap_or(-1);
                self.session
                    .change_options(|options| options.lock_timeout_ms = timeout_ms);
                self.session.locks.set_timeout_ms(i64::from(timeout_ms));
                Ok(())
            }
            "DEADLOCK_PRIORITY" => self.set_deadlock_priority(value),
            "CONTEXT_INFO" => self.set_context_info(value),
            "TEXTSIZE" => {
                let bytes = match self.value(value)?.0.as_i64() {
                    Some(0) => TEXT_SIZE_BYTES_DEFAULT,
                    // No limit is reported as -1 (tedious tests, "custom textsize value").
                    Some(-1) => -1,
                    Some(bytes) if bytes > 0 => i32::try_from(bytes).unwrap_or(TEXT_SIZE_BYTES_MAX),
                    _ => TEXT_SIZE_BYTES_MAX,
                };
                self.session.change_options(|options| options.text_size_bytes = bytes);
                Ok(())
            }
            "DATEFIRST" => self.set_date_first(value),
            "DATEFORMAT" => self.set_date_format(value),
            "LANGUAGE" => self.set_language(value),
            // QUERY_GOVERNOR_COST_LIMIT, FIPS_FLAGGER.
            other => self.admit_value(other, &crate::grammar::value_text(value)),
        }
    }

    /// 40517 for a value that is known and not done.
    fn admit_value(&self, option: &str, value: &str) -> Result<()> {
        let admitted = SET_VALUES.admit(1, option, Some(value.to_uppercase().as_str()));
        admitted.map_err(|error| Error::new(error.number, error.severity, error.state, error.message))
    }

    fn set_row_limit(&mut self, value: &Expression) -> Result<()> {
        let (value, sql_type) = self.value(value)?;
        let limit = value.as_i64().filter(|_| sql_type.is_integer());
        let limit = limit.and_then(|limit| u64::try_from(limit).ok());
        let limit = limit.ok_or_else(messages::invalid_row_count)?;
        self.session.change_options(|options| options.row_count = limit);
        Ok(())
    }

    fn set_deadlock_priority(&mut self, value: &Expression) -> Result<()> {
        let (value, sql_type) = self.value(value)?;
        let priority = match &value {
            Value::Text(text) => match text.to_ascii_uppercase().as_str() {
                "LOW" => Some(-5),
                "NORMAL" => Some(0),
                "HIGH" => Some(5),
                _ => None,
            },
            _ if sql_type.is_integer() => value.as_i64().and_then(|priority| i8::try_from(priority).ok()),
            _ => None,
        };
        let priority = priority.filter(|priority| (-10..=10).contains(priority));
        let priority = priority.ok_or_else(messages::invalid_deadlock_priority)?;
        self.session
            .change_options(|options| options.deadlock_priority = priority);
        self.session.locks.set_priority(priority);
        Ok(())
    }

    /// At most 128 bytes of anything but text; none at all is NULL.
    fn set_context_info(&mut self, value: &Expression) -> Result<()> {
        const BYTES_MAX: usize = 128;
        let (value, sql_type) = self.value(value)?;
        let wrong = || messages::set_option_requires("CONTEXT_INFO", "varbinary (128) NOT NULL", 1);
        if value.is_null() || sql_type.is_character() {
            return Err(wrong());
        }
        let bytes = convert(&value, sql_type, SqlType::VarBinary(Length::Max), None)?;
        let bytes = match bytes {
            Value::Binary(bytes) if bytes.len() <= BYTES_MAX => bytes.to_vec(),
            _ => return Err(wrong()),
        };
        let bytes = Some(bytes).filter(|bytes| !bytes.is_empty());
        self.session.change_options(|options| options.context_info = bytes);
        Ok(())
    }

    fn set_date_first(&mut self, value: &Expression) -> Result<()> {
        let (value, sql_type) = self.value(value)?;
        let day = value.as_i64().filter(|_| sql_type.is_integer());
        let day = day.ok_or_else(|| messages::set_option_requires("DATEFIRST", "integer", 3))?;
        let first = u8::try_from(day).ok().filter(|day| (1..=7).contains(day));
        let first = first.ok_or_else(|| messages::date_first_out_of_range(day))?;
        self.session.change_options(|options| {
            options.date_first = first;
            options.is_date_first_said = true;
        });
        Ok(())
    }

    fn set_date_format(&mut self, value: &Expression) -> Result<()> {
        let (value, _) = self.value(value)?;
        let order = value.as_str();
        let order = order.ok_or_else(|| messages::set_option_requires("DATEFORMAT", "character string", 2))?;
        let order = DateOrder::named(order).ok_or_else(|| messages::invalid_date_format(order))?;
        self.session.change_options(|options| {
            options.dates.order = order;
            options.is_date_order_said = true;
        });
        Ok(())
    }

    fn set_language(&mut self, value: &Expression) -> Result<()> {
        let (value, _) = self.value(value)?;
        let language = value.as_str();
        let language = language.ok_or_else(|| messages::set_option_requires("LANGUAGE", "character string", 2))?;
        let language = Language::named(language).ok_or_else(|| messages::no_such_language(language))?;
        self.session.change_options(|options| options.speak(language));
        // A module's language ends with it, without a message.
        if self.session.nest_level() == 0 {
            let text = format!("Changed language setting to {}.", language.name);
            self.inform(5703, 10, 1, text)?;
        }
        Ok(())
    }

    fn set_isolation(&mut self, level: IsolationLevel) -> Result<()> {
        let isolation = match level {
            IsolationLevel::ReadUncommitted => Isolation::ReadUncommitted,
            IsolationLevel::ReadCommitted => Isolation::ReadCommitted,
            IsolationLevel::RepeatableRead => Isolation::RepeatableRead,
            IsolationLevel::Serializable => Isolation::Serializable,
            IsolationLevel::Snapshot => Isolation::Snapshot,
        };
        self.session.engine.borrow_mut().set_isolation(isolation);
        self.session.change_options(|options| options.isolation = isolation);
        Ok(())
    }

    fn set_identity_insert(&mut self, table: &Name, on: bool) -> Result<()> {
        let found = self.session.find_object(table)?;
        let (database, object) = found.ok_or_else(|| {
            let text =
                format!("Cannot find the object \"{table}\" because it does not exist or you do not have permissions.");
            Error::new(1088, 16, 11, text)
        })?;
        let own = (database.id, object.definition.object_id());
        if let engine::catalog::ObjectDefinition::Table(definition) = &object.definition
            && definition.identity().is_none()
        {
            let text = format!("Table '{table}' does not have the identity property. Cannot perform SET operation.");
            return Err(Error::new(8106, 16, 1, text));
        }
        let other = self
            .session
            .options()
            .identity_insert
            .filter(|other| on && *other != own);
        if let Some(other) = other.and_then(|other| self.table_text(other)) {
            let text = format!(
                "IDENTITY_INSERT is already ON for table '{other}'. Cannot perform SET operation for table '{table}'."
            );
            return Err(Error::new(8107, 16, 1, text));
        }
        self.session
            .change_options(|options| options.identity_insert = on.then_some(own));
        Ok(())
    }

    /// `database.schema.table`; `None` when the table is gone, whose IDENTITY_INSERT nobody asks for any more.
    fn table_text(&self, (database_id, object_id): (u16, u32)) -> Option<String> {
        let database = self.session.instance.database_by_id(database_id)?;
        let object = database.catalog.by_id(object_id, self.session.id)?;
        match &object.definition {
            engine::catalog::ObjectDefinition::Table(table) => {
                Some(format!("{}.{}.{}", database.name(), table.schema, table.name))
            }
            _ => None,
        }
    }

    /// 137 for a variable that was never declared.
    pub(super) fn variable_text(&self, name: &str) -> Result<String> {
        let (slot, sql_type) = self
            .batch
            .scope
            .scalar(name)
            .ok_or_else(|| messages::variable_not_declared(name))?;
        let value = self.context().variable(slot);
        let target = SqlType::NVarChar(Length::Max);
        let text = crate::scalar::convert::convert(&value, sql_type, target, None)?.whole()?;
        Ok(text.as_str().unwrap_or("").to_owned())
    }
}
