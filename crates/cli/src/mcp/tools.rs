//! The tools of `vlflab mcp`: each is a read-only subcommand, with the options that a caller may set.
//!
//! An argument of a call becomes one word of the command line, `--option=value`, so that a value can never be taken for an option.

use serde_json::{Map, Value, json};

/// How an argument of a call reaches the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// `--option=value`, text.
    Option(&'static str),
    /// `--option=value`, a whole number.
    Number(&'static str),
    /// `--option`, when true.
    Flag(&'static str),
    /// The last word of the command line.
    Last,
    /// Standard input, which `--from=-` reads.
    Input,
}

/// An argument of a tool.
#[derive(Debug)]
struct Argument(&'static str, Way, &'static str);

#[derive(Debug)]
pub(super) struct Tool {
    pub(super) name: &'static str,
    title: &'static str,
    description: &'static str,
    /// The words that its command line begins with.
    words: &'static [&'static str],
    arguments: &'static [Argument],
    required: &'static [&'static str],
    /// Whether it connects to a server, whose letters of encryption are then added.
    pub(super) reaches: bool,
}

/// A command line for this program.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Command {
    pub(super) words: Vec<String>,
    /// Written to its standard input.
    pub(super) input: Option<String>,
    pub(super) reaches: bool,
}

const SQL_VERSION: Argument = Argument(
    "sql_version",
    Way::Option("sql-version"),
    "version of SQL Server whose rules apply: 2005, 2008, 2008R2, 2012, 2014, 2016, 2017, 2019, 2022 or 2025; 2022 if not given",
);
const DISK: Argument = Argument(
    "disk",
    Way::Option("disk"),
    "disk that seconds are computed for, such as azure-p30, ebs-gp3, hdd-7200-2006",
);
const ROWS: Argument = Argument(
    "rows",
    Way::Input,
    "rows of DBCC LOGINFO or sys.dm_db_log_info, as they were printed or pasted",
);
const INITIAL: Argument = Argument(
    "initial",
    Way::Option("initial"),
    "size that the log is created with, such as 8MB",
);
const GROW: Argument = Argument(
    "grow",
    Way::Option("grow"),
    "growths one after another, with commas: 8000MB,8000MB",
);
const GROWTH: Argument = Argument(
    "growth",
    Way::Option("growth"),
    "autogrowth, a size or a percentage, repeated until the log has the size of 'to'",
);
const TO: Argument = Argument("to", Way::Option("to"), "size to reach by 'growth', such as 64GB");
const TARGET_SIZE: Argument = Argument(
    "target_size",
    Way::Option("target-size"),
    "search for the steps that end with this size",
);
const TARGET_VLFS: Argument = Argument(
    "target_vlfs",
    Way::Number("target-vlfs"),
    "search for the steps that end with this many VLFs",
);
const SERVER: Argument = Argument(
    "server",
    Way::Option("server"),
    "HOST, HOST,PORT or mssql://LOGIN@HOST:PORT",
);
const LOGIN: Argument = Argument("login", Way::Option("login"), "SQL login; sa if not given");

/// Every tool, in the order in which they are listed.
pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: "plan",
        title: "Plan a transaction log",
        description: "Predicts the VLFs that a log of SQL Server has after it is created and grown, on every version; or finds the steps, and the \
                      T-SQL, for a log of a wanted size or number of VLFs. Starts from a new log, or from the rows of an existing one.",
        words: &["plan", "--format=md"],
        arguments: &[
            SQL_VERSION,
            INITIAL,
            GROW,
            GROWTH,
            TO,
            TARGET_SIZE,
            TARGET_VLFS,
            ROWS,
            DISK,
            Argument(
                "database",
                Way::Option("database"),
                "database that the T-SQL is written for",
            ),
        ],
        required: &[],
        reaches: false,
    },
    Tool {
        name: "price",
        title: "Price a transaction log on a disk",
        description: "Computes the seconds that a log costs on a disk: growth, startup, crash recovery, log backups and restore, as CSV. Takes the same \
                      arguments as plan.",
        words: &["plan", "--format=csv"],
        arguments: &[SQL_VERSION, INITIAL, GROW, GROWTH, TO, ROWS, DISK],
        required: &["disk"],
        reaches: false,
    },
    Tool {
        name: "inspect",
        title: "Inspect a log file",
        description: "Reads an .ldf file without a server: its VLFs, how it grew, where its log begins and ends, and whether it is damaged.",
        words: &["inspect", "--format=md"],
        arguments: &[
            Argument(
                "file",
                Way::Last,
                "path of the .ldf file, on the machine of this server",
            ),
            Argument(
                "headers",
                Way::Flag("headers"),
                "read only the headers of VLFs; fast at any size",
            ),
        ],
        required: &["file"],
        reaches: false,
    },
    Tool {
        name: "advise",
        title: "Advise on transaction logs",
        description: "Finds what is wrong with the logs of a SQL Server: who holds them, what it costs in seconds, the T-SQL to do about it, and what \
                      happens if nothing is done. Reads a server, or pasted rows, or a snapshot.",
        words: &["advise", "--format=md"],
        arguments: &[
            SERVER,
            LOGIN,
            Argument(
                "rows",
                Way::Input,
                "in place of a server: a snapshot, or rows of DBCC LOGINFO or sys.dm_db_log_info",
            ),
            SQL_VERSION,
            DISK,
            Argument("all", Way::Flag("all"), "show also what needs nothing done"),
        ],
        required: &[],
        reaches: true,
    },
    Tool {
        name: "snapshot",
        title: "Read the logs of a server",
        description: "Reads the state of every log of a SQL Server into one JSON document: VLFs, marks, reuse waits, transactions, settings, history.",
        words: &["snapshot"],
        arguments: &[SERVER, LOGIN],
        required: &["server"],
        reaches: true,
    },
    Tool {
        name: "explain",
        title: "Explain a finding",
        description: "What a finding of advise means; without an id, the list of all findings.",
        words: &["advise"],
        arguments: &[Argument(
            "id",
            Way::Option("explain"),
            "id or CheckID of the finding; empty for the list",
        )],
        required: &["id"],
        reaches: false,
    },
];

impl Tool {
    /// The tool as `tools/list` shows it.
    pub(super) fn shown(&self) -> Value {
        let properties: Map<String, Value> = self
            .arguments
            .iter()
            .map(|Argument(name, way, text)| {
                let kind = match way {
                    Way::Number(_) => "integer",
                    Way::Flag(_) => "boolean",
                    Way::Option(_) | Way::Last | Way::Input => "string",
                };
                ((*name).to_owned(), json!({ "type": kind, "description": text }))
            })
            .collect();
        json!({
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": {
                "type": "object",
                "properties": properties,
                "required": self.required,
                "additionalProperties": false,
            },
            "annotations": { "readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": self.reaches },
        })
    }

    /// The command line of a call.
    ///
    /// # Errors
    /// What is wrong with the arguments, in a sentence.
    pub(super) fn command(&self, arguments: &Value) -> Result<Command, String> {
        let Some(given) = arguments.as_object() else {
            return Err("arguments are an object".to_owned());
        };
        if let Some(missing) = self
            .required
            .iter()
            .find(|name| given.get(**name).is_none_or(Value::is_null))
        {
            return Err(format!("{} needs the argument {missing}", self.name));
        }
        let mut command = Command {
            words: self.words.iter().map(|&word| word.to_owned()).collect(),
            input: None,
            reaches: self.reaches,
        };
        let mut last = None;
        for (name, value) in given.iter().filter(|(_, value)| !value.is_null()) {
            let argument = self.arguments.iter().find(|argument| argument.0 == name.as_str());
            let Some(Argument(_, way, _)) = argument else {
                let known: Vec<&str> = self.arguments.iter().map(|argument| argument.0).collect();
                return Err(format!(
                    "{} has no argument {name}; it has {}",
                    self.name,
                    known.join(", ")
                ));
            };
            let text = || {
                let text = value.as_str().filter(|text| !text.contains('\0'));
                text.map(str::to_owned).ok_or_else(|| format!("{name} is text"))
            };
            match way {
                Way::Option(option) => command.words.push(format!("--{option}={}", text()?)),
                Way::Number(option) => {
                    let number = value.as_u64().ok_or_else(|| format!("{name} is a whole number"))?;
                    command.words.push(format!("--{option}={number}"));
                }
                Way::Flag(option) => match value.as_bool() {
                    Some(true) => command.words.push(format!("--{option}")),
                    Some(false) => {}
                    None => return Err(format!("{name} is true or false")),
                },
                Way::Last => last = Some(text()?),
                Way::Input => {
                    command.input = Some(text()?);
                    command.words.push("--from=-".to_owned());
                }
            }
        }
        if let Some(last) = last {
            command.words.extend(["--".to_owned(), last]);
        }
        Ok(command)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn tool(name: &str) -> &'static Tool {
        TOOLS.iter().find(|tool| tool.name == name).unwrap()
    }

    /// A value that looks like an option stays a value.
    #[test]
    fn every_argument_is_one_word() {
        let command = tool("inspect")
            .command(&json!({ "file": "--html=/etc/passwd", "headers": true }))
            .unwrap();
        assert_eq!(
            command.words,
            ["inspect", "--format=md", "--headers", "--", "--html=/etc/passwd"]
        );
        let command = tool("plan")
            .command(&json!({ "initial": "8MB --html x", "target_vlfs": 16, "rows": "2,3", "disk": null }))
            .unwrap();
        assert!(
            command.words.contains(&"--initial=8MB --html x".to_owned()),
            "{command:?}"
        );
        assert!(command.words.contains(&"--target-vlfs=16".to_owned()), "{command:?}");
        assert_eq!(command.input.as_deref(), Some("2,3"));
    }

    #[test]
    fn wrong_arguments_are_named() {
        let refused = |name: &str, arguments: Value| tool(name).command(&arguments).unwrap_err();
        assert_eq!(refused("inspect", json!({})), "inspect needs the argument file");
        assert!(refused("plan", json!({ "html": "x" })).starts_with("plan has no argument html; it has sql_version, "));
        assert_eq!(
            refused("plan", json!({ "target_vlfs": "many" })),
            "target_vlfs is a whole number"
        );
        assert_eq!(refused("advise", json!({ "all": 1 })), "all is true or false");
        assert_eq!(refused("advise", json!({ "server": "a\u{0}b" })), "server is text");
        assert_eq!(refused("advise", json!([])), "arguments are an object");
    }

    /// Nothing that writes is among them.
    #[test]
    fn every_tool_only_reads() {
        for tool in TOOLS {
            assert!(
                matches!(tool.words[0], "plan" | "inspect" | "advise" | "snapshot"),
                "{}",
                tool.name
            );
            let options = tool.arguments.iter().filter_map(|argument| match argument.1 {
                Way::Option(option) | Way::Number(option) | Way::Flag(option) => Some(option),
                Way::Last | Way::Input => None,
            });
            for option in options {
                assert!(
                    !matches!(option, "html" | "out" | "apply" | "history"),
                    "{} --{option}",
                    tool.name
                );
            }
        }
    }
}
