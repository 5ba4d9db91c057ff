//! The kind of statement that DONE reports to clients.

use crate::ast::{ObjectKind, PermissionAction, SetOption, StatementKind};
use crate::sink::{Definition, DoneKind};

/// The kind of a statement that does not say more of itself when it is done.
pub(super) fn kind_of(statement: &StatementKind) -> DoneKind {
    let definition = match statement {
        StatementKind::Select(_) => return DoneKind::Select,
        StatementKind::Insert(_) => return DoneKind::Insert,
        StatementKind::Update(_) => return DoneKind::Update,
        StatementKind::Delete(_) => return DoneKind::Delete,
        StatementKind::InsertBulk(_) => return DoneKind::BulkLoad,
        StatementKind::SetVariable(_) | StatementKind::Declare(_) => return DoneKind::Assign,
        StatementKind::Execute(_) => return DoneKind::Execute,
        StatementKind::CreateTable(_) => Definition::CreateTable,
        StatementKind::AlterTable(_) => Definition::AlterTable,
        StatementKind::CreateIndex(_) => Definition::CreateIndex,
        StatementKind::AlterIndex(_) => Definition::AlterIndex,
        StatementKind::DropIndex(_) => Definition::DropIndex,
        StatementKind::DropStatistics(_) => Definition::DropStatistics,
        StatementKind::Drop(drop) => return dropped(drop.kind),
        StatementKind::CreateSchema(_) => Definition::CreateSchema,
        StatementKind::CreateType(_) => Definition::CreateType,
        StatementKind::CreateProcedure(_) => Definition::CreateProcedure,
        StatementKind::CreateFunction(_) => Definition::CreateFunction,
        StatementKind::CreateView(_) => Definition::CreateView,
        StatementKind::CreateDatabase(_) => Definition::CreateDatabase,
        StatementKind::AlterDatabase(_) => Definition::AlterDatabase,
        StatementKind::Dbcc(_) => Definition::Dbcc,
        StatementKind::Shutdown { .. } => Definition::Shutdown,
        StatementKind::Permission(permission) => match permission.action {
            PermissionAction::Grant => Definition::Grant,
            PermissionAction::Deny => Definition::Deny,
            PermissionAction::Revoke => Definition::Revoke,
        },
        StatementKind::BeginTransaction { .. } => Definition::BeginTransaction,
        StatementKind::CommitTransaction { .. } => Definition::CommitTransaction,
        StatementKind::RollbackTransaction { .. } => Definition::RollbackTransaction,
        StatementKind::SetOption(SetOption::Switch { on, .. } | SetOption::IdentityInsert { on, .. }) => match on {
            true => Definition::SetOn,
            false => Definition::SetOff,
        },
        _ => return DoneKind::Other,
    };
    DoneKind::Definition(definition)
}

fn dropped(kind: ObjectKind) -> DoneKind {
    DoneKind::Definition(match kind {
        ObjectKind::Table => Definition::DropTable,
        ObjectKind::View => Definition::DropView,
        ObjectKind::Procedure => Definition::DropProcedure,
        ObjectKind::Function => Definition::DropFunction,
        ObjectKind::Schema => Definition::DropSchema,
        ObjectKind::Type => Definition::DropType,
        ObjectKind::Database => Definition::DropDatabase,
    })
}
