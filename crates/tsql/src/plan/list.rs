//! The list of an IN. A long one of constants is searched, not walked: scripts and mappers write thousands. One that has variables too
//! is searched by its execution (`exec/list_search.rs`), which alone knows their values.
//!
//! Invariant: the search is of the items as they are; a change of the items forgets it, and a copy makes its own.

use std::cmp::Ordering;
use std::ops::{Deref, DerefMut};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering as AtomicOrdering};

use engine::types::Value;

use super::{Expr, ExprKind};

/// A shorter list is walked in the time that a search takes.
const SEARCHED_ITEMS_MIN: usize = 16;

/// The number of the next list that executions search.
static NEXT_NUMBER: AtomicU64 = AtomicU64::new(1);

/// The expressions of a list, in the order in which they are written.
#[derive(Debug, Default)]
pub struct ListedValues {
    items: Vec<Expr>,
    /// Made when the first row is compared.
    search: OnceLock<Known>,
}

/// What is known of the values of a list.
#[derive(Debug)]
enum Known {
    /// They are constants.
    Always(ListSearch),
    /// They are the same for every row of an execution, which keeps them under this number: no other list ever has it.
    ByExecution(u64),
    /// The list is short, or has something else.
    Never,
}

/// What the search for a value comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Searched {
    /// Whether it is in the list: unknown where it is not and the list has a NULL.
    Found(Option<bool>),
    /// The values are constant for an execution, which can search them; the number of the list.
    ByExecution(u64),
    /// The items are to be compared one by one.
    Not,
}

/// The constants of a list in ascending order.
#[derive(Debug)]
struct ListSearch {
    /// Places among the items.
    order: Box<[u32]>,
    has_null: bool,
}

impl ListedValues {
    /// Searches a value. `compare` orders two values that are not NULL, the same way each time.
    pub fn search(&self, value: &Value, compare: impl Fn(&Value, &Value) -> Ordering) -> Searched {
        if self.items.len() < SEARCHED_ITEMS_MIN {
            return Searched::Not;
        }
        let search = match self.search.get_or_init(|| Known::of(&self.items, &compare)) {
            Known::Always(search) => search,
            Known::ByExecution(number) => return Searched::ByExecution(*number),
            Known::Never => return Searched::Not,
        };
        let is_found = search
            .order
            .binary_search_by(|&place| match &self.items[place as usize].kind {
                ExprKind::Constant(constant) => compare(constant, value),
                _ => Ordering::Less,
            })
            .is_ok();
        Searched::Found(match (is_found, search.has_null) {
            (true, _) => Some(true),
            (false, true) => None,
            (false, false) => Some(false),
        })
    }
}

impl Known {
    fn of(items: &[Expr], compare: &impl Fn(&Value, &Value) -> Ordering) -> Known {
        match ListSearch::of(items, compare) {
            Some(search) => Known::Always(search),
            None if items.iter().all(Expr::is_known_by_execution) => {
                Known::ByExecution(NEXT_NUMBER.fetch_add(1, AtomicOrdering::Relaxed))
            }
            None => Known::Never,
        }
    }
}

impl Expr {
    /// Whether it is made of constants and variables alone.
    pub(crate) fn is_known_by_execution(&self) -> bool {
        match &self.kind {
            ExprKind::Constant(value) => !matches!(value, Value::Held(_)),
            ExprKind::Variable(_) => true,
            ExprKind::Convert { operand, style, .. } => {
                operand.is_known_by_execution() && style.as_deref().is_none_or(Expr::is_known_by_execution)
            }
            ExprKind::Collate(operand) => operand.is_known_by_execution(),
            _ => false,
        }
    }
}

impl ListSearch {
    fn of(items: &[Expr], compare: &impl Fn(&Value, &Value) -> Ordering) -> Option<ListSearch> {
        let mut constants = Vec::with_capacity(items.len());
        for (place, item) in (0..).zip(items) {
            match &item.kind {
                ExprKind::Constant(Value::Null) => {}
                ExprKind::Constant(Value::Held(_)) => return None,
                ExprKind::Constant(value) => constants.push((place, value)),
                _ => return None,
            }
        }
        let has_null = constants.len() < items.len();
        constants.sort_by(|(_, one), (_, other)| compare(one, other));
        Some(ListSearch {
            order: constants.into_iter().map(|(place, _)| place).collect(),
            has_null,
        })
    }
}

impl Clone for ListedValues {
    fn clone(&self) -> ListedValues {
        ListedValues::from(self.items.clone())
    }
}

impl From<Vec<Expr>> for ListedValues {
    fn from(items: Vec<Expr>) -> ListedValues {
        ListedValues {
            items,
            search: OnceLock::new(),
        }
    }
}

impl FromIterator<Expr> for ListedValues {
    fn from_iter<I: IntoIterator<Item = Expr>>(items: I) -> ListedValues {
        ListedValues::from(items.into_iter().collect::<Vec<Expr>>())
    }
}

impl Deref for ListedValues {
    type Target = Vec<Expr>;

    fn deref(&self) -> &Vec<Expr> {
        &self.items
    }
}

impl DerefMut for ListedValues {
    fn deref_mut(&mut self) -> &mut Vec<Expr> {
        self.search = OnceLock::new();
        &mut self.items
    }
}

impl<'a> IntoIterator for &'a ListedValues {
    type Item = &'a Expr;
    type IntoIter = std::slice::Iter<'a, Expr>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.iter()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use engine::types::SqlType;

    fn listed(values: impl IntoIterator<Item = Option<i32>>) -> ListedValues {
        let constant = |value: Option<i32>| Expr::constant(value.map_or(Value::Null, Value::Int), SqlType::Int);
        values.into_iter().map(constant).collect()
    }

    fn by_number(one: &Value, other: &Value) -> Ordering {
        one.as_i64().unwrap().cmp(&other.as_i64().unwrap())
    }

    /// 8,000 constants were compared with each row.
    #[test]
    fn a_long_list_of_constants_is_searched() {
        let list = listed((0..4_096).map(|n| Some((n * 7_919 % 4_096) * 2)));
        let compared = std::cell::Cell::new(0);
        let counted = |one: &Value, other: &Value| {
            compared.set(compared.get() + 1);
            by_number(one, other)
        };
        assert_eq!(list.search(&Value::Int(0), counted), Searched::Found(Some(true)));
        for number in 0..8_192 {
            compared.set(0);
            assert_eq!(
                list.search(&Value::Int(number), counted),
                Searched::Found(Some(number % 2 == 0)),
                "{number}"
            );
            assert!(compared.get() <= 13, "{} comparisons", compared.get());
        }
    }

    #[test]
    fn a_null_in_the_list_makes_what_is_not_found_unknown() {
        let list = listed((0..20).map(|n| (n != 3).then_some(n)));
        assert_eq!(list.search(&Value::Int(4), by_number), Searched::Found(Some(true)));
        assert_eq!(list.search(&Value::Int(3), by_number), Searched::Found(None));
        assert_eq!(list.search(&Value::Int(-1), by_number), Searched::Found(None));
        assert_eq!(
            listed((0..20).map(|_| None)).search(&Value::Int(1), by_number),
            Searched::Found(None)
        );
    }

    #[test]
    fn what_is_short_or_not_constant_is_walked_and_a_change_is_seen() {
        assert_eq!(
            listed((0..15).map(Some)).search(&Value::Int(4), by_number),
            Searched::Not
        );
        let mut list = listed((0..16).map(Some));
        assert_eq!(list.search(&Value::Int(40), by_number), Searched::Found(Some(false)));
        list[7] = Expr::constant(Value::Int(40), SqlType::Int);
        assert_eq!(list.search(&Value::Int(40), by_number), Searched::Found(Some(true)));
        assert_eq!(list.search(&Value::Int(7), by_number), Searched::Found(Some(false)));
        list[7].kind = ExprKind::Variable(0);
        let Searched::ByExecution(number) = list.search(&Value::Int(40), by_number) else {
            panic!("{list:?}")
        };
        // The number stays the list's, and a copy has one of its own.
        assert_eq!(list.search(&Value::Int(41), by_number), Searched::ByExecution(number));
        assert_ne!(
            list.clone().search(&Value::Int(41), by_number),
            Searched::ByExecution(number)
        );
        list[7].kind = ExprKind::Column(0);
        assert_eq!(list.search(&Value::Int(40), by_number), Searched::Not);
    }
}
