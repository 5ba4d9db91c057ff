//! Lock modes: which are compatible, and what two of them combine to. Both are tables; the tests walk every
//! combination.
//!
//! The compatibility of modes of whole resources is SQL Server's published table (sql-docs, "Transaction locking and row versioning
//! guide") for the modes used here. Sums follow the same guide except that SQL Server's rare `UIX` is taken as `X`: stronger, never
//! weaker.
//!
//! *Modes of ranges* lock a key of an index and the gap before it, that is, all keys that could stand between it and the key before
//! (the same guide, "Key-range lock modes"). Each has two parts, the gap's and the key's:
//!
//! ```text
//!                 key: -           S          U          X
//! gap S                            RangeS-S   RangeS-U   (RangeX-X)     the gap was read
//! gap I           RangeI-N         RangeI-S   RangeI-U   RangeI-X       a key is to be inserted into the gap
//! gap X                            RangeX-S   RangeX-U   RangeX-X       both
//! ```
//! Two modes are compatible if their parts are: gap S with S and gap I with I, and the key parts like the modes of the same name. A mode
//! without a gap is compatible with any gap. Modes combine part by part. This gives the guide's table for S, U, X and the four modes that
//! are requested, and its five conversions.

/// A lock mode; those of whole resources first, from weak to strong as far as an order exists.
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
    /// Schema modification: excludes all others, even readers without locks.
    SchM,
    /// A range was read.
    RangeSS,
    /// A range was searched for rows to be changed.
    RangeSU,
    /// A key is to be inserted into the gap; held for a moment only.
    RangeIN,
    /// The key and the gap are one owner's.
    RangeXX,
    /// The sum of S and RangeI-N.
    RangeIS,
    /// The sum of U and RangeI-N.
    RangeIU,
    /// The sum of X and RangeI-N.
    RangeIX,
    /// The sum of RangeS-S and RangeI-N.
    RangeXS,
    /// The sum of RangeS-U and RangeI-N.
    RangeXU,
}

use Mode::{
    IS, IX, RangeIN, RangeIS, RangeIU, RangeIX, RangeSS, RangeSU, RangeXS, RangeXU, RangeXX, S, SIX, SchM, SchS, U, X,
};

/// How many modes there are.
const COUNT: usize = 17;
/// How many of them are modes of whole resources.
const WHOLE_COUNT: usize = 8;

/// What a mode of a range locks the gap before its key for.
#[derive(Clone, Copy)]
enum Gap {
    Read,
    Insert,
    Both,
}

/// What it locks the key for, as the mode of the key alone.
type Key = Option<Mode>;

const COMPATIBLE: [[bool; COUNT]; COUNT] = {
    let mut table = [[false; COUNT]; COUNT];
    let mut wanted = 0;
    while wanted < COUNT {
        let mut held = 0;
        while held < COUNT {
            table[wanted][held] = parts_are_compatible(Mode::ALL[wanted], Mode::ALL[held]);
            held += 1;
        }
        wanted += 1;
    }
    table
};

const SUM: [[Mode; COUNT]; COUNT] = {
    let mut table = [[SchM; COUNT]; COUNT];
    let mut one = 0;
    while one < COUNT {
        let mut other = 0;
        while other < COUNT {
            table[one][other] = sum_of_parts(Mode::ALL[one], Mode::ALL[other]);
            other += 1;
        }
        one += 1;
    }
    table
};

/// Modes of whole resources.
const fn whole_are_compatible(wanted: Mode, held: Mode) -> bool {
    //                              held:  SchS   IS     IX     S      U      SIX    X      SchM
    const COMPATIBLE: [[bool; WHOLE_COUNT]; WHOLE_COUNT] = [
        /* SchS */ [true, true, true, true, true, true, true, false],
        /* IS   */ [true, true, true, true, true, true, false, false],
        /* IX   */ [true, true, true, false, false, false, false, false],
        /* S    */ [true, true, false, true, true, false, false, false],
        /* U    */ [true, true, false, true, false, false, false, false],
        /* SIX  */ [true, true, false, false, false, false, false, false],
        /* X    */ [true, false, false, false, false, false, false, false],
        /* SchM */ [false, false, false, false, false, false, false, false],
    ];
    COMPATIBLE[wanted as usize][held as usize]
}

const fn whole_sum(one: Mode, other: Mode) -> Mode {
    const SUM: [[Mode; WHOLE_COUNT]; WHOLE_COUNT] = [
        [SchS, IS, IX, S, U, SIX, X, SchM],
        [IS, IS, IX, S, U, SIX, X, SchM],
        [IX, IX, IX, SIX, X, SIX, X, SchM],
        [S, S, SIX, S, U, SIX, X, SchM],
        [U, U, X, U, U, X, X, SchM],
        [SIX, SIX, SIX, SIX, X, SIX, X, SchM],
        [X, X, X, X, X, X, X, SchM],
        [SchM, SchM, SchM, SchM, SchM, SchM, SchM, SchM],
    ];
    SUM[one as usize][other as usize]
}

const fn parts_are_compatible(wanted: Mode, held: Mode) -> bool {
    let ((wanted_gap, wanted_key), (held_gap, held_key)) = (wanted.parts(), held.parts());
    let gaps = matches!(
        (wanted_gap, held_gap),
        (None, _) | (_, None) | (Some(Gap::Read), Some(Gap::Read)) | (Some(Gap::Insert), Some(Gap::Insert))
    );
    let keys = match (wanted_key, held_key) {
        (Some(wanted), Some(held)) => whole_are_compatible(wanted, held),
        // RangeI-N has nothing to do with the key; only a lock of the definition is against everything.
        (Some(SchM), None) | (None, Some(SchM)) => false,
        _ => true,
    };
    gaps && keys
}

const fn sum_of_parts(one: Mode, other: Mode) -> Mode {
    let ((one_gap, one_key), (other_gap, other_key)) = (one.parts(), other.parts());
    let gap = match (one_gap, other_gap) {
        (None, gap) | (gap, None) => gap,
        (Some(Gap::Read), Some(Gap::Read)) => Some(Gap::Read),
        (Some(Gap::Insert), Some(Gap::Insert)) => Some(Gap::Insert),
        _ => Some(Gap::Both),
    };
    let key = match (one_key, other_key) {
        (Some(one), Some(other)) => Some(whole_sum(one, other)),
        (None, key) | (key, None) => key,
    };
    match gap {
        Some(gap) => of_range(gap, key),
        None => match key {
            Some(key) => key,
            None => SchS,
        },
    }
}

/// The weakest mode of a range with these parts at least.
const fn of_range(gap: Gap, key: Key) -> Mode {
    match (gap, key) {
        (_, Some(SchM)) => SchM,
        (Gap::Insert, None | Some(SchS)) => RangeIN,
        (Gap::Insert, Some(IS | S)) => RangeIS,
        (Gap::Insert, Some(U)) => RangeIU,
        (Gap::Insert, Some(_)) => RangeIX,
        (Gap::Read, None | Some(SchS | IS | S)) => RangeSS,
        (Gap::Read, Some(U)) => RangeSU,
        (Gap::Both, None | Some(SchS | IS | S)) => RangeXS,
        (Gap::Both, Some(U)) => RangeXU,
        (Gap::Read | Gap::Both, Some(_)) => RangeXX,
    }
}

impl Mode {
    /// Every mode, in the order of the tables.
    pub const ALL: [Mode; COUNT] = [
        SchS, IS, IX, S, U, SIX, X, SchM, RangeSS, RangeSU, RangeIN, RangeXX, RangeIS, RangeIU, RangeIX, RangeXS,
        RangeXU,
    ];

    /// The name in `sys.dm_tran_locks.request_mode`.
    pub fn name(self) -> &'static str {
        const NAMES: [&str; COUNT] = [
            "Sch-S", "IS", "IX", "S", "U", "SIX", "X", "Sch-M", "RangeS-S", "RangeS-U", "RangeI-N", "RangeX-X",
            "RangeI-S", "RangeI-U", "RangeI-X", "RangeX-S", "RangeX-U",
        ];
        NAMES[self as usize]
    }

    /// What is locked of a gap, and of a key or a whole resource.
    const fn parts(self) -> (Option<Gap>, Key) {
        match self {
            RangeSS => (Some(Gap::Read), Some(S)),
            RangeSU => (Some(Gap::Read), Some(U)),
            RangeIN => (Some(Gap::Insert), None),
            RangeIS => (Some(Gap::Insert), Some(S)),
            RangeIU => (Some(Gap::Insert), Some(U)),
            RangeIX => (Some(Gap::Insert), Some(X)),
            RangeXS => (Some(Gap::Both), Some(S)),
            RangeXU => (Some(Gap::Both), Some(U)),
            RangeXX => (Some(Gap::Both), Some(X)),
            SchS | IS | IX | S | U | SIX | X | SchM => (None, Some(self)),
        }
    }

    /// The mode that locks the gap before a key as well, where this one locks the key alone.
    pub fn with_gap(self) -> Mode {
        of_range(Gap::Read, Some(self))
    }

    /// True when the gap before the key is locked against inserts.
    pub fn keeps_gap(self) -> bool {
        matches!(self.parts().0, Some(Gap::Read | Gap::Both))
    }

    /// True if no other owner may read the key.
    pub fn is_exclusive_on_key(self) -> bool {
        self.parts().1 == Some(X)
    }

    /// True when a lock in this mode can be granted beside one that another owner holds in `held`.
    pub fn compatible_with(self, held: Mode) -> bool {
        COMPATIBLE[self as usize][held as usize]
    }

    /// The weakest mode that gives one owner both rights.
    pub fn joined_with(self, other: Mode) -> Mode {
        SUM[self as usize][other as usize]
    }

    /// True when holding this mode already gives every right of `wanted`.
    pub fn covers(self, wanted: Mode) -> bool {
        self.joined_with(wanted) == self
    }

    /// True when this mode on a table makes a row lock in `row` superfluous.
    pub fn covers_rows_in(self, row: Mode) -> bool {
        match row {
            S | IS | SchS | RangeSS => matches!(self, S | U | SIX | X | SchM),
            _ => matches!(self, X | SchM),
        }
    }

    /// The intent that a row lock in this mode needs on the table.
    pub fn intent(self) -> Mode {
        match self {
            SchS | IS | S | RangeSS => IS,
            _ => IX,
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
                let are_whole = a.parts().0.is_none() && b.parts().0.is_none();
                pairs += usize::from(are_whole && a.compatible_with(b));
            }
        }
        // Published: IS goes with IS S U IX SIX; S with IS S U; U with IS S; IX with IS IX; SIX with IS; X with none;
        // Sch-S with everything but Sch-M. Counted both ways: 5 + 3 + 2 + 2 + 1 + 0 = 13, and 7 + 6 with Sch-S.
        assert_eq!(pairs, 26);
    }

    /// The guide's table "Key-range lock compatibility", and its list "Conversion locks".
    #[test]
    fn ranges_go_together_as_the_guide_lists() {
        let modes = [S, U, X, RangeSS, RangeSU, RangeIN, RangeXX];
        let published = [
            (S, "Yes Yes No Yes Yes Yes No"),
            (U, "Yes No No Yes No Yes No"),
            (X, "No No No No No Yes No"),
            (RangeSS, "Yes Yes No Yes Yes No No"),
            (RangeSU, "Yes No No Yes No No No"),
            (RangeIN, "Yes Yes Yes No No Yes No"),
            (RangeXX, "No No No No No No No"),
        ];
        for (wanted, row) in published {
            for (held, answer) in modes.into_iter().zip(row.split(' ')) {
                let fits = wanted.compatible_with(held);
                assert_eq!(fits, answer == "Yes", "{wanted:?} beside {held:?}");
            }
        }
        let conversions = [
            (S, RangeIN, RangeIS),
            (U, RangeIN, RangeIU),
            (X, RangeIN, RangeIX),
            (RangeIN, RangeSS, RangeXS),
            (RangeIN, RangeSU, RangeXU),
        ];
        for (one, other, sum) in conversions {
            assert_eq!(one.joined_with(other), sum);
        }
        assert_eq!([S, U, X].map(Mode::with_gap), [RangeSS, RangeSU, RangeXX]);
    }

    /// A mode of a range stands against another exactly if their keys or their gaps do.
    #[test]
    fn a_range_is_its_key_and_its_gap() {
        let insert = |mode: Mode| matches!(mode.parts().0, Some(Gap::Insert | Gap::Both));
        for a in Mode::ALL {
            for b in Mode::ALL {
                let gaps = a.keeps_gap() && insert(b) || insert(a) && b.keeps_gap();
                let key_of = |mode: Mode| mode.parts().1.unwrap_or(SchS);
                let keys = !key_of(a).compatible_with(key_of(b));
                assert_eq!(a.compatible_with(b), !gaps && !keys, "{a:?} {b:?}");
            }
        }
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
        let of_rows = [S, U, X, RangeSS, RangeSU, RangeIN, RangeXX];
        for table in Mode::ALL.into_iter().filter(|mode| mode.parts().0.is_none()) {
            for row in of_rows {
                if table.covers_rows_in(row) {
                    // Another owner's conflicting row lock would show as its intent on the table.
                    for other_row in of_rows {
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
