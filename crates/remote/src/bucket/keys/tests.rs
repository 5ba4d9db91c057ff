//! Keys of buckets: from each place that can have them, in the order of the places, against a listener that answers as theirs do.
#![allow(clippy::unwrap_used)]

use super::*;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::thread;

/// Answers each request by the row whose text its first line and headers contain; says what it was asked.
fn service(rows: &'static [(&'static str, &'static str)]) -> (String, thread::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let asked = thread::spawn(move || {
        let mut asked = Vec::new();
        for _ in rows {
            let (mut stream, _) = listener.accept().unwrap();
            let lines = BufReader::new(stream.try_clone().unwrap()).lines().map(Result::unwrap);
            let head = lines.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join("\n");
            let row = rows
                .iter()
                .find(|(part, _)| head.contains(part))
                .unwrap_or_else(|| panic!("{head}"));
            let body = row.1;
            write!(
                stream,
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                body.len()
            )
            .unwrap();
            asked.push(head);
        }
        asked
    });
    (address, asked)
}

fn of(variables: &[(&str, &str)]) -> io::Result<KeyRing> {
    let value = |name: &str| {
        let found = variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    KeyRing::of(&value, &Profile::load(&value)?, "eu-west-1")
}

fn keys(ring: &KeyRing) -> (String, String, Option<String>) {
    let keys = ring.credentials(&Requests::new().unwrap()).unwrap();
    (
        keys.key().to_owned(),
        keys.secret().to_owned(),
        keys.token().map(str::to_owned),
    )
}

const JSON: &str =
    r#"{"Code":"Success","AccessKeyId":"I","SecretAccessKey":"S","Token":"T","Expiration":"2100-01-01T00:00:00Z"}"#;

#[test]
fn variables_come_first() {
    let of_variables = [
        ("AWS_ACCESS_KEY_ID", "I"),
        ("AWS_SECRET_ACCESS_KEY", "S"),
        ("AWS_SESSION_TOKEN", "T"),
        ("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/x"),
    ];
    let all = ("I".to_owned(), "S".to_owned(), Some("T".to_owned()));
    assert_eq!(keys(&of(&of_variables).unwrap()), all);
    let without_token = (all.0, all.1, None);
    assert_eq!(keys(&of(&of_variables[..2]).unwrap()), without_token);
    assert_eq!(of(&of_variables[..1]).unwrap_err().kind(), io::ErrorKind::InvalidInput);
}

#[test]
fn a_profile_has_keys_or_says_what_it_has_instead() {
    let folder = std::env::temp_dir().join(format!("vlflab-profile-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("credentials");
    std::fs::write(
        &file,
        "[work]\naws_access_key_id = I\naws_secret_access_key = S\n[sso]\nsso_session = s\n",
    )
    .unwrap();
    let file = file.to_str().unwrap();
    let profile = |name| [("AWS_SHARED_CREDENTIALS_FILE", file), ("AWS_PROFILE", name)];
    assert_eq!(
        keys(&of(&profile("work")).unwrap()),
        ("I".to_owned(), "S".to_owned(), None)
    );
    let told = of(&profile("sso")).unwrap_err().to_string();
    assert!(
        told.contains("sso_session") && told.contains("export-credentials --profile sso"),
        "{told}"
    );
    assert!(
        of(&profile("other"))
            .unwrap_err()
            .to_string()
            .contains("no profile other")
    );
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_container_asks_its_service_once_while_keys_are_fresh() {
    let (address, asked) = service(&[("GET /keys", JSON)]);
    let url = format!("{address}/keys");
    let ring = of(&[
        ("AWS_CONTAINER_CREDENTIALS_FULL_URI", &url),
        ("AWS_CONTAINER_AUTHORIZATION_TOKEN", "pass"),
    ])
    .unwrap();
    let first = keys(&ring);
    assert_eq!(first, ("I".to_owned(), "S".to_owned(), Some("T".to_owned())));
    assert_eq!(keys(&ring), first);
    assert!(
        asked.join().unwrap()[0]
            .to_ascii_lowercase()
            .contains("authorization: pass")
    );
}

#[test]
fn keys_that_expire_soon_are_fetched_again() {
    const OLD: &str = r#"{"AccessKeyId":"O","SecretAccessKey":"S","Expiration":"2000-01-01T00:00:00Z"}"#;
    let (address, asked) = service(&[("GET /keys", OLD), ("never", "")]);
    let ring = of(&[("AWS_CONTAINER_CREDENTIALS_FULL_URI", &format!("{address}/keys"))]).unwrap();
    assert_eq!((keys(&ring).0, keys(&ring).0), ("O".to_owned(), "O".to_owned()));
    assert_eq!(asked.join().unwrap().len(), 2);
}

#[test]
fn a_machine_of_amazons_has_the_keys_of_its_role() {
    let (address, asked) = service(&[
        ("PUT /latest/api/token", "secret-of-the-session"),
        ("GET /latest/meta-data/iam/security-credentials/role-1", JSON),
        ("GET /latest/meta-data/iam/security-credentials/", "role-1\n"),
    ]);
    let ring = of(&[("AWS_EC2_METADATA_SERVICE_ENDPOINT", &address)]).unwrap();
    assert_eq!(keys(&ring).0, "I");
    let asked = asked.join().unwrap();
    assert!(
        asked[0].contains("token-ttl-seconds") && asked[2].contains("secret-of-the-session"),
        "{asked:?}"
    );
}

#[test]
fn a_service_account_exchanges_its_token() {
    const XML: &str = "<AssumeRoleWithWebIdentityResponse><Credentials><AccessKeyId>I</AccessKeyId>\
        <SecretAccessKey>S</SecretAccessKey><SessionToken>T</SessionToken><Expiration>2100-01-01T00:00:00Z</Expiration>\
        </Credentials></AssumeRoleWithWebIdentityResponse>";
    let (address, asked) = service(&[("Action=AssumeRoleWithWebIdentity", XML)]);
    let file = std::env::temp_dir().join(format!("vlflab-token-{}", std::process::id()));
    std::fs::write(&file, "the.token\n").unwrap();
    let ring = of(&[
        ("AWS_WEB_IDENTITY_TOKEN_FILE", file.to_str().unwrap()),
        ("AWS_ROLE_ARN", "arn:aws:iam::1:role/r"),
        ("AWS_ENDPOINT_URL_STS", &address),
    ])
    .unwrap();
    assert_eq!(keys(&ring), ("I".to_owned(), "S".to_owned(), Some("T".to_owned())));
    assert!(asked.join().unwrap()[0].contains("WebIdentityToken=the.token"));
    std::fs::remove_file(file).unwrap();
}

#[test]
fn without_any_source_it_says_what_to_set() {
    let ring = of(&[("AWS_EC2_METADATA_DISABLED", "true")]).unwrap();
    let told = requests_error(&ring);
    assert!(told.contains("AWS_ACCESS_KEY_ID"), "{told}");
}

fn requests_error(ring: &KeyRing) -> String {
    let requests = Requests::new().unwrap();
    let outcome = super::super::requests::retried(&mut || ring.credentials(&requests), &|| ());
    outcome.unwrap_err().to_string()
}
