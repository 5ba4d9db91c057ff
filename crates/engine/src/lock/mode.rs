//! Lock modes: which are compatible, and what two of them combine to. Both are tables; the tests walk every
//! combination.
//!
//! The compatibility matrix is SQL Server's published one (sql-docs, "Transaction locking and row versioning guide") for the
//! modes used here. Sums follow the same guide except that SQL Server's rare `UIX` is taken as `X`: stronger, never weaker.

/// A lock mode, from weak to strong as far as an order exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Mode {
    /// Schema stability: the object's definition may not change meanwhile.
    SchS,
    /// Intent shared: shared locks are held further down.
    IS,
    /// Intent exclusive: exclusive locks are held further down.
    IX,
    S,
    /// Update: shared with the right to become exclusive next; only one holder.
    U,
    /// Shared here and exclusive locks further down.
    SIX,
    X,
    /// Schema modification: nobody else, not even readers without locks.
    SchM,
}

use Mode::{IS, IX, S, SIX, SchM, SchS, U, X};

impl Mode {
    /// Every mode, in the order of the tables.
    pub const ALL: [Mode; 8] = [SchS, IS, IX, S, U, SIX, X, SchM];

    /// The name in `sys.dm_tran_locks.request_mode`.
    pub fn name(self) -> &'static str {
        ["Sch-S", "IS", "IX", "S", "U", "SIX", "X", "Sch-M"][self as usize]
    }

    /// True when a lock in this mode can be granted beside one that another owner holds in `held`.
    pub fn compatible_with(self, held: Mode) -> bool {
        //                              held:  SchS   IS     IX     S      U      SIX    X      SchM
        const COMPATIBLE: [[bool; 8]; 8] = [
            /* SchS */ [true, true, true, true, true, true, true, false],
            /* IS   */ [true, true, true, true, true, true, false, false],
            /* IX   */ [true, true, true, false, false, false, false, false],
            /* S    */ [true, true, false, true, true, false, false, false],
            /* U    */ [true, true, false, true, false, false, false, false],
            /* SIX  */ [true, true, false, false, false, false, false, false],
            /* X    */ [true, false, false, false, false, false, false, false],
            /* SchM */ [false, false, false, false, false, false, false, false],
        ];
        COMPATIBLE[self as usize][held as usize]
    }

    /// The weakest mode that gives one owner both rights.
    pub fn joined_with(self, other: Mode) -> Mode {
        const SUM: [[Mode; 8]; 8] = [
            [SchS, IS, IX, S, U, SIX, X, SchM],
            [IS, IS, IX, S, U, SIX, X, SchM],
            [IX, IX, IX, SIX, X, SIX, X, SchM],
            [S, S, SIX, S, U, SIX, X, SchM],
            [U, U, X, U, U, X, X, SchM],
            [SIX, SIX, SIX, SIX, X, SIX, X, SchM],
            [X, X, X, X, X, X, X, SchM],
            [SchM, SchM, SchM, SchM, SchM, SchM, SchM, SchM],
        ];
        SUM[self as usize][other as usize]
    }

    /// True when holding this mode already gives every right of `wanted`.
    pub fn covers(self, wanted: Mode) -> bool {
        self.joined_with(wanted) == self
    }

    /// True when this mode on a table makes a row lock in `row` superfluous.
    pub fn covers_rows_in(self, row: Mode) -> bool {
        match row {
            S | IS | SchS => matches!(self, S | U | SIX | X | SchM),
            U | X | IX | SIX | SchM => matches!(self, X | SchM),
        }
    }

    /// The intent that a row lock in this mode needs on the table.
    pub fn intent(self) -> Mode {
        match self {
            SchS | IS | S => IS,
            IX | U | SIX | X | SchM => IX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compatibility_is_symmetric_and_only_what_the_guide_lists() {
        let mut pairs = 0;
        for a in Mode::ALL {
            for b in Mode::ALL {
                assert_eq!(a.compatible_with(b), b.compatible_with(a), "{a:?} {b:?}");
                pairs += usize::from(a.compatible_with(b));
            }
        }
        // Published: IS goes with IS S U IX SIX; S with IS S U; U with IS S; IX with IS IX; SIX with IS; X with none;
        // Sch-S with everything but Sch-M. Counted both ways: 5 + 3 + 2 + 2 + 1 + 0 = 13, and 7 + 6 with Sch-S.
        assert_eq!(pairs, 26);
    }

    #[test]
    fn a_sum_covers_both_parts_and_forbids_what_either_forbids() {
        for a in Mode::ALL {
            for b in Mode::ALL {
                let sum = a.joined_with(b);
                assert_eq!(sum, b.joined_with(a), "{a:?} {b:?}");
                assert!(sum.covers(a) && sum.covers(b), "{a:?} {b:?}");
                for other in Mode::ALL {
                    let allowed = a.compatible_with(other) && b.compatible_with(other);
                    assert!(allowed || !sum.compatible_with(other), "{a:?}+{b:?} beside {other:?}");
                }
            }
        }
    }

    #[test]
    fn a_table_lock_that_covers_rows_conflicts_with_every_row_lock_it_replaces() {
        for table in Mode::ALL {
            for row in [S, U, X] {
                if table.covers_rows_in(row) {
                    // Another owner's conflicting row lock would show as its intent on the table.
                    for other_row in [S, U, X] {
                        if !row.compatible_with(other_row) {
                            let seen = !table.compatible_with(other_row.intent());
                            assert!(seen, "{table:?} for {row:?} against {other_row:?}");
                        }
                    }
                }
            }
        }
    }
}
