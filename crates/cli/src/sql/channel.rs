//! The destination of batches: a server, or an instance in this process.

use super::options::SqlOptions;
use super::variables::{self, Variables};
use super::{command, embedded};
use crate::exit::Failure;
use crate::login::{self, SecurityOptions};
use clap::Parser;
use lab::client::{ClientError, Connection, Event, Identity, Kerberos, Target};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Something that runs batches.
pub(super) trait Channel {
    /// Setting it stops the running batch; Ctrl-C does.
    fn cancel_flag(&self) -> Arc<AtomicBool>;

    /// Runs one batch and hands over what comes back.
    ///
    /// # Errors
    /// The connection broke, or the batch was stopped; errors of T-SQL are events.
    fn run(&mut self, batch: &str, on_event: &mut dyn FnMut(Event<'_>)) -> Result<(), ClientError>;

    /// What it is connected to, as lines for the prompt.
    fn about(&self) -> Vec<String>;

    fn database(&self) -> String;

    /// Whether it is an instance of this process, which must not end while a twin works.
    fn is_local(&self) -> bool;

    /// How to open another one to the same place, on any thread; it begins in a database that nobody is kept out of by it.
    fn twin(&self) -> Twin;
}

/// Opens a channel; None when that fails.
pub(super) type Twin = Box<dyn FnOnce() -> Option<Box<dyn Channel>> + Send>;

/// What `:connect` has to know of the command line.
#[derive(Debug)]
pub(super) struct Connector {
    security: SecurityOptions,
    has_environment: bool,
    /// `-E`: a login that is not named is that of the ticket.
    is_windows_login: bool,
    /// The last one that was connected to.
    last: Option<Target>,
}

/// Waiting forever.
const FOR_EVER: Duration = Duration::from_secs(7 * 86_400);
/// How long the connection that asks for names may take.
const TWIN_LOGIN_TIMEOUT: Duration = Duration::from_secs(5);

/// Server and letters of `:connect`.
#[derive(Debug, Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
struct ConnectLine {
    server: Option<String>,
    #[arg(short = 'U')]
    user: Option<String>,
    #[arg(short = 'P')]
    password: Option<String>,
    #[arg(short = 'E', conflicts_with_all = ["user", "password"])]
    windows_login: bool,
    #[arg(skip)]
    service_principal: Option<String>,
    #[arg(short = 'd', short_alias = 'D')]
    database: Option<String>,
    #[arg(short = 'l', value_parser = clap::value_parser!(u16).range(..=65_534))]
    login_timeout: Option<u16>,
    #[command(flatten)]
    security: SecurityOptions,
}

impl Connector {
    pub(super) fn new(options: &SqlOptions) -> Connector {
        Connector {
            security: options.login.security.clone(),
            has_environment: options.has_environment(),
            is_windows_login: options.login.windows_login,
            last: None,
        }
    }

    /// Opens what the command line names.
    ///
    /// # Errors
    /// The server does not answer or refuses the login; the folder cannot be opened; contradictory switches.
    pub(super) fn open(
        &mut self,
        options: &SqlOptions,
        variables: &mut Variables,
    ) -> Result<Box<dyn Channel>, Failure> {
        let login = &options.login;
        login.missing.refuse()?;
        let of_environment = || Some(variables.own(variables::SERVER).to_owned());
        let server = login.server.clone();
        let server = server.or_else(|| of_environment().filter(|name| !name.is_empty() && options.data.is_none()));
        let own = || {
            options
                .as_sqlcmd
                .then(|| "localhost".to_owned())
                .filter(|_| options.data.is_none())
        };
        let Some(server) = server.or_else(own) else {
            let is_for_a_server = login.windows_login || login.user.is_some() || login.password.is_some();
            if is_for_a_server || login.security.is_given() {
                let text = "-U, -P, -E, -N, -C, -F and -J are for a server; name it with -S";
                return Err(Failure::Usage(text.to_owned()));
            }
            return embedded::open(options);
        };
        let line = ConnectLine {
            server: Some(server),
            user: login.user.clone(),
            password: login.password.clone(),
            windows_login: login.windows_login,
            service_principal: login.spn.clone(),
            database: Some(variables.own(variables::DATABASE).to_owned()).filter(|name| !name.is_empty()),
            login_timeout: None,
            security: login.security.clone(),
        };
        let target = self.target(line, variables)?;
        self.connect(target, variables)
    }

    /// Opens what `:connect` names; the server of before where it names none.
    ///
    /// # Errors
    /// As [`Connector::open`], and [`Failure::Usage`] with nothing in it when the command is written wrong.
    pub(super) fn reopen(&mut self, words: &str, variables: &mut Variables) -> Result<Box<dyn Channel>, Failure> {
        let wrong = |_| Failure::Usage(String::new());
        let mut line = ConnectLine::try_parse_from(command::words(words)).map_err(wrong)?;
        let target = match (line.server.take(), &self.last) {
            (None, Some(last)) if words.is_empty() => last.clone(),
            (None, _) => return Err(Failure::Usage(String::new())),
            (Some(server), _) => {
                line.server = Some(server);
                self.target(line, variables)?
            }
        };
        self.connect(target, variables)
    }

    /// Whom a line means.
    fn target(&self, line: ConnectLine, variables: &Variables) -> Result<Target, Failure> {
        let (host, port) = host_and_port(&line.server.unwrap_or_default())?;
        let of_environment = |name| {
            let value = std::env::var(name).ok().filter(|_| self.has_environment);
            value.filter(|value: &String| !value.is_empty())
        };
        let is_windows_login = line.windows_login || self.is_windows_login && line.user.is_none();
        let user = line.user.or_else(|| of_environment(variables::USER));
        let user = match is_windows_login {
            true => String::new(),
            false => user.unwrap_or_else(|| "sa".to_owned()),
        };
        let security = match line.security.is_given() {
            true => line.security.security(&host)?,
            false => self.security.security(&host)?,
        };
        let password = match (line.password, self.known_password(&host, port, &user)) {
            _ if is_windows_login => String::new(),
            (Some(password), _) => password,
            (None, Some(password)) => password.to_owned(),
            (None, None) if self.has_environment => login::password(&user, &host, &["SQLCMDPASSWORD"])?,
            (None, None) => login::password(&user, &host, &[])?,
        };
        let kerberos = is_windows_login.then_some(Kerberos {
            service_principal: line.service_principal,
        });
        let seconds = variables.number(variables::LOGIN_TIMEOUT).unsigned_abs();
        let seconds = line.login_timeout.map_or(seconds, u64::from);
        Ok(Target {
            host,
            port,
            user,
            password,
            access_token: None,
            kerberos,
            database: line.database,
            timeout: if seconds == 0 {
                FOR_EVER
            } else {
                Duration::from_secs(seconds)
            },
            security,
        })
    }

    /// The last connection's password, for the same login at the same server only.
    fn known_password(&self, host: &str, port: u16, user: &str) -> Option<&str> {
        let last = self.last.as_ref()?;
        let is_same = last.host == host && last.port == port && last.user == user;
        is_same.then_some(last.password.as_str())
    }

    fn connect(&mut self, target: Target, variables: &mut Variables) -> Result<Box<dyn Channel>, Failure> {
        let packet_bytes = variables.number(variables::PACKET_SIZE);
        let identity = Identity {
            application: "vlflab sql".to_owned(),
            workstation: variables.own(variables::WORKSTATION).to_owned(),
            packet_bytes: u16::try_from(packet_bytes).unwrap_or(Identity::default().packet_bytes),
        };
        let connection = Connection::open_as(&target, &identity)?;
        variables.put(variables::SERVER, &format!("{},{}", target.host, target.port));
        variables.put(variables::USER, &target.user);
        variables.put(variables::DATABASE, &connection.info().database);
        self.last = Some(target.clone());
        Ok(Box::new(Remote {
            connection,
            target,
            identity,
            cancel: Arc::default(),
        }))
    }
}

struct Remote {
    connection: Connection,
    target: Target,
    identity: Identity,
    cancel: Arc<AtomicBool>,
}

impl Channel for Remote {
    fn cancel_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.cancel)
    }

    fn run(&mut self, batch: &str, on_event: &mut dyn FnMut(Event<'_>)) -> Result<(), ClientError> {
        self.connection.run_cancellable(batch, &self.cancel, on_event)
    }

    fn about(&self) -> Vec<String> {
        let (target, info) = (&self.target, self.connection.info());
        let who = match target.kerberos {
            Some(_) => "by a Windows login".to_owned(),
            None => format!("as {}", target.user),
        };
        vec![
            format!(
                "Connected to {},{} {who}: {} {}.",
                target.host, target.port, info.program, info.version
            ),
            format!("Database {}, {}.", info.database, info.encryption),
        ]
    }

    fn database(&self) -> String {
        self.connection.info().database.clone()
    }

    fn is_local(&self) -> bool {
        false
    }

    fn twin(&self) -> Twin {
        let target = Target {
            // A database in which the connection does not block exclusive access.
            database: Some("master".to_owned()),
            timeout: self.target.timeout.min(TWIN_LOGIN_TIMEOUT),
            ..self.target.clone()
        };
        let identity = Identity {
            application: "vlflab sql, names for completion".to_owned(),
            ..self.identity.clone()
        };
        Box::new(move || {
            let connection = Connection::open_as(&target, &identity).ok()?;
            Some(Box::new(Remote {
                connection,
                target,
                identity,
                cancel: Arc::default(),
            }))
        })
    }
}

/// `host`, `host,port`, `tcp:host,port` or `host:port`; an address of IPv6 as it is, or in brackets before a port.
pub fn host_and_port(server: &str) -> Result<(String, u16), Failure> {
    const DEFAULT_PORT: u16 = 1433;
    let refused = |reason: &str| Err(Failure::Usage(format!("{server:?}: {reason}")));
    for protocol in ["np:", "lpc:", "admin:"] {
        if server
            .get(..protocol.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(protocol))
        {
            return refused("connections are by TCP only; write HOST,PORT");
        }
    }
    if server.contains('\\') {
        return refused(
            "named instances are not looked up; write HOST,PORT with the port that the instance listens on",
        );
    }
    let place = server.strip_prefix("tcp:").unwrap_or(server);
    let is_split = |text: &str| text.matches(':').count() == 1 || text.contains("]:");
    let (host, port) = match place.rsplit_once(',') {
        Some((host, port)) => (host, Some(port)),
        None if is_split(place) => place
            .rsplit_once(':')
            .map_or((place, None), |(host, port)| (host, Some(port))),
        None => (place, None),
    };
    let host = host.trim();
    let bare = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
        .unwrap_or(host);
    let host = match bare {
        "" | "." | "(local)" => "localhost",
        host => host,
    };
    let port = port.map_or(Ok(DEFAULT_PORT), |port| {
        port.trim()
            .parse()
            .map_err(|_| Failure::Usage(format!("{port:?} is not a port; write HOST,PORT")))
    });
    Ok((host.to_owned(), port?))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn servers_as_sqlcmd_takes_them() {
        for (text, host, port) in [
            ("localhost", "localhost", 1433),
            ("localhost,1434", "localhost", 1434),
            ("tcp:db.example, 1500", "db.example", 1500),
            ("127.0.0.1:14330", "127.0.0.1", 14_330),
            (".", "localhost", 1433),
            ("(local),1500", "localhost", 1500),
            ("::1", "::1", 1433),
            ("::1,1500", "::1", 1500),
            ("[fe80::1]:1500", "fe80::1", 1500),
        ] {
            assert_eq!(host_and_port(text).unwrap(), (host.to_string(), port));
        }
        for refused in ["host,many", "host\\instance", "np:host", "ADMIN:host"] {
            assert!(host_and_port(refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn letters_of_connect_may_have_their_values_attached() {
        let line = ConnectLine::try_parse_from(command::words("db1,1500 -Ume -P \"a b\" -l 3 -No -D work")).unwrap();
        assert_eq!(line.server.as_deref(), Some("db1,1500"));
        assert_eq!(
            (line.user.as_deref(), line.password.as_deref()),
            (Some("me"), Some("a b"))
        );
        assert_eq!((line.database.as_deref(), line.login_timeout), (Some("work"), Some(3)));
        assert!(line.security.encrypt.is_some());
        assert!(ConnectLine::try_parse_from(command::words("db1 me")).is_err());
    }

    /// A password is for whom it was given.
    #[test]
    fn another_server_is_not_sent_the_last_ones_password() {
        let last = Target {
            host: "db1".to_owned(),
            port: 1433,
            user: "me".to_owned(),
            password: "secret".to_owned(),
            access_token: None,
            kerberos: None,
            database: None,
            timeout: FOR_EVER,
            security: lab::client::Security::default(),
        };
        let connector = Connector {
            security: SecurityOptions::default(),
            has_environment: false,
            is_windows_login: false,
            last: Some(last),
        };
        assert_eq!(connector.known_password("db1", 1433, "me"), Some("secret"));
        for (host, port, user) in [("db2", 1433, "me"), ("db1", 1434, "me"), ("db1", 1433, "sa")] {
            assert_eq!(connector.known_password(host, port, user), None);
        }
    }
}
