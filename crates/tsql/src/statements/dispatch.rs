//! Runs statements in order, each by its own file.
//!
//! Blocks, procedures, functions and texts contain statements, and call back here through [`Executor::run`] and [`Executor::statements`]:
//! because the language nests, these two calls go up.

use engine::cancel;
use engine::error::Result;
use engine::session::Isolation;

use super::executor::{Executor, Flow, Outcome, StatementFrame};
use super::unexecuted::is_executed;
use crate::ast::{Statement, StatementFamily, StatementKind};
use crate::messages;
use crate::state::Execution;
use crate::system::{alter_database, backup, checkpoint, create_database, dbcc, reconfigure, restore};

impl Executor<'_> {
    /// Runs all statements.
    ///
    /// # Errors
    /// The failure that ended the batch; its message has been sent unless a TRY block is around.
    pub fn run(&mut self) -> Outcome<Flow> {
        let batch = self.batch.clone();
        match self.statements(&batch.statements)? {
            Flow::Goto(label) => {
                let failure = self.failure(messages::label_not_declared(&label), 1);
                self.handle(failure).map(|()| Flow::Next)
            }
            flow => Ok(flow),
        }
    }

    /// Runs statements in order.
    pub(super) fn statements(&mut self, statements: &[Statement]) -> Outcome<Flow> {
        let mut at = 0;
        while let Some(statement) = statements.get(at) {
            match self.statement(statement)? {
                Flow::Next => at += 1,
                Flow::Goto(label) => match position_of(statements, &label) {
                    Some(position) => at = position + 1,
                    None => return Ok(Flow::Goto(label)),
                },
                other => return Ok(other),
            }
        }
        Ok(Flow::Next)
    }

    /// Runs a statement that is not control of flow, and tells what it came to if that is asked for.
    fn run_whole(&mut self, statement: &Statement) -> Outcome<Flow> {
        match self.tell_trees(statement)? {
            false => self.run_counted(statement),
            true => self.recompiling(|executor| executor.run_counted(statement)),
        }
    }

    fn run_counted(&mut self, statement: &Statement) -> Outcome<Flow> {
        let is_measured = self.session.options().statistics.any();
        match is_measured {
            false => self.dispatch(statement),
            true => self.measured(statement),
        }
    }

    /// Runs one statement; an error that ends only the statement is sent, and the batch goes on.
    pub(super) fn statement(&mut self, statement: &Statement) -> Outcome<Flow> {
        let may_run = cancel::look().and_then(|()| crate::stack::require());
        may_run.map_err(|error| self.failure(error, statement.line))?;
        let execution = self.session.options().execution();
        if execution != Execution::Whole && !is_executed(&statement.kind, execution) {
            return self.pass_over(statement, execution);
        }
        let facts = statement.kind.facts();
        if facts.family == StatementFamily::Flow {
            return self.flow(statement);
        }
        if !self.session.is_in_unit() && !self.returns.is_function() {
            self.session.instance.look_for_checkpoints();
        }
        self.session.take_time();
        self.statement = StatementFrame::new(statement.line, facts.done, facts.transaction_name());
        self.statement.span = statement.span;
        let outcome = match self.batch.template(statement, self.session) {
            None => self.run_whole(statement),
            Some(template) => self.with_parameters(&template, Self::run_whole),
        };
        self.count_execution();
        self.session.end_statement();
        match outcome {
            Ok(flow) => {
                if facts.sets_error_number {
                    self.session.set_error_number(0);
                }
                Ok(flow)
            }
            Err(mut failure) => {
                let had_changed_rows = self.statement.has_undone.take() && facts.family == StatementFamily::Rows;
                failure.undoes = had_changed_rows || failure.message.number == 1505;
                self.handle(failure).map(|()| Flow::Next)
            }
        }
    }

    /// Runs a statement that is not control of flow.
    pub(super) fn dispatch(&mut self, statement: &Statement) -> Outcome<Flow> {
        if self.is_refused_under_snapshot(&statement.kind) {
            return Err(self.failure(messages::definition_under_snapshot(), statement.line));
        }
        match statement
            .kind
            .facts()
            .needs_database
            .then(|| self.session.check_intact())
        {
            Some(Err(error)) => Err(self.failure(error, statement.line)),
            Some(Ok(())) | None => self.by_kind(statement),
        }
    }

    /// Whether a statement changes a definition and cannot in a transaction under SNAPSHOT (sql-docs, "Transaction locking and row versioning
    /// guide": ALTER TABLE, CREATE INDEX, ALTER INDEX, DROP INDEX).
    fn is_refused_under_snapshot(&self, kind: &StatementKind) -> bool {
        use StatementKind as Kind;
        let changes_definition = matches!(
            kind,
            Kind::AlterTable(_) | Kind::CreateIndex(_) | Kind::AlterIndex(_) | Kind::DropIndex(_)
        );
        changes_definition
            && self.session.transaction_count() > 0
            && self.session.options().isolation == Isolation::Snapshot
    }

    /// Finds what executes a statement. Every kind of statement is named here.
    fn by_kind(&mut self, statement: &Statement) -> Outcome<Flow> {
        use StatementKind as Kind;
        let (kind, line) = (&statement.kind, statement.line);
        let result = match kind {
            Kind::Select(query) => self.select(query, line),
            Kind::Insert(insert) => self.with_current_plan(|executor| executor.insert(insert, line)),
            Kind::Update(update) => self.with_current_plan(|executor| executor.update(update, line)),
            Kind::Delete(delete) => self.with_current_plan(|executor| executor.delete(delete, line)),
            Kind::Merge(merge) => self.with_current_plan(|executor| executor.merge(merge, line)),
            Kind::InsertBulk(bulk) => self.insert_bulk(bulk),
            Kind::BulkInsert(bulk) => self.bulk_insert(bulk),
            Kind::ReadText(_) | Kind::WriteText(_) => return self.text_statement(kind, line),
            Kind::Declare(declarations) => self.declare(declarations),
            Kind::SetVariable(assignment) => self.set_variable(assignment),
            Kind::SetOption(option) => self.set_option(option),
            Kind::Use(name) => self.use_database(&name.text, line),
            Kind::WaitFor { kind, value } => self.wait_for(*kind, value),
            Kind::Print(expression) => return self.print(expression, line),
            Kind::RaiseError(raise) => return self.raise_error(raise, line),
            Kind::Throw(throw) => return self.throw(throw.as_deref(), line),
            Kind::Execute(execute) => return self.execute(execute, line),
            Kind::ExecuteAs(_) | Kind::Revert(_) => self.switch_context(kind),
            Kind::BeginTransaction { name, mark } => self.begin_transaction(name.as_ref(), mark.as_ref()),
            Kind::CommitTransaction { .. } => self.commit_transaction(),
            Kind::RollbackTransaction { name } => self.roll_back_transaction(name.as_ref()),
            Kind::SaveTransaction(name) => self.save_transaction(name),
            Kind::DeclareCursor(declare) => self.declare_cursor(declare, false, statement.span),
            Kind::SetCursorVariable(declare) => self.declare_cursor(declare, true, statement.span),
            Kind::OpenCursor(reference) => self.open_cursor(reference),
            Kind::FetchCursor(fetch) => self.fetch(fetch),
            Kind::CloseCursor(reference) => self.close_cursor(reference),
            Kind::DeallocateCursor(reference) => self.deallocate_cursor(reference),
            Kind::TruncateTable(truncate) => self.define(kind, |executor| executor.truncate(truncate)),
            Kind::Partition(statement) => self.define(kind, |executor| executor.change_partitions(statement, line)),
            Kind::CreateTable(create) => self.define_table(kind, |executor| executor.create_table(create, line)),
            Kind::AlterTable(alter) => self.change_table(kind, alter, line),
            Kind::CreateIndex(create) => self.define(kind, |executor| executor.create_index(create, line)),
            Kind::AlterIndex(alter) => self.define(kind, |executor| executor.alter_index(alter, line)),
            Kind::DropIndex(drop) => self.drop_indexes(kind, drop),
            Kind::CreateStatistics(_) | Kind::UpdateStatistics(_) => self.statistics_statement(kind),
            Kind::DropStatistics(_) => self.statistics_statement(kind),
            Kind::CreateSchema(_) | Kind::AlterSchema(_) => self.schema_statement(kind),
            Kind::CreateType(create) => self.define_table(kind, |executor| executor.create_type(create)),
            Kind::Drop(drop) => self.drop_objects(kind, drop, line),
            Kind::CreateFunction(_) | Kind::CreateProcedure(_) => return self.create_module(kind, line),
            Kind::CreateView(_) | Kind::CreateTrigger(_) => return self.create_module(kind, line),
            Kind::CreateDatabaseTrigger(_) | Kind::CreateStandalone(_) => return self.create_module(kind, line),
            Kind::FullText(_) => self.define(kind, |_| Err(messages::full_text_missing())),
            Kind::XmlSchema(schema) => self.define(kind, |executor| executor.xml_schema(schema)),
            Kind::CreateSynonym(synonym) => self.define(kind, |executor| executor.create_synonym(synonym)),
            Kind::Permission(permission) => self.define(kind, |executor| executor.permission(permission, line)),
            Kind::Principal(principal) => self.define(kind, |executor| executor.principal_statement(principal)),
            Kind::CreateSequence(sequence) => self.define(kind, |executor| executor.sequence(sequence)),
            Kind::SwitchTriggers(switch) => self.define(kind, |executor| executor.switch_triggers(switch)),
            Kind::CreateDatabase(new) => self.by_system(line, |context, host| create_database(context, host, new)),
            Kind::AlterDatabase(alter) => self.by_system(line, |context, host| alter_database(context, host, alter)),
            Kind::Backup(what) => self.by_system(line, |context, host| backup(context, host, what)),
            Kind::Restore(what) => self.by_system(line, |context, host| restore(context, host, what)),
            Kind::Dbcc(command) => self.by_system(line, |context, host| dbcc::execute(context, host, command)),
            Kind::Checkpoint(_) => self.by_system(line, |context, _| checkpoint(context)),
            Kind::Kill { session, status_only } => self.kill(session, *status_only, line),
            Kind::Reconfigure { .. } => self.by_system(line, reconfigure),
            Kind::Shutdown { no_wait } => return self.shut_down(*no_wait, line),
            Kind::Block(_) | Kind::If(_) | Kind::While(_) | Kind::TryCatch { .. } => return self.flow(statement),
            Kind::Break | Kind::Continue | Kind::Return(_) | Kind::Goto(_) | Kind::Label(_) => {
                return self.flow(statement);
            }
        };
        result.map(|()| Flow::Next).map_err(|error| self.failure(error, line))
    }
}

impl Executor<'_> {
    /// CREATE and ALTER SCHEMA.
    fn schema_statement(&mut self, kind: &StatementKind) -> Result<()> {
        match kind {
            StatementKind::CreateSchema(schema) => self.define_table(kind, |executor| executor.create_schema(schema)),
            StatementKind::AlterSchema(alter) => self.define(kind, |executor| executor.transfer(alter)),
            _ => Ok(()),
        }
    }

    /// CREATE, UPDATE and DROP STATISTICS.
    fn statistics_statement(&mut self, kind: &StatementKind) -> Result<()> {
        match kind {
            StatementKind::CreateStatistics(create) => self.define(kind, |executor| executor.create_statistics(create)),
            StatementKind::UpdateStatistics(update) => self.define(kind, |executor| executor.update_statistics(update)),
            StatementKind::DropStatistics(names) => self.define_each(kind, names, Self::drop_statistics),
            _ => Ok(()),
        }
    }

    /// EXECUTE AS and REVERT.
    fn switch_context(&mut self, kind: &StatementKind) -> Result<()> {
        match kind {
            StatementKind::ExecuteAs(execute_as) => self.execute_as(execute_as),
            StatementKind::Revert(cookie) => self.revert(cookie.as_ref()),
            _ => Ok(()),
        }
    }

    /// CREATE and ALTER of what is kept as its text. Its errors have its name.
    fn create_module(&mut self, kind: &StatementKind, line: u32) -> Outcome<Flow> {
        match kind {
            StatementKind::CreateFunction(function) => self.create_function(kind, function, line),
            StatementKind::CreateProcedure(procedure) => self.create_procedure(kind, procedure, line),
            StatementKind::CreateView(view) => self.create_view(kind, view, line),
            StatementKind::CreateTrigger(trigger) => self.create_trigger(kind, trigger, line),
            StatementKind::CreateDatabaseTrigger(trigger) => self.create_database_trigger(kind, trigger, line),
            StatementKind::CreateStandalone(created) => self.create_standalone(kind, created, line),
            _ => Ok(Flow::Next),
        }
    }
}

/// Where a label stands in a list of statements.
fn position_of(statements: &[Statement], label: &str) -> Option<usize> {
    statements
        .iter()
        .position(|statement| matches!(&statement.kind, StatementKind::Label(name) if name.is(label)))
}
