//! The principals of a database, which permissions there are, and what the catalog says of both.
//!
//! No statement asks here whether it may run. The server has one login, `sa`, every session is sysadmin and `dbo`, and SQL Server's
//! permission checks do not apply to those; CREATE LOGIN and EXECUTE AS USER, by which a session could become another user, are refused.
//! So permissions are stored, listed and removed as SQL Server does it, and protect nothing: a DENY has an effect on the server to which
//! the schema is deployed.

mod change;
mod entries;
mod given;
mod logins;
mod owners;
mod permissions;
mod principals;
mod schemas;

pub(crate) use change::{Change, UserChange, check_new_module};
pub(crate) use entries::{Entries, SchemaOwners, effective_owner};
pub(crate) use given::{Giving, Grantees};
pub(crate) use logins::{OF_SERVER, Principal, of_server, sid_of};
pub(crate) use permissions::{Class, Permission, is_of_server, of_all, permission_named};
pub(crate) use principals::{
    DB_OWNER, DBO, DatabasePrincipal, PUBLIC, principal_named, principal_numbered, principals,
};
pub(crate) use schemas::{FIXED_SCHEMAS, id_of_schema};
