//! `sp_help`, `sp_helptext` and `sp_helpindex`.

use std::sync::Arc;

use engine::catalog::{Bindings, BoundExpression, CatalogObject, ColumnDefinition, ObjectDefinition, TableDefinition};
use engine::error::{Error, Result};
use engine::types::{Decimal, Length, SqlType, Value};

use super::super::{Host, SystemContext, Table};
use super::space::no_object;
use super::{NAME, SystemProcedure, text};
use crate::ast::{DataType, Name};
use crate::scalar::data_type::{TypePlace, resolve};
use crate::views::{ObjectRow, columns_of, object_rows, table_of};

pub(super) const PROCEDURES: &[SystemProcedure] = &[
    SystemProcedure {
        name: "sp_help",
        parameters: &[("@objname", NAME, false)],
        run: help,
    },
    SystemProcedure {
        name: "sp_helptext",
        parameters: &[("@objname", NAME, true), ("@columnname", NAME, false)],
        run: help_text,
    },
    SystemProcedure {
        name: "sp_helpindex",
        parameters: &[("@objname", NAME, true)],
        run: help_index,
    },
];

/// Longest line of `sp_helptext`, in characters.
const LINE_CHARACTERS_MAX: usize = 255;

pub(super) fn find(context: &SystemContext<'_>, written: &str) -> Result<Arc<CatalogObject>> {
    let name = crate::ast::Name::parse(written).ok_or_else(|| no_object(context, written))?;
    let object = context
        .database
        .catalog
        .find(name.schema().unwrap_or("dbo"), name.object(), context.session_id);
    object.ok_or_else(|| no_object(context, written))
}

/// All objects, or one with its columns, identity and indexes.
fn help(context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let Some(written) = text(arguments, 0) else {
        let mut table = Table::new(&[
            ("Name", SqlType::SYSNAME),
            ("Owner", SqlType::SYSNAME),
            ("Object_type", SqlType::NVarChar(Length::Limited(31))),
        ]);
        for row in object_rows(context) {
            table.push(vec![
                row.name.as_str().into(),
                row.schema.as_str().into(),
                kind(&row).into(),
            ]);
        }
        return table.send(host).map(|()| 0);
    };
    let object = match find(context, written) {
        Ok(object) => object,
        Err(error) => {
            let described = type_description(context, written).ok_or(error)?;
            return described.send(host).map(|()| 0);
        }
    };
    let id = object.definition.object_id() as i32;
    let mut table = Table::new(&[
        ("Name", SqlType::SYSNAME),
        ("Owner", SqlType::SYSNAME),
        ("Type", SqlType::NVarChar(Length::Limited(31))),
        ("Created_datetime", SqlType::DateTime),
    ]);
    for row in object_rows(context).iter().filter(|row| row.object_id == id) {
        let (days, ticks) = row.created;
        let created = Value::DateTime { days, ticks };
        table.push(vec![
            row.name.as_str().into(),
            row.schema.as_str().into(),
            kind(row).into(),
            created,
        ]);
    }
    table.send(host)?;
    if !columns_of(&object).is_empty() {
        columns(columns_of(&object)).send(host)?;
    }
    let Some(definition) = table_of(&object) else {
        return Ok(0);
    };
    identity(definition).send(host)?;
    located(context, definition).send(host)?;
    if definition.indexes.is_empty() {
        return Ok(0);
    }
    indexes(context, definition).send(host).map(|()| 0)
}

/// What `sp_help` says of a type, which is not an object (sql-docs, "sp_help").
fn type_description(context: &SystemContext<'_>, written: &str) -> Option<Table> {
    let name = Name::parse(written)?;
    let own = context
        .database
        .catalog
        .user_type(name.schema().unwrap_or("dbo"), name.object(), context.session_id);
    let bindings = match own.as_deref().map(|own| &own.definition) {
        Some(ObjectDefinition::AliasType(alias)) => alias.bound.clone(),
        _ => Bindings::default(),
    };
    let (shown, sql_type, nullable) = match own.as_deref().map(|own| &own.definition) {
        Some(ObjectDefinition::AliasType(alias)) => (alias.name.clone(), alias.base, alias.nullable),
        Some(_) => return None,
        None => {
            let declared = DataType {
                name: Name::single(name.object()),
                arguments: Vec::new(),
            };
            let sql_type = resolve(&declared, TypePlace::Declaration, 1, context.instance.options.version).ok()?;
            (name.object().to_lowercase(), sql_type, true)
        }
    };
    let word = SqlType::VarChar(Length::Limited(35));
    let mut table = Table::new(&[
        ("Type_name", SqlType::SYSNAME),
        ("Storage_type", SqlType::SYSNAME),
        ("Length", SqlType::SmallInt),
        ("Prec", SqlType::Int),
        ("Scale", SqlType::Int),
        ("Nullable", word),
        ("Default_name", SqlType::SYSNAME),
        ("Rule_name", SqlType::SYSNAME),
        ("Collation", SqlType::SYSNAME),
    ]);
    table.push(vec![
        shown.into(),
        sql_type.name().into(),
        Value::SmallInt(sql_type.max_length()),
        i32::from(sql_type.precision()).into(),
        i32::from(sql_type.scale()).into(),
        if nullable { "yes" } else { "no" }.into(),
        bound_name(context, bindings.default.as_ref()),
        bound_name(context, bindings.rule.as_ref()),
        sql_type
            .is_character()
            .then(|| context.database.collation().name())
            .into(),
    ]);
    Some(table)
}

/// The name of what is bound, or `none`.
fn bound_name(context: &SystemContext<'_>, bound: Option<&BoundExpression>) -> Value {
    let object = bound.and_then(|bound| context.database.catalog.by_id(bound.object_id, context.session_id));
    let name = object.as_ref().and_then(|object| object.definition.qualified_name());
    name.map_or("none", |(_, name)| name).into()
}

/// `user table`, `stored procedure`, ...
pub(super) fn kind(row: &ObjectRow) -> String {
    match row.kind.0 {
        "P" => "stored procedure".to_owned(),
        "FN" => "scalar function".to_owned(),
        "IF" => "inline function".to_owned(),
        "TF" => "table function".to_owned(),
        "PK" => "primary key cns".to_owned(),
        "UQ" => "unique cns".to_owned(),
        "D" => "default (maybe cns)".to_owned(),
        "C" => "check cns".to_owned(),
        "F" => "foreign key cns".to_owned(),
        _ => row.kind.1.to_lowercase().replace('_', " "),
    }
}

fn columns(columns: &[ColumnDefinition]) -> Table {
    let word = SqlType::VarChar(Length::Limited(35));
    let mut answer = Table::new(&[
        ("Column_name", SqlType::SYSNAME),
        ("Type", SqlType::SYSNAME),
        ("Computed", word),
        ("Length", SqlType::Int),
        ("Prec", SqlType::Char(5)),
        ("Scale", SqlType::Char(5)),
        ("Nullable", word),
        ("TrimTrailingBlanks", word),
        ("FixedLenNullInSource", word),
        ("Collation", SqlType::SYSNAME),
    ]);
    let yes_no = |yes: bool| Value::from(if yes { "yes" } else { "no" });
    for column in columns {
        let sql_type = column.sql_type;
        let digits = |digits: u8| {
            if sql_type.is_numeric() {
                format!("{digits:<5}")
            } else {
                " ".repeat(5)
            }
        };
        let padding = if sql_type.is_character() || sql_type.is_binary() {
            "no"
        } else {
            "(n/a)"
        };
        answer.push(vec![
            column.name.as_str().into(),
            sql_type.name().into(),
            yes_no(column.computed.is_some()),
            Value::Int(i32::from(sql_type.max_length())),
            digits(sql_type.precision()).into(),
            digits(sql_type.scale()).into(),
            yes_no(column.nullable),
            padding.into(),
            padding.into(),
            sql_type.is_character().then_some(column.collation.name()).into(),
        ]);
    }
    answer
}

fn identity(table: &TableDefinition) -> Table {
    let number = SqlType::Decimal {
        precision: 38,
        scale: 0,
    };
    let mut answer = Table::new(&[
        ("Identity", SqlType::SYSNAME),
        ("Seed", number),
        ("Increment", number),
        ("Not For Replication", SqlType::Int),
    ]);
    let value = |value: i64| Value::Decimal(Decimal::new(i128::from(value), 38, 0));
    match table.identity() {
        Some((column, identity)) => answer.push(vec![
            table.columns.get(column).map(|column| column.name.as_str()).into(),
            value(identity.seed),
            value(identity.increment),
            Value::Int(0),
        ]),
        None => answer.push(vec![
            "No identity column defined.".into(),
            Value::Null,
            Value::Null,
            Value::Null,
        ]),
    }
    answer
}

/// The name of a filegroup or partition scheme by its number.
fn space_name(context: &SystemContext<'_>, data_space: u32) -> String {
    let filegroups = context.database.entry().every_filegroup();
    let mut filegroups = filegroups.into_iter();
    if let Some(filegroup) = filegroups.find(|filegroup| u32::from(filegroup.id) == data_space) {
        return filegroup.name;
    }
    let objects = context.database.catalog.objects(context.session_id);
    let scheme = objects.iter().find_map(|object| match &object.definition {
        ObjectDefinition::PartitionScheme(scheme) if scheme.data_space == data_space => Some(scheme.name.clone()),
        _ => None,
    });
    scheme.unwrap_or_default()
}

fn located(context: &SystemContext<'_>, table: &TableDefinition) -> Table {
    let mut answer = Table::new(&[("Data_located_on_filegroup", SqlType::SYSNAME)]);
    answer.push(vec![space_name(context, table.data_space).into()]);
    answer
}

fn indexes(context: &SystemContext<'_>, table: &TableDefinition) -> Table {
    let mut answer = Table::new(&[
        ("index_name", SqlType::SYSNAME),
        ("index_description", SqlType::VarChar(Length::Limited(210))),
        ("index_keys", SqlType::NVarChar(Length::Limited(2078))),
    ]);
    for index in table.every_index() {
        let mut words = vec![if index.index_id == 1 {
            "clustered"
        } else {
            "nonclustered"
        }];
        if index.unique {
            words.push("unique");
        }
        if index.primary_key {
            words.push("primary key");
        }
        let keys = index.keys.iter().filter_map(|&(column, descending)| {
            let name = &table.columns.get(column)?.name;
            Some(if descending { format!("{name}(-)") } else { name.clone() })
        });
        let keys: Vec<String> = keys.collect();
        let description = format!(
            "{} located on {}",
            words.join(", "),
            space_name(context, index.data_space)
        );
        answer.push(vec![
            index.name.as_str().into(),
            description.into(),
            keys.join(", ").into(),
        ]);
    }
    answer
}

fn help_index(context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let written = text(arguments, 0).unwrap_or_default();
    let object = find(context, written)?;
    let table = table_of(&object).ok_or_else(|| no_object(context, written))?;
    if table.indexes.is_empty() {
        let text = format!("The object '{written}' does not have any indexes, or you do not have permissions.");
        return host.message(&Error::new(15472, 10, 1, text)).map(|()| 0);
    }
    indexes(context, table).send(host).map(|()| 0)
}

/// The text of a module, one row for each line; long lines are broken.
fn help_text(context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let written = text(arguments, 0).unwrap_or_default();
    // A trigger of the database is in no schema.
    let of_database = context.database.catalog.find("", written, context.session_id);
    let object = find(context, written).or_else(|error| of_database.ok_or(error))?;
    let own_text = match &object.definition {
        ObjectDefinition::Module(module) => &module.text,
        ObjectDefinition::Standalone(own) => &own.text,
        _ => {
            let text = format!("There is no text for object '{written}'.");
            return Err(Error::new(15197, 16, 1, text));
        }
    };
    let mut table = Table::new(&[("Text", SqlType::NVarChar(Length::Limited(255)))]);
    for line in own_text.split_inclusive('\n') {
        let characters: Vec<char> = line.chars().collect();
        for part in characters.chunks(LINE_CHARACTERS_MAX) {
            table.push(vec![part.iter().collect::<String>().into()]);
        }
    }
    table.send(host).map(|()| 0)
}
