//! A server's logs read over the lab's client, into the snapshot that `advisor` judges.
//!
//! What is asked, and what becomes of the answers, is [`advisor::snapshot::Gathering`]'s. Here are the connection and the clock: one
//! connection at a time, one query at a time, a limit for each. A query that takes longer is stopped by ATTENTION. A connection that breaks is
//! opened again once; after that the rest is "not read".

use std::time::Duration;

use advisor::snapshot::query::PREAMBLE;
use advisor::snapshot::{Answer, Gathering, Refusal, Request, Rows, Snapshot};

use crate::client::{ClientError, Connection, Event, Identity, Target};

/// How long one query may take.
pub const QUERY_LIMIT: Duration = Duration::from_secs(30);
/// Rows of one answer that are kept. 200,000 VLFs are more than any log is known to have had.
const ROWS_MAX: usize = 1_000_000;

/// Reads a server.
///
/// # Errors
/// Nobody answers, or the login is refused. Everything else is part of the snapshot.
pub fn snapshot(target: &Target, limit: Duration) -> Result<Snapshot, ClientError> {
    read(Gathering::begin(&name_of(target)), target, limit)
}

/// Reads one database, and who holds its log.
///
/// # Errors
/// As [`snapshot`].
pub fn snapshot_of_database(target: &Target, limit: Duration, database: &str) -> Result<Snapshot, ClientError> {
    read(Gathering::of_database(&name_of(target), database), target, limit)
}

fn name_of(target: &Target) -> String {
    match target.host.contains('\\') {
        true => target.host.clone(),
        false => format!("{}:{}", target.host, target.port),
    }
}

fn read(mut gathering: Gathering, target: &Target, limit: Duration) -> Result<Snapshot, ClientError> {
    let mut connection = open(target, limit)?;
    let mut may_reconnect = true;
    while let Some(request) = gathering.next_request() {
        let answer = ask(&mut connection, &request, limit);
        let lost = matches!(answer, Answer::Lost(_));
        gathering.answer(&request, answer);
        if !lost {
            continue;
        }
        match may_reconnect.then(|| open(target, limit)) {
            Some(Ok(again)) => connection = again,
            Some(Err(error)) => gathering.give_up(&error.to_string()),
            None => gathering.give_up("the connection broke twice"),
        }
        may_reconnect = false;
    }
    Ok(gathering.finish())
}

/// A connection that disturbs nobody.
fn open(target: &Target, limit: Duration) -> Result<Connection, ClientError> {
    let identity = Identity {
        application: "vlflab advise".to_owned(),
        ..Identity::default()
    };
    let mut connection = Connection::open_as(target, &identity)?;
    let mut refused = None;
    let told = connection.run_within(PREAMBLE, limit, &mut |event| {
        if let Event::Error(message) = event {
            refused.get_or_insert_with(|| message.clone());
        }
    });
    match (told, refused) {
        (Ok(()), None) => Ok(connection),
        (Ok(()), Some(message)) => Err(ClientError::Server(message)),
        (Err(error), _) => Err(ClientError::Unreachable {
            address: format!("{}:{}", target.host, target.port),
            reason: error.to_string(),
        }),
    }
}

/// Runs one query. Of several result sets the first counts.
fn ask(connection: &mut Connection, request: &Request, limit: Duration) -> Answer {
    let mut rows = Rows::default();
    let mut result_sets = 0;
    let mut refused: Option<Refusal> = None;
    let outcome = connection.run_within(&request.text, limit, &mut |event| match event {
        Event::Columns(headings) => {
            result_sets += 1;
            if result_sets == 1 {
                rows.columns = headings.iter().map(|heading| heading.name.clone()).collect();
            }
        }
        Event::Row(values) if result_sets == 1 && rows.rows.len() < ROWS_MAX => rows.rows.push(values.to_vec()),
        Event::Error(message) => {
            refused.get_or_insert_with(|| Refusal {
                number: message.number.into(),
                text: message.text.clone(),
            });
        }
        _ => {}
    });
    match (outcome, refused) {
        (Ok(()), None) => Answer::Rows(rows),
        (Ok(()), Some(refusal)) => Answer::Refused(refusal),
        (Err(ClientError::Interrupted), _) => Answer::TimedOut(limit.as_secs()),
        (Err(error), _) => Answer::Lost(error.to_string()),
    }
}
