//! How to log in to a server: go-sqlcmd's switches, its environment variables, and the password prompt at a terminal.
//!
//! | switches | the server | accepted certificates |
//! |---|---|---|
//! | none, or `-N o` alone | on this machine (localhost, 127.0.0.0/8, ::1) | anything, with or without encryption: nothing leaves the machine |
//! | none | elsewhere | as `-N m` |
//! | `-N` | any | certificates of authorities that this machine trusts, for the server's name or that of `-F` |
//! | `-J` | any | only that certificate |
//! | `-C` | any | anything, encrypted |

use crate::exit::Failure;
use clap::Args;
use lab::client::{Encrypt, Kerberos, Security, Target, Trust};
use std::io::{self, IsTerminal};
use std::net::IpAddr;
use std::path::PathBuf;

/// The letters of encryption.
#[derive(Debug, Clone, Default, Args)]
pub struct SecurityOptions {
    /// How the connection is encrypted: s[trict] (TDS 8.0), m[andatory], o[ptional] (the server chooses) or disable; without a
    /// value, mandatory [default: mandatory; to a server on this machine, optional].
    #[arg(short = 'N', value_name = "LEVEL", num_args = 0..=1, default_missing_value = "mandatory", value_parser = level)]
    pub encrypt: Option<Encrypt>,
    /// Trust any certificate that the server presents.
    #[arg(short = 'C', conflicts_with_all = ["host_name_in_certificate", "server_certificate"])]
    pub trust_server_certificate: bool,
    /// The name that the server's certificate must have, if not the name you connect to.
    #[arg(short = 'F', value_name = "NAME", conflicts_with = "server_certificate")]
    pub host_name_in_certificate: Option<String>,
    /// The certificate that the server must present, PEM or DER; its name and dates are then not checked.
    #[arg(short = 'J', value_name = "FILE")]
    pub server_certificate: Option<PathBuf>,
}

/// A login by a ticket or a token, in place of a SQL login with its password.
#[derive(Debug, Clone, Default, Args)]
pub struct TicketOptions {
    /// Environment variable that has an access token of Microsoft Entra ID, or @FILE; login and password are then not used.
    #[arg(long, value_name = "VARIABLE|@FILE")]
    pub access_token: Option<String>,
    /// Log in with the Kerberos ticket of this session (kinit) in place of a SQL login.
    #[arg(short = 'E', long = "windows-login", conflicts_with = "access_token")]
    pub windows_login: bool,
    /// With -E: the server's service principal, where it is not MSSQLSvc/HOST:PORT.
    #[arg(long, value_name = "NAME", requires = "windows_login")]
    pub spn: Option<String>,
}

impl TicketOptions {
    /// Whether any was given.
    pub fn is_given(&self) -> bool {
        self.windows_login || self.access_token.is_some()
    }

    /// The options again, as words of a command line.
    pub fn letters(&self) -> Vec<String> {
        let token = self
            .access_token
            .as_ref()
            .map(|place| format!("--access-token={place}"));
        let windows = self.windows_login.then(|| "-E".to_owned());
        let spn = self.spn.as_ref().map(|name| format!("--spn={name}"));
        token.into_iter().chain(windows).chain(spn).collect()
    }

    /// Puts the ticket or the token into a target, whose login it is then; whether there is one.
    ///
    /// # Errors
    /// The target names a login in addition to the ticket, or the token cannot be read; in a sentence.
    pub fn log_in(&self, target: &mut Target) -> Result<bool, String> {
        if self.windows_login {
            if !target.user.is_empty() {
                return Err(format!(
                    "-E logs in with the ticket of this session, so the address has no login: leave out {}@",
                    target.user
                ));
            }
            target.kerberos = Some(Kerberos {
                service_principal: self.spn.clone(),
            });
        } else if let Some(place) = &self.access_token {
            target.access_token = Some(token_at(place)?);
        }
        Ok(self.is_given())
    }
}

/// The token in an environment variable, or in the file behind an `@`.
///
/// # Errors
/// There is none, in a sentence.
pub fn token_at(place: &str) -> Result<String, String> {
    let token = match place.strip_prefix('@') {
        Some(path) => std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?,
        None => std::env::var(place).map_err(|_| format!("the environment has no variable {place}"))?,
    };
    match token.trim() {
        "" => Err(format!("there is no token in {place}")),
        token => Ok(token.to_owned()),
    }
}

/// go-sqlcmd's spellings.
fn level(text: &str) -> Result<Encrypt, String> {
    match text.to_lowercase().as_str() {
        "s" | "strict" => Ok(Encrypt::Strict),
        "m" | "mandatory" | "t" | "true" | "yes" | "1" => Ok(Encrypt::Mandatory),
        "o" | "optional" | "f" | "false" | "no" | "0" => Ok(Encrypt::Optional),
        "disable" => Ok(Encrypt::Disable),
        _ => Err("write s[trict], m[andatory], o[ptional] or disable".to_owned()),
    }
}

impl SecurityOptions {
    /// Whether any letter was given.
    pub fn is_given(&self) -> bool {
        self.encrypt.is_some()
            || self.trust_server_certificate
            || self.host_name_in_certificate.is_some()
            || self.server_certificate.is_some()
    }

    /// The letters again, as words of a command line.
    pub fn letters(&self) -> Vec<String> {
        let level = self.encrypt.map(|level| match level {
            Encrypt::Strict => "-Nstrict",
            Encrypt::Mandatory => "-Nmandatory",
            Encrypt::Optional => "-Noptional",
            Encrypt::Disable => "-Ndisable",
        });
        let name = self.host_name_in_certificate.as_ref().map(|name| format!("-F{name}"));
        let file = self
            .server_certificate
            .as_ref()
            .map(|file| format!("-J{}", file.display()));
        let trust = self.trust_server_certificate.then_some("-C");
        level
            .into_iter()
            .chain(trust)
            .map(str::to_owned)
            .chain(name)
            .chain(file)
            .collect()
    }

    /// What the letters come to for a server.
    ///
    /// # Errors
    /// They contradict each other.
    pub fn security(&self, host: &str) -> Result<Security, Failure> {
        let says_whom_to_believe = self.trust_server_certificate
            || self.host_name_in_certificate.is_some()
            || self.server_certificate.is_some();
        let is_optional = matches!(self.encrypt, None | Some(Encrypt::Optional));
        if is_optional && !says_whom_to_believe && is_this_machine(host) {
            return Ok(Security {
                encrypt: Encrypt::Optional,
                trust: Trust::Anything,
            });
        }
        let encrypt = self.encrypt.unwrap_or_default();
        let trust = match (&self.host_name_in_certificate, &self.server_certificate) {
            _ if self.trust_server_certificate => Trust::Anything,
            (Some(name), _) => Trust::AuthoritiesFor(name.clone()),
            (None, Some(file)) => Trust::Pinned(file.clone()),
            (None, None) => Trust::Authorities,
        };
        match (encrypt, &trust) {
            (Encrypt::Strict, Trust::Anything) => Err(Failure::Usage(
                "a strict connection (-N s) always verifies the certificate, so -C means nothing; pin it with -J FILE"
                    .to_owned(),
            )),
            (Encrypt::Disable, trust) if *trust != Trust::Authorities => Err(Failure::Usage(
                "without encryption (-N disable) there is no certificate, so -C, -F and -J mean nothing".to_owned(),
            )),
            _ => Ok(Security { encrypt, trust }),
        }
    }
}

fn is_this_machine(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
        || host == "."
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// The password from the environment, first come first served, or asked for without echo at a terminal.
///
/// # Errors
/// There is neither.
pub fn password(user: &str, host: &str, variables: &[&str]) -> Result<String, Failure> {
    if let Some(given) = variables.iter().find_map(|name| std::env::var(name).ok()) {
        return Ok(given);
    }
    if !io::stdin().is_terminal() {
        let remedy = match variables {
            [] => "give it with -P".to_owned(),
            names => format!("set {}", names.join(" or ")),
        };
        return Err(Failure::Usage(format!("the password of {user} is missing: {remedy}")));
    }
    Ok(rpassword::prompt_password(format!("Password of {user} at {host}: "))?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: SecurityOptions,
    }

    fn security(line: &str, host: &str) -> Result<Security, String> {
        let words = ["sql"].into_iter().chain(line.split_whitespace());
        let line = Line::try_parse_from(words).map_err(|error| error.kind().to_string())?;
        line.options.security(host).map_err(|_| "usage".to_owned())
    }

    #[test]
    fn every_letter_alone_and_with_the_others() {
        use Encrypt::{Disable, Mandatory, Optional, Strict};
        let authorities = || Trust::Authorities;
        let named = || Trust::AuthoritiesFor("x".to_owned());
        let pinned = || Trust::Pinned("x".into());
        for (line, expected) in [
            ("", Some((Mandatory, authorities()))),
            ("-N", Some((Mandatory, authorities()))),
            ("-N m", Some((Mandatory, authorities()))),
            ("-Nt", Some((Mandatory, authorities()))),
            ("-N s", Some((Strict, authorities()))),
            ("-Noptional", Some((Optional, authorities()))),
            ("-N disable", Some((Disable, authorities()))),
            ("-N perhaps", None),
            ("-C", Some((Mandatory, Trust::Anything))),
            ("-N -C", Some((Mandatory, Trust::Anything))),
            ("-N o -C", Some((Optional, Trust::Anything))),
            ("-N s -C", None),
            ("-N disable -C", None),
            ("-F x", Some((Mandatory, named()))),
            ("-N s -F x", Some((Strict, named()))),
            ("-N disable -F x", None),
            ("-J x", Some((Mandatory, pinned()))),
            ("-N s -J x", Some((Strict, pinned()))),
            ("-N disable -J x", None),
            ("-F x -J x", None),
            ("-C -F x", None),
            ("-C -J x", None),
        ] {
            let expected = expected.map(|(encrypt, trust)| Security { encrypt, trust });
            assert_eq!(security(line, "db1").ok(), expected, "{line}");
            if !["", "-Noptional"].contains(&line) {
                assert_eq!(security(line, "127.0.0.1").ok(), expected, "{line}");
            }
        }
    }

    /// Scripts that run in a server's own container say it (testcontainers for Go).
    #[test]
    fn encryption_that_is_optional_believes_this_machine() {
        let believed = Security {
            encrypt: Encrypt::Optional,
            trust: Trust::Anything,
        };
        assert_eq!(security("-No", "localhost").ok(), Some(believed));
    }

    #[test]
    fn without_letters_this_machine_is_believed_and_no_other() {
        for (host, encrypt) in [
            ("localhost", Encrypt::Optional),
            ("127.0.0.1", Encrypt::Optional),
            ("127.9.9.9", Encrypt::Optional),
            ("::1", Encrypt::Optional),
            ("192.0.2.1", Encrypt::Mandatory),
            ("localhost.example", Encrypt::Mandatory),
        ] {
            assert_eq!(security("", host).unwrap().encrypt, encrypt, "{host}");
        }
    }
}
