//! A log that `vlflab inspect -S -d` shows growth by growth: alike ones in one line, with what the server itself took for them.

use advisor::advice::{advise, verdict_of_layout};
use advisor::render::{ServerLogs, server_logs_markdown, server_logs_table};
use advisor::snapshot::{Snapshot, Source};
use vlf::ServerVersion;

use super::recorded::{FIRST_SEQUENCE, Recorded, VLFS, disk};
use super::rows;

const NEWEST: u32 = FIRST_SEQUENCE + VLFS - 1;
const GROWTHS: &str = "database_name|event_class|pages|microseconds|started";

fn shown(snapshot: &Snapshot, markdown: bool) -> String {
    let advice = advise(snapshot, &disk());
    let logs = ServerLogs {
        snapshot,
        advice: &advice,
        database: Some("sales"),
        map: false,
    };
    match markdown {
        true => server_logs_markdown(logs),
        false => server_logs_table(logs),
    }
}

/// The cells of each line behind this heading, up to an empty line.
fn cells_behind(text: &str, heading: &str) -> Vec<Vec<String>> {
    let lines = text.lines().skip_while(|line| !line.contains(heading)).skip(1);
    let lines = lines.take_while(|line| !line.is_empty());
    let cells = |line: &str| {
        line.split("  ")
            .map(str::trim)
            .filter(|cell| !cell.is_empty())
            .map(str::to_owned)
            .collect()
    };
    lines.map(cells).collect()
}

#[test]
fn alike_growths_are_one_line_and_unlike_ones_are_not() {
    let mut set = Recorded::sales("FULL", "NOTHING", NEWEST, 8);
    set.rows(Source::LogInfoCommand, rows::grown(4, 4, 1024));
    let snapshot = set.snapshot();
    let text = shown(&snapshot, false);
    let lines = cells_behind(&text, "create LSN");
    assert_eq!(
        lines,
        [
            ["created", "3.99 MB", "3.99 MB", "4", "0", "0"],
            ["1 - 255", "4 MB", "1,020 MB", "1,020", "1", "1 - 255"]
        ],
        "{text}"
    );
    assert!(
        shown(&snapshot, true).contains("| 1 - 255 |"),
        "{}",
        shown(&snapshot, true)
    );
    // Everything is in the snapshot, which is what --format json prints.
    assert_eq!(snapshot.to_json().matches("\"create_lsn\"").count(), 1_024);

    // A step of another size ends the run: 1 MB, then 2 MB by turns, are as many lines as growths.
    let columns = "RecoveryUnitId|FileId|FileSize|StartOffset|FSeqNo|Status|Parity|CreateLSN";
    let mut offset = 8_192_u64;
    let mut lines = Vec::new();
    for growth in 0..300_u64 {
        let bytes = 1_048_576 * (1 + growth % 2);
        lines.push(format!("0|2|{bytes}|{offset}|{}|0|64|{growth}", growth + 1));
        offset += bytes;
    }
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    set.put(Source::LogInfoCommand, columns, &lines);
    let text = shown(&set.snapshot(), false);
    assert_eq!(cells_behind(&text, "create LSN").len(), 200, "{text}");
    assert!(text.contains("  100 more; --format json has every one"), "{text}");
}

#[test]
fn growths_that_the_server_timed_have_their_times_total_and_slowest() {
    let mut set = Recorded::sales("FULL", "NOTHING", NEWEST, 8);
    let mut lines: Vec<String> = (0..60)
        .map(|minute| {
            format!(
                "Sales|93|128|{}|2026-11-25 08:{minute:02}:00.000",
                10_000 + 1_000 * (minute % 7)
            )
        })
        .collect();
    // Rows of a trace come in any order; another database, a data file and the shrink are not part of the run.
    lines.reverse();
    lines.extend(
        [
            "Sales|95|7680|5000|2026-11-25 09:00:00.000",
            "Sales|93|128|1500000|2026-11-25 10:00:00.000",
            "Other|93|128|9000000|2026-11-25 08:30:00.000",
            "Sales|92|128|9000000|2026-11-25 08:30:00.000",
        ]
        .map(str::to_owned),
    );
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    set.put(Source::Growths, GROWTHS, &lines);
    let snapshot = set.snapshot();
    let text = shown(&snapshot, false);
    let found = cells_behind(&text, "seconds in all");
    let (first, last) = ("2026-11-25 08:00:00", "2026-11-25 08:59:00");
    // 60 × 10 ms, and 0 to 6 ms by turns: 8 × 21 ms and 0 + 1 + 2 + 3.
    assert_eq!(
        found,
        [
            ["growth", "60", "1 MB", "60 MB", first, last, "0.774", "0.016"],
            [
                "shrink",
                "1",
                "60 MB",
                "60 MB",
                "2026-11-25 09:00:00",
                "2026-11-25 09:00:00",
                "0.005",
                "0.005"
            ],
            [
                "growth",
                "1",
                "1 MB",
                "1 MB",
                "2026-11-25 10:00:00",
                "2026-11-25 10:00:00",
                "1.50",
                "1.50"
            ],
        ],
        "{text}"
    );
    assert_eq!(snapshot.to_json().matches("\"is_shrink\"").count(), lines.len());
    assert!(!shown(&Recorded::sales("FULL", "NOTHING", NEWEST, 8).snapshot(), false).contains("remembers"));
}

/// The verdict on a layout and on the log of a server that has it are one: what a server adds is how often it goes round in a day.
#[test]
fn the_verdict_of_a_layout_and_of_a_server_are_the_same() {
    let mut set = Recorded::sales("FULL", "NOTHING", NEWEST, 8);
    set.rows(Source::LogInfoCommand, rows::grown(4, 4, 1024));
    let columns = "database_id|file_id|num_of_writes|num_of_bytes_written|io_stall_write_ms";
    let verdict = |bytes: u64| {
        let mut set = set.clone();
        set.put(Source::FileIo, columns, &[&format!("5|2|20|{bytes}|10")]);
        set.advice().verdicts[0].text.clone()
    };
    let snapshot = set.snapshot();
    let layout = snapshot.databases[0].log_files[0].layout(ServerVersion::V2019).unwrap();
    let alone = verdict_of_layout(&layout, ServerVersion::V2019, &disk());
    let (costs, advice) = alone.split_once(" s once round the log").unwrap();
    let little = verdict(1_048_576);
    assert_eq!(little, format!("{costs} s once round the log, nothing daily{advice}"));
    // Seven days of 7 TB: the log goes round 1,024 times a day.
    let much = verdict(7 << 40);
    let (of_much, daily) = much.split_once(" s once round the log, ").unwrap();
    assert_eq!(of_much, costs);
    let round: f64 = costs.rsplit(' ').next().unwrap().parse().unwrap();
    let daily: f64 = daily
        .split(" s a day")
        .next()
        .unwrap()
        .replace(',', "")
        .parse()
        .unwrap();
    assert!((daily / round / 1_024.0 - 1.0).abs() < 0.01, "{much}");
}
