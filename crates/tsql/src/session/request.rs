//! The begin and end of a client's request: its state as other sessions see it, and its cleanup.

use std::sync::atomic::Ordering;

use engine::buffer::page_use;
use engine::cancel;
use engine::instance::SessionOptions;
use engine::session::Isolation;
use engine::types::Text;
use engine::waits::serve_session;

use super::{BatchOutcome, Failure, ResultSink, Session, tell};
use crate::ast::Statement;
use crate::failure::Reach;
use crate::statements::{Executor, Flow, transaction};

impl Session {
    /// Begins a request. A session that was ended by KILL answers nothing any more. The caller clears the cancel flag
    /// before it hands over each request: clearing it here would lose a cancellation that came just before.
    pub(super) fn begin_request(&mut self, text: &str) -> Option<BatchOutcome> {
        if self.ended.load(Ordering::Relaxed) {
            self.roll_back_ended();
            return Some(BatchOutcome::Disconnected);
        }
        // What was announced is for the request that follows it, and for none behind that.
        self.state.take_bulk();
        let clock = &self.state.instance.env.clock;
        let (started, started_micros) = (clock.wall_ticks(), clock.now_micros());
        let database_id = self.state.database_id();
        self.state.instance.env.activity.begin_request(self.state.id);
        serve_session(self.state.waits());
        self.pages_before = page_use();
        self.state.serve_options();
        self.serving = Some(cancel::serve(Some(self.state.cancel_flag())));
        self.state.describe(|session| {
            session.running = true;
            session.database_id = database_id;
            if *session.text != *text {
                session.text = Text::from(text);
            }
            session.request_started = started;
            session.request_started_micros = started_micros;
        });
        None
    }

    /// Tells others what kind of statement the request begins with.
    pub(super) fn describe_command(&self, statements: &[Statement]) {
        let command = statements
            .first()
            .map_or("AWAITING COMMAND", |statement| statement.kind.facts().name);
        self.state.describe(|session| {
            if session.command != command {
                command.clone_into(&mut session.command);
            }
        });
    }

    /// Ends a request: a transaction that can only be rolled back does not outlive its batch.
    pub(super) fn end_request(
        &mut self,
        sink: &mut dyn ResultSink,
        outcome: std::result::Result<Flow, Box<Failure>>,
    ) -> BatchOutcome {
        self.state.drop_local_cursors();
        let mut result = match outcome {
            Ok(Flow::Shutdown(no_wait)) => BatchOutcome::Shutdown(no_wait),
            Ok(_) => BatchOutcome::Completed,
            Err(failure) if failure.reach == Reach::Session => BatchOutcome::Disconnected,
            Err(failure) if failure.silent => BatchOutcome::Cancelled,
            Err(_) => BatchOutcome::Failed,
        };
        let was_cancelled = result == BatchOutcome::Cancelled;
        if was_cancelled && self.state.options().xact_abort && self.state.transaction_count() > 0 {
            self.transaction_request(sink, transaction::roll_back);
        }
        let is_killed = self.ended.load(Ordering::Relaxed) && !matches!(result, BatchOutcome::Shutdown(_));
        if self.state.is_doomed() && !is_killed {
            let failure = Failure::new(crate::messages::doomed_transaction_rolled_back(), 1, "");
            self.transaction_request(sink, transaction::roll_back);
            tell(&self.state, sink, &failure);
            result = if result == BatchOutcome::Completed {
                BatchOutcome::Failed
            } else {
                result
            };
        }
        self.drop_left_over_tables();
        if is_killed {
            self.roll_back_ended();
        }
        self.describe_end();
        if is_killed {
            // A session killed while a request runs gets the error; the connection is closed either way.
            let _ = tell(
                &self.state,
                sink,
                &Failure::new(crate::messages::session_killed(), 1, ""),
            );
            return BatchOutcome::Disconnected;
        }
        result
    }

    /// A table whose module is over goes as soon as it can; until then its own session sees it no more.
    fn drop_left_over_tables(&self) {
        if let Err(error) = Executor::drop_left_over_tables(&self.state) {
            let source = format!("spid{}", self.state.id);
            self.state.instance.env.errorlog.write_error(&source, &error);
        }
    }

    /// What a session ended from outside has open is rolled back at once: others may be waiting for its locks.
    fn roll_back_ended(&self) {
        self.state
            .describe(|session| "KILLED/ROLLBACK".clone_into(&mut session.command));
        if let Err(error) = self.state.reset_transaction() {
            let source = format!("spid{}", self.state.id);
            self.state.instance.env.errorlog.write_error(&source, &error);
        }
    }

    /// Tells others that the request is over.
    pub(super) fn describe_end(&mut self) {
        self.serving = None;
        // A request ends on the thread that it began on.
        let pages = page_use() - std::mem::replace(&mut self.pages_before, page_use());
        let state = &self.state;
        state.instance.env.activity.end_request();
        serve_session(None);
        let ended = state.instance.env.clock.wall_ticks();
        let (database_id, row_count) = (state.database_id(), state.row_count());
        let (open_transactions, isolation) = (state.transaction_count(), state.options().isolation);
        let options = {
            let options = state.options();
            SessionOptions {
                text_size_bytes: options.text_size_bytes,
                language: options.dates.language().name,
                date_format: options.dates.order.name(),
                date_first: options.date_first,
                lock_timeout_ms: options.lock_timeout_ms,
                deadlock_priority: options.deadlock_priority,
                quoted_identifier: options.quoted_identifier,
                arithabort: options.arithabort,
                ansi_null_dflt_on: options.ansi_null_default_on,
                ansi_defaults: options.has_ansi_defaults(),
                ansi_warnings: options.ansi_warnings,
                ansi_padding: options.ansi_padding,
                ansi_nulls: options.ansi_nulls,
                concat_null_yields_null: options.concat_null_yields_null,
            }
        };
        state.describe(|session| {
            session.options = options;
            session.running = false;
            session.request_ended = ended;
            session.database_id = database_id;
            session.open_transactions = open_transactions;
            session.row_count = row_count;
            session.pages = session.pages + pages;
            session.isolation_level = match isolation {
                Isolation::ReadUncommitted => 1,
                Isolation::ReadCommitted => 2,
                Isolation::RepeatableRead => 3,
                Isolation::Serializable => 4,
                Isolation::Snapshot => 5,
            };
        });
    }
}
