//! Servers whose logs are read: one named on the command line, or an inventory of many, read side by side within a bound.
//!
//! ```text
//! # host[,port] or mssql://login@host:port   then any of   login=NAME  password=VARIABLE  group=NAME
//! db1
//! db2,14330  login=reader  password=DB2_PASSWORD  group=sales
//! mssql://reader@db3.example  group=sales
//! ```
//! `password=` names the environment variable that has it: a password never stands in the file.

use crate::exit::Failure;
use crate::login::{self, SecurityOptions};
use advisor::render::Unreached;
use advisor::snapshot::Snapshot;
use clap::Args;
use lab::client::{LOGIN_TIMEOUT, Security, Target};
use lab::{collect, target};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Where the password may be, first come first served.
const PASSWORD_VARIABLES: [&str; 2] = ["MSSQL_PASSWORD", "SQLCMDPASSWORD"];

/// How servers are reached.
#[derive(Debug, Args)]
pub struct ReachOptions {
    /// The server: HOST[,PORT], or mssql://LOGIN@HOST:PORT. The password is taken from MSSQL_PASSWORD or SQLCMDPASSWORD, or asked for.
    #[arg(short = 'S', long, value_name = "SERVER")]
    pub server: Option<String>,
    /// SQL login, where the server's address does not name one.
    #[arg(short = 'U', long, value_name = "LOGIN", default_value = "sa")]
    pub login: String,
    /// Seconds that a login may take.
    #[arg(long, value_name = "SECONDS", default_value_t = LOGIN_TIMEOUT.as_secs() as u16, value_parser = clap::value_parser!(u16).range(1..))]
    pub login_timeout: u16,
    /// Seconds that one query may take; then it is stopped and "not checked".
    #[arg(long, value_name = "SECONDS", default_value_t = collect::QUERY_LIMIT.as_secs() as u16, value_parser = clap::value_parser!(u16).range(1..))]
    pub query_timeout: u16,
    #[command(flatten)]
    pub security: SecurityOptions,
}

/// A server of an inventory.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    address: String,
    login: Option<String>,
    /// The environment variable that has the password.
    password_variable: Option<String>,
    group: Option<String>,
}

impl ReachOptions {
    /// Reads the server of the command line.
    pub fn snapshot(&self, server: &str) -> Result<Snapshot, Failure> {
        Ok(collect::snapshot(&self.target_of(server)?, self.query_limit())?)
    }

    /// How the server of the command line is logged in to.
    pub fn target_of(&self, server: &str) -> Result<Target, Failure> {
        let entry = Entry {
            address: server.to_owned(),
            login: None,
            password_variable: None,
            group: None,
        };
        let mut target = self.target(&entry)?;
        target.password = login::password(&target.user, &target.host, &PASSWORD_VARIABLES)?;
        Ok(target)
    }

    /// Seconds that one query may take.
    pub fn query_limit(&self) -> Duration {
        Duration::from_secs(self.query_timeout.into())
    }

    /// All but the password.
    fn target(&self, entry: &Entry) -> Result<Target, Failure> {
        let wrong = |reason: String| Failure::Usage(format!("{}: {reason}", entry.address));
        let mut found = match entry.address.starts_with("mssql://") {
            true => target::parse(&entry.address).map_err(wrong)?,
            false => {
                let (host, port) = match entry.address.rsplit_once(',') {
                    Some((host, port)) => {
                        let port = port.trim().parse();
                        (
                            host,
                            port.map_err(|_| wrong("the port is no number from 0 to 65535".to_owned()))?,
                        )
                    }
                    None => (entry.address.as_str(), 1433),
                };
                if host.trim().is_empty() {
                    return Err(wrong("write it as HOST[,PORT] or mssql://LOGIN@HOST:PORT".to_owned()));
                }
                Target {
                    host: host.trim().trim_start_matches("tcp:").to_owned(),
                    port,
                    user: self.login.clone(),
                    password: String::new(),
                    database: None,
                    timeout: LOGIN_TIMEOUT,
                    security: Security::default(),
                }
            }
        };
        if let Some(login) = &entry.login {
            found.user.clone_from(login);
        }
        found.timeout = Duration::from_secs(self.login_timeout.into());
        found.security = self.security.security(&found.host)?;
        Ok(found)
    }

    /// Reads the servers of an inventory, `at_once` at a time, in its order. A server that cannot be read ends nothing.
    pub fn inventory(
        &self,
        path: &Path,
        group: Option<&str>,
        at_once: usize,
    ) -> Result<Vec<Result<Snapshot, Unreached>>, Failure> {
        let text =
            std::fs::read_to_string(path).map_err(|error| Failure::Usage(format!("{}: {error}", path.display())))?;
        let entries = entries_of(&text).map_err(|error| Failure::Usage(format!("{}: {error}", path.display())))?;
        let wanted = |entry: &Entry| group.is_none_or(|group| entry.group.as_deref() == Some(group));
        let entries: Vec<Entry> = entries.into_iter().filter(wanted).collect();
        if entries.is_empty() {
            return Err(Failure::Usage(format!("{}: it names no such server", path.display())));
        }
        let targets: Result<Vec<(String, Target)>, Failure> = entries
            .iter()
            .map(|entry| {
                let mut target = self.target(entry)?;
                target.password = self.password(entry, &target)?;
                Ok((entry.address.clone(), target))
            })
            .collect();
        Ok(self.side_by_side(&targets?, at_once))
    }

    fn password(&self, entry: &Entry, target: &Target) -> Result<String, Failure> {
        match &entry.password_variable {
            Some(variable) => std::env::var(variable)
                .map_err(|_| Failure::Usage(format!("{}: the environment has no variable {variable}", entry.address))),
            None => login::password(&target.user, &target.host, &PASSWORD_VARIABLES),
        }
    }

    fn side_by_side(&self, targets: &[(String, Target)], at_once: usize) -> Vec<Result<Snapshot, Unreached>> {
        let next = AtomicUsize::new(0);
        let read: Mutex<Vec<(usize, Result<Snapshot, Unreached>)>> = Mutex::new(Vec::new());
        let limit = self.query_limit();
        let work = || {
            while let Some((index, (name, target))) = {
                let index = next.fetch_add(1, Ordering::Relaxed);
                targets.get(index).map(|target| (index, target))
            } {
                let outcome = collect::snapshot(target, limit).map_err(|error| Unreached {
                    name: name.clone(),
                    reason: error.to_string(),
                });
                read.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push((index, outcome));
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..at_once.min(targets.len()) {
                scope.spawn(work);
            }
        });
        let mut read = read.into_inner().unwrap_or_else(PoisonError::into_inner);
        read.sort_by_key(|(index, _)| *index);
        read.into_iter().map(|(_, outcome)| outcome).collect()
    }
}

/// The servers of an inventory.
fn entries_of(text: &str) -> Result<Vec<Entry>, String> {
    let mut entries = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or("").trim();
        let mut words = line.split_whitespace();
        let Some(address) = words.next() else { continue };
        let mut entry = Entry {
            address: address.to_owned(),
            login: None,
            password_variable: None,
            group: None,
        };
        for word in words {
            let place = match word.split_once('=') {
                Some(("login", value)) => (&mut entry.login, value),
                Some(("password", value)) => (&mut entry.password_variable, value),
                Some(("group", value)) => (&mut entry.group, value),
                _ => {
                    return Err(format!(
                        "line {}: '{word}' is none of login=NAME, password=VARIABLE and group=NAME",
                        index + 1
                    ));
                }
            };
            *place.0 = Some(place.1.to_owned());
        }
        entries.push(entry);
    }
    Ok(entries)
}

/// Where the result goes: a file, or standard output.
pub fn write_out(path: Option<&PathBuf>, text: &str) -> Result<(), Failure> {
    use std::io::Write;
    match path {
        Some(path) => {
            std::fs::write(path, text).map_err(|error| Failure::Failed(format!("{}: {error}", path.display())))
        }
        None => {
            let mut out = std::io::stdout().lock();
            out.write_all(text.as_bytes())?;
            Ok(out.flush()?)
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn an_inventory_has_a_server_a_line() {
        let text = "# all\n\ndb1\ndb2,14330 login=reader password=DB2 group=sales # old\nmssql://me@db3 group=sales\n";
        let entries = entries_of(text).unwrap();
        let addresses: Vec<&str> = entries.iter().map(|entry| entry.address.as_str()).collect();
        assert_eq!(addresses, ["db1", "db2,14330", "mssql://me@db3"]);
        let second = &entries[1];
        assert_eq!(
            (
                second.login.as_deref(),
                second.password_variable.as_deref(),
                second.group.as_deref()
            ),
            (Some("reader"), Some("DB2"), Some("sales"))
        );
        assert!(
            entries_of("db1 pasword=X")
                .unwrap_err()
                .starts_with("line 1: 'pasword=X'")
        );
    }
}
