//! `vlflab inspect`: the command line of [`advisor::inspection`], for log files and for the logs of a server. [`database`] handles data
//! files and backups.

mod backup_log;
mod changes;
mod database;
mod sheet;

use crate::exit::Failure;
use crate::plan::priced_disk;
use crate::reach::ReachOptions;
use advisor::advice::{advise, verdict_of_layout};
use advisor::database::{FileKind, kind_of};
use advisor::html::inspection_html;
use advisor::pasted::{decoded, layout_of_vlfs};
use advisor::render::{
    ServerLogs, inspection_csv, inspection_json, inspection_markdown, inspection_table, server_logs_csv,
    server_logs_markdown, server_logs_table,
};
use advisor::{Depth, Format, Inspection, inspect_with as read_log};
use clap::Args;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::num::NonZeroU64;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use vlf::{FileHeader, Lsn, PAGE_BYTES, ReadAt, ReadFault, ServerVersion};

/// Shown under `vlflab inspect --help`.
pub const INSPECT_EXAMPLES: &str = "Examples:
  Why does this database start so slowly? How many VLFs does it have, and which growths made them?
    vlflab inspect /var/opt/mssql/data/Sales_log.ldf --map

  A copy of a log from a server that will not start: is it damaged, and where?
    vlflab inspect Sales_log.ldf --format json | jq '.damage, .log_end'

  A page for the ticket, and every VLF for a spreadsheet:
    vlflab inspect Sales_log.ldf --html sales-log.html
    vlflab inspect Sales_log.ldf --format csv > vlfs.csv

  What is in this backup or data file, is it intact, and what are its tables, without a server:
    vlflab inspect Sales.bak
    vlflab inspect Sales.mdf Sales_2.ndf --tables
    vlflab inspect Sales.mdf --rows dbo.Orders --format csv > orders.csv
    vlflab inspect Sales.bak --schema > sales.sql

  Who deleted the rows, when, in which transaction? What has happened to order 10248? T-SQL that undoes a transaction:
    vlflab inspect Sales_log.ldf --data Sales.mdf --who-deleted dbo.Orders
    vlflab inspect Sales_log.ldf --data Sales.mdf --history dbo.Orders 10248 --format json
    vlflab inspect Sales_1.trn Sales_2.trn --data Sales.bak --undo-script 0000:00001b07 > undo.sql

  The logs of a server, most VLFs first; one of them, growth by growth:
    MSSQL_PASSWORD=... vlflab inspect -S db1 -U reader
    MSSQL_PASSWORD=... vlflab inspect -S db1 -U reader --database Sales --map

Files are opened read-only, and no server is needed. Supported are log files of SQL Server 7.0 to 2022 and of vlflab, and data files and
backups of SQL Server 2005 to 2022. Stop the database or use a copy: a file that is being written while it is read can look damaged.
With -S, it reads the same views as vlflab snapshot; --format json prints that snapshot, csv every VLF.
The exit code is 4 if damage was found, and 6 if VLFs of a server's database could not be read.";

/// Options of `vlflab inspect`.
#[derive(Debug, Args)]
pub struct InspectOptions {
    /// A log file, the data files of a database, or the files of a backup.
    #[arg(value_name = "FILE", required_unless_present = "server", conflicts_with = "server")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub reach: ReachOptions,
    /// Of a server, only this database, with its growths.
    #[arg(short, long, value_name = "NAME", requires = "server")]
    pub database: Option<String>,
    /// Of a server, the disk that seconds are computed on [default: azure-p30].
    #[arg(long, value_name = "DISK", requires = "server")]
    pub disk: Option<String>,
    /// Draw the ring of VLFs.
    #[arg(long)]
    pub map: bool,
    /// For data files or a backup: the tables and their columns from the catalog; fast at any size.
    #[arg(long, conflicts_with_all = ["server", "rows", "schema"])]
    pub tables: bool,
    /// Of data files or a backup, all rows of this table, as csv or json.
    #[arg(long, value_name = "TABLE", conflicts_with_all = ["server", "schema"])]
    pub rows: Option<String>,
    /// Of data files or a backup, the T-SQL that makes its tables, keys, constraints and modules.
    #[arg(long, conflicts_with = "server")]
    pub schema: bool,
    /// Of a backup, this set of those that it has [default: 1].
    #[arg(long, value_name = "NUMBER", conflicts_with = "server")]
    pub set: Option<usize>,
    #[command(flatten)]
    pub changes: changes::ChangesOptions,
    /// Read only the VLF headers, not the log blocks; fast at any size.
    #[arg(long, conflicts_with = "server")]
    pub headers: bool,
    /// Also write a page for the browser.
    #[arg(long, value_name = "OUT", conflicts_with = "server")]
    pub html: Option<PathBuf>,
    /// table, json, csv (the VLFs) or md.
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub format: Format,
}

/// Runs `vlflab inspect`.
pub fn inspect(options: &InspectOptions) -> Result<(), Failure> {
    if options.changes.is_asked() {
        return inspect_changes(options);
    }
    if !options.changes.data.is_empty() {
        return Err(Failure::Usage(
            "--data goes with --transactions, --records, --who-deleted, --history or --undo-script".to_owned(),
        ));
    }
    match (options.files.as_slice(), &options.reach.server) {
        ([], Some(server)) => inspect_server(server, options),
        ([], None) => Err(Failure::Usage(
            "whose log? Write FILE.ldf, or -S HOST[,PORT]".to_owned(),
        )),
        ([first, others @ ..], _) => match kind_of(&open(first)?) {
            FileKind::Log if !others.is_empty() => Err(Failure::Usage(format!(
                "{}: not a data file nor a backup, and only those are read together with others",
                first.display()
            ))),
            FileKind::Log => inspect_file(first, options),
            kind => inspect_database(kind, options),
        },
    }
}

/// The changes in a log have options of their own.
fn inspect_changes(options: &InspectOptions) -> Result<(), Failure> {
    let of_others = [
        ("--map", options.map),
        ("--headers", options.headers),
        ("--html", options.html.is_some()),
        ("--tables", options.tables),
        ("--rows", options.rows.is_some()),
        ("--schema", options.schema),
        ("--set", options.set.is_some()),
    ];
    if let Some((name, _)) = of_others.iter().find(|(_, is_given)| *is_given) {
        return Err(Failure::Usage(format!(
            "{name} does not go with questions about changes"
        )));
    }
    changes::inspect(&options.files, &options.changes, options.format)
}

/// Options of logs say nothing of a database.
fn inspect_database(kind: FileKind, options: &InspectOptions) -> Result<(), Failure> {
    let of_logs = [
        ("--map", options.map),
        ("--headers", options.headers),
        ("--html", options.html.is_some()),
    ];
    if let Some((name, _)) = of_logs.iter().find(|(_, is_given)| *is_given) {
        return Err(Failure::Usage(format!("{name} is for log files")));
    }
    if kind == FileKind::Data && options.set.is_some() {
        return Err(Failure::Usage("--set is for backups".to_owned()));
    }
    database::inspect(&options.files, kind, options)
}

/// Exit code: VLFs of a database could not be read.
const GAPS: u8 = 6;

/// The logs of a server.
fn inspect_server(server: &str, options: &InspectOptions) -> Result<(), Failure> {
    if options.map && options.database.is_none() {
        return Err(Failure::Usage(
            "--map draws one log: name it with --database".to_owned(),
        ));
    }
    let disk = priced_disk(options.disk.as_deref())?;
    let snapshot = options.reach.snapshot(server)?;
    if let Some(name) = &options.database
        && !snapshot
            .databases
            .iter()
            .any(|each| each.name.eq_ignore_ascii_case(name))
    {
        return Err(Failure::Usage(format!(
            "{}: no database '{name}' exists, or it is not visible",
            snapshot.name
        )));
    }
    let advice = advise(&snapshot, &disk);
    let logs = ServerLogs {
        snapshot: &snapshot,
        advice: &advice,
        database: options.database.as_deref(),
        map: options.map,
    };
    let mut out = io::BufWriter::new(io::stdout().lock());
    match options.format {
        Format::Table => out.write_all(server_logs_table(logs).as_bytes())?,
        Format::Markdown => out.write_all(server_logs_markdown(logs).as_bytes())?,
        Format::Csv => server_logs_csv(logs, &mut out)?,
        Format::Json => writeln!(out, "{}", snapshot.to_json())?,
    }
    out.flush()?;
    match logs.has_unread() {
        true => Err(Failure::Code(GAPS)),
        false => Ok(()),
    }
}

fn inspect_file(path: &Path, options: &InspectOptions) -> Result<(), Failure> {
    if options.tables || options.schema || options.rows.is_some() || options.set.is_some() {
        return Err(Failure::Usage(format!(
            "{}: a log file has no catalog; give the data file or a backup",
            path.display()
        )));
    }
    if let Some(page) = &options.html {
        refuse_overwriting(path, page)?;
    }
    let source = open(path)?;
    let depth = if options.headers { Depth::Headers } else { Depth::Blocks };
    let failed = |fault: ReadFault| Failure::Failed(format!("{}: {fault}", path.display()));
    let recorded = recorded_create_lsns(path, &source);
    let inspection = read_log(&source, depth, &recorded).map_err(failed)?;
    if inspection.is_no_log() {
        return Err(Failure::Usage(format!(
            "{}: no log file: there is neither a file header page nor a VLF in it (a log overwritten from its beginning to its end looks the \
             same)",
            path.display()
        )));
    }
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    if let Some(page) = &options.html {
        std::fs::write(page, inspection_html(&inspection, &name))
            .map_err(|error| Failure::Failed(format!("{}: {error}", page.display())))?;
    }
    show(&inspection, &name, options)?;
    if inspection.damage_count > 0 {
        Err(Failure::Corruption)
    } else {
        Ok(())
    }
}

/// The create LSNs that the directory beside a log of ours has, by the offset of their VLFs: the only place that still knows some.
/// Empty if the directory is missing or cannot be read: the log is read all the same.
fn recorded_create_lsns(path: &Path, source: &FileSource) -> BTreeMap<u64, Lsn> {
    let mut page = vec![0; PAGE_BYTES as usize];
    let header = source
        .read_at(0, &mut page)
        .ok()
        .and_then(|()| FileHeader::decode(&page).ok());
    let recorded = header.and_then(|header| {
        engine::log::recorded_create_lsns(&disk::OsDisk, path, header.file_id, header.created_ticks).ok()
    });
    recorded.unwrap_or_default()
}

fn show(inspection: &Inspection, name: &str, options: &InspectOptions) -> Result<(), Failure> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    match options.format {
        Format::Table => {
            out.write_all(inspection_table(inspection, name, options.map).as_bytes())?;
            write_verdict(inspection, &mut out)?;
        }
        Format::Markdown => {
            out.write_all(inspection_markdown(inspection, name, options.map).as_bytes())?;
            write_verdict(inspection, &mut out)?;
        }
        Format::Csv => inspection_csv(inspection, &mut out)?,
        Format::Json => inspection_json(inspection, &mut out)?,
    }
    Ok(out.flush()?)
}

/// The VLFs in seconds, as `vlflab advise` has them, on the disk of those who name none. Nothing where the VLFs do not follow one another.
fn write_verdict(inspection: &Inspection, out: &mut dyn Write) -> Result<(), Failure> {
    let version = ServerVersion::V2022;
    if let Ok(layout) = layout_of_vlfs(inspection.spans(), version) {
        let disk = priced_disk(None)?;
        writeln!(out, "\n{}", verdict_of_layout(&layout, version, &disk))?;
    }
    Ok(())
}

/// Headers asked for ahead of the walk: enough to keep a disk's queue full.
const HEADERS_AHEAD: u64 = 64;
/// Bytes asked for ahead at each: a VLF's header and its first log blocks.
const AHEAD_BYTES: u64 = 16 * 1024;

/// A file opened for reading, read at given positions.
///
/// The VLFs of most logs come in long runs of one size. Small reads at a steady distance are taken for a walk over their
/// headers, and the system is asked to fetch the next ones early: a hundred thousand reads one after the other would
/// wait for the disk each time.
pub struct FileSource {
    file: File,
    bytes: u64,
    /// Offset of the last header read, and its distance from the one before.
    walk: Mutex<(u64, u64)>,
}

/// A page is not written over the file that it is made of.
pub fn refuse_overwriting(read: &Path, page: &Path) -> Result<(), Failure> {
    match (read.canonicalize(), page.canonicalize()) {
        (Ok(read), Ok(page)) if read == page => Err(Failure::Usage(format!(
            "--html {}: the page would replace the file that is read",
            page.display()
        ))),
        _ => Ok(()),
    }
}

/// Opens `path` read-only.
pub fn open(path: &Path) -> Result<FileSource, Failure> {
    let unusable = |error: io::Error| Failure::Usage(format!("{}: {error}", path.display()));
    let file = File::open(path).map_err(unusable)?;
    let metadata = file.metadata().map_err(unusable)?;
    if !metadata.is_file() {
        return Err(Failure::Usage(format!("{}: not a file", path.display())));
    }
    Ok(FileSource {
        file,
        bytes: metadata.len(),
        walk: Mutex::default(),
    })
}

impl FileSource {
    /// Notes a header read at `offset` and asks for those to come.
    fn look_ahead(&self, offset: u64) {
        let mut walk = self.walk.lock().unwrap_or_else(PoisonError::into_inner);
        let (last, distance) = *walk;
        let now = offset.saturating_sub(last);
        *walk = (offset, now);
        drop(walk);
        if now < vlf::growth::VLF_BYTES_MIN || now != distance {
            return;
        }
        let ahead = offset.saturating_add(now.saturating_mul(HEADERS_AHEAD));
        if let Some(length) = NonZeroU64::new(AHEAD_BYTES.min(self.bytes.saturating_sub(ahead))) {
            // Advice only: without it the reads are slower, not wrong.
            let _ = rustix::fs::fadvise(&self.file, ahead, Some(length), rustix::fs::Advice::WillNeed);
        }
    }

    /// The whole file as text.
    pub fn text(&self, bytes_max: u64) -> Result<String, String> {
        if self.bytes > bytes_max {
            return Err(format!("more than {bytes_max} bytes of text"));
        }
        let mut bytes = vec![0; usize::try_from(self.bytes).map_err(|error| error.to_string())?];
        self.read_at(0, &mut bytes).map_err(|fault| fault.to_string())?;
        decoded(bytes)
    }
}

impl ReadAt for FileSource {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), ReadFault> {
        if buffer.len() == vlf::SECTOR_BYTES {
            self.look_ahead(offset);
        }
        self.file.read_exact_at(buffer, offset).map_err(|error| ReadFault {
            offset,
            reason: error.to_string(),
        })
    }

    fn len(&self) -> u64 {
        self.bytes
    }

    #[cfg(target_os = "linux")]
    fn next_data(&self, offset: u64) -> u64 {
        use rustix::fs::{SeekFrom, seek};
        match seek(&self.file, SeekFrom::Data(offset)) {
            Ok(data) => data.max(offset),
            // No data from here to the end.
            Err(rustix::io::Errno::NXIO) => self.bytes.max(offset),
            // A file system that does not know its holes.
            Err(_) => offset,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn holes_are_stepped_over() {
        let path = std::env::temp_dir().join(format!("vlflab-holes-{}", std::process::id()));
        let file = File::create(&path).unwrap();
        file.write_all_at(&[1; 4096], 8 << 20).unwrap();
        file.set_len(16 << 20).unwrap();
        let source = open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let next = source.next_data(0);
        // 0 where the file system does not know its holes.
        assert!(next == 8 << 20 || next == 0, "{next}");
        assert_eq!(source.next_data(8 << 20), 8 << 20);
        let mut byte = [0];
        source.read_at(8 << 20, &mut byte).unwrap();
        assert_eq!(byte, [1]);
        assert!(source.read_at(16 << 20, &mut byte).is_err());
    }
}
