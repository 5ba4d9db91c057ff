//! DBCC (sql-docs, "DBCC statements"; DBCC LOGINFO is undocumented, its columns are known from published outputs).

mod check;
mod clone;
mod identity;
mod information;
mod log;
mod page;
mod pages;
mod plan_cache;
mod rules;
mod session;
mod shrink;
mod statistics;
mod trace_flags;

use engine::database::Database;
use engine::error::{Error, Result};
use engine::types::Value;
use std::sync::Arc;

use super::{Host, SystemContext, text_of};
use crate::ast::{Dbcc, DbccArgument};
use crate::grammar::DBCC_COMMANDS;

/// A DBCC command under way.
struct Command<'a> {
    context: &'a SystemContext<'a>,
    statement: &'a Dbcc,
    arguments: Vec<Value>,
}

/// Runs a DBCC command, and says 2528 at its end unless WITH NO_INFOMSGS.
pub fn execute(context: &SystemContext<'_>, host: &mut dyn Host, statement: &Dbcc) -> Result<()> {
    let mut arguments = Vec::new();
    for argument in &statement.arguments {
        arguments.push(match argument {
            DbccArgument::Word(name) => Value::from(name.to_string()),
            DbccArgument::Value(expression) => host.evaluate(expression)?,
        });
    }
    let asks_for_rows = statement.options.iter().any(|option| option.name == "TABLERESULTS");
    if asks_for_rows && !["DBINFO", "OPENTRAN", "LOGINFO", "PAGE"].contains(&statement.command.as_str()) {
        return Err(crate::messages::not_supported("TABLERESULTS"));
    }
    check_options_of_clone(statement)?;
    check_arguments(statement, &arguments)?;
    let command = Command {
        context,
        statement,
        arguments,
    };
    match statement.command.as_str() {
        "IND" => pages::list(&command, host)?,
        "LOG" => log::records(&command, host)?,
        "LOGINFO" => log::loginfo(&command, host)?,
        "SQLPERF" => log::sqlperf(&command, host)?,
        "OPENTRAN" => log::opentran(&command, host)?,
        "DBINFO" => information::show(&command, host)?,
        "PAGE" => page::show(&command, host)?,
        "CHECKDB" => check::database(&command, host)?,
        "CHECKALLOC" => check::allocation(&command, host)?,
        "CHECKFILEGROUP" => check::filegroup(&command, host)?,
        "CHECKTABLE" => check::table(&command, host)?,
        "CHECKCATALOG" => check::catalog(&command)?,
        "SHRINKFILE" => shrink::file(&command, host)?,
        "SHRINKDATABASE" => shrink::database(&command, host)?,
        "CLONEDATABASE" => clone::database(&command, host)?,
        "CHECKIDENT" => identity::check_identity(&command, host)?,
        "TRACEON" => trace_flags::trace_on(&command)?,
        "TRACEOFF" => trace_flags::trace_off(&command)?,
        "TRACESTATUS" => trace_flags::trace_status(&command, host)?,
        "INPUTBUFFER" => session::input_buffer(&command, host)?,
        "USEROPTIONS" => session::user_options(host)?,
        "RULEON" => rules::switch(&command, host, true)?,
        "RULEOFF" => rules::switch(&command, host, false)?,
        "SHOWONRULES" => rules::show(host, true)?,
        "SHOWOFFRULES" => rules::show(host, false)?,
        "SHOW_STATISTICS" => statistics::show(&command, host)?,
        "FREEPROCCACHE" => plan_cache::free_plans(&command)?,
        "FREESYSTEMCACHE" => plan_cache::free_cache(&command)?,
        "DROPCLEANBUFFERS" => session::drop_clean_buffers(&command)?,
        "ERRORLOG" => session::cycle_errorlog(context)?,
        // The rest changes no answer, is refused, or does not exist.
        other => admitted(DBCC_COMMANDS.admit(1, other, None))?,
    }
    if command.is_silent() {
        return Ok(());
    }
    host.message(&Error::new(
        2528,
        10,
        1,
        "DBCC execution completed. If DBCC printed error messages, contact your system administrator.",
    ))
}

/// The most arguments of each command, and the words that may stand behind the first (sql-docs, "DBCC statements"). TRACEON, RULEON
/// and their kin take any number.
const ARGUMENTS: [(&str, usize, &[&str]); 23] = [
    ("CHECKALLOC", 2, &CHECK_WORDS),
    ("CHECKCATALOG", 1, &[]),
    ("CHECKDB", 2, &CHECK_WORDS),
    ("CHECKFILEGROUP", 2, &["NOINDEX"]),
    ("CHECKIDENT", 3, &["NORESEED", "RESEED"]),
    ("CHECKTABLE", 2, &CHECK_WORDS),
    ("DBINFO", 1, &[]),
    ("DROPCLEANBUFFERS", 0, &[]),
    ("ERRORLOG", 0, &[]),
    ("FREEPROCCACHE", 1, &[]),
    ("FREESESSIONCACHE", 0, &[]),
    ("FREESYSTEMCACHE", 2, &["default", "internal"]),
    ("INPUTBUFFER", 2, &[]),
    ("LOG", 2, &[]),
    ("LOGINFO", 1, &[]),
    ("OPENTRAN", 1, &[]),
    ("PAGE", 4, &[]),
    ("SHOWOFFRULES", 0, &[]),
    ("SHOWONRULES", 0, &[]),
    ("SHRINKDATABASE", 3, &["NOTRUNCATE", "TRUNCATEONLY"]),
    ("SHRINKFILE", 3, &["EMPTYFILE", "NOTRUNCATE", "TRUNCATEONLY"]),
    ("SQLPERF", 2, &["CLEAR"]),
    ("USEROPTIONS", 0, &[]),
];

const CHECK_WORDS: [&str; 4] = ["NOINDEX", "REPAIR_ALLOW_DATA_LOSS", "REPAIR_FAST", "REPAIR_REBUILD"];

/// Options that CLONEDATABASE alone has.
const CLONE_WORDS: [&str; 5] = [
    "BACKUP_CLONEDB",
    "NO_QUERYSTORE",
    "NO_STATISTICS",
    "SERVICEBROKER",
    "VERIFY_CLONEDB",
];

/// 2532: a word of CLONEDATABASE at another command.
fn check_options_of_clone(statement: &Dbcc) -> Result<()> {
    let of_clone = |name: &str| CLONE_WORDS.contains(&name);
    if statement.command == "CLONEDATABASE" || !statement.options.iter().any(|option| of_clone(&option.name)) {
        return Ok(());
    }
    let text = "One or more WITH options specified are not valid for this command.";
    Err(Error::new(2532, 16, 1, text))
}

/// 2583 for more arguments than the command takes, 2560 for a word that it does not know.
fn check_arguments(statement: &Dbcc, arguments: &[Value]) -> Result<()> {
    let Some((_, most, words)) = ARGUMENTS.iter().find(|(command, ..)| *command == statement.command) else {
        return Ok(());
    };
    if arguments.len() > *most {
        return Err(crate::messages::dbcc_argument_count());
    }
    let unknown = arguments.iter().enumerate().skip(1).find(|(_, argument)| {
        let word = argument.as_str().unwrap_or_default();
        argument.as_str().is_some() && !words.iter().any(|known| known.eq_ignore_ascii_case(word))
    });
    match unknown {
        Some((place, _)) => Err(incorrect_parameter(place)),
        None => Ok(()),
    }
}

/// 2560: the argument at this place, counted from 0.
fn incorrect_parameter(place: usize) -> Error {
    let text = format!("Parameter {} is incorrect for this DBCC statement.", place + 1);
    Error::new(2560, 16, 9, text)
}

/// A word's fate as an error of execution.
fn admitted(fate: std::result::Result<(), crate::error::ParseError>) -> Result<()> {
    fate.map_err(|error| Error::new(error.number, 16, error.state, error.message))
}

impl Command<'_> {
    fn is_silent(&self) -> bool {
        self.has("NO_INFOMSGS")
    }

    fn has(&self, option: &str) -> bool {
        self.statement.options.iter().any(|given| given.name == option)
    }

    fn argument(&self, index: usize) -> &Value {
        self.arguments.get(index).unwrap_or(&Value::Null)
    }

    fn text(&self, index: usize) -> Option<String> {
        text_of(self.argument(index))
    }

    fn integer(&self, index: usize) -> Option<i64> {
        let value = self.argument(index);
        value
            .as_i64()
            .or_else(|| value.as_str().and_then(|text| text.trim().parse().ok()))
    }

    /// The database that the argument names or numbers; the current one for none, 0 and ''.
    fn database(&self, index: usize) -> Result<Arc<Database>> {
        let value = self.argument(index);
        if let Some(id) = value.as_i64() {
            if id == 0 {
                return Ok(self.context.database.clone());
            }
            let slot = self
                .context
                .slot_by_id(id)
                .ok_or_else(|| no_database(&id.to_string()))?;
            return slot.database();
        }
        match value.as_str() {
            None | Some("") => Ok(self.context.database.clone()),
            Some(name) => self.context.slot(name).ok_or_else(|| no_database(name))?.database(),
        }
    }
}

/// 2520, as every DBCC command says it.
fn no_database(name: &str) -> Error {
    let text = format!(
        "Could not find database '{name}'. The database either does not exist, or was dropped before a statement tried to use it. Verify if the database exists by querying the sys.databases catalog view."
    );
    Error::new(2520, 16, 5, text)
}

/// 2501: no such table.
fn no_object(name: &str) -> Error {
    Error::new(
        2501,
        16,
        45,
        format!("Cannot find a table or object with the name \"{name}\". Check the system catalog."),
    )
}
