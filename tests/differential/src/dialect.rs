//! The three languages, as far as names, types and constants go.

use crate::schema::{Kind, Table};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// vlflab's.
    TransactSql,
    Sqlite,
    /// PostgreSQL's.
    Postgres,
}

impl Dialect {
    /// What a table is called.
    pub fn table_name(self, table: &Table) -> String {
        if self == Dialect::TransactSql && table.temporary {
            format!("#{}", table.name)
        } else {
            table.name.clone()
        }
    }

    /// What a kind of values is called.
    pub fn type_name(self, kind: Kind) -> &'static str {
        match (self, kind) {
            (Dialect::TransactSql | Dialect::Postgres, Kind::Integer) => "int",
            (Dialect::TransactSql, Kind::Text) => "varchar(100)",
            (Dialect::TransactSql | Dialect::Postgres, Kind::Decimal) => "decimal(9, 2)",
            (Dialect::TransactSql, Kind::Float) => "float",
            (Dialect::TransactSql | Dialect::Postgres, Kind::Date) => "date",
            (Dialect::Postgres, Kind::Text) => "text",
            (Dialect::Postgres, Kind::Float) => "float8",
            (Dialect::Sqlite, Kind::Integer) => "integer",
            (Dialect::Sqlite, Kind::Text | Kind::Date) => "text",
            (Dialect::Sqlite, Kind::Decimal | Kind::Float) => "real",
        }
    }

    pub fn literal(self, kind: Kind, cell: Option<&str>) -> String {
        let type_name = self.type_name(kind);
        let Some(text) = cell else {
            return format!("cast(null as {type_name})");
        };
        let is_cast = match kind {
            Kind::Float => self != Dialect::Sqlite,
            Kind::Date => self != Dialect::Sqlite,
            // Of no type yet there, which some functions do not take.
            Kind::Text => self == Dialect::Postgres,
            _ => false,
        };
        let text = match kind {
            Kind::Text | Kind::Date => format!("'{text}'"),
            // A bare minus after another one would begin a comment.
            _ if text.starts_with('-') => format!("({text})"),
            _ => text.to_owned(),
        };
        if is_cast {
            format!("cast({text} as {type_name})")
        } else {
            text
        }
    }
}
