//! The page of metrics for Prometheus, in its text format 0.0.4.
//!
//! Times are in seconds, sizes in bytes; counters end in `_total`. The counters of a database restart at zero whenever it is opened, those
//! of waits also at `DBCC SQLPERF('sys.dm_os_wait_stats', CLEAR)`. Prometheus handles such resets.
//!
//! The figures have the same sources as `sys.dm_os_performance_counters`, `sys.dm_os_wait_stats` and `sys.dm_db_log_stats`.

use super::recovery::unrecovered;
use engine::activity::Activity;
use engine::database::Database;
use engine::instance::{DatabaseState, Instance};
use engine::log::FLUSH_BOUNDS_MICROS;
use std::collections::BTreeMap;
use std::fmt::{Display, Write};
use std::sync::Arc;

/// Its content type.
pub const KIND: &str = "text/plain; version=0.0.4; charset=utf-8";

const MICROS: f64 = 1e6;

/// The page being written. All samples of a family stand together, as the format wants.
#[derive(Default)]
struct Page(String);

impl Page {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        // A String takes whatever is written.
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        let labels: Vec<String> = labels
            .iter()
            .map(|(label, value)| format!("{label}=\"{}\"", escaped(value)))
            .collect();
        let _ = match labels.is_empty() {
            true => writeln!(self.0, "{name} {value}"),
            false => writeln!(self.0, "{name}{{{}}} {value}", labels.join(",")),
        };
    }

    /// A family of one sample.
    fn single(&mut self, name: &str, kind: &str, help: &str, value: impl Display) {
        self.family(name, kind, help);
        self.sample(name, &[], value);
    }
}

/// A label's value as it stands between quotes.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// All figures. Without an instance it is being started: then those of the process and of recoveries.
pub fn page(activity: &Activity, instance: Option<&Instance>) -> String {
    let mut page = Page::default();
    page.family("vlflab_build_info", "gauge", "The program's version; always 1.");
    page.sample("vlflab_build_info", &[("version", env!("CARGO_PKG_VERSION"))], 1);
    if let Some(bytes) = resident_bytes() {
        let help = "Memory of the process that is in the machine's memory.";
        page.single("process_resident_memory_bytes", "gauge", help, bytes);
    }
    recovery(&mut page, activity, instance);
    if let Some(instance) = instance {
        of_instance(&mut page, instance);
        waits(&mut page, instance);
        let open: Vec<(String, Arc<Database>)> = open_databases(instance);
        of_databases(&mut page, &open);
        flushes(&mut page, &open);
    }
    page.0
}

fn open_databases(instance: &Instance) -> Vec<(String, Arc<Database>)> {
    let slots = instance.slots();
    let open = slots.iter().filter_map(|slot| match slot.state() {
        DatabaseState::Online(database) => Some((slot.entry().name, database)),
        _ => None,
    });
    open.collect()
}

/// What `/proc` says of this process.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix(" kB")?.trim_end().parse().ok()?;
    Some(kilobytes << 10)
}

fn recovery(page: &mut Page, activity: &Activity, instance: Option<&Instance>) {
    let name = "vlflab_database_recovery_ratio";
    let help =
        "Progress of the recovery phase that a database is in, 0 to 1; NaN if it is unknown or no recovery runs.";
    page.family(name, "gauge", help);
    for each in unrecovered(activity, instance) {
        let labels = [("database", each.database.as_str()), ("phase", each.phase)];
        page.sample(name, &labels, each.fraction.unwrap_or(f64::NAN));
    }
}

fn of_instance(page: &mut Page, instance: &Instance) {
    let mut states: BTreeMap<&str, usize> = BTreeMap::new();
    for slot in instance.slots() {
        *states.entry(slot.state().number_and_name().1).or_default() += 1;
    }
    page.family("vlflab_databases", "gauge", "Databases by state_desc of sys.databases.");
    for (state, count) in states {
        page.sample("vlflab_databases", &[("state", state)], count);
    }
    let sessions = instance.sessions().len();
    page.single("vlflab_sessions", "gauge", "Sessions of users.", sessions);
    let (limit, used) = (instance.server_memory_bytes(), instance.server_memory_used_bytes());
    let help = "max server memory, as it is in effect.";
    page.single("vlflab_server_memory_limit_bytes", "gauge", help, limit);
    let help = "Of this, what pages and queries have taken.";
    page.single("vlflab_server_memory_used_bytes", "gauge", help, used);
    let pool = instance.pool.counters();
    let help = "Pages of 8 KB read from data files.";
    page.single("vlflab_pages_read_total", "counter", help, pool.pages_read);
    let name = "vlflab_pages_written_total";
    page.family(name, "counter", "Pages of 8 KB written to data files, by writer.");
    page.sample(name, &[("by", "checkpoint")], pool.pages_written_by_checkpoint);
    page.sample(name, &[("by", "eviction")], pool.pages_written_by_eviction);
    let help = "Pages in memory that differ from their file.";
    page.single("vlflab_pages_dirty", "gauge", help, pool.pages_dirty);
}

fn waits(page: &mut Page, instance: &Instance) {
    let rows = instance.env.waits.rows();
    page.family(
        "vlflab_waits_total",
        "counter",
        "Waits that have ended, by wait_type of sys.dm_os_wait_stats.",
    );
    for row in &rows {
        page.sample(
            "vlflab_waits_total",
            &[("wait_type", row.wait_type.name())],
            row.waiting_tasks,
        );
    }
    page.family(
        "vlflab_wait_seconds_total",
        "counter",
        "Their time, signal time included.",
    );
    for row in &rows {
        let seconds = row.wait_micros as f64 / MICROS;
        page.sample(
            "vlflab_wait_seconds_total",
            &[("wait_type", row.wait_type.name())],
            seconds,
        );
    }
}

/// A figure that each open database has one of.
struct PerDatabase {
    name: &'static str,
    kind: &'static str,
    help: &'static str,
    read: fn(&Database) -> f64,
}

const fn counter(name: &'static str, help: &'static str, read: fn(&Database) -> f64) -> PerDatabase {
    PerDatabase {
        name,
        kind: "counter",
        help,
        read,
    }
}

const fn gauge(name: &'static str, help: &'static str, read: fn(&Database) -> f64) -> PerDatabase {
    PerDatabase {
        name,
        kind: "gauge",
        help,
        read,
    }
}

const PER_DATABASE: [PerDatabase; 14] = [
    counter(
        "vlflab_commits_total",
        "Transactions committed that had changed something.",
        |database| database.transactions.finished().0 as f64,
    ),
    counter(
        "vlflab_rollbacks_total",
        "Transactions rolled back that had changed something.",
        |database| database.transactions.finished().1 as f64,
    ),
    gauge(
        "vlflab_active_transactions",
        "Open transactions that have changed something.",
        |database| database.transactions.snapshot().len() as f64,
    ),
    counter(
        "vlflab_log_flushed_bytes_total",
        "Bytes written to the log.",
        |database| database.storage.log.counters().bytes_flushed as f64,
    ),
    counter(
        "vlflab_log_flush_waits_total",
        "Calls that waited for a flush of the log.",
        |database| database.storage.log.counters().flush_waits as f64,
    ),
    counter("vlflab_log_flush_wait_seconds_total", "Their time.", |database| {
        database.storage.log.counters().flush_wait_micros as f64 / MICROS
    }),
    counter(
        "vlflab_log_growths_total",
        "Growths of log files, automatic and manual.",
        |database| database.storage.log.counters().growths as f64,
    ),
    counter(
        "vlflab_log_growth_waits_total",
        "Changes that found no room in the log and waited for it to grow.",
        |database| database.storage.log.counters().growth_waits as f64,
    ),
    counter("vlflab_log_shrinks_total", "Shrinks of log files.", |database| {
        database.storage.log.counters().shrinks as f64
    }),
    counter(
        "vlflab_log_truncations_total",
        "Truncations that freed a VLF or more.",
        |database| database.storage.log.counters().truncations as f64,
    ),
    gauge("vlflab_log_size_bytes", "All VLFs.", |database| {
        database.storage.log.space().total_bytes as f64
    }),
    gauge("vlflab_log_used_bytes", "Log that is still needed.", |database| {
        database.storage.log.space().used_bytes as f64
    }),
    gauge(
        "vlflab_log_reserved_bytes",
        "Log that is set aside for rollbacks.",
        |database| database.storage.log.space().reserved_bytes as f64,
    ),
    gauge("vlflab_log_used_ratio", "Used by size, 0 to 1.", |database| {
        database.storage.log.space().used_percent() / 100.0
    }),
];

fn of_databases(page: &mut Page, open: &[(String, Arc<Database>)]) {
    for figure in &PER_DATABASE {
        page.family(figure.name, figure.kind, figure.help);
        for (name, database) in open {
            page.sample(figure.name, &[("database", name)], (figure.read)(database));
        }
    }
    let name = "vlflab_log_vlfs";
    page.family(name, "gauge", "VLFs: active ones hold log that is still needed.");
    for (database_name, database) in open {
        let space = database.storage.log.space();
        let free = space.vlf_count.saturating_sub(space.active_vlfs);
        page.sample(
            name,
            &[("database", database_name), ("state", "active")],
            space.active_vlfs,
        );
        page.sample(name, &[("database", database_name), ("state", "free")], free);
    }
}

/// Durable writes of the log by their time.
fn flushes(page: &mut Page, open: &[(String, Arc<Database>)]) {
    page.family(
        "vlflab_log_flush_seconds",
        "histogram",
        "Durable writes of the log by their time.",
    );
    for (database_name, database) in open {
        let log = &database.storage.log;
        let seconds = log.counters().flush_write_micros as f64 / MICROS;
        let mut count = 0;
        let bounds = FLUSH_BOUNDS_MICROS
            .iter()
            .map(|bound| (*bound as f64 / MICROS).to_string());
        for (bound, of_class) in bounds.chain(["+Inf".to_owned()]).zip(log.flush_times()) {
            count += of_class;
            let labels = [("database", database_name.as_str()), ("le", &bound)];
            page.sample("vlflab_log_flush_seconds_bucket", &labels, count);
        }
        page.sample("vlflab_log_flush_seconds_sum", &[("database", database_name)], seconds);
        page.sample("vlflab_log_flush_seconds_count", &[("database", database_name)], count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_databases_are_escaped() {
        let mut page = Page::default();
        page.sample("x", &[("database", "a\"b\\c\nd"), ("e", "f")], 1);
        assert_eq!(page.0, "x{database=\"a\\\"b\\\\c\\nd\",e=\"f\"} 1\n");
    }

    #[test]
    fn a_start_tells_how_far_each_recovery_is() {
        let activity = Arc::new(Activity::default());
        let redo = activity.begin_for(None, engine::activity::WorkKind::Redo, "sales", 200, 0);
        redo.set_done(50);
        let text = page(&activity, None);
        assert!(
            text.contains("\nvlflab_database_recovery_ratio{database=\"sales\",phase=\"redo\"} 0.25\n"),
            "{text}"
        );
    }
}
