//! A year of daily passes over an estate, as `vlflab advise --history` would leave it: `year FOLDER SERVERS DATABASES`.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use advisor::history::{FindingRow, LogRow};

const DAY_S: i64 = 86_400;
/// 2026-01-01.
const START_S: i64 = 1_767_225_600;

fn log(day: u64, server: u64, database: u64) -> LogRow {
    let which = server * 31 + database * 7;
    LogRow {
        taken_at_s: START_S + day as i64 * DAY_S,
        server: format!("db{server}:1433"),
        product_version: "15.0.4385.2".to_owned(),
        database: format!("Database{database}"),
        recovery_model: "FULL".to_owned(),
        reuse_wait: if (day + which).is_multiple_of(3) {
            "LOG_BACKUP"
        } else {
            "NOTHING"
        }
        .to_owned(),
        file_id: 2,
        path: format!("L:\\log\\Database{database}_log.ldf"),
        log_bytes: (1 << 30) + ((day * (which % 5)) << 26),
        used_bytes: Some((day * 7919 + which * 104_729) % (1 << 29)),
        vlfs: Some(16 + day * (which % 5)),
        active_vlfs: Some(1 + (day + which) % 9),
        growth_bytes: Some(64 << 20),
        growth_percent: None,
        bytes_max: Some(2 << 40),
        volume: "L:\\".to_owned(),
        volume_free_bytes: Some((500 << 30) - day * (which % 5) * (64 << 20)),
        written_bytes: Some((day * 86_400 + which) * 1_048_573 % (1 << 42)),
        write_stall_ms: Some((day * 86_400 + which) * 7),
        restart_s: Some((16 + day * (which % 5)) as f64 * 0.0019),
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, folder, servers, databases] = arguments.as_slice() else {
        return Err("usage: year FOLDER SERVERS DATABASES".into());
    };
    let (folder, servers, databases) = (Path::new(folder), servers.parse::<u64>()?, databases.parse::<u64>()?);
    for day in 0..365 {
        let places = (0..servers).flat_map(|server| (0..databases).map(move |database| (server, database)));
        let logs: Vec<LogRow> = places.map(|(server, database)| log(day, server, database)).collect();
        let findings: Vec<FindingRow> = logs
            .iter()
            .filter(|row| row.reuse_wait == "LOG_BACKUP")
            .map(|row| FindingRow {
                taken_at_s: row.taken_at_s,
                server: row.server.clone(),
                database: Some(row.database.clone()),
                id: "held-by-log-backup".to_owned(),
                check_id: 11,
                priority: 15,
                outcome: "act".to_owned(),
                headline: "the log waits for a log backup; the last one was 15 min ago".to_owned(),
                restart_s: None,
            })
            .collect();
        remote::append(folder, &format!("{day:03}"), &logs, &findings)?;
    }
    Ok(())
}
