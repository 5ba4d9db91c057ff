//! Plans and inspections as text: tables for the terminal, JSON and CSV for programs, Markdown for tickets.
//!
//! The JSON names are a contract: fields are added, never renamed. CSV holds the one table a program wants (a plan's
//! steps or its price, a file's VLFs); numbers are plain bytes and seconds there and in JSON.

mod advice;
mod advice_html;
mod database;
mod growth_runs;
mod inspection;
mod plan;
mod plan_html;
mod price;
mod server_logs;
mod table;
mod trends;

pub use advice::{AdviceFormat, AdviceText, Unreached, advice_text, checks_table, explanation, nagios};
pub use database::{
    NamedFile, backup_sets_json, backup_sets_text, database_csv, database_json, database_markdown, database_next_steps,
    database_table, log_next_steps,
};
pub(crate) use inspection::{create_lsn_text, versions_text};
pub use inspection::{inspection_csv, inspection_facts, inspection_json, inspection_markdown, inspection_table};
pub use plan::{PlanText, plan_csv, plan_json, plan_markdown, plan_table};
pub use plan_html::{plan_html, plan_sections_html};
pub use price::price_csv;
pub use server_logs::{ServerLogs, server_logs_csv, server_logs_markdown, server_logs_table};
pub use trends::trends_text;

use std::str::FromStr;

/// How a result is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Text for a terminal.
    #[default]
    Table,
    /// One JSON object.
    Json,
    /// Comma-separated values with a heading.
    Csv,
    Markdown,
}

impl Format {
    /// The names the command line takes.
    pub const NAMES: [&str; 4] = ["table", "json", "csv", "md"];
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Format, String> {
        match text {
            "table" => Ok(Format::Table),
            "json" => Ok(Format::Json),
            "csv" => Ok(Format::Csv),
            "md" => Ok(Format::Markdown),
            other => Err(format!(
                "'{other}' is not a format; formats are {}",
                Format::NAMES.join(", ")
            )),
        }
    }
}
