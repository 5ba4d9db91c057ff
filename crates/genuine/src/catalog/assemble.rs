//! Base tables to what users know.

use super::base::{BaseRow, BaseTables, ColumnRow, RowSetRow, id};
use super::definitions::{identity_of, text_of};
use super::layout::{self, Layouts};
use super::objects::{
    AliasType, Check, Column, Computed, DefaultConstraint, ForeignKey, Index, IndexRole, Module, ModuleKind,
    ObjectName, ReferentialAction, Table, UserType, quoted,
};
use super::{BootRecord, Catalog};
use crate::fault::Result;
use crate::types::{ColumnType, SystemType};
use std::collections::{BTreeMap, HashMap};

/// A row of sysschobjs.
#[derive(Clone, Debug)]
struct Object {
    id: i64,
    name: String,
    schema: i64,
    status: i64,
    /// Two letters: `U ` a table, `V ` a view.
    kind: String,
    parent: i64,
}

/// A row of sysscalartypes.
struct ScalarType {
    schema: i64,
    name: String,
    kind: ColumnType,
    is_nullable: bool,
}

/// A row of syssingleobjrefs.
struct Reference {
    class: i64,
    number: i64,
    object: i64,
    part: i64,
}

struct Parts<'s> {
    boot: BootRecord,
    tables: BaseTables<'s>,
    schemas: BTreeMap<i64, String>,
    objects: HashMap<i64, Object>,
    /// Constraints and triggers, by their tables.
    children: HashMap<i64, Vec<i64>>,
    types: HashMap<i64, ScalarType>,
    /// By object and part.
    texts: HashMap<(i64, i64), String>,
    indexes: HashMap<i64, Vec<(i64, Index)>>,
    references: HashMap<i64, Vec<Reference>>,
    layouts: Layouts,
    unread: Vec<String>,
}

/// sysschobjs.status: the object is SQL Server's.
const MS_SHIPPED: i64 = 0x1;
/// sysschobjs.status of constraints and triggers: disabled; not trusted.
const DISABLED: i64 = 0x100;
const NOT_TRUSTED: i64 = 0x400;
/// sysschobjs.status of modules.
const USES_ANSI_NULLS: i64 = 0x4_0000;
const USES_QUOTED_IDENTIFIER: i64 = 0x8_0000;

/// Makes the catalog.
pub(super) fn assemble(boot: BootRecord, tables: BaseTables<'_>) -> Result<Catalog> {
    let mut parts = Parts {
        boot,
        tables,
        schemas: BTreeMap::new(),
        objects: HashMap::new(),
        children: HashMap::new(),
        types: HashMap::new(),
        texts: HashMap::new(),
        indexes: HashMap::new(),
        references: HashMap::new(),
        layouts: Layouts::new(),
        unread: Vec::new(),
    };
    parts.read_names()?;
    parts.read_texts()?;
    parts.read_indexes()?;
    parts.read_references()?;
    parts.layouts = layout::read(&mut parts.tables)?;
    parts.count_unread();
    Ok(parts.finish())
}

impl Parts<'_> {
    fn read_names(&mut self) -> Result<()> {
        /// sysclsobjs.class of schemas.
        const SCHEMA: i64 = 50;
        let schemas = &mut self.schemas;
        self.tables.each(id::SYSCLSOBJS, &mut |row: &BaseRow<'_>| {
            if row.integer("class") == SCHEMA {
                schemas.insert(row.integer("id"), row.text("name"));
            }
        })?;
        let (objects, children) = (&mut self.objects, &mut self.children);
        self.tables.each(id::SYSSCHOBJS, &mut |row: &BaseRow<'_>| {
            let object = Object {
                id: row.integer("id"),
                name: row.text("name"),
                schema: row.integer("nsid"),
                status: row.integer("status"),
                kind: row.text("type"),
                parent: row.integer("pid"),
            };
            children.entry(object.parent).or_default().push(object.id);
            objects.insert(object.id, object);
        })?;
        let types = &mut self.types;
        self.tables.each(id::SYSSCALARTYPES, &mut |row: &BaseRow<'_>| {
            let scalar = ScalarType {
                schema: row.integer("schid"),
                name: row.text("name"),
                kind: ColumnType {
                    system: SystemType::of(u8::try_from(row.integer("xtype")).unwrap_or(0)),
                    length_bytes: i16::try_from(row.integer("length")).unwrap_or(0),
                    precision: u8::try_from(row.integer("prec")).unwrap_or(0),
                    scale: u8::try_from(row.integer("scale")).unwrap_or(0),
                    collation: super::base::low_word(row.integer("collationid")),
                },
                is_nullable: row.integer("status") & 1 == 0,
            };
            types.insert(row.integer("id"), scalar);
        })
    }

    /// Definitions of modules and constraints (part 0, or 1 for procedures), and of computed columns (part: the column).
    fn read_texts(&mut self) -> Result<()> {
        /// sysobjvalues.valclass of definitions.
        const DEFINITION: i64 = 1;
        let collation = self.boot.collation;
        let texts = &mut self.texts;
        self.tables.each(id::SYSOBJVALUES, &mut |row: &BaseRow<'_>| {
            let bytes = row.bytes("imageval");
            if row.integer("valclass") == DEFINITION && !bytes.is_empty() {
                let text = text_of(row.variant_integer("value"), bytes, collation);
                texts.insert((row.integer("objid"), row.integer("subobjid")), text);
            }
        })
    }

    fn read_indexes(&mut self) -> Result<()> {
        /// sysidxstats.status: an index and not only statistics; without rows of its own.
        const IS_INDEX: i64 = 0x1;
        const HYPOTHETICAL: i64 = 0x100;
        let indexes = &mut self.indexes;
        self.tables.each(id::SYSIDXSTATS, &mut |row: &BaseRow<'_>| {
            let status = row.integer("status");
            let number = row.integer("indid");
            if status & IS_INDEX == 0 || status & HYPOTHETICAL != 0 || number == 0 {
                return;
            }
            let role = match status {
                _ if status & 0x20 != 0 => IndexRole::PrimaryKey,
                _ if status & 0x40 != 0 => IndexRole::UniqueConstraint,
                _ if status & 0x8 != 0 => IndexRole::UniqueIndex,
                _ => IndexRole::Index,
            };
            let kind = row.integer("type");
            let index = Index {
                name: row.text("name"),
                role,
                is_clustered: kind == 1,
                is_disabled: status & 0x80 != 0,
                ignores_duplicates: status & 0x10 != 0,
                keys: Vec::new(),
                included: Vec::new(),
                filter: (status & 0x2_0000 != 0).then(String::new),
                other_kind: match kind {
                    1 | 2 => None,
                    3 => Some("XML index"),
                    4 => Some("spatial index"),
                    5 | 6 => Some("columnstore index"),
                    7 => Some("hash index"),
                    _ => Some("index of another kind"),
                },
            };
            indexes.entry(row.integer("id")).or_default().push((number, index));
        })?;
        let mut parts = Vec::new();
        self.tables.each(id::SYSISCOLS, &mut |row: &BaseRow<'_>| {
            parts.push([
                row.integer("idmajor"),
                row.integer("idminor"),
                row.integer("status"),
                row.integer("intprop"),
                row.integer("tinyprop1"),
            ]);
        })?;
        // In the order of the key.
        parts.sort_by_key(|[object, index, _, _, ordinal]| (*object, *index, *ordinal));
        for [object, number, status, column, ordinal] in parts {
            /// sysiscols.status: of an index; going down.
            const OF_INDEX: i64 = 0x2;
            const DESCENDING: i64 = 0x4;
            let of_table = indexes.get_mut(&object).into_iter().flatten();
            let index = of_table.filter(|each| each.0 == number).map(|each| &mut each.1).next();
            let Some(index) = index.filter(|_| status & OF_INDEX != 0) else {
                continue;
            };
            match ordinal {
                0 => index.included.push(column),
                _ => index.keys.push((column, status & DESCENDING != 0)),
            }
        }
        for of_table in indexes.values_mut() {
            of_table.sort_by_key(|(number, _)| *number);
        }
        Ok(())
    }

    fn read_references(&mut self) -> Result<()> {
        let references = &mut self.references;
        self.tables.each(id::SYSSINGLEOBJREFS, &mut |row: &BaseRow<'_>| {
            let reference = Reference {
                class: row.integer("class"),
                number: row.integer("depsubid"),
                object: row.integer("indepid"),
                part: row.integer("indepsubid"),
            };
            references.entry(row.integer("depid")).or_default().push(reference);
        })
    }

    /// Users and roles by name, apart from those that every database has; properties and full-text indexes by their number.
    fn count_unread(&mut self) {
        let unread = &mut self.unread;
        let read = self.tables.each(id::SYSOWNERS, &mut |row: &BaseRow<'_>| {
            let kind = match row.text("type").as_str() {
                "R" => "role",
                "A" => "application role",
                _ => "user",
            };
            // 0 to 4 are public, dbo, guest, INFORMATION_SCHEMA and sys; those from 16384 on are the fixed roles.
            if (5..16_384).contains(&row.integer("id")) {
                let name = quoted(&row.text("name"));
                unread.push(format!("{kind} {name} is left out, with its permissions"));
            }
        });
        if read.is_err() {
            self.unread.push("users and roles are left out".to_owned());
        }
        for (table, what) in [
            (id::SYSXPROPS, "extended properties"),
            (id::SYSFTINDS, "full-text indexes"),
        ] {
            let mut count = 0u64;
            // A value that cannot be read is one that is not read all the same.
            let counted = self.tables.each(table, &mut |_| count += 1);
            match (counted, count) {
                (Ok(()), 0) => {}
                (Ok(()), count) => self.unread.push(format!("{what} are left out: {count}")),
                (Err(_), _) => self.unread.push(format!("{what} are left out")),
            }
        }
    }

    fn finish(self) -> Catalog {
        let mut tables = Vec::new();
        let mut modules = Vec::new();
        let mut others = Vec::new();
        for object in self.objects.values().filter(|object| object.status & MS_SHIPPED == 0) {
            match object.kind.as_str() {
                "U" => tables.push(self.table(object)),
                "V" => modules.push(self.module(object, ModuleKind::View)),
                "P" => modules.push(self.module(object, ModuleKind::Procedure)),
                "FN" | "IF" | "TF" => modules.push(self.module(object, ModuleKind::Function)),
                "TR" => modules.push(self.module(object, ModuleKind::Trigger)),
                "D" if object.parent == 0 => others.push(("default", self.name(object))),
                kind => others.extend(other_kind(kind).map(|kind| (kind, self.name(object)))),
            }
        }
        tables.sort_by(|one, two| one.name.cmp(&two.name));
        // A module that another one needs was made before it, and its id says nothing about that: views before what may use them.
        modules.sort_by(|one: &Module, two| (one.kind, &one.name).cmp(&(two.kind, &two.name)));
        others.sort();
        Catalog {
            schemas: self.user_schemas(),
            alias_types: self.alias_types(),
            boot: self.boot,
            tables,
            modules,
            others,
            unread: self.unread,
        }
    }

    fn user_schemas(&self) -> Vec<String> {
        // 1 is dbo, 2 guest, 3 INFORMATION_SCHEMA, 4 sys; those from 16384 on are the fixed roles'.
        let users = self.schemas.iter().filter(|(id, _)| (5..16_384).contains(*id));
        users.map(|(_, name)| name.clone()).collect()
    }

    fn alias_types(&self) -> Vec<AliasType> {
        let users = self.types.iter().filter(|(id, scalar)| {
            **id > 256 && !matches!(scalar.kind.system, SystemType::Clr | SystemType::Unknown(_))
        });
        let mut found: Vec<AliasType> = users
            .map(|(_, scalar)| AliasType {
                name: self.type_name(scalar),
                kind: scalar.kind,
                is_nullable: scalar.is_nullable,
            })
            .collect();
        found.sort_by(|one, two| one.name.cmp(&two.name));
        found
    }

    fn schema(&self, id: i64) -> String {
        self.schemas.get(&id).map_or_else(|| "dbo".to_owned(), Clone::clone)
    }

    fn type_name(&self, scalar: &ScalarType) -> ObjectName {
        ObjectName {
            schema: self.schema(scalar.schema),
            name: scalar.name.clone(),
        }
    }

    fn name(&self, object: &Object) -> ObjectName {
        ObjectName {
            schema: self.schema(object.schema),
            name: object.name.clone(),
        }
    }

    fn module(&self, object: &Object, kind: ModuleKind) -> Module {
        let text = |part| self.texts.get(&(object.id, part)).cloned();
        Module {
            id: object.id,
            kind,
            name: self.name(object),
            definition: text(0).or_else(|| text(1)),
            uses_ansi_nulls: object.status & USES_ANSI_NULLS != 0,
            uses_quoted_identifier: object.status & USES_QUOTED_IDENTIFIER != 0,
            disabled_on: (kind == ModuleKind::Trigger && object.status & DISABLED != 0).then_some(object.parent),
        }
    }

    fn table(&self, object: &Object) -> Table {
        let rows = self.tables.columns.get(&object.id).map_or(&[][..], Vec::as_slice);
        let columns: Vec<Column> = rows
            .iter()
            .filter(|row| row.number == 0)
            .map(|row| self.column(object.id, row))
            .collect();
        let all = self.tables.rowsets.get(&object.id).map_or(&[][..], Vec::as_slice);
        let of_rows: Vec<&RowSetRow> = all.iter().filter(|rowset| rowset.index <= 1).collect();
        let mut unreadable = unreadable_rowsets(&of_rows, &columns);
        let mut rowsets = Vec::new();
        for row in of_rows {
            let stored = layout::stored_columns(&self.layouts, row.id, &columns);
            if stored.is_err() {
                unreadable = unreadable.or(Some("the catalog does not say where its columns lie"));
            }
            rowsets.push(self.tables.rowset(row, stored.unwrap_or_default()));
        }
        rowsets.sort_by_key(|rowset| rowset.partition);
        let indexes = self.indexes.get(&object.id).map_or(&[][..], Vec::as_slice);
        let indexes = indexes.iter().map(|(number, index)| self.index(object, *number, index));
        Table {
            id: object.id,
            name: self.name(object),
            columns,
            rowsets,
            indexes: indexes.collect(),
            checks: self.constraints(object, "C").map(|check| self.check(check)).collect(),
            foreign_keys: self
                .constraints(object, "F")
                .filter_map(|key| self.foreign_key(key))
                .collect(),
            unreadable,
        }
    }

    /// The condition of a filtered index is the definition of its part of the table (inferred).
    fn index(&self, object: &Object, number: i64, index: &Index) -> Index {
        let mut index = index.clone();
        if index.filter.is_some() {
            index.filter = self.texts.get(&(object.id, number)).cloned();
        }
        index
    }

    fn constraints<'p>(&'p self, table: &'p Object, kind: &'p str) -> impl Iterator<Item = &'p Object> {
        let children = self.children.get(&table.id).into_iter().flatten();
        children
            .filter_map(|child| self.objects.get(child))
            .filter(move |object| object.kind == kind)
    }

    fn check(&self, object: &Object) -> Check {
        Check {
            name: object.name.clone(),
            definition: self.texts.get(&(object.id, 0)).cloned().unwrap_or_default(),
            is_disabled: object.status & DISABLED != 0,
            is_trusted: object.status & NOT_TRUSTED == 0,
        }
    }

    /// syssingleobjrefs has of a foreign key: class 27 the table it references, 28 its columns, 29 those that they reference.
    fn foreign_key(&self, object: &Object) -> Option<ForeignKey> {
        let references = self.references.get(&object.id)?;
        let columns_of = |class: i64| -> Vec<i64> {
            let mut found: Vec<&Reference> = references.iter().filter(|each| each.class == class).collect();
            found.sort_by_key(|each| each.number);
            found.into_iter().map(|each| each.part).collect()
        };
        Some(ForeignKey {
            name: object.name.clone(),
            columns: columns_of(28),
            referenced_table: references.iter().find(|each| each.class == 27)?.object,
            referenced_columns: columns_of(29),
            on_update: action(object.status >> 12 & 3),
            on_delete: action(object.status >> 14 & 3),
            is_disabled: object.status & DISABLED != 0,
            is_trusted: object.status & NOT_TRUSTED == 0,
        })
    }

    /// Bits of syscolpars.status: 1 NOT NULL, 4 identity, 8 rowguid, 16 computed, 32 filestream.
    fn column(&self, table: i64, row: &ColumnRow) -> Column {
        let has = |bit: i64| row.status & bit != 0;
        let kind = row.kind;
        let computed = has(16).then(|| Computed {
            definition: self.texts.get(&(table, row.id)).cloned().unwrap_or_default(),
            is_persisted: self.is_stored(table, row.id),
        });
        let default = self.objects.get(&row.default);
        Column {
            id: row.id,
            name: row.name.clone(),
            kind,
            user_type: self.user_type(row),
            is_nullable: !has(1),
            is_rowguid: has(8),
            is_sparse: has(0x100_0000),
            is_column_set: has(0x200_0000),
            is_filestream: has(32),
            identity: has(4).then(|| identity_of(&kind, &row.identity)).flatten(),
            computed,
            default: default
                // A default of its own, bound to the column, is another thing, and named as left out.
                .filter(|default| default.kind == "D" && default.parent != 0)
                .map(|default| DefaultConstraint {
                    name: default.name.clone(),
                    definition: self.texts.get(&(default.id, 0)).cloned().unwrap_or_default(),
                }),
        }
    }

    /// A computed column has a place in the rows if it is persisted.
    fn is_stored(&self, table: i64, column: i64) -> bool {
        let rowsets = self.tables.rowsets.get(&table).into_iter().flatten();
        rowsets
            .filter(|rowset| rowset.index <= 1)
            .any(|rowset| self.layouts.contains_key(&(rowset.id, column)))
    }

    fn user_type(&self, row: &ColumnRow) -> Option<UserType> {
        let scalar = self.types.get(&row.user_type)?;
        match row.user_type {
            257.. => Some(UserType::Alias(self.type_name(scalar))),
            256 | 128..=130 if row.user_type == 256 || row.kind.system == SystemType::Clr => {
                Some(UserType::System(scalar.name.clone()))
            }
            _ => None,
        }
    }
}

fn action(number: i64) -> ReferentialAction {
    match number {
        1 => ReferentialAction::Cascade,
        2 => ReferentialAction::SetNull,
        3 => ReferentialAction::SetDefault,
        _ => ReferentialAction::NoAction,
    }
}

/// Why rows cannot be read.
fn unreadable_rowsets(rowsets: &[&RowSetRow], columns: &[Column]) -> Option<&'static str> {
    /// sysrowsets.status of memory-optimized tables (inferred, from public notes on SQL Server 2016 to 2022).
    const IN_MEMORY: i64 = 0x100;
    if rowsets.iter().any(|rowset| matches!(rowset.compression_level, 3 | 4)) {
        return Some("its rows are in a columnstore");
    }
    if rowsets.iter().any(|rowset| rowset.status & IN_MEMORY != 0) {
        return Some("it is memory-optimized, and its rows are not on pages");
    }
    if columns.iter().any(|column| column.is_filestream) {
        return Some("it has a FILESTREAM column, whose values are not on pages");
    }
    rowsets
        .is_empty()
        .then_some("the catalog does not say where its rows are")
}

/// Objects that are named and left out. Constraints and the system's own queues and tables are not among them.
fn other_kind(kind: &str) -> Option<&'static str> {
    match kind {
        "SN" => Some("synonym"),
        "SO" => Some("sequence"),
        "TT" => Some("table type"),
        "FS" | "FT" | "PC" | "AF" | "TA" => Some("CLR module"),
        "R" => Some("rule"),
        "X" => Some("extended procedure"),
        "SP" => Some("security policy"),
        "SQ" => Some("service queue"),
        "ET" => Some("external table"),
        "EC" => Some("edge constraint"),
        "PG" => Some("plan guide"),
        "RF" => Some("replication filter"),
        _ => None,
    }
}
