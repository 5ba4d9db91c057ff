//! FROM and joins: operators that combine the rows of several others in one wide row.

use super::{Condition, Expr, JoinMethods, Node};

/// A list of ranges of places in the wide row: the first, and how many.
pub type Ranges = Vec<(usize, usize)>;

/// Kinds of joins. The binder makes the first three; a join of RIGHT is one of LEFT with its sides exchanged. Those that begin with Right
/// are for a hash table of the rows that the join is about: of Left, Semi and Anti with the sides exchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinKind {
    /// Matching pairs.
    Inner,
    /// And left rows without partner.
    Left,
    /// And rows of both sides without partner.
    Full,
    /// Left rows with a partner, each once: EXISTS, IN.
    Semi,
    /// Left rows without partner: NOT EXISTS.
    Anti,
    /// Matching pairs, and right rows without partner.
    Right,
    /// Right rows with a partner, each once.
    RightSemi,
    /// Right rows without partner.
    RightAnti,
}

impl JoinKind {
    /// Whether left rows without partner are answered.
    pub fn keeps_left(self) -> bool {
        matches!(self, JoinKind::Left | JoinKind::Full | JoinKind::Anti)
    }

    /// Whether right rows without partner are answered.
    pub fn keeps_right(self) -> bool {
        matches!(self, JoinKind::Right | JoinKind::Full | JoinKind::RightAnti)
    }

    /// Whether left rows are answered alone or with their partners, and the right side may be one source among several: whatever is
    /// joined to the left one may be joined before or after.
    pub fn extends_left(self) -> bool {
        matches!(self, JoinKind::Left | JoinKind::Semi | JoinKind::Anti)
    }

    /// The same join with its sides exchanged.
    pub fn exchanged(self) -> JoinKind {
        match self {
            JoinKind::Left => JoinKind::Right,
            JoinKind::Semi => JoinKind::RightSemi,
            JoinKind::Anti => JoinKind::RightAnti,
            JoinKind::Right => JoinKind::Left,
            JoinKind::RightSemi => JoinKind::Semi,
            JoinKind::RightAnti => JoinKind::Anti,
            same => same,
        }
    }
}

/// What one FROM holds, as it is bound: its units and what must hold of them together, in no order. How the rows of a unit are found
/// and in which order units are joined is the optimizer's choice.
#[derive(Clone, Debug, Default)]
pub struct FromNode {
    /// The units, as they are written.
    pub units: Vec<FromUnit>,
    /// What must hold, by WHERE and by ON of inner joins.
    pub conjuncts: Vec<Condition>,
    /// Width of the wide row.
    pub width: usize,
    /// Whether the units are joined as they are written: FORCE ORDER, FORCEPLAN, or a join with a hint.
    pub is_forced: bool,
    /// How units may be joined.
    pub methods: JoinMethods,
}

/// A part of FROM that stands for itself: a source, or an outer join with all below it.
#[derive(Clone, Debug)]
pub struct FromUnit {
    /// Its rows.
    pub node: Node,
    /// Whether it uses the units before it (CROSS APPLY).
    pub lateral: bool,
    /// How it may be joined with what is before it.
    pub methods: JoinMethods,
}

impl FromNode {
    /// The source, if there is one and nothing else.
    pub fn only_source(&self) -> Option<&Node> {
        let [unit] = self.units.as_slice() else { return None };
        (!matches!(unit.node, Node::From(_) | Node::Outer(_))).then_some(&unit.node)
    }
}

/// An outer join as it is bound, or a semi or anti join that the optimizer made of a subquery.
#[derive(Clone, Debug)]
pub struct OuterJoin {
    /// The left side, whose rows are all kept; of a semi or anti join, those that are asked about.
    pub left: Node,
    /// The right side.
    pub right: Node,
    /// Left, full, semi or anti.
    pub kind: JoinKind,
    /// ON. All of it belongs to the join; none may filter a side whose rows are kept.
    pub conjuncts: Vec<Condition>,
    /// Whether the right side uses columns of the left one (OUTER APPLY).
    pub lateral: bool,
    /// How the sides may be joined.
    pub methods: JoinMethods,
    /// Of a semi or anti join: the condition that it stands for, which may be asked row by row instead.
    pub written: Option<Condition>,
}

/// The rows of two sides put together.
#[derive(Clone, Debug)]
pub struct JoinNode {
    /// How partners are found.
    pub method: JoinMethod,
    /// Which rows come out. Nested loops know Inner, Left, Semi and Anti.
    pub kind: JoinKind,
    /// Of nested loops the outer side; of a hash table the side that probes it; merged, the one whose rows are unique by the keys, unless
    /// there may be many of one.
    pub left: Node,
    /// Of nested loops the side that is opened again for every left row; else the side that is in the table, or of which a group of rows of
    /// one key is kept where there may be many left ones.
    pub right: Node,
    /// The left side's places that are read: made NULL for a right row without partner.
    pub left_ranges: Ranges,
    /// The right side's places that are read: made NULL for a left row without partner, and what is kept of right rows.
    pub right_ranges: Ranges,
    /// Pairs of equal expressions, left and right. Merged sides come in their order. Nested loops have none.
    pub keys: Vec<(Expr, Expr)>,
    /// What else must hold of a pair.
    pub residual: Condition,
}

impl JoinNode {
    /// A join whose sides' ranges are not settled.
    pub fn new(
        method: JoinMethod,
        kind: JoinKind,
        left: Node,
        right: Node,
        keys: Vec<(Expr, Expr)>,
        residual: Condition,
    ) -> JoinNode {
        JoinNode {
            method,
            kind,
            left,
            right,
            left_ranges: Vec::new(),
            right_ranges: Vec::new(),
            keys,
            residual,
        }
    }

    /// Nested loops over two sides.
    pub fn looped(kind: JoinKind, left: Node, right: Node, condition: Condition) -> JoinNode {
        JoinNode::new(JoinMethod::Loop, kind, left, right, Vec::new(), condition)
    }
}

/// How a join finds partners.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinMethod {
    /// For every left row all right rows, or those that an index finds.
    Loop,
    /// Right rows in a hash table, probed by left rows.
    Hash {
        /// Whether the scan that left rows come from tests its rows by a bitmap of the right side's keys.
        has_bitmap: bool,
    },
    /// Both sides come in the order of equal keys and are read side by side.
    Merge {
        /// Whether both come greatest first.
        is_descending: bool,
        /// Whether several left rows may have one key.
        is_many: bool,
    },
}
