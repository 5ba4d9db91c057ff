//! The rules of the optimizer, each of which a session can switch off with `DBCC RULEOFF ('name')`.
//!
//! A rule makes a plan cheaper but never changes its result. So a plan without a rule can verify a plan with it: the differential test
//! switches rules at random. Names are this engine's own, as plans and rules are; DBCC RULEON, RULEOFF, SHOWONRULES and SHOWOFFRULES are
//! SQL Server's, where they are undocumented (Benjamin Nevarez, "Disabling Optimizer Rules in SQL Server").

/// Declares the rules with what each one does.
macro_rules! rules {
    ($($(#[doc = $what:literal])+ $rule:ident,)+) => {
        /// Something that the optimizer does to a plan.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Rule {
            $($(#[doc = $what])+ $rule,)+
        }

        impl Rule {
            /// All rules, in the order in which they are declared.
            pub const ALL: &'static [Rule] = &[$(Rule::$rule,)+];

            /// The name by which DBCC knows it.
            pub fn name(self) -> &'static str {
                match self {
                    $(Rule::$rule => stringify!($rule),)+
                }
            }
        }
    };
}

rules! {
    /// Conditions that stand in every branch of an OR are tested beside it.
    FactorAlternatives,
    /// What every branch of an OR says of one source is tested where its rows are read.
    DrawFromAlternatives,
    /// EXISTS, IN and ANY are joins with the subquery's FROM.
    SemiJoin,
    /// NOT EXISTS, NOT IN and ALL are joins with the subquery's FROM.
    AntiJoin,
    /// LEFT JOIN of which only the rows without partner are kept is an anti join.
    AntiFromOuter,
    /// Joins go in the order of least cost, not in the order of the text.
    OrderJoins,
    /// Equal values are joined by a hash table. Without it inner and left joins compare every pair.
    HashJoin,
    /// Sides of a join that come in the order of equal values are read side by side.
    MergeJoin,
    /// Scans leave out rows whose keys are not in the hash table that they are joined with.
    ProbeBitmaps,
    /// For each row of one side of a join the other side is searched by an index.
    IndexJoin,
    /// Rows are found by ranges of an index.
    IndexRange,
    /// Rows of which one of several conditions holds are found by several searches.
    IndexUnion,
    /// A nonclustered index that holds all that is asked for is read in place of the table.
    IndexCover,
    /// A sort is left out where rows come in its order.
    SortFromIndex,
    /// A sort is left out where joins and groups below give its order.
    SortFromOrder,
    /// Rows that come in the order of a sort's first keys are sorted group by group.
    PartialSort,
    /// Window functions go by the order that rows come in.
    WindowFromOrder,
    /// A bound of a row number ends the rows that are numbered.
    TopFromNumber,
    /// Groups, and duplicates, are found as rows come, if they follow each other.
    StreamAggregate,
    /// DISTINCT is left out where rows differ by a key.
    DistinctFromKey,
    /// MIN and MAX read the ends of an index.
    ExtremeFromIndex,
    /// A query in FROM that only joins, filters and computes is part of the FROM around it.
    MergeQueries,
    /// An outer join whose rows without partner are left out is an inner one.
    InnerFromOuter,
    /// An outer join of which nothing is read, or that finds no partner, is not done.
    DropOuterJoins,
    /// Conditions that come out the same for every row are not tested, and what cannot be is not read.
    SettleConditions,
    /// Joins with small tables are estimated by the rows that conditions leave of them.
    ReadSmallTables,
    /// A condition on a column holds for the columns equal to it.
    InferEqualities,
    /// What must hold of the rows of a query in FROM is asked inside of it.
    PushConditions,
    /// A common table expression that is read in several places is computed once.
    KeepCommonTables,
}

impl Rule {
    /// The rule with this name, ignoring case.
    pub fn by_name(name: &str) -> Option<Rule> {
        Rule::ALL
            .iter()
            .copied()
            .find(|rule| rule.name().eq_ignore_ascii_case(name))
    }

    fn bit(self) -> u64 {
        1 << self as u32
    }
}

/// The rules that a session has switched off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RulesOff(u64);

impl RulesOff {
    /// Whether the optimizer may use the rule.
    pub fn allow(self, rule: Rule) -> bool {
        self.0 & rule.bit() == 0
    }

    /// Switches a rule on or off.
    pub fn switch(&mut self, rule: Rule, on: bool) {
        match on {
            true => self.0 &= !rule.bit(),
            false => self.0 |= rule.bit(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_has_a_place_and_a_name_of_its_own() {
        let mut off = RulesOff::default();
        assert!(Rule::ALL.len() <= u64::BITS as usize);
        for &rule in Rule::ALL {
            assert_eq!(Rule::by_name(&rule.name().to_lowercase()), Some(rule));
            assert!(off.allow(rule), "{rule:?} shares a bit");
            off.switch(rule, false);
            assert!(!off.allow(rule));
        }
        Rule::ALL.iter().for_each(|&rule| off.switch(rule, true));
        assert_eq!(off, RulesOff::default());
    }
}
