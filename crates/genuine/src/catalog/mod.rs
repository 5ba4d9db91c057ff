//! The catalog of a database: its tables, and how their rows lie.
//!
//! [`Catalog::open`] reads the boot record ([`boot`]), the base tables ([`base`]), and makes of them what users know ([`objects`],
//! [`stored`]). SQL Server's own views show by which bits they do the same; each bit stands where it is read.

mod assemble;
mod base;
pub mod boot;
mod definitions;
mod layout;
pub mod objects;
pub mod stored;
mod users;

pub use boot::{BootRecord, DatabaseVersion};
pub use objects::{Module, ModuleKind, ObjectName, Table};
pub use users::{User, users};

use crate::fault::{Fault, Result};
use crate::page::PageSource;
use objects::AliasType;

/// The oldest version whose base tables describe themselves: SQL Server 2005.
const OLDEST_VERSION: u16 = 611;

/// The catalog of a database.
#[derive(Clone, Debug)]
pub struct Catalog {
    pub boot: BootRecord,
    /// Users' schemas other than `dbo`.
    pub schemas: Vec<String>,
    pub alias_types: Vec<AliasType>,
    /// By schema and name.
    pub tables: Vec<Table>,
    /// In the order in which they were made.
    pub modules: Vec<Module>,
    /// Objects of kinds that are not read: what they are, and their names.
    pub others: Vec<(&'static str, ObjectName)>,
    /// What there is beside objects, and is not read, a sentence each: users with their permissions, extended properties, full-text indexes.
    pub unread: Vec<String>,
}

impl Catalog {
    /// Reads the catalog of the database whose pages `source` has.
    ///
    /// # Errors
    /// The database is older than SQL Server 2005, or a page or record of its catalog does not fit.
    pub fn open(source: &dyn PageSource) -> Result<Catalog> {
        let boot = BootRecord::read(source)?;
        if boot.version.0 < OLDEST_VERSION {
            return Err(Fault::whole(format!(
                "a database of SQL Server {} (version {}): the catalogs of 2005 (version {OLDEST_VERSION}) and later are read",
                boot.version.release(),
                boot.version.0
            )));
        }
        let tables = base::BaseTables::open(source, &boot)?;
        assemble::assemble(boot, tables)
    }

    /// The table with this name, as a user writes it: `dbo.Orders`, `[Order Details]`, `Orders`.
    pub fn table(&self, written: &str) -> Option<&Table> {
        let (schema, name) = objects::parts_of(written);
        let matches = |table: &&Table| {
            let is_named = table.name.name.eq_ignore_ascii_case(&name);
            is_named
                && schema
                    .as_ref()
                    .is_none_or(|schema| table.name.schema.eq_ignore_ascii_case(schema))
        };
        let in_dbo = self
            .tables
            .iter()
            .filter(matches)
            .find(|table| table.name.schema == "dbo");
        in_dbo.or_else(|| self.tables.iter().find(matches))
    }
}
