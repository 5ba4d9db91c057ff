//! Requests over HTTP, and when one is repeated.
//!
//! | answer | |
//! |---|---|
//! | none, or one that breaks off | again |
//! | 408, 409, 425, 429, 500 and above | again |
//! | 400 or 403 that says the request or its key is too old | again, with renewed keys |
//! | 404 | the object does not exist |
//! | 3xx, 400, 401, 403 and others | repeating is useless |
//!
//! The pause between two attempts doubles, and is randomly shortened by up to half, so that many shards do not retry at the same time.
//!
//! Source: Amazon S3 API Reference, "Error responses"; AWS SDKs and Tools Reference Guide, "Retry behavior".

use std::fmt::Display;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use ureq::http::Response;
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Agent, Body};
use url::Url;

const ATTEMPTS_MAX: u32 = 10;
const PAUSE_FIRST: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(10);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Between two pieces of an answer, or of what is sent.
const SILENCE_MAX: Duration = Duration::from_mins(1);
/// The machine's own services answer at once, or are not there.
const NEAR_TIMEOUT: Duration = Duration::from_secs(2);
/// What an error's text may have.
const ERROR_BYTES_MAX: u64 = 64 << 10;

/// What came back from a request that succeeded.
#[derive(Debug)]
pub struct Answer {
    pub body: Vec<u8>,
}

/// A request that did not succeed.
#[derive(Debug)]
pub struct Failed {
    /// None where no answer came.
    pub status: Option<u16>,
    /// The server's word for it; empty where it has none.
    pub code: String,
    text: String,
    kind: io::ErrorKind,
    is_worth_repeating: bool,
}

impl Failed {
    /// The same, of a request that succeeded earlier and may again.
    pub fn passing(self) -> Failed {
        Failed {
            is_worth_repeating: true,
            ..self
        }
    }

    /// One that may succeed the next time.
    pub fn again(text: impl Display) -> Failed {
        Failed {
            status: None,
            code: String::new(),
            text: text.to_string(),
            kind: io::ErrorKind::ConnectionAborted,
            is_worth_repeating: true,
        }
    }

    /// One of that kind, which comes again.
    pub fn final_one(kind: io::ErrorKind, text: impl Display) -> Failed {
        Failed {
            is_worth_repeating: false,
            kind,
            ..Failed::again(text)
        }
    }

    /// What a status and the text of an answer say.
    fn of_answer(status: u16, text: &str) -> Failed {
        const OUT_OF_DATE: [&str; 4] = [
            "RequestTimeout",
            "RequestTimeTooSkewed",
            "ExpiredToken",
            "ExpiredTokenException",
        ];
        let code = element(text, "Code").unwrap_or_default();
        let is_out_of_date = matches!(status, 400 | 403) && OUT_OF_DATE.contains(&code.as_str());
        let is_busy = matches!(status, 408 | 409 | 425 | 429 | 500..) && code != "NotImplemented";
        let said = [
            Some(format!("status {status}")),
            element(text, "Code"),
            element(text, "Message"),
        ];
        Failed {
            status: Some(status),
            text: said.into_iter().flatten().collect::<Vec<_>>().join(", "),
            kind: match (status, code.as_str()) {
                _ if is_out_of_date || is_busy => io::ErrorKind::ConnectionAborted,
                (404, "NoSuchKey" | "") => io::ErrorKind::NotFound,
                _ => io::ErrorKind::InvalidInput,
            },
            code,
            is_worth_repeating: is_out_of_date || is_busy,
        }
    }
}

/// The text of the first element of that name in XML.
pub fn element(xml: &str, name: &str) -> Option<String> {
    let (_, rest) = xml.split_once(&format!("<{name}>"))?;
    let (text, _) = rest.split_once(&format!("</{name}>"))?;
    let plain = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
    Some(plain.replace("&apos;", "'").replace("&#39;", "'").replace("&amp;", "&"))
}

/// Attempts a request until it succeeds, cannot succeed, or has been attempted often enough.
pub fn retried<T>(attempt: &mut dyn FnMut() -> Result<T, Failed>, renew: &dyn Fn()) -> io::Result<T> {
    let mut pause = PAUSE_FIRST;
    let mut attempts = 1;
    loop {
        let failed = match attempt() {
            Ok(answer) => return Ok(answer),
            Err(failed) => failed,
        };
        if !failed.is_worth_repeating {
            return Err(io::Error::new(failed.kind, failed.text));
        }
        if attempts == ATTEMPTS_MAX {
            let text = format!("{}; attempted {attempts} times", failed.text);
            return Err(io::Error::new(failed.kind, text));
        }
        if failed.status.is_some_and(|status| status < 405) {
            renew();
        }
        let random = RandomState::new().hash_one(attempts) % 512;
        thread::sleep(pause / 2 + pause * (random as u32) / 1024);
        pause = (pause * 2).min(PAUSE_MAX);
        attempts += 1;
    }
}

/// Connections to servers, kept between two requests.
#[derive(Debug)]
pub struct Requests {
    agent: Agent,
    near: Agent,
}

impl Requests {
    /// TLS trusts whom the operating system trusts; proxies are those of the environment, which the machine's own services are not behind.
    ///
    /// # Errors
    /// None of the operating system's certificates can be read.
    pub fn new() -> io::Result<Requests> {
        let found = rustls_native_certs::load_native_certs();
        if let (true, Some(error)) = (found.certs.is_empty(), found.errors.into_iter().next()) {
            return Err(io::Error::other(format!(
                "certificates of the operating system: {error}"
            )));
        }
        let certificates: Vec<Certificate<'static>> = found
            .certs
            .iter()
            .map(|certificate| Certificate::from_der(certificate).to_owned())
            .collect();
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::new_with_certs(&certificates))
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .build();
        let agent = Agent::config_builder()
            .tls_config(tls.clone())
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(concat!("vlflab/", env!("CARGO_PKG_VERSION")))
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .timeout_per_read(Some(SILENCE_MAX))
            .timeout_per_write(Some(SILENCE_MAX));
        let near = Agent::config_builder()
            .tls_config(tls)
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            .timeout_global(Some(NEAR_TIMEOUT));
        Ok(Requests {
            agent: agent.build().new_agent(),
            near: near.build().new_agent(),
        })
    }

    pub fn get(&self, url: &Url, bytes_max: u64) -> Result<Answer, Failed> {
        answer(self.agent.get(url.as_str()).call(), bytes_max)
    }

    pub fn put(&self, url: &Url, header: Option<(&str, &str)>, text: &str) -> Result<Answer, Failed> {
        let mut request = self.agent.put(url.as_str());
        if let Some((name, value)) = header {
            request = request.header(name, value);
        }
        answer(request.send(text.as_bytes()), ERROR_BYTES_MAX)
    }

    /// Asks a service of the machine that this runs on.
    pub fn near(&self, method: Near, url: &str, header: Option<(&str, &str)>) -> Result<Answer, Failed> {
        let outcome = match method {
            Near::Get => match header {
                Some((name, value)) => self.near.get(url).header(name, value).call(),
                None => self.near.get(url).call(),
            },
            Near::Put => match header {
                Some((name, value)) => self.near.put(url).header(name, value).send_empty(),
                None => self.near.put(url).send_empty(),
            },
        };
        answer(outcome, ERROR_BYTES_MAX)
    }
}

/// How a service of the machine is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Near {
    Get,
    Put,
}

fn answer(outcome: Result<Response<Body>, ureq::Error>, bytes_max: u64) -> Result<Answer, Failed> {
    let mut response = outcome.map_err(Failed::again)?;
    let status = response.status().as_u16();
    let is_success = response.status().is_success();
    let limit = if is_success { bytes_max } else { ERROR_BYTES_MAX };
    let body = response.body_mut().with_config().limit(limit).read_to_vec();
    match body {
        Err(ureq::Error::BodyExceedsLimit(_)) if is_success => Err(Failed::final_one(
            io::ErrorKind::InvalidData,
            format!("it is longer than {} MB, which none is", bytes_max >> 20),
        )),
        Err(error) => Err(Failed::again(error)),
        Ok(body) if is_success => Ok(Answer { body }),
        Ok(body) => Err(Failed::of_answer(status, &String::from_utf8_lossy(&body))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_repeated_is_what_may_succeed() {
        let of = |status, code: &str| {
            let text = format!("<Error><Code>{code}</Code><Message>so &lt;it&gt; is</Message></Error>");
            let failed = Failed::of_answer(status, &text);
            (failed.is_worth_repeating, failed.kind)
        };
        let again = (true, io::ErrorKind::ConnectionAborted);
        let useless = (false, io::ErrorKind::InvalidInput);
        for (status, code, expected) in [
            (500, "InternalError", again),
            (503, "SlowDown", again),
            (503, "", again),
            (429, "", again),
            (409, "ConditionalRequestConflict", again),
            (400, "ExpiredToken", again),
            (403, "RequestTimeTooSkewed", again),
            (501, "NotImplemented", useless),
            (403, "AccessDenied", useless),
            (301, "PermanentRedirect", useless),
            (404, "NoSuchBucket", useless),
            (404, "NoSuchKey", (false, io::ErrorKind::NotFound)),
        ] {
            assert_eq!(of(status, code), expected, "{status} {code}");
        }
        let text = Failed::of_answer(403, "<Code>AccessDenied</Code><Message>so &lt;it&gt; is</Message>").text;
        assert_eq!(text, "status 403, AccessDenied, so <it> is");
    }

    #[test]
    fn a_request_is_given_up_at_last() {
        let mut attempts = 0;
        let mut attempt = || -> Result<(), Failed> {
            attempts += 1;
            match attempts {
                1..4 => Err(Failed::again("gone")),
                _ => Err(Failed::final_one(io::ErrorKind::NotFound, "nothing")),
            }
        };
        let told = retried(&mut attempt, &|| ()).map_err(|error| error.to_string());
        assert_eq!((told, attempts), (Err("nothing".to_owned()), 4));
    }
}
