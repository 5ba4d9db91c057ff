//! `inspect`, `advise`, `plan` and recordings in a browser, without a server and without installing: a question in JSON, an answer in JSON.
//!
//! ```text
//! page (page/page.js) --question--> worker (page/worker.js) --> WebAssembly: [`answer`]
//!                     <--answer----                         <--    |
//!                                     bytes of the file     --> vlf::ReadAt
//! ```
//! The worker serves bytes of a dropped file when they are asked for, so a file of any size is read where it lies. Nothing is sent anywhere.
//!
//! | question | answer (`kind`) |
//! |---|---|
//! | `choices` | `choices`: versions of SQL Server, the T-SQL to run where rows are to be pasted from |
//! | `open`, files | `log`, `database`, `rows` or `recording`: what the files are |
//! | `paste`, a text | `rows`, or `recording` |
//! | `plan`, from a log that is created, dropped or pasted | `plan` |
//! | `export`, files and a form | `export`: what `vlflab inspect --format json` or `csv` prints |
//!
//! A question that cannot be answered gets `{"error": "..."}`. Invariant: figures and T-SQL are made by the functions of `advisor` that the
//! command line calls, so they are the same.

#[cfg(target_family = "wasm")]
mod abi;
mod answers;
mod question;
mod reading;

pub use answers::answer;
pub use question::{Disk, Figure, FileNamed, PlanForm, Question};
