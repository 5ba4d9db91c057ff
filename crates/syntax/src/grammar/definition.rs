//! The parts of a table's definition that nothing here obeys. The patterns name every part: see [`super::check()`].

use super::{
    ALTER_INDEX_SET, ALTER_TABLE_SET, CREATE_STATISTICS, INDEX_OPTIONS, Parsed, Place, REBUILD_OPTIONS,
    REBUILD_PARTITION_OPTIONS, REORGANIZE_OPTIONS, SYSTEM_VERSIONING_OPTIONS, value_text,
};
use crate::ast::{
    AlterIndex, AlterIndexAction, AlterTable, AlterTableAction, ColumnDefinition, ConstraintKind, CreateIndex,
    CreateStatistics, DataSpace, Expression, ExpressionKind, ForeignKey, IndexFilter, InlineIndex, KeyConstraint,
    OptionValue, TableConstraint, TableElement,
};
use crate::error::ParseError;

fn refused(line: u32, what: &str) -> Parsed<()> {
    Err(ParseError::not_supported(line, what))
}

/// Where a table variable is kept, which is tempdb: 1921 unless the filegroup is the only one there is.
fn check_variable_space(line: u32, data_space: Option<&DataSpace>) -> Parsed<()> {
    if data_space.is_some_and(|space| space.column.is_some()) {
        return refused(line, "partition scheme");
    }
    match data_space.map(|space| &space.name) {
        Some(name) if !name.is("PRIMARY") && !name.is("default") => Err(ParseError {
            severity: 16,
            ..ParseError::new(1921, line, format!("Invalid filegroup '{name}' specified."))
        }),
        _ => Ok(()),
    }
}

/// Columns, constraints and indexes of CREATE TABLE, ALTER TABLE ADD and table variables.
pub(super) fn check_elements(elements: &[TableElement]) -> Parsed<()> {
    elements.iter().try_for_each(|element| match element {
        TableElement::Column(column) => check_column(column),
        TableElement::Constraint(constraint) => check_constraint(constraint),
        TableElement::Index(index) => check_inline_index(index),
        // Its columns are the executor's to find.
        TableElement::Period(_) => Ok(()),
    })
}

/// The same of a table variable, a table type or a function's table: they have no filtered indexes (sql-docs, "DECLARE @local_variable" and
/// "CREATE TYPE": the syntax of `table_index` has no WHERE).
pub(super) fn check_variable_elements(line: u32, elements: &[TableElement]) -> Parsed<()> {
    check_elements(elements)?;
    for element in elements {
        let constraints = match element {
            TableElement::Column(column) => column.constraints.as_slice(),
            TableElement::Constraint(constraint) => std::slice::from_ref(constraint),
            TableElement::Index(index) => {
                check_variable_space(line, index.data_space.as_ref())?;
                &[]
            }
            TableElement::Period(_) => &[],
        };
        for constraint in constraints {
            if let ConstraintKind::Key(key) = &constraint.kind {
                check_variable_space(constraint.line, key.data_space.as_ref())?;
            }
        }
    }
    let is_filtered = |element: &TableElement| matches!(element, TableElement::Index(index) if index.filter.is_some());
    match elements.iter().any(is_filtered) {
        true => refused(line, "WHERE of an index of a table variable"),
        false => Ok(()),
    }
}

fn check_column(column: &ColumnDefinition) -> Parsed<()> {
    // Types, collations, defaults, identities and computed columns are the executor's.
    let ColumnDefinition {
        line,
        name: _,
        data_type: _,
        computed: _,
        collation: _,
        nullable: _,
        // NOT FOR REPLICATION concerns agents of replication alone; there are none.
        identity: _,
        // The executor says of which type it is.
        row_guid: _,
        sparse,
        // Which columns a period has is the executor's to say.
        generated: _,
        mask: _,
        default: _,
        constraints,
        // It is an element of its own.
        index: _,
    } = column;
    if *sparse {
        return refused(*line, "SPARSE");
    }
    constraints.iter().try_for_each(check_constraint)
}

fn check_constraint(constraint: &TableConstraint) -> Parsed<()> {
    match &constraint.kind {
        ConstraintKind::Key(key) => {
            let KeyConstraint {
                primary: _,
                clustered: _,
                columns: _,
                options,
                // Which filegroups and partition schemes there are is the executor's to say.
                data_space: _,
            } = key;
            check_options_of_key(options)
        }
        ConstraintKind::ForeignKey(key) => {
            let ForeignKey {
                columns: _,
                table: _,
                referenced_columns: _,
                on_delete: _,
                on_update: _,
                not_for_replication: _,
            } = key;
            Ok(())
        }
        ConstraintKind::Check { .. } | ConstraintKind::Default { .. } => Ok(()),
    }
}

fn check_inline_index(index: &InlineIndex) -> Parsed<()> {
    let InlineIndex {
        name: _,
        unique: _,
        clustered: _,
        columns: _,
        included_columns: _,
        filter,
        options,
        data_space: _,
    } = index;
    check_filter(filter.as_ref())?;
    check_options_of_key(options)
}

/// A filter has no words but AND, IN, IS and NULL: 156 for the others, 102 for NOT before IN. What it compares is the executor's to judge.
fn check_filter(filter: Option<&IndexFilter>) -> Parsed<()> {
    filter.map_or(Ok(()), |filter| check_filter_part(&filter.condition, &filter.text))
}

fn check_filter_part(part: &Expression, text: &str) -> Parsed<()> {
    let word = match &part.kind {
        ExpressionKind::And(parts) => return parts.iter().try_for_each(|part| check_filter_part(part, text)),
        ExpressionKind::InList { negated: true, .. } => return Err(ParseError::near(part.line, "NOT")),
        ExpressionKind::Or(_) => "OR",
        ExpressionKind::Not(_) => "NOT",
        ExpressionKind::Between(_) => "BETWEEN",
        ExpressionKind::Like(_) => "LIKE",
        ExpressionKind::Exists(_) => "EXISTS",
        _ => return Ok(()),
    };
    // As it was written.
    let place = text.to_ascii_uppercase().find(word);
    let written = place.and_then(|place| text.get(place..place + word.len()));
    Err(ParseError::near_keyword(part.line, written.unwrap_or(word)))
}

/// Options of an index that is made with its table, which has no statistics yet: there is no place to remember that they are not to be
/// counted. Nor is there another index that it could replace.
fn check_options_of_key(options: &[OptionValue]) -> Parsed<()> {
    check_index_options(&INDEX_OPTIONS, options)?;
    let is_on = |option: &&OptionValue| {
        let is_of_others = option.name == "STATISTICS_NORECOMPUTE" || option.name == "DROP_EXISTING";
        is_of_others && option.word().is_some_and(|word| word == "ON")
    };
    match options.iter().find(is_on) {
        Some(option) => refused(option.line, &format!("{} = ON", option.name)),
        None => Ok(()),
    }
}

pub(super) fn check_index(index: &CreateIndex) -> Parsed<()> {
    let CreateIndex {
        name: _,
        unique: _,
        clustered: _,
        table: _,
        columns: _,
        included_columns: _,
        filter,
        options,
        data_space: _,
    } = index;
    check_filter(filter.as_ref())?;
    check_index_options(&INDEX_OPTIONS, options)
}

/// Options of an index, with their values.
///
/// # Errors
/// Those of the place; 129 for a fill factor that is not a percentage; 102 for a switch that is neither ON nor OFF.
fn check_index_options(place: &Place, options: &[OptionValue]) -> Parsed<()> {
    place.admit_all(options)?;
    options.iter().try_for_each(|option| match option.name.as_str() {
        "FILLFACTOR" if option.percentage().is_none() => {
            let written = option.value.as_ref().map(value_text).unwrap_or_default();
            let text = format!("Fillfactor {written} is not a valid percentage; fillfactor must be between 1 and 100.");
            Err(ParseError::new(129, option.line, text))
        }
        "ALLOW_PAGE_LOCKS"
        | "ALLOW_ROW_LOCKS"
        | "DROP_EXISTING"
        | "IGNORE_DUP_KEY"
        | "OPTIMIZE_FOR_SEQUENTIAL_KEY"
        | "PAD_INDEX"
            if option.switch().is_none() =>
        {
            let written = option.value.as_ref().map(value_text).unwrap_or_default();
            Err(ParseError::near(option.line, &written))
        }
        _ => Ok(()),
    })
}

pub(super) fn check_create_statistics(create: &CreateStatistics) -> Parsed<()> {
    let CreateStatistics {
        name: _,
        table: _,
        columns: _,
        filter,
        options,
    } = create;
    check_filter(filter.as_ref())?;
    CREATE_STATISTICS.admit_all(options)
}

/// A single partition is rebuilt under fewer options: the others are those of all partitions.
fn rebuild_options(partition: Option<&Expression>) -> &'static Place {
    match partition {
        Some(_) => &REBUILD_PARTITION_OPTIONS,
        None => &REBUILD_OPTIONS,
    }
}

pub(super) fn check_alter_index(alter: &AlterIndex) -> Parsed<()> {
    match alter.action {
        AlterIndexAction::Rebuild => check_index_options(rebuild_options(alter.partition.as_ref()), &alter.options),
        AlterIndexAction::Reorganize => check_index_options(&REORGANIZE_OPTIONS, &alter.options),
        AlterIndexAction::Disable => Ok(()),
        AlterIndexAction::Set => check_index_options(&ALTER_INDEX_SET, &alter.options),
    }
}

/// SYSTEM_VERSIONING is ON, with options of its own, or OFF. 13512 when it stands twice.
pub(super) fn check_versioning(options: &[OptionValue]) -> Parsed<()> {
    let mut is_there = false;
    for option in options.iter().filter(|option| option.name == "SYSTEM_VERSIONING") {
        if std::mem::replace(&mut is_there, true) {
            let text = "You cannot specify SYSTEM_VERSIONING clause more than once.";
            let error = ParseError::new(13_512, option.line, text);
            return Err(ParseError { severity: 16, ..error });
        }
        let written = option.value.as_ref().map(value_text).unwrap_or_default();
        match option.word().as_deref() {
            Some("ON") => {}
            Some("OFF") if option.arguments.is_empty() => {}
            Some("OFF") => return Err(ParseError::near(option.line, "(")),
            _ => return Err(ParseError::near(option.line, &written)),
        }
        option.arguments.iter().try_for_each(check_versioning_option)?;
    }
    Ok(())
}

fn check_versioning_option(option: &OptionValue) -> Parsed<()> {
    SYSTEM_VERSIONING_OPTIONS.admit_option(option)?;
    let written = option.value.as_ref().map(value_text).unwrap_or_default();
    let word = option.word();
    let is_right = match (option.name.as_str(), option.arguments.is_empty()) {
        ("DATA_CONSISTENCY_CHECK", true) => matches!(word.as_deref(), Some("ON" | "OFF")),
        ("HISTORY_RETENTION_PERIOD", true) => word.as_deref() == Some("INFINITE"),
        ("HISTORY_RETENTION_PERIOD", false) => written.parse::<i64>().is_ok(),
        (_, is_alone) => is_alone && word.is_some(),
    };
    match is_right {
        true => Ok(()),
        false => Err(ParseError::near(option.line, &written)),
    }
}

pub(super) fn check_alter_table(alter: &AlterTable) -> Parsed<()> {
    match &alter.action {
        AlterTableAction::Add { check: _, elements } => check_elements(elements),
        // Which constraints can be switched, and the collation, are the executor's to say.
        AlterTableAction::CheckConstraint { .. }
        | AlterTableAction::Drop(_)
        | AlterTableAction::AlterColumn { .. }
        | AlterTableAction::Hide { .. }
        | AlterTableAction::Mask { .. }
        | AlterTableAction::Switch(_)
        | AlterTableAction::DropPeriod => Ok(()),
        AlterTableAction::Rebuild { partition, options } => {
            check_index_options(rebuild_options(partition.as_ref()), options)
        }
        AlterTableAction::Set(options) => {
            ALTER_TABLE_SET.admit_all(options)?;
            check_versioning(options)?;
            let is_other = |option: &&OptionValue| {
                let word = option.word().unwrap_or_default();
                option.name == "LOCK_ESCALATION" && !["AUTO", "TABLE", "DISABLE"].contains(&word.as_str())
            };
            match options.iter().find(is_other) {
                Some(option) => {
                    let written = option.value.as_ref().map(value_text).unwrap_or_default();
                    Err(ParseError::near(option.line, &written))
                }
                None => Ok(()),
            }
        }
    }
}
