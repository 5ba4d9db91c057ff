//! Reads a server's logs over the lab's client, into the snapshot that `advisor` analyses.
//!
//! [`advisor::snapshot::Gathering`] chooses the queries and evaluates the answers. This module has the connection and the clock: one
//! connection, one query at a time, a time limit for each. A query that takes longer is stopped by ATTENTION. A broken connection is
//! reopened once; after that the rest is "not read".

use std::collections::BTreeMap;
use std::time::Duration;

use advisor::snapshot::query::PREAMBLE;
use advisor::snapshot::{Answer, Counts, Gathering, Refusal, Request, Rows, Snapshot};

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

/// Reads one database, and what holds its log.
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

/// A server that is read again and again, over one connection. VLFs are read only where the counts of a database have changed.
pub struct Watch {
    target: Target,
    limit: Duration,
    connection: Option<Connection>,
    counts: BTreeMap<i64, Counts>,
}

impl Watch {
    pub fn new(target: Target, limit: Duration) -> Watch {
        Watch {
            target,
            limit,
            connection: None,
            counts: BTreeMap::new(),
        }
    }

    /// Reads it as it is now.
    ///
    /// # Errors
    /// Nobody answers, the login is refused, or the list of databases cannot be read. The next call begins anew.
    pub fn read(&mut self) -> Result<Snapshot, ClientError> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => open(&self.target, self.limit)?,
        };
        let gathering = Gathering::to_watch(&name_of(&self.target), self.counts.clone());
        let snapshot = read_on(&mut connection, gathering, &self.target, self.limit);
        if snapshot.databases.is_empty() {
            let why = snapshot.not_read.last().map(|not_read| not_read.reason.clone());
            return Err(ClientError::Lost(
                why.unwrap_or_else(|| "it has no databases".to_owned()),
            ));
        }
        for database in &snapshot.databases {
            let is_read = database.log_files.iter().any(|file| !file.vlfs.is_empty());
            if let Some(counts) = Counts::of(database).filter(|_| is_read) {
                self.counts.insert(database.database_id, counts);
            }
        }
        self.connection = Some(connection);
        Ok(snapshot)
    }
}

fn read(gathering: Gathering, target: &Target, limit: Duration) -> Result<Snapshot, ClientError> {
    Ok(read_on(&mut open(target, limit)?, gathering, target, limit))
}

/// Asks everything on one connection, or on the one that takes its place when it breaks.
fn read_on(connection: &mut Connection, mut gathering: Gathering, target: &Target, limit: Duration) -> Snapshot {
    let mut may_reconnect = true;
    while let Some(request) = gathering.next_request() {
        let answer = ask(connection, &request, limit);
        let lost = matches!(answer, Answer::Lost(_));
        gathering.answer(&request, answer);
        if !lost {
            continue;
        }
        match may_reconnect.then(|| open(target, limit)) {
            Some(Ok(again)) => *connection = again,
            Some(Err(error)) => gathering.give_up(&error.to_string()),
            None => gathering.give_up("the connection broke twice"),
        }
        may_reconnect = false;
    }
    gathering.finish()
}

/// A connection that does not disturb other sessions.
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
