//! Servers whose logs are read: one from the command line, or an inventory of many, read in parallel up to a limit.
//!
//! ```text
//! # host[,port], host\instance or mssql://login@host:port   then any of
//! #   login=NAME  password=VARIABLE  token=VARIABLE  auth=kerberos  spn=NAME  group=NAME
//! db1
//! db1\SALES
//! db2,14330  login=reader  password=DB2_PASSWORD  group=sales
//! mssql://reader@db3.example  group=sales
//! db4.example  auth=kerberos
//! ```
//! `password=` and `token=` name environment variables, so passwords are never in the file. `auth=kerberos` logs in with the ticket of this
//! session; `spn=` names the server's service principal if it is not that of its host and port.
//!
//! A central management server is an inventory too: its registered servers are read from its msdb ([`REGISTERED`]).

use crate::exit::Failure;
use crate::login::{self, SecurityOptions, TicketOptions, token_at};
use advisor::pasted::{PASTE_HINT, PASTE_SCRIPT};
use advisor::render::Unreached;
use advisor::snapshot::Snapshot;
use clap::Args;
use lab::client::{Connection, Kerberos, LOGIN_TIMEOUT, Security, Target, is_tls_too_old};
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
    /// The server: HOST[,PORT], HOST\INSTANCE (SQL Server Browser gives its port), or mssql://LOGIN@HOST:PORT. The password comes from
    /// MSSQL_PASSWORD or SQLCMDPASSWORD, or you are asked for it.
    #[arg(short = 'S', long, value_name = "SERVER")]
    pub server: Option<String>,
    /// SQL login, where the server's address does not name one.
    #[arg(
        short = 'U',
        long,
        value_name = "LOGIN",
        default_value = "sa",
        conflicts_with = "windows_login"
    )]
    pub login: String,
    #[command(flatten)]
    pub ticket: TicketOptions,
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
    /// The environment variable that has an access token.
    token_variable: Option<String>,
    /// By the ticket of this session.
    is_kerberos: bool,
    service_principal: Option<String>,
    group: Option<String>,
}

impl Entry {
    fn of(address: &str) -> Entry {
        Entry {
            address: address.to_owned(),
            login: None,
            password_variable: None,
            token_variable: None,
            is_kerberos: false,
            service_principal: None,
            group: None,
        }
    }

    /// Whether it names its own login, so that a ticket or token of the command line does not apply to it.
    fn has_its_own_login(&self) -> bool {
        let is_in_address = self.address.starts_with("mssql://") && self.address.contains('@');
        is_in_address || self.login.is_some() || self.password_variable.is_some() || self.token_variable.is_some()
    }
}

/// The servers that a central management server has, each with its group (msdb.dbo.sysmanagement_shared_*_internal, since SQL Server 2008).
const REGISTERED: &str = "SELECT s.server_name, g.name FROM msdb.dbo.sysmanagement_shared_registered_servers_internal AS s \
     INNER JOIN msdb.dbo.sysmanagement_shared_server_groups_internal AS g ON g.server_group_id = s.server_group_id ORDER BY g.name, s.server_name";

impl ReachOptions {
    /// Reads the server of the command line.
    pub fn snapshot(&self, server: &str) -> Result<Snapshot, Failure> {
        collect::snapshot(&self.target_of(server)?, self.query_limit()).map_err(|error| match is_tls_too_old(&error) {
            true => Failure::CannotConnect(format!("{error}\n\n{PASTE_HINT}\n\n{PASTE_SCRIPT}")),
            false => error.into(),
        })
    }

    /// How the server of the command line is logged in to.
    pub fn target_of(&self, server: &str) -> Result<Target, Failure> {
        let entry = Entry {
            service_principal: self.ticket.spn.clone(),
            ..Entry::of(server)
        };
        if self.ticket.windows_login && entry.has_its_own_login() {
            let text = "-E logs in with the ticket of this session, so the address has no login: write it as mssql://HOST:PORT";
            return Err(Failure::Usage(format!("{server}: {text}")));
        }
        let mut target = self.target(&entry)?;
        self.authenticate(&entry, &mut target)?;
        Ok(target)
    }

    /// Ticket, password or token of a server. What its own line says comes before what the command line says of all.
    fn authenticate(&self, entry: &Entry, target: &mut Target) -> Result<(), Failure> {
        let wrong = |reason: String| Failure::Usage(format!("{}: {reason}", entry.address));
        if entry.is_kerberos || self.ticket.windows_login && !entry.has_its_own_login() {
            target.user.clear();
            target.kerberos = Some(Kerberos {
                service_principal: entry.service_principal.clone(),
            });
            return Ok(());
        }
        let token = entry.token_variable.as_ref().or(match entry.password_variable {
            None => self.ticket.access_token.as_ref(),
            Some(_) => None,
        });
        match token {
            Some(place) => target.access_token = Some(token_at(place).map_err(wrong)?),
            None => target.password = self.password(entry, target)?,
        }
        Ok(())
    }

    /// Seconds that one query may take.
    pub fn query_limit(&self) -> Duration {
        Duration::from_secs(self.query_timeout.into())
    }

    /// All but the password.
    fn target(&self, entry: &Entry) -> Result<Target, Failure> {
        let wrong = |reason: String| Failure::Usage(format!("{}: {reason}", entry.address));
        let mut found = match entry.address.starts_with("mssql://") {
            true => target::parse_place(&entry.address).map_err(wrong)?,
            false => {
                let (host, port) = match entry.address.rsplit_once(',') {
                    Some((host, port)) => {
                        let port = port.trim().parse();
                        // A port that is given needs no asking, as with Microsoft's clients.
                        let host = host.split_once('\\').map_or(host, |(host, _)| host);
                        (
                            host,
                            port.map_err(|_| wrong("the port is not a number from 0 to 65535".to_owned()))?,
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
                    access_token: None,
                    kerberos: None,
                    timeout: LOGIN_TIMEOUT,
                    security: Security::default(),
                }
            }
        };
        match &entry.login {
            Some(login) => found.user.clone_from(login),
            None if found.user.is_empty() => found.user.clone_from(&self.login),
            None => {}
        }
        found.timeout = Duration::from_secs(self.login_timeout.into());
        let machine = found
            .host
            .split_once('\\')
            .map_or(found.host.as_str(), |(host, _)| host);
        found.security = self.security.security(machine)?;
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
        self.read_all(&path.display().to_string(), entries, group, at_once)
    }

    /// Reads the servers that are registered at a central management server; their login is that of the command line.
    pub fn registered(
        &self,
        server: &str,
        group: Option<&str>,
        at_once: usize,
    ) -> Result<Vec<Result<Snapshot, Unreached>>, Failure> {
        let rows = Connection::open(&self.target_of(server)?)?.rows(REGISTERED)?;
        let entry = |row: &Vec<Option<String>>| match row.as_slice() {
            [Some(name), group] => Some(Entry {
                group: group.clone(),
                ..Entry::of(name)
            }),
            _ => None,
        };
        self.read_all(server, rows.iter().filter_map(entry).collect(), group, at_once)
    }

    fn read_all(
        &self,
        of: &str,
        entries: Vec<Entry>,
        group: Option<&str>,
        at_once: usize,
    ) -> Result<Vec<Result<Snapshot, Unreached>>, Failure> {
        let wanted = |entry: &Entry| group.is_none_or(|group| entry.group.as_deref() == Some(group));
        let entries: Vec<Entry> = entries.into_iter().filter(wanted).collect();
        if self.ticket.spn.is_some() {
            let text = "--spn names the service of one server, that of -S; a line of an inventory has spn=NAME";
            return Err(Failure::Usage(text.to_owned()));
        }
        if entries.is_empty() {
            return Err(Failure::Usage(format!("{of}: it names no such server")));
        }
        let targets: Result<Vec<(String, Target)>, Failure> = entries
            .iter()
            .map(|entry| {
                let mut target = self.target(entry)?;
                self.authenticate(entry, &mut target)?;
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
        let mut entry = Entry::of(address);
        for word in words {
            if word == "auth=kerberos" {
                entry.is_kerberos = true;
                continue;
            }
            let place = match word.split_once('=') {
                Some(("login", value)) => (&mut entry.login, value),
                Some(("password", value)) => (&mut entry.password_variable, value),
                Some(("token", value)) => (&mut entry.token_variable, value),
                Some(("spn", value)) => (&mut entry.service_principal, value),
                Some(("group", value)) => (&mut entry.group, value),
                _ => {
                    return Err(format!(
                        "line {}: '{word}' is none of login=NAME, password=VARIABLE, token=VARIABLE, auth=kerberos, spn=NAME and group=NAME",
                        index + 1
                    ));
                }
            };
            *place.0 = Some(place.1.to_owned());
        }
        if entry.is_kerberos && entry.has_its_own_login() {
            return Err(format!(
                "line {}: auth=kerberos takes the ticket of this session, so a login, password= and token= mean nothing",
                index + 1
            ));
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
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        reach: ReachOptions,
    }

    #[test]
    fn an_instance_is_asked_for_its_port_unless_one_is_given() {
        let line = Line::parse_from(["advise"]);
        for (address, host, port) in [
            ("db1", "db1", 1433),
            ("db1,1450", "db1", 1450),
            ("tcp:db1,1450", "db1", 1450),
            ("db1\\SALES", "db1\\SALES", 1433),
            ("db1\\SALES,1450", "db1", 1450),
        ] {
            let target = line.reach.target(&Entry::of(address)).unwrap();
            assert_eq!((target.host.as_str(), target.port), (host, port), "{address}");
        }
    }

    #[test]
    fn a_token_comes_from_a_variable_or_a_file() {
        let path = std::env::temp_dir().join(format!("vlflab-token-{}", std::process::id()));
        std::fs::write(&path, "eyJ0.token\n").unwrap();
        let at = format!("@{}", path.display());
        assert_eq!(token_at(&at).as_deref(), Ok("eyJ0.token"));
        std::fs::write(&path, " \n").unwrap();
        assert!(token_at(&at).unwrap_err().contains("no token"));
        std::fs::remove_file(&path).unwrap();
        assert!(token_at("VLFLAB_NO_SUCH_VARIABLE").is_err());
        // Its own password comes before the token of all.
        let line = Line::parse_from(["advise", "--access-token", "VLFLAB_NO_SUCH_VARIABLE"]);
        let entry = entries_of("db1 token=VLFLAB_NEITHER\n").unwrap().remove(0);
        let mut target = line.reach.target(&entry).unwrap();
        assert!(line.reach.authenticate(&entry, &mut target).is_err());
    }

    /// By its own line, or by -E for the lines that say nothing of their own.
    #[test]
    fn a_windows_login_is_that_of_the_line_or_of_the_command_line() {
        let all = Line::parse_from(["advise", "-E"]);
        let none = Line::parse_from(["advise"]);
        let kerberos = |line: &Line, text: &str| {
            let entry = entries_of(text).unwrap().remove(0);
            let mut target = line.reach.target(&entry).unwrap();
            let authenticated = line.reach.authenticate(&entry, &mut target).is_ok();
            authenticated.then_some(target.kerberos).flatten()
        };
        let spn = "MSSQLSvc/db1.example:SALES";
        let named = Kerberos {
            service_principal: Some(spn.to_owned()),
        };
        for line in [&all, &none] {
            assert_eq!(
                kerberos(line, &format!("db1 auth=kerberos spn={spn}")),
                Some(named.clone())
            );
        }
        assert_eq!(kerberos(&all, "db1"), Some(Kerberos::default()));
        assert_eq!(
            kerberos(&all, "db1 login=reader password=VLFLAB_NO_SUCH_VARIABLE"),
            None
        );
        assert!(
            entries_of("db1 auth=kerberos login=sa")
                .unwrap_err()
                .contains("line 1: auth=kerberos")
        );
        // The login of an address is its own as well, and it has one or the other.
        assert_eq!(kerberos(&all, "mssql://db1"), Some(Kerberos::default()));
        assert!(entries_of("mssql://me@db1 auth=kerberos").is_err());
        assert!(all.reach.target_of("mssql://me@db1").is_err());
        assert!(entries_of("db1 auth=ntlm").unwrap_err().contains("auth=kerberos"));
        assert!(Line::try_parse_from(["advise", "-E", "-U", "sa"]).is_err());
        assert!(Line::try_parse_from(["advise", "--spn", "x"]).is_err());
        let line = Line::parse_from(["advise", "-E", "--spn", spn]);
        assert_eq!(line.reach.target_of("db1").unwrap().kerberos, Some(named));
    }

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
