//! SERVERPROPERTY, DATABASEPROPERTYEX, FILEPROPERTY and SESSIONPROPERTY.
//!
//! SQL Server returns these as `sql_variant`, and so does DATABASEPROPERTYEX. The type of SERVERPROPERTY follows from the property's name
//! if that is a constant; otherwise it is nvarchar.

use engine::catalog::{FilegroupEntry, PRIMARY_FILEGROUP};
use engine::database::{AccessMode, Database};
use engine::error::Result;
use engine::instance::Instance;
use engine::types::{Collation, Length, SqlType, Value};

use super::Answer::{Computed, Fixed};
use super::Parameter::Name;
use super::{Call, INT, NAME, Signature, signature};
use crate::plan::{Expr, ExprKind};
use crate::scalar::convert::convert;

pub(super) const FUNCTIONS: &[Signature] = &[
    signature("collationproperty", 2, &[Name, Name], INT, collationproperty)
        .told("collation, property: a property of a collation"),
    signature(
        "databasepropertyex",
        2,
        &[Name, Name],
        Fixed(SqlType::SqlVariant),
        databasepropertyex,
    )
    .told("database, property: an option or the state of a database"),
    signature("file_id", 1, &[Name], Fixed(SqlType::SmallInt), file_id)
        .told("name: id of a file of the database, as smallint"),
    signature("file_idex", 1, &[Name], INT, file_id).told("name: id of a file of the database"),
    signature("file_name", 1, &[super::Parameter::Int], NAME, file_name).told("id: logical name of a file"),
    signature("filegroup_name", 1, &[super::Parameter::Int], NAME, filegroup_name).told("id: name of a filegroup"),
    signature("filegroup_id", 1, &[Name], INT, filegroup_id).told("name: id of a filegroup"),
    signature("filegroupproperty", 2, &[Name, Name], INT, filegroupproperty)
        .told("name, property: a property of a filegroup"),
    signature("fileproperty", 2, &[Name, Name], INT, fileproperty).told("file, property: a property of a file"),
    signature(
        "serverproperty",
        1,
        &[Name],
        Computed(first_property_type),
        serverproperty,
    )
    .told("property: a property of the server"),
    signature("sessionproperty", 1, &[Name], INT, sessionproperty).told("option: a SET option of the session"),
];

/// Properties that are numbers.
const NUMERIC: [&str; 21] = [
    "buildclrversionnumber",
    "collationid",
    "comparisonstyle",
    "editionid",
    "engineedition",
    "ishadrenabled",
    "isclustered",
    "isfulltextinstalled",
    "isintegratedsecurityonly",
    "issingleuser",
    "isautoclose",
    "isautocreatestatistics",
    "isautoshrink",
    "isautoupdatestatistics",
    "isfulltextenabled",
    "islocaldb",
    "lcid",
    "processid",
    "sqlsortorder",
    "version",
    "isxtpsupported",
];

fn property_type(argument: Option<&Expr>) -> SqlType {
    let name = argument.and_then(|argument| match &argument.kind {
        ExprKind::Constant(value) => value.as_str().map(str::to_ascii_lowercase),
        ExprKind::Convert { operand, .. } => match &operand.kind {
            ExprKind::Constant(value) => value.as_str().map(str::to_ascii_lowercase),
            _ => None,
        },
        _ => None,
    });
    match name {
        Some(name) if NUMERIC.contains(&name.as_str()) => SqlType::Int,
        _ => SqlType::NVarChar(Length::Limited(256)),
    }
}

fn first_property_type(arguments: &[Expr]) -> Result<SqlType> {
    Ok(property_type(arguments.first()))
}

/// A property's value in the type that binding has announced.
fn answer(call: &Call<'_>, value: Value) -> Result<Value> {
    let own = match value {
        Value::Text(_) => SqlType::NVarChar(Length::Limited(256)),
        Value::DateTime { .. } => SqlType::DateTime,
        _ => SqlType::Int,
    };
    convert(&value, own, call.result, None)
}

/// Major version and build number.
pub(crate) fn major_and_build(instance: &Instance) -> (u8, u16) {
    let version = instance.options.version;
    (version.product_version().0, version.build())
}

fn product_version(instance: &Instance) -> String {
    let minor = instance.options.version.product_version().1;
    let (major, build) = major_and_build(instance);
    format!("{major}.{minor}.{build}.0")
}

/// `@@VERSION`: says in its first words what SQL Server it speaks as, and in its second line what it is.
pub(crate) fn version_text(instance: &Instance) -> String {
    let volatile = match instance.env.disk.is_volatile() {
        true => "\tin memory: nothing is kept\n",
        false => "",
    };
    format!(
        "Microsoft SQL Server {} (vlflab) - {} (X64)\n\tvlflab {}, a database engine with SQL Server's log architecture\n{volatile}",
        instance.options.version.name().trim_start_matches("SQL Server "),
        product_version(instance),
        env!("CARGO_PKG_VERSION")
    )
}

fn serverproperty(call: &Call<'_>) -> Result<Value> {
    let instance = &call.context.session.instance;
    let Some(name) = call.text(0) else {
        return Ok(Value::Null);
    };
    let value = match name.to_ascii_lowercase().as_str() {
        "productversion" => Value::from(product_version(instance)),
        "productlevel" => Value::from("RTM"),
        "productmajorversion" => Value::from(major_and_build(instance).0.to_string()),
        "productminorversion" => Value::from(instance.options.version.product_version().1.to_string()),
        "productbuild" => Value::from(major_and_build(instance).1.to_string()),
        "edition" => Value::from("Developer Edition (64-bit)"),
        "engineedition" => Value::Int(3),
        "editionid" => Value::Int(-2_117_995_310),
        "servername" | "machinename" | "computernamephysicalnetbios" => {
            Value::from(instance.options.server_name.as_str())
        }
        "instancename" => Value::Null,
        "collation" => Value::from(Collation::default().name()),
        "sqlsortorder" => Value::Int(i32::from(Collation::default().sort_id())),
        "comparisonstyle" => Value::Int(Collation::default().comparison_style() as i32),
        "lcid" => Value::Int(Collation::default().lcid() as i32),
        "processid" => Value::Int(std::process::id() as i32),
        "instancedefaultdatapath" | "instancedefaultlogpath" => {
            Value::from(format!("{}/data/", instance.folder().display()))
        }
        "errorlogfilename" => Value::from(format!("{}/log/ERRORLOG", instance.folder().display())),
        "isclustered"
        | "ishadrenabled"
        | "isfulltextinstalled"
        | "isintegratedsecurityonly"
        | "issingleuser"
        | "islocaldb"
        | "isxtpsupported" => Value::Int(0),
        _ => Value::Null,
    };
    answer(call, value)
}

fn databasepropertyex(call: &Call<'_>) -> Result<Value> {
    let session = call.context.session;
    let (Some(name), Some(property)) = (call.text(0), call.text(1)) else {
        return Ok(Value::Null);
    };
    let slots = session.instance.slots();
    let Some(slot) = slots
        .iter()
        .find(|slot| slot.entry().name.to_lowercase() == name.to_lowercase())
    else {
        return Ok(Value::Null);
    };
    let database = slot.database().ok();
    let collation = database.as_ref().map(|database| database.collation());
    let value = match property.to_ascii_lowercase().as_str() {
        "status" => Value::from(slot.state().number_and_name().1),
        "updateability" => Value::from(match &database {
            Some(database) if database.is_read_only() => "READ_ONLY",
            _ => "READ_WRITE",
        }),
        "isclone" => Value::Int(i32::from(database.is_some_and(|database| database.is_clone()))),
        "isverifiedclone" => Value::Int(i32::from(database.is_some_and(|database| database.is_verified_clone()))),
        "lastgoodcheckdbtime" => database.map_or(Value::Null, |database| {
            let checked = database.boot().last_good_check;
            Value::DateTime {
                days: checked.days,
                ticks: checked.ticks,
            }
        }),
        "isinstandby" => Value::Int(i32::from(database.is_some_and(|database| database.is_standby()))),
        "useraccess" => Value::from(match database.map(|database| database.access()) {
            Some(AccessMode::Single(_)) => "SINGLE_USER",
            Some(AccessMode::Restricted) => "RESTRICTED_USER",
            _ => "MULTI_USER",
        }),
        "recovery" => database.map_or(Value::Null, |database| Value::from(database.recovery_model().name())),
        "collation" => collation.map_or(Value::Null, |collation| Value::from(collation.name())),
        "sqlsortorder" => collation.map_or(Value::Null, |collation| Value::Int(i32::from(collation.sort_id()))),
        "comparisonstyle" => collation.map_or(Value::Null, |own| Value::Int(own.comparison_style() as i32)),
        "lcid" => collation.map_or(Value::Null, |collation| Value::Int(collation.lcid() as i32)),
        "version" => Value::Int(957),
        // Options of the database that are OFF, and stay so (`syntax::grammar`): a client sets those of its session.
        "isansinulldefault"
        | "isansinullsenabled"
        | "isansipaddingenabled"
        | "isansiwarningsenabled"
        | "isarithmeticabortenabled"
        | "isautoclose"
        | "isautocreatestatisticsincremental"
        | "isautoshrink"
        | "isclosecursorsoncommitenabled"
        | "isfulltextenabled"
        | "islocalcursorsdefault"
        | "ismemoryoptimizedelevatetosnapshotenabled"
        | "ismergepublished"
        | "isnullconcat"
        | "isnumericroundabortenabled"
        | "ispublished"
        | "isquotedidentifiersenabled"
        | "issubscribed"
        | "issyncwithbackup"
        | "istornpagedetectionenabled"
        | "isxtpsupported" => Value::Int(0),
        option => database
            .and_then(|database| option_of(&database, option))
            .unwrap_or(Value::Null),
    };
    answer(call, value)
}

/// Whether an option that a database keeps is ON; `None` for anything else.
fn option_of(database: &Database, option: &str) -> Option<Value> {
    let is_on = match option {
        "isautocreatestatistics" => database.statistics_options().auto_create,
        "isautoupdatestatistics" => database.statistics_options().auto_update,
        "isrecursivetriggersenabled" => database.has_recursive_triggers(),
        "isparameterizationforced" => database.is_parameterization_forced(),
        _ => return None,
    };
    Some(Value::Int(i32::from(is_on)))
}

fn collationproperty(call: &Call<'_>) -> Result<Value> {
    let (Some(collation), Some(property)) = (call.text(0).and_then(Collation::from_name), call.text(1)) else {
        return Ok(Value::Null);
    };
    Ok(match property.to_ascii_lowercase().as_str() {
        "codepage" => Value::Int(collation.code_page() as i32),
        "lcid" => Value::Int(collation.lcid() as i32),
        "comparisonstyle" => Value::Int(collation.comparison_style() as i32),
        "version" => Value::Int(collation.family_version() as i32),
        _ => Value::Null,
    })
}

fn file_id(call: &Call<'_>) -> Result<Value> {
    let Some(name) = call.text(0) else {
        return Ok(Value::Null);
    };
    let entry = call.context.session.database().entry();
    let found = entry.files.iter().find(|file| file.name.eq_ignore_ascii_case(name));
    let id = found.map_or(Value::Null, |file| Value::Int(i32::from(file.file_id)));
    convert(&id, SqlType::Int, call.result, None)
}

fn file_name(call: &Call<'_>) -> Result<Value> {
    let entry = call.context.session.database().entry();
    let found = entry
        .files
        .iter()
        .find(|file| Some(i64::from(file.file_id)) == call.integer(0));
    Ok(found.map_or(Value::Null, |file| Value::from(file.name.as_str())))
}

fn filegroup_name(call: &Call<'_>) -> Result<Value> {
    let filegroups = call.context.session.database().entry().every_filegroup();
    let found = filegroups.iter().find(|one| Some(i64::from(one.id)) == call.integer(0));
    Ok(found.map_or(Value::Null, |filegroup| Value::from(filegroup.name.as_str())))
}

/// The filegroup that the first argument names.
fn filegroup_named(call: &Call<'_>) -> Option<FilegroupEntry> {
    call.context.session.database().entry().filegroup(call.text(0)?)
}

fn filegroup_id(call: &Call<'_>) -> Result<Value> {
    Ok(filegroup_named(call).map_or(Value::Null, |filegroup| Value::Int(i32::from(filegroup.id))))
}

/// sql-docs, FILEGROUPPROPERTY: IsReadOnly, IsUserDefinedFG and IsDefault.
fn filegroupproperty(call: &Call<'_>) -> Result<Value> {
    let property = call.text(1).map(str::to_ascii_lowercase);
    let Some(filegroup) = filegroup_named(call) else {
        return Ok(Value::Null);
    };
    let is_so = match property.as_deref() {
        Some("isdefault") => filegroup.is_default,
        Some("isuserdefinedfg") => u32::from(filegroup.id) != PRIMARY_FILEGROUP,
        Some("isreadonly") => filegroup.is_read_only,
        _ => return Ok(Value::Null),
    };
    Ok(Value::Int(i32::from(is_so)))
}

fn fileproperty(call: &Call<'_>) -> Result<Value> {
    let (Some(name), Some(property)) = (call.text(0), call.text(1)) else {
        return Ok(Value::Null);
    };
    let database = call.context.session.database();
    let entry = database.entry();
    let Some(file) = entry.files.iter().find(|file| file.name.eq_ignore_ascii_case(name)) else {
        return Ok(Value::Null);
    };
    Ok(match property.to_ascii_lowercase().as_str() {
        "isreadonly" => {
            let filegroups = entry.every_filegroup();
            let mut filegroups = filegroups.iter();
            let is_its = filegroups.any(|one| !file.log && one.id == file.filegroup && one.is_read_only);
            Value::Int(i32::from(is_its))
        }
        "isprimaryfile" => Value::Int(i32::from(file.file_id == 1)),
        "islogfile" => Value::Int(i32::from(file.log)),
        "spaceused" => Value::Int(crate::views::used_pages(&database, file) as i32),
        _ => Value::Null,
    })
}

fn sessionproperty(call: &Call<'_>) -> Result<Value> {
    let options = call.context.session.options();
    let on = match call.text(0).map(str::to_ascii_uppercase).as_deref() {
        Some("ANSI_NULLS") => options.ansi_nulls,
        Some("ANSI_PADDING") => options.ansi_padding,
        Some("ANSI_WARNINGS") => options.ansi_warnings,
        Some("ARITHABORT") => options.arithabort,
        Some("CONCAT_NULL_YIELDS_NULL") => options.concat_null_yields_null,
        Some("QUOTED_IDENTIFIER") => options.quoted_identifier,
        Some("NUMERIC_ROUNDABORT") => options.numeric_roundabort,
        _ => return Ok(Value::Null),
    };
    Ok(Value::Int(i32::from(on)))
}
