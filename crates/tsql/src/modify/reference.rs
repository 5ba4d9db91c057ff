//! Station 4: foreign keys. Keys are collected as rows are written and checked at the end of the statement.
//!
//! ```text
//!                 collected                            searched for                                547 if
//! references      keys of new rows, without NULLs      in the unique index of the other table      one is not found
//! referenced_by   keys of deleted or changed rows,     in an index of the other table, or in all   one is found
//!                 minus those of new rows               of its rows if it has none
//! ```
//! To bound memory, keys are checked early, after [`KEYS_MAX`] of them, unless later rows may affect the result. That is the case if both
//! ends are the same table, or if rows can restore keys that others removed.

use std::collections::HashSet;

use engine::cancel;
use engine::error::{Error, Result};
use engine::session::Table;
use engine::types::{Collation, KeyDirection, Value, encode_stored_key_part};

use super::check::in_two;
use crate::context::Context;
use crate::exec::after_prefix;
use crate::grant::Grant;
use crate::messages;
use crate::plan::{Reference, RowAction, TargetColumns};

/// Keys that are collected before they are looked for.
const KEYS_MAX: usize = 16_384;
/// What an entry of a set takes beside its bytes.
const ENTRY_BYTES: u64 = 64;
/// What a search in an index comes to.
const STEPS_PER_SEARCH: usize = 8;

/// The foreign keys of a statement's target, with what has been collected for them.
pub(super) struct References<'p> {
    ends: Vec<End<'p>>,
    statement: &'static str,
    looks_early: bool,
    /// Whether a row is judged although it refers to what it referred to: that may be gone.
    judges_unchanged: bool,
}

/// A column of a foreign key as it stands in the keys that are looked for.
pub(super) struct KeyPart {
    /// The column of the target.
    pub(super) own: usize,
    /// The column at the other end.
    pub(super) other: usize,
    collation: Collation,
    direction: KeyDirection,
}

impl KeyPart {
    /// A key of these values; `None` with a NULL among them, which refers to nothing and is referred to by nothing.
    pub(super) fn key<'v>(parts: &[KeyPart], value: impl Fn(&KeyPart) -> Option<&'v Value>) -> Option<Vec<u8>> {
        let mut key = Vec::with_capacity(16);
        for part in parts {
            let value = value(part).filter(|value| !value.is_null())?;
            encode_stored_key_part(value, part.collation, part.direction, &mut key);
        }
        Some(key)
    }
}

/// The columns of a foreign key in the order of the index at the other end, with its directions; in their own order, ascending, when it
/// has none.
pub(super) fn key_parts(reference: &Reference) -> Vec<KeyPart> {
    let (table, columns) = (&reference.table.table, &reference.columns);
    let part = |own: usize, other: usize, direction: KeyDirection| KeyPart {
        own,
        other,
        collation: table.layout().column_collation(other),
        direction,
    };
    let index = reference.index.and_then(|place| table.definition().indexes.get(place));
    let Some(index) = index else {
        let both = columns.iter().zip(&reference.other_columns);
        return both
            .map(|(&own, &other)| part(own, other, KeyDirection::Ascending))
            .collect();
    };
    let keys = index.keys.iter().take(columns.len()).enumerate();
    keys.filter_map(|(position, (other, _))| {
        let place = reference.other_columns.iter().position(|column| column == other)?;
        Some(part(*columns.get(place)?, *other, index.direction(position)))
    })
    .collect()
}

/// One end of a foreign key.
struct End<'p> {
    reference: &'p Reference,
    is_referenced: bool,
    parts: Vec<KeyPart>,
    /// Keys that must be there (or, of rows that went, must not).
    keys: HashSet<Vec<u8>>,
    /// Keys of rows that came while others went.
    back: HashSet<Vec<u8>>,
    grant: Option<Grant>,
}

impl<'p> References<'p> {
    pub(super) fn new(columns: &'p TargetColumns, statement: &'static str) -> References<'p> {
        let own = columns.references.iter().map(|reference| End::new(reference, false));
        let others = columns.referenced_by.iter().map(|reference| End::new(reference, true));
        References {
            ends: own.chain(others).collect(),
            statement,
            looks_early: true,
            judges_unchanged: false,
        }
    }

    /// Rows that come later may bring back keys: nothing is looked for before the end.
    pub(super) fn look_at_end(&mut self) {
        self.looks_early = false;
    }

    /// Rows are changed by the action of a foreign key: SET DEFAULT may leave a row with the key that is gone.
    pub(super) fn judge_unchanged(&mut self) {
        self.judges_unchanged = true;
    }

    pub(super) fn has_any(&self) -> bool {
        !self.ends.is_empty()
    }

    /// Collects the keys of a row that was written.
    pub(super) fn note(&mut self, context: &Context<'_>, old: Option<&[Value]>, new: Option<&[Value]>) -> Result<()> {
        // A row whose key becomes NULL is updated like any other.
        let is_update = old.is_some() && new.is_some();
        for end in &mut self.ends {
            let (old, new) = (old.and_then(|row| end.key_of(row)), new.and_then(|row| end.key_of(row)));
            if old == new && (end.is_referenced || !self.judges_unchanged) {
                continue;
            }
            match end.is_referenced {
                false => end.collect(context, new, false)?,
                true => {
                    let action = if is_update {
                        RowAction::Update
                    } else {
                        RowAction::Delete
                    };
                    let is_judged = end.reference.judged_after.is_none_or(|only| only == action);
                    end.collect(context, old.filter(|_| is_judged), false)?;
                    end.collect(context, new, true)?;
                }
            }
            let may_look = self.looks_early && !end.reference.is_own && !(end.is_referenced && is_update);
            if may_look && end.back.is_empty() && end.keys.len() >= KEYS_MAX {
                end.judge(context, self.statement)?;
            }
        }
        Ok(())
    }

    /// Looks for everything collected.
    pub(super) fn judge(&mut self, context: &Context<'_>) -> Result<()> {
        self.ends
            .iter_mut()
            .try_for_each(|end| end.judge(context, self.statement))
    }
}

impl<'p> End<'p> {
    fn new(reference: &'p Reference, is_referenced: bool) -> End<'p> {
        End {
            reference,
            is_referenced,
            parts: key_parts(reference),
            keys: HashSet::new(),
            back: HashSet::new(),
            grant: None,
        }
    }

    /// The key of a row of the target; `None` with a NULL in it, which refers to nothing and is referred to by nothing.
    fn key_of(&self, row: &[Value]) -> Option<Vec<u8>> {
        KeyPart::key(&self.parts, |part| row.get(part.own))
    }

    fn collect(&mut self, context: &Context<'_>, key: Option<Vec<u8>>, is_back: bool) -> Result<()> {
        let Some(key) = key else { return Ok(()) };
        let set = if is_back { &mut self.back } else { &mut self.keys };
        if set.contains(&key) {
            return Ok(());
        }
        let workspace = &context.session.instance.workspace;
        let grant = self.grant.get_or_insert_with(|| Grant::of(workspace));
        grant.require(key.len() as u64 + ENTRY_BYTES)?;
        set.insert(key);
        Ok(())
    }

    fn judge(&mut self, context: &Context<'_>, statement: &str) -> Result<()> {
        let keys = std::mem::take(&mut self.keys);
        self.grant = None;
        let is_sound = match (self.reference.index, self.is_referenced) {
            (Some(place), _) => self.look_in_index(context, place, &keys)?,
            (None, true) => !self.look_in_rows(context, keys, true)?,
            (None, false) => self.look_in_rows(context, keys, false)?,
        };
        if is_sound {
            Ok(())
        } else {
            Err(self.conflict(statement))
        }
    }

    /// Whether every key is found, or of a referenced table none that is not back.
    fn look_in_index(&self, context: &Context<'_>, place: usize, keys: &HashSet<Vec<u8>>) -> Result<bool> {
        let (table, locks) = (&self.reference.table.table, &context.session.locks);
        for key in keys {
            if self.is_referenced && self.back.contains(key) {
                continue;
            }
            cancel::spend(STEPS_PER_SEARCH)?;
            let is_found = match self.is_referenced {
                false => table.holds_key(place, locks, key)?,
                true => {
                    let end = after_prefix(key.clone()).map_or(std::ops::Bound::Unbounded, std::ops::Bound::Excluded);
                    table.holds_key_in(place, locks, (std::ops::Bound::Included(key.clone()), end))?
                }
            };
            if is_found == self.is_referenced {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Goes through the other table: whether any key is found, or whether all are.
    fn look_in_rows(&self, context: &Context<'_>, mut keys: HashSet<Vec<u8>>, any: bool) -> Result<bool> {
        if self.is_referenced {
            keys.retain(|key| !self.back.contains(key));
        }
        if keys.is_empty() {
            return Ok(!any);
        }
        let (table, locks) = (&self.reference.table.table, &context.session.locks);
        let mut scan = table.scan_committed(locks)?;
        while scan.next_batch()? {
            for position in 0..scan.len() {
                cancel::spend(1)?;
                let key = key_of_stored(
                    table,
                    &self.reference.other_columns,
                    scan.row(position).unwrap_or_default(),
                )?;
                let Some(key) = key else { continue };
                if any && keys.contains(&key) {
                    return Ok(true);
                }
                if !any && keys.remove(&key) && keys.is_empty() {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// 547 in the words for this end. The table and the column named are those of the other end.
    fn conflict(&self, statement: &str) -> Error {
        let reference = self.reference;
        let kind = match (self.is_referenced, reference.is_own) {
            (false, false) => "FOREIGN KEY",
            (false, true) => "FOREIGN KEY SAME TABLE",
            (true, false) => "REFERENCE",
            (true, true) => "SAME TABLE REFERENCE",
        };
        let (database, table) = in_two(&reference.table.full_name);
        let column = match reference.other_columns.as_slice() {
            [column] => {
                let column = reference.table.table.definition().columns.get(*column);
                column.map_or_else(String::new, |column| format!(", column '{}'", column.name))
            }
            _ => String::new(),
        };
        messages::constraint_conflict(statement, kind, &reference.name, database, table, &column)
    }
}

/// Judges the rows that a table has by the foreign keys in `columns.references`.
///
/// # Errors
/// 547.
pub(crate) fn check_stored_references(
    context: &Context<'_>,
    table: &Table,
    columns: &TargetColumns,
    statement: &'static str,
) -> Result<()> {
    let mut references = References::new(columns, statement);
    let mut scan = table.scan_committed(&context.session.locks)?;
    let mut row = Vec::new();
    while scan.next_batch()? {
        for position in 0..scan.len() {
            cancel::spend(1)?;
            table
                .layout()
                .decode_into(scan.row(position).unwrap_or_default(), &mut row)?;
            references.note(context, None, Some(&row))?;
        }
    }
    references.judge(context)
}

/// The ascending key of some columns of a stored row; `None` with a NULL in it.
fn key_of_stored(table: &Table, columns: &[usize], row: &[u8]) -> Result<Option<Vec<u8>>> {
    let mut key = Vec::with_capacity(16);
    for &column in columns {
        let value = table.layout().column(row, column)?;
        if value.is_null() {
            return Ok(None);
        }
        let collation = table.layout().column_collation(column);
        encode_stored_key_part(&value, collation, KeyDirection::Ascending, &mut key);
    }
    Ok(Some(key))
}
