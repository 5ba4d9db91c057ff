//! `sp_bindefault`, `sp_bindrule`, `sp_unbindefault`, `sp_unbindrule`: what columns and alias types have bound.
//!
//! sql-docs, "sp_bindefault": a one-part name is a type; a longer one is a table with a column, or else a type with its schema. Columns of a
//! type follow it unless something was bound to them directly, or `futureonly` is said.

use std::sync::Arc;

use engine::catalog::{
    BoundExpression, CatalogObject, ColumnDefinition, ObjectDefinition, StandaloneDefinition, StandaloneKind,
};
use engine::error::{Error, Result};
use engine::session::with_current_definitions;
use engine::types::{Length, SqlType, Value};

use super::super::{Host, SystemContext};
use super::{NAME, SystemProcedure, in_transaction, text};
use crate::ast::{DataType, Name};
use crate::messages;
use crate::scalar::data_type::{TypePlace, resolve};

/// `@futureonly`
const FLAG: SqlType = SqlType::VarChar(Length::Limited(15));

pub(super) const PROCEDURES: &[SystemProcedure] = &[
    SystemProcedure {
        name: "sp_bindefault",
        parameters: &[
            ("@defname", NAME, true),
            ("@objname", NAME, true),
            ("@futureonly", FLAG, false),
        ],
        run: |context, host, arguments| bind(context, host, arguments, StandaloneKind::Default),
    },
    SystemProcedure {
        name: "sp_bindrule",
        parameters: &[
            ("@rulename", NAME, true),
            ("@objname", NAME, true),
            ("@futureonly", FLAG, false),
        ],
        run: |context, host, arguments| bind(context, host, arguments, StandaloneKind::Rule),
    },
    SystemProcedure {
        name: "sp_unbindefault",
        parameters: &[("@objname", NAME, true), ("@futureonly", FLAG, false)],
        run: |context, host, arguments| unbind(context, host, arguments, StandaloneKind::Default),
    },
    SystemProcedure {
        name: "sp_unbindrule",
        parameters: &[("@objname", NAME, true), ("@futureonly", FLAG, false)],
        run: |context, host, arguments| unbind(context, host, arguments, StandaloneKind::Rule),
    },
];

/// What something is bound to.
enum BindTarget {
    /// A table and the place of a column.
    Column(Arc<CatalogObject>, usize),
    /// An alias type.
    Type(Arc<CatalogObject>),
}

/// A change of what is bound.
#[derive(Clone, Copy)]
struct Change<'c> {
    kind: StandaloneKind,
    /// What is bound from here on; `None` unbinds.
    bound: Option<&'c BoundExpression>,
    /// Columns of a type stay as they are.
    is_future_only: bool,
    /// `@objname`
    written: &'c str,
}

fn bind(context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value], kind: StandaloneKind) -> Result<i32> {
    let (Some(object_name), Some(written)) = (text(arguments, 0), text(arguments, 1)) else {
        return Ok(1);
    };
    let flag = text(arguments, 2);
    if flag.is_some_and(|flag| !flag.eq_ignore_ascii_case("futureonly")) {
        return Err(match kind {
            StandaloneKind::Default => messages::default_usage(),
            StandaloneKind::Rule => messages::rule_usage(),
        });
    }
    let told = with_current_definitions(|| {
        let (object, own) = standalone(context, object_name, kind)?;
        let bound = BoundExpression {
            object_id: own.object_id,
            expression: own.expression,
        };
        let change = Change {
            kind,
            bound: Some(&bound),
            is_future_only: flag.is_some(),
            written,
        };
        change_bindings(context, Some(&object), change)
    })?;
    tell(host, told)
}

fn unbind(context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value], kind: StandaloneKind) -> Result<i32> {
    let Some(written) = text(arguments, 0) else {
        return Ok(1);
    };
    let change = Change {
        kind,
        bound: None,
        is_future_only: text(arguments, 1).is_some_and(|flag| flag.eq_ignore_ascii_case("futureonly")),
        written,
    };
    let told = with_current_definitions(|| change_bindings(context, None, change))?;
    tell(host, told)
}

/// Sends what has become of the columns and types (sql-docs, "Database Engine events and errors": 15511 to 15524).
fn tell(host: &mut dyn Host, told: Vec<(i32, &'static str)>) -> Result<i32> {
    for (number, words) in told {
        host.message(&Error::new(number, 10, 1, words))?;
    }
    Ok(0)
}

/// The default or rule of that name.
///
/// # Errors
/// 15016, 15017.
fn standalone(
    context: &SystemContext<'_>,
    written: &str,
    kind: StandaloneKind,
) -> Result<(Arc<CatalogObject>, StandaloneDefinition)> {
    let found = Name::parse(written)
        .filter(|name| is_here(context, name))
        .and_then(|name| {
            let schema = name.schema().unwrap_or("dbo");
            context.database.catalog.find(schema, name.object(), context.session_id)
        });
    let own = found.and_then(|object| match &object.definition {
        ObjectDefinition::Standalone(own) if own.kind == kind => Some((object.clone(), own.clone())),
        _ => None,
    });
    own.ok_or_else(|| match kind {
        StandaloneKind::Default => messages::no_such_default(written),
        StandaloneKind::Rule => messages::no_such_rule(written),
    })
}

/// Whether a name says no other database than the current one.
fn is_here(context: &SystemContext<'_>, name: &Name) -> bool {
    let own = context.database.name();
    name.database()
        .is_none_or(|database| database.is_empty() || database.eq_ignore_ascii_case(&own))
}

/// What a name means: `type`, `schema.type`, `table.column`, `schema.table.column`.
///
/// # Errors
/// 4185, 15148.
fn target(context: &SystemContext<'_>, written: &str) -> Result<BindTarget> {
    let missing = || messages::nothing_to_bind_to(written);
    let name = Name::parse(written).ok_or_else(missing)?;
    let catalog = &context.database.catalog;
    let parts: Vec<&str> = name.parts.iter().map(|part| part.text.as_str()).collect();
    if let [schema @ .., table, column] = parts.as_slice() {
        let schema = schema
            .last()
            .copied()
            .filter(|schema| !schema.is_empty())
            .unwrap_or("dbo");
        let found = catalog.find(schema, table, context.session_id);
        if let Some(object) = found.filter(|_| parts.len() <= 3)
            && let ObjectDefinition::Table(definition) = &object.definition
            && let Some(place) = definition.column(column)
        {
            return Ok(BindTarget::Column(object, place));
        }
    }
    let own_type = catalog.user_type(name.schema().unwrap_or("dbo"), name.object(), context.session_id);
    let alias = own_type.filter(|own| parts.len() <= 2 && matches!(own.definition, ObjectDefinition::AliasType(_)));
    if let Some(alias) = alias {
        return Ok(BindTarget::Type(alias));
    }
    let declared = DataType {
        name: name.clone(),
        arguments: Vec::new(),
    };
    match resolve(&declared, TypePlace::Declaration, 1, context.instance.options.version) {
        Ok(_) if parts.len() == 1 => Err(messages::action_on_system_type()),
        _ => Err(missing()),
    }
}

/// Changes what is bound, in the session's transaction or in one of its own; answers what to tell. `object` is what is bound: locked, it
/// cannot be dropped in the meantime.
fn change_bindings(
    context: &SystemContext<'_>,
    object: Option<&Arc<CatalogObject>>,
    change: Change<'_>,
) -> Result<Vec<(i32, &'static str)>> {
    in_transaction(context, |session| {
        if let Some(object) = object {
            session.lock_definition(&context.database, object)?;
        }
        match target(context, change.written)? {
            BindTarget::Column(table, place) => {
                session.lock_definition(&context.database, &table)?;
                let changed = changed_column(&table, place, change)?;
                session.replace_object(&context.database, &table, changed)?;
                Ok(vec![of_column(change)])
            }
            BindTarget::Type(own_type) => {
                session.lock_definition(&context.database, &own_type)?;
                let changes = changes_of_type(context, &own_type, change)?;
                for (object, _) in &changes {
                    session.lock_definition(&context.database, object)?;
                }
                for (object, definition) in changes {
                    session.replace_object(&context.database, &object, definition)?;
                }
                Ok(of_type(change))
            }
        }
    })
}

/// A table with a column that has something else bound.
///
/// # Errors
/// 15049, 15101 to 15103, 15107, 15236, 15238.
fn changed_column(table: &CatalogObject, place: usize, change: Change<'_>) -> Result<ObjectDefinition> {
    let mut definition = table.definition.clone();
    let column = match &mut definition {
        ObjectDefinition::Table(table) => table.columns.get_mut(place),
        _ => None,
    };
    let column = column.ok_or_else(|| Error::assertion("a column that was found"))?;
    match (change.bound, change.kind) {
        (Some(_), StandaloneKind::Default) if !column.has_type_to_bind(change.kind) => {
            return Err(messages::default_of_kind());
        }
        (Some(_), StandaloneKind::Default) if column.identity.is_some() => {
            return Err(messages::default_bound_to_identity());
        }
        (Some(_), StandaloneKind::Default) if column.default.is_some() => {
            return Err(messages::default_bound_to_constraint());
        }
        (Some(_), StandaloneKind::Rule) if !column.has_type_to_bind(change.kind) => {
            return Err(messages::rule_of_kind());
        }
        (None, StandaloneKind::Default) if column.default.is_some() => {
            return Err(messages::unbound_constraint(change.written));
        }
        (None, kind) if column.bound.of(kind).is_none() => {
            return Err(match kind {
                StandaloneKind::Default => messages::column_without_default(change.written),
                StandaloneKind::Rule => messages::column_without_rule(change.written),
            });
        }
        _ => {}
    }
    column.bound.set(change.kind, change.bound.cloned());
    Ok(definition)
}

/// An alias type that has something else bound, and the tables whose columns follow it.
///
/// # Errors
/// 15237, 15239.
fn changes_of_type(
    context: &SystemContext<'_>,
    own_type: &Arc<CatalogObject>,
    change: Change<'_>,
) -> Result<Vec<(Arc<CatalogObject>, ObjectDefinition)>> {
    let ObjectDefinition::AliasType(alias) = &own_type.definition else {
        return Err(Error::assertion("an alias type that was found"));
    };
    if change.bound.is_none() && alias.bound.of(change.kind).is_none() {
        return Err(match change.kind {
            StandaloneKind::Default => messages::type_without_default(change.written),
            StandaloneKind::Rule => messages::type_without_rule(change.written),
        });
    }
    let mut changed = alias.clone();
    changed.bound.set(change.kind, change.bound.cloned());
    let mut changes = vec![(own_type.clone(), ObjectDefinition::AliasType(changed))];
    if change.is_future_only {
        return Ok(changes);
    }
    let former = alias.bound.of(change.kind).map(|bound| bound.object_id);
    let follows = |column: &ColumnDefinition| {
        column.alias_type == Some(alias.user_type_id)
            && column.bound.of(change.kind).map(|bound| bound.object_id) == former
            && column.takes(change.kind)
    };
    for object in context.database.catalog.objects(context.session_id) {
        let ObjectDefinition::Table(table) = &object.definition else {
            continue;
        };
        if !table.columns.iter().any(follows) {
            continue;
        }
        let mut table = table.clone();
        for column in table.columns.iter_mut().filter(|column| follows(column)) {
            column.bound.set(change.kind, change.bound.cloned());
        }
        changes.push((object, ObjectDefinition::Table(table)));
    }
    Ok(changes)
}

fn of_column(change: Change<'_>) -> (i32, &'static str) {
    match (change.kind, change.bound) {
        (StandaloneKind::Default, Some(_)) => (15511, "Default bound to column."),
        (StandaloneKind::Rule, Some(_)) => (15514, "Rule bound to table column."),
        (StandaloneKind::Default, None) => (15519, "Default unbound from table column."),
        (StandaloneKind::Rule, None) => (15522, "Rule unbound from table column."),
    }
}

fn of_type(change: Change<'_>) -> Vec<(i32, &'static str)> {
    let told = match (change.kind, change.bound) {
        (StandaloneKind::Default, Some(_)) => [
            (15512, "Default bound to data type."),
            (
                15513,
                "The new default has been bound to columns(s) of the specified user data type.",
            ),
        ],
        (StandaloneKind::Rule, Some(_)) => [
            (15515, "Rule bound to data type."),
            (
                15516,
                "The new rule has been bound to column(s) of the specified user data type.",
            ),
        ],
        (StandaloneKind::Default, None) => [
            (15520, "Default unbound from data type."),
            (
                15521,
                "Columns of the specified user data type had their defaults unbound.",
            ),
        ],
        (StandaloneKind::Rule, None) => [
            (15523, "Rule unbound from data type."),
            (
                15524,
                "Columns of the specified user data type had their rules unbound.",
            ),
        ],
    };
    told.into_iter()
        .take(if change.is_future_only { 1 } else { 2 })
        .collect()
}
