//! A plan's price as a table and the sentences around it.

use std::fmt::Write;

use device::price::Price;
use serde::Serialize;

use super::table::{Align, Table};
use crate::price::{LogPrice, PlanPrice, range_text, seconds_text, start_is_published_as};
use crate::size::{format_bytes, group_digits};

/// One line of the table: what is waited for.
struct Line {
    what: String,
    cost: fn(&LogPrice) -> Price,
}

fn lines(price: &PlanPrice) -> [Line; 5] {
    let counted = |count: fn(&LogPrice) -> u64| {
        let words = ["now", "grown on", "planned"];
        let counts = logs(price).into_iter().filter_map(|(heading, log)| {
            let word = words[HEADINGS.iter().position(|known| *known == heading)?];
            Some(format!("{} {word}", group_digits(count(log))))
        });
        let counts: Vec<String> = counts.collect();
        match counts.len() {
            1 => group_digits(count(&price.planned)),
            _ => counts.join(", "),
        }
    };
    let line = |what: String, cost: fn(&LogPrice) -> Price| Line { what, cost };
    let growths = counted(|log| log.growth_count);
    let vlfs = counted(|log| log.vlf_count);
    [
        line(format!("growing the log ({growths})"), |log| log.prices.growths),
        line(format!("finding the VLFs at each start ({vlfs})"), |log| {
            log.prices.discovery
        }),
        line(format!("switches, once round the log ({vlfs})"), |log| {
            log.prices.switches
        }),
        line("restore: making the log file again".to_owned(), |log| {
            log.prices.restore
        }),
        line("log backup: reading a full log".to_owned(), |log| log.prices.log_backup),
    ]
}

const HEADINGS: [&str; 3] = ["as it is", "grown on", "as planned"];

/// The logs that stand beside each other, those that are there.
fn logs(price: &PlanPrice) -> Vec<(&'static str, &LogPrice)> {
    let grown_on = price.grown_on.as_ref().map(|(log, _)| log);
    let all = [price.existing.as_ref(), grown_on, Some(&price.planned)];
    HEADINGS
        .into_iter()
        .zip(all)
        .filter_map(|(heading, log)| Some((heading, log?)))
        .collect()
}

/// Seconds of every mechanism; the columns of a log that is not there are left out.
pub(super) fn price_table(price: &PlanPrice) -> Table {
    let logs = logs(price);
    let mut columns = vec![("seconds", Align::Left)];
    for (heading, _) in &logs {
        columns.extend([(*heading, Align::Right), ("range", Align::Right)]);
    }
    let mut table = Table::new(&columns);
    if logs.len() > 1 {
        let sizes = logs
            .iter()
            .flat_map(|(_, log)| [format_bytes(log.file_bytes), String::new()]);
        table.row(std::iter::once("size of the log".to_owned()).chain(sizes).collect());
    }
    let cells = |cost: Price| [seconds_text(cost.typical_s), range_text(cost)];
    for line in lines(price) {
        let costs = logs.iter().flat_map(|(_, log)| cells((line.cost)(log)));
        table.row(std::iter::once(line.what).chain(costs).collect());
    }
    if let Some((bytes, cost)) = price.automatic {
        let mut row = vec![format!("the next automatic growth ({})", format_bytes(bytes))];
        row.resize(columns.len() - 2, String::new());
        row.extend(cells(cost));
        table.row(row);
    }
    table
}

pub(super) fn price_title(price: &PlanPrice) -> String {
    format!("Price on {}: {}", price.disk.name, price.disk.title)
}

/// What to know when reading the table, a line each.
pub(super) fn price_notes(price: &PlanPrice) -> Vec<String> {
    let grown_on = price.grown_on.map(|(_, usual)| {
        let by = match usual.is_of_last {
            true => "as it grew last",
            false => "the default of its version",
        };
        format!(
            "Grown on: the log as it is, grown by {} at a time, {by}, to the planned size.",
            usual.growth
        )
    });
    let start = start_is_published_as(price.version).unwrap_or(
        "VLFs are found by one small read each, one behind the other, as SQL Server 2005 to 2012 does (Microsoft's psssql, 2009-05-21).",
    );
    let method = [
        "Computed, not measured: the disk's typical figures, the range from its best to its worst.",
        "A log backup has 6 reads of up to 1 MB under way (Microsoft's psssql, 2008-02-06; Jonathan Kehayias, 2010); the slow end of its range has \
         one. Writing the backup is another disk's work.",
        start,
        "Processor time and other work come on top.",
    ];
    grown_on
        .into_iter()
        .chain(method.into_iter().map(str::to_owned))
        .chain(price.disk.why.clone())
        .collect()
}

/// A thing that is waited for, in a table for programs.
struct Thing {
    name: &'static str,
    /// How many of it: growths, or VLFs.
    count: fn(&LogPrice) -> u64,
    cost: fn(&LogPrice) -> Price,
}

/// By the names of the JSON document.
const THINGS: [Thing; 6] = [
    Thing {
        name: "growths",
        count: |log| log.growth_count,
        cost: |log| log.prices.growths,
    },
    Thing {
        name: "discovery",
        count: |log| log.vlf_count,
        cost: |log| log.prices.discovery,
    },
    Thing {
        name: "switch",
        count: |_| 1,
        cost: |log| log.prices.switch,
    },
    Thing {
        name: "switches",
        count: |log| log.vlf_count,
        cost: |log| log.prices.switches,
    },
    Thing {
        name: "restore",
        count: |_| 1,
        cost: |log| log.prices.restore,
    },
    Thing {
        name: "log_backup",
        count: |_| 1,
        cost: |log| log.prices.log_backup,
    },
];

/// The seconds of every thing as CSV, a row for each: the log as it is beside the log as planned. What a log does not have, because it is
/// not there or its plan has no automatic growth, is left empty.
pub fn price_csv(price: &PlanPrice) -> String {
    let columns = |log: &str| format!("{log}_count,{log}_fast_s,{log}_typical_s,{log}_slow_s");
    let mut out = format!("disk,thing,{},{}\n", columns("as_it_is"), columns("as_planned"));
    let cells = |cost: Option<(u64, Price)>| match cost {
        Some((count, cost)) => format!("{count},{},{},{}", cost.fast_s, cost.typical_s, cost.slow_s),
        None => ",,,".to_owned(),
    };
    let disk = csv_text(&price.disk.name);
    let mut row = |thing: &str, existing, planned| {
        let _ = writeln!(out, "{disk},{thing},{},{}", cells(existing), cells(planned));
    };
    for thing in &THINGS {
        let of = |log: &LogPrice| ((thing.count)(log), (thing.cost)(log));
        row(thing.name, price.existing.as_ref().map(of), Some(of(&price.planned)));
    }
    if let Some((_, cost)) = price.automatic {
        row("automatic_growth", None, Some((1, cost)));
    }
    out
}

/// A text as a cell of CSV.
fn csv_text(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// The price in a JSON document.
#[derive(Serialize)]
pub(super) struct PriceRow<'a> {
    disk: &'a str,
    title: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    as_it_is: Option<LogPriceRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    grown_on: Option<LogPriceRow>,
    as_planned: LogPriceRow,
    #[serde(skip_serializing_if = "Option::is_none")]
    automatic_growth: Option<GrowthPriceRow>,
}

#[derive(Serialize)]
struct LogPriceRow {
    file_bytes: u64,
    vlf_count: u64,
    growth_count: u64,
    growths: SecondsRow,
    discovery: SecondsRow,
    switch: SecondsRow,
    switches: SecondsRow,
    restore: SecondsRow,
    log_backup: SecondsRow,
}

#[derive(Serialize)]
struct GrowthPriceRow {
    growth_bytes: u64,
    #[serde(flatten)]
    seconds: SecondsRow,
}

#[derive(Serialize)]
struct SecondsRow {
    fast_s: f64,
    typical_s: f64,
    slow_s: f64,
}

fn seconds_row(price: Price) -> SecondsRow {
    SecondsRow {
        fast_s: price.fast_s,
        typical_s: price.typical_s,
        slow_s: price.slow_s,
    }
}

fn log_row(log: &LogPrice) -> LogPriceRow {
    let prices = log.prices;
    LogPriceRow {
        file_bytes: log.file_bytes,
        vlf_count: log.vlf_count,
        growth_count: log.growth_count,
        growths: seconds_row(prices.growths),
        discovery: seconds_row(prices.discovery),
        switch: seconds_row(prices.switch),
        switches: seconds_row(prices.switches),
        restore: seconds_row(prices.restore),
        log_backup: seconds_row(prices.log_backup),
    }
}

pub(super) fn price_row(price: &PlanPrice) -> PriceRow<'_> {
    PriceRow {
        disk: &price.disk.name,
        title: &price.disk.title,
        as_it_is: price.existing.as_ref().map(log_row),
        grown_on: price.grown_on.as_ref().map(|(log, _)| log_row(log)),
        as_planned: log_row(&price.planned),
        automatic_growth: price.automatic.map(|(growth_bytes, cost)| GrowthPriceRow {
            growth_bytes,
            seconds: seconds_row(cost),
        }),
    }
}
