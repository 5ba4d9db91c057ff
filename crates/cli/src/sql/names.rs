//! The names on the server, for completion: databases, and the objects and columns of the current database.
//!
//! A separate thread reads them on a separate connection, so neither typing nor the user's transaction ever waits for it or fails because
//! of it. That connection stays in master, reads without locks, waits at most a second for locks that it still needs, and is cancelled and
//! closed after [`LOAD_TIME_MAX`]. So it never blocks exclusive access to a database for longer.

use super::channel::{Channel, Twin};
use super::interrupts::Timeout;
use lab::client::Event;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

const LOAD_TIME_MAX: Duration = Duration::from_secs(5);
/// What a Tab waits for names that are on their way.
const TAB_WAIT_MAX: Duration = Duration::from_millis(300);
const DATABASES_MAX: usize = 1_000;
const OBJECTS_MAX: usize = 20_000;
const COLUMNS_MAX: usize = 50_000;

/// Names, as far as they are known.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct NameSet {
    /// The database that schemas and objects are of.
    pub(super) database: String,
    pub(super) databases: Vec<String>,
    pub(super) objects: Vec<Object>,
}

/// A table, view, procedure or function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Object {
    pub(super) schema: String,
    pub(super) name: String,
    pub(super) columns: Vec<String>,
}

/// The names known so far, and the thread that reads them.
#[derive(Default)]
pub(super) struct Names {
    shared: Arc<Shared>,
    /// The thread, if the instance must not end before it.
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    /// Set when the names are no longer needed.
    cancel: AtomicBool,
}

#[derive(Default)]
struct State {
    names: Arc<NameSet>,
    /// The database still to be asked about, and how.
    wanted: Option<(String, Twin)>,
    /// Whether the thread is there.
    is_loading: bool,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // Whatever a thread was doing to it is a whole assignment.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Names {
    /// Asks again: at once, or as soon as what was asked before is answered.
    pub(super) fn refresh(&mut self, channel: &dyn Channel) {
        {
            let mut state = self.shared.state();
            state.wanted = Some((channel.database(), channel.twin()));
            if std::mem::replace(&mut state.is_loading, true) {
                return;
            }
        }
        let shared = Arc::clone(&self.shared);
        let thread = thread::Builder::new().name("names".to_owned());
        match thread
            .stack_size(tsql::stack::THREAD_BYTES)
            .spawn(move || answer(&shared))
        {
            Ok(thread) => self.thread = Some(thread).filter(|_| channel.is_local()),
            // Without a thread there are no names.
            Err(_) => self.shared.state().is_loading = false,
        }
    }

    /// The half that completion holds.
    pub(super) fn reader(&self) -> Reader {
        Reader(Arc::clone(&self.shared))
    }
}

impl Drop for Names {
    fn drop(&mut self) {
        self.shared.cancel.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            // What it has to say is of no interest any more.
            let _ = thread.join();
        }
    }
}

/// Reads names until no more are requested.
fn answer(shared: &Shared) {
    loop {
        let wanted = {
            let mut state = shared.state();
            let wanted = state.wanted.take();
            state.is_loading = wanted.is_some();
            wanted
        };
        let Some((database, twin)) = wanted else {
            shared.changed.notify_all();
            return;
        };
        if let Some(names) = load(twin, &database, &shared.cancel) {
            shared.state().names = Arc::new(names);
        }
    }
}

/// Reads the known names.
pub(super) struct Reader(Arc<Shared>);

impl Reader {
    /// The names known now, or soon if a query is running.
    pub(super) fn names(&self) -> Arc<NameSet> {
        let state = self.0.state();
        let waits = |state: &mut State| state.is_loading;
        let waited = self.0.changed.wait_timeout_while(state, TAB_WAIT_MAX, waits);
        let state = waited.map_or_else(|poisoned| poisoned.into_inner().0, |(state, _)| state);
        Arc::clone(&state.names)
    }
}

/// Asks; None where that was not possible.
fn load(twin: Twin, database: &str, cancelled: &AtomicBool) -> Option<NameSet> {
    let mut channel = twin()?;
    let cancel = channel.cancel_flag();
    let timeout = Timeout::new(Arc::clone(&cancel), LOAD_TIME_MAX);
    let quoted = database.replace(']', "]]");
    let mut ask = |batch: &str| {
        if cancelled.load(Ordering::SeqCst) || timeout.has_passed() {
            return None;
        }
        rows(channel.as_mut(), batch)
    };
    ask("set lock_timeout 1000; set transaction isolation level read uncommitted; set deadlock_priority low")?;
    let databases = ask(&format!(
        "select top ({DATABASES_MAX}) name from sys.databases order by name"
    ))?;
    let objects = |view: &str| {
        format!(
            "select top ({OBJECTS_MAX}) o.object_id, s.name, o.name from [{quoted}].sys.{view} o \
             join [{quoted}].sys.schemas s on s.schema_id = o.schema_id \
             where o.type in ('U', 'V', 'P', 'FN', 'IF', 'TF', 'S') order by o.object_id desc"
        )
    };
    // Servers and databases without the first have the second.
    let objects = ask(&objects("all_objects")).or_else(|| ask(&objects("objects")))?;
    let columns = |view: &str| {
        format!(
            "select top ({COLUMNS_MAX}) object_id, name from [{quoted}].sys.{view} order by object_id desc, column_id"
        )
    };
    let columns = ask(&columns("all_columns"))
        .or_else(|| ask(&columns("columns")))
        .unwrap_or_default();
    Some(name_set(database, databases, objects, columns))
}

/// The rows of a batch; None when it fails.
fn rows(channel: &mut dyn Channel, batch: &str) -> Option<Vec<Vec<String>>> {
    let (mut rows, mut has_failed) = (Vec::new(), false);
    let ran = channel.run(batch, &mut |event| match event {
        Event::Row(values) => rows.push(values.iter().map(|value| value.clone().unwrap_or_default()).collect()),
        Event::Error(_) => has_failed = true,
        _ => {}
    });
    (ran.is_ok() && !has_failed).then_some(rows)
}

fn name_set(
    database: &str,
    databases: Vec<Vec<String>>,
    objects: Vec<Vec<String>>,
    columns: Vec<Vec<String>>,
) -> NameSet {
    let mut columns_of: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in columns {
        if let Ok([object, name]) = <[String; 2]>::try_from(row) {
            columns_of.entry(object).or_default().push(name);
        }
    }
    let object = |row: Vec<String>| {
        let [id, schema, name] = <[String; 3]>::try_from(row).ok()?;
        let columns = columns_of.remove(&id).unwrap_or_default();
        Some(Object { schema, name, columns })
    };
    NameSet {
        database: database.to_owned(),
        databases: databases.into_iter().flatten().collect(),
        objects: objects.into_iter().filter_map(object).collect(),
    }
}
