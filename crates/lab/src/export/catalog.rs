//! A database's definitions as the views of `sys` show them, read with one query for each kind.
//!
//! The views and columns are those of SQL Server 2012 and later. Objects of the source that are not exported are counted
//! ([`Catalog::left_out`]).

use super::words::{literal, qualified, quoted};
use crate::client::{ClientError, Connection};
use std::collections::BTreeMap;

/// Cells of an answer.
pub(super) type Cells = Vec<Option<String>>;

/// What is exported of a database.
#[derive(Debug, Default)]
pub struct Catalog {
    pub(super) schemas: Vec<String>,
    pub(super) alias_types: Vec<AliasType>,
    pub(super) sequences: Vec<Sequence>,
    pub(super) synonyms: Vec<Synonym>,
    /// Tables, then table types.
    pub(super) tables: Vec<Table>,
    pub(super) checks: Vec<Constraint>,
    pub(super) defaults: Vec<Constraint>,
    pub(super) foreign_keys: Vec<ForeignKey>,
    pub(super) modules: Vec<Module>,
    /// Triggers on the events of the database; they have no schema.
    pub(super) database_triggers: Vec<Module>,
    pub(super) trigger_orders: Vec<TriggerOrder>,
    /// Those that users made.
    pub(super) statistics: Vec<Statistics>,
    pub(super) properties: Vec<Property>,
    /// Objects that are not exported, in words.
    pub left_out: Vec<String>,
}

#[derive(Debug)]
pub(super) struct AliasType {
    pub(super) name: String,
    pub(super) base: String,
    pub(super) is_nullable: bool,
}

#[derive(Debug)]
pub(super) struct Sequence {
    pub(super) name: String,
    pub(super) type_name: String,
    pub(super) start: String,
    pub(super) increment: String,
    pub(super) minimum: String,
    pub(super) maximum: String,
    pub(super) is_cycling: bool,
    /// Without: NO CACHE. `Some("")`: the server chooses.
    pub(super) cache: Option<String>,
    pub(super) current: String,
    /// It has given a value. Before SQL Server 2017 that shows only once it has given two.
    pub(super) is_used: bool,
}

#[derive(Debug)]
pub(super) struct Synonym {
    pub(super) name: String,
    pub(super) target: String,
}

/// A table, or the table of a type.
#[derive(Debug)]
pub struct Table {
    pub(super) object_id: String,
    /// `[schema].[table]`.
    pub name: String,
    pub(super) schema: String,
    pub(super) plain_name: String,
    pub(super) is_type: bool,
    /// About how many rows it has.
    pub rows: u64,
    pub(super) columns: Vec<Column>,
    pub(super) indexes: Vec<Index>,
}

#[derive(Debug, Clone)]
pub(super) struct Column {
    pub(super) name: String,
    /// As the table declares it: an alias type by its name.
    pub(super) declared: String,
    /// The system type's name.
    pub(super) base: String,
    /// The system type with its length.
    pub(super) type_text: String,
    pub(super) precision: u8,
    pub(super) scale: u8,
    pub(super) is_nullable: bool,
    pub(super) collation: Option<String>,
    pub(super) identity: Option<Identity>,
    /// Definition, and whether it is persisted.
    pub(super) computed: Option<(String, bool)>,
    pub(super) is_row_guid: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Identity {
    pub(super) seed: String,
    pub(super) increment: String,
    pub(super) last: Option<String>,
}

impl Column {
    /// Whether a bulk load brings its values: the server makes those of others itself.
    pub(super) fn has_data(&self) -> bool {
        self.computed.is_none() && self.base != "timestamp"
    }
}

#[derive(Debug, Clone)]
pub(super) struct Index {
    pub(super) name: String,
    pub(super) is_clustered: bool,
    pub(super) is_unique: bool,
    pub(super) is_primary_key: bool,
    pub(super) is_constraint: bool,
    pub(super) is_disabled: bool,
    /// Words of WITH.
    pub(super) options: Vec<String>,
    pub(super) filter: Option<String>,
    /// With its direction.
    pub(super) keys: Vec<String>,
    pub(super) included: Vec<String>,
}

#[derive(Debug)]
pub(super) struct Constraint {
    pub(super) table_id: String,
    pub(super) name: String,
    /// `[schema].[constraint]`.
    pub(super) qualified: String,
    pub(super) definition: String,
    /// Of a DEFAULT.
    pub(super) column: String,
    pub(super) is_disabled: bool,
    pub(super) is_trusted: bool,
}

#[derive(Debug)]
pub(super) struct ForeignKey {
    pub(super) of: Constraint,
    pub(super) referenced_table: String,
    pub(super) columns: Vec<(String, String)>,
    pub(super) on_delete: String,
    pub(super) on_update: String,
    pub(super) is_not_for_replication: bool,
}

#[derive(Debug)]
pub(super) struct Module {
    /// `V`, `P`, `FN`, `IF`, `TF`, `TR`.
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) plain_name: String,
    pub(super) definition: String,
    pub(super) ansi_nulls: bool,
    pub(super) quoted_identifiers: bool,
    /// Of a trigger.
    pub(super) parent: Option<String>,
    pub(super) is_disabled: bool,
    pub(super) object_id: String,
    /// Of a view.
    pub(super) indexes: Vec<Index>,
}

/// A trigger that fires first or last on an event.
#[derive(Debug)]
pub(super) struct TriggerOrder {
    /// `[schema].[trigger]`, of the database `[trigger]`.
    pub(super) trigger: String,
    pub(super) is_of_database: bool,
    pub(super) event: String,
    pub(super) is_first: bool,
}

#[derive(Debug)]
pub(super) struct Statistics {
    /// `[schema].[table]`.
    pub(super) table: String,
    pub(super) name: String,
    pub(super) columns: Vec<String>,
    pub(super) filter: Option<String>,
    pub(super) is_kept: bool,
}

#[derive(Debug)]
pub(super) struct Property {
    pub(super) name: String,
    /// As a literal.
    pub(super) value: String,
    /// `SCHEMA`, name, `TABLE`, name and so on: up to three pairs.
    pub(super) levels: Vec<(String, String)>,
}

/// Reads answers cell by cell.
pub(super) struct Row<'a>(pub(super) &'a Cells);

impl Row<'_> {
    fn get(&self, index: usize) -> Option<String> {
        self.0.get(index).cloned().flatten()
    }

    fn text(&self, index: usize) -> String {
        self.get(index).unwrap_or_default()
    }

    fn flag(&self, index: usize) -> bool {
        self.0.get(index).and_then(Option::as_deref) == Some("1")
    }

    fn number<T: std::str::FromStr + Default>(&self, index: usize) -> T {
        self.text(index).parse().unwrap_or_default()
    }
}

const SCHEMAS: &str = "SELECT name FROM sys.schemas WHERE schema_id NOT BETWEEN 16384 AND 16399 AND name NOT IN ('dbo', 'guest', 'sys', 'INFORMATION_SCHEMA') ORDER BY name";
const ALIAS_TYPES: &str = "SELECT SCHEMA_NAME(t.schema_id), t.name, b.name, t.max_length, t.precision, t.scale, t.is_nullable \
    FROM sys.types AS t INNER JOIN sys.types AS b ON b.user_type_id = t.system_type_id \
    WHERE t.is_user_defined = 1 AND t.is_table_type = 0 AND t.is_assembly_type = 0 ORDER BY 1, 2";
const SEQUENCES: &str = "SELECT SCHEMA_NAME(s.schema_id), s.name, t.name, s.precision, CONVERT(varchar(50), s.start_value), \
    CONVERT(varchar(50), s.increment), CONVERT(varchar(50), s.minimum_value), CONVERT(varchar(50), s.maximum_value), s.is_cycling, \
    s.is_cached, s.cache_size, CONVERT(varchar(50), s.current_value), s.scale \
    FROM sys.sequences AS s INNER JOIN sys.types AS t ON t.user_type_id = s.user_type_id WHERE s.is_ms_shipped = 0 ORDER BY 1, 2";
const USED_SEQUENCES: &str = "SELECT SCHEMA_NAME(schema_id), name FROM sys.sequences WHERE last_used_value IS NOT NULL";
const SYNONYMS: &str =
    "SELECT SCHEMA_NAME(schema_id), name, base_object_name FROM sys.synonyms WHERE is_ms_shipped = 0 ORDER BY 1, 2";
const TABLES: &str = "SELECT t.object_id, SCHEMA_NAME(t.schema_id), t.name, 0, (SELECT SUM(p.rows) FROM sys.partitions AS p \
    WHERE p.object_id = t.object_id AND p.index_id IN (0, 1)) FROM sys.tables AS t WHERE t.is_ms_shipped = 0 \
    UNION ALL SELECT type_table_object_id, SCHEMA_NAME(schema_id), name, 1, 0 FROM sys.table_types ORDER BY 4, 2, 3";
const COLUMNS: &str = "SELECT c.object_id, c.column_id, c.name, t.is_user_defined, SCHEMA_NAME(t.schema_id), t.name, b.name, c.max_length, \
    c.precision, c.scale, c.is_nullable, c.collation_name, CONVERT(varchar(50), i.seed_value), CONVERT(varchar(50), i.increment_value), \
    CONVERT(varchar(50), i.last_value), f.definition, f.is_persisted, c.is_rowguidcol \
    FROM sys.columns AS c INNER JOIN sys.types AS t ON t.user_type_id = c.user_type_id \
    LEFT JOIN sys.types AS b ON b.user_type_id = c.system_type_id \
    LEFT JOIN sys.identity_columns AS i ON i.object_id = c.object_id AND i.column_id = c.column_id \
    LEFT JOIN sys.computed_columns AS f ON f.object_id = c.object_id AND f.column_id = c.column_id ORDER BY c.object_id, c.column_id";
const INDEXES: &str = "SELECT i.object_id, i.index_id, i.name, i.type, i.is_unique, i.is_primary_key, i.is_unique_constraint, i.is_disabled, \
    i.ignore_dup_key, i.fill_factor, i.is_padded, i.allow_row_locks, i.allow_page_locks, i.filter_definition, s.no_recompute \
    FROM sys.indexes AS i LEFT JOIN sys.stats AS s ON s.object_id = i.object_id AND s.stats_id = i.index_id \
    WHERE i.type IN (1, 2) AND i.is_hypothetical = 0 ORDER BY i.object_id, i.index_id";
const INDEX_COLUMNS: &str = "SELECT x.object_id, x.index_id, c.name, x.is_descending_key, x.is_included_column FROM sys.index_columns AS x \
    INNER JOIN sys.columns AS c ON c.object_id = x.object_id AND c.column_id = x.column_id \
    WHERE x.key_ordinal > 0 OR x.is_included_column = 1 ORDER BY x.object_id, x.index_id, x.is_included_column, x.key_ordinal, x.index_column_id";
const CHECKS: &str = "SELECT parent_object_id, SCHEMA_NAME(schema_id), name, definition, '', is_disabled, is_not_trusted \
    FROM sys.check_constraints ORDER BY 2, 3";
const DEFAULTS: &str = "SELECT d.parent_object_id, SCHEMA_NAME(d.schema_id), d.name, d.definition, c.name, 0, 0 \
    FROM sys.default_constraints AS d INNER JOIN sys.columns AS c ON c.object_id = d.parent_object_id AND c.column_id = d.parent_column_id ORDER BY 2, 3";
const FOREIGN_KEYS: &str = "SELECT f.parent_object_id, SCHEMA_NAME(f.schema_id), f.name, '', '', f.is_disabled, f.is_not_trusted, f.object_id, \
    SCHEMA_NAME(r.schema_id), r.name, f.delete_referential_action_desc, f.update_referential_action_desc, f.is_not_for_replication \
    FROM sys.foreign_keys AS f INNER JOIN sys.objects AS r ON r.object_id = f.referenced_object_id ORDER BY 2, 3";
const FOREIGN_KEY_COLUMNS: &str = "SELECT k.constraint_object_id, p.name, r.name FROM sys.foreign_key_columns AS k \
    INNER JOIN sys.columns AS p ON p.object_id = k.parent_object_id AND p.column_id = k.parent_column_id \
    INNER JOIN sys.columns AS r ON r.object_id = k.referenced_object_id AND r.column_id = k.referenced_column_id \
    ORDER BY k.constraint_object_id, k.constraint_column_id";
const MODULES: &str = "SELECT o.type, SCHEMA_NAME(o.schema_id), o.name, m.definition, m.uses_ansi_nulls, m.uses_quoted_identifier, \
    SCHEMA_NAME(p.schema_id), p.name, t.is_disabled, o.object_id FROM sys.sql_modules AS m INNER JOIN sys.objects AS o ON o.object_id = m.object_id \
    LEFT JOIN sys.objects AS p ON p.object_id = o.parent_object_id AND p.object_id <> 0 LEFT JOIN sys.triggers AS t ON t.object_id = o.object_id \
    WHERE o.is_ms_shipped = 0 AND o.type IN ('V', 'P', 'FN', 'IF', 'TF', 'TR') ORDER BY o.object_id";
const DATABASE_TRIGGERS: &str = "SELECT t.type, NULL, t.name, m.definition, m.uses_ansi_nulls, m.uses_quoted_identifier, NULL, NULL, t.is_disabled \
    FROM sys.triggers AS t INNER JOIN sys.sql_modules AS m ON m.object_id = t.object_id \
    WHERE t.parent_class = 0 AND t.is_ms_shipped = 0 AND t.type = 'TR' ORDER BY t.object_id";
const TRIGGER_ORDERS: &str = "SELECT t.parent_class, SCHEMA_NAME(o.schema_id), t.name, e.type_desc, e.is_first \
    FROM sys.trigger_events AS e INNER JOIN sys.triggers AS t ON t.object_id = e.object_id LEFT JOIN sys.objects AS o ON o.object_id = t.object_id \
    WHERE t.is_ms_shipped = 0 AND (e.is_first = 1 OR e.is_last = 1) ORDER BY 1, 2, 3, 4";
const STATISTICS: &str = "SELECT s.object_id, s.stats_id, SCHEMA_NAME(t.schema_id), t.name, s.name, s.filter_definition, s.no_recompute \
    FROM sys.stats AS s INNER JOIN sys.tables AS t ON t.object_id = s.object_id WHERE s.user_created = 1 AND t.is_ms_shipped = 0 ORDER BY 3, 4, 5";
const STATISTICS_COLUMNS: &str = "SELECT CONCAT(k.object_id, ' ', k.stats_id), c.name FROM sys.stats_columns AS k \
    INNER JOIN sys.columns AS c ON c.object_id = k.object_id AND c.column_id = k.column_id ORDER BY k.object_id, k.stats_id, k.stats_column_id";
const PROPERTIES: &str = "SELECT e.class, e.name, CONVERT(nvarchar(4000), e.value), CONVERT(nvarchar(128), SQL_VARIANT_PROPERTY(e.value, 'BaseType')), \
    SCHEMA_NAME(o.schema_id), o.type, o.name, c.name, s.name, i.name, SCHEMA_NAME(p.schema_id), p.name \
    FROM sys.extended_properties AS e LEFT JOIN sys.objects AS o ON o.object_id = e.major_id AND e.class IN (1, 7) \
    LEFT JOIN sys.objects AS p ON p.object_id = o.parent_object_id AND p.object_id <> 0 \
    LEFT JOIN sys.columns AS c ON c.object_id = e.major_id AND c.column_id = e.minor_id AND e.class = 1 AND e.minor_id > 0 \
    LEFT JOIN sys.schemas AS s ON s.schema_id = e.major_id AND e.class = 3 \
    LEFT JOIN sys.indexes AS i ON i.object_id = e.major_id AND i.index_id = e.minor_id AND e.class = 7 \
    ORDER BY e.class, e.major_id, e.minor_id, e.name";

/// Kinds that are counted and not exported: what they are, and how many there are. A view that a version lacks has none.
const LEFT_OUT: &[(&str, &str)] = &[
    (
        "users, roles and permissions",
        "SELECT COUNT(*) FROM sys.database_permissions WHERE major_id >= 0 AND grantee_principal_id > 4 AND grantee_principal_id < 16384",
    ),
    (
        "XML schema collections; their columns become plain xml",
        "SELECT COUNT(*) FROM sys.xml_schema_collections WHERE xml_collection_id >= 65536",
    ),
    (
        "columnstore, XML, spatial and other indexes that are no trees of rows",
        "SELECT COUNT(*) FROM sys.indexes AS i INNER JOIN sys.tables AS t ON t.object_id = i.object_id WHERE i.type > 2",
    ),
    (
        "partitioned tables, which become plain ones",
        "SELECT COUNT(DISTINCT object_id) FROM sys.partitions WHERE partition_number = 2 AND index_id IN (0, 1)",
    ),
    (
        "temporal tables, which become plain ones, as their history does",
        "SELECT COUNT(*) FROM sys.tables WHERE temporal_type = 2",
    ),
    (
        "memory-optimized tables, which become tables on pages",
        "SELECT COUNT(*) FROM sys.tables WHERE is_memory_optimized = 1",
    ),
    (
        "assemblies and what is made of them",
        "SELECT COUNT(*) FROM sys.assemblies WHERE is_user_defined = 1",
    ),
    (
        "modules whose text is encrypted",
        "SELECT COUNT(*) FROM sys.sql_modules AS m INNER JOIN sys.objects AS o ON o.object_id = m.object_id WHERE o.is_ms_shipped = 0 AND m.definition IS NULL",
    ),
    (
        "defaults and rules of their own, with what they are bound to",
        "SELECT COUNT(*) FROM sys.objects WHERE type = 'R' OR type = 'D' AND parent_object_id = 0",
    ),
    ("full-text indexes", "SELECT COUNT(*) FROM sys.fulltext_indexes"),
    (
        "masked columns, which lose their mask",
        "SELECT COUNT(*) FROM sys.masked_columns",
    ),
    (
        "identities and checks that are NOT FOR REPLICATION, which are for it then",
        "SELECT (SELECT COUNT(*) FROM sys.identity_columns WHERE is_not_for_replication = 1) + (SELECT COUNT(*) FROM sys.check_constraints WHERE is_not_for_replication = 1)",
    ),
    (
        "sparse columns, which become plain ones",
        "SELECT COUNT(*) FROM sys.columns WHERE is_sparse = 1",
    ),
];

/// Msg 208 and 207: no such view or column in this version.
const NOT_IN_THIS_VERSION: [i32; 2] = [207, 208];

impl Catalog {
    /// Reads the current database of a connection.
    ///
    /// # Errors
    /// The first error of the server, or a broken connection.
    pub fn read(connection: &mut Connection) -> Result<Catalog, ClientError> {
        let schemas = connection.rows(SCHEMAS)?;
        let mut catalog = Catalog {
            schemas: schemas.iter().map(|cells| Row(cells).text(0)).collect(),
            alias_types: connection.rows(ALIAS_TYPES)?.iter().map(alias_type).collect(),
            sequences: connection.rows(SEQUENCES)?.iter().map(sequence).collect(),
            synonyms: connection.rows(SYNONYMS)?.iter().map(synonym).collect(),
            checks: connection.rows(CHECKS)?.iter().map(constraint).collect(),
            defaults: connection.rows(DEFAULTS)?.iter().map(constraint).collect(),
            foreign_keys: foreign_keys(connection)?,
            modules: connection.rows(MODULES)?.iter().filter_map(module).collect(),
            database_triggers: connection
                .rows(DATABASE_TRIGGERS)?
                .iter()
                .filter_map(database_trigger)
                .collect(),
            trigger_orders: connection.rows(TRIGGER_ORDERS)?.iter().map(trigger_order).collect(),
            statistics: statistics(connection)?,
            ..Catalog::default()
        };
        let mut columns = grouped(&connection.rows(COLUMNS)?, 0, column);
        let mut indexes = indexes(connection)?;
        for cells in connection.rows(TABLES)? {
            let row = Row(&cells);
            let object_id = row.text(0);
            catalog.tables.push(Table {
                name: qualified(&row.text(1), &row.text(2)),
                schema: row.text(1),
                plain_name: row.text(2),
                is_type: row.flag(3),
                rows: row.number(4),
                columns: columns.remove(&object_id).unwrap_or_default(),
                indexes: indexes.remove(&object_id).unwrap_or_default(),
                object_id,
            });
        }
        for module in &mut catalog.modules {
            module.indexes = indexes.remove(&module.object_id).unwrap_or_default();
        }
        match connection.rows(USED_SEQUENCES) {
            Ok(used) => {
                for cells in used {
                    let name = qualified(&Row(&cells).text(0), &Row(&cells).text(1));
                    let mut sequences = catalog.sequences.iter_mut();
                    if let Some(sequence) = sequences.find(|sequence| sequence.name == name) {
                        sequence.is_used = true;
                    }
                }
            }
            Err(ClientError::Server(message)) if NOT_IN_THIS_VERSION.contains(&message.number) => {}
            Err(error) => return Err(error),
        }
        catalog.read_properties(connection)?;
        catalog.count_left_out(connection)?;
        Ok(catalog)
    }

    fn read_properties(&mut self, connection: &mut Connection) -> Result<(), ClientError> {
        let mut unplaced = 0;
        for cells in connection.rows(PROPERTIES)? {
            match property(&cells) {
                Some(property) => self.properties.push(property),
                None => unplaced += 1,
            }
        }
        if unplaced > 0 {
            let what = "extended properties of parameters, types, users and the like";
            self.left_out.push(format!("{unplaced} {what}"));
        }
        Ok(())
    }

    fn count_left_out(&mut self, connection: &mut Connection) -> Result<(), ClientError> {
        for (what, query) in LEFT_OUT {
            match connection.number(query) {
                Ok(0.0) => {}
                Ok(count) => self.left_out.push(format!("{count} {what}")),
                Err(ClientError::Server(message)) if NOT_IN_THIS_VERSION.contains(&message.number) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

fn grouped<T>(rows: &[Cells], key: usize, mut of: impl FnMut(&Cells) -> T) -> BTreeMap<String, Vec<T>> {
    let mut found: BTreeMap<String, Vec<T>> = BTreeMap::new();
    for cells in rows {
        found.entry(Row(cells).text(key)).or_default().push(of(cells));
    }
    found
}

/// A system type with its length, precision and scale, as it is declared.
fn type_text(base: &str, max_length: i32, precision: u8, scale: u8) -> String {
    let length = |per_character: i32| match max_length {
        -1 => "max".to_owned(),
        bytes => (bytes / per_character).to_string(),
    };
    match base {
        "char" | "varchar" | "binary" | "varbinary" => format!("[{base}]({})", length(1)),
        "nchar" | "nvarchar" => format!("[{base}]({})", length(2)),
        "decimal" | "numeric" => format!("[{base}]({precision}, {scale})"),
        "time" | "datetime2" | "datetimeoffset" => format!("[{base}]({scale})"),
        _ => format!("[{base}]"),
    }
}

fn alias_type(cells: &Cells) -> AliasType {
    let row = Row(cells);
    AliasType {
        name: qualified(&row.text(0), &row.text(1)),
        base: type_text(&row.text(2), row.number(3), row.number(4), row.number(5)),
        is_nullable: row.flag(6),
    }
}

fn sequence(cells: &Cells) -> Sequence {
    let row = Row(cells);
    Sequence {
        name: qualified(&row.text(0), &row.text(1)),
        type_name: type_text(&row.text(2), 0, row.number(3), row.number(12)),
        start: row.text(4),
        increment: row.text(5),
        minimum: row.text(6),
        maximum: row.text(7),
        is_cycling: row.flag(8),
        cache: row.flag(9).then(|| row.text(10)),
        current: row.text(11),
        is_used: row.text(11) != row.text(4),
    }
}

fn synonym(cells: &Cells) -> Synonym {
    let row = Row(cells);
    Synonym {
        name: qualified(&row.text(0), &row.text(1)),
        target: row.text(2),
    }
}

fn constraint(cells: &Cells) -> Constraint {
    let row = Row(cells);
    Constraint {
        table_id: row.text(0),
        name: quoted(&row.text(2)),
        qualified: qualified(&row.text(1), &row.text(2)),
        definition: row.text(3),
        column: row.text(4),
        is_disabled: row.flag(5),
        is_trusted: !row.flag(6),
    }
}

fn foreign_keys(connection: &mut Connection) -> Result<Vec<ForeignKey>, ClientError> {
    let pairs = connection.rows(FOREIGN_KEY_COLUMNS)?;
    let mut columns = grouped(&pairs, 0, |cells| (Row(cells).text(1), Row(cells).text(2)));
    let rows = connection.rows(FOREIGN_KEYS)?;
    let key = |cells: &Cells| {
        let row = Row(cells);
        ForeignKey {
            of: constraint(cells),
            referenced_table: qualified(&row.text(8), &row.text(9)),
            columns: columns.remove(&row.text(7)).unwrap_or_default(),
            on_delete: row.text(10).replace('_', " "),
            on_update: row.text(11).replace('_', " "),
            is_not_for_replication: row.flag(12),
        }
    };
    Ok(rows.iter().map(key).collect())
}

fn module(cells: &Cells) -> Option<Module> {
    let row = Row(cells);
    Some(Module {
        kind: row.text(0).trim().to_owned(),
        name: qualified(&row.text(1), &row.text(2)),
        plain_name: row.text(2),
        definition: row.get(3)?,
        ansi_nulls: row.flag(4),
        quoted_identifiers: row.flag(5),
        parent: row.get(7).map(|name| qualified(&row.text(6), &name)),
        is_disabled: row.flag(8),
        object_id: row.get(9).unwrap_or_default(),
        indexes: Vec::new(),
    })
}

fn database_trigger(cells: &Cells) -> Option<Module> {
    let found = module(cells)?;
    Some(Module {
        name: quoted(&found.plain_name),
        ..found
    })
}

fn trigger_order(cells: &Cells) -> TriggerOrder {
    let row = Row(cells);
    let is_of_database = row.text(0) == "0";
    TriggerOrder {
        trigger: match is_of_database {
            true => quoted(&row.text(2)),
            false => qualified(&row.text(1), &row.text(2)),
        },
        is_of_database,
        event: row.text(3),
        is_first: row.flag(4),
    }
}

fn statistics(connection: &mut Connection) -> Result<Vec<Statistics>, ClientError> {
    let pairs = connection.rows(STATISTICS_COLUMNS)?;
    let mut columns = grouped(&pairs, 0, |cells| Row(cells).text(1));
    let rows = connection.rows(STATISTICS)?;
    let of = |cells: &Cells| {
        let row = Row(cells);
        let key = format!("{} {}", row.text(0), row.text(1));
        Statistics {
            table: qualified(&row.text(2), &row.text(3)),
            name: row.text(4),
            columns: columns.remove(&key).unwrap_or_default(),
            filter: row.get(5),
            is_kept: row.flag(6),
        }
    };
    Ok(rows.iter().map(of).collect())
}

fn column(cells: &Cells) -> Column {
    let row = Row(cells);
    let (is_user_defined, name) = (row.flag(3), row.text(5));
    // A CLR type has no system type of its own.
    let base = row.get(6).unwrap_or_else(|| name.clone());
    let type_text = type_text(&base, row.number(7), row.number(8), row.number(9));
    Column {
        name: row.text(2),
        declared: match (is_user_defined, name == base) {
            (true, _) => qualified(&row.text(4), &name),
            (false, true) => type_text.clone(),
            (false, false) => quoted(&name),
        },
        base,
        type_text,
        precision: row.number(8),
        scale: row.number(9),
        is_nullable: row.flag(10),
        collation: row.get(11),
        identity: row.get(12).map(|seed| Identity {
            seed,
            increment: row.text(13),
            last: row.get(14),
        }),
        computed: row.get(15).map(|definition| (definition, row.flag(16))),
        is_row_guid: row.flag(17),
    }
}

fn indexes(connection: &mut Connection) -> Result<BTreeMap<String, Vec<Index>>, ClientError> {
    let mut columns: BTreeMap<(String, String), (Vec<String>, Vec<String>)> = BTreeMap::new();
    for cells in connection.rows(INDEX_COLUMNS)? {
        let row = Row(&cells);
        let (keys, included) = columns.entry((row.text(0), row.text(1))).or_default();
        match (row.flag(4), row.flag(3)) {
            (true, _) => included.push(quoted(&row.text(2))),
            (false, true) => keys.push(quoted(&row.text(2)) + " DESC"),
            (false, false) => keys.push(quoted(&row.text(2)) + " ASC"),
        }
    }
    let rows = connection.rows(INDEXES)?;
    let index = |cells: &Cells| {
        let row = Row(cells);
        let (keys, included) = columns.remove(&(row.text(0), row.text(1))).unwrap_or_default();
        Index {
            name: row.text(2),
            is_clustered: row.text(3) == "1",
            is_unique: row.flag(4),
            is_primary_key: row.flag(5),
            is_constraint: row.flag(5) || row.flag(6),
            is_disabled: row.flag(7),
            options: options(&row),
            filter: row.get(13),
            keys,
            included,
        }
    };
    Ok(grouped(&rows, 0, index))
}

/// What differs from what a server would do anyway.
fn options(row: &Row<'_>) -> Vec<String> {
    let mut options = Vec::new();
    let mut add = |is: bool, option: &str| {
        if is {
            options.push(option.to_owned());
        }
    };
    add(row.flag(10), "PAD_INDEX = ON");
    add(row.flag(14), "STATISTICS_NORECOMPUTE = ON");
    add(row.flag(8), "IGNORE_DUP_KEY = ON");
    add(!row.flag(11), "ALLOW_ROW_LOCKS = OFF");
    add(!row.flag(12), "ALLOW_PAGE_LOCKS = OFF");
    let fill_factor: u8 = row.number(9);
    add((1..100).contains(&fill_factor), &format!("FILLFACTOR = {fill_factor}"));
    options
}

/// None for what it is of is not exported itself.
fn property(cells: &Cells) -> Option<Property> {
    let row = Row(cells);
    let kind_of = |code: &str| match code.trim() {
        "U" => Some("TABLE"),
        "V" => Some("VIEW"),
        "P" => Some("PROCEDURE"),
        "FN" | "IF" | "TF" => Some("FUNCTION"),
        "SN" => Some("SYNONYM"),
        "SO" => Some("SEQUENCE"),
        _ => None,
    };
    let pair = |kind: &str, name: String| (kind.to_owned(), name);
    let object = || Some(pair(kind_of(&row.text(5))?, row.text(6)));
    let levels = match (row.text(0).as_str(), row.get(7), row.get(9)) {
        ("0", ..) => Vec::new(),
        ("3", ..) => vec![pair("SCHEMA", row.get(8)?)],
        ("1", Some(column), _) => vec![pair("SCHEMA", row.text(4)), object()?, pair("COLUMN", column)],
        ("7", _, Some(index)) => vec![pair("SCHEMA", row.text(4)), object()?, pair("INDEX", index)],
        ("1", None, _) => match row.text(5).trim() {
            "PK" | "UQ" | "F" | "C" | "D" => vec![
                pair("SCHEMA", row.text(10)),
                pair("TABLE", row.get(11)?),
                pair("CONSTRAINT", row.text(6)),
            ],
            "TR" => vec![
                pair("SCHEMA", row.text(10)),
                pair("TABLE", row.get(11)?),
                pair("TRIGGER", row.text(6)),
            ],
            _ => vec![pair("SCHEMA", row.text(4)), object()?],
        },
        _ => return None,
    };
    let value = row.text(2);
    let is_number = matches!(
        row.text(3).as_str(),
        "int" | "bigint" | "smallint" | "tinyint" | "bit" | "decimal" | "numeric"
    );
    Some(Property {
        name: row.text(1),
        value: if is_number { value } else { literal(&value) },
        levels,
    })
}
