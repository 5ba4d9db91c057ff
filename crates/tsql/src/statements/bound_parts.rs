//! Binds statements without executing them: the body of a procedure at its creation, or a batch whose parameters are to be deduced.
//!
//! Invariant: [`PartBinder::part`] lists every kind of statement, so that a new one cannot be forgotten.

use engine::cancel;
use engine::error::Result;
use engine::types::{Length, SqlType};

use crate::ast::{
    AssignmentOperator, Declaration, DeclarationKind, Execute, ExecutionContext, InsertSource, Statement,
    StatementKind, VariableAssignment,
};
use crate::bind::Binder;

const LONG: SqlType = SqlType::NVarChar(Length::Max);

/// The receiver of bound statements. The parts of a statement come in the order of the text.
pub(super) trait PartBinder<'w> {
    /// Binds a part, to definitions that stay as they are meanwhile.
    ///
    /// # Errors
    /// Those of binding that matter here.
    fn bind<T>(&self, bind: impl Fn(&mut Binder<'w>) -> Result<T>) -> Result<()>;

    /// A statement comes next.
    ///
    /// # Errors
    /// The statement is refused.
    fn begin(&self, statement: &'w Statement) -> Result<()>;

    /// EXECUTE.
    ///
    /// # Errors
    /// Those of what it names.
    fn execute(&self, execute: &'w Execute) -> Result<()>;

    /// DECLARE of a cursor variable.
    fn cursor_declared(&self, _variable: &'w str) {}

    /// Binds statements, with those inside of them.
    ///
    /// # Errors
    /// The first of binding one.
    fn statements(&self, statements: &'w [Statement]) -> Result<()> {
        statements.iter().try_for_each(|statement| self.statement(statement))
    }

    /// Binds a statement, and those inside of it.
    ///
    /// # Errors
    /// The first of binding one.
    fn statement(&self, statement: &'w Statement) -> Result<()> {
        crate::stack::require()?;
        cancel::look()?;
        self.begin(statement)?;
        self.part(&statement.kind)?;
        let mut inside = statement.kind.facts().inside();
        inside.try_for_each(|inner| self.statement(inner))
    }

    /// What a statement has itself, without the statements inside of it.
    ///
    /// # Errors
    /// The first of binding it.
    fn part(&self, kind: &'w StatementKind) -> Result<()> {
        use StatementKind as Kind;
        match kind {
            Kind::Select(query) => self.bind(|binder| binder.statement_query(query)),
            Kind::Insert(insert) => {
                if let InsertSource::Execute(execute) = &insert.source {
                    self.execute(execute)?;
                }
                self.bind(|binder| binder.insert(insert))
            }
            Kind::Update(update) => self.bind(|binder| binder.update(update)),
            Kind::Delete(delete) => self.bind(|binder| binder.delete(delete)),
            Kind::Merge(merge) => self.bind(|binder| binder.merge(merge)),
            Kind::ReadText(read) => self.bind(|binder| binder.read_text(read)),
            Kind::WriteText(write) => self.bind(|binder| binder.update(&write.update)),
            Kind::SetVariable(assignment) => self.assignment(assignment),
            Kind::Declare(declarations) => declarations.iter().try_for_each(|one| self.declaration(one)),
            Kind::DeclareCursor(cursor) | Kind::SetCursorVariable(cursor) => {
                self.bind(|binder| binder.statement_query(&cursor.query))
            }
            Kind::If(branch) => self.bind(|binder| binder.truth(&branch.condition)),
            Kind::While(repeated) => self.bind(|binder| binder.truth(&repeated.condition)),
            Kind::Print(value) => self.bind(|binder| binder.scalar(value)),
            Kind::Return(Some(value)) => self.bind(|binder| binder.scalar_as(value, SqlType::Int)),
            Kind::Throw(Some(throw)) => {
                self.bind(|binder| binder.scalar_as(&throw.number, SqlType::Int))?;
                self.bind(|binder| binder.scalar_as(&throw.message, LONG))?;
                self.bind(|binder| binder.scalar_as(&throw.state, SqlType::Int))
            }
            Kind::RaiseError(raise) => {
                let said = [&raise.message, &raise.severity, &raise.state];
                let mut all = said.into_iter().chain(&raise.arguments);
                all.try_for_each(|value| self.bind(|binder| binder.scalar(value)))
            }
            Kind::Execute(execute) => self.execute(execute),
            Kind::ExecuteAs(execute_as) => self.context(&execute_as.context),
            Kind::Revert(cookie) => cookie
                .iter()
                .try_for_each(|cookie| self.bind(|binder| binder.scalar(cookie))),
            // Blocks have nothing of their own.
            Kind::Block(_) | Kind::TryCatch { .. } | Kind::Return(None) | Kind::Throw(None) => Ok(()),
            Kind::Break | Kind::Continue | Kind::Goto(_) | Kind::Label(_) => Ok(()),
            // Cursors are found, constants and variables read, when these run.
            Kind::OpenCursor(_) | Kind::FetchCursor(_) | Kind::CloseCursor(_) | Kind::DeallocateCursor(_) => Ok(()),
            Kind::SetOption(_) | Kind::WaitFor { .. } | Kind::BeginTransaction { .. } => Ok(()),
            Kind::CommitTransaction { .. } | Kind::RollbackTransaction { .. } | Kind::SaveTransaction(_) => Ok(()),
            // Their tables are found when they run, and their expressions are bound with them.
            Kind::CreateTable(_) | Kind::AlterTable(_) | Kind::TruncateTable(_) | Kind::Drop(_) => Ok(()),
            Kind::CreateIndex(_) | Kind::AlterIndex(_) | Kind::DropIndex(_) => Ok(()),
            Kind::CreateStatistics(_) | Kind::UpdateStatistics(_) | Kind::DropStatistics(_) => Ok(()),
            Kind::CreateSchema(_) | Kind::CreateType(_) | Kind::InsertBulk(_) | Kind::BulkInsert(_) => Ok(()),
            Kind::CreateProcedure(_) | Kind::CreateFunction(_) | Kind::CreateView(_) => Ok(()),
            Kind::CreateTrigger(_) | Kind::CreateDatabaseTrigger(_) | Kind::SwitchTriggers(_) => Ok(()),
            Kind::CreateSequence(_) | Kind::CreateSynonym(_) | Kind::Partition(_) | Kind::FullText(_) => Ok(()),
            Kind::CreateStandalone(_) | Kind::AlterSchema(_) => Ok(()),
            Kind::Principal(_) | Kind::Permission(_) => Ok(()),
            Kind::XmlSchema(schema) => self.bind(|binder| binder.scalar(&schema.text)),
            // Databases and the server.
            Kind::CreateDatabase(_) | Kind::AlterDatabase(_) | Kind::Use(_) => Ok(()),
            Kind::Backup(_) | Kind::Restore(_) | Kind::Dbcc(_) | Kind::Checkpoint(_) => Ok(()),
            Kind::Shutdown { .. } | Kind::Kill { .. } | Kind::Reconfigure { .. } => Ok(()),
        }
    }

    /// SET of a variable.
    ///
    /// # Errors
    /// Those of binding its value.
    fn assignment(&self, assignment: &'w VariableAssignment) -> Result<()> {
        let VariableAssignment { variable, value, .. } = assignment;
        let operator = match assignment.operator {
            AssignmentOperator::Assign => None,
            AssignmentOperator::Compound(operator) => Some(operator),
        };
        self.bind(|binder| match (assignment.is_modified, binder.is_cursor(variable)) {
            (true, _) => binder.modified_variable(variable, value).map(drop),
            // What it refers to is found when this runs.
            (false, true) => Ok(()),
            (false, false) => binder.assigned(variable, operator, value).map(drop),
        })
    }

    /// The name in EXECUTE AS.
    ///
    /// # Errors
    /// Those of binding it.
    fn context(&self, context: &'w ExecutionContext) -> Result<()> {
        match context {
            ExecutionContext::Caller => Ok(()),
            ExecutionContext::Login(name) | ExecutionContext::User(name) => {
                self.bind(|binder| binder.scalar_as(name, LONG))
            }
        }
    }

    /// One variable of a DECLARE.
    ///
    /// # Errors
    /// Those of binding its value.
    fn declaration(&self, declaration: &'w Declaration) -> Result<()> {
        match &declaration.kind {
            DeclarationKind::Scalar {
                initial: Some(initial), ..
            } => self.bind(|binder| binder.assigned(&declaration.variable, None, initial)),
            DeclarationKind::Cursor => {
                self.cursor_declared(&declaration.variable);
                Ok(())
            }
            DeclarationKind::Scalar { initial: None, .. } | DeclarationKind::Table(_) => Ok(()),
        }
    }
}
