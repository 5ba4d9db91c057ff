//! The command line of `vlflab sql`: sqlcmd's switches, and long names for this program's own options.

use super::output::{Controls, Format};
use super::variables::{self, Variables};
use crate::arguments::DEFAULT_DATA;
use crate::exit::Failure;
use crate::login::SecurityOptions;
use clap::Args;
use engine::log::LogPolicy;
use std::path::PathBuf;
use vlf::ServerVersion;

pub const SQL_EXAMPLES: &str = "Without -S, the databases lie in the folder --data; no server is needed.

Examples:
  vlflab sql                                 a prompt on ./vlflab-data
  vlflab sql -Q \"select @@version\"
  vlflab sql -i setup.sql -i fill.sql -v log_size=64MB
  vlflab sql -S localhost,1433 -d vlf        a prompt on a server of this machine; the password is asked for
  vlflab sql -S db1 -J db1.pem               on another: encrypted, and only if it shows that certificate
  vlflab sql -Q \"select * from t\" --format csv -o t.csv

Commands, alone on a line (:help explains them):
  GO [n]  :r  :connect  :out  :error  :list  :reset  :ed  :setvar  :listvar  :on error  :exit[(query)]  :quit  !!
  :xml  :help, and this program's own :vertical :format :timing

Unlike sqlcmd, a failed batch makes the exit code 1 also without -b; `:on error ignore` makes errors not count.
docs/sql.md explains all of it.";

/// How `vlflab sql --plan` shows a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum PlanForm {
    /// A tree, as wide as the terminal.
    Tree,
    /// The document that SQL Server's tools read.
    Xml,
}

/// Options of `vlflab sql`, named as sqlcmd names them.
#[derive(Debug, Args)]
pub struct SqlOptions {
    #[arg(long, value_name = "DIR", conflicts_with = "server", help = format!("Instance folder for embedded use [default: {DEFAULT_DATA}]"))]
    pub data: Option<PathBuf>,
    /// For an embedded instance: SQL Server version whose log layout to take [default: what the folder remembers, 2022 for a
    /// new one].
    #[arg(long, value_name = "VERSION", conflicts_with = "server")]
    pub sql_version: Option<ServerVersion>,
    /// For an embedded instance: how the log does its work [default: what the folder remembers, native for a new one].
    #[arg(long, value_name = "POLICY", conflicts_with = "server")]
    pub log_policy: Option<LogPolicy>,
    /// For an embedded instance: another folder in which statements may name files; may be given several times.
    #[arg(long, value_name = "DIR", conflicts_with = "server")]
    pub allow_path: Vec<PathBuf>,
    #[command(flatten)]
    pub login: LoginOptions,
    #[command(flatten)]
    pub input: InputOptions,
    #[command(flatten)]
    pub output: OutputOptions,
    /// Run the query and draw its plan instead of its rows. Each operator shows actual and estimated rows, executions,
    /// milliseconds including all operators below it, and pages read. With =xml the plan comes as SQL Server's tools read it.
    /// Example: vlflab sql --plan -Q "select name from sys.tables order by name".
    #[arg(
        long,
        value_name = "FORM",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "tree",
        conflicts_with = "first_query"
    )]
    pub plan: Option<PlanForm>,
    /// With --plan: do not run the query.
    #[arg(long, requires = "plan")]
    pub estimated: bool,
    /// To behave as sqlcmd where this differs: called by that name.
    #[arg(long, hide = true)]
    pub as_sqlcmd: bool,
    /// Print help: -? a summary, --help all of it.
    #[arg(short = '?', long, action = clap::ArgAction::Help)]
    pub help: Option<bool>,
}

/// Whom to connect to.
#[derive(Debug, Clone, Args)]
pub struct LoginOptions {
    /// Server to connect to [default: SQLCMDSERVER, unless --data is given].
    #[arg(short = 'S', value_name = "HOST[,PORT]")]
    pub server: Option<String>,
    /// Login at the server [default: SQLCMDUSER, or sa].
    #[arg(short = 'U', value_name = "LOGIN")]
    pub user: Option<String>,
    /// Its password. Others can see it here; set SQLCMDPASSWORD, or leave both out to be asked.
    #[arg(short = 'P', value_name = "PASSWORD")]
    pub password: Option<String>,
    /// Log in with the Kerberos ticket of this session (kinit) in place of a SQL login.
    #[arg(short = 'E', conflicts_with_all = ["user", "password"])]
    pub windows_login: bool,
    /// With -E: the server's service principal, where it is not MSSQLSvc/HOST:PORT.
    #[arg(long, value_name = "NAME", requires = "windows_login")]
    pub spn: Option<String>,
    #[command(flatten)]
    pub security: SecurityOptions,
    /// Database to begin in [default: SQLCMDDBNAME at a server].
    #[arg(short = 'd', value_name = "DATABASE")]
    pub database: Option<String>,
    /// Seconds to wait for a connection, and for the login; 0 waits forever [default: SQLCMDLOGINTIMEOUT, or 15].
    #[arg(short = 'l', value_name = "SECONDS", value_parser = clap::value_parser!(u16).range(..=65_534))]
    pub login_timeout: Option<u16>,
    /// Packet size to ask for, in bytes [default: SQLCMDPACKETSIZE, or 4096].
    #[arg(short = 'a', value_name = "BYTES", value_parser = clap::value_parser!(u16).range(512..=32_767))]
    pub packet_bytes: Option<u16>,
    /// The name of this machine, as sent to the server [default: SQLCMDWORKSTATION, or its name].
    #[arg(short = 'H', value_name = "NAME")]
    pub workstation: Option<String>,
    /// Do not ask the server for the names that Tab completes at the prompt, which takes an extra connection each time.
    #[arg(long)]
    pub no_names: bool,
    #[command(flatten)]
    pub missing: MissingOptions,
}

/// Switches of sqlcmd and go-sqlcmd that are not supported. They are parsed so that each is refused with its reason.
#[derive(Debug, Clone, Default, Args)]
pub struct MissingOptions {
    #[arg(short = 'G', hide = true)]
    entra_login: bool,
    #[arg(short = 'z', hide = true, num_args = 0..=1, default_missing_value = "")]
    new_password: Option<String>,
    #[arg(short = 'Z', hide = true, num_args = 0..=1, default_missing_value = "")]
    new_password_and_exit: Option<String>,
    #[arg(short = 'A', hide = true)]
    administrator_connection: bool,
    #[arg(short = 'D', hide = true)]
    data_source_name: bool,
    #[arg(short = 'K', hide = true, num_args = 0..=1, default_missing_value = "")]
    application_intent: Option<String>,
    #[arg(short = 'L', hide = true, num_args = 0..=1, default_missing_value = "")]
    list_servers: Option<String>,
    #[arg(short = 'M', hide = true, num_args = 0..=1, default_missing_value = "")]
    multi_subnet_failover: Option<String>,
    #[arg(short = 'R', hide = true)]
    regional_settings: bool,
    #[arg(short = 'f', hide = true, num_args = 0..=1, default_missing_value = "")]
    code_page: Option<String>,
    #[arg(short = 'g', hide = true)]
    column_encryption: bool,
    #[arg(short = 'j', hide = true)]
    raw_errors: bool,
}

impl MissingOptions {
    /// Why a switch is refused, and what to do instead.
    ///
    /// # Errors
    /// One was given.
    pub(super) fn refuse(&self) -> Result<(), Failure> {
        let login = "log in with -U, and SQLCMDPASSWORD or -P";
        let password = "the password of sa is set when `vlflab serve` starts, by MSSQL_SA_PASSWORD or --sa-password";
        let reasons = [
            (self.entra_login, format!("Entra logins (-G) are not supported; {login}")),
            (
                self.new_password.is_some(),
                format!("a login cannot change passwords (-z); {password}"),
            ),
            (
                self.new_password_and_exit.is_some(),
                format!("a login cannot change passwords (-Z); {password}"),
            ),
            (
                self.administrator_connection,
                "there is no dedicated administrator connection (-A); leave it out, or stop the server by a signal if no one gets in"
                    .to_owned(),
            ),
            (
                self.data_source_name,
                "data sources of odbc.ini are not supported (-D); name the server itself with -S".to_owned(),
            ),
            (
                self.application_intent.is_some(),
                "application intent is not supported (-K), as there are no read-only replicas; leave it out".to_owned(),
            ),
            (
                self.list_servers.is_some(),
                "browsing for servers is not supported (-L); name one with -S".to_owned(),
            ),
            (
                self.multi_subnet_failover.is_some(),
                "multi-subnet failover is not supported (-M): a server's addresses are tried one after another; leave it out".to_owned(),
            ),
            (
                self.regional_settings,
                "regional settings are not supported (-R); write them with CONVERT or FORMAT".to_owned(),
            ),
            (
                self.code_page.is_some(),
                "code pages are not supported (-f): scripts and output are UTF-8 or UTF-16; convert the script, and take -u for UTF-16"
                    .to_owned(),
            ),
            (
                self.column_encryption,
                "column encryption is not supported (-g); leave it out".to_owned(),
            ),
            (
                self.raw_errors,
                "raw messages are not supported (-j); leave it out, and take -m-1 for all of them with their numbers".to_owned(),
            ),
        ];
        match reasons.into_iter().find(|(is_given, _)| *is_given) {
            Some((_, reason)) => Err(Failure::Usage(reason)),
            None => Ok(()),
        }
    }
}

/// What to run, and how it ends.
#[derive(Debug, Args)]
pub struct InputOptions {
    /// Script to run; several run in order.
    #[arg(short = 'i', value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Query to run, then exit.
    #[arg(short = 'Q', value_name = "QUERY", conflicts_with_all = ["files", "first_query"])]
    pub query: Option<String>,
    /// Query to run, then stay at the prompt.
    #[arg(short = 'q', value_name = "QUERY", conflicts_with = "files")]
    pub first_query: Option<String>,
    /// Variables for $(NAME) in scripts.
    #[arg(short = 'v', value_name = "NAME=VALUE", num_args = 1.., value_parser = variable)]
    pub variables: Vec<(String, String)>,
    /// Leave $(NAME) in scripts as it is.
    #[arg(short = 'x')]
    pub no_variables: bool,
    /// The word that ends batches.
    #[arg(short = 'c', value_name = "WORD", default_value = "GO", value_parser = terminator)]
    pub terminator: String,
    /// Print each batch before it is run.
    #[arg(short = 'e')]
    pub echo: bool,
    /// Stop at the first error.
    #[arg(short = 'b')]
    pub stop_at_error: bool,
    /// Only errors of this severity and above count, and the exit code is the severity.
    #[arg(short = 'V', value_name = "SEVERITY", value_parser = clap::value_parser!(u8).range(1..=25))]
    pub severity_min: Option<u8>,
    /// Seconds after which a batch is cancelled; 0 never [default: SQLCMDSTATTIMEOUT, or 0].
    #[arg(short = 't', value_name = "SECONDS", value_parser = clap::value_parser!(u16).range(..=65_534))]
    pub query_timeout: Option<u16>,
    /// Refuse ED and !!, and take nothing from the environment and no startup script (SQLCMDINI); with 1, ED and !! end the script.
    #[arg(short = 'X', value_name = "1", num_args = 0..=1, default_missing_value = "0", value_parser = clap::value_parser!(u8).range(..=1))]
    pub disabled_commands: Option<u8>,
    /// SET QUOTED_IDENTIFIER ON, which is the default.
    #[arg(short = 'I')]
    pub quoted_identifiers: bool,
}

/// Where answers go, and in which form.
#[derive(Debug, Args)]
pub struct OutputOptions {
    /// File for output.
    #[arg(short = 'o', value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Files of output (-o, :out, :error) are UTF-16.
    #[arg(short = 'u')]
    pub is_utf16: bool,
    /// Form of result sets: auto, horizontal, vertical, fit, ascii, json, csv or md. For json, csv and md messages go to standard error
    /// [default: SQLCMDFORMAT, or auto: fit at a terminal, horizontal elsewhere].
    #[arg(long, value_name = "FORMAT", value_parser = format_name)]
    pub format: Option<String>,
    /// The same as --format vertical.
    #[arg(long, conflicts_with_all = ["format", "ascii"])]
    pub vertical: bool,
    /// The same as --format ascii.
    #[arg(long, conflicts_with = "format")]
    pub ascii: bool,
    /// Rows between two headings; -1 leaves headings out [default: SQLCMDHEADERS, or 0: only one heading].
    #[arg(short = 'h', value_name = "ROWS", allow_negative_numbers = true, value_parser = clap::value_parser!(i32).range(-1..))]
    pub heading_rows: Option<i32>,
    /// Between two columns [default: SQLCMDCOLSEP, or a space; a comma for csv].
    #[arg(short = 's', value_name = "TEXT")]
    pub separator: Option<String>,
    /// Trim trailing blanks of columns.
    #[arg(short = 'W')]
    pub trim: bool,
    /// Characters after which lines are broken, 9 to 65535 [default: SQLCMDCOLWIDTH, or never].
    #[arg(short = 'w', value_name = "COLUMNS", value_parser = clap::value_parser!(u16).range(9..))]
    pub screen_width: Option<u16>,
    /// Characters after which values of (max), text, ntext, image and xml are cut, to 8000; 0 cuts nothing, pads nothing and
    /// leaves headings out [default: SQLCMDMAXVARTYPEWIDTH, or cut nothing].
    #[arg(short = 'y', value_name = "CHARACTERS", value_parser = clap::value_parser!(u16).range(..=8_000))]
    pub large_width: Option<u16>,
    /// Characters after which values of other text, binary and sql_variant are cut, to 8000; 0 cuts nothing [default:
    /// SQLCMDMAXFIXEDTYPEWIDTH, or 0].
    #[arg(short = 'Y', value_name = "CHARACTERS", value_parser = clap::value_parser!(u16).range(..=8_000))]
    pub fixed_width: Option<u16>,
    /// Remove control characters from text; with 1 each becomes a space, with 2 those that follow one another become one.
    #[arg(short = 'k', value_name = "1|2", num_args = 0..=1, default_missing_value = "0", value_parser = clap::value_parser!(u8).range(..=2))]
    pub controls: Option<u8>,
    /// Show messages of this severity and above; with -1 all, with their numbers [default: SQLCMDERRORLEVEL, or 0].
    #[arg(short = 'm', value_name = "SEVERITY", allow_negative_numbers = true, value_parser = clap::value_parser!(i8).range(-1..=25))]
    pub shown_severity_min: Option<i8>,
    /// Errors go to standard error, with 1 all messages; not with -o.
    #[arg(short = 'r', value_name = "0|1", num_args = 0..=1, default_missing_value = "0", value_parser = clap::value_parser!(u8).range(..=1))]
    pub to_stderr: Option<u8>,
    /// Print the time of each batch; with 1 in one line, separated by colons.
    #[arg(short = 'p', value_name = "1", num_args = 0..=1, default_missing_value = "0", value_parser = clap::value_parser!(u8).range(..=1))]
    pub statistics: Option<u8>,
}

impl SqlOptions {
    /// Whether the environment's variables count.
    pub(super) fn has_environment(&self) -> bool {
        self.input.disabled_commands.is_none()
    }

    /// The scripting variables at the start.
    ///
    /// # Errors
    /// A value that its variable cannot have.
    pub(super) fn variables(&self) -> Result<Variables, Failure> {
        let mut variables = Variables::new(self.has_environment()).map_err(Failure::Usage)?;
        let (login, input, output) = (&self.login, &self.input, &self.output);
        let number = |number: Option<i64>| number.map(|number| number.to_string());
        let format = match (output.vertical, output.ascii) {
            (true, _) => Some("vertical".to_owned()),
            (_, true) => Some("ascii".to_owned()),
            _ => output.format.clone(),
        };
        for (name, value) in [
            (variables::DATABASE, login.database.clone()),
            (variables::LOGIN_TIMEOUT, number(login.login_timeout.map(i64::from))),
            (variables::PACKET_SIZE, number(login.packet_bytes.map(i64::from))),
            (variables::WORKSTATION, login.workstation.clone()),
            (variables::QUERY_TIMEOUT, number(input.query_timeout.map(i64::from))),
            (variables::FORMAT, format),
            (variables::HEADING_ROWS, number(output.heading_rows.map(i64::from))),
            (variables::COLUMN_SEPARATOR, output.separator.clone()),
            (variables::SCREEN_WIDTH, number(output.screen_width.map(i64::from))),
            (variables::LARGE_WIDTH, number(output.large_width.map(i64::from))),
            (variables::FIXED_WIDTH, number(output.fixed_width.map(i64::from))),
            (variables::ERROR_LEVEL, number(output.shown_severity_min.map(i64::from))),
        ] {
            if let Some(value) = value {
                variables.put(name, &value);
            }
        }
        for (name, value) in &input.variables {
            variables.put_checked(name, value).map_err(Failure::Usage)?;
        }
        if variables.own(variables::WORKSTATION).is_empty() {
            let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
            variables.put(variables::WORKSTATION, &name);
        }
        Ok(variables)
    }
}

impl OutputOptions {
    pub(super) fn controls(&self) -> Controls {
        match self.controls {
            None => Controls::Keep,
            Some(1) => Controls::Replace,
            Some(2) => Controls::ReplaceRuns,
            Some(_) => Controls::Remove,
        }
    }

    /// The severity from which messages go to standard error, if any do.
    pub(super) fn stderr_severity_min(&self) -> Option<u8> {
        let choice = self.to_stderr.filter(|_| self.file.is_none());
        choice.map(|choice| if choice == 1 { 0 } else { 11 })
    }
}

fn format_name(name: &str) -> Result<String, String> {
    Format::of_name(name).map(|_| name.to_owned())
}

fn terminator(word: &str) -> Result<String, String> {
    match word.is_empty() || word.contains(char::is_whitespace) {
        true => Err("write one word".to_owned()),
        false => Ok(word.to_owned()),
    }
}

fn variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = text
        .split_once('=')
        .ok_or_else(|| "write it as NAME=VALUE".to_string())?;
    Ok((name.to_string(), value.trim_matches('"').to_string()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::arguments::{Arguments, Command};
    use clap::Parser;

    fn options(line: &[&str]) -> SqlOptions {
        let words = ["vlflab", "sql"].iter().chain(line);
        let Command::Sql(options) = Arguments::try_parse_from(words).unwrap().command else {
            panic!("not sql")
        };
        *options
    }

    #[test]
    fn sql_takes_what_sqlcmd_takes() {
        let line = "-S host,1434 -U me -P x -d vlf -v a=1 b=\"two\" -h -1 -W -b -m-1 -r -k2 -X1 -V 16 -y0 -Y 30 -w 200 -s | -l 5 \
                    -a 8000 -H here -t 9 -e -u -x -I -p1 -c run -Q select";
        let line: Vec<&str> = line.split_whitespace().collect();
        let options = options(&line);
        assert_eq!(options.login.server.as_deref(), Some("host,1434"));
        assert_eq!(options.input.query.as_deref(), Some("select"));
        assert!(options.output.trim && options.input.stop_at_error);
        assert_eq!(options.output.stderr_severity_min(), Some(11));
        assert_eq!(options.output.controls(), Controls::ReplaceRuns);
        assert_eq!(options.input.disabled_commands, Some(1));
        let variables = options.variables().unwrap();
        for (name, value) in [
            ("a", "1"),
            ("b", "two"),
            ("SQLCMDHEADERS", "-1"),
            ("SQLCMDERRORLEVEL", "-1"),
            ("SQLCMDMAXVARTYPEWIDTH", "0"),
            ("SQLCMDMAXFIXEDTYPEWIDTH", "30"),
            ("SQLCMDCOLWIDTH", "200"),
            ("SQLCMDCOLSEP", "|"),
            ("SQLCMDLOGINTIMEOUT", "5"),
            ("SQLCMDPACKETSIZE", "8000"),
            ("SQLCMDWORKSTATION", "here"),
            ("SQLCMDSTATTIMEOUT", "9"),
        ] {
            assert_eq!(variables.get(name).unwrap(), value, "{name}");
        }
    }

    #[test]
    fn optional_values_need_none() {
        let options = options(&["-r", "-X", "-k", "-p", "-Q", "select 1"]);
        assert_eq!(
            (options.output.to_stderr, options.input.disabled_commands),
            (Some(0), Some(0))
        );
        assert_eq!((options.output.controls, options.output.statistics), (Some(0), Some(0)));
        assert_eq!(options.input.query.as_deref(), Some("select 1"));
    }
}
