//! The sequence of queries and the evaluation of their answers, independent of a connection.
//!
//! [`Gathering::next_request`] returns one [`Request`] at a time, and [`Gathering::answer`] takes its result. A refusal becomes a
//! [`NotRead`] and the sequence continues. After [`Answer::Lost`] and a failed reconnection, the rest is "not read" too.
//!
//! `sys.dm_db_log_info` comes before `DBCC LOGINFO`, which is used if the view is missing, access is denied, or it has no rows, because
//! every log has VLFs.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};

use super::query::{Named, QUERIES, Query, SERVER_QUERY, Scope, Source, catalog_query};
use super::{DatabaseFacts, NOT_THERE, NotRead, Origin, SNAPSHOT_VERSION, Snapshot, rows};

/// A query to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub source: Source,
    /// The database it is about.
    pub database: Option<(i64, String)>,
    pub text: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rows {
    pub columns: Vec<String>,
    pub rows: Vec<Vec<Option<String>>>,
}

/// Why a server did not answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    pub number: i64,
    pub text: String,
}

/// What came of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Rows(Rows),
    Refused(Refusal),
    /// No answer within so many seconds.
    TimedOut(u64),
    /// The connection broke, and why.
    Lost(String),
}

#[derive(Debug)]
pub struct Gathering {
    snapshot: Snapshot,
    waiting: VecDeque<Request>,
    /// Columns by object; `None` = the list could not be read.
    catalog: Option<BTreeMap<String, BTreeSet<String>>>,
    /// Rows that only mean something beside others.
    parts: rows::Parts,
    extent: Extent,
}

/// What is asked.
#[derive(Debug)]
enum Extent {
    /// All databases, and the whole server.
    All,
    /// One database, and what holds its log.
    Database(String),
    /// All databases, again: as little as tells what has changed since the VLFs were read.
    Again(BTreeMap<i64, Counts>),
}

/// By what a change of a database's VLFs is seen: how many there are, how many are active, and where the log ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    vlfs: u64,
    active: u64,
    last: u32,
}

impl Counts {
    /// Those of a database; `None` where the server does not tell them.
    pub fn of(database: &DatabaseFacts) -> Option<Counts> {
        Some(Counts {
            vlfs: database.marks.vlf_count?,
            active: database.marks.active_vlf_count?,
            last: database.marks.end?.vlf,
        })
    }
}

/// What is asked of a server that is watched.
const WATCHED: [Source; 9] = [
    Source::Databases,
    Source::Files,
    Source::Counters,
    Source::Transactions,
    Source::ActiveTransactions,
    Source::SessionTransactions,
    Source::Sessions,
    Source::Requests,
    Source::LogStatistics,
];

/// The queries about one database: the state of its log, and what holds it.
const OF_ONE_DATABASE: [Source; 14] = [
    Source::Databases,
    Source::Files,
    Source::Counters,
    Source::RecoveryStatus,
    Source::Transactions,
    Source::ActiveTransactions,
    Source::SessionTransactions,
    Source::Sessions,
    Source::Requests,
    Source::Mirroring,
    Source::Replicas,
    Source::ReplicaNames,
    Source::Jobs,
    Source::LogStatistics,
];

impl Gathering {
    /// Begins; `name` is how the server is called.
    pub fn begin(name: &str) -> Gathering {
        let request = |source, text: String| Request {
            source,
            database: None,
            text,
        };
        Gathering {
            snapshot: Snapshot {
                snapshot_version: SNAPSHOT_VERSION,
                origin: Origin::Server,
                name: name.to_owned(),
                ..Snapshot::default()
            },
            waiting: VecDeque::from([
                request(Source::Server, SERVER_QUERY.to_owned()),
                request(Source::Catalog, catalog_query()),
            ]),
            catalog: None,
            parts: rows::Parts::default(),
            extent: Extent::All,
        }
    }

    /// Begins a reading of a server that is watched: of a database's VLFs only where its counts are not those given, or not known.
    pub fn to_watch(name: &str, counts: BTreeMap<i64, Counts>) -> Gathering {
        Gathering {
            extent: Extent::Again(counts),
            ..Gathering::begin(name)
        }
    }

    /// Begins with one database, and only the server's data that show what holds its log.
    pub fn of_database(name: &str, database: &str) -> Gathering {
        Gathering {
            extent: Extent::Database(database.to_owned()),
            ..Gathering::begin(name)
        }
    }

    /// The query to run; `None` at the end.
    pub fn next_request(&mut self) -> Option<Request> {
        self.waiting.pop_front()
    }

    /// Takes what came of it.
    pub fn answer(&mut self, request: &Request, answer: Answer) {
        let is_empty = matches!(&answer, Answer::Rows(rows) if rows.rows.is_empty());
        match answer {
            Answer::Rows(_) if request.source == Source::LogInfo && is_empty => {
                self.not_read(request, None, "it had no rows".to_owned());
                self.ask_by_command(request);
            }
            Answer::Rows(_) if request.source == Source::LogInfoCommand && is_empty => {
                self.not_read(request, None, "it had no rows".to_owned());
            }
            Answer::Rows(rows) => self.take(request, &rows),
            Answer::Refused(refusal) => {
                self.not_read(request, Some(refusal.number), reason(request.source, &refusal));
                self.after_refusal(request);
            }
            Answer::TimedOut(seconds) => {
                self.not_read(request, None, format!("no answer within {seconds} s"));
                if matches!(request.source, Source::Catalog | Source::Server) {
                    self.after_refusal(request);
                }
            }
            Answer::Lost(why) => {
                self.not_read(request, None, format!("the connection broke: {why}"));
                if request.source == Source::Catalog {
                    self.queue_server_queries();
                }
            }
        }
    }

    /// Gives up: what was not asked is "not read" for this reason.
    pub fn give_up(&mut self, why: &str) {
        while let Some(request) = self.next_request() {
            self.not_read(&request, None, format!("not asked: {why}"));
        }
    }

    pub fn finish(self) -> Snapshot {
        let mut snapshot = self.snapshot;
        self.parts.join(&mut snapshot);
        snapshot
    }

    fn take(&mut self, request: &Request, answer: &Rows) {
        let database = request.database.as_ref().map(|(id, _)| *id);
        match request.source {
            Source::Catalog => {
                let mut catalog: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
                for row in &answer.rows {
                    if let [Some(object), Some(column), ..] = row.as_slice() {
                        let columns = catalog.entry(object.to_lowercase()).or_default();
                        columns.insert(column.to_lowercase());
                    }
                }
                // An empty list is one that this login may not see.
                self.catalog = (!catalog.is_empty()).then_some(catalog);
                self.queue_server_queries();
            }
            Source::Databases => {
                rows::take(Source::Databases, None, answer, &mut self.snapshot, &mut self.parts);
                self.queue_database_queries();
            }
            source => rows::take(source, database, answer, &mut self.snapshot, &mut self.parts),
        }
        if request.source == Source::LogStatistics {
            self.spare_vlfs(request);
        }
        if request.source == Source::LogInfoCommand {
            // The command answered what the view could not: nothing is missing.
            let name = request.database.as_ref().map(|(_, name)| name.as_str());
            let of_view = Source::LogInfo.word();
            self.snapshot
                .not_read
                .retain(|not_read| !(not_read.source == of_view && not_read.database.as_deref() == name));
        }
    }

    fn after_refusal(&mut self, request: &Request) {
        match request.source {
            // Without the list every view is asked for, and its errors decide.
            Source::Catalog => self.queue_server_queries(),
            Source::LogInfo => self.ask_by_command(request),
            Source::Counters => self.queue(Source::LogSpace),
            _ => {}
        }
    }

    /// The VLFs of a watched database are not read again while its counts are as they were.
    fn spare_vlfs(&mut self, request: &Request) {
        let (Extent::Again(counts), Some((id, _))) = (&self.extent, &request.database) else {
            return;
        };
        let now = self.snapshot.database(*id).and_then(Counts::of);
        if now.is_some() && counts.get(id).copied() == now {
            let is_of_vlfs = |waiting: &Request| {
                let is_source = matches!(waiting.source, Source::LogInfo | Source::LogInfoCommand);
                is_source && waiting.database.as_ref().is_some_and(|(other, _)| other == id)
            };
            self.waiting.retain(|waiting| !is_of_vlfs(waiting));
        }
    }

    fn ask_by_command(&mut self, request: &Request) {
        let (Some(query), Some((id, name))) = (Source::LogInfoCommand.query(), &request.database) else {
            return;
        };
        if let Some(command) = self.request(query, Some(Named { id: *id, name })) {
            self.waiting.push_front(command);
        }
    }

    fn queue_server_queries(&mut self) {
        let wanted: Option<&[Source]> = match &self.extent {
            Extent::All => None,
            Extent::Database(_) => Some(&OF_ONE_DATABASE),
            Extent::Again(_) => Some(&WATCHED),
        };
        let asked = |query: &&Query| {
            let is_wanted = wanted.is_none_or(|wanted| wanted.contains(&query.source));
            is_wanted && query.scope == Scope::Server && query.source != Source::LogSpace
        };
        for query in QUERIES.iter().filter(asked) {
            self.queue_about(query, None);
        }
    }

    fn queue_database_queries(&mut self) {
        let databases: Vec<(i64, String)> = self
            .snapshot
            .databases
            .iter()
            .filter(|each| match &self.extent {
                Extent::Database(only) => *only == each.name,
                Extent::All | Extent::Again(_) => true,
            })
            .map(|each| (each.database_id, each.name.clone()))
            .collect();
        for (id, name) in databases {
            let why = self.snapshot.database(id).and_then(why_closed);
            for query in QUERIES.iter().filter(|query| query.scope == Scope::Database) {
                if query.source == Source::LogInfoCommand {
                    continue;
                }
                match &why {
                    Some(why) if query.source == Source::LogInfo => {
                        self.note(query.source, Some(&name), None, why.clone())
                    }
                    Some(_) => {}
                    None => self.queue_about(query, Some(Named { id, name: &name })),
                }
            }
        }
    }

    fn queue(&mut self, source: Source) {
        if let Some(query) = source.query() {
            self.queue_about(query, None);
        }
    }

    fn queue_about(&mut self, query: &'static Query, database: Option<Named<'_>>) {
        if let Some(request) = self.request(query, database) {
            self.waiting.push_back(request);
            return;
        }
        if query.source == Source::LogInfo {
            // The server is older than the view: the command has always been there.
            if let Some(command) = Source::LogInfoCommand
                .query()
                .and_then(|command| self.request(command, database))
            {
                self.waiting.push_back(command);
            }
            return;
        }
        // What a version does not have is missed where a finding needs it; of the database's marks once for the server.
        let is_noted = self
            .snapshot
            .not_read
            .iter()
            .any(|noted| noted.source == query.word && noted.database.is_none());
        if !is_noted {
            self.note(query.source, None, None, NOT_THERE.to_owned());
        }
        if query.source == Source::Counters {
            self.queue(Source::LogSpace);
        }
    }

    /// The request, unless the server is known not to have the view or its columns.
    fn request(&self, query: &Query, database: Option<Named<'_>>) -> Option<Request> {
        let columns = match &self.catalog {
            Some(catalog) if !query.object.is_empty() => Some(catalog.get(query.object)?),
            _ => None,
        };
        let exists = |column: &str| columns.is_none_or(|columns| columns.contains(column));
        Some(Request {
            source: query.source,
            database: database.map(|database| (database.id, database.name.to_owned())),
            text: query.text(&exists, database)?,
        })
    }

    fn not_read(&mut self, request: &Request, number: Option<i64>, reason: String) {
        let database = request.database.as_ref().map(|(_, name)| name.clone());
        self.note(request.source, database.as_deref(), number, reason);
    }

    fn note(&mut self, source: Source, database: Option<&str>, number: Option<i64>, reason: String) {
        let noted = NotRead {
            source: source.word().to_owned(),
            database: database.map(str::to_owned),
            number,
            reason,
        };
        if !self.snapshot.not_read.contains(&noted) {
            self.snapshot.not_read.push(noted);
        }
    }
}

/// Why a database is not entered: what is asked of it anyway would fail, or harm.
fn why_closed(database: &DatabaseFacts) -> Option<String> {
    if database.source_database_id.is_some() {
        return Some("it is a database snapshot".to_owned());
    }
    if !database.is_online() {
        return Some(format!("it is {}", database.state));
    }
    (database.is_accessible == Some(false)).then(|| "this login has no access to it (HAS_DBACCESS)".to_owned())
}

/// A refusal in words, with what would help.
fn reason(source: Source, refusal: &Refusal) -> String {
    let text = refusal.text.trim_end_matches('.');
    match refusal.number {
        // Object, column or function not there; 156 and 102 where the server is too old for the words.
        102 | 156 | 195 | 207 | 208 | 2812 => format!("{NOT_THERE} (error {}: {text})", refusal.number),
        229 | 230 | 262 | 297 | 300 | 371 | 916 | 2571 | 8189 | 15247 => {
            format!(
                "the login lacks a right: {} (error {}: {text})",
                source.right(),
                refusal.number
            )
        }
        1222 => format!("somebody held a lock on it for two seconds (error 1222: {text})"),
        number => format!("error {number}: {text}"),
    }
}
