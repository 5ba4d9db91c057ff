//! A run on an existing server: `--target mssql://user@host:port/database`.
//!
//! Unlike our own servers, it is never stopped or killed, its settings stay unchanged, and databases with the experiment's name must not
//! exist before the run and are dropped afterwards.
//!
//! Invariant: nothing is dropped that the run did not create itself.

use crate::client::{ClientError, Connection, LOGIN_TIMEOUT, Security, Target};
use crate::experiment::{Experiment, ServerKind, ServerOverrides, Step};
use crate::plan;
use crate::results::TargetServer;
use std::collections::BTreeSet;
use std::str::FromStr;
use vlf::ServerVersion;

/// A server to run experiments on.
#[derive(Debug, Clone)]
pub struct TargetRun {
    /// How to log in.
    pub login: Target,
    /// What it said of itself.
    pub server: TargetServer,
    /// The version whose layout rules predict for it.
    pub version: ServerVersion,
    /// Where it puts data files, with the separator at the end; unknown to some versions.
    pub data_folder: Option<String>,
}

/// Port of a default instance.
const DEFAULT_PORT: u16 = 1433;
const SCHEME: &str = "mssql://";
/// What the scripts of an experiment put before the names of their files.
const SCRIPT_FOLDER: &str = "c:\\lab\\";

/// Reads `mssql://user@host[:port][/database]`; the password is left empty.
///
/// # Errors
/// A sentence that says what is wrong with it.
pub fn parse(address: &str) -> Result<Target, String> {
    let target = parse_place(address)?;
    match target.user.is_empty() {
        true => Err(format!("the login is missing; write it as {SCHEME}user@host:port")),
        false => Ok(target),
    }
}

/// Reads the same where the login may be missing, because a ticket or a token names it; it is then empty.
///
/// # Errors
/// A sentence that says what is wrong with it.
pub fn parse_place(address: &str) -> Result<Target, String> {
    let rest = address
        .strip_prefix(SCHEME)
        .ok_or_else(|| format!("write it as {SCHEME}user@host:port/database"))?;
    let (user, place) = match rest.rsplit_once('@') {
        Some((user, place)) => (Some(user), place),
        None => (None, rest),
    };
    if user.is_some_and(|user| user.contains(':')) {
        return Err("a password in the address would be seen by everybody; put it in MSSQL_PASSWORD".into());
    }
    let (place, database) = match place.split_once('/') {
        Some((place, database)) => (place, Some(database).filter(|name| !name.is_empty())),
        None => (place, None),
    };
    let (host, port) = host_and_port(place)?;
    let user = user.map(decoded).transpose()?;
    if user.as_deref() == Some("") || host.is_empty() {
        return Err(format!("write it as {SCHEME}user@host:port/database"));
    }
    Ok(Target {
        host,
        port,
        user: user.unwrap_or_default(),
        password: String::new(),
        database: database.map(decoded).transpose()?,
        access_token: None,
        kerberos: None,
        timeout: LOGIN_TIMEOUT,
        security: Security::default(),
    })
}

/// `host`, `host:port`, `[address]` or `[address]:port`.
fn host_and_port(place: &str) -> Result<(String, u16), String> {
    let (host, port) = match place.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
        Some((host, "")) => (host, None),
        Some((host, port)) => (host, Some(port.trim_start_matches(':'))),
        None => place
            .rsplit_once(':')
            .map_or((place, None), |(host, port)| (host, Some(port))),
    };
    let port = port.map_or(Ok(DEFAULT_PORT), |port| {
        port.parse()
            .map_err(|_| format!("{port:?} is not a port; ports are 1 to 65535"))
    });
    Ok((host.to_string(), port?))
}

/// The text with `%5C` and the like replaced by what they stand for.
fn decoded(text: &str) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match (first, code.and_then(|digits| u8::from_str_radix(digits, 16).ok())) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).map_err(|_| format!("{text:?} is not text"))
}

impl TargetRun {
    /// Logs in and asks the server what it is.
    ///
    /// # Errors
    /// It cannot be reached, refuses the login, or is of a version whose rules are not known.
    pub fn probe(login: Target) -> Result<TargetRun, ClientError> {
        let mut connection = Connection::open(&login)?;
        let rows = connection.rows(
            "select cast(serverproperty('ProductVersion') as nvarchar(128)), \
             cast(serverproperty('Edition') as nvarchar(128)), \
             cast(serverproperty('InstanceDefaultDataPath') as nvarchar(400))",
        )?;
        let mut values = rows.into_iter().next().unwrap_or_default().into_iter();
        let mut next = || values.next().flatten().unwrap_or_default();
        let (product_version, edition, folder) = (next(), next(), next());
        let version = version_of(&product_version).ok_or_else(|| ClientError::Unreachable {
            address: format!("{}:{}", login.host, login.port),
            reason: format!("its version {product_version:?} is none whose VLF rules are known"),
        })?;
        Ok(TargetRun {
            server: TargetServer {
                address: format!("{}:{}", login.host, login.port),
                product_version,
                edition,
                rules_of: version.to_string(),
            },
            login,
            version,
            data_folder: Some(folder).filter(|folder| !folder.is_empty()),
        })
    }

    /// The experiment as it can be run there: the steps for such a server, one choice of the matrix, the server's own settings, its
    /// version's rules.
    pub fn adapt(&self, experiment: &Experiment) -> Experiment {
        let mut adapted = experiment.on(ServerKind::Target);
        adapted.matrix.clear();
        adapted.server.sql_version = self.version.to_string();
        for configuration in &mut adapted.configuration {
            configuration.server = ServerOverrides::default();
        }
        adapted
    }

    /// Why an experiment cannot be run there at all.
    pub fn objection(&self, experiment: &Experiment) -> Option<String> {
        let sample = experiment.step.iter().find_map(|step| match step {
            Step::Sample { name, .. } => Some(name),
            _ => None,
        })?;
        Some(format!(
            "it needs the sample database '{sample}' in the server's own folder, which cannot be put there from outside"
        ))
    }

    /// What a reader of the results has to know.
    pub fn notes(&self, experiment: &Experiment) -> Vec<String> {
        let server = &self.server;
        let mut notes = vec![format!(
            "Run on {} ({}, {}), not on this program's engine: its settings were left as they are, and those that the experiment varies on the own engine were not tried. The machine described is the one this program ran on.",
            server.address, server.product_version, server.edition,
        )];
        if experiment.step.iter().any(is_of_the_process) {
            notes.push(
                "The server was not stopped or killed: its database was taken offline and brought online again instead, which is an orderly end. No recovery after a crash was measured.".into(),
            );
        }
        let instead = experiment
            .step
            .iter()
            .filter(|step| !step.is_for_server(ServerKind::Own));
        let instead: Vec<&str> = instead.map(Step::label).collect();
        if !instead.is_empty() {
            notes.push(format!(
                "What a run does on a server of its own alone, such as putting a sample database there, was replaced by: {}.",
                instead.join("; ")
            ));
        }
        notes
    }

    /// The script with the server's own folder in place of the experiments'.
    pub fn with_folder(&self, script: &str) -> String {
        match &self.data_folder {
            Some(folder) => script.replace(SCRIPT_FOLDER, folder),
            None => script.to_string(),
        }
    }

    /// What the run will do there, shown before the user agrees.
    pub fn warning(&self, experiments: &[Experiment], scale: &str) -> Vec<String> {
        let server = &self.server;
        let databases: BTreeSet<&str> = experiments.iter().map(|each| each.database.as_str()).collect();
        let databases: Vec<&str> = databases.into_iter().collect();
        let mut lines = vec![
            format!(
                "On {} ({}, {}) this run",
                server.address, server.product_version, server.edition
            ),
            format!(
                "  creates and drops, again and again, the database {}",
                databases.join(", ")
            ),
            format!(
                "  needs {} MB for the largest log, and as much again for log backups",
                self.largest_log_mb(experiments, scale)
            ),
            "  leaves its backup files (*.bak) in the server's folders: it cannot delete them".into(),
        ];
        if experiments
            .iter()
            .any(|each| each.step.iter().any(|step| matches!(step, Step::ClearWaits {})))
        {
            lines.push("  sets the wait statistics of the whole server to zero".into());
        }
        lines.push("It stops and kills nothing, and does not begin if a database of that name is there.".into());
        lines
    }

    fn largest_log_mb(&self, experiments: &[Experiment], scale: &str) -> u64 {
        let logs = experiments.iter().filter_map(|experiment| {
            let adapted = self.adapt(experiment);
            let setups = plan::setups(&adapted, adapted.scale.get(scale)?).ok()?;
            setups
                .iter()
                .map(|setup| setup.log.max.unwrap_or_default().max(setup.log.bytes_at_end()))
                .max()
        });
        logs.max().unwrap_or_default() >> 20
    }
}

fn is_of_the_process(step: &Step) -> bool {
    matches!(step, Step::Kill {} | Step::Stop {} | Step::Restart {})
}

/// `16.0.4135.4` is 2022.
fn version_of(product_version: &str) -> Option<ServerVersion> {
    let mut numbers = product_version.split('.');
    let (major, minor) = (numbers.next()?, numbers.next()?);
    ServerVersion::from_str(&format!("{major}.{minor}"))
        .or_else(|_| ServerVersion::from_str(major))
        .ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn addresses_in_all_their_forms() {
        for (address, user, host, port, database) in [
            ("mssql://sa@db1", "sa", "db1", 1433, None),
            ("mssql://sa@db1:14330/", "sa", "db1", 14_330, None),
            (
                "mssql://me%40home@db1.example:1/work",
                "me@home",
                "db1.example",
                1,
                Some("work"),
            ),
            ("mssql://sa@[::1]:1434/a%20b", "sa", "::1", 1434, Some("a b")),
            ("mssql://sa@[fe80::1]", "sa", "fe80::1", 1433, None),
        ] {
            let target = parse(address).unwrap();
            assert_eq!(
                (
                    target.user.as_str(),
                    target.host.as_str(),
                    target.port,
                    target.database.as_deref()
                ),
                (user, host, port, database),
                "{address}"
            );
        }
        for (address, part) in [
            ("db1", "write it as"),
            ("mssql://db1", "the login is missing"),
            ("mssql://sa:secret@db1", "MSSQL_PASSWORD"),
            ("mssql://sa@db1:many", "not a port"),
            ("mssql://sa@db1:70000", "not a port"),
            ("mssql://@db1", "write it as"),
            ("mssql://sa@", "write it as"),
        ] {
            let refused = parse(address).unwrap_err();
            assert!(refused.contains(part), "{address}: {refused}");
            assert!(!refused.contains("secret"));
        }
    }

    #[test]
    fn product_versions_choose_the_rules() {
        for (product_version, rules) in [
            ("9.00.3186.00", "2005"),
            ("10.50.1600.1", "2008 R2"),
            ("11.0.7001.0", "2012"),
            ("16.0.4135.4", "2022"),
        ] {
            assert_eq!(version_of(product_version).unwrap().to_string(), rules);
        }
        assert_eq!(version_of("99.0.1.1"), None);
        assert_eq!(version_of(""), None);
    }
}
