//! Text files in a bucket of S3 or of a compatible service, below one prefix.
//!
//! ```text
//! s3://BUCKET/PREFIX/NAME      PREFIX may be empty or have several parts; NAME has no '/'
//! ```
//! | variable | |
//! |---|---|
//! | AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL | the server, in place of Amazon's; addressed as SERVER/BUCKET/KEY |
//! | AWS_REGION, AWS_DEFAULT_REGION | the region; else the profile's, else us-east-1 |
//! | those of [`keys`] | the keys |
//!
//! - A file is written by one atomic PUT, on the condition that no object with its name exists (`If-None-Match: *`). A server that does not
//!   know the condition gets plain PUTs.
//! - A request is repeated if it may succeed the next time: see [`requests`].
//!
//! Source: Amazon S3 API Reference, PutObject, GetObject, ListObjectsV2; AWS SDKs and Tools Reference Guide, "Service-specific endpoints".

mod keys;
mod profile;
mod requests;

use keys::KeyRing;
use profile::Profile;
use requests::{Answer, Failed, Requests};
use rusty_s3::actions::{GetObject, ListObjectsV2, PutObject};
use rusty_s3::{Bucket as Store, Credentials, S3Action, UrlStyle};
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use url::Url;

/// How long a signed request is valid: as long as it may wait in queues.
const SIGNED_FOR: Duration = Duration::from_mins(15);
/// The longest list of names that a server sends: 1,000 of at most 1,024 bytes each, with what else is said of each.
const LIST_BYTES_MAX: u64 = 16 << 20;
const DEFAULT_REGION: &str = "us-east-1";
const NO_CONDITION: &str = "NotImplemented";

/// A prefix of a bucket, open for reading and writing by several threads.
#[derive(Debug)]
pub struct Bucket {
    url: String,
    store: Store,
    /// Empty, or ends with '/'.
    prefix: String,
    keys: KeyRing,
    requests: Requests,
    /// The server knows no condition on PUT.
    is_without_condition: AtomicBool,
}

impl fmt::Display for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.url.fmt(f)
    }
}

fn invalid(text: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, text.into())
}

impl Bucket {
    /// Opens `s3://BUCKET/PREFIX`, with the server and keys that the environment names. No request is made.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] for a URL that is none, an endpoint that is none, or a profile that cannot be used.
    pub fn open(url: &str, environment: &dyn Fn(&str) -> Option<String>) -> io::Result<Bucket> {
        let (name, prefix) = parts(url)?;
        let profile = Profile::load(environment)?;
        let variable = |name: &str| environment(name).filter(|value| !value.is_empty());
        let region = variable("AWS_REGION")
            .or_else(|| variable("AWS_DEFAULT_REGION"))
            .or_else(|| profile.value("region"))
            .unwrap_or_else(|| DEFAULT_REGION.to_owned());
        let endpoint = variable("AWS_ENDPOINT_URL_S3")
            .or_else(|| variable("AWS_ENDPOINT_URL"))
            .or_else(|| profile.value("endpoint_url"));
        // A certificate is for one name before the region, so a bucket with dots cannot be part of the host's name.
        let style = match &endpoint {
            None if !name.contains('.') => UrlStyle::VirtualHost,
            _ => UrlStyle::Path,
        };
        let endpoint = endpoint.unwrap_or_else(|| amazon("s3", &region));
        let server = server_of(&endpoint)?;
        let store = Store::new(server, style, name.to_owned(), region.clone());
        Ok(Bucket {
            url: url.trim_end_matches('/').to_owned(),
            store: store.map_err(|error| invalid(format!("{ENDPOINT}: {error}")))?,
            prefix,
            keys: KeyRing::of(environment, &profile, &region)?,
            requests: Requests::new()?,
            is_without_condition: AtomicBool::new(false),
        })
    }

    /// The names of the files below the prefix, without those of parts further below.
    ///
    /// # Errors
    /// The server says no, or does not answer.
    pub fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        let mut token: Option<String> = None;
        loop {
            let page = self.retried(&|keys| {
                let mut list = ListObjectsV2::new(&self.store, Some(keys));
                list.with_prefix(self.prefix.as_str());
                list.with_delimiter("/");
                if let Some(token) = &token {
                    list.with_continuation_token(token.as_str());
                }
                let answer = self.requests.get(&list.sign(SIGNED_FOR), LIST_BYTES_MAX)?;
                let text = String::from_utf8_lossy(&answer.body);
                // A list that broke off is asked for again.
                ListObjectsV2::parse_response(&text).map_err(|error| Failed::again(format!("a list of names: {error}")))
            })?;
            let keys = page.contents.into_iter().map(|entry| entry.key);
            names.extend(keys.filter_map(|key| key.strip_prefix(&self.prefix).map(str::to_owned)));
            token = page.next_continuation_token;
            if token.is_none() {
                names.retain(|name| !name.is_empty());
                return Ok(names);
            }
        }
    }

    /// The text of a file of at most so many bytes.
    ///
    /// # Errors
    /// The server says no, or does not answer; [`io::ErrorKind::NotFound`] where there is no such file, [`io::ErrorKind::InvalidData`] where it
    /// is too long or not text.
    pub fn read(&self, name: &str, bytes_max: u64) -> io::Result<String> {
        let key = format!("{}{name}", self.prefix);
        let answer = self.retried(&|keys| {
            let url = GetObject::new(&self.store, Some(keys), &key).sign(SIGNED_FOR);
            self.requests.get(&url, bytes_max)
        })?;
        let text = String::from_utf8(answer.body);
        text.map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not text"))
    }

    /// Writes a file, whole, unless one of its name is there: that one stays.
    ///
    /// # Errors
    /// The server says no, or does not answer.
    pub fn write(&self, name: &str, text: &str) -> io::Result<()> {
        let key = format!("{}{name}", self.prefix);
        self.retried(&|keys| {
            let is_conditional = !self.is_without_condition.load(Ordering::Relaxed);
            match self.put(keys, &key, text, is_conditional) {
                // There already; perhaps by this request, whose answer was lost.
                Err(failed) if is_conditional && failed.status == Some(412) => Ok(()),
                Err(failed) if is_conditional && failed.code == NO_CONDITION => {
                    self.is_without_condition.store(true, Ordering::Relaxed);
                    self.put(keys, &key, text, false).map(drop)
                }
                outcome => outcome.map(drop),
            }
        })
    }

    fn put(&self, keys: &Credentials, key: &str, text: &str, is_conditional: bool) -> Result<Answer, Failed> {
        let mut put = PutObject::new(&self.store, Some(keys), key);
        let condition = is_conditional.then_some(("if-none-match", "*"));
        if let Some((name, value)) = condition {
            put.headers_mut().insert(name, value);
        }
        self.requests.put(&put.sign(SIGNED_FOR), condition, text)
    }

    fn retried<T>(&self, attempt: &dyn Fn(&Credentials) -> Result<T, Failed>) -> io::Result<T> {
        requests::retried(&mut || attempt(&self.keys.credentials(&self.requests)?), &|| {
            self.keys.forget()
        })
    }
}

/// Where the address of a server comes from. It is named in place of the address, which may hold a password.
const ENDPOINT: &str = "AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL or endpoint_url of the profile";

/// The server of an address, which is not to hold keys: errors and logs would show them.
fn server_of(endpoint: &str) -> io::Result<Url> {
    let server = Url::parse(endpoint).map_err(|error| invalid(format!("{ENDPOINT}: {error}")))?;
    match server.username().is_empty() && server.password().is_none() {
        true => Ok(server),
        false => Err(invalid(format!(
            "{ENDPOINT} holds a user name or a password; give keys as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        ))),
    }
}

/// The address of one of Amazon's services.
fn amazon(service: &str, region: &str) -> String {
    let domain = if region.starts_with("cn-") { ".cn" } else { "" };
    format!("https://{service}.{region}.amazonaws.com{domain}")
}

/// The bucket and the prefix of a URL.
fn parts(url: &str) -> io::Result<(&str, String)> {
    let rest = url.strip_prefix("s3://").unwrap_or_default();
    let (name, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    let prefix = prefix.trim_end_matches('/');
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    if name.is_empty() || !name.bytes().all(is_name) || prefix.split('/').any(|part| part == ".." || part == ".") {
        return Err(invalid(format!("{url} is not of the form s3://BUCKET/PREFIX")));
    }
    let prefix = if prefix.is_empty() {
        String::new()
    } else {
        format!("{prefix}/")
    };
    Ok((name, prefix))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_url_has_a_bucket_and_perhaps_a_prefix() {
        for (url, name, prefix) in [
            ("s3://b", "b", ""),
            ("s3://b/", "b", ""),
            ("s3://b.c-d/x", "b.c-d", "x/"),
            ("s3://b/x/y//", "b", "x/y/"),
        ] {
            assert_eq!(parts(url).unwrap(), (name, prefix.to_owned()), "{url}");
        }
        for url in ["s3://", "s3:///x", "b/x", "s3://b c/x", "s3://b/../x", "s3://b?x/y"] {
            assert_eq!(parts(url).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{url}");
        }
    }

    /// An address with a password in it would stand in error texts and in the logs of schedulers.
    #[test]
    fn no_password_of_an_address_is_shown() {
        for address in [
            "http://me:hidden@127.0.0.1:9000",
            "http://me:hidden@127.0.0.1:port",
            "me:hidden",
        ] {
            let value = |name: &str| match name {
                "AWS_ENDPOINT_URL" => Some(address.to_owned()),
                "HOME" => Some("/nonexistent".to_owned()),
                _ => None,
            };
            let refused = Bucket::open("s3://b", &value).err().unwrap();
            assert_eq!(refused.kind(), io::ErrorKind::InvalidInput);
            let text = refused.to_string();
            assert!(text.contains("AWS_ENDPOINT_URL") && !text.contains("hidden"), "{text}");
        }
    }

    #[test]
    fn the_server_is_amazons_or_the_one_that_is_named() {
        let url = |variables: &[(&str, &str)], url: &str| {
            let value = |name: &str| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            let bucket = Bucket::open(url, &value).unwrap();
            bucket.store.object_url("k").to_string()
        };
        let nowhere = ("HOME", "/nonexistent");
        for (variables, of, expected) in [
            (&[nowhere][..], "s3://b", "https://b.s3.us-east-1.amazonaws.com/k"),
            (
                &[nowhere, ("AWS_REGION", "eu-west-1")],
                "s3://b.c",
                "https://s3.eu-west-1.amazonaws.com/b.c/k",
            ),
            (
                &[nowhere, ("AWS_DEFAULT_REGION", "cn-north-1")],
                "s3://b",
                "https://b.s3.cn-north-1.amazonaws.com.cn/k",
            ),
            (
                &[nowhere, ("AWS_ENDPOINT_URL", "http://127.0.0.1:9000")],
                "s3://b",
                "http://127.0.0.1:9000/b/k",
            ),
            (
                &[
                    nowhere,
                    ("AWS_ENDPOINT_URL", "http://other"),
                    ("AWS_ENDPOINT_URL_S3", "http://store"),
                ],
                "s3://b",
                "http://store/b/k",
            ),
        ] {
            assert_eq!(url(variables, of), expected);
        }
    }
}
