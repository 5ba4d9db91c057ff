//! The batch as the host of system statements (administration, DBCC, system procedures); USE.

use engine::error::{Error, Result};
use engine::types::{SqlType, Value};

use super::executor::{Executor, Flow, Outcome, closed};
use crate::ast::Expression;
use crate::failure::Class;
use crate::optimize::Optimizer;
use crate::sink::{ClientRows, DoneKind, Message, ResultColumn};
use crate::state::{Rule, RulesOff, SessionState};
use crate::system::{Host, SystemContext};
use crate::views::{Describer, RowStream};

impl SessionState {
    /// The session as the system sees it, asking in a database.
    pub fn system_context(&self, database: std::sync::Arc<engine::database::Database>) -> SystemContext<'_> {
        SystemContext {
            instance: &self.instance,
            engine: &self.engine,
            session_id: self.id,
            login: &self.login.login,
            host: &self.login.host,
            application: &self.login.application,
            database,
            transaction: self.transaction_descriptor(),
            describer: self,
        }
    }
}

impl Describer for SessionState {
    fn first_result(&self, text: &str, declarations: &str, browse: bool) -> Result<Vec<Vec<Value>>> {
        self.module_caller().first_result(self, (text, declarations), browse)
    }
}

impl Executor<'_> {
    pub(super) fn use_database(&mut self, name: &str, line: u32) -> Result<()> {
        let from = self.session.database().name();
        self.session.use_inside(name)?;
        let to = self.session.database().name();
        self.sink.database_changed(&from, &to);
        self.inform(5701, 10, line, format!("Changed database context to '{to}'."))?;
        self.session.set_row_count(0);
        self.done(None, DoneKind::Other)
    }

    /// A statement of the system.
    pub(super) fn by_system(
        &mut self,
        line: u32,
        execute: impl FnOnce(&SystemContext<'_>, &mut dyn Host) -> Result<()>,
    ) -> Result<()> {
        let session = self.session;
        let context = session.system_context(session.database());
        execute(
            &context,
            &mut BatchHost {
                executor: self,
                line,
                given: &[],
                outputs: Vec::new(),
            },
        )?;
        self.session.set_row_count(0);
        self.done(None, DoneKind::Other)
    }

    pub(super) fn kill(&mut self, session: &Expression, status_only: bool, line: u32) -> Result<()> {
        self.by_system(line, |context, host| {
            crate::system::kill(context, host, session, status_only)
        })
    }

    /// SHUTDOWN. The server ends after the answer, and says so itself.
    pub(super) fn shut_down(&mut self, no_wait: bool, line: u32) -> Outcome<Flow> {
        let session = self.session;
        let context = session.system_context(session.database());
        let announced = crate::system::announce_shutdown(
            &context,
            &mut BatchHost {
                executor: self,
                line,
                given: &[],
                outputs: Vec::new(),
            },
            no_wait,
        );
        match announced {
            Ok(()) => Ok(Flow::Shutdown(no_wait)),
            Err(error) => Err(self.failure(error, line)),
        }
    }
}

/// The batch in which a system statement or procedure runs.
pub(super) struct BatchHost<'h, 's> {
    pub(super) executor: &'h mut Executor<'s>,
    pub(super) line: u32,
    /// The parameters that a procedure was given, by their places.
    pub(super) given: &'h [usize],
    /// What OUTPUT parameters have got, by their places.
    pub(super) outputs: Vec<(usize, Value)>,
}

impl Host for BatchHost<'_, '_> {
    fn evaluate(&mut self, expression: &Expression) -> Result<Value> {
        let mut binder = crate::bind::Binder::new(self.executor.session, &self.executor.batch.scope);
        let mut bound = binder.scalar(expression)?;
        Optimizer::new(self.executor.session).expression(&mut bound)?;
        Ok(crate::exec::evaluate(&bound, &[], &self.executor.context())?.into_owned())
    }

    fn is_given(&self, parameter: usize) -> bool {
        self.given.contains(&parameter)
    }

    fn output(&mut self, parameter: usize, value: Value) {
        self.outputs.push((parameter, value));
    }

    fn prepare_xml_document(&mut self, text: &str, prefixes: &str) -> Result<i32> {
        crate::functions::check_document(text)?;
        crate::functions::check_document(prefixes)?;
        let prefixes = crate::functions::declared_prefixes(prefixes)?;
        self.executor.session.prepare_xml_document(text, &prefixes)
    }

    fn remove_xml_document(&mut self, handle: i32) -> Result<()> {
        self.executor.session.remove_xml_document(handle)
    }

    fn value_of(&mut self, text: &str) -> Result<Value> {
        let parsed = crate::parser::parse_expression(text).map_err(crate::messages::syntax)?;
        self.evaluate(&parsed)
    }

    fn result_set(&mut self, columns: &[ResultColumn], rows: &[Vec<Value>]) -> Result<()> {
        self.executor.sink.columns(columns).map_err(closed)?;
        for row in rows {
            self.executor.sink.row(row).map_err(closed)?;
        }
        self.executor.session.set_row_count(rows.len() as i64);
        self.executor.done(Some(rows.len() as u64), DoneKind::Select)
    }

    fn stream(&mut self, columns: &[ResultColumn], rows: &mut dyn RowStream) -> Result<()> {
        self.executor.sink.columns(columns).map_err(closed)?;
        let mut count = 0;
        while let Some(row) = rows.next()? {
            engine::cancel::spend(1)?;
            self.executor.sink.row(&row).map_err(closed)?;
            count += 1;
        }
        self.executor
            .session
            .set_row_count(i64::try_from(count).unwrap_or(i64::MAX));
        self.executor.done(Some(count), DoneKind::Select)
    }

    fn message(&mut self, message: &Error) -> Result<()> {
        let message = Message::new(message, self.line, &self.executor.procedure);
        self.executor.sink.message(&message).map_err(closed)
    }

    fn raise(&mut self, error: Error) -> Result<()> {
        let failure = self.executor.failure(error, self.line).with_class(Class::Raised);
        self.executor.handle(failure).map_err(|failure| failure.error())
    }

    fn execute(&mut self, batch: &str) -> Result<()> {
        self.executor
            .execute_text(batch)
            .map(|_| ())
            .map_err(|failure| failure.error())
    }

    fn clean_history(&mut self, batch: &str) -> Result<i64> {
        let session = self.executor.session;
        let counted = session.options().nocount;
        session.change_options(|options| options.nocount = true);
        let cleaned = session.cleaning_history(|| self.execute(batch));
        session.change_options(|options| options.nocount = counted);
        cleaned.map(|()| session.row_count())
    }

    fn load(&mut self, announcement: &str, rows: &mut dyn ClientRows) -> Result<()> {
        self.execute(announcement)?;
        let target = self.executor.session.take_bulk();
        let target = target.ok_or_else(|| Error::assertion("INSERT BULK announces what it loads"))?;
        let counted = self.executor.session.options().nocount;
        self.executor.session.change_options(|options| options.nocount = true);
        let loaded = self.executor.load_bulk(&target, rows);
        self.executor
            .session
            .change_options(|options| options.nocount = counted);
        loaded
    }

    fn rules_off(&self) -> RulesOff {
        self.executor.session.options().rules_off
    }

    fn switch_rules(&mut self, rules: &[Rule], on: bool) {
        self.executor
            .session
            .change_options(|options| rules.iter().for_each(|&rule| options.rules_off.switch(rule, on)));
    }

    fn user_options(&self) -> Vec<(String, String)> {
        let options = self.executor.session.options();
        let mut listed = vec![
            ("textsize".to_owned(), options.text_size_bytes.to_string()),
            ("language".to_owned(), options.dates.language().name.to_owned()),
            ("dateformat".to_owned(), options.dates.order.name().to_owned()),
            ("datefirst".to_owned(), options.date_first.to_string()),
            ("lock_timeout".to_owned(), options.lock_timeout_ms.to_string()),
        ];
        let switches = [
            ("nocount", options.nocount),
            ("quoted_identifier", options.quoted_identifier),
            ("arithabort", options.arithabort),
            ("arithignore", options.arithignore),
            ("xact_abort", options.xact_abort),
            ("implicit_transactions", options.implicit_transactions),
            ("cursor_close_on_commit", options.cursor_close_on_commit),
            ("ansi_null_dflt_on", options.ansi_null_default_on),
            ("ansi_null_dflt_off", options.ansi_null_default_off),
            ("ansi_warnings", options.ansi_warnings),
            ("ansi_padding", options.ansi_padding),
            ("ansi_nulls", options.ansi_nulls),
            ("concat_null_yields_null", options.concat_null_yields_null),
        ];
        listed.extend(
            switches
                .iter()
                .filter(|(_, on)| *on)
                .map(|(name, _)| ((*name).to_owned(), "SET".to_owned())),
        );
        let level = match options.isolation {
            engine::session::Isolation::ReadUncommitted => "read uncommitted",
            engine::session::Isolation::ReadCommitted
                if self.executor.session.database().storage.versions.are_read_by_default() =>
            {
                "read committed snapshot"
            }
            engine::session::Isolation::ReadCommitted => "read committed",
            engine::session::Isolation::RepeatableRead => "repeatable read",
            engine::session::Isolation::Serializable => "serializable",
            engine::session::Isolation::Snapshot => "snapshot",
        };
        listed.push(("isolation level".to_owned(), level.to_owned()));
        listed
    }

    fn set_session_context(&mut self, key: &str, value: Value, read_only: bool) -> Result<()> {
        self.executor.session.set_session_context(key, value, read_only)
    }

    fn transaction_count(&self) -> u32 {
        self.executor.session.transaction_count()
    }

    fn refresh_module(&mut self, name: &str) -> Result<()> {
        self.executor.refresh_module(name)
    }

    fn change_database(&mut self, name: &str) -> Result<()> {
        self.executor.session.use_database(name)
    }
}

/// The type a value of a system procedure's argument has, when nothing else says it.
pub(super) fn type_of(value: &Value) -> SqlType {
    match value {
        Value::Text(_) => SqlType::NVarChar(engine::types::Length::Max),
        Value::Binary(_) => SqlType::VarBinary(engine::types::Length::Max),
        Value::BigInt(_) => SqlType::BigInt,
        Value::Float(_) => SqlType::Float,
        Value::Decimal(number) => SqlType::Decimal {
            precision: number.precision,
            scale: number.scale,
        },
        Value::DateTime { .. } => SqlType::DateTime,
        Value::Bit(_) => SqlType::Bit,
        _ => SqlType::Int,
    }
}
