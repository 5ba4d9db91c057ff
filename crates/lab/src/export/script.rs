//! Definitions as T-SQL, as Management Studio scripts them, in an order that runs: each statement after what it needs.
//!
//! Before the data: schemas, alias types, sequences, synonyms, functions used by computed columns, tables with their keys, table types.
//! After the data: indexes, statistics, defaults, checks, foreign keys, views with their indexes and functions by dependency, procedures, triggers,
//! extended properties, the current values of identities and sequences, and last the triggers of the database, which might refuse any of that. So
//! data are loaded into tables without checks, and then checked once.

use super::catalog::{
    Catalog, Column, Constraint, ForeignKey, Index, Module, Property, Sequence, Statistics, Table, TriggerOrder,
};
use super::words::{literal, qualified, quoted, words_of};
use std::collections::BTreeSet;

/// A batch of the script.
#[derive(Debug, Clone)]
pub struct Statement {
    /// What it makes: `table [dbo].[orders]`. No two statements have the same.
    pub name: String,
    /// The table or module that it belongs to, `[schema].[name]`; where that is left out, so is this.
    pub owner: String,
    pub text: String,
    /// ANSI_NULLS and QUOTED_IDENTIFIER while it runs.
    pub settings: (bool, bool),
    /// A condition of T-SQL: it has been run. Empty for one that may run twice.
    pub exists: String,
    /// It says where counting goes on, so a later script may say something else.
    pub is_of_a_moment: bool,
}

/// A database's script.
#[derive(Debug, Default)]
pub struct Script {
    pub before_data: Vec<Statement>,
    pub after_data: Vec<Statement>,
}

impl Statement {
    fn new(kind: &str, name: &str, text: String, exists: String) -> Statement {
        Statement {
            name: format!("{kind} {name}"),
            owner: name.to_owned(),
            text,
            settings: (true, true),
            exists,
            is_of_a_moment: false,
        }
    }

    /// Of an object with an identifier of its own.
    fn object(kind: &str, name: &str, text: String) -> Statement {
        Statement::new(kind, name, text, is_object(name))
    }

    fn of(mut self, owner: &str) -> Statement {
        owner.clone_into(&mut self.owner);
        self
    }

    fn of_a_moment(mut self) -> Statement {
        self.is_of_a_moment = true;
        self
    }
}

fn is_object(name: &str) -> String {
    format!("OBJECT_ID({}) IS NOT NULL", literal(name))
}

impl Script {
    /// Of everything that is exported.
    pub fn of(catalog: &Catalog) -> Script {
        let (early, late): (Vec<&Module>, Vec<&Module>) = in_order(&catalog.modules)
            .into_iter()
            .partition(|module| module.kind == "FN" && is_computed_by(catalog, module));
        let mut before = definitions(catalog);
        before.extend(early.into_iter().map(module));
        for table in &catalog.tables {
            before.push(match table.is_type {
                true => table_type(catalog, table),
                false => create_table(table),
            });
        }
        let mut after = Vec::new();
        for table in catalog.tables.iter().filter(|table| !table.is_type) {
            after.extend(
                table
                    .indexes
                    .iter()
                    .filter_map(|index| create_index(&table.name, index)),
            );
        }
        after.extend(catalog.statistics.iter().map(create_statistics));
        for (table, default) in with_tables(catalog, &catalog.defaults) {
            after.push(add_default(table, default));
        }
        for (table, check) in with_tables(catalog, &catalog.checks) {
            let body = format!("CHECK {}", check.definition);
            after.extend(add_checked("check", table, check, &body));
        }
        for key in &catalog.foreign_keys {
            if let Some(table) = table_of(catalog, &key.of) {
                after.extend(add_checked("foreign key", table, &key.of, &references(key)));
            }
        }
        for found in late {
            after.push(module(found));
            after.extend(indexes_of_view(found));
            after.extend(disabled_trigger(found));
        }
        let orders = catalog.trigger_orders.iter();
        after.extend(orders.filter(|order| !order.is_of_database).map(trigger_order));
        after.extend(catalog.properties.iter().map(property));
        after.extend(
            catalog
                .tables
                .iter()
                .filter(|table| !table.is_type)
                .filter_map(go_on_identity),
        );
        after.extend(catalog.sequences.iter().filter_map(go_on_sequence));
        after.extend(database_triggers(catalog));
        Script {
            before_data: before,
            after_data: after,
        }
    }
}

/// What tables need: schemas, types, sequences, synonyms.
fn definitions(catalog: &Catalog) -> Vec<Statement> {
    let mut found = Vec::new();
    for schema in &catalog.schemas {
        let exists = format!("SCHEMA_ID({}) IS NOT NULL", literal(schema));
        let name = quoted(schema);
        found.push(Statement::new("schema", &name, format!("CREATE SCHEMA {name}"), exists));
    }
    for alias in &catalog.alias_types {
        let null = if alias.is_nullable { "NULL" } else { "NOT NULL" };
        let text = format!("CREATE TYPE {} FROM {} {null}", alias.name, alias.base);
        found.push(Statement::new("type", &alias.name, text, is_type(&alias.name)));
    }
    found.extend(catalog.sequences.iter().map(create_sequence));
    for synonym in &catalog.synonyms {
        let text = format!("CREATE SYNONYM {} FOR {}", synonym.name, synonym.target);
        found.push(Statement::object("synonym", &synonym.name, text));
    }
    found
}

fn is_type(name: &str) -> String {
    format!("TYPE_ID({}) IS NOT NULL", literal(name))
}

fn create_sequence(sequence: &Sequence) -> Statement {
    let cycle = if sequence.is_cycling { "CYCLE" } else { "NO CYCLE" };
    let cache = match sequence.cache.as_deref() {
        None => "NO CACHE".to_owned(),
        Some("") => "CACHE".to_owned(),
        Some(size) => format!("CACHE {size}"),
    };
    let text = format!(
        "CREATE SEQUENCE {}\n AS {}\n START WITH {}\n INCREMENT BY {}\n MINVALUE {}\n MAXVALUE {}\n {cycle}\n {cache}",
        sequence.name, sequence.type_name, sequence.start, sequence.increment, sequence.minimum, sequence.maximum
    );
    // RESTART changes where a sequence started.
    Statement::object("sequence", &sequence.name, text).of_a_moment()
}

/// One that has given a value goes on after it.
fn go_on_sequence(sequence: &Sequence) -> Option<Statement> {
    let (current, increment): (i128, i128) = (sequence.current.parse().ok()?, sequence.increment.parse().ok()?);
    let (minimum, maximum): (i128, i128) = (sequence.minimum.parse().ok()?, sequence.maximum.parse().ok()?);
    if !sequence.is_used {
        return None;
    }
    let next = match current.checked_add(increment)? {
        next if (minimum..=maximum).contains(&next) => next,
        _ if sequence.is_cycling && increment > 0 => minimum,
        _ if sequence.is_cycling => maximum,
        _ => return None,
    };
    let text = format!("ALTER SEQUENCE {} RESTART WITH {next}", sequence.name);
    let statement = Statement::new("where goes on", &sequence.name, text, String::new());
    Some(statement.of_a_moment())
}

/// Where nothing was ever inserted, the value of RESEED is the next one itself (DBCC CHECKIDENT).
fn go_on_identity(table: &Table) -> Option<Statement> {
    let identity = table.columns.iter().find_map(|column| column.identity.as_ref())?;
    let last: i128 = identity.last.as_ref()?.parse().ok()?;
    let next = last.checked_add(identity.increment.parse().ok()?)?;
    let (name, named) = (&table.name, literal(&table.name));
    let text = format!(
        "IF EXISTS (SELECT * FROM {name}) DBCC CHECKIDENT ({named}, RESEED, {last}) WITH NO_INFOMSGS\nELSE DBCC CHECKIDENT ({named}, RESEED, {next}) WITH NO_INFOMSGS"
    );
    Some(Statement::new("where goes on", name, text, String::new()).of_a_moment())
}

fn column_text(column: &Column) -> String {
    let name = quoted(&column.name);
    if let Some((definition, is_persisted)) = &column.computed {
        let persisted = match (is_persisted, column.is_nullable) {
            (true, false) => " PERSISTED NOT NULL",
            (true, true) => " PERSISTED",
            (false, _) => "",
        };
        return format!("{name} AS {definition}{persisted}");
    }
    let mut text = format!("{name} {}", column.declared);
    // An alias type brings its own.
    if let Some(collation) = column
        .collation
        .as_ref()
        .filter(|_| column.declared == column.type_text)
    {
        text += &format!(" COLLATE {collation}");
    }
    if let Some(identity) = &column.identity {
        text += &format!(" IDENTITY({},{})", identity.seed, identity.increment);
    }
    if column.is_row_guid {
        text += " ROWGUIDCOL";
    }
    text + if column.is_nullable { " NULL" } else { " NOT NULL" }
}

fn with_options(index: &Index) -> String {
    match index.options.is_empty() {
        true => String::new(),
        false => format!(" WITH ({})", index.options.join(", ")),
    }
}

fn key_text(index: &Index) -> String {
    let kind = if index.is_primary_key { "PRIMARY KEY" } else { "UNIQUE" };
    let clustered = if index.is_clustered {
        "CLUSTERED"
    } else {
        "NONCLUSTERED"
    };
    format!("{kind} {clustered} ({}){}", index.keys.join(", "), with_options(index))
}

/// An index from its kind on; `named` stands between that and the keys.
fn index_text(index: &Index, named: &str) -> String {
    let unique = if index.is_unique { "UNIQUE " } else { "" };
    let clustered = if index.is_clustered {
        "CLUSTERED"
    } else {
        "NONCLUSTERED"
    };
    let mut text = format!("{unique}{clustered} {named}({})", index.keys.join(", "));
    if !index.included.is_empty() {
        text += &format!(" INCLUDE ({})", index.included.join(", "));
    }
    if let Some(filter) = &index.filter {
        text += &format!(" WHERE {filter}");
    }
    text + &with_options(index)
}

fn create_table(table: &Table) -> Statement {
    let mut parts: Vec<String> = table.columns.iter().map(column_text).collect();
    for index in table.indexes.iter().filter(|index| index.is_constraint) {
        parts.push(format!("CONSTRAINT {} {}", quoted(&index.name), key_text(index)));
    }
    let text = format!("CREATE TABLE {} (\n {}\n)", table.name, parts.join(",\n "));
    Statement::object("table", &table.name, text)
}

/// The constraints of a table type have no names.
fn table_type(catalog: &Catalog, table: &Table) -> Statement {
    let default_of = |column: &Column| {
        let is_its = |default: &&Constraint| default.table_id == table.object_id && default.column == column.name;
        let default = catalog.defaults.iter().find(is_its);
        default.map_or_else(String::new, |default| format!(" DEFAULT {}", default.definition))
    };
    let mut parts: Vec<String> = table
        .columns
        .iter()
        .map(|column| column_text(column) + &default_of(column))
        .collect();
    parts.extend(table.indexes.iter().map(|index| match index.is_constraint {
        true => key_text(index),
        false => format!("INDEX {} {}", quoted(&index.name), index_text(index, "")),
    }));
    let checks = catalog.checks.iter().filter(|check| check.table_id == table.object_id);
    parts.extend(checks.map(|check| format!("CHECK {}", check.definition)));
    let text = format!("CREATE TYPE {} AS TABLE (\n {}\n)", table.name, parts.join(",\n "));
    Statement::new("type", &table.name, text, is_type(&table.name))
}

fn create_index(owner: &str, index: &Index) -> Option<Statement> {
    let (named, name) = (literal(owner), quoted(&index.name));
    let full_name = format!("{owner}.{name}");
    if index.is_constraint {
        // Made with its table; all that is left is to disable it.
        let text = format!("ALTER INDEX {name} ON {owner} DISABLE");
        let statement = Statement::new("disabled key", &full_name, text, String::new()).of(owner);
        return index.is_disabled.then_some(statement);
    }
    let mut text = format!("CREATE {}", index_text(index, &format!("INDEX {name} ON {owner} ")));
    if index.is_disabled {
        text += &format!("\nALTER INDEX {name} ON {owner} DISABLE");
    }
    let exists = format!(
        "EXISTS (SELECT * FROM sys.indexes WHERE object_id = OBJECT_ID({named}) AND name = {})",
        literal(&index.name)
    );
    Some(Statement::new("index", &full_name, text, exists).of(owner))
}

/// The indexes of a view, the clustered one first. Where that is switched off, so are all others: it is switched off behind them.
fn indexes_of_view(view: &Module) -> Vec<Statement> {
    let is_off = view.indexes.iter().any(|index| index.is_clustered && index.is_disabled);
    let made = view.indexes.iter().filter_map(|index| match is_off {
        true => create_index(
            &view.name,
            &Index {
                is_disabled: false,
                ..index.clone()
            },
        ),
        false => create_index(&view.name, index),
    });
    let mut statements: Vec<Statement> = made.collect();
    if let Some(clustered) = view
        .indexes
        .iter()
        .find(|index| index.is_clustered && index.is_disabled)
    {
        let name = quoted(&clustered.name);
        let text = format!("ALTER INDEX {name} ON {} DISABLE", view.name);
        let full_name = format!("{}.{name}", view.name);
        statements.push(Statement::new("disabled index", &full_name, text, String::new()).of(&view.name));
    }
    statements
}

fn table_of<'a>(catalog: &'a Catalog, constraint: &Constraint) -> Option<&'a Table> {
    let mut tables = catalog.tables.iter().filter(|table| !table.is_type);
    tables.find(|table| table.object_id == constraint.table_id)
}

fn with_tables<'a>(
    catalog: &'a Catalog,
    constraints: &'a [Constraint],
) -> impl Iterator<Item = (&'a Table, &'a Constraint)> {
    constraints
        .iter()
        .filter_map(|constraint| Some((table_of(catalog, constraint)?, constraint)))
}

fn add_default(table: &Table, default: &Constraint) -> Statement {
    let text = format!(
        "ALTER TABLE {} ADD CONSTRAINT {} DEFAULT {} FOR {}",
        table.name,
        default.name,
        default.definition,
        quoted(&default.column)
    );
    Statement::object("default", &default.qualified, text).of(&table.name)
}

/// A CHECK or foreign key: one that was not trusted is not checked here either. Msg 547 would end the export of rows that the source has.
fn add_checked(kind: &str, table: &Table, constraint: &Constraint, body: &str) -> Vec<Statement> {
    let (table_name, name) = (&table.name, &constraint.name);
    let with = if constraint.is_trusted { "CHECK" } else { "NOCHECK" };
    let text = format!("ALTER TABLE {table_name} WITH {with} ADD CONSTRAINT {name} {body}");
    let mut statements = vec![Statement::object(kind, &constraint.qualified, text).of(table_name)];
    if constraint.is_disabled {
        let text = format!("ALTER TABLE {table_name} NOCHECK CONSTRAINT {name}");
        let off = Statement::new("disabled constraint", &constraint.qualified, text, String::new());
        statements.push(off.of(table_name));
    }
    statements
}

fn references(key: &ForeignKey) -> String {
    let list = |names: Vec<String>| names.join(", ");
    let from = list(key.columns.iter().map(|(column, _)| quoted(column)).collect());
    let to = list(key.columns.iter().map(|(_, column)| quoted(column)).collect());
    let mut text = format!("FOREIGN KEY ({from}) REFERENCES {} ({to})", key.referenced_table);
    for (event, action) in [("DELETE", &key.on_delete), ("UPDATE", &key.on_update)] {
        if action != "NO ACTION" {
            text += &format!(" ON {event} {action}");
        }
    }
    if key.is_not_for_replication {
        text += " NOT FOR REPLICATION";
    }
    text
}

/// Views and functions, each after those whose names stand in its text; then procedures, then triggers. Names of modules that name each
/// other stay in the order they were made in.
fn in_order(modules: &[Module]) -> Vec<&Module> {
    let texts: Vec<BTreeSet<String>> = modules.iter().map(|module| words_of(&module.definition)).collect();
    let mut placed = vec![false; modules.len()];
    let mut order = Vec::new();
    fn place<'a>(
        index: usize,
        modules: &'a [Module],
        texts: &[BTreeSet<String>],
        placed: &mut [bool],
        order: &mut Vec<&'a Module>,
    ) {
        // Explicit: a chain of views may be longer than a stack is deep.
        let mut open = vec![(index, 0)];
        while let Some((current, next)) = open.pop() {
            if next == 0 && std::mem::replace(&mut placed[current], true) {
                continue;
            }
            let needed = (next..modules.len()).find(|other| {
                !placed[*other]
                    && is_view_or_function(&modules[*other])
                    && texts[current].contains(&modules[*other].plain_name.to_lowercase())
            });
            match needed {
                Some(other) => {
                    open.push((current, other + 1));
                    open.push((other, 0));
                }
                None => order.push(&modules[current]),
            }
        }
    }
    let rank = |module: &Module| match module.kind.as_str() {
        "P" => 1,
        "TR" => 2,
        _ => 0,
    };
    for wanted in 0..=2 {
        for (index, module) in modules.iter().enumerate() {
            if rank(module) == wanted && !placed[index] {
                place(index, modules, &texts, &mut placed, &mut order);
            }
        }
    }
    order
}

fn is_view_or_function(module: &Module) -> bool {
    !matches!(module.kind.as_str(), "P" | "TR")
}

/// Whether a column of a table, or a check or default of a table type, calls it.
fn is_computed_by(catalog: &Catalog, module: &Module) -> bool {
    let name = module.plain_name.to_lowercase();
    let mut columns = catalog.tables.iter().flat_map(|table| &table.columns);
    columns.any(|column| {
        let computed = column.computed.as_ref();
        computed.is_some_and(|(definition, _)| words_of(definition).contains(&name))
    })
}

fn module(module: &Module) -> Statement {
    let kind = match module.kind.as_str() {
        "V" => "view",
        "P" => "procedure",
        "TR" => "trigger",
        _ => "function",
    };
    Statement {
        settings: (module.ansi_nulls, module.quoted_identifiers),
        ..Statement::object(kind, &module.name, module.definition.clone())
    }
}

fn disabled_trigger(module: &Module) -> Option<Statement> {
    let parent = module.parent.as_ref().filter(|_| module.is_disabled)?;
    let text = format!("DISABLE TRIGGER {} ON {parent}", module.name);
    Some(Statement::new("disabled trigger", &module.name, text, String::new()).of(&module.name))
}

fn create_statistics(of: &Statistics) -> Statement {
    let columns: Vec<String> = of.columns.iter().map(|column| quoted(column)).collect();
    let mut text = format!(
        "CREATE STATISTICS {} ON {} ({})",
        quoted(&of.name),
        of.table,
        columns.join(", ")
    );
    if let Some(filter) = &of.filter {
        text += &format!(" WHERE {filter}");
    }
    if of.is_kept {
        text += " WITH NORECOMPUTE";
    }
    let exists = format!(
        "EXISTS (SELECT * FROM sys.stats WHERE object_id = OBJECT_ID({}) AND name = {})",
        literal(&of.table),
        literal(&of.name)
    );
    let full_name = format!("{}.{}", of.table, quoted(&of.name));
    Statement::new("statistics", &full_name, text, exists).of(&of.table)
}

fn trigger_order(order: &TriggerOrder) -> Statement {
    let which = if order.is_first { "First" } else { "Last" };
    let namespace = if order.is_of_database {
        ", @namespace = 'DATABASE'"
    } else {
        ""
    };
    let text = format!(
        "EXECUTE sys.sp_settriggerorder @triggername = {}, @order = '{which}', @stmttype = '{}'{namespace}",
        literal(&order.trigger),
        order.event
    );
    let name = format!("{} on {}", order.trigger, order.event);
    Statement::new("trigger order", &name, text, String::new()).of(&order.trigger)
}

/// Each is off until all of them are there, with their order: one that is on may refuse the next.
fn database_triggers(catalog: &Catalog) -> Vec<Statement> {
    let mut found = Vec::new();
    let switched = |trigger: &Module, kind: &str, verb: &str| {
        let text = format!("{verb} TRIGGER {} ON DATABASE", trigger.name);
        Statement::new(kind, &trigger.name, text, String::new()).of(&trigger.name)
    };
    for trigger in &catalog.database_triggers {
        let exists = format!(
            "EXISTS (SELECT * FROM sys.triggers WHERE parent_class = 0 AND name = {})",
            literal(&trigger.plain_name)
        );
        found.push(Statement {
            settings: (trigger.ansi_nulls, trigger.quoted_identifiers),
            ..Statement::new("database trigger", &trigger.name, trigger.definition.clone(), exists)
        });
        found.push(switched(trigger, "database trigger off", "DISABLE"));
    }
    let orders = catalog.trigger_orders.iter();
    found.extend(orders.filter(|order| order.is_of_database).map(trigger_order));
    let on = catalog.database_triggers.iter().filter(|trigger| !trigger.is_disabled);
    found.extend(on.map(|trigger| switched(trigger, "database trigger on", "ENABLE")));
    found
}

fn property(property: &Property) -> Statement {
    let mut arguments = format!("@name = {}, @value = {}", literal(&property.name), property.value);
    let mut looked_for = vec![literal(&property.name)];
    for level in 0..3 {
        match property.levels.get(level) {
            Some((kind, name)) => {
                let name = literal(name);
                arguments += &format!(", @level{level}type = N'{kind}', @level{level}name = {name}");
                looked_for.extend([format!("N'{kind}'"), name]);
            }
            None => looked_for.extend(["NULL".to_owned(), "NULL".to_owned()]),
        }
    }
    let path: Vec<&str> = property.levels.iter().map(|(_, name)| name.as_str()).collect();
    let name = format!("{} of {}", quoted(&property.name), path.join("."));
    let owner = match property.levels.as_slice() {
        [(_, schema), (_, object), ..] => qualified(schema, object),
        _ => name.clone(),
    };
    // Level by level as fn_listextendedproperty wants them: a NULL lists what is right below.
    let exists = format!(
        "EXISTS (SELECT * FROM sys.fn_listextendedproperty({}))",
        looked_for.join(", ")
    );
    let text = format!("EXECUTE sys.sp_addextendedproperty {arguments}");
    Statement::new("extended property", &name, text, exists).of(&owner)
}
