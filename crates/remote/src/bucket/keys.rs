//! Access keys, from the same sources as the AWS tools, in this order.
//!
//! | source | |
//! |---|---|
//! | AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN | |
//! | AWS_WEB_IDENTITY_TOKEN_FILE, AWS_ROLE_ARN, AWS_ROLE_SESSION_NAME | exchanged by STS: a service account of Kubernetes |
//! | the profile's aws_access_key_id, aws_secret_access_key, aws_session_token | |
//! | AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI, AWS_CONTAINER_AUTHORIZATION_TOKEN or _FILE | ECS, AWS Batch, EKS |
//! | the machine's metadata, version 2 (AWS_EC2_METADATA_SERVICE_ENDPOINT) | unless AWS_EC2_METADATA_DISABLED is true |
//!
//! A profile that gets its keys in another way (`sso_session`, `role_arn`, `credential_process`) is refused, with the command that turns
//! them into variables. Keys that expire are fetched again before they do.
//!
//! Source: AWS SDKs and Tools Reference Guide, "Standardized credential providers".

use super::profile::Profile;
use super::requests::{Failed, Near, Requests, element};
use super::{amazon, invalid};
use jiff::Timestamp;
use rusty_s3::Credentials;
use serde_json::Value;
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use url::Url;

/// How long before they expire keys are fetched anew.
const EARLY: Duration = Duration::from_mins(5);
const STS_BYTES_MAX: u64 = 64 << 10;
const CONTAINER_SERVICE: &str = "http://169.254.170.2";
const INSTANCE_SERVICE: &str = "http://169.254.169.254";
const INSTANCE_KEYS: &str = "latest/meta-data/iam/security-credentials/";

/// Where keys come from.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Source {
    /// Known once and for all.
    Known {
        id: String,
        secret: String,
        token: Option<String>,
    },
    WebIdentity {
        service: String,
        token_file: PathBuf,
        role: String,
        session: String,
    },
    Container {
        url: String,
        authorization: Option<Authorization>,
    },
    Instance {
        service: String,
    },
    Nowhere,
}

/// What a container's service wants to see.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Authorization {
    Token(String),
    /// Read each time: it changes.
    File(PathBuf),
}

struct Kept {
    credentials: Credentials,
    expires: Option<Timestamp>,
}

/// Keys, fetched when they are asked for first, and when they expire.
pub struct KeyRing {
    source: Source,
    kept: Mutex<Option<Kept>>,
}

impl std::fmt::Debug for KeyRing {
    /// A text that keeps the secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeyRing").finish_non_exhaustive()
    }
}

impl KeyRing {
    /// Finds the first source that the environment has.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] for half of a source, or a profile that gets its keys in a way that is not known.
    pub fn of(environment: &dyn Fn(&str) -> Option<String>, profile: &Profile, region: &str) -> io::Result<KeyRing> {
        Ok(KeyRing {
            source: source(environment, profile, region)?,
            kept: Mutex::default(),
        })
    }

    /// The keys to sign with.
    pub fn credentials(&self, requests: &Requests) -> Result<Credentials, Failed> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let is_fresh = |kept: &Kept| kept.expires.is_none_or(|expires| expires > Timestamp::now() + EARLY);
        if let Some(fresh) = kept.as_ref().filter(|kept| is_fresh(kept)) {
            return Ok(fresh.credentials.clone());
        }
        let failed = match self.source.fetch(requests) {
            Ok(fetched) => return Ok(kept.insert(fetched).credentials.clone()),
            Err(failed) => failed,
        };
        // They are fetched early, so that a service which fails for a moment stops nothing: those that are there go on until they expire, and are
        // asked for again then.
        let is_valid = |kept: &Kept| kept.expires.is_none_or(|expires| expires > Timestamp::now());
        match kept.as_ref() {
            Some(still) if is_valid(still) => Ok(still.credentials.clone()),
            Some(_) => Err(failed.passing()),
            None => Err(failed),
        }
    }

    /// Fetches them again before the next request: these were refused for their age.
    pub fn forget(&self) {
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

fn source(environment: &dyn Fn(&str) -> Option<String>, profile: &Profile, region: &str) -> io::Result<Source> {
    let variable = |name: &str| environment(name).filter(|value| !value.is_empty());
    match (variable("AWS_ACCESS_KEY_ID"), variable("AWS_SECRET_ACCESS_KEY")) {
        (Some(id), Some(secret)) => {
            let token = variable("AWS_SESSION_TOKEN");
            return Ok(Source::Known { id, secret, token });
        }
        (None, None) => {}
        _ => return Err(invalid("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are needed both")),
    }
    if let (Some(file), Some(role)) = (variable("AWS_WEB_IDENTITY_TOKEN_FILE"), variable("AWS_ROLE_ARN")) {
        return Ok(Source::WebIdentity {
            service: variable("AWS_ENDPOINT_URL_STS").unwrap_or_else(|| amazon("sts", region)),
            token_file: file.into(),
            role,
            session: variable("AWS_ROLE_SESSION_NAME").unwrap_or_else(|| "vlflab".to_owned()),
        });
    }
    if let Some(known) = of_profile(profile)? {
        return Ok(known);
    }
    let authorization = || {
        let file = variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE").map(|file| Authorization::File(file.into()));
        file.or_else(|| variable("AWS_CONTAINER_AUTHORIZATION_TOKEN").map(Authorization::Token))
    };
    let relative = variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI").map(|path| format!("{CONTAINER_SERVICE}{path}"));
    if let Some(url) = relative.or_else(|| variable("AWS_CONTAINER_CREDENTIALS_FULL_URI")) {
        return Ok(Source::Container {
            url,
            authorization: authorization(),
        });
    }
    if variable("AWS_EC2_METADATA_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
        return Ok(Source::Nowhere);
    }
    let service = variable("AWS_EC2_METADATA_SERVICE_ENDPOINT").unwrap_or_else(|| INSTANCE_SERVICE.to_owned());
    Ok(Source::Instance { service })
}

fn of_profile(profile: &Profile) -> io::Result<Option<Source>> {
    let keys = (
        profile.value("aws_access_key_id"),
        profile.value("aws_secret_access_key"),
    );
    if let (Some(id), Some(secret)) = keys {
        let token = profile.value("aws_session_token");
        return Ok(Some(Source::Known { id, secret, token }));
    }
    let others = [
        "sso_session",
        "sso_start_url",
        "role_arn",
        "credential_process",
        "web_identity_token_file",
    ];
    match others.into_iter().find(|key| profile.value(key).is_some()) {
        Some(key) => Err(invalid(format!(
            "profile {name} gets its keys by {key}, which is not known here; \
             'aws configure export-credentials --profile {name} --format env' prints them as variables",
            name = profile.name
        ))),
        None => Ok(None),
    }
}

impl Source {
    fn fetch(&self, requests: &Requests) -> Result<Kept, Failed> {
        match self {
            Source::Known { id, secret, token } => Ok(Kept {
                credentials: credentials(id.clone(), secret.clone(), token.clone()),
                expires: None,
            }),
            Source::WebIdentity {
                service,
                token_file,
                role,
                session,
            } => {
                let parameters = [
                    ("Action", "AssumeRoleWithWebIdentity"),
                    ("Version", "2011-06-15"),
                    ("RoleArn", role),
                    ("RoleSessionName", session),
                    ("WebIdentityToken", &read_token(token_file)?),
                ];
                let url = Url::parse_with_params(service, parameters);
                let url = url.map_err(|error| Failed::final_one(io::ErrorKind::InvalidInput, error))?;
                let answer = requests.get(&url, STS_BYTES_MAX)?;
                let text = String::from_utf8_lossy(&answer.body).into_owned();
                kept(&|names| names.iter().find_map(|name| element(&text, name)))
            }
            Source::Container { url, authorization } => {
                let token = match authorization {
                    None => None,
                    Some(Authorization::Token(token)) => Some(token.clone()),
                    Some(Authorization::File(file)) => Some(read_token(file)?),
                };
                let header = token.as_deref().map(|token| ("authorization", token));
                of_json(&requests.near(Near::Get, url, header)?.body)
            }
            Source::Instance { service } => of_instance(service, requests),
            Source::Nowhere => Err(no_keys()),
        }
    }
}

fn no_keys() -> Failed {
    let text = "there are no keys: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; \
        or give this machine or its container a role";
    Failed::final_one(io::ErrorKind::InvalidInput, text)
}

fn of_instance(service: &str, requests: &Requests) -> Result<Kept, Failed> {
    let service = service.trim_end_matches('/');
    let text = |body: Vec<u8>| String::from_utf8_lossy(&body).trim().to_owned();
    let lifetime = ("x-aws-ec2-metadata-token-ttl-seconds", "21600");
    // Where nothing answers, this machine is not Amazon's.
    let token = requests.near(Near::Put, &format!("{service}/latest/api/token"), Some(lifetime));
    let token = token.map_err(|failed| match failed.status {
        None => no_keys(),
        Some(_) => failed,
    });
    let token = text(token?.body);
    let header = Some(("x-aws-ec2-metadata-token", token.as_str()));
    let roles = requests.near(Near::Get, &format!("{service}/{INSTANCE_KEYS}"), header)?;
    let roles = text(roles.body);
    let role = roles.lines().next().ok_or_else(no_keys)?;
    of_json(
        &requests
            .near(Near::Get, &format!("{service}/{INSTANCE_KEYS}{role}"), header)?
            .body,
    )
}

fn read_token(file: &PathBuf) -> Result<String, Failed> {
    let token = std::fs::read_to_string(file);
    let token = token.map_err(|error| Failed::final_one(error.kind(), format!("{}: {error}", file.display())))?;
    Ok(token.trim().to_owned())
}

fn of_json(body: &[u8]) -> Result<Kept, Failed> {
    let value: Value = serde_json::from_slice(body).map_err(|error| Failed::again(format!("keys: {error}")))?;
    kept(&|names| {
        let text = names.iter().find_map(|name| value.get(name)?.as_str());
        text.map(str::to_owned)
    })
}

/// Keys of an answer, each by one of its names.
fn kept(value: &dyn Fn(&[&str]) -> Option<String>) -> Result<Kept, Failed> {
    let (Some(id), Some(secret)) = (value(&["AccessKeyId"]), value(&["SecretAccessKey"])) else {
        return Err(Failed::again("keys: the answer has none"));
    };
    let expires = value(&["Expiration"]).and_then(|text| text.parse().ok());
    Ok(Kept {
        credentials: credentials(id, secret, value(&["Token", "SessionToken"])),
        expires,
    })
}

fn credentials(id: String, secret: String, token: Option<String>) -> Credentials {
    match token {
        Some(token) => Credentials::new_with_token(id, secret, token),
        None => Credentials::new(id, secret),
    }
}

#[cfg(test)]
mod tests;
