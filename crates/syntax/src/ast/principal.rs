//! Principals of a database: users, roles, and who owns what.

use super::{Identifier, Name};

/// A statement about a user or role, or about an owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PrincipalStatement {
    /// `CREATE ROLE name [AUTHORIZATION owner]`.
    CreateRole {
        name: Identifier,
        owner: Option<Identifier>,
    },
    /// `ALTER ROLE name ...`.
    AlterRole { name: Identifier, change: RoleChange },
    /// `DROP ROLE [IF EXISTS] name`.
    DropRole { name: Identifier, if_exists: bool },
    /// `CREATE USER name [FOR LOGIN login | WITHOUT LOGIN] [WITH options]`.
    CreateUser {
        name: Identifier,
        source: UserSource,
        options: Vec<UserOption>,
    },
    /// `ALTER USER name WITH options`.
    AlterUser { name: Identifier, options: Vec<UserOption> },
    /// `DROP USER [IF EXISTS] name`.
    DropUser { name: Identifier, if_exists: bool },
    /// `ALTER AUTHORIZATION ON [class::]name TO owner`.
    AlterAuthorization {
        /// The class before `::`, in upper case.
        class: Option<String>,
        name: Name,
        /// `None` for SCHEMA OWNER.
        owner: Option<Identifier>,
    },
}

/// What ALTER ROLE does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RoleChange {
    AddMember(Identifier),
    DropMember(Identifier),
    Rename(Identifier),
}

/// Where a user comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UserSource {
    /// FOR or FROM LOGIN; a user without a source is that of the login of its name.
    Login(Identifier),
    WithoutLogin,
    /// WITH PASSWORD, which is refused: no database is contained.
    Password,
}

/// An option of CREATE or ALTER USER.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UserOption {
    /// `NAME = name`.
    Name(Identifier),
    /// `DEFAULT_SCHEMA = schema`.
    DefaultSchema(Identifier),
    /// `LOGIN = login`.
    Login(Identifier),
    /// `ALLOW_ENCRYPTED_VALUE_MODIFICATIONS = ON | OFF`.
    AllowEncryptedModifications(bool),
    /// `PASSWORD = 'password'`. What the password is does not matter: it is refused.
    Password,
}

impl PrincipalStatement {
    /// SQL Server's name of the statement.
    pub fn name(&self) -> &'static str {
        match self {
            PrincipalStatement::CreateRole { .. } => "CREATE ROLE",
            PrincipalStatement::AlterRole { .. } => "ALTER ROLE",
            PrincipalStatement::DropRole { .. } => "DROP ROLE",
            PrincipalStatement::CreateUser { .. } => "CREATE USER",
            PrincipalStatement::AlterUser { .. } => "ALTER USER",
            PrincipalStatement::DropUser { .. } => "DROP USER",
            PrincipalStatement::AlterAuthorization { .. } => "ALTER AUTHORIZATION",
        }
    }
}
