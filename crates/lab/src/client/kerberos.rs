//! Windows logins: the ticket of this session (`kinit`) in place of a name and a password.
//!
//! ```text
//! LOGIN7 (fIntSecurity, first token) -->
//!                                    <-- SSPI token 0xED, or LOGINACK, or both
//! message 0x11 (next token)          -->        ... until LOGINACK
//! ```
//! ([MS-TDS] 2.2.6.4, 2.2.6.8, 2.2.7.22.) The tokens are those of GSS-API. Each is created on a separate thread, because creating the first
//! one may contact a Kerberos server. If none answers, the login times out, and the thread ends with its library's own timeout.
//!
//! Invariant: a login succeeds only after the server has authenticated itself (mutual authentication).

use super::gssapi::{self, Context, ServiceName, Step};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

/// How a Windows login is made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kerberos {
    /// The server's service principal as it is registered, `MSSQLSvc/db1.example:1433`; without one it is that of the server's host and
    /// port, the host made whole by DNS.
    pub service_principal: Option<String>,
}

/// How many tokens a server may ask for: Kerberos needs two.
const TOKENS_MAX: usize = 8;

/// The service's name, and how messages call it.
fn service_of(kerberos: &Kerberos, host: &str, port: u16) -> (ServiceName, String) {
    match &kerberos.service_principal {
        Some(name) => (ServiceName::Principal(name.clone()), name.clone()),
        None => (
            ServiceName::OfHost(format!("MSSQLSvc@{host}:{port}")),
            format!("MSSQLSvc/{host}:{port}"),
        ),
    }
}

/// A login under way: tokens in, tokens out.
pub(super) struct Negotiation {
    received: SyncSender<Vec<u8>>,
    steps: Receiver<Result<Step, gssapi::Failure>>,
    service: String,
    limit: Duration,
    tokens: usize,
    is_complete: bool,
}

impl Negotiation {
    /// Begins, and answers the first token.
    ///
    /// # Errors
    /// A sentence: there is no library, no ticket, no answer of a Kerberos server within the limit, or no such service.
    pub(super) fn begin(
        kerberos: &Kerberos,
        host: &str,
        port: u16,
        limit: Duration,
    ) -> Result<(Negotiation, Vec<u8>), String> {
        let (name, service) = service_of(kerberos, host, port);
        let (received, to_take) = sync_channel::<Vec<u8>>(1);
        let (to_hand_over, steps) = sync_channel(1);
        let work = move || {
            let mut context = match Context::new(&name) {
                Ok(context) => context,
                // The login may have ended by then.
                Err(failure) => return drop(to_hand_over.send(Err(failure))),
            };
            for token in to_take {
                if to_hand_over.send(context.step(&token)).is_err() {
                    return;
                }
            }
        };
        let started = thread::Builder::new().name("kerberos".to_owned()).spawn(work);
        started.map_err(|error| format!("no thread for Kerberos: {error}"))?;
        let mut negotiation = Negotiation {
            received,
            steps,
            service,
            limit,
            tokens: 0,
            is_complete: false,
        };
        let first = negotiation.next(&[])?;
        Ok((negotiation, first))
    }

    /// The answer to a token of the server; may be empty.
    ///
    /// # Errors
    /// As [`Negotiation::begin`], and where the server's proof is not one.
    pub(super) fn next(&mut self, token: &[u8]) -> Result<Vec<u8>, String> {
        self.tokens += 1;
        if self.tokens > TOKENS_MAX {
            return Err("the server asks for Kerberos tokens on and on".to_owned());
        }
        // The thread is gone where it has failed, and then it said so.
        let _ = self.received.send(token.to_vec());
        let step = match self.steps.recv_timeout(self.limit) {
            Ok(step) => step.map_err(|failure| self.sentence(&failure))?,
            Err(RecvTimeoutError::Timeout) => {
                return Err(format!(
                    "no Kerberos server answered within {} s; krb5.conf or DNS says which it is",
                    self.limit.as_secs_f64()
                ));
            }
            Err(RecvTimeoutError::Disconnected) => return Err("the Kerberos login broke off".to_owned()),
        };
        self.is_complete = step.is_complete;
        Ok(step.token)
    }

    /// Whether the server has proved who it is.
    pub(super) fn is_complete(&self) -> bool {
        self.is_complete
    }

    fn sentence(&self, failure: &gssapi::Failure) -> String {
        match failure {
            gssapi::Failure::NoLibrary(reason) => format!(
                "a Windows login needs the Kerberos library {} ({reason}): install it, on Debian and Ubuntu with 'apt-get install libgssapi-krb5-2 \
                 krb5-user', on Red Hat with 'dnf install krb5-libs krb5-workstation'",
                gssapi::LIBRARY
            ),
            gssapi::Failure::NoTicket(reason) => {
                format!("there is no Kerberos ticket to log in with ({reason}): get one with 'kinit NAME@REALM'")
            }
            gssapi::Failure::Other(reason) => format!(
                "no Kerberos login for the service {} ({reason}); its name can be given (--spn), and 'klist' shows the tickets",
                self.service
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_service_is_that_of_host_and_port_unless_one_is_named() {
        let of = |name: Option<&str>| {
            let service_principal = name.map(str::to_owned);
            service_of(&Kerberos { service_principal }, "db1.example", 14_330)
        };
        let host = ServiceName::OfHost("MSSQLSvc@db1.example:14330".to_owned());
        assert_eq!(of(None), (host, "MSSQLSvc/db1.example:14330".to_owned()));
        let named = "MSSQLSvc/db1.example:SALES@EXAMPLE";
        assert_eq!(
            of(Some(named)),
            (ServiceName::Principal(named.to_owned()), named.to_owned())
        );
    }
}
