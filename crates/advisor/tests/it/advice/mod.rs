//! Findings about recorded rows: exactly those that belong to them, with the right holder. Every set says whether its rows were *found*, as
//! documentation or a post prints them, with the address, or *made* here.

mod answers;
mod apply;
mod found;
mod growth_runs;
mod healthy;
mod history;
mod page;
mod recorded;
mod reuse;
mod rights;
mod rows;
mod services;
mod settings;
mod tempdb;
mod versions;
