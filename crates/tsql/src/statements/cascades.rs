//! Error 1785: the actions that follow one change may not reach a table twice.
//!
//! "The tree of cascading actions must have only one path to a particular table" (sql-docs, error 1785): a table appears at most once in
//! the list of all actions that a DELETE or an UPDATE starts. The check considers tables and the kind of change, not columns:
//!
//! ```text
//! of a foreign key from c to p      p loses rows            p gets other keys
//! CASCADE                           c loses rows            c gets other keys
//! SET NULL, SET DEFAULT             c gets other keys       c gets other keys
//! NO ACTION                         nothing                 nothing
//! ```

use std::collections::{HashMap, HashSet};

use engine::catalog::{ForeignKey, ObjectDefinition, ReferentialAction, TableDefinition};
use engine::database::Database;
use engine::error::Result;

use super::executor::Executor;
use crate::messages;

/// What happens to the rows of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Happening {
    Loses,
    Changes,
}

type Step = (u32, Happening);

/// What follows what.
#[derive(Default)]
struct Steps {
    after: HashMap<Step, Vec<Step>>,
}

impl Steps {
    fn add(&mut self, own: u32, key: &ForeignKey) {
        // A table that is being defined has no id yet, and refers to itself by that.
        let referenced = key.referenced_object;
        for (action, happening) in [(key.on_delete, Happening::Loses), (key.on_update, Happening::Changes)] {
            let follows = match action {
                ReferentialAction::NoAction => continue,
                ReferentialAction::Cascade => happening,
                ReferentialAction::SetNull | ReferentialAction::SetDefault => Happening::Changes,
            };
            self.after
                .entry((referenced, happening))
                .or_default()
                .push((own, follows));
        }
    }

    /// Whether something that happens to some table reaches a table twice.
    fn meet_a_table_twice(&self) -> bool {
        self.after.keys().any(|start| {
            let mut met = HashSet::from([start.0]);
            let mut ahead = vec![*start];
            while let Some(step) = ahead.pop() {
                for next in self.after.get(&step).into_iter().flatten() {
                    if !met.insert(next.0) {
                        return true;
                    }
                    ahead.push(*next);
                }
            }
            false
        })
    }
}

impl Executor<'_> {
    /// Judges the actions of a table's foreign keys, the last `added` of which are new, among those of all tables.
    ///
    /// # Errors
    /// 1785.
    pub(super) fn check_cascades(&self, database: &Database, table: &TableDefinition, added: usize) -> Result<()> {
        let acts = |key: &ForeignKey| {
            key.on_delete != ReferentialAction::NoAction || key.on_update != ReferentialAction::NoAction
        };
        let (known, new) = table
            .foreign_keys
            .split_at(table.foreign_keys.len().saturating_sub(added));
        if !new.iter().any(acts) {
            return Ok(());
        }
        let mut steps = Steps::default();
        for object in database.catalog.objects(self.session.id) {
            if let ObjectDefinition::Table(other) = &object.definition
                && other.object_id != table.object_id
            {
                other
                    .foreign_keys
                    .iter()
                    .for_each(|key| steps.add(other.object_id, key));
            }
        }
        known.iter().for_each(|key| steps.add(table.object_id, key));
        for key in new {
            steps.add(table.object_id, key);
            if acts(key) && steps.meet_a_table_twice() {
                return Err(messages::cascades_meet(&key.name, &table.name));
            }
        }
        Ok(())
    }
}
