//! The other names under which the program can be called: replacements for SQL Server's tools in the drop-in image.
//!
//! | name | is |
//! |---|---|
//! | `sqlcmd` | `vlflab sql` with a server of this machine as its default, and sqlcmd's exit codes |
//! | `sqlservr` | `vlflab serve` on `/var/opt/mssql`, with SQL Server's environment variables ([`VARIABLES`]) |
//!
//! sqlcmd's exit code is 1 for everything that prevents it from running a script; T-SQL errors count only with -b or -V
//! (learn.microsoft.com, "sqlcmd utility", -b). Linux's variables are those of learn.microsoft.com, "Configure SQL Server settings with
//! environment variables on Linux".

use std::ffi::OsString;
use std::path::Path;

/// What the command line is to be read as.
#[derive(Debug, PartialEq, Eq)]
pub struct Called {
    pub arguments: Vec<OsString>,
    /// Lines to be printed first.
    pub notes: Vec<String>,
    /// Whether every failure without a code of a script's is 1.
    pub fails_with_one: bool,
}

/// What becomes of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Treatment {
    Obeyed,
    /// It changes nothing, and why.
    Void(&'static str),
    /// Only this value, without regard to case, means what there is anyway; any other ends the start, and why.
    Only(&'static str, &'static str),
}

use Treatment::{Obeyed, Only, Void};

/// SQL Server's variables; docs/drop-in.md has the same table.
const VARIABLES: &[(&str, Treatment)] = &[
    ("MSSQL_SA_PASSWORD", Obeyed),
    ("SA_PASSWORD", Obeyed),
    ("MSSQL_TCP_PORT", Obeyed),
    ("MSSQL_IP_ADDRESS", Obeyed),
    ("MSSQL_MEMORY_LIMIT_MB", Obeyed),
    ("ACCEPT_EULA", Void("there is no such agreement to accept")),
    (
        "MSSQL_PID",
        Void("there are no editions; SERVERPROPERTY says Developer"),
    ),
    ("MSSQL_DUMP_DIR", Void("no dumps are written")),
    ("MSSQL_TELEMETRY_ENABLED", Void("nothing is sent anywhere")),
    (
        "MSSQL_COLLATION",
        Only(
            "SQL_Latin1_General_CP1_CI_AS",
            "the server's collation is SQL_Latin1_General_CP1_CI_AS; a database has its own by CREATE DATABASE ... COLLATE",
        ),
    ),
    ("MSSQL_LCID", Only("1033", "messages are in English")),
    (
        "MSSQL_DATA_DIR",
        Only("/var/opt/mssql/data", "data files are made in /var/opt/mssql/data"),
    ),
    (
        "MSSQL_LOG_DIR",
        Only("/var/opt/mssql/data", "log files are made in /var/opt/mssql/data"),
    ),
    (
        "MSSQL_BACKUP_DIR",
        Only(
            "/var/opt/mssql",
            "backups named without a folder go to /var/opt/mssql; --allow-path lets statements name others",
        ),
    ),
    (
        "MSSQL_MASTER_DATA_FILE",
        Only("/var/opt/mssql/data/master.mdf", "master is in /var/opt/mssql/data"),
    ),
    (
        "MSSQL_MASTER_LOG_FILE",
        Only("/var/opt/mssql/data/mastlog.ldf", "master is in /var/opt/mssql/data"),
    ),
    ("MSSQL_AGENT_ENABLED", Only("false", "there is no SQL Server Agent")),
    ("MSSQL_ENABLE_HADR", Only("0", "there are no availability groups")),
];

/// A shell's `/opt/mssql-tools*/bin/sqlcmd`, which scripts write for either of SQL Server's images, names both places of this one: the second
/// becomes an argument of the first.
const SECOND_SQLCMD: &str = "/opt/mssql-tools18/bin/sqlcmd";

/// Where SQL Server on Linux has its files.
const FOLDER: &str = "/var/opt/mssql";

/// Reads the command line by the name the program was called by.
///
/// # Errors
/// A sentence: a variable has a value that cannot be obeyed.
pub fn called(
    arguments: impl IntoIterator<Item = OsString>,
    environment: &[(String, String)],
    has_instance: &dyn Fn(&Path) -> bool,
) -> Result<Called, String> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let name = arguments.first().map(Path::new).and_then(Path::file_name);
    let rest = || arguments.iter().skip(1).cloned();
    match name.and_then(|name| name.to_str()) {
        Some("sqlcmd") => Ok(Called {
            arguments: ["vlflab", "sql", "--as-sqlcmd"]
                .map(OsString::from)
                .into_iter()
                .chain(rest().skip_while(|each| Path::new(each) == Path::new(SECOND_SQLCMD)))
                .collect(),
            notes: Vec::new(),
            fails_with_one: true,
        }),
        Some("sqlservr") => {
            let own: Vec<OsString> = rest().collect();
            let (serve, notes) = serve(&own, environment, has_instance)?;
            Ok(Called {
                arguments: ["vlflab", "serve"]
                    .map(OsString::from)
                    .into_iter()
                    .chain(serve)
                    .chain(own)
                    .collect(),
                notes,
                fails_with_one: true,
            })
        }
        _ => Ok(Called {
            arguments,
            notes: Vec::new(),
            fails_with_one: false,
        }),
    }
}

/// What `vlflab serve` gets for SQL Server's variables, and what is to be said of those that change nothing.
fn serve(
    own: &[OsString],
    environment: &[(String, String)],
    has_instance: &dyn Fn(&Path) -> bool,
) -> Result<(Vec<OsString>, Vec<String>), String> {
    let notes = judge(environment)?;
    let given = |option: &str| {
        own.iter()
            .any(|each| each.to_str().is_some_and(|each| each.split('=').next() == Some(option)))
    };
    let value = |name: &str| {
        environment
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    };
    let password = value("MSSQL_SA_PASSWORD").or(value("SA_PASSWORD"));
    let is_in_memory = given("--in-memory");
    let folder = own
        .iter()
        .skip_while(|each| *each != "--data")
        .nth(1)
        .map_or(Path::new(FOLDER), Path::new);
    if password.is_none() && !given("--sa-password") && (is_in_memory || !has_instance(folder)) {
        return Err("MSSQL_SA_PASSWORD is not set, and a new server needs it: at least 8 characters from three of uppercase letters, lowercase letters, digits, symbols".to_owned());
    }
    let mut arguments: Vec<String> = Vec::new();
    let mut add = |option: &str, value: Option<&str>| {
        if let Some(value) = value.filter(|_| !given(option)) {
            arguments.extend([option.to_owned(), value.to_owned()]);
        }
    };
    add("--data", (!is_in_memory).then_some(FOLDER));
    add("--bind", Some(value("MSSQL_IP_ADDRESS").unwrap_or("0.0.0.0")));
    add("--port", value("MSSQL_TCP_PORT"));
    add("--max-server-memory", value("MSSQL_MEMORY_LIMIT_MB"));
    add("--sa-password", password);
    // As the image of SQL Server takes clients: encrypted if they ask for it.
    if !given("--encrypt") {
        add("--encrypt", Some("on"));
        arguments.push("--allow-unencrypted".to_owned());
    }
    arguments.push("--verbose".to_owned());
    Ok((arguments.into_iter().map(OsString::from).collect(), notes))
}

/// What is to be said of the variables that are set.
fn judge(environment: &[(String, String)]) -> Result<Vec<String>, String> {
    let mut notes = Vec::new();
    for (name, value) in environment {
        let known = VARIABLES.iter().find(|(known, _)| known == name);
        match known.map(|(_, treatment)| treatment) {
            Some(Obeyed) => {}
            Some(Void(why)) => notes.push(format!("{name} changes nothing: {why}.")),
            Some(Only(only, why)) if !value.eq_ignore_ascii_case(only) => {
                return Err(format!("{name}={value} cannot be obeyed: {why}"));
            }
            Some(Only(..)) => {}
            None if name.starts_with("MSSQL_") => notes.push(format!("{name} changes nothing: it is not known here.")),
            None => {}
        }
    }
    Ok(notes)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn of(arguments: &[&str], environment: &[(&str, &str)]) -> Result<(Vec<String>, Vec<String>), String> {
        let arguments = arguments.iter().map(OsString::from);
        let environment: Vec<(String, String)> = environment
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let called = called(arguments, &environment, &|folder| folder == Path::new("/old"))?;
        let words = called
            .arguments
            .into_iter()
            .map(|each| each.into_string().unwrap())
            .collect();
        Ok((words, called.notes))
    }

    #[test]
    fn the_name_says_which_command_it_is() {
        assert_eq!(
            of(&["/usr/bin/vlflab", "plan"], &[("MSSQL_LCID", "1031")]).unwrap().0,
            ["/usr/bin/vlflab", "plan"]
        );
        let sqlcmd = of(&["/opt/mssql-tools18/bin/sqlcmd", "-C", "-Q", "SELECT 1;"], &[])
            .unwrap()
            .0;
        assert_eq!(sqlcmd, ["vlflab", "sql", "--as-sqlcmd", "-C", "-Q", "SELECT 1;"]);
        let both = [
            "/opt/mssql-tools/bin/sqlcmd",
            "/opt/mssql-tools18/bin/sqlcmd",
            "-C",
            "-Q",
            "SELECT 1;",
        ];
        assert_eq!(of(&both, &[]).unwrap().0, sqlcmd);
        let password = [
            ("SA_PASSWORD", "old"),
            ("MSSQL_SA_PASSWORD", "new"),
            ("MSSQL_TCP_PORT", "1500"),
        ];
        let serve = of(&["sqlservr"], &password).unwrap().0.join(" ");
        assert_eq!(
            serve,
            "vlflab serve --data /var/opt/mssql --bind 0.0.0.0 --port 1500 --sa-password new --encrypt on --allow-unencrypted --verbose"
        );
        let serve = of(&["sqlservr", "--in-memory", "--encrypt=strict"], &password[..1])
            .unwrap()
            .0
            .join(" ");
        assert_eq!(
            serve,
            "vlflab serve --bind 0.0.0.0 --sa-password old --verbose --in-memory --encrypt=strict"
        );
    }

    #[test]
    fn a_variable_is_obeyed_or_said_to_be_void_or_refused() {
        let with = |name, value| of(&["sqlservr"], &[("MSSQL_SA_PASSWORD", "x"), (name, value)]);
        for (name, treatment) in VARIABLES {
            match treatment {
                Obeyed => assert_eq!(with(name, "7").unwrap().1, Vec::<String>::new(), "{name}"),
                Void(why) => assert_eq!(with(name, "Y").unwrap().1, [format!("{name} changes nothing: {why}.")]),
                Only(only, why) => {
                    assert_eq!(with(name, only).unwrap().1, Vec::<String>::new());
                    let refused = with(name, "something else").unwrap_err();
                    assert!(refused.contains(name) && refused.contains(why), "{refused}");
                }
            }
        }
        assert_eq!(
            with("MSSQL_NEW", "1").unwrap().1,
            ["MSSQL_NEW changes nothing: it is not known here."]
        );
        assert!(
            of(&["sqlservr"], &[])
                .unwrap_err()
                .contains("MSSQL_SA_PASSWORD is not set")
        );
        assert!(
            of(&["sqlservr", "--data", "/old"], &[]).is_ok(),
            "a folder keeps its password"
        );
    }

    /// The page has a row for each variable, with what becomes of it.
    #[test]
    fn the_page_has_every_variable() {
        let page = include_str!("../../../docs/drop-in.md");
        for (name, treatment) in VARIABLES {
            let word = match treatment {
                Obeyed => "obeyed",
                Void(_) => "void",
                Only(..) => "refused",
            };
            assert!(page.contains(&format!("| `{name}` | {word}")), "{name}: {word}");
        }
        let rows = page.lines().filter(|line| {
            line.starts_with("| `MSSQL_") || line.starts_with("| `SA_") || line.starts_with("| `ACCEPT")
        });
        assert_eq!(rows.count(), VARIABLES.len());
    }
}
