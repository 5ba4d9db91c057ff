//! A server that answers from recorded rows.

use std::collections::BTreeMap;

use advisor::advice::{Advice, Finding, Outcome, advise};
use advisor::price::PricedDisk;
use advisor::snapshot::{Answer, Gathering, Refusal, Rows, Snapshot, Source};
use device::parameter::{Kind, Range, Ranges};

/// Where rows come from.
#[derive(Clone, Copy)]
pub enum Origin {
    /// Printed there.
    Found(&'static str),
    /// Made here, in the shape that is documented there.
    Made,
}

/// Answers by source. Whatever has none answers without rows.
#[derive(Clone, Default)]
pub struct Recorded {
    rows: BTreeMap<Source, Rows>,
    refused: BTreeMap<Source, Refusal>,
}

/// `a|b` is two columns or cells; `-` is NULL.
pub fn table(columns: &str, lines: &[&str]) -> Rows {
    let cell = |text: &str| (text != "-").then(|| text.to_owned());
    Rows {
        columns: columns.split('|').map(str::to_owned).collect(),
        rows: lines.iter().map(|line| line.split('|').map(cell).collect()).collect(),
    }
}

const GB_PAGES: u64 = 131_072;
/// VLFs of [`Recorded::sales`], and the bytes of each.
pub const VLFS: u32 = 16;
const VLF_BYTES: u64 = 67_108_864;
/// The sequence of the first of them.
pub const FIRST_SEQUENCE: u32 = 101;

const DATABASES: &str = "database_id|name|state_desc|recovery_model_desc|log_reuse_wait_desc|source_database_id|is_read_only|\
                         is_in_standby|is_auto_shrink_on|is_published|is_cdc_enabled|is_accelerated_database_recovery_on|\
                         delayed_durability_desc|is_in_group|is_accessible";

impl Recorded {
    /// A server of 2019 with one database, Sales: 10 GB of data and a log of 1 GB in 16 VLFs, of which those from `oldest_active` on are
    /// active, `used_percent` used. Its last backups are recent. The clock stands at noon of 2026-11-26.
    pub fn sales(recovery_model: &str, reuse_wait: &str, oldest_active: u32, used_percent: u64) -> Recorded {
        let mut recorded = Recorded::default();
        recorded.put(
            Source::Server,
            "server_name|product_version|edition|engine_edition|clock|login_name",
            &["DB1|15.0.4385.2|Enterprise Edition (64-bit)|3|2026-11-26 12:00:00.000|reader"],
        );
        let started = "2026-11-19 12:00:00.000";
        recorded.put(Source::SystemInformation, "sqlserver_start_time", &[started]);
        recorded.database(&format!(
            "5|Sales|ONLINE|{recovery_model}|{reuse_wait}|-|0|0|0|0|0|0|DISABLED|0|1"
        ));
        recorded.log_file(GB_PAGES, 268_435_456, 8_192, 0);
        let used = GB_PAGES * 8 * used_percent / 100;
        let counters = [
            format!("Log File(s) Size (KB)|Sales|{}", GB_PAGES * 8 - 8),
            format!("Log File(s) Used Size (KB)|Sales|{used}"),
        ];
        let counters: Vec<&str> = counters.iter().map(String::as_str).collect();
        recorded.put(Source::Counters, "counter|database_name|cntr_value", &counters);
        recorded.put(Source::RecoveryStatus, "database_id|chain_has_begun", &["5|1"]);
        recorded.put(
            Source::Backups,
            "database_name|type|last_finish|backups_7d|bytes_7d|largest_7d",
            &[
                "Sales|D|2026-11-26 01:00:00.000|7|75161927680|10737418240",
                "Sales|L|2026-11-26 11:45:00.000|672|45097156608|943718400",
            ],
        );
        recorded.vlfs(oldest_active);
        recorded
    }

    pub fn put(&mut self, source: Source, columns: &str, lines: &[&str]) -> &mut Recorded {
        self.rows.insert(source, table(columns, lines));
        self
    }

    pub fn rows(&mut self, source: Source, rows: Rows) -> &mut Recorded {
        self.rows.insert(source, rows);
        self
    }

    pub fn refuse(&mut self, source: Source, number: i64, text: &str) -> &mut Recorded {
        let text = text.to_owned();
        self.refused.insert(source, Refusal { number, text });
        self
    }

    /// The one row of sys.databases.
    pub fn database(&mut self, row: &str) -> &mut Recorded {
        self.put(Source::Databases, DATABASES, &[row])
    }

    /// Size, MAXSIZE and FILEGROWTH of the log in pages, or the growth in percent.
    pub fn log_file(&mut self, pages: u64, pages_max: i64, growth: u64, is_percent: u8) -> &mut Recorded {
        let log = format!("5|2|1|Sales_log|L:\\log\\Sales_log.ldf|{pages}|{pages_max}|{growth}|{is_percent}");
        self.put(
            Source::Files,
            "database_id|file_id|type|name|physical_name|size|max_size|growth|is_percent_growth",
            &["5|1|0|Sales|D:\\data\\Sales.mdf|1310720|-1|8192|0", &log],
        )
    }

    /// The same server, whose database has another name.
    pub fn renamed(mut self, name: &str) -> Recorded {
        let cells = self
            .rows
            .values_mut()
            .flat_map(|rows| &mut rows.rows)
            .flatten()
            .flatten();
        for cell in cells.filter(|cell| *cell == "Sales") {
            *cell = name.to_owned();
        }
        self
    }

    fn vlfs(&mut self, oldest_active: u32) {
        self.vlfs_from(FIRST_SEQUENCE, oldest_active);
    }

    /// Its VLFs, of which the first has this sequence.
    pub fn vlfs_from(&mut self, first: u32, oldest_active: u32) {
        let row = |index: u32| {
            let sequence = first + index;
            let status = if sequence >= oldest_active { 2 } else { 0 };
            let offset = 8192 + u64::from(index) * VLF_BYTES;
            // Page 0 is missing at the end.
            let bytes = if index + 1 == VLFS { VLF_BYTES - 8192 } else { VLF_BYTES };
            format!("0|2|{bytes}|{offset}|{sequence}|{status}|64|0")
        };
        let lines: Vec<String> = (0..VLFS).map(row).collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let columns = "RecoveryUnitId|FileId|FileSize|StartOffset|FSeqNo|Status|Parity|CreateLSN";
        self.put(Source::LogInfoCommand, columns, &lines);
    }

    /// A transaction of session 57 that begins in a VLF.
    pub fn transaction(&mut self, vlf: u32, begun: &str, session: Option<&str>) -> &mut Recorded {
        let begin = u128::from(vlf) * 1_000_000_000_000_000 + 24_000_000 + 1;
        let row = format!("4711|5|2026-11-26 {begun}.000|52428800|67108864|{begin}");
        self.put(
            Source::Transactions,
            "transaction_id|database_id|database_transaction_begin_time|database_transaction_log_bytes_used|\
             database_transaction_log_bytes_reserved|database_transaction_begin_lsn",
            &[&row],
        );
        let kinds = "transaction_id|name|transaction_type|transaction_state|transaction_uow";
        self.put(Source::ActiveTransactions, kinds, &["4711|user_transaction|1|2|-"]);
        if let Some(status) = session {
            self.put(Source::SessionTransactions, "session_id|transaction_id", &["57|4711"]);
            let session = format!("57|SHOP\\anna|PC-17|Order entry|{status}|2026-11-26 09:01:00.000");
            self.put(
                Source::Sessions,
                "session_id|login_name|host_name|program_name|status|last_request_end_time",
                &[&session],
            );
        }
        self
    }

    /// The snapshot, after a way through its JSON.
    pub fn snapshot(&self) -> Snapshot {
        let mut gathering = Gathering::begin("db1:1433");
        while let Some(request) = gathering.next_request() {
            let answer = match (self.refused.get(&request.source), self.rows.get(&request.source)) {
                (Some(refusal), _) => Answer::Refused(refusal.clone()),
                (None, Some(rows)) if request.source == Source::ErrorLog => {
                    Answer::Rows(lines_with(rows, searched(&request.text)))
                }
                (None, Some(rows)) => Answer::Rows(rows.clone()),
                // The list of views is as if it could not be read: each is then asked for.
                (None, None) if request.source == Source::Catalog => Answer::TimedOut(30),
                (None, None) => Answer::Rows(Rows::default()),
            };
            gathering.answer(&request, answer);
        }
        let mut snapshot = gathering.finish();
        snapshot
            .not_read
            .retain(|not_read| not_read.source != Source::Catalog.word());
        let read_back = Snapshot::from_json(&snapshot.to_json()).unwrap();
        assert_eq!(read_back, snapshot);
        read_back
    }

    pub fn advice(&self) -> Advice {
        advise(&self.snapshot(), &disk())
    }

    /// The findings that ask for something are exactly these; answers them.
    pub fn finds(&self, origin: Origin, ids: &[&str]) -> Vec<Finding> {
        let advice = self.advice();
        let found: Vec<&str> = advice.to_do().map(|finding| finding.id).collect();
        let from = match origin {
            Origin::Found(address) => address,
            Origin::Made => "made",
        };
        assert_eq!(found, ids, "{from}: {:#?}", advice.findings);
        advice.to_do().cloned().collect()
    }

    /// Nothing is to be done, and the one remark is this.
    pub fn remarks(&self, origin: Origin, id: &str) -> Finding {
        self.finds(origin, &[]);
        let advice = self.advice();
        let remarks: Vec<&Finding> = advice.of_outcome(Outcome::NothingToDo).collect();
        let ids: Vec<&str> = remarks.iter().map(|finding| finding.id).collect();
        assert_eq!(ids, [id]);
        remarks[0].clone()
    }
}

/// What a search of the error log is for: `EXEC sp_readerrorlog 0, 1, N'text'`.
fn searched(request: &str) -> &str {
    let (_, after) = request.split_once("N'").unwrap();
    after.split_once('\'').unwrap().0
}

/// The rows whose text has these words.
fn lines_with(rows: &Rows, words: &str) -> Rows {
    let has_words = |row: &&Vec<Option<String>>| row.iter().flatten().any(|cell| cell.contains(words));
    Rows {
        columns: rows.columns.clone(),
        rows: rows.rows.iter().filter(has_words).cloned().collect(),
    }
}

/// A flash disk whose small requests take 1 ms and whose transfers 1 ms for each megabyte.
pub fn disk() -> PricedDisk {
    let ranges = Ranges::collect(Kind::Flash, |name| {
        let value = match name {
            "read_us" | "write_us" => 1000.0,
            "flush_us" | "iops" | "throughput_mb_s" | "reads_mb_s" => 0.0,
            "read_mb_s" | "write_mb_s" => 1048.576,
            "sector_bytes" => 512.0,
            "metadata_blocks" => 2.0,
            _ => 256.0,
        };
        Some(Range::exactly(value))
    });
    PricedDisk {
        name: "simple".to_owned(),
        title: "A disk to reckon with".to_owned(),
        ranges: ranges.unwrap(),
        why: Vec::new(),
    }
}
