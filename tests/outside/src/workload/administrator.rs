//! The administrator: backups, restores, snapshots, clones, copies, files, settings, databases that come and go, beside the clients'
//! transactions.
//!
//! | statement | gate |
//! |---|---|
//! | CHECKPOINT, BACKUP LOG, ADD and REMOVE FILE, MODIFY FILE, sp_configure | shared: clients go on |
//! | SHRINKFILE of log and data, SHRINKDATABASE, differential backup | shared |
//! | recovery model, ALLOW_SNAPSHOT_ISOLATION, ACCELERATED_DATABASE_RECOVERY | shared |
//! | BACKUP DATABASE, RESTORE, OFFLINE and ONLINE, DROP and CREATE DATABASE | alone, so that what they hold is known |
//! | AS SNAPSHOT OF, AS COPY OF, CLONEDATABASE; going back to a snapshot | alone |
//! | DELETE in the copy, DROP of what was made | alone |
//! | READ_COMMITTED_SNAPSHOT | alone, as it asks for |

use super::ledger::{CLIENTS, DATABASES, Database, Derived, DerivedStanding, Intent, Ledger, Snapshot};
use crate::client::{Answer, ask};
use crate::random::Random;
use lab::client::Connection;
use std::sync::atomic::Ordering;
use std::time::Duration;

const WHO: &str = "administrator";
const IN_USE_RETRIES: u32 = 50;
/// 3101, 3702 and 5061: the database is in use. 3013 follows the first of them.
const IN_USE: [i32; 4] = [3101, 3013, 3702, 5061];
const IN_USE_PAUSE: Duration = Duration::from_millis(100);

/// Runs statements until the connection is lost or the ledger closes.
pub fn run(ledger: &Ledger, connection: &mut Connection, mut random: Random) {
    while !ledger.is_closing() {
        let index = random.below(DATABASES as u64) as usize;
        let mut administrator = Administrator {
            ledger,
            connection: &mut *connection,
            random: &mut random,
            index,
        };
        let database = &ledger.databases[index];
        let outcome = if administrator.random.percent(60) {
            let _gate = database.gate.read();
            administrator.work_beside_clients(database)
        } else {
            let _gate = database.gate.write();
            administrator.work_alone(database)
        };
        if outcome.is_err() {
            return;
        }
    }
}

/// The connection is lost, or the statement failed and the ledger says so.
#[derive(Debug)]
pub struct Stopped;

/// The files of a database: one of data and one of log, small and growing by little.
fn files_clause(name: &str) -> String {
    format!(
        "on (name = {name}, filename = '{name}.mdf', size = 2MB, filegrowth = 1MB) \
         log on (name = {name}_log, filename = '{name}.ldf', size = 1MB, filegrowth = 1MB)"
    )
}

/// The statement that creates a database of the workload.
pub fn create_statement(name: &str) -> String {
    format!("create database {name} {}", files_clause(name))
}

/// The statement that lets the log of a database go on under open transactions, as it does at first.
pub fn accelerate_statement(name: &str) -> String {
    format!("alter database {name} set accelerated_database_recovery = on")
}

/// The backup file of a database with that index.
fn backup_path(name: &str, file: usize) -> String {
    format!("{name}_{file}.bak")
}

/// The statement that restores a backup of `source` as `target`, whatever files the backup has.
///
/// # Errors
/// What the server says when it cannot read the backup.
pub fn restore_statement(
    connection: &mut Connection,
    source: &str,
    file: usize,
    target: &str,
) -> Result<String, Answer> {
    let path = backup_path(source, file);
    let answer = ask(connection, &format!("restore filelistonly from disk = '{path}'"));
    if !answer.is_good() {
        return Err(answer);
    }
    let mut statement = format!("restore database {target} from disk = '{path}' with replace");
    for row in &answer.rows {
        let logical = row.first().cloned().flatten().unwrap_or_default();
        let suffix = logical.strip_prefix(source).unwrap_or_default();
        let kind = match suffix {
            "" => ".mdf",
            "_log" => ".ldf",
            _ => ".ndf",
        };
        let stem = if kind == ".ndf" { suffix } else { "" };
        statement += &format!(", move '{logical}' to '{target}{stem}{kind}'");
    }
    Ok(statement)
}

struct Administrator<'a> {
    ledger: &'a Ledger,
    connection: &'a mut Connection,
    random: &'a mut Random,
    index: usize,
}

impl Administrator<'_> {
    fn ask(&mut self, batch: &str) -> Result<Answer, Stopped> {
        self.ledger.note(WHO, batch);
        let answer = ask(self.connection, batch);
        if answer.lost.is_some() && answer.errors.is_empty() {
            return Err(Stopped);
        }
        Ok(answer)
    }

    /// Runs a statement that may fail with the errors of these numbers alone. Answers those that it had; none when it succeeded.
    fn attempt(&mut self, batch: &str, allowed: &[i32]) -> Result<Vec<i32>, Stopped> {
        let answer = self.ask(batch)?;
        if answer.is_good() {
            self.ledger.acknowledge(WHO);
            return Ok(Vec::new());
        }
        let numbers = answer.numbers();
        if answer.lost.is_none() && numbers.iter().all(|number| allowed.contains(number)) {
            self.ledger.note(WHO, &format!("allowed: {}", answer.failure()));
            return Ok(numbers);
        }
        self.ledger.fail(format!("{WHO}: {batch}: {}", answer.failure()));
        Err(Stopped)
    }

    fn run(&mut self, batch: &str) -> Result<(), Stopped> {
        self.attempt(batch, &[]).map(|_| ())
    }

    /// Runs a statement that needs the database for itself. No client is in it; work of the server's own may be for a moment,
    /// such as the undo of what the last end cut off.
    fn run_exclusively(&mut self, batch: &str) -> Result<(), Stopped> {
        self.attempt_exclusively(batch, &[]).map(|_| ())
    }

    /// As [`Administrator::run_exclusively`], for a statement that may be refused for other reasons too; true when it succeeded.
    fn attempt_exclusively(&mut self, batch: &str, refusals: &[i32]) -> Result<bool, Stopped> {
        let allowed = [&IN_USE[..], refusals].concat();
        for _ in 0..IN_USE_RETRIES {
            let numbers = self.attempt(batch, &allowed)?;
            if numbers.is_empty() || numbers.iter().any(|number| refusals.contains(number)) {
                return Ok(numbers.is_empty());
            }
            std::thread::sleep(IN_USE_PAUSE);
        }
        self.run(batch).map(|()| true)
    }

    fn begin(&self, intent: Intent) {
        *self.ledger.intent.lock() = Some(intent);
    }

    fn end(&self) {
        *self.ledger.intent.lock() = None;
    }

    fn work_beside_clients(&mut self, database: &Database) -> Result<(), Stopped> {
        if !database.standing.lock().exists {
            return Ok(());
        }
        let name = database.name.as_str();
        match self.random.below(14) {
            0..=2 => self.run(&format!("use {name} checkpoint")),
            3 | 4 => self.back_up_log(name),
            5 => self.add_and_remove_file(name),
            6 => {
                let megabytes = 3 + self.random.below(4);
                let modify = format!("alter database {name} modify file (name = {name}, size = {megabytes}MB)");
                // 5039: it is that large already.
                self.attempt(&modify, &[5039]).map(|_| ())
            }
            7 => self.run(&format!("use {name} dbcc shrinkfile ({name}_log, 2) with no_infomsgs")),
            8 => {
                let model = *self.random.choose(&["simple", "full"]);
                self.run(&format!("alter database {name} set recovery {model}"))
            }
            9 => self.shrink_data(name),
            10 => {
                let is_on = *self.random.choose(&["on", "off"]);
                self.run(&format!("alter database {name} set allow_snapshot_isolation {is_on}"))
            }
            11 => {
                let is_on = *self.random.choose(&["on", "on", "on", "off"]);
                self.run(&format!(
                    "alter database {name} set accelerated_database_recovery = {is_on}"
                ))
            }
            12 => {
                let batch = format!("backup database {name} to disk = '{name}.dif' with differential, init");
                // 3035: there is no full backup to build on.
                self.attempt(&batch, &[3035, 3013]).map(|_| ())
            }
            _ => self.configure(),
        }
    }

    /// Pages move while the clients work on them; what is in use stays, with a message.
    fn shrink_data(&mut self, name: &str) -> Result<(), Stopped> {
        let megabytes = 1 + self.random.below(4);
        let statements = [
            format!("dbcc shrinkfile ({name}, {megabytes}) with no_infomsgs"),
            format!("dbcc shrinkfile ({name}, notruncate) with no_infomsgs"),
            format!("dbcc shrinkdatabase ({name}, 20) with no_infomsgs"),
        ];
        let statement = self.random.choose(&statements).clone();
        self.run(&format!("use {name} {statement}"))
    }

    fn back_up_log(&mut self, name: &str) -> Result<(), Stopped> {
        // 4208: the recovery model is SIMPLE. 4214: there is no database backup yet.
        let batch = format!("backup log {name} to disk = '{name}.trn' with init");
        self.attempt(&batch, &[4208, 4214, 3013]).map(|_| ())
    }

    fn add_and_remove_file(&mut self, name: &str) -> Result<(), Stopped> {
        let add = format!("alter database {name} add file (name = {name}_2, filename = '{name}_2.ndf', size = 1MB)");
        // 1828: a file that could not be removed is still there. 5042: the clients have put rows into it. 5094: a snapshot or a copy has
        // its pages.
        self.attempt(&add, &[1828])?;
        let empty = format!("use {name} dbcc shrinkfile ({name}_2, emptyfile) with no_infomsgs");
        // 2555: clients have put rows into it.
        self.attempt(&empty, &[2555])?;
        self.attempt(
            &format!("use master alter database {name} remove file {name}_2"),
            &[5042, 5069, 5094],
        )
        .map(|_| ())
    }

    fn configure(&mut self) -> Result<(), Stopped> {
        let value = 1 + self.random.below(100) as u32;
        self.begin(Intent::Configure(value));
        self.run(&format!(
            "exec sp_configure 'show advanced options', 1 reconfigure \
             exec sp_configure 'cost threshold for parallelism', {value} reconfigure"
        ))?;
        *self.ledger.cost_threshold.lock() = value;
        self.end();
        Ok(())
    }

    fn work_alone(&mut self, database: &Database) -> Result<(), Stopped> {
        if !database.standing.lock().exists {
            return self.create(database);
        }
        let file = self.random.below(2) as usize;
        let has_backup = !database.standing.lock().backups[file].holds.is_empty();
        self.run("use master")?;
        match self.random.below(15) {
            0..=2 => self.back_up(database, file),
            3 if has_backup => self.restore(database, file),
            4 if has_backup => self.restore_beside(database, file),
            5 => {
                let kind = *self.random.choose(&Derived::ALL);
                self.drop_derived(kind)
            }
            6 => self.drop(database),
            7 | 8 => self.make_snapshot(database),
            9 => self.revert(),
            10 => self.make_clone(database),
            11 => self.make_copy(database),
            12 => self.change_copy(),
            13 => {
                let is_on = *self.random.choose(&["on", "off"]);
                let name = &database.name;
                self.run(&format!(
                    "alter database {name} set read_committed_snapshot {is_on} with rollback immediate"
                ))
            }
            _ => self.take_offline(database),
        }
    }

    fn create(&mut self, database: &Database) -> Result<(), Stopped> {
        self.begin(Intent::Create(self.index));
        self.run(&create_statement(&database.name))?;
        self.run(&accelerate_statement(&database.name))?;
        database.standing.lock().exists = true;
        self.end();
        Ok(())
    }

    fn drop(&mut self, database: &Database) -> Result<(), Stopped> {
        self.let_go(self.index)?;
        self.begin(Intent::Drop(self.index));
        self.run_exclusively(&format!("drop database {}", database.name))?;
        database.standing.lock().exists = false;
        database.adopt(&vec![Default::default(); CLIENTS]);
        self.end();
        self.create(database)
    }

    fn take_offline(&mut self, database: &Database) -> Result<(), Stopped> {
        self.let_go(self.index)?;
        self.begin(Intent::TakeOffline(self.index));
        self.run_exclusively(&format!(
            "alter database {} set offline with rollback immediate",
            database.name
        ))?;
        self.run(&format!("alter database {} set online", database.name))?;
        self.end();
        Ok(())
    }

    fn back_up(&mut self, database: &Database, file: usize) -> Result<(), Stopped> {
        let snapshot = database.snapshot();
        self.begin(Intent::Backup(self.index, file, snapshot.clone()));
        let path = backup_path(&database.name, file);
        self.run(&format!(
            "backup database {} to disk = '{path}' with init",
            database.name
        ))?;
        database.standing.lock().backups[file].holds = vec![snapshot];
        self.end();
        Ok(())
    }

    fn restore(&mut self, database: &Database, file: usize) -> Result<(), Stopped> {
        let holds = database.standing.lock().backups[file].holds.clone();
        let [snapshot] = holds.as_slice() else {
            // Which of two backups the file holds is found out beside this database, without doubt about it.
            return self.restore_beside(database, file);
        };
        self.let_go(self.index)?;
        self.begin(Intent::Restore(self.index, file));
        self.run_restore(database, file, &database.name)?;
        database.adopt(snapshot);
        self.end();
        Ok(())
    }

    fn run_restore(&mut self, database: &Database, file: usize, target: &str) -> Result<(), Stopped> {
        match restore_statement(self.connection, &database.name, file, target) {
            Ok(statement) => self.run_exclusively(&statement),
            Err(answer) if answer.lost.is_some() => Err(Stopped),
            Err(answer) => {
                self.ledger.fail(format!(
                    "{WHO}: backup {file} of {}: {}",
                    database.name,
                    answer.failure()
                ));
                Err(Stopped)
            }
        }
    }

    /// What a derived database will be, before it is made.
    fn begin_derived(&self, kind: Derived, file: Option<usize>, holds: Vec<Snapshot>) -> DerivedStanding {
        let standing = DerivedStanding {
            source: self.index,
            file,
            holds,
        };
        self.begin(Intent::Make(kind, standing.clone()));
        standing
    }

    fn end_derived(&self, kind: Derived, standing: DerivedStanding) {
        *self.ledger.derived(kind).lock() = Some(standing);
        self.ledger.derived_made.fetch_add(1, Ordering::Relaxed);
        self.end();
    }

    fn restore_beside(&mut self, database: &Database, file: usize) -> Result<(), Stopped> {
        let holds = database.standing.lock().backups[file].holds.clone();
        let standing = self.begin_derived(Derived::Restored, Some(file), holds);
        self.run_restore(database, file, Derived::Restored.name())?;
        self.end_derived(Derived::Restored, standing);
        Ok(())
    }

    fn make_snapshot(&mut self, database: &Database) -> Result<(), Stopped> {
        self.drop_derived(Derived::Snapshot)?;
        let (name, snapshot) = (&database.name, Derived::Snapshot.name());
        let files = self.ask(&format!("select name from {name}.sys.database_files where type = 0"))?;
        let logical_names = files.rows.iter().filter_map(|row| row.first()?.as_deref());
        let sparse_files = logical_names.map(|file| format!("(name = {file}, filename = '{snapshot}_{file}.ss')"));
        let sparse_files = sparse_files.collect::<Vec<_>>().join(", ");
        let standing = self.begin_derived(Derived::Snapshot, None, vec![database.snapshot()]);
        self.run(&format!(
            "create database {snapshot} on {sparse_files} as snapshot of {name}"
        ))?;
        self.end_derived(Derived::Snapshot, standing);
        Ok(())
    }

    /// Goes back to the snapshot if it is one of the database in turn.
    fn revert(&mut self) -> Result<(), Stopped> {
        let snapshot = self.ledger.derived(Derived::Snapshot).lock().clone();
        let Some(snapshot) = snapshot.filter(|snapshot| snapshot.source == self.index) else {
            return Ok(());
        };
        // A database with a copy is not reverted.
        self.drop_derived_of(Derived::Copy, self.index)?;
        let database = &self.ledger.databases[self.index];
        self.begin(Intent::Revert(self.index));
        let statement = format!(
            "restore database {} from database_snapshot = '{}'",
            database.name,
            Derived::Snapshot.name()
        );
        // 3137: the database has another file since, or one less.
        if self.attempt_exclusively(&statement, &[3137])? {
            if let [content] = snapshot.holds.as_slice() {
                database.adopt(content);
            }
            self.ledger.derived_made.fetch_add(1, Ordering::Relaxed);
        }
        self.end();
        Ok(())
    }

    fn make_clone(&mut self, database: &Database) -> Result<(), Stopped> {
        self.drop_derived(Derived::Clone)?;
        let mut content = database.snapshot();
        let tables = content.iter_mut().flat_map(|tables| tables.values_mut());
        tables.for_each(|table| table.rows.clear());
        let standing = self.begin_derived(Derived::Clone, None, vec![content]);
        self.run(&format!(
            "dbcc clonedatabase ({}, {}) with no_infomsgs",
            database.name,
            Derived::Clone.name()
        ))?;
        self.end_derived(Derived::Clone, standing);
        Ok(())
    }

    fn make_copy(&mut self, database: &Database) -> Result<(), Stopped> {
        self.drop_derived(Derived::Copy)?;
        let standing = self.begin_derived(Derived::Copy, None, vec![database.snapshot()]);
        self.run(&format!(
            "create database {} as copy of {}",
            Derived::Copy.name(),
            database.name
        ))?;
        self.end_derived(Derived::Copy, standing);
        Ok(())
    }

    /// Deletes a part of all rows of the copy, in one transaction.
    fn change_copy(&mut self) -> Result<(), Stopped> {
        let Some(mut copy) = self.ledger.derived(Derived::Copy).lock().clone() else {
            return Ok(());
        };
        // After a change that was cut off the check has found out which it is.
        let [content] = copy.holds.as_mut_slice() else {
            return Ok(());
        };
        let divisor = 2 + self.random.below(4) as i32;
        let mut batch = format!("use {}\nbegin tran\n", Derived::Copy.name());
        for (name, table) in content.iter_mut().flatten() {
            table.rows.retain(|id, _| id % divisor != 0);
            batch += &format!("delete from {name} where id % {divisor} = 0\n");
        }
        batch += "commit tran\nuse master";
        self.begin(Intent::ChangeCopy(content.clone()));
        self.run(&batch)?;
        *self.ledger.derived(Derived::Copy).lock() = Some(copy);
        self.end();
        Ok(())
    }

    fn drop_derived(&mut self, kind: Derived) -> Result<(), Stopped> {
        if self.ledger.derived(kind).lock().is_none() {
            return Ok(());
        }
        self.begin(Intent::DropDerived(kind));
        self.run_exclusively(&format!("drop database {}", kind.name()))?;
        *self.ledger.derived(kind).lock() = None;
        self.end();
        Ok(())
    }

    fn drop_derived_of(&mut self, kind: Derived, source: usize) -> Result<(), Stopped> {
        let derived = self.ledger.derived(kind).lock().clone();
        match derived.is_some_and(|derived| derived.source == source) {
            true => self.drop_derived(kind),
            false => Ok(()),
        }
    }

    /// Drops what a statement on the database would be refused for.
    fn let_go(&mut self, source: usize) -> Result<(), Stopped> {
        for kind in Derived::ALL {
            if kind.holds_its_source() {
                self.drop_derived_of(kind, source)?;
            }
        }
        Ok(())
    }
}
