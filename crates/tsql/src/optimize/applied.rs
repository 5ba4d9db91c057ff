//! The optimizer rules for a statement: the rules that the session allows, and a listener for each rule that changes something (trace flags
//! 8619 and 8621, see `trees`).
//!
//! ```text
//! rewriting   a rule works on FROM, or on the whole of a query, which is logical before and after
//! choosing    a rule works on operators
//! chosen      a rule turned something logical into an operator
//! ```
//! Rules that only change estimates (ReadSmallTables) are not reported; their consequences are. The part of the plan that a rule affects is
//! rendered before and after; if the text is the same, nothing changed. Without the flags, the cost is one pointer check before each rule.

use super::estimate::Expectations;
use super::shown::{ShownOperator, show, show_from};
use super::trees::{Names, drawn};
use crate::plan::{FromNode, Node};
use crate::state::{Rule, RulesOff, Trees};

/// Trace flag: rules are reported by their names.
const RULE_NAMES: u16 = 8619;
/// Trace flag: rules are reported with trees.
const RULE_TREES: u16 = 8621;

#[derive(Clone, Copy)]
pub(in crate::optimize) struct Rules<'t> {
    off: RulesOff,
    trees: Option<&'t Trees>,
}

/// What rules work on.
pub(in crate::optimize) trait Drawn {
    /// As it is at the moment.
    fn shown(&self) -> ShownOperator;
}

impl Drawn for FromNode {
    fn shown(&self) -> ShownOperator {
        show_from(self)
    }
}

impl Drawn for Node {
    fn shown(&self) -> ShownOperator {
        show(self, &Expectations::default())
    }
}

/// What something was before a rule, if anybody asks.
pub(in crate::optimize) struct Before(Option<String>);

impl<'t> Rules<'t> {
    /// Those that are not off. `trees` hears what they do.
    pub(super) fn new(off: RulesOff, trees: &'t Trees) -> Rules<'t> {
        Rules {
            off,
            trees: Some(trees).filter(|trees| trees.is_wanted()),
        }
    }

    /// Whether a rule may be used.
    pub(super) fn allow(self, rule: Rule) -> bool {
        self.off.allow(rule)
    }

    /// The listener that wants trees.
    pub(super) fn told(self) -> Option<&'t Trees> {
        self.trees
    }

    /// Has a rule that may be used work on something logical; none if it may not.
    pub(super) fn rewriting<S: Drawn, T>(
        self,
        rule: Rule,
        subject: &mut S,
        work: impl FnOnce(&mut S) -> T,
    ) -> Option<T> {
        self.allow(rule)
            .then(|| self.working(rule, Names::Logical, subject, work))
    }

    /// Has a rule that may be used work on operators; none if it may not.
    pub(super) fn choosing<T>(self, rule: Rule, subject: &mut Node, work: impl FnOnce(&mut Node) -> T) -> Option<T> {
        self.allow(rule).then(|| self.used(rule, subject, work))
    }

    /// Has a rule work on operators that may be used, or that a hint asks for.
    pub(super) fn used<T>(self, rule: Rule, subject: &mut Node, work: impl FnOnce(&mut Node) -> T) -> T {
        self.working(rule, Names::Physical, subject, work)
    }

    fn working<S: Drawn, T>(self, rule: Rule, names: Names, subject: &mut S, work: impl FnOnce(&mut S) -> T) -> T {
        match self.asking() {
            None => work(subject),
            Some(trees) => drawing(trees, rule, names, subject, work),
        }
    }

    /// What a rule is about to be used on, drawn if anybody asks.
    pub(super) fn before(self, logical: impl FnOnce() -> ShownOperator) -> Before {
        Before(self.asking().map(|trees| drawn(trees, &logical(), Names::Logical)))
    }

    /// Tells what a rule has made of what was drawn before; `rule` says which one, if it was one.
    pub(super) fn chosen(self, before: &Before, made: &Node, rule: impl FnOnce(&Node) -> Option<Rule>) {
        if before.0.is_some()
            && let Some(rule) = rule(made)
        {
            self.made(rule, before, made, Names::Physical);
        }
    }

    /// The same of a rule after which all is still logical.
    pub(super) fn rewritten(self, rule: Rule, before: &Before, made: &impl Drawn) {
        self.made(rule, before, made, Names::Logical);
    }

    fn made(self, rule: Rule, before: &Before, made: &impl Drawn, names: Names) {
        if let (Some(trees), Before(Some(before))) = (self.asking(), before) {
            tell(trees, rule, before, &drawn(trees, &made.shown(), names));
        }
    }

    /// The listener that wants rules, with or without trees.
    fn asking(self) -> Option<&'t Trees> {
        let is_asking = |trees: &&Trees| trees.draws(RULE_NAMES) || trees.draws(RULE_TREES);
        self.trees.filter(is_asking)
    }
}

/// Applies a rule, and reports if it changes something. Rules work at every depth of a statement: what drawing needs stands apart, so the
/// common path uses no extra stack.
#[cold]
#[inline(never)]
fn drawing<S: Drawn, T>(trees: &Trees, rule: Rule, names: Names, subject: &mut S, work: impl FnOnce(&mut S) -> T) -> T {
    let before = drawn(trees, &subject.shown(), names);
    let outcome = work(subject);
    let after = drawn(trees, &subject.shown(), names);
    if before != after {
        tell(trees, rule, &before, &after);
    }
    outcome
}

fn tell(trees: &Trees, rule: Rule, before: &str, after: &str) {
    let name = rule.name();
    trees.tell(match trees.draws(RULE_TREES) {
        true => {
            format!("Apply Rule: {name}\r\n*** Before: ***\r\n{before}*** After: ***\r\n{after}*******************")
        }
        false => format!("Apply Rule: {name}"),
    });
}
