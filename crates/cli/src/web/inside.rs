//! The contents of this process's logs for the live page: the records of a VLF, of a transaction or of a page, and pages.
//!
//! | path | parameters | what |
//! |---|---|---|
//! | `/vlf` | `database`, `sequence`, `after` | its records, in order; `after` is the last one that the client already has |
//! | `/transaction` | `database`, `id`, `near` | the records of a transaction; `near` is the LSN of one of them |
//! | `/page` | `database`, `page` as `file:page` | a page, and the last records that changed it |
//!
//! An LSN is `vlf:block:slot`, in decimal numbers. Requests are answered one at a time: each reads the log, so concurrent ones would only
//! compete for the disk.

use crate::http::{Answer, Request};
use engine::database::Database;
use engine::error::Error;
use engine::instance::{DatabaseState, Instance};
use engine::page::{PageId, PageKind};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tsql::views::inside::{Inside, SeenPage, SeenRecord, SeenRecords, SeenRow};
use vlf::Lsn;

/// The paths of questions.
pub const PATHS: [&str; 3] = ["/vlf", "/transaction", "/page"];

/// Answers questions about the logs of an instance.
pub struct Looking {
    /// Empty while it starts.
    instance: Arc<OnceLock<Arc<Instance>>>,
    one_at_a_time: Mutex<()>,
}

/// Why there is no answer: a status, and words.
type Refusal = (u16, String);

impl Looking {
    /// Looks into the logs of what `instance` will hold.
    pub fn new(instance: Arc<OnceLock<Arc<Instance>>>) -> Looking {
        Looking {
            instance,
            one_at_a_time: Mutex::new(()),
        }
    }

    /// The answer to one of [`PATHS`].
    pub fn answer(&self, request: &Request<'_>) -> Answer {
        let _turn = self.one_at_a_time.lock().unwrap_or_else(PoisonError::into_inner);
        match self.look(request) {
            Ok(found) => Answer {
                kind: "application/json",
                ..Answer::text(200, found.to_string())
            },
            Err((status, reason)) => Answer::text(status, format!("{reason}\n")),
        }
    }

    fn look(&self, request: &Request<'_>) -> Result<Value, Refusal> {
        let database = self.database(&request.decoded("database").unwrap_or_default())?;
        let held = self.instance.get().and_then(|instance| instance.hold(&database));
        let _held = held.ok_or_else(|| (503, "the database is not available at the moment".to_owned()))?;
        let mut inside = Inside::of(&database);
        let found = match request.path {
            "/vlf" => {
                let after = request
                    .parameter("after")
                    .map_or(Ok(Lsn::ZERO), |text| lsn("after", text))?;
                inside.vlf(number(request, "sequence")?, after).map(records_json)
            }
            "/transaction" => {
                let near = lsn("near", &request.decoded("near").unwrap_or_default())?;
                inside.transaction(number(request, "id")?, near).map(records_json)
            }
            _ => {
                let id = page_id(&request.decoded("page").unwrap_or_default())?;
                let page = inside.page(id).map_err(failed)?;
                return page.map(page_json).ok_or((404, "there is no such page".to_owned()));
            }
        };
        found.map_err(failed)
    }

    fn database(&self, name: &str) -> Result<Arc<Database>, Refusal> {
        let slots = self.instance.get().map(|instance| instance.slots()).unwrap_or_default();
        let slot = slots.into_iter().find(|slot| slot.entry().name == name);
        match slot.map(|slot| slot.state()) {
            Some(DatabaseState::Online(database)) => Ok(database),
            Some(_) => Err((503, "the database is not online".to_owned())),
            None => Err((404, "there is no such database".to_owned())),
        }
    }
}

fn failed(error: Error) -> Refusal {
    (503, format!("error {}: {}", error.number, error.message))
}

fn number<T: std::str::FromStr>(request: &Request<'_>, name: &str) -> Result<T, Refusal> {
    let parsed = request.parameter(name).and_then(|text| text.parse().ok());
    parsed.ok_or_else(|| (400, format!("{name} must be a number")))
}

fn lsn(name: &str, text: &str) -> Result<Lsn, Refusal> {
    Lsn::parse_decimal(&text.replace("%3A", ":")).map_err(|_| (400, format!("{name} must be an LSN, such as 45:120:3")))
}

fn page_id(text: &str) -> Result<PageId, Refusal> {
    let parts = text.split_once(':');
    let id = parts.and_then(|(file, page)| Some(PageId::new(file.parse().ok()?, page.parse().ok()?)));
    id.ok_or_else(|| (400, "page must be a file and a page, such as 1:120".to_owned()))
}

fn place(lsn: Lsn) -> Value {
    match lsn {
        Lsn::ZERO => Value::Null,
        Lsn { vlf, block, slot } => json!([vlf, block, slot]),
    }
}

fn page_text(id: PageId) -> Value {
    match id.is_none() {
        true => Value::Null,
        false => json!(format!("{}:{}", id.file, id.page)),
    }
}

fn records_json(seen: SeenRecords) -> Value {
    let records: Vec<Value> = seen.records.iter().map(record_json).collect();
    json!({ "records": records, "cut_before": seen.is_cut_before, "cut_behind": seen.is_cut_behind })
}

fn record_json(record: &SeenRecord) -> Value {
    let pages: Vec<Value> = record.pages.iter().map(|page| page_text(*page)).collect();
    json!({
        "lsn": place(record.lsn),
        "operation": record.operation,
        "context": record.context,
        "transaction": record.transaction,
        "bytes": record.bytes,
        "previous": place(record.previous),
        "undo_next": place(record.undo_next),
        "compensation": record.is_compensation,
        "end": record.is_end,
        "unit": record.unit,
        "pages": pages,
        "slot": record.slot,
        "name": record.name,
        "time": record.time,
        "steps": record.steps,
    })
}

fn page_json(page: SeenPage) -> Value {
    let row = |row: &SeenRow| json!([row.slot, row.offset, row.bytes, row.kind]);
    let rows: Vec<Value> = page.rows.iter().map(row).collect();
    json!({
        "page": page_text(page.id),
        "kind": page.kind.map_or("never used", kind_words),
        "level": page.level,
        "lsn": place(page.lsn),
        "unit": page.unit,
        "previous": page_text(page.previous),
        "next": page_text(page.next),
        "rows": rows,
        "ghosts": page.ghosts,
        "free_bytes": page.free_bytes,
        "changes": records_json(page.records),
    })
}

fn kind_words(kind: PageKind) -> &'static str {
    match kind {
        PageKind::Heap => "rows of a heap",
        PageKind::TreeBranch => "separators of an index",
        PageKind::TreeLeaf => "rows of an index",
        PageKind::LargeData => "a part of a large value",
        PageKind::LargeBranch => "the pages of a large value",
        PageKind::SpaceMap => "which extents are free",
        PageKind::Free => "given up, and not used again yet",
        PageKind::ExtentList => "the extents of an object",
        PageKind::Boot => "the boot page",
        PageKind::FileHeader => "the header of the file",
        PageKind::ChangeMap => "extents changed since the last full backup",
    }
}
