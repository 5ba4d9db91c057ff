//! The logs of a server as `vlflab inspect -S` shows them: a line each, the VLFs of one, and what could not be read.

use std::fmt::Write;
use std::io;

use super::growth_runs::{layout_table, remembered_table};
use super::table::{Align, Table};
use crate::advice::Advice;
use crate::map;
use crate::size::{format_bytes, group_digits};
use crate::snapshot::{DatabaseFacts, Snapshot};

/// A server's logs, with the verdict on each.
#[derive(Clone, Copy, Debug)]
pub struct ServerLogs<'a> {
    pub snapshot: &'a Snapshot,
    pub advice: &'a Advice,
    /// Only this database; its VLFs are then listed growth by growth.
    pub database: Option<&'a str>,
    pub map: bool,
}

impl<'a> ServerLogs<'a> {
    /// The databases shown, those with the most VLFs first, those whose VLFs were not read last.
    fn shown(&self) -> Vec<&'a DatabaseFacts> {
        let wanted = |each: &&DatabaseFacts| self.database.is_none_or(|name| each.name.eq_ignore_ascii_case(name));
        let mut shown: Vec<&DatabaseFacts> = self.snapshot.databases.iter().filter(wanted).collect();
        shown.sort_by_key(|database| std::cmp::Reverse(database.vlf_count()));
        shown
    }

    /// Whether VLFs of a database that is shown were not read.
    pub fn has_unread(&self) -> bool {
        let shown = self.shown();
        shown.is_empty() || shown.iter().any(|database| database.vlf_count() == 0)
    }

    fn table(&self) -> Table {
        let mut table = Table::new(&[
            ("database", Align::Left),
            ("log", Align::Right),
            ("used", Align::Right),
            ("grows by", Align::Right),
            ("VLFs", Align::Right),
            ("active", Align::Right),
            ("smallest", Align::Right),
            ("largest", Align::Right),
            ("reuse wait", Align::Left),
            ("verdict", Align::Left),
        ]);
        for database in self.shown() {
            table.row(self.row(database));
        }
        table
    }

    fn row(&self, database: &DatabaseFacts) -> Vec<String> {
        let unknown = || "-".to_owned();
        let sizes = || vlfs(database).map(|vlf| vlf.bytes);
        let growths: Vec<String> = database.log_files.iter().map(|file| file.growth.to_string()).collect();
        let verdicts = &self.advice.verdicts;
        let verdict = verdicts.iter().find(|verdict| verdict.database == database.name);
        let count = database.vlf_count();
        let counted = |number: u64| if count == 0 { unknown() } else { group_digits(number) };
        vec![
            database.name.clone(),
            format_bytes(database.log_bytes()),
            database
                .used_share()
                .map_or_else(unknown, |share| format!("{:.0} %", share * 100.0)),
            growths.join(", "),
            counted(count),
            counted(vlfs(database).filter(|vlf| vlf.status == 2).count() as u64),
            sizes().min().map_or_else(unknown, format_bytes),
            sizes().max().map_or_else(unknown, format_bytes),
            if database.reuse_wait.is_empty() {
                unknown()
            } else {
                database.reuse_wait.clone()
            },
            verdict.map_or_else(unknown, |verdict| verdict.text.clone()),
        ]
    }

    fn not_read(&self) -> Vec<String> {
        let of_vlfs = ["sys.dm_db_log_info", "DBCC LOGINFO"];
        let databases: Vec<&str> = self.shown().iter().map(|database| database.name.as_str()).collect();
        let noted = self.snapshot.not_read.iter().filter(|noted| !noted.is_absent());
        let noted = noted.filter(|noted| {
            let is_shown = noted.database.as_deref().is_none_or(|name| databases.contains(&name));
            is_shown
                && (of_vlfs.contains(&noted.source.as_str()) || self.database.is_none() && noted.database.is_none())
        });
        noted
            .map(|noted| {
                let of = noted
                    .database
                    .as_ref()
                    .map_or_else(String::new, |name| format!(" of {name}"));
                format!("{}{of}: {}", noted.source, noted.reason)
            })
            .collect()
    }

    fn heading(&self) -> String {
        format!(
            "{}: {}; seconds on {}",
            self.advice.name, self.advice.product, self.advice.disk
        )
    }
}

fn vlfs(database: &DatabaseFacts) -> impl Iterator<Item = &crate::snapshot::VlfFacts> {
    database.log_files.iter().flat_map(|file| &file.vlfs)
}

const REMEMBERED: &str = "Growths and shrinks of the log that the server remembers";

/// What a table leaves out.
fn more(left_out: usize) -> String {
    match left_out {
        0 => String::new(),
        count => format!("\n  {} more; --format json has every one\n", group_digits(count as u64)),
    }
}

/// For a terminal.
pub fn server_logs_table(logs: ServerLogs<'_>) -> String {
    let mut out = format!("{}\n\n{}", logs.heading(), logs.table().text());
    for database in logs.shown().iter().filter(|_| logs.database.is_some()) {
        for file in database.log_files.iter().filter(|file| !file.vlfs.is_empty()) {
            let (table, left_out) = layout_table(file);
            let _ = write!(out, "\n{} ({}):\n{}", file.name, file.path, table.text());
            out.push_str(&more(left_out));
            if logs.map {
                let _ = write!(out, "\n{}", map::of_server(file));
            }
        }
        if let Some((table, left_out)) = remembered_table(&logs.snapshot.growths, &database.name) {
            let _ = write!(out, "\n{REMEMBERED}:\n{}{}", table.text(), more(left_out));
        }
    }
    for line in logs.not_read() {
        let _ = writeln!(out, "\nnot read: {line}");
    }
    out
}

pub fn server_logs_markdown(logs: ServerLogs<'_>) -> String {
    let mut out = format!("{}\n\n{}", logs.heading(), logs.table().markdown());
    for database in logs.shown().iter().filter(|_| logs.database.is_some()) {
        for file in database.log_files.iter().filter(|file| !file.vlfs.is_empty()) {
            let (table, left_out) = layout_table(file);
            let _ = write!(out, "\n## {}\n\n{}{}", file.name, table.markdown(), more(left_out));
            if logs.map {
                let _ = write!(out, "\n```text\n{}```\n", map::of_server(file));
            }
        }
        if let Some((table, left_out)) = remembered_table(&logs.snapshot.growths, &database.name) {
            let _ = write!(out, "\n## {REMEMBERED}\n\n{}{}", table.markdown(), more(left_out));
        }
    }
    for line in logs.not_read() {
        let _ = write!(out, "\n- not read: {line}");
    }
    out
}

/// A VLF a line; names are quoted where they have to be.
///
/// # Errors
/// Those of writing.
pub fn server_logs_csv(logs: ServerLogs<'_>, out: &mut dyn io::Write) -> io::Result<()> {
    writeln!(out, "database,file_id,offset,bytes,sequence,status,create_lsn")?;
    for database in logs.shown() {
        let name = super::advice::csv_cell(&database.name);
        for file in &database.log_files {
            for vlf in &file.vlfs {
                writeln!(
                    out,
                    "{name},{},{},{},{},{},{}",
                    file.file_id,
                    vlf.offset,
                    vlf.bytes,
                    vlf.sequence,
                    vlf.status,
                    super::advice::csv_cell(&vlf.create_lsn)
                )?;
            }
        }
    }
    Ok(())
}
