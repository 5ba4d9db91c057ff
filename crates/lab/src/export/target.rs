//! The destination server of an export: its properties, and unsupported features.

use super::catalog::{Catalog, Row};
use super::words::{literal, quoted, words_of};
use crate::client::{ClientError, Connection};
use std::collections::{BTreeMap, BTreeSet};

/// What a server says of itself.
#[derive(Debug)]
pub(super) struct Server {
    /// 11 is SQL Server 2012.
    major: u32,
    /// Ours: its version number says how its log is laid out, and nothing about its language.
    is_vlflab: bool,
    types: BTreeSet<String>,
    collations: BTreeSet<String>,
    has_sequences: bool,
}

/// Something that the source has and the destination does not, with the objects that need it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lack {
    pub what: String,
    /// `[schema].[name]`.
    pub objects: BTreeSet<String>,
}

/// Words of T-SQL by the version that brought them (the "Applies to" lines of learn.microsoft.com/en-us/sql/t-sql).
const WORDS: &[(&str, u32)] = &[
    ("choose", 11),
    ("concat", 11),
    ("datefromparts", 11),
    ("eomonth", 11),
    ("first_value", 11),
    ("format", 11),
    ("iif", 11),
    ("lag", 11),
    ("last_value", 11),
    ("lead", 11),
    ("throw", 11),
    ("try_cast", 11),
    ("try_convert", 11),
    ("try_parse", 11),
    ("datediff_big", 13),
    ("isjson", 13),
    ("json_modify", 13),
    ("json_query", 13),
    ("json_value", 13),
    ("openjson", 13),
    ("string_escape", 13),
    ("string_split", 13),
    ("concat_ws", 14),
    ("string_agg", 14),
    ("translate", 14),
    ("trim", 14),
    ("approx_count_distinct", 15),
    ("bit_count", 16),
    ("date_bucket", 16),
    ("datetrunc", 16),
    ("generate_series", 16),
    ("greatest", 16),
    ("json_array", 16),
    ("json_object", 16),
    ("least", 16),
    ("base64_encode", 17),
    ("regexp_like", 17),
];

/// SQL Server's name of a major version.
fn year_of(major: u32) -> u32 {
    match major {
        10 => 2008,
        11 => 2012,
        12 => 2014,
        13 => 2016,
        14 => 2017,
        15 => 2019,
        16 => 2022,
        17 => 2025,
        other => other,
    }
}

const ABOUT: &str = "SELECT CONVERT(nvarchar(128), SERVERPROPERTY('ProductVersion')), CASE WHEN @@VERSION LIKE '%vlflab%' THEN 1 ELSE 0 END, \
    CASE WHEN OBJECT_ID('sys.sequences') IS NULL THEN 0 ELSE 1 END, CONVERT(int, SERVERPROPERTY('EngineEdition'))";
/// Azure SQL Database, whose language is the newest whatever its version number.
const AZURE: [&str; 2] = ["5", "8"];

impl Server {
    pub(super) fn read(connection: &mut Connection) -> Result<Server, ClientError> {
        let about = connection.rows(ABOUT)?.into_iter().next().unwrap_or_default();
        let text = |index: usize| about.get(index).cloned().flatten().unwrap_or_default();
        let version = text(0);
        let first = |rows: Vec<Vec<Option<String>>>| -> BTreeSet<String> {
            rows.into_iter()
                .filter_map(|cells| cells.into_iter().next().flatten())
                .collect()
        };
        let major = version.split('.').next().and_then(|major| major.parse().ok());
        Ok(Server {
            major: match AZURE.contains(&text(3).as_str()) {
                true => u32::MAX,
                false => major.unwrap_or_default(),
            },
            is_vlflab: text(1) == "1",
            types: first(connection.rows("SELECT name FROM sys.types")?),
            collations: first(connection.rows("SELECT name FROM sys.fn_helpcollations()")?),
            has_sequences: text(2) == "1",
        })
    }

    /// What of a source this server has no place for.
    pub(super) fn lacks(&self, catalog: &Catalog) -> Vec<Lack> {
        let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut lack = |what: String, object: &str| {
            found.entry(what).or_default().insert(object.to_owned());
        };
        for table in &catalog.tables {
            for column in &table.columns {
                if !self.types.contains(&column.base) {
                    lack(format!("the type {}", column.base), &table.name);
                }
                let collation = column.collation.as_ref();
                if let Some(collation) = collation.filter(|collation| !self.collations.contains(*collation)) {
                    lack(format!("the collation {collation}"), &table.name);
                }
            }
        }
        if !self.has_sequences {
            for sequence in &catalog.sequences {
                lack("sequences".to_owned(), &sequence.name);
            }
        }
        for module in catalog.modules.iter().filter(|_| !self.is_vlflab) {
            let words = words_of(&module.definition);
            for (word, since) in WORDS {
                if *since > self.major && words.contains(*word) {
                    let what = format!("{} (SQL Server {})", word.to_uppercase(), year_of(*since));
                    lack(what, &module.name);
                }
            }
        }
        let of = |(what, objects)| Lack { what, objects };
        found.into_iter().map(of).collect()
    }
}

/// Makes the database unless it is there. True when it was there.
pub(super) fn database(master: &mut Connection, name: &str, collation: Option<&str>) -> Result<bool, ClientError> {
    let id = master.rows(&format!("SELECT DB_ID({})", literal(name)))?;
    let is_there = id
        .first()
        .and_then(|cells| Row(cells).0.first().cloned())
        .flatten()
        .is_some();
    if !is_there {
        let collate = collation.map_or_else(String::new, |collation| format!(" COLLATE {collation}"));
        master.rows(&format!("CREATE DATABASE {}{collate}", quoted(name)))?;
    }
    Ok(is_there)
}

/// Whether the current database has objects of users.
pub(super) fn has_objects(connection: &mut Connection) -> Result<bool, ClientError> {
    let query = "SELECT COUNT(*) FROM sys.objects WHERE is_ms_shipped = 0 AND type IN ('U', 'V', 'P', 'FN', 'IF', 'TF', 'SN', 'SO')";
    Ok(connection.number(query)? > 0.0)
}
