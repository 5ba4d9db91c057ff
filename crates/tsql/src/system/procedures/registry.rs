//! `xp_instance_regread` and `xp_regread`: the values of the registry that a server has without one. SQL Server on Linux keeps such values
//! itself, too. The procedures are not in Microsoft's documentation; their parameters, columns and messages are those of published scripts
//! and outputs (SQL Server Management Studio's queries of properties, Ola Hallengren's maintenance solution, First Responder Kit).
//!
//! | key, below HKEY_LOCAL_MACHINE | value | meaning here |
//! |---|---|---|
//! | `SOFTWARE\Microsoft\MSSQLServer\MSSQLServer` | `BackupDirectory`, `DefaultData`, `DefaultLog` | the folder of files named without one |
//! | | `LoginMode` | 2: SQL Server logins are allowed |
//! | `SOFTWARE\Microsoft\Microsoft SQL Server` | `InstalledInstances` | the default instance |
//!
//! A missing key or value gives message 22001 and the status 1. Without the name of a value, a row tells whether the key exists.

use engine::error::{Error, Result};
use engine::types::{Length, SqlType, Value};

use super::super::{Host, SystemContext, Table};
use super::{INT, Parameter, SystemProcedure, TEXT, text};

const PARAMETERS: &[Parameter] = &[
    ("@rootkey", TEXT, true),
    ("@key", TEXT, true),
    ("@value_name", TEXT, false),
    ("@value", TEXT, false),
    ("@no_output", TEXT, false),
];
const VALUE: usize = 3;

pub(super) const PROCEDURES: &[SystemProcedure] = &[
    SystemProcedure {
        name: "xp_instance_regread",
        parameters: PARAMETERS,
        run: read,
    },
    SystemProcedure {
        name: "xp_regread",
        parameters: PARAMETERS,
        run: read,
    },
];

/// A value as the registry has it.
#[derive(PartialEq)]
enum Data {
    Text(String),
    Number(i32),
    Several(Vec<String>),
}

const SERVER_KEY: &str = r"SOFTWARE\Microsoft\MSSQLServer\MSSQLServer";
const INSTANCES_KEY: &str = r"SOFTWARE\Microsoft\Microsoft SQL Server";
/// Mixed mode: logins of SQL Server, too.
const LOGIN_MODE: i32 = 2;

/// The value of that name; what was not found, in its place.
fn find(context: &SystemContext<'_>, [root, key, name]: [&str; 3]) -> std::result::Result<Data, &'static str> {
    let is = |one: &str, other: &str| one.trim_end_matches('\\').eq_ignore_ascii_case(other);
    let is_machine = is(root, "HKEY_LOCAL_MACHINE") || is(root, "HKLM");
    let value = match key {
        key if is_machine && is(key, SERVER_KEY) => match name.to_lowercase().as_str() {
            "backupdirectory" | "defaultdata" | "defaultlog" => {
                Some(Data::Text(format!("{}/data", context.instance.folder().display())))
            }
            "loginmode" => Some(Data::Number(LOGIN_MODE)),
            _ => None,
        },
        key if is_machine && is(key, INSTANCES_KEY) => match name.to_lowercase().as_str() {
            "installedinstances" => Some(Data::Several(vec!["MSSQLSERVER".to_owned()])),
            _ => None,
        },
        _ => return Err("RegOpenKeyEx"),
    };
    value.ok_or("RegQueryValueEx")
}

fn read(context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let [root, key, name] = [0, 1, 2].map(|place| text(arguments, place).unwrap_or_default());
    // Without the name of a value the answer is whether the key exists.
    if matches!(arguments.get(2), None | Some(Value::Null)) {
        let is_known = find(context, [root, key, name]) != Err("RegOpenKeyEx");
        let mut table = Table::new(&[("KeyExist", INT)]);
        table.push(vec![Value::Int(i32::from(is_known))]);
        return table.send(host).map(|()| 0);
    }
    let data = match find(context, [root, key, name]) {
        Ok(data) => data,
        Err(call) => {
            host.output(VALUE, Value::Null);
            let is_silent = text(arguments, 4).is_some_and(|word| word.eq_ignore_ascii_case("no_output"));
            if !is_silent {
                let words = format!("{call}() returned error 2, 'The system cannot find the file specified.'");
                host.message(&Error::new(22_001, 1, 1, words))?;
            }
            return Ok(1);
        }
    };
    if host.is_given(VALUE) {
        host.output(
            VALUE,
            match data {
                Data::Text(text) => text.into(),
                Data::Number(number) => number.to_string().into(),
                Data::Several(texts) => texts.into_iter().next().map_or(Value::Null, Value::from),
            },
        );
        return Ok(0);
    }
    shown(name, data).send(host).map(|()| 0)
}

/// A value as a result set; one of several parts has a row for each.
fn shown(name: &str, data: Data) -> Table {
    let column = |sql_type| Table::new(&[("Value", TEXT), ("Data", sql_type)]);
    match data {
        Data::Text(text) => {
            let mut table = column(TEXT);
            table.push(vec![name.into(), text.into()]);
            table
        }
        Data::Number(number) => {
            let mut table = column(INT);
            table.push(vec![name.into(), Value::Int(number)]);
            table
        }
        Data::Several(texts) => {
            let third = SqlType::NVarChar(Length::Limited(1));
            let mut table = Table::new(&[("Value", TEXT), ("Data", TEXT), ("", third)]);
            for (number, text) in (1..).zip(texts) {
                table.push(vec![
                    format!("{name} - Item #{number}").into(),
                    text.into(),
                    Value::Null,
                ]);
            }
            table
        }
    }
}
