//! Functions that translate between names and ids of databases, objects, columns, types.

use std::sync::Arc;

use engine::catalog::{
    CatalogObject, ModuleKind, ObjectDefinition, Securable, TableDefinition, TriggerAction, TriggerEntry, TriggerOrder,
};
use engine::database::Database;
use engine::error::Result;
use engine::types::{GEOGRAPHY_TYPE_ID, GEOMETRY_TYPE_ID, Length, SqlType, Value};

use super::Answer::Fixed;
use super::Parameter::{Any, Int, Name};
use super::{Call, INT, NAME, Signature, signature};
use crate::scalar::data_type::is_known;
use crate::security::{Entries, effective_owner};
use crate::views::{ObjectRow, columns_of, constraints_of, system_object};

const SMALL: super::Answer = Fixed(SqlType::SmallInt);
const IDENTITY: super::Answer = Fixed(SqlType::Decimal {
    precision: 38,
    scale: 0,
});

pub(super) const FUNCTIONS: &[Signature] = &[
    signature("col_length", 2, &[Name, Name], SMALL, col_length)
        .told("table, column: bytes that a column is defined with"),
    signature("col_name", 2, &[Int, Int], NAME, col_name).told("table_id, column_id: name of a column"),
    signature("columnproperty", 3, &[Int, Name, Name], INT, columnproperty)
        .told("table_id, column, property: a property of a column"),
    signature("database_principal_id", 0, &[Name], INT, super::security::user_id)
        .told("name: id of a user or role of the database"),
    signature("db_id", 0, &[Name], SMALL, db_id).told("name: id of a database"),
    signature("db_name", 0, &[Int], NAME, db_name).told("id: name of a database"),
    signature("ident_current", 1, &[Name], IDENTITY, ident_current).told("table: last identity value of a table"),
    signature("ident_incr", 1, &[Name], IDENTITY, ident_incr).told("table: step of its identity values"),
    signature("ident_seed", 1, &[Name], IDENTITY, ident_seed).told("table: first of its identity values"),
    signature(
        "object_definition",
        1,
        &[Int],
        Fixed(SqlType::NVarChar(Length::Max)),
        object_definition,
    )
    .told("id: text of a procedure, view, function or constraint"),
    signature("object_id", 1, &[Name, Name], INT, object_id).told("name, kind: id of an object"),
    signature("object_name", 1, &[Int, Int], NAME, object_name).told("id, database_id: name of an object"),
    signature("object_schema_name", 1, &[Int, Int], NAME, object_schema_name)
        .told("id, database_id: schema of an object"),
    signature("objectproperty", 2, &[Int, Name], INT, objectproperty).told("id, property: a property of an object"),
    signature(
        "objectpropertyex",
        2,
        &[Int, Name],
        Fixed(SqlType::SqlVariant),
        objectpropertyex,
    )
    .told("id, property: a property of an object, as OBJECTPROPERTY; its type, and the rows of a table"),
    signature("schema_id", 0, &[Name], INT, schema_id).told("name: id of a schema"),
    signature("schema_name", 0, &[Int], NAME, schema_name).told("id: name of a schema"),
    signature("type_id", 1, &[Name], INT, type_id).told("name: id of a type"),
    signature("type_name", 1, &[Int], NAME, type_name).told("id: name of a type"),
    signature(
        "sql_variant_property",
        2,
        &[Any, Name],
        super::Answer::Fixed(SqlType::SqlVariant),
        sql_variant_property,
    )
    .told("value, property: a property of the value in a sql_variant"),
    signature("stats_date", 2, &[Int, Int], Fixed(SqlType::DateTime), stats_date)
        .told("table_id, statistics_id: when statistics were made"),
];

fn db_id(call: &Call<'_>) -> Result<Value> {
    let session = call.context.session;
    if call.values.is_empty() {
        return Ok(Value::SmallInt(session.database().id as i16));
    }
    let Some(name) = call.text(0) else {
        return Ok(Value::Null);
    };
    let slots = session.instance.slots();
    let found = slots
        .iter()
        .map(|slot| slot.entry())
        .find(|entry| entry.name.to_lowercase() == name.to_lowercase());
    Ok(found.map_or(Value::Null, |entry| Value::SmallInt(entry.database_id as i16)))
}

fn db_name(call: &Call<'_>) -> Result<Value> {
    let session = call.context.session;
    let Some(id) = call.integer(0) else {
        return Ok(if call.values.is_empty() {
            Value::from(session.database().name())
        } else {
            Value::Null
        });
    };
    let slots = session.instance.slots();
    let found = slots
        .iter()
        .map(|slot| slot.entry())
        .find(|entry| i64::from(entry.database_id) == id);
    Ok(found.map_or(Value::Null, |entry| Value::from(entry.name)))
}

/// The object an id argument names, in the current database or the one another argument names.
fn object_by_id(call: &Call<'_>, database: Option<usize>) -> Option<(Arc<Database>, Arc<CatalogObject>)> {
    let id = u32::try_from(call.integer(0)?).ok()?;
    let database = database_of(call, database)?;
    let object = database.catalog.by_id(id, call.context.session.id)?;
    Some((database, object))
}

/// The current database, or the one that an argument names by its id.
fn database_of(call: &Call<'_>, argument: Option<usize>) -> Option<Arc<Database>> {
    let session = call.context.session;
    match argument.and_then(|index| call.integer(index)) {
        Some(database) => session.instance.database_by_id(u16::try_from(database).ok()?),
        None => Some(session.database()),
    }
}

/// The object an argument names.
fn object_by_name(call: &Call<'_>, index: usize) -> Option<(Arc<Database>, Arc<CatalogObject>)> {
    call.context.session.find_object_by_text(call.text(index)?)
}

fn table_of(object: &CatalogObject) -> Option<&TableDefinition> {
    object.definition.table()
}

/// An object or a constraint.
struct Named {
    schema: String,
    name: String,
    /// Below zero for a view of the system.
    object_id: i32,
    /// `sys.objects.type`
    code: &'static str,
    /// The T-SQL text that defines it.
    text: Option<String>,
    /// The object itself; none of a constraint.
    object: Option<Arc<CatalogObject>>,
    /// The table that a constraint is of.
    owner: Option<Arc<CatalogObject>>,
}

impl Named {
    /// A view of the system.
    fn of_system(view: &ObjectRow) -> Named {
        Named {
            schema: view.schema.clone(),
            name: view.name.clone(),
            object_id: view.object_id,
            code: view.kind.0,
            text: None,
            object: None,
            owner: None,
        }
    }

    fn of(object: Arc<CatalogObject>) -> Option<Named> {
        let (schema, name) = object.definition.qualified_name()?;
        let text = match &object.definition {
            ObjectDefinition::Module(module) => Some(module.text.clone()),
            ObjectDefinition::Standalone(own) => Some(own.text.clone()),
            _ => None,
        };
        Some(Named {
            schema: schema.to_owned(),
            name: name.to_owned(),
            object_id: object.definition.object_id() as i32,
            code: crate::views::type_code(&object.definition),
            text,
            object: Some(object),
            owner: None,
        })
    }
}

/// The first constraint of a database that is the one wanted, by its schema, name and id.
fn constraint(call: &Call<'_>, database: &Database, is_wanted: impl Fn(&str, &str, u32) -> bool) -> Option<Named> {
    let objects = database.catalog.objects(call.context.session.id);
    objects.iter().find_map(|object| {
        let table = table_of(object)?;
        let found = constraints_of(table).find(|own| is_wanted(&table.schema, own.name, own.object_id))?;
        Some(Named {
            schema: table.schema.clone(),
            name: found.name.to_owned(),
            object_id: found.object_id as i32,
            code: found.kind.0,
            text: found.definition(),
            object: None,
            owner: Some(object.clone()),
        })
    })
}

/// The object or constraint of an id.
fn named_by_id(call: &Call<'_>, database: Option<usize>) -> Option<Named> {
    if let Some((_, object)) = object_by_id(call, database) {
        return Named::of(object);
    }
    if let Some(view) = system_object(|view| call.integer(0) == Some(i64::from(view.object_id))) {
        return Some(Named::of_system(&view));
    }
    let id = u32::try_from(call.integer(0)?).ok()?;
    constraint(call, &*database_of(call, database)?, |_, _, own| own == id)
}

/// The object or constraint of a name.
fn named_by_name(call: &Call<'_>) -> Option<Named> {
    if let Some((_, object)) = object_by_name(call, 0) {
        return Named::of(object);
    }
    let (database, schema, name) = call.context.session.place_of_text(call.text(0)?)?;
    let is_it = |view: &ObjectRow| view.schema.eq_ignore_ascii_case(&schema) && view.name.eq_ignore_ascii_case(&name);
    if let Some(view) = system_object(is_it) {
        return Some(Named::of_system(&view));
    }
    constraint(call, &database, |own_schema, own, _| {
        own_schema.eq_ignore_ascii_case(&schema) && own.eq_ignore_ascii_case(&name)
    })
}

fn object_id(call: &Call<'_>) -> Result<Value> {
    let found = named_by_name(call).filter(|found| {
        let wanted = call.text(1);
        wanted.is_none_or(|wanted| wanted.trim().eq_ignore_ascii_case(found.code))
    });
    Ok(found.map_or(Value::Null, |found| Value::Int(found.object_id)))
}

fn object_name(call: &Call<'_>) -> Result<Value> {
    Ok(named_by_id(call, Some(1)).map_or(Value::Null, |found| Value::from(found.name)))
}

fn object_schema_name(call: &Call<'_>) -> Result<Value> {
    let found = named_by_id(call, Some(1)).filter(|found| !found.schema.is_empty());
    Ok(found.map_or(Value::Null, |found| Value::from(found.schema)))
}

fn object_definition(call: &Call<'_>) -> Result<Value> {
    let text = named_by_id(call, None).and_then(|found| found.text);
    Ok(text.map_or(Value::Null, Value::from))
}

fn objectproperty(call: &Call<'_>) -> Result<Value> {
    let (Some(found), Some(property)) = (named_by_id(call, None), call.text(1)) else {
        return Ok(Value::Null);
    };
    let property = property.trim_end_matches(' ').to_ascii_lowercase();
    Ok(property_of(call, &found, &property).map_or(Value::Null, Value::Int))
}

/// What OBJECTPROPERTY answers, and two properties more: the type, and the rows of a table (sql-docs, "OBJECTPROPERTYEX"). The answers are
/// sql_variant.
fn objectpropertyex(call: &Call<'_>) -> Result<Value> {
    let (Some(found), Some(property)) = (named_by_id(call, None), call.text(1)) else {
        return Ok(Value::Null);
    };
    let property = property.trim_end_matches(' ').to_ascii_lowercase();
    let (value, own) = match property.as_str() {
        "basetype" => (Value::from(format!("{:<2}", found.code)), SqlType::Char(2)),
        "cardinality" => match found.object.as_deref().filter(|object| table_of(object).is_some()) {
            Some(object) => {
                let rows = row_count(call, object)?;
                (Value::BigInt(i64::try_from(rows).unwrap_or(i64::MAX)), SqlType::BigInt)
            }
            None => (Value::Null, SqlType::BigInt),
        },
        other => (
            property_of(call, &found, other).map_or(Value::Null, Value::Int),
            SqlType::Int,
        ),
    };
    crate::scalar::convert::convert(&value, own, SqlType::SqlVariant, None)
}

fn row_count(call: &Call<'_>, object: &CatalogObject) -> Result<u64> {
    let session = call.context.session;
    let database = session.database();
    crate::views::rows_of_table(&database, &session.locks, object)
}

/// The owner of an object: of a constraint or trigger, that of its table; else its own one, or that of its schema.
fn owner_of(call: &Call<'_>, found: &Named) -> i32 {
    let session = call.context.session;
    let database = session.database();
    let entries = Entries::of(&database, session.id);
    let parent = found.owner.as_deref().map(|owner| owner.definition.object_id());
    let parent = parent.or_else(|| {
        let object = database.catalog.by_id(found.object_id as u32, session.id)?;
        match &object.definition {
            ObjectDefinition::Module(module) if module.parent != 0 => Some(module.parent),
            _ => None,
        }
    });
    let id = parent.unwrap_or(found.object_id as u32);
    let schema = crate::views::id_of_schema(&database, session.id, &found.schema).unwrap_or(1);
    effective_owner(&entries, Securable::Object(id), schema) as i32
}

/// A property of an object or constraint; `None` where it has none of that name.
fn property_of(call: &Call<'_>, found: &Named, property: &str) -> Option<i32> {
    match property {
        "ownerid" => return Some(owner_of(call, found)),
        "schemaid" => {
            let session = call.context.session;
            return crate::views::id_of_schema(&session.database(), session.id, &found.schema);
        }
        "ismsshipped" => return Some(i32::from(found.object_id < 0)),
        _ => {}
    }
    if let Some(owner) = found.owner.as_deref().and_then(table_of)
        && let Some(answer) = constraint_property(owner, found.object_id as u32, property)
    {
        return Some(i32::from(answer));
    }
    let object = found.object.as_deref();
    if let (Some(table), "isindexed") = (object.and_then(table_of), property) {
        return Some(i32::from(!table.indexes.is_empty()));
    }
    let is_table = |object: &&CatalogObject| matches!(object.definition, ObjectDefinition::Table(_));
    if let Some(answer) = object
        .filter(is_table)
        .and_then(table_of)
        .and_then(|table| table_property(table, property))
    {
        return Some(i32::from(answer));
    }
    if let (Some(table), "tabletemporaltype") = (object.filter(is_table).and_then(table_of), property) {
        return Some(i32::from(crate::views::temporal_type(table).0));
    }
    if let Some(ObjectDefinition::Module(module)) = object.map(|object| &object.definition) {
        if let ("execistriggerdisabled", Some(own)) = (property, &module.definition_trigger) {
            return Some(i32::from(own.is_disabled));
        }
        if module.kind == ModuleKind::Trigger {
            let session = call.context.session;
            let parent = session.database().catalog.by_id(module.parent, session.id);
            let parent = parent.as_deref().map_or(&[][..], |parent| parent.definition.triggers());
            let entry = parent.iter().find(|entry| entry.object_id == module.object_id);
            if let Some(answer) = entry.and_then(|entry| trigger_property(entry, property)) {
                return Some(i32::from(answer));
            }
        }
        match property {
            "execisansinullson" | "isansinullson" => return Some(i32::from(module.uses_ansi_nulls)),
            "execisquotedidenton" | "isquotedidenton" => return Some(i32::from(module.uses_quoted_identifier)),
            "isschemabound" => return Some(i32::from(crate::views::is_schema_bound(module))),
            "isencrypted" | "execisstartup" => return Some(0),
            _ => {}
        }
    }
    if let Some(ObjectDefinition::Standalone(_)) = object.map(|object| &object.definition) {
        // They have the letters of a constraint without being one.
        match property {
            "isdefault" => return Some(i32::from(found.code == "D")),
            "isconstraint" | "isdefaultcnst" | "isencrypted" | "isquotedidenton" | "isansinullson" => return Some(0),
            _ => {}
        }
    }
    kind_property(found.code, property).map(i32::from)
}

/// What follows from the kind of an object alone.
fn kind_property(code: &str, property: &str) -> Option<bool> {
    Some(match property {
        "istable" | "isusertable" => code == "U",
        "isview" => code == "V",
        "isprocedure" => code == "P",
        "isscalarfunction" => code == "FN",
        "isinlinefunction" => code == "IF",
        "istablefunction" => matches!(code, "IF" | "TF"),
        "isexecuted" => matches!(code, "V" | "P" | "FN" | "IF" | "TF" | "TR"),
        "isconstraint" => matches!(code, "PK" | "UQ" | "C" | "D" | "F"),
        "isprimarykey" => code == "PK",
        "isuniquecnst" => code == "UQ",
        "ischeckcnst" => code == "C",
        "isdefaultcnst" => code == "D",
        "isforeignkey" => code == "F",
        "istrigger" => code == "TR",
        "isrule" => code == "R",
        "isdefault" | "issystemtable" | "isextendedproc" | "isreplproc" | "isqueue" | "isindexed" => false,
        _ => return None,
    })
}

fn table_property(table: &TableDefinition, property: &str) -> Option<bool> {
    let has_index = |test: &dyn Fn(&engine::catalog::IndexDefinition) -> bool| table.every_index().any(test);
    Some(match property {
        "tablehasidentity" => table.identity().is_some(),
        "tablehasprimarykey" => has_index(&|index| index.primary_key),
        "tablehasuniquecnst" => has_index(&|index| index.unique_constraint),
        "tablehasclustindex" => table.clustered().is_some(),
        "tablehasnonclustindex" => has_index(&|index| index.index_id != 1),
        "tablehasindex" => !table.indexes.is_empty(),
        "tablehasforeignkey" => !table.foreign_keys.is_empty(),
        "tablehascheckcnst" => !table.checks.is_empty(),
        "tablehasdefaultcnst" => table.columns.iter().any(|column| column.default.is_some()),
        "tablehastimestamp" => table
            .columns
            .iter()
            .any(|column| column.sql_type == SqlType::RowVersion),
        "isansinullson" => true,
        "tablehasinserttrigger" => fires(table, TriggerAction::Insert),
        "tablehasupdatetrigger" => fires(table, TriggerAction::Update),
        "tablehasdeletetrigger" => fires(table, TriggerAction::Delete),
        "tableisfake" | "tableispinned" => false,
        "tablehasrowguidcol" => table.columns.iter().any(|column| column.is_row_guid),
        _ => return None,
    })
}

/// Whether a table has a trigger for an action.
fn fires(table: &TableDefinition, action: TriggerAction) -> bool {
    table.triggers.iter().any(|trigger| trigger.order_of(action).is_some())
}

/// `ExecIs...` of a trigger: what it fires for, and how.
fn trigger_property(entry: &TriggerEntry, property: &str) -> Option<bool> {
    let is_for = |action| entry.order_of(action);
    Some(match property {
        "execisinserttrigger" => is_for(TriggerAction::Insert).is_some(),
        "execisupdatetrigger" => is_for(TriggerAction::Update).is_some(),
        "execisdeletetrigger" => is_for(TriggerAction::Delete).is_some(),
        "execisinsteadoftrigger" => entry.is_instead_of,
        "execisaftertrigger" => !entry.is_instead_of,
        "execistriggerdisabled" => entry.is_disabled,
        "execistriggernotforrepl" => entry.is_not_for_replication,
        "execisfirstinserttrigger" => is_for(TriggerAction::Insert) == Some(TriggerOrder::First),
        "execisfirstupdatetrigger" => is_for(TriggerAction::Update) == Some(TriggerOrder::First),
        "execisfirstdeletetrigger" => is_for(TriggerAction::Delete) == Some(TriggerOrder::First),
        "execislastinserttrigger" => is_for(TriggerAction::Insert) == Some(TriggerOrder::Last),
        "execislastupdatetrigger" => is_for(TriggerAction::Update) == Some(TriggerOrder::Last),
        "execislastdeletetrigger" => is_for(TriggerAction::Delete) == Some(TriggerOrder::Last),
        _ => return None,
    })
}

/// `Cnst...` of a constraint of a table.
fn constraint_property(table: &TableDefinition, object_id: u32, property: &str) -> Option<bool> {
    let key = table
        .every_index()
        .find(|index| index.is_constraint() && index.constraint_id == object_id);
    let check = table.checks.iter().find(|check| check.object_id == object_id);
    let foreign = table.foreign_keys.iter().find(|key| key.object_id == object_id);
    let states = check
        .map(|check| (check.is_disabled, check.is_not_trusted))
        .or(foreign.map(|key| (key.is_disabled, key.is_not_trusted)));
    let cascades = |action| action == engine::catalog::ReferentialAction::Cascade;
    Some(match property {
        "cnstisclustkey" => key.is_some_and(|key| key.index_id == 1),
        "cnstisnonclustkey" => key.is_some_and(|key| key.index_id != 1),
        "cnstiscolumn" => {
            let is_default = |default: &engine::catalog::NamedText| default.object_id == object_id;
            let of_check = check.is_some_and(|check| crate::views::only_column(table, &check.text) != 0);
            of_check
                || table
                    .columns
                    .iter()
                    .filter_map(|column| column.default.as_ref())
                    .any(is_default)
        }
        "cnstisdisabled" => states.is_some_and(|(is_disabled, _)| is_disabled),
        "cnstisnottrusted" => states.is_some_and(|(_, is_not_trusted)| is_not_trusted),
        "cnstisdeletecascade" => foreign.is_some_and(|key| cascades(key.on_delete)),
        "cnstisupdatecascade" => foreign.is_some_and(|key| cascades(key.on_update)),
        "cnstisnotrepl" => false,
        _ => return None,
    })
}

/// When statistics of a table were counted last.
fn stats_date(call: &Call<'_>) -> Result<Value> {
    let (Some((database, object)), Some(stats_id)) = (object_by_id(call, None), call.integer(1)) else {
        return Ok(Value::Null);
    };
    let Some(table) = table_of(&object) else {
        return Ok(Value::Null);
    };
    let all = engine::session::all_statistics(&database, table, call.context.session.id);
    let found = all.iter().find(|known| i64::from(known.stats_id) == stats_id);
    let updated = found.and_then(|known| Some(known.content.as_deref()?.updated));
    Ok(updated.map_or(Value::Null, |(days, ticks)| Value::DateTime { days, ticks }))
}

fn col_length(call: &Call<'_>) -> Result<Value> {
    let Some((_, object)) = object_by_name(call, 0) else {
        return Ok(Value::Null);
    };
    let column = table_of(&object)
        .zip(call.text(1))
        .and_then(|(table, name)| table.columns.get(table.column(name)?));
    Ok(column.map_or(Value::Null, |column| Value::SmallInt(column.sql_type.max_length())))
}

fn col_name(call: &Call<'_>) -> Result<Value> {
    let Some((_, object)) = object_by_id(call, None) else {
        return Ok(Value::Null);
    };
    let position = call.integer(1).and_then(|position| usize::try_from(position - 1).ok());
    let column = position.and_then(|position| columns_of(&object).get(position));
    Ok(column.map_or(Value::Null, |column| Value::from(column.name.as_str())))
}

fn columnproperty(call: &Call<'_>) -> Result<Value> {
    let Some((_, object)) = object_by_id(call, None) else {
        return Ok(Value::Null);
    };
    let place = table_of(&object)
        .zip(call.text(1))
        .and_then(|(table, name)| Some((table, table.column(name)?)));
    let (Some((table, ordinal)), Some(property)) = (place, call.text(2)) else {
        return Ok(Value::Null);
    };
    let Some(column) = table.columns.get(ordinal) else {
        return Ok(Value::Null);
    };
    Ok(match property.to_ascii_lowercase().as_str() {
        "allowsnull" => Value::Int(i32::from(column.nullable)),
        "columnid" => Value::Int(ordinal as i32 + 1),
        "isidentity" => Value::Int(i32::from(column.identity.is_some())),
        "isrowguidcol" => Value::Int(i32::from(column.is_row_guid)),
        "iscomputed" => Value::Int(i32::from(column.computed.is_some())),
        "precision" => Value::Int(i32::from(column.sql_type.precision())),
        "scale" => Value::Int(i32::from(column.sql_type.scale())),
        "generatedalwaystype" => Value::Int(i32::from(crate::views::generated_type(column.generated).0)),
        "ismasked" => Value::Int(i32::from(column.mask.is_some())),
        "ishidden" => Value::Int(i32::from(column.is_hidden())),
        _ => Value::Null,
    })
}

fn schema_id(call: &Call<'_>) -> Result<Value> {
    let session = call.context.session;
    let name = if call.values.is_empty() {
        Some("dbo")
    } else {
        call.text(0)
    };
    let id = name.and_then(|name| crate::views::id_of_schema(&session.database(), session.id, name));
    Ok(id.map_or(Value::Null, Value::Int))
}

fn schema_name(call: &Call<'_>) -> Result<Value> {
    let session = call.context.session;
    if call.values.is_empty() {
        return Ok(Value::from("dbo"));
    }
    let Some(id) = call.integer(0) else {
        return Ok(Value::Null);
    };
    if let Some((name, _)) = crate::views::FIXED_SCHEMAS
        .iter()
        .find(|(_, fixed)| i64::from(*fixed) == id)
    {
        return Ok(Value::from(*name));
    }
    let found = u32::try_from(id)
        .ok()
        .and_then(|id| session.database().catalog.by_id(id, session.id));
    Ok(match found.as_deref().map(|object| &object.definition) {
        Some(ObjectDefinition::Schema { name, .. }) => Value::from(name.as_str()),
        _ => Value::Null,
    })
}

/// `user_type_id` of json, which came with SQL Server 2025.
const JSON_ID: i32 = 244;

/// Whether the instance has the type of an id.
fn has_type(call: &Call<'_>, id: i32) -> bool {
    id != JSON_ID || is_known(SqlType::Json, call.context.session.version())
}

/// Names and ids of `sys.types` (SQL Server docs).
pub(crate) const TYPE_IDS: [(&str, i32); 33] = [
    ("json", JSON_ID),
    ("geometry", GEOMETRY_TYPE_ID as i32),
    ("geography", GEOGRAPHY_TYPE_ID as i32),
    ("image", 34),
    ("text", 35),
    ("uniqueidentifier", 36),
    ("date", 40),
    ("time", 41),
    ("datetime2", 42),
    ("datetimeoffset", 43),
    ("tinyint", 48),
    ("smallint", 52),
    ("int", 56),
    ("smalldatetime", 58),
    ("real", 59),
    ("money", 60),
    ("datetime", 61),
    ("float", 62),
    ("ntext", 99),
    ("bit", 104),
    ("decimal", 106),
    ("numeric", 108),
    ("smallmoney", 122),
    ("bigint", 127),
    ("varbinary", 165),
    ("varchar", 167),
    ("binary", 173),
    ("char", 175),
    ("timestamp", 189),
    ("nvarchar", 231),
    ("nchar", 239),
    ("sysname", 256),
    ("xml", 241),
];

fn type_id(call: &Call<'_>) -> Result<Value> {
    let found = call
        .text(0)
        .and_then(|name| TYPE_IDS.iter().find(|(other, _)| other.eq_ignore_ascii_case(name)));
    if let Some((_, id)) = found.filter(|(_, id)| has_type(call, *id)) {
        return Ok(Value::Int(*id));
    }
    let name = call.text(0).and_then(crate::ast::Name::parse);
    let session = call.context.session;
    let own = name.and_then(|name| {
        let catalog = &session.database().catalog;
        catalog.user_type(name.schema().unwrap_or("dbo"), name.object(), session.id)
    });
    let id = own.as_ref().and_then(|own| own.definition.type_name());
    Ok(id.map_or(Value::Null, |(_, _, id)| Value::Int(id as i32)))
}

fn type_name(call: &Call<'_>) -> Result<Value> {
    let found = call
        .integer(0)
        .and_then(|id| TYPE_IDS.iter().find(|(_, other)| i64::from(*other) == id));
    if let Some((name, _)) = found.filter(|(_, id)| has_type(call, *id)) {
        return Ok(Value::from(*name));
    }
    let session = call.context.session;
    let objects = session.database().catalog.objects(session.id);
    let mut types = objects.iter().filter_map(|object| object.definition.type_name());
    let own = types.find(|(_, _, id)| call.integer(0) == Some(i64::from(*id)));
    Ok(own.map_or(Value::Null, |(_, name, _)| Value::from(name)))
}

/// `SQL_VARIANT_PROPERTY(value, 'property')`, itself a sql_variant: names are nvarchar, all else int.
fn sql_variant_property(call: &Call<'_>) -> Result<Value> {
    let (sql_type, bytes) = match call.value(0) {
        Value::Null => return Ok(Value::Null),
        Value::Variant(variant) => (variant.sql_type, variant.to_bytes().len()),
        value => {
            let sql_type = call.argument_type(0);
            let variant = engine::types::Variant {
                sql_type,
                value: value.clone(),
            };
            (sql_type, variant.to_bytes().len())
        }
    };
    let number = |number: i32| (Value::Int(number), SqlType::Int);
    let name = |name: &str| (Value::from(name), SqlType::SYSNAME);
    // A length of char and binary is one of bytes; max_length already is.
    let (value, own) = match call
        .text(1)
        .map(|property| property.trim_end().to_ascii_lowercase())
        .as_deref()
    {
        Some("basetype") => name(sql_type.name()),
        Some("precision") => number(i32::from(sql_type.precision())),
        Some("scale") => number(i32::from(sql_type.scale())),
        Some("totalbytes") => number(i32::try_from(bytes).unwrap_or(i32::MAX)),
        Some("collation") if sql_type.is_character() => name("SQL_Latin1_General_CP1_CI_AS"),
        Some("maxlength") => number(i32::from(sql_type.max_length())),
        _ => return Ok(Value::Null),
    };
    crate::scalar::convert::convert(&value, own, SqlType::SqlVariant, None)
}

/// A table's identity: its definition and database.
fn identity_of(call: &Call<'_>) -> Option<(Arc<Database>, Arc<CatalogObject>)> {
    object_by_name(call, 0).filter(|(_, object)| table_of(object).is_some_and(|table| table.identity().is_some()))
}

fn ident_current(call: &Call<'_>) -> Result<Value> {
    let Some((database, object)) = identity_of(call) else {
        return Ok(Value::Null);
    };
    let current = table_of(&object)
        .and_then(|table| Some((table, table.identity()?.1)))
        .map(|(table, identity)| database.identity_current(table, identity).unwrap_or(identity.seed));
    Ok(super::variable::identity_value(current))
}

fn ident_seed(call: &Call<'_>) -> Result<Value> {
    let found = identity_of(call);
    let identity = found.as_ref().and_then(|(_, object)| table_of(object)?.identity());
    Ok(super::variable::identity_value(
        identity.map(|(_, identity)| identity.seed),
    ))
}

fn ident_incr(call: &Call<'_>) -> Result<Value> {
    let found = identity_of(call);
    let identity = found.as_ref().and_then(|(_, object)| table_of(object)?.identity());
    Ok(super::variable::identity_value(
        identity.map(|(_, identity)| identity.increment),
    ))
}
