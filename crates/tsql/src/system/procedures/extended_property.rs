//! `sp_addextendedproperty`, `sp_updateextendedproperty` and `sp_dropextendedproperty` (sql-docs).

use engine::catalog::{ExtendedProperty, PropertyOwner};
use engine::error::{Error, Result};
use engine::types::{SqlType, Value};

use super::super::{Host, SystemContext};
use super::{Parameter, SystemProcedure, in_transaction, text};
use crate::messages;
use crate::views::{PropertyLevel, levels, property_owners};

const VALUE_BYTES_MAX: usize = 7_500;

const WORD: SqlType = SqlType::VarChar(engine::types::Length::Limited(128));
const NAME: SqlType = SqlType::SYSNAME;

const LEVELS: [Parameter; 6] = [
    ("@level0type", WORD, false),
    ("@level0name", NAME, false),
    ("@level1type", WORD, false),
    ("@level1name", NAME, false),
    ("@level2type", WORD, false),
    ("@level2name", NAME, false),
];

const WITH_VALUE: &[Parameter] = &[
    ("@name", NAME, true),
    ("@value", SqlType::SqlVariant, false),
    LEVELS[0],
    LEVELS[1],
    LEVELS[2],
    LEVELS[3],
    LEVELS[4],
    LEVELS[5],
];

const WITHOUT_VALUE: &[Parameter] = &[
    ("@name", NAME, true),
    LEVELS[0],
    LEVELS[1],
    LEVELS[2],
    LEVELS[3],
    LEVELS[4],
    LEVELS[5],
];

pub(super) const PROCEDURES: &[SystemProcedure] = &[
    SystemProcedure {
        name: "sp_addextendedproperty",
        parameters: WITH_VALUE,
        run: add,
    },
    SystemProcedure {
        name: "sp_updateextendedproperty",
        parameters: WITH_VALUE,
        run: update,
    },
    SystemProcedure {
        name: "sp_dropextendedproperty",
        parameters: WITHOUT_VALUE,
        run: drop,
    },
];

/// What a call means: the property's name, its owner, and the owner's name as messages have it.
struct Meant<'a> {
    name: &'a str,
    owner: PropertyOwner,
    shown: String,
}

impl Meant<'_> {
    /// # Errors
    /// 15600 for levels that leave something out, 15135 for what is not there.
    fn of<'a>(
        context: &SystemContext<'_>,
        procedure: &str,
        arguments: &'a [Value],
        first_level: usize,
    ) -> Result<Meant<'a>> {
        let levels = levels(arguments, first_level);
        let invalid = || messages::invalid_procedure_option(procedure);
        let name = text(arguments, 0).filter(|name| !name.is_empty()).ok_or_else(invalid)?;
        // A level has a type and a name or neither, and none is left out before another.
        let is_whole = |(kind, name): &PropertyLevel<'_>| kind.is_some() == name.is_some();
        let is_gapless = levels.windows(2).all(|pair| pair[0].0.is_some() || pair[1].0.is_none());
        if !levels.iter().all(is_whole) || !is_gapless {
            return Err(invalid());
        }
        let names: Vec<&str> = levels.iter().filter_map(|(_, name)| *name).collect();
        let shown = match names.is_empty() {
            true => "object specified".to_owned(),
            false => names.join("."),
        };
        match property_owners(context, &levels).into_iter().next() {
            Some((owner, _)) => Ok(Meant { name, owner, shown }),
            None => Err(messages::extended_property_not_permitted(&shown)),
        }
    }

    fn absent(&self) -> Error {
        messages::no_extended_property(self.name, &self.shown)
    }
}

/// "The size of value can't be more than 7,500 bytes" (sql-docs, sp_addextendedproperty). Any other value is NULL.
fn require_small(value: &Value) -> Result<()> {
    match value {
        Value::Variant(variant) if variant.payload().len() > VALUE_BYTES_MAX => {
            Err(messages::extended_property_too_large())
        }
        _ => Ok(()),
    }
}

fn add(context: &SystemContext<'_>, _host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let meant = Meant::of(context, "sp_addextendedproperty", arguments, 2)?;
    require_small(&arguments[1])?;
    let property = ExtendedProperty {
        object_id: 0,
        owner: meant.owner,
        name: meant.name.to_owned(),
        value: arguments[1].clone(),
    };
    match in_transaction(context, |session| session.add_property(&context.database, property))? {
        true => Ok(0),
        false => Err(messages::extended_property_exists(meant.name, &meant.shown)),
    }
}

fn update(context: &SystemContext<'_>, _host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let meant = Meant::of(context, "sp_updateextendedproperty", arguments, 2)?;
    require_small(&arguments[1])?;
    change(context, &meant, |property| {
        Some(ExtendedProperty {
            value: arguments[1].clone(),
            ..property.clone()
        })
    })
}

fn drop(context: &SystemContext<'_>, _host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let meant = Meant::of(context, "sp_dropextendedproperty", arguments, 1)?;
    change(context, &meant, |_| None)
}

fn change(
    context: &SystemContext<'_>,
    meant: &Meant<'_>,
    change: impl FnOnce(&ExtendedProperty) -> Option<ExtendedProperty>,
) -> Result<i32> {
    let changed = in_transaction(context, |session| {
        session.change_property(&context.database, meant.owner, meant.name, change)
    })?;
    match changed {
        true => Ok(0),
        false => Err(meant.absent()),
    }
}
