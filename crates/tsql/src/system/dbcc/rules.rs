//! DBCC RULEON, RULEOFF, SHOWONRULES and SHOWOFFRULES: the optimizer rules of this session.
//!
//! SQL Server has these four for its own rules and documents none of them (Benjamin Nevarez, "Disabling Optimizer Rules in SQL Server").
//! Names are those of [`Rule`].

use engine::error::Result;
use engine::types::SqlType;

use super::super::{Host, Table};
use super::Command;
use crate::state::Rule;

/// `DBCC RULEON (name, ...)` and `DBCC RULEOFF (name, ...)`: all of them, or none if one name is unknown.
pub(super) fn switch(command: &Command<'_>, host: &mut dyn Host, on: bool) -> Result<()> {
    if command.arguments.is_empty() {
        return Err(crate::messages::dbcc_argument_count());
    }
    let mut rules = Vec::with_capacity(command.arguments.len());
    for place in 0..command.arguments.len() {
        let rule = command.text(place).and_then(|name| Rule::by_name(&name));
        rules.push(rule.ok_or_else(|| super::incorrect_parameter(place))?);
    }
    host.switch_rules(&rules, on);
    Ok(())
}

/// `DBCC SHOWONRULES` and `DBCC SHOWOFFRULES`.
pub(super) fn show(host: &mut dyn Host, on: bool) -> Result<()> {
    let mut table = Table::new(&[("Rule", SqlType::SYSNAME)]);
    let off = host.rules_off();
    for rule in Rule::ALL.iter().filter(|rule| off.allow(**rule) == on) {
        table.push(vec![rule.name().into()]);
    }
    table.send(host)
}
