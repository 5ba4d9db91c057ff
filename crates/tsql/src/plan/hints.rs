//! The choices that hints leave to the optimizer: access paths, join methods, grouping methods, and when a plan becomes outdated.

/// The way to a table's rows that hints ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Any,
    /// FORCESCAN, or the index 0.
    Scan,
    /// FORCESEEK.
    Seek,
    /// By this index, if it helps to search.
    Index(usize),
}

/// The methods of joining that hints leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JoinMethods {
    /// For each left row the right rows: all, or those that an index finds.
    pub loops: bool,
    /// A hash table of one side, by equal values of both.
    pub hashes: bool,
    /// Both sides in the order of equal values, sorted where they do not come so.
    pub merges: bool,
    /// Whether a hint asks for merging, so that sides may be sorted for it.
    pub sorts: bool,
    /// Whether another method is taken if none of these fits: FORCEPLAN.
    pub is_wish: bool,
}

impl Default for JoinMethods {
    fn default() -> JoinMethods {
        JoinMethods::ANY
    }
}

impl JoinMethods {
    /// Without a hint.
    pub const ANY: JoinMethods = JoinMethods {
        loops: true,
        hashes: true,
        merges: true,
        sorts: false,
        is_wish: false,
    };
    /// No method.
    const NONE: JoinMethods = JoinMethods {
        loops: false,
        hashes: false,
        merges: false,
        ..JoinMethods::ANY
    };
    pub const LOOPS: JoinMethods = JoinMethods {
        loops: true,
        ..JoinMethods::NONE
    };
    pub const HASHES: JoinMethods = JoinMethods {
        hashes: true,
        ..JoinMethods::NONE
    };
    pub const MERGES: JoinMethods = JoinMethods {
        merges: true,
        sorts: true,
        ..JoinMethods::NONE
    };
    /// What FORCEPLAN asks for (SQL Server docs, "SET FORCEPLAN").
    pub const LOOPS_IF_POSSIBLE: JoinMethods = JoinMethods {
        is_wish: true,
        ..JoinMethods::LOOPS
    };

    /// The remaining methods if hash tables are not allowed.
    pub const UNHASHED_IF_POSSIBLE: JoinMethods = JoinMethods {
        hashes: false,
        is_wish: true,
        ..JoinMethods::ANY
    };

    /// What a hint at a join leaves of the statement's methods. A hint goes before a wish.
    pub fn at_join(self, hint: JoinMethods) -> JoinMethods {
        if self.is_wish && hint != JoinMethods::ANY {
            return hint;
        }
        JoinMethods {
            loops: self.loops && hint.loops,
            hashes: self.hashes && hint.hashes,
            merges: self.merges && hint.merges,
            sorts: self.sorts || hint.sorts,
            is_wish: self.is_wish,
        }
    }

    /// What several hints in one place leave: whatever one of them names.
    pub fn or(self, other: JoinMethods) -> JoinMethods {
        JoinMethods {
            loops: self.loops || other.loops,
            hashes: self.hashes || other.hashes,
            merges: self.merges || other.merges,
            sorts: self.sorts || other.sorts,
            is_wish: false,
        }
    }
}

/// By which modifications a plan grows out of date.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Aging {
    /// By those that put its statistics out of date.
    #[default]
    Usual,
    /// KEEP PLAN: temporary tables are as others.
    TemporaryAsOthers,
    /// KEEPFIXED PLAN: by none.
    Never,
}

/// How hints let groups be made, of GROUP BY and DISTINCT.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GroupMethod {
    #[default]
    Any,
    Hash,
    Order,
}

impl GroupMethod {
    /// What one more hint leaves: either, where both are named.
    pub fn or(self, named: GroupMethod) -> GroupMethod {
        match self == GroupMethod::Any || self == named {
            true => named,
            false => GroupMethod::Any,
        }
    }
}
