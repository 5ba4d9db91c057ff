//! A common table expression or view that several places of a statement read: computed once and kept.
//!
//! ```text
//! reference 1 ----> CommonTable: the number of readers, and the query with all columns that they read
//! reference 2 ----^
//! ```
//! Binding gives all references of one expression the same [`CommonTable`]. The optimizer registers references whose rows may be shared;
//! execution keeps the rows if there are at least two. A condition on the rows of one reference unregisters it, because its rows then
//! differ.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::QueryPlan;

/// The references to one common table expression or view in one statement.
#[derive(Debug, Default)]
pub struct CommonTable {
    entered: Mutex<Entered>,
}

#[derive(Debug, Default)]
struct Entered {
    references: usize,
    widest: Option<Widest>,
}

#[derive(Debug)]
struct Widest {
    read: Vec<bool>,
    plan: Arc<QueryPlan>,
}

/// A reference: of what, and which of its columns are read.
#[derive(Clone, Debug)]
pub struct CommonUse {
    pub table: Arc<CommonTable>,
    /// By column; what is not read need not be computed.
    pub read: Vec<bool>,
}

impl CommonTable {
    /// Enters a reference with its plan. False when its rows are not to be shared: it reads what others do not, or the other way round, and
    /// computing what one of them does not read may fail, as `can_fail` says of a plan.
    pub fn enter(&self, read: &[bool], plan: &Arc<QueryPlan>, can_fail: impl Fn(&QueryPlan) -> bool) -> bool {
        let mut entered = self.entered();
        let reads_all_of = |one: &[bool], other: &[bool]| other.iter().zip(one).all(|(other, one)| *one || !other);
        let is_fit = match &mut entered.widest {
            None => {
                entered.widest = Some(Widest {
                    read: read.to_vec(),
                    plan: plan.clone(),
                });
                true
            }
            // A change below it has more columns than other readers.
            Some(widest) if widest.read.len() != read.len() => false,
            Some(widest) if widest.read == read => true,
            Some(widest) if reads_all_of(&widest.read, read) => !can_fail(&widest.plan),
            Some(widest) if reads_all_of(read, &widest.read) && !can_fail(plan) => {
                *widest = Widest {
                    read: read.to_vec(),
                    plan: plan.clone(),
                };
                true
            }
            Some(_) => false,
        };
        entered.references += usize::from(is_fit);
        is_fit
    }

    /// The query whose rows are kept for all references, where there are several.
    pub fn shared(&self) -> Option<Arc<QueryPlan>> {
        let entered = self.entered();
        let widest = entered.widest.as_ref().filter(|_| entered.references > 1);
        widest.map(|widest| widest.plan.clone())
    }

    fn entered(&self) -> MutexGuard<'_, Entered> {
        self.entered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
