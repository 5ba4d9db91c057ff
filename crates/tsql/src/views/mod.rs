//! System views as row sources: a name, typed columns, and a function that produces the rows.
//!
//! A view is computed completely when it is opened, except views that read the log ([`RowStream`]); conditions, joins and sorting are the
//! executor's. The names and types of columns are SQL Server's (sql-docs, "System views"); a view may have fewer columns than SQL Server's
//! newest, and they come in the same order.

mod aborted;
mod asking;
mod columns;
mod compatibility;
mod configuration;
mod counters;
mod database_options;
mod databases;
pub(crate) mod dblog;
mod dependencies;
mod described;
mod files;
mod index_uses;
mod indexes;
mod information_privileges;
mod information_schema;
mod information_usage;
mod listed;
pub(crate) mod lock_words;
mod log;
pub(crate) mod machine;
mod module_statistics;
mod objects;
mod operational;
mod page_allocations;
mod page_info;
mod parameters;
mod partitions;
mod periods;
mod permissions;
mod physical;
mod plans;
pub(crate) mod principals;
mod properties;
mod query_hash;
mod reference_systems;
mod referenced;
mod resource_pools;
mod row_places;
mod sequences;
mod server;
mod sessions;
mod spt_values;
mod statistics;
mod synonyms;
mod tasks;
mod time_zones;
mod traces;
mod transactions;
mod triggers;
mod types;
pub(crate) mod units;
mod unused;
mod unused_features;
mod values;
mod versions;
mod withheld;
mod xml_schemas;

pub use asking::SystemContext;
pub(crate) use columns::shown_default;
pub use dblog::inside;
pub(crate) use described::COLUMN_PARTS;
pub use described::Describer;
pub(crate) use indexes::{RowHolders, rows_of_table, sizes_of, storage_of};
pub(crate) use information_schema::referenced_key;
pub use listed::used_pages;
pub(crate) use listed::{ListedDatabase, ListedFile, file_bytes};
pub(crate) use objects::{
    ObjectRow, columns_of, constraints_of, is_schema_bound, objects as object_rows, only_column, system_object,
    table_of, tables, type_code, with_columns,
};
pub(crate) use periods::{generated_type, retention_limit, temporal_type};
pub(crate) use properties::{PropertyLevel, levels, owners as property_owners};
pub(crate) use referenced::{referencing_ids, used_by};
pub(crate) use sessions::{ListedSession, listed_sessions, row_description};
pub(crate) use values::{datetime, lsn_number, parse_time};

pub(crate) use crate::security::{FIXED_SCHEMAS, id_of_schema};
pub(crate) use withheld::Withheld;
pub use withheld::{WITHHELD_NUMBERS, withhold};

use engine::error::Result;
use engine::types::{Length, SqlType, Value};

use crate::ast::Name;

/// The rows of a view.
pub type Rows = Result<Vec<Vec<Value>>>;
/// Makes the rows of a view, or of a table-valued function from its arguments.
pub type Producer = fn(&SystemContext<'_>, &[Value]) -> Rows;
/// Begins the rows of a function that has too many to make them all at once.
pub type Opener = fn(&SystemContext<'_>, &[Value]) -> Result<Box<dyn RowStream>>;

/// How the rows of a view come to be.
#[derive(Debug, Clone, Copy)]
pub enum Source {
    /// All at once.
    Whole(Producer),
    /// One by one, as they are wanted.
    Streamed(Opener),
}

impl Source {
    /// Every row at once.
    ///
    /// # Errors
    /// Those of making them.
    pub fn all(self, context: &SystemContext<'_>, arguments: &[Value]) -> Rows {
        let open = match self {
            Source::Whole(produce) => return produce(context, arguments),
            Source::Streamed(open) => open,
        };
        let (mut stream, mut rows) = (open(context, arguments)?, Vec::new());
        while let Some(row) = stream.next()? {
            rows.push(row);
        }
        Ok(rows)
    }
}

/// Rows that are made as they are wanted.
pub trait RowStream {
    /// The next row; `None` behind the last.
    ///
    /// # Errors
    /// Whatever a row fails with.
    fn next(&mut self) -> Result<Option<Vec<Value>>>;
}

/// A view or a table-valued function.
#[derive(Debug)]
pub struct SystemView {
    /// `sys` or `INFORMATION_SCHEMA`.
    pub schema: &'static str,
    pub name: &'static str,
    pub columns: &'static [(&'static str, SqlType)],
    /// Whether it is a function.
    pub is_function: bool,
    /// The parameters of a function.
    pub parameters: &'static [SqlType],
    /// How many of them must be given; the others are NULL.
    pub required: usize,
    pub rows: Source,
}

/// One row of a view, with the view's columns: what they are called, of which type they are and how they are read.
pub(crate) trait SystemRow {
    const COLUMNS: &'static [(&'static str, SqlType)];
    fn values(&self) -> Vec<Value>;
}

/// Implements [`SystemRow`]: `"name" TYPE => |row| value`, one line for each column.
macro_rules! system_row {
    ($row:ty { $($name:literal $sql_type:expr => $value:expr;)+ }) => {
        impl crate::views::SystemRow for $row {
            const COLUMNS: &'static [(&'static str, engine::types::SqlType)] = &[$(($name, $sql_type)),+];

            fn values(&self) -> Vec<engine::types::Value> {
                vec![$({
                    let value: fn(&$row) -> engine::types::Value = $value;
                    value(self)
                }),+]
            }
        }
    };
}
pub(crate) use system_row;

const fn view<R: SystemRow>(schema: &'static str, name: &'static str, rows: Producer) -> SystemView {
    SystemView {
        schema,
        name,
        columns: R::COLUMNS,
        is_function: false,
        parameters: &[],
        required: 0,
        rows: Source::Whole(rows),
    }
}

const fn function<R: SystemRow>(
    name: &'static str,
    parameters: &'static [SqlType],
    required: usize,
    rows: Producer,
) -> SystemView {
    SystemView {
        schema: "sys",
        name,
        columns: R::COLUMNS,
        is_function: true,
        parameters,
        required,
        rows: Source::Whole(rows),
    }
}

fn all<R: SystemRow>(rows: impl IntoIterator<Item = R>) -> Rows {
    Ok(rows.into_iter().map(|row| row.values()).collect())
}

const NAME: SqlType = SqlType::SYSNAME;
const INT: SqlType = SqlType::Int;
const BIGINT: SqlType = SqlType::BigInt;
const SMALLINT: SqlType = SqlType::SmallInt;
const TINYINT: SqlType = SqlType::TinyInt;
const BIT: SqlType = SqlType::Bit;
const FLOAT: SqlType = SqlType::Float;
const REAL: SqlType = SqlType::Real;
const DATETIME: SqlType = SqlType::DateTime;
const GUID: SqlType = SqlType::UniqueIdentifier;
const SID: SqlType = SqlType::VarBinary(Length::Limited(85));
const LSN: SqlType = SqlType::Decimal {
    precision: 25,
    scale: 0,
};

const fn nvarchar(length: u16) -> SqlType {
    SqlType::NVarChar(Length::Limited(length))
}

const fn varchar(length: u16) -> SqlType {
    SqlType::VarChar(Length::Limited(length))
}

const TABLES: [&[SystemView]; 51] = [
    dependencies::VIEWS,
    referenced::VIEWS,
    spt_values::VIEWS,
    databases::VIEWS,
    dblog::VIEWS,
    log::VIEWS,
    files::VIEWS,
    partitions::VIEWS,
    objects::VIEWS,
    periods::VIEWS,
    sequences::VIEWS,
    synonyms::VIEWS,
    permissions::VIEWS,
    xml_schemas::VIEWS,
    reference_systems::VIEWS,
    time_zones::VIEWS,
    triggers::VIEWS,
    columns::VIEWS,
    parameters::VIEWS,
    physical::VIEWS,
    page_allocations::VIEWS,
    page_info::VIEWS,
    operational::VIEWS,
    row_places::VIEWS,
    database_options::VIEWS,
    resource_pools::VIEWS,
    plans::VIEWS,
    module_statistics::VIEWS,
    indexes::VIEWS,
    index_uses::VIEWS,
    statistics::VIEWS,
    types::VIEWS,
    compatibility::VIEWS,
    information_schema::VIEWS,
    principals::VIEWS,
    server::VIEWS,
    counters::VIEWS,
    sessions::VIEWS,
    tasks::VIEWS,
    transactions::VIEWS,
    aborted::VIEWS,
    versions::VIEWS,
    configuration::VIEWS,
    information_usage::VIEWS,
    unused::VIEWS,
    unused_features::VIEWS,
    machine::VIEWS,
    traces::VIEWS,
    properties::VIEWS,
    described::VIEWS,
    information_privileges::VIEWS,
];

/// Every view and function.
pub fn every() -> impl Iterator<Item = &'static SystemView> {
    TABLES.into_iter().flatten()
}

/// The view that a name means. Old names (`sysobjects`) need no schema and may have `dbo`.
pub fn find(name: &Name) -> Option<&'static SystemView> {
    every().find(|view| !view.is_function && view.is_named(name))
}

/// The view that a name means in a database: `spt_values` is one of master.
pub fn find_in(name: &Name, current_database: &str) -> Option<&'static SystemView> {
    let database = name
        .database()
        .filter(|database| !database.is_empty())
        .unwrap_or(current_database);
    let is_in_dbo = name
        .schema()
        .is_none_or(|schema| schema.is_empty() || schema.eq_ignore_ascii_case("dbo"));
    let is_it =
        |view: &&SystemView| view.name == spt_values::NAME_OF_VIEW && view.name.eq_ignore_ascii_case(name.object());
    let in_master = database.eq_ignore_ascii_case("master") && is_in_dbo;
    find(name).or_else(|| spt_values::VIEWS.iter().find(is_it).filter(|_| in_master))
}

/// The table-valued function that a name means.
pub fn find_function(name: &Name) -> Option<&'static SystemView> {
    every().find(|view| view.is_function && view.is_named(name))
}

impl SystemView {
    fn is_named(&self, name: &Name) -> bool {
        if !self.name.eq_ignore_ascii_case(name.object()) {
            return false;
        }
        let in_master = name
            .database()
            .is_some_and(|database| database.eq_ignore_ascii_case("master"));
        match name.schema() {
            Some(schema) if schema.eq_ignore_ascii_case(self.schema) => true,
            Some(schema) if schema.eq_ignore_ascii_case("dbo") => {
                compatibility::is_old_name(self.name) || in_master && self.schema == "sys"
            }
            Some(_) => false,
            // Functions of the system that begin so need no schema (sql-docs, "fn_helpcollations").
            None => compatibility::is_old_name(self.name) || self.is_function && self.name.starts_with("fn_"),
        }
    }
}
