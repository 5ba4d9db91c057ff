//! The bulk load that INSERT BULK has announced: the rows come with the client's next request, or not at all.

use std::cell::RefCell;

use engine::types::SqlType;

use super::SessionState;
use crate::ast::{Identifier, Name};

/// What INSERT BULK says of the rows that follow.
#[derive(Clone, Debug)]
pub(crate) struct BulkTarget {
    pub(crate) table: Name,
    /// `object_id` of the table, which the rows must still find.
    pub(crate) object_id: u32,
    /// The columns of the rows with their declared types.
    pub(crate) columns: Vec<(Identifier, SqlType)>,
    /// CHECK_CONSTRAINTS: CHECKs and foreign keys are judged.
    pub(crate) checks_constraints: bool,
    /// KEEP_NULLS: a NULL is none of those that become defaults.
    pub(crate) keeps_nulls: bool,
    /// TABLOCK.
    pub(crate) locks_table: bool,
    /// FIRE_TRIGGERS.
    pub(crate) fires_triggers: bool,
    /// ORDER: columns, true for descending, in which the rows come.
    pub(crate) order: Vec<(Identifier, bool)>,
}

#[derive(Default)]
pub(crate) struct AnnouncedBulk(RefCell<Option<BulkTarget>>);

impl SessionState {
    /// Expects the rows of a bulk load.
    pub(crate) fn announce_bulk(&self, target: BulkTarget) {
        self.bulk.0.replace(Some(target));
    }

    /// What the rows that come are for; nothing is expected from then on.
    pub(crate) fn take_bulk(&self) -> Option<BulkTarget> {
        self.bulk.0.take()
    }
}
