//! What a database has, as its users see it: tables, their columns, keys, indexes and constraints, and modules.

use super::stored::RowSet;
use crate::types::ColumnType;

/// A name in a schema.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectName {
    pub schema: String,
    pub name: String,
}

impl std::fmt::Display for ObjectName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", quoted(&self.schema), quoted(&self.name))
    }
}

/// A name in brackets, as T-SQL takes any.
pub fn quoted(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}

/// A user's table.
#[derive(Clone, Debug)]
pub struct Table {
    pub id: i64,
    pub name: ObjectName,
    pub columns: Vec<Column>,
    /// Its partitions: one where it has none.
    pub rowsets: Vec<RowSet>,
    /// Keys and indexes, the clustered one first.
    pub indexes: Vec<Index>,
    pub checks: Vec<Check>,
    pub foreign_keys: Vec<ForeignKey>,
    /// Why its rows cannot be read, if they cannot.
    pub unreadable: Option<&'static str>,
}

impl Table {
    /// How many rows the catalog says it has.
    pub fn catalog_rows(&self) -> i64 {
        self.rowsets
            .iter()
            .map(|rowset| rowset.catalog_rows)
            .fold(0, i64::saturating_add)
    }

    /// Pages that the catalog says its rows and large values use.
    pub fn used_pages(&self) -> i64 {
        self.rowsets
            .iter()
            .map(|rowset| rowset.used_pages)
            .fold(0, i64::saturating_add)
    }

    /// The columns whose values are in the rows, in the order of these values.
    pub fn stored_columns(&self) -> impl Iterator<Item = &Column> {
        self.columns.iter().filter(|column| column.is_stored())
    }

    /// The column with this id.
    pub fn column(&self, id: i64) -> Option<&Column> {
        self.columns.iter().find(|column| column.id == id)
    }
}

/// A column of a table.
#[derive(Clone, Debug)]
pub struct Column {
    pub id: i64,
    pub name: String,
    pub kind: ColumnType,
    /// The alias type, or the CLR type, that it was declared with.
    pub user_type: Option<UserType>,
    pub is_nullable: bool,
    pub is_rowguid: bool,
    pub is_sparse: bool,
    /// It shows all sparse columns as XML, and stores nothing.
    pub is_column_set: bool,
    /// Its values lie in a folder beside the database.
    pub is_filestream: bool,
    pub identity: Option<Identity>,
    pub computed: Option<Computed>,
    pub default: Option<DefaultConstraint>,
}

impl Column {
    /// Its values are in the rows.
    pub fn is_stored(&self) -> bool {
        !self.is_column_set && self.computed.as_ref().is_none_or(|computed| computed.is_persisted)
    }

    /// Its type as T-SQL declares it.
    pub fn declared_type(&self) -> String {
        match &self.user_type {
            Some(user_type) => user_type.to_string(),
            None => self.kind.to_string(),
        }
    }
}

/// A type that is not one of the system's plain ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UserType {
    /// A user's name for a system type.
    Alias(ObjectName),
    /// One of those SQL Server brings along: `sysname`, `geometry`.
    System(String),
}

impl std::fmt::Display for UserType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            UserType::Alias(name) => name.fmt(f),
            UserType::System(name) => f.write_str(name),
        }
    }
}

/// An alias type: `CREATE TYPE name FROM kind`.
#[derive(Clone, Debug)]
pub struct AliasType {
    pub name: ObjectName,
    pub kind: ColumnType,
    pub is_nullable: bool,
}

/// How an identity column counts, and how far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    pub seed: i128,
    pub increment: i128,
    /// The value given last; `None` if none was.
    pub last: Option<i128>,
}

/// A computed column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Computed {
    pub definition: String,
    pub is_persisted: bool,
}

/// What a column is where an INSERT does not say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefaultConstraint {
    pub name: String,
    pub definition: String,
}

/// A condition that every row of a table meets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    pub name: String,
    pub definition: String,
    pub is_disabled: bool,
    pub is_trusted: bool,
}

/// What an index is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexRole {
    PrimaryKey,
    UniqueConstraint,
    UniqueIndex,
    Index,
}

/// A key or an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    pub name: String,
    pub role: IndexRole,
    pub is_clustered: bool,
    pub is_disabled: bool,
    /// A row whose key is there already is left out, with a warning in place of an error.
    pub ignores_duplicates: bool,
    /// The ids of its columns, and whether each goes down.
    pub keys: Vec<(i64, bool)>,
    pub included: Vec<i64>,
    /// The condition of a filtered index.
    pub filter: Option<String>,
    /// What it is if no tree of rows: `columnstore`.
    pub other_kind: Option<&'static str>,
}

/// What a change of a referenced key does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferentialAction {
    NoAction,
    Cascade,
    SetNull,
    SetDefault,
}

/// Columns that must be a key of another table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignKey {
    pub name: String,
    pub columns: Vec<i64>,
    pub referenced_table: i64,
    pub referenced_columns: Vec<i64>,
    pub on_delete: ReferentialAction,
    pub on_update: ReferentialAction,
    pub is_disabled: bool,
    pub is_trusted: bool,
}

/// What a module is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ModuleKind {
    Function,
    View,
    Procedure,
    Trigger,
}

/// A view, procedure, function or trigger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    pub id: i64,
    pub kind: ModuleKind,
    pub name: ObjectName,
    /// Its text; `None` for one that was made WITH ENCRYPTION, or in another language.
    pub definition: Option<String>,
    pub uses_ansi_nulls: bool,
    pub uses_quoted_identifier: bool,
    /// Of a trigger: it does not fire. The id of its table or view.
    pub disabled_on: Option<i64>,
}

/// Schema, if there is one, and name of a table as a user writes them.
pub(super) fn parts_of(written: &str) -> (Option<String>, String) {
    let mut parts = vec![String::new()];
    let mut characters = written.chars().peekable();
    let mut is_quoted = false;
    while let Some(character) = characters.next() {
        let part = parts.last_mut().expect("it begins with one");
        match (character, is_quoted) {
            ('[', false) if part.is_empty() => is_quoted = true,
            (']', true) if characters.peek() == Some(&']') => {
                characters.next();
                part.push(']');
            }
            (']', true) => is_quoted = false,
            ('.', false) => parts.push(String::new()),
            (other, _) => part.push(other),
        }
    }
    let name = parts.pop().expect("it begins with one");
    (parts.pop(), name)
}

#[cfg(test)]
mod tests {
    use super::parts_of;

    #[test]
    fn names_are_taken_as_users_write_them() {
        let named = |schema: Option<&str>, name: &str| (schema.map(str::to_owned), name.to_owned());
        assert_eq!(parts_of("Orders"), named(None, "Orders"));
        assert_eq!(parts_of("dbo.Orders"), named(Some("dbo"), "Orders"));
        assert_eq!(parts_of("[dbo].[Order Details]"), named(Some("dbo"), "Order Details"));
        assert_eq!(parts_of("[a.b]]c]"), named(None, "a.b]c"));
    }
}
