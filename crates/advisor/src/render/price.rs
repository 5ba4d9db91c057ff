//! A plan's price as a table and the sentences around it.

use std::fmt::Write;

use device::price::Price;
use serde::Serialize;

use super::table::{Align, Table};
use crate::price::{LogPrice, PlanPrice, range_text, seconds_text};
use crate::size::{format_bytes, group_digits};

/// One line of the table: what is waited for, in the log as it is and as planned.
struct Line {
    what: String,
    existing: Option<Price>,
    planned: Option<Price>,
}

fn lines(price: &PlanPrice) -> Vec<Line> {
    let counted = |count: fn(&LogPrice) -> u64| {
        let planned = group_digits(count(&price.planned));
        match &price.existing {
            Some(existing) => format!("{} now, {planned} planned", group_digits(count(existing))),
            None => planned,
        }
    };
    let line = |what: String, cost: fn(&LogPrice) -> Price| Line {
        what,
        existing: price.existing.as_ref().map(cost),
        planned: Some(cost(&price.planned)),
    };
    let growths = counted(|log| log.growth_count);
    let vlfs = counted(|log| log.vlf_count);
    let mut lines = vec![
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
    ];
    lines.extend(price.automatic.map(|(bytes, cost)| Line {
        what: format!("the next automatic growth ({})", format_bytes(bytes)),
        existing: None,
        planned: Some(cost),
    }));
    lines
}

/// Seconds of every mechanism; the columns of a log that is not there are left out.
pub(super) fn price_table(price: &PlanPrice) -> Table {
    let has_existing = price.existing.is_some();
    let mut columns = vec![("seconds", Align::Left)];
    if has_existing {
        columns.extend([("as it is", Align::Right), ("range", Align::Right)]);
    }
    columns.extend([("as planned", Align::Right), ("range", Align::Right)]);
    let mut table = Table::new(&columns);
    let cells = |cost: Option<Price>| match cost {
        Some(cost) => [seconds_text(cost.typical_s), range_text(cost)],
        None => [String::new(), String::new()],
    };
    for line in lines(price) {
        let mut row = vec![line.what];
        if has_existing {
            row.extend(cells(line.existing));
        }
        row.extend(cells(line.planned));
        table.row(row);
    }
    table
}

pub(super) fn price_title(price: &PlanPrice) -> String {
    format!("Price on {}: {}", price.disk.name, price.disk.title)
}

/// What to know when reading the table, a line each.
pub(super) fn price_notes(price: &PlanPrice) -> Vec<String> {
    let method = [
        "Computed, not measured: the disk's typical figures, the range from its best to its worst, one request after the other.",
        "The work is what SQL Server 2005 to 2012 did; later versions find VLFs faster. Processor time and other work come on top.",
    ];
    method
        .into_iter()
        .map(str::to_owned)
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
    as_planned: LogPriceRow,
    #[serde(skip_serializing_if = "Option::is_none")]
    automatic_growth: Option<GrowthPriceRow>,
}

#[derive(Serialize)]
struct LogPriceRow {
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
        as_planned: log_row(&price.planned),
        automatic_growth: price.automatic.map(|(growth_bytes, cost)| GrowthPriceRow {
            growth_bytes,
            seconds: seconds_row(cost),
        }),
    }
}
