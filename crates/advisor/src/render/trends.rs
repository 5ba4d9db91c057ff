//! Trends as text.

use std::fmt::Write;

use super::Format;
use super::advice::csv_cell;
use super::table::{Align, Table};
use crate::history::Trend;
use crate::size::{format_bytes, group_digits};

fn table(trends: &[Trend]) -> Table {
    let mut table = Table::new(&[
        ("server", Align::Left),
        ("database", Align::Left),
        ("log", Align::Right),
        ("a week", Align::Right),
        ("VLFs", Align::Right),
        ("a month", Align::Right),
        ("full in", Align::Right),
        ("passes", Align::Right),
    ]);
    for trend in trends {
        let signed = |number: f64, text: String| if number < 0.0 { format!("-{text}") } else { text };
        let unknown = || "-".to_owned();
        table.row(vec![
            trend.server.clone(),
            trend.database.clone(),
            format_bytes(trend.log_bytes),
            signed(
                trend.growth_bytes_a_week,
                format_bytes(trend.growth_bytes_a_week.abs() as u64),
            ),
            trend.vlfs.map_or_else(unknown, group_digits),
            trend.vlfs_a_month.map_or_else(unknown, |vlfs| format!("{vlfs:.0}")),
            trend
                .days_until_full
                .map_or_else(unknown, |days| format!("{days:.0} days")),
            format!("{} in {:.0} days", group_digits(trend.passes), trend.days),
        ]);
    }
    table
}

/// In a form.
pub fn trends_text(trends: &[Trend], format: Format) -> String {
    match format {
        Format::Table => table(trends).text(),
        Format::Markdown => table(trends).markdown(),
        Format::Json => {
            let line =
                |trend: &Trend| serde_json::to_string(trend).expect("a trend has texts and finite numbers") + "\n";
            trends.iter().map(line).collect()
        }
        Format::Csv => {
            let mut out = String::from(
                "server,database,file_id,passes,days,log_bytes,vlfs,growth_bytes_a_week,vlfs_a_month,days_until_full\n",
            );
            for trend in trends {
                let number = |number: Option<f64>| number.map_or_else(String::new, |number| format!("{number:.3}"));
                let _ = writeln!(
                    out,
                    "{},{},{},{},{:.3},{},{},{:.0},{},{}",
                    csv_cell(&trend.server),
                    csv_cell(&trend.database),
                    trend.file_id,
                    trend.passes,
                    trend.days,
                    trend.log_bytes,
                    trend.vlfs.map_or_else(String::new, |vlfs| vlfs.to_string()),
                    trend.growth_bytes_a_week,
                    number(trend.vlfs_a_month),
                    number(trend.days_until_full)
                );
            }
            out
        }
    }
}
