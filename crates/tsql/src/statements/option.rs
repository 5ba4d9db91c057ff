//! SET options of the session.

use engine::error::{Error, Result};
use engine::session::Isolation;
use engine::types::{Length, SqlType, Value};

use super::executor::Executor;
use crate::ast::{Expression, IsolationLevel, Name, SetOption};
use crate::messages;
use crate::session::DoneKind;

impl Executor<'_> {
    /// SET.
    pub(super) fn set_option(&mut self, option: &SetOption) -> Result<()> {
        match option {
            SetOption::Switch { options, on } => {
                for name in options {
                    let mut known = true;
                    self.session.change_options(|options| known = options.switch(name, *on));
                    if !known {
                        let text = format!("'{name}' is not a recognized SET option.");
                        return Err(Error::new(195, 15, 5, text));
                    }
                }
            }
            SetOption::Value { option, value } => self.set_value(option, value)?,
            SetOption::IsolationLevel(level) => self.set_isolation(*level)?,
            SetOption::IdentityInsert { table, on } => self.set_identity_insert(table, *on)?,
        }
        self.session.set_row_count(0);
        self.done(None, DoneKind::Other)
    }

    fn set_value(&mut self, option: &str, value: &Expression) -> Result<()> {
        let number =
            |executor: &Self| Ok::<i64, Error>(executor.value_as(value, SqlType::BigInt)?.as_i64().unwrap_or(0));
        match option {
            "ROWCOUNT" => {
                let limit = u64::try_from(number(self)?).unwrap_or(0);
                self.session.change_options(|options| options.row_count = limit);
            }
            "LOCK_TIMEOUT" => {
                let timeout_ms = i32::try_from(number(self)?).unwrap_or(-1).max(-1);
                self.session
                    .change_options(|options| options.lock_timeout_ms = timeout_ms);
                self.session.locks.set_timeout_ms(i64::from(timeout_ms));
            }
            "DEADLOCK_PRIORITY" => {
                let text = self.value_as(value, SqlType::NVarChar(Length::Limited(20)))?;
                let priority = match text.as_str().unwrap_or("").to_ascii_uppercase().as_str() {
                    "LOW" => -5,
                    "NORMAL" => 0,
                    "HIGH" => 5,
                    other => other.parse::<i8>().unwrap_or(0).clamp(-10, 10),
                };
                self.session.locks.set_priority(priority);
            }
            "CONTEXT_INFO" => {
                let bytes = self.value_as(value, SqlType::VarBinary(Length::Limited(128)))?;
                let bytes = match bytes {
                    Value::Binary(bytes) => Some(bytes.to_vec()),
                    _ => None,
                };
                self.session.change_options(|options| options.context_info = bytes);
            }
            // us_english is the only language, and its settings the only ones.
            "LANGUAGE" | "DATEFORMAT" | "DATEFIRST" | "TEXTSIZE" | "QUERY_GOVERNOR_COST_LIMIT" => {}
            _ => {
                return Err(Error::new(
                    195,
                    15,
                    5,
                    format!("'{option}' is not a recognized SET option."),
                ));
            }
        }
        Ok(())
    }

    fn set_isolation(&mut self, level: IsolationLevel) -> Result<()> {
        let isolation = match level {
            IsolationLevel::ReadUncommitted => Isolation::ReadUncommitted,
            IsolationLevel::ReadCommitted => Isolation::ReadCommitted,
            IsolationLevel::RepeatableRead => Isolation::RepeatableRead,
            IsolationLevel::Serializable => Isolation::Serializable,
            // Every table but temporary ones answers 3952, as where ALLOW_SNAPSHOT_ISOLATION is OFF.
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
        if other.is_some() {
            let text = format!(
                "IDENTITY_INSERT is already ON for another table. Cannot perform SET operation for table '{table}'."
            );
            return Err(Error::new(8107, 16, 1, text));
        }
        self.session
            .change_options(|options| options.identity_insert = on.then_some(own));
        // Plans know whether identity columns may be given.
        self.batch.forget_plans();
        Ok(())
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
        let text = crate::scalar::convert::convert(&value, sql_type, target, None)?;
        Ok(text.as_str().unwrap_or("").to_owned())
    }
}
