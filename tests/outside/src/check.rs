//! After a restart: the server's content against the ledger.
//!
//! Everything acknowledged is there; of what was under way each transaction is there whole or not at all, in two databases as well;
//! nothing else is there; what was made of a database still holds what it was made with; every database is online; DBCC CHECKDB finds nothing. What was under way is settled by what is found.

use crate::client::{ask, rows};
use crate::workload::administrator::{create_statement, restore_statement};
use crate::workload::dressing::LEFT_OVER;
use crate::workload::ledger::{CLIENTS, Database, Derived, Intent, Ledger, Snapshot};
use crate::workload::model::{Extra, Row, Tables};
use lab::client::Connection;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

const RECOVERY_PATIENCE: Duration = Duration::from_secs(60);
const WHO: &str = "check";

/// A table as the server shows it.
#[derive(Debug, Default)]
struct Shown {
    columns: Vec<String>,
    index_count: usize,
    /// Every row in the order it came: key, row, and `extra`.
    rows: Vec<(i32, Row, Option<i32>)>,
}

/// The tables of one database by name.
type Content = BTreeMap<String, Shown>;

/// What became of each client's transaction under way in one database; `None` where there was none, or where it changed nothing.
type Fates = Vec<Option<bool>>;

/// Compares everything and settles what was under way.
///
/// # Errors
/// The first thing that is wrong.
pub fn check(ledger: &Ledger, connection: &mut Connection) -> Result<(), String> {
    let states = states_after_recovery(connection)?;
    ledger.note(WHO, &format!("{states:?}"));
    let intent = ledger.intent.lock().take();
    let mut fates = Vec::new();
    for (index, database) in ledger.databases.iter().enumerate() {
        let state = states.get(&database.name).map(String::as_str);
        fates.push(check_database(
            ledger,
            connection,
            (index, database),
            state,
            intent.as_ref(),
        )?);
    }
    check_pairs(ledger, &fates)?;
    for kind in Derived::ALL {
        let state = states.get(kind.name()).map(String::as_str);
        check_derived(ledger, connection, kind, state, intent.as_ref())?;
    }
    check_configuration(ledger, connection, intent.as_ref())?;
    for name in states_after_recovery(connection)?.keys() {
        rows(connection, &format!("dbcc checkdb ('{name}') with no_infomsgs"))?;
    }
    Ok(())
}

/// The state of every database but tempdb, once none is being recovered.
///
/// # Errors
/// Recovery does not end, or the server does not answer.
pub fn states_after_recovery(connection: &mut Connection) -> Result<BTreeMap<String, String>, String> {
    let begin = Instant::now();
    loop {
        let rows = rows(connection, "use master select name, state_desc from sys.databases")?;
        let states: BTreeMap<String, String> = rows
            .into_iter()
            .filter_map(|row| <[Option<String>; 2]>::try_from(row).ok())
            .filter_map(|[name, state]| Some((name?, state?)))
            .filter(|(name, _)| name != "tempdb")
            .collect();
        if states.values().all(|state| state != "RECOVERING") {
            return Ok(states);
        }
        if begin.elapsed() > RECOVERY_PATIENCE {
            return Err(format!("recovery does not end: {states:?}"));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn check_database(
    ledger: &Ledger,
    connection: &mut Connection,
    (index, database): (usize, &Database),
    state: Option<&str>,
    intent: Option<&Intent>,
) -> Result<Fates, String> {
    let name = &database.name;
    let exists = database.standing.lock().exists;
    match (state, intent) {
        (None, Some(Intent::Create(created))) if *created == index => {}
        (Some("ONLINE"), Some(Intent::Create(created))) if *created == index => {
            database.standing.lock().exists = true;
        }
        (None, Some(Intent::Drop(dropped))) if *dropped == index => {
            database.standing.lock().exists = false;
            database.adopt(&vec![Tables::new(); CLIENTS]);
        }
        (Some("ONLINE"), _) if exists => {}
        (None, _) if !exists => {}
        (Some("OFFLINE"), Some(Intent::TakeOffline(taken))) if *taken == index => {
            rows(connection, &format!("alter database {name} set online"))?;
        }
        (Some("RESTORING"), Some(Intent::Restore(restored, file))) if *restored == index => {
            restore_again(connection, name, *file, name)?;
            let holds = database.standing.lock().backups[*file].holds.clone();
            database.adopt(holds.first().ok_or("a restore from no backup")?);
        }
        (state, intent) => {
            return Err(format!(
                "{name} is {state:?}, exists by the ledger: {exists}, under way: {}",
                told(intent)
            ));
        }
    }
    if let Some(Intent::Backup(backed_up, file, snapshot)) = intent
        && *backed_up == index
    {
        // Where there was no file before, there need not be one now; the next backup makes it.
        let holds = &mut database.standing.lock().backups[*file].holds;
        if !holds.is_empty() {
            holds.push(snapshot.clone());
        }
    }
    if !database.standing.lock().exists {
        // The statement that was cut off must succeed when it is given again.
        rows(connection, &create_statement(name))?;
        database.standing.lock().exists = true;
    }
    let content = read(connection, name)?;
    let restored = match intent {
        Some(Intent::Restore(restored, file)) if *restored == index => {
            database.standing.lock().backups[*file].holds.clone()
        }
        Some(Intent::Revert(reverted)) if *reverted == index => {
            let snapshot = ledger.derived(Derived::Snapshot).lock().clone();
            snapshot.ok_or("a revert without a snapshot")?.holds
        }
        _ => Vec::new(),
    };
    if let Some(snapshot) = restored
        .iter()
        .find(|snapshot| differences(&content, snapshot).is_empty())
    {
        database.adopt(snapshot);
    }
    let fates = settle(ledger, database, &content)?;
    check_dressings(connection, name, &database.snapshot(), true)?;
    Ok(fates)
}

/// What must hold of the tables of one database beside their rows. A clone has no rows that a trigger could have kept.
fn check_dressings(
    connection: &mut Connection,
    database: &str,
    snapshot: &Snapshot,
    has_rows: bool,
) -> Result<(), String> {
    let of_tables = snapshot.iter().flatten().filter(|_| has_rows);
    let queries = of_tables.filter_map(|(name, table)| table.dressing.violations(name));
    for query in queries.chain([LEFT_OVER.to_owned()]) {
        let answer = rows(connection, &format!("use {database}\n{query}\nuse master"))?;
        let found = answer.first().and_then(|row| row.first()).cloned().flatten();
        if found.as_deref() != Some("0") {
            return Err(format!("{database}: {found:?} is not 0: {query}"));
        }
    }
    Ok(())
}

/// Each client's tables must be those settled or those under way.
fn settle(ledger: &Ledger, database: &Database, content: &Content) -> Result<Fates, String> {
    for name in content.keys() {
        if (0..CLIENTS).all(|client| !name.starts_with(&prefix(client))) {
            return Err(format!("{}: a table {name} that nobody made", database.name));
        }
    }
    let mut fates = Fates::new();
    for client in 0..CLIENTS {
        let mut share = database.shares[client].lock();
        let against_settled = difference(content, client, &share.settled);
        let Some(wrong) = against_settled else {
            let under_way = share.under_way.take();
            fates.push(under_way.filter(|tables| *tables != share.settled).map(|_| false));
            continue;
        };
        let Some(under_way) = share.under_way.take() else {
            return Err(format!(
                "{}: client {client}, nothing under way: {wrong}",
                database.name
            ));
        };
        if let Some(wrong_too) = difference(content, client, &under_way) {
            return Err(format!(
                "{}: client {client}: neither what was settled ({wrong}) nor with the transaction under way ({wrong_too})",
                database.name
            ));
        }
        ledger.note(
            WHO,
            &format!(
                "{}: the transaction under way of client {client} is there",
                database.name
            ),
        );
        share.settled = under_way;
        fates.push(Some(true));
    }
    Ok(fates)
}

/// A transaction over two databases is in both or in neither.
fn check_pairs(ledger: &Ledger, fates: &[Fates]) -> Result<(), String> {
    for (client, pair) in ledger.pairs.iter().enumerate() {
        let Some(pair) = pair.lock().take() else {
            continue;
        };
        let [first, second] = pair.map(|index| fates[index][client]);
        if first.zip(second).is_some_and(|(first, second)| first != second) {
            let names = pair.map(|index| &ledger.databases[index].name);
            return Err(format!(
                "client {client}: the transaction over {names:?} is there in one alone: {first:?}, {second:?}"
            ));
        }
    }
    Ok(())
}

fn check_derived(
    ledger: &Ledger,
    connection: &mut Connection,
    kind: Derived,
    state: Option<&str>,
    intent: Option<&Intent>,
) -> Result<(), String> {
    let settled = ledger.derived(kind).lock().take();
    let made = match intent {
        Some(Intent::Make(made, standing)) if *made == kind => Some(standing.clone()),
        _ => None,
    };
    let name = kind.name();
    let may_be_gone = settled.is_none() || matches!(intent, Some(Intent::DropDerived(dropped)) if *dropped == kind);
    let mut candidates: Vec<Snapshot> = Vec::new();
    match (state, made.as_ref().and_then(|made| made.file)) {
        (None, _) if may_be_gone => return Ok(()),
        (Some("RESTORING"), Some(file)) => {
            let source = made.as_ref().map_or(0, |made| made.source);
            restore_again(connection, &ledger.databases[source].name, file, name)?;
        }
        (Some("ONLINE"), _) => {
            candidates.extend(settled.iter().flat_map(|settled| settled.holds.clone()));
            match intent {
                Some(Intent::ChangeCopy(changed)) if kind == Derived::Copy => candidates.push(changed.clone()),
                _ => {}
            }
        }
        (state, _) => return Err(format!("{name} is {state:?}, under way: {}", told(intent))),
    }
    candidates.extend(made.iter().flat_map(|made| made.holds.clone()));
    let content = read(connection, name)?;
    let (found, wrong): (Vec<_>, Vec<_>) = candidates
        .into_iter()
        .map(|snapshot| (differences(&content, &snapshot), snapshot))
        .partition(|(differences, _)| differences.is_empty());
    if found.is_empty() {
        let wrong: Vec<_> = wrong.into_iter().map(|(differences, _)| differences).collect();
        return Err(format!("{name} holds nothing that it may hold: {wrong:?}"));
    }
    let Some(mut standing) = made.or(settled) else {
        return Err(format!("{name} is there, and was never made"));
    };
    standing.holds = found.into_iter().map(|(_, snapshot)| snapshot).collect();
    if let Some(snapshot) = standing.holds.first() {
        check_dressings(connection, name, snapshot, kind != Derived::Clone)?;
    }
    *ledger.derived(kind).lock() = Some(standing);
    Ok(())
}

fn restore_again(connection: &mut Connection, source: &str, file: usize, target: &str) -> Result<(), String> {
    let statement = restore_statement(connection, source, file, target).map_err(|answer| answer.failure())?;
    rows(connection, &statement).map(|_| ())
}

fn check_configuration(ledger: &Ledger, connection: &mut Connection, intent: Option<&Intent>) -> Result<(), String> {
    let query = "select value_in_use from sys.configurations where name = 'cost threshold for parallelism'";
    let shown = rows(connection, query)?;
    let value = shown.first().and_then(|row| row.first()).cloned().flatten();
    let value: u32 = value
        .and_then(|text| text.parse().ok())
        .ok_or("sp_configure has no value")?;
    let mut settled = ledger.cost_threshold.lock();
    match intent {
        Some(Intent::Configure(wanted)) if *wanted == value => *settled = value,
        _ if *settled == value => {}
        _ => return Err(format!("'cost threshold for parallelism' is {value}, not {settled}")),
    }
    Ok(())
}

fn told(intent: Option<&Intent>) -> String {
    match intent {
        None => "nothing".into(),
        Some(Intent::Backup(index, file, _)) => format!("Backup({index}, {file})"),
        Some(Intent::ChangeCopy(_)) => "ChangeCopy".into(),
        Some(intent) => format!("{intent:?}"),
    }
}

fn prefix(client: usize) -> String {
    format!("c{client}_")
}

/// What differs between the content and a snapshot of all clients.
fn differences(content: &Content, snapshot: &Snapshot) -> Vec<String> {
    let of_client = |(client, tables)| difference(content, client, tables);
    snapshot.iter().enumerate().filter_map(of_client).collect()
}

/// The first difference between the content and the tables of one client.
fn difference(content: &Content, client: usize, tables: &Tables) -> Option<String> {
    let prefix = prefix(client);
    let unknown = content
        .keys()
        .find(|name| name.starts_with(&prefix) && !tables.contains_key(*name));
    if let Some(name) = unknown {
        return Some(format!("there is a table {name} that should not be"));
    }
    tables.iter().find_map(|(name, table)| {
        let Some(shown) = content.get(name) else {
            return Some(format!("table {name} is missing"));
        };
        if shown.columns.len() != table.column_count() || shown.index_count != table.index_count() {
            return Some(format!(
                "table {name} has columns {:?} and {} indexes, not {} and {}",
                shown.columns,
                shown.index_count,
                table.column_count(),
                table.index_count()
            ));
        }
        if shown.rows.len() != table.rows.len() {
            return Some(format!(
                "table {name} has {} rows, not {}",
                shown.rows.len(),
                table.rows.len()
            ));
        }
        let extra = table.extra.and_then(|Extra { value }| value);
        let wrong = |(id, row, shown_extra): &&(i32, Row, Option<i32>)| {
            table.rows.get(id) != Some(row) || *shown_extra != extra
        };
        let wrong = shown.rows.iter().find(wrong);
        wrong.map(|(id, row, shown_extra)| {
            let expected = table.rows.get(id);
            format!("table {name}, id {id}: {row:?} {shown_extra:?}, not {expected:?} {extra:?}")
        })
    })
}

fn read(connection: &mut Connection, database: &str) -> Result<Content, String> {
    let mut content = Content::new();
    let columns = rows(
        connection,
        &format!(
            "use {database} select t.name, c.name from sys.tables t join sys.columns c on c.object_id = t.object_id \
             where t.name not like 'n[_]%'"
        ),
    )?;
    for row in columns {
        if let [Some(table), Some(column)] = row.as_slice() {
            content.entry(table.clone()).or_default().columns.push(column.clone());
        }
    }
    let indexes = rows(
        connection,
        "select t.name from sys.tables t join sys.indexes i on i.object_id = t.object_id where i.index_id > 0 and t.name not like 'n[_]%'",
    )?;
    for row in indexes {
        let shown = row
            .first()
            .and_then(Option::as_ref)
            .and_then(|table| content.get_mut(table));
        shown.ok_or("an index of no table")?.index_count += 1;
    }
    for (name, shown) in &mut content {
        shown.rows = read_rows(connection, name, shown)?;
    }
    ask(connection, "use master");
    Ok(content)
}

fn read_rows(connection: &mut Connection, name: &str, shown: &Shown) -> Result<Vec<(i32, Row, Option<i32>)>, String> {
    let extra = if shown.columns.iter().any(|column| column == "extra") {
        "extra"
    } else {
        "null"
    };
    // A filler that is not one letter repeated shows as a question mark.
    let query = format!(
        "select id, value, len(filler), case when filler = replicate(substring(filler, 1, 1), len(filler)) \
         then substring(filler, 1, 1) else '?' end, {extra} from {name}"
    );
    let shown = rows(connection, &query)?;
    let parsed = shown
        .iter()
        .map(|row| parse_row(row).ok_or_else(|| format!("{name}: a row that cannot be: {row:?}")));
    parsed.collect()
}

fn parse_row(row: &[Option<String>]) -> Option<(i32, Row, Option<i32>)> {
    let [id, value, length, letter, extra] = row else {
        return None;
    };
    let row = Row {
        value: value.as_ref()?.parse().ok()?,
        letter: letter.as_ref()?.chars().next()?,
        length: length.as_ref()?.parse().ok()?,
    };
    let extra = match extra {
        Some(text) => Some(text.parse().ok()?),
        None => None,
    };
    Some((id.as_ref()?.parse().ok()?, row, extra))
}
