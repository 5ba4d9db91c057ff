//! The live page: `vlflab serve --web` and `vlflab watch`.
//!
//! | path | what |
//! |---|---|
//! | `/` | the page ([`advisor::live::page`]) |
//! | `/events` | server-sent events (WHATWG HTML, "Server-sent events"): `stand` first, then `frame` after `frame`, `bye` at the end |
//! | `/stand` | the current full state, as JSON |
//! | `/vlf`, `/transaction`, `/page` | the contents of logs, as JSON; only for the logs of this process ([`inside`]) |
//!
//! It listens on this machine only, and is read-only. A request needs the token in the printed address (403), and a `Host` that is this
//! machine: a page of another site whose name resolves to this machine is refused (403). The cost of a client is bounded by
//! [`crate::http`], by [`STREAMS_MAX`], and by [`hub`].

pub mod engine_source;
pub mod hub;
pub mod inside;
pub mod server_source;
mod words;

use crate::http::{self, Answer, Reply, Request, Site};
use advisor::live::page::page;
use advisor::live::recording::to_json;
use hub::Hub;
use inside::Looking;
use std::fs::File;
use std::io::{self, Read};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

/// Streams at once; one page is one stream.
pub const STREAMS_MAX: usize = 16;
/// Random bytes in a token.
const TOKEN_BYTES: usize = 16;

/// A page that is served.
pub struct Web {
    /// Where it is, with its token.
    pub url: String,
    pub hub: Arc<Hub>,
}

impl Web {
    /// Serves what `hub` has, and what `looking` finds inside, if it is there.
    ///
    /// # Errors
    /// The system has no random bytes to give, or no thread.
    pub fn start(listener: TcpListener, hub: Arc<Hub>, looking: Option<Looking>) -> io::Result<Web> {
        let address = listener.local_addr()?;
        let token = random_text(TOKEN_BYTES)?;
        let url = format!("http://{address}/?token={token}");
        let page = Page {
            port: address.port(),
            token,
            hub: Arc::clone(&hub),
            looking,
        };
        http::start(listener, "web", Arc::new(page))?;
        Ok(Web { url, hub })
    }
}

/// An address on which the page may be served: this machine's own.
pub fn own_address(text: &str) -> Result<SocketAddr, String> {
    let own = |port| SocketAddr::from(([127, 0, 0, 1], port));
    let parsed: Option<SocketAddr> = text.parse().ok().or_else(|| text.parse().ok().map(own));
    match parsed {
        Some(address) if address.ip().is_loopback() => Ok(address),
        Some(_) => Err("the page is for this machine only; reach it from another one by ssh -L".to_owned()),
        None => Err("it is neither a port nor an address with its port, such as 8433 or 127.0.0.1:8433".to_owned()),
    }
}

/// So many random bytes of the system, as hexadecimal digits.
fn random_text(count: usize) -> io::Result<String> {
    let mut bytes = vec![0; count];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

struct Page {
    port: u16,
    token: String,
    hub: Arc<Hub>,
    looking: Option<Looking>,
}

impl Page {
    /// Why a request is not answered.
    fn refusal(&self, request: &Request<'_>) -> Option<&'static str> {
        let names = ["127.0.0.1", "localhost", "[::1]"];
        let is_host = |host: &str| names.iter().any(|name| host == format!("{name}:{}", self.port));
        if !request.header("host").is_some_and(is_host) {
            return Some("this page is for this machine; its Host is 127.0.0.1 or localhost, with the port\n");
        }
        let given = request.parameter("token").unwrap_or_default();
        (!are_same(given, &self.token))
            .then_some("the address has a token; use the one that was printed at the start\n")
    }
}

/// Whether two texts are the same, in a time that does not tell how much of them is.
fn are_same(given: &str, token: &str) -> bool {
    let differing = given
        .bytes()
        .zip(token.bytes())
        .fold(0, |all, (one, other)| all | (one ^ other));
    given.len() == token.len() && differing == 0
}

impl Site for Page {
    fn reply(&self, request: &Request<'_>) -> Reply {
        if let Some(refusal) = self.refusal(request) {
            return Reply::Whole(Answer::text(403, refusal));
        }
        match request.path {
            "/" => Reply::Whole(page_answer()),
            "/stand" => Reply::Whole(Answer {
                kind: "application/json",
                headers: HEADERS.to_owned(),
                ..Answer::text(200, to_json(&self.hub.stand_now()))
            }),
            "/events" => match Hub::enter(&self.hub) {
                Some(reader) => Reply::Stream(Box::new(move |stream| reader.write_to(stream))),
                None => Reply::Whole(Answer::text(503, "too many pages at once\n")),
            },
            path if inside::PATHS.contains(&path) => Reply::Whole(match &self.looking {
                Some(looking) => Answer {
                    headers: HEADERS.to_owned(),
                    ..looking.answer(request)
                },
                None => Answer::text(404, "only vlflab serve --web shows what is inside\n"),
            }),
            _ => Reply::Whole(Answer::text(
                404,
                "there are /, /events, /stand, /vlf, /transaction and /page\n",
            )),
        }
    }
}

/// What every answer says to a browser.
const HEADERS: &str =
    "X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n";

/// The page runs its own script and style and no other, and reaches nothing but where it came from.
fn page_answer() -> Answer {
    let Ok(nonce) = random_text(TOKEN_BYTES) else {
        return Answer::text(503, "this system has no random bytes to give\n");
    };
    let policy = format!(
        "Content-Security-Policy: default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; \
         img-src data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"
    );
    Answer {
        kind: "text/html; charset=utf-8",
        headers: format!("{HEADERS}{policy}"),
        ..Answer::text(200, page("", &nonce))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_for_this_machine() {
        assert!(own_address("8433").is_ok_and(|address| address.to_string() == "127.0.0.1:8433"));
        assert!(own_address("[::1]:0").is_ok());
        assert!(own_address("0.0.0.0:8433").is_err_and(|reason| reason.contains("ssh -L")));
        assert!(own_address("here").is_err());
    }

    #[test]
    fn a_token_is_right_as_a_whole_only() {
        assert!(are_same("abc", "abc"));
        for wrong in ["", "ab", "abd", "abcd"] {
            assert!(!are_same(wrong, "abc"), "{wrong}");
        }
    }
}
