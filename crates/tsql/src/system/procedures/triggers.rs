//! `sp_helptrigger` and `sp_settriggerorder` (sql-docs, the pages of the procedures).

use std::sync::Arc;

use engine::catalog::{CatalogObject, ModuleKind, ObjectDefinition, TriggerAction, TriggerOrder};
use engine::error::{Error, Result};
use engine::session::with_current_definitions;
use engine::types::{Length, SqlType, Value};

use super::super::{Host, SystemContext, Table};
use super::help::find;
use super::space::no_object;
use super::{NAME, SystemProcedure, in_transaction, text};
use crate::grammar::EventType;

pub(super) const PROCEDURES: &[SystemProcedure] = &[
    SystemProcedure {
        name: "sp_helptrigger",
        parameters: &[("@tabname", NAME, true), ("@triggertype", SqlType::Char(6), false)],
        run: help_trigger,
    },
    SystemProcedure {
        name: "sp_settriggerorder",
        parameters: &[
            ("@triggername", NAME, true),
            ("@order", SqlType::VarChar(Length::Limited(10)), true),
            ("@stmttype", SqlType::VarChar(Length::Limited(50)), true),
            ("@namespace", SqlType::VarChar(Length::Limited(10)), false),
        ],
        run: set_trigger_order,
    },
];

/// An action by its name.
fn action_of(word: &str) -> Option<TriggerAction> {
    TriggerAction::ALL
        .into_iter()
        .find(|action| action.shown().1.eq_ignore_ascii_case(word.trim()))
}

/// The triggers of a table or view, all of them or those for one action.
fn help_trigger(context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let written = text(arguments, 0).unwrap_or_default();
    let parent = find(context, written)?;
    if !matches!(crate::views::type_code(&parent.definition), "U" | "V") {
        return Err(no_object(context, written));
    }
    let wanted = match text(arguments, 1) {
        None => None,
        Some(word) => Some(action_of(word).ok_or_else(|| {
            let text = "The @TriggerType parameter value must be 'insert', 'update', or 'delete'.";
            Error::new(15305, 16, 1, text)
        })?),
    };
    let mut answer = Table::new(&[
        ("trigger_name", SqlType::SYSNAME),
        ("trigger_owner", SqlType::SYSNAME),
        ("isupdate", SqlType::Int),
        ("isdelete", SqlType::Int),
        ("isinsert", SqlType::Int),
        ("isafter", SqlType::Int),
        ("isinsteadof", SqlType::Int),
        ("trigger_schema", SqlType::SYSNAME),
    ]);
    for entry in parent.definition.triggers() {
        if wanted.is_some_and(|wanted| entry.order_of(wanted).is_none()) {
            continue;
        }
        let module = context.database.catalog.by_id(entry.object_id, context.session_id);
        let name = module.as_ref().and_then(|module| module.definition.qualified_name());
        let (schema, name) = name.unwrap_or_default();
        let fires = |action| Value::Int(entry.order_of(action).is_some().into());
        answer.push(vec![
            name.into(),
            "dbo".into(),
            fires(TriggerAction::Update),
            fires(TriggerAction::Delete),
            fires(TriggerAction::Insert),
            Value::Int((!entry.is_instead_of).into()),
            Value::Int(entry.is_instead_of.into()),
            schema.into(),
        ]);
    }
    answer.send(host).map(|()| 0)
}

/// Makes a trigger the first or last of its table to fire for an action, or neither.
fn set_trigger_order(context: &SystemContext<'_>, _host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let written = text(arguments, 0).unwrap_or_default();
    let word = text(arguments, 1).unwrap_or_default();
    let order = match word.to_ascii_lowercase().as_str() {
        "first" => TriggerOrder::First,
        "last" => TriggerOrder::Last,
        "none" => TriggerOrder::None,
        _ => return Err(invalid("@order")),
    };
    let statement = text(arguments, 2).unwrap_or_default();
    match text(arguments, 3).unwrap_or_default().to_ascii_lowercase().as_str() {
        "" => {}
        "database" => {
            let event = EventType::named(statement.trim()).filter(|event| !event.is_group());
            let event = event.ok_or_else(|| invalid("@stmttype"))?;
            let order = (order, word);
            with_current_definitions(|| order_database_trigger(context, written, order, event))?;
            return Ok(0);
        }
        // No trigger of the server is there.
        "server" => return Err(no_object(context, written)),
        _ => return Err(invalid("@namespace")),
    }
    let action = action_of(statement).ok_or_else(|| invalid("@stmttype"))?;
    with_current_definitions(|| {
        let (trigger, parent) = trigger_with_parent(context, written)?;
        in_transaction(context, |session| {
            session.lock_definition(&context.database, &parent)?;
            let changed = ordered(
                &parent,
                (trigger.definition.object_id(), written),
                (order, word),
                action,
            )?;
            session.replace_object(&context.database, &parent, changed).map(|_| ())
        })
    })?;
    Ok(0)
}

/// Makes a trigger of the database the first or last of an event, or neither.
///
/// # Errors
/// 15009 when it is not there, 15130 when another trigger has the place, 15125 when it does not fire for the event.
fn order_database_trigger(
    context: &SystemContext<'_>,
    written: &str,
    (order, word): (TriggerOrder, &str),
    event: &EventType,
) -> Result<()> {
    let name = crate::ast::Name::parse(written).ok_or_else(|| no_object(context, written))?;
    let catalog = &context.database.catalog;
    let trigger = catalog.find("", name.object(), context.session_id);
    let trigger = trigger.ok_or_else(|| no_object(context, written))?;
    let mut definition = trigger.definition.clone();
    let ObjectDefinition::Module(module) = &mut definition else {
        return Err(no_object(context, written));
    };
    let Some(own) = &mut module.definition_trigger else {
        return Err(no_object(context, written));
    };
    let id = module.object_id;
    let is_taken = |other: &Arc<CatalogObject>| {
        let other_order = other
            .definition
            .definition_trigger()
            .map(|other| other.order_of(event.number));
        other.definition.object_id() != id && order != TriggerOrder::None && other_order == Some(order)
    };
    if context
        .database
        .database_triggers(context.session_id)
        .iter()
        .any(is_taken)
    {
        return Err(order_is_taken(word, event.name));
    }
    if !own.fires_for.iter().any(|named| event.is_within(*named)) {
        return Err(not_fired_by(written, event.name));
    }
    own.set_order(event.number, order);
    in_transaction(context, |session| {
        session
            .replace_object(&context.database, &trigger, definition)
            .map(|_| ())
    })
}

fn order_is_taken(word: &str, event: &str) -> Error {
    let text = format!("There already exists a '{word}' trigger for '{event}'.");
    Error::new(15130, 16, 1, text)
}

fn not_fired_by(trigger: &str, event: &str) -> Error {
    let text = format!("Trigger '{trigger}' is not a trigger for '{event}'.");
    Error::new(15125, 16, 1, text)
}

/// 15600, for a value that a parameter does not take.
fn invalid(parameter: &str) -> Error {
    let text = format!("An invalid parameter or option was specified for procedure 'sp_settriggerorder': {parameter}.");
    Error::new(15600, 15, 1, text)
}

fn trigger_with_parent(context: &SystemContext<'_>, written: &str) -> Result<(Arc<CatalogObject>, Arc<CatalogObject>)> {
    let trigger = find(context, written)?;
    let parent = match &trigger.definition {
        ObjectDefinition::Module(module) if module.kind == ModuleKind::Trigger => module.parent,
        _ => return Err(no_object(context, written)),
    };
    let parent = context.database.catalog.by_id(parent, context.session_id);
    let parent = parent.ok_or_else(|| no_object(context, written))?;
    Ok((trigger, parent))
}

/// A definition with another order of its triggers.
///
/// # Errors
/// 15130 when another trigger has the place, 15133 for an INSTEAD OF trigger, 15125 for one that does not fire for the action.
fn ordered(
    parent: &CatalogObject,
    (id, name): (u32, &str),
    (order, word): (TriggerOrder, &str),
    action: TriggerAction,
) -> Result<ObjectDefinition> {
    let mut triggers = parent.definition.triggers().to_vec();
    let is_taken = |entry: &engine::catalog::TriggerEntry| {
        entry.object_id != id && order != TriggerOrder::None && entry.order_of(action) == Some(order)
    };
    if triggers.iter().any(is_taken) {
        return Err(order_is_taken(word, action.shown().1));
    }
    for entry in triggers.iter_mut().filter(|entry| entry.object_id == id) {
        if entry.is_instead_of {
            let text = format!("INSTEAD OF trigger '{name}' cannot be associated with an order.");
            return Err(Error::new(15133, 16, 1, text));
        }
        let event = entry.events.iter_mut().find(|event| event.action == action);
        let Some(event) = event else {
            return Err(not_fired_by(name, action.shown().1));
        };
        event.order = order;
    }
    Ok(parent.definition.with_triggers(triggers))
}
