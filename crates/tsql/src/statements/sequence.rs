//! CREATE and ALTER SEQUENCE, and `sp_sequence_get_range`.
//!
//! ALTER SEQUENCE starts a new state of the sequence: at the given value, or at the current value. Cached values are discarded (SQL Server
//! docs, "ALTER SEQUENCE"). A rollback restores the old state.

use std::sync::Arc;

use engine::catalog::{CatalogObject, ObjectDefinition, SequenceDefinition};
use engine::database::{Database, SequenceStand};
use engine::error::{Error, Result};
use engine::types::{SqlType, Value};

use super::execute::{CallResult, GivenArgument, OutputValue};
use super::executor::{Executor, Flow};
use crate::ast::{CreateSequence, DefinitionKind, Name, SequenceCache, SequenceOptions};
use crate::messages;
use crate::modules::UserTypes;
use crate::scalar::convert::{convert, whole_number};

pub(super) const GET_RANGE: &str = "sp_sequence_get_range";

/// The parameters of `sp_sequence_get_range` in order.
const RANGE_PARAMETERS: [&str; 8] = [
    "@sequence_name",
    "@range_size",
    "@range_first_value",
    "@range_last_value",
    "@range_cycle_count",
    "@sequence_increment",
    "@sequence_min_value",
    "@sequence_max_value",
];

impl Executor<'_> {
    pub(super) fn sequence(&mut self, written: &CreateSequence) -> Result<()> {
        match written.definition {
            DefinitionKind::Create => self.create_sequence(written),
            DefinitionKind::Alter | DefinitionKind::CreateOrAlter => self.alter_sequence(written),
        }
    }

    fn create_sequence(&mut self, written: &CreateSequence) -> Result<()> {
        let name = &written.name;
        if name.database().is_some() {
            return Err(messages::database_prefix("CREATE/ALTER SEQUENCE"));
        }
        let database = self.session.database_of(name)?;
        let schema = crate::state::schema_of(name);
        self.check_schema(&database, schema)?;
        if self.session.find_object(name)?.is_some() {
            return Err(messages::object_exists(name.object()));
        }
        let sql_type = match &written.data_type {
            Some(data_type) => {
                UserTypes::of(&database, self.session.id, self.session.version())
                    .scalar(data_type, 1)?
                    .0
            }
            None => SqlType::BigInt,
        };
        let created = self.session.now_ticks();
        let mut sequence = SequenceDefinition {
            object_id: database.new_object_id()?,
            schema: schema.to_owned(),
            name: name.object().to_owned(),
            type_id: sql_type.system_type_id(),
            precision: match sql_type {
                SqlType::Decimal { precision, .. } => precision,
                _ => 0,
            },
            start: 0,
            increment: 1,
            minimum: 0,
            maximum: 0,
            is_cycling: false,
            is_cached: true,
            cache_size: None,
            state: 0,
            first: None,
            created: (created.days, created.ticks),
        };
        let range = range_of(sql_type).ok_or_else(|| messages::sequence_type(&sequence.name))?;
        (sequence.minimum, sequence.maximum) = range;
        apply(&mut sequence, &written.options, range)?;
        let default = if sequence.increment > 0 {
            sequence.minimum
        } else {
            sequence.maximum
        };
        sequence.start = match written.options.start {
            Some(start) => within_type("START WITH", start, range)?,
            None => default,
        };
        if !(sequence.minimum..=sequence.maximum).contains(&sequence.start) {
            return Err(messages::sequence_start(&sequence.name));
        }
        sequence.first = Some(sequence.start);
        let mut engine = self.session.engine.borrow_mut();
        engine
            .create_object(&database, ObjectDefinition::Sequence(sequence))
            .map(|_| ())
    }

    fn alter_sequence(&mut self, written: &CreateSequence) -> Result<()> {
        let (database, object, former) = self.find_sequence(&written.name)?;
        self.session.engine.borrow().lock_definition(&database, &object)?;
        let range = range_of(former.sql_type()).unwrap_or((i128::from(i64::MIN), i128::from(i64::MAX)));
        let mut sequence = former.clone();
        apply(&mut sequence, &written.options, range)?;
        sequence.state = database.new_object_id()?;
        sequence.first = match written.options.restart {
            Some(Some(value)) => Some(within_type("RESTART WITH", value, range)?),
            Some(None) => Some(sequence.start),
            None => continued(&sequence, database.sequence_stand(&former)),
        };
        if let Some(first) = sequence.first
            && !(sequence.minimum..=sequence.maximum).contains(&first)
        {
            return Err(match written.options.restart {
                Some(_) => messages::sequence_start(&sequence.name),
                None => messages::sequence_current(first, &sequence.name),
            });
        }
        let mut engine = self.session.engine.borrow_mut();
        engine
            .replace_object(&database, &object, ObjectDefinition::Sequence(sequence))
            .map(|_| ())
    }

    fn find_sequence(&self, name: &Name) -> Result<(Arc<Database>, Arc<CatalogObject>, SequenceDefinition)> {
        let found = self.session.find_in_module(name)?;
        let (database, object) = found.ok_or_else(|| messages::invalid_object_name(&name.to_string()))?;
        let ObjectDefinition::Sequence(sequence) = &object.definition else {
            return Err(messages::not_a_sequence(&name.to_string()));
        };
        let sequence = sequence.clone();
        Ok((database, object, sequence))
    }

    /// `sp_sequence_get_range`: takes values at once, and says in OUTPUT parameters which.
    ///
    /// # Errors
    /// 201 without a name or a size, 11731 for a size that is none; 11732, 11728.
    pub(super) fn sequence_get_range(&mut self, given: &[GivenArgument<'_>]) -> Result<CallResult> {
        let place_of = |position: usize, argument: &GivenArgument<'_>| match argument.name {
            "" => Some(position),
            name => RANGE_PARAMETERS.iter().position(|own| own.eq_ignore_ascii_case(name)),
        };
        let mut places = Vec::with_capacity(given.len());
        for (position, argument) in given.iter().enumerate() {
            let place = place_of(position, argument).filter(|place| *place < RANGE_PARAMETERS.len());
            places.push(place.ok_or_else(|| messages::not_a_parameter(argument.name, GET_RANGE))?);
        }
        let value_of = |wanted: usize| {
            let at = places.iter().position(|place| *place == wanted)?;
            given.get(at)?.value.as_deref()
        };
        let missing = |place: usize| messages::parameter_not_supplied(GET_RANGE, RANGE_PARAMETERS[place]);
        let name = value_of(0).and_then(Value::as_str).ok_or_else(|| missing(0))?;
        let size = value_of(1).and_then(Value::as_i64).ok_or_else(|| missing(1))?;
        let size = u64::try_from(size).ok().filter(|size| *size > 0);
        let size = size.ok_or_else(|| {
            Error::new(
                11731,
                16,
                1,
                "The range size must be a positive, non-zero integer value.".to_owned(),
            )
        })?;
        let name = Name::parse(name).ok_or_else(|| messages::invalid_object_name(name))?;
        let (database, object, sequence) = self.find_sequence(&name)?;
        self.session
            .hold(&database, &object, crate::state::Reading::default())?;
        let range = database.take_sequence_range(&sequence, size, &self.session.locks)?;
        let variant = |number: i128| {
            let value = whole_number(number, sequence.sql_type())?;
            convert(&value, sequence.sql_type(), SqlType::SqlVariant, None)
        };
        let answers = [
            (2, variant(range.first)?, SqlType::SqlVariant),
            (3, variant(range.last)?, SqlType::SqlVariant),
            (
                4,
                Value::Int(i32::try_from(range.cycles).unwrap_or(i32::MAX)),
                SqlType::Int,
            ),
            (5, variant(sequence.increment)?, SqlType::SqlVariant),
            (6, variant(sequence.minimum)?, SqlType::SqlVariant),
            (7, variant(sequence.maximum)?, SqlType::SqlVariant),
        ];
        let outputs = answers.into_iter().filter_map(|(place, value, sql_type)| {
            let position = places.iter().position(|own| *own == place)?;
            Some(OutputValue {
                position,
                name: RANGE_PARAMETERS[place].to_owned(),
                sql_type,
                value,
                xml_collection: None,
            })
        });
        Ok(CallResult {
            flow: Flow::Next,
            status: 0,
            value: None,
            outputs: outputs.collect(),
        })
    }
}

/// Where numbering goes on under changed bounds and increment: the former next value, or behind the last one when there was none.
fn continued(sequence: &SequenceDefinition, stand: SequenceStand) -> Option<i128> {
    match (stand.next, stand.last) {
        (next, None) => next,
        (_, Some(last)) => sequence.after(last),
    }
}

/// The values of a type whose values are whole numbers.
fn range_of(sql_type: SqlType) -> Option<(i128, i128)> {
    Some(match sql_type {
        SqlType::TinyInt => (0, i128::from(u8::MAX)),
        SqlType::SmallInt => (i128::from(i16::MIN), i128::from(i16::MAX)),
        SqlType::Int => (i128::from(i32::MIN), i128::from(i32::MAX)),
        SqlType::BigInt => (i128::from(i64::MIN), i128::from(i64::MAX)),
        SqlType::Decimal { precision, scale: 0 } => {
            let end = 10_i128.checked_pow(u32::from(precision))?;
            (1 - end, end - 1)
        }
        _ => return None,
    })
}

/// 11708 for a value that the type does not have.
fn within_type(argument: &str, value: i128, (low, high): (i128, i128)) -> Result<i128> {
    match (low..=high).contains(&value) {
        true => Ok(value),
        false => Err(messages::sequence_value(argument)),
    }
}

/// Gives a sequence what is said of it, but for where it begins.
///
/// # Errors
/// 11700, 11701, 11705, 11706, 11708.
fn apply(sequence: &mut SequenceDefinition, options: &SequenceOptions, range: (i128, i128)) -> Result<()> {
    if let Some(increment) = options.increment {
        let (low, high) = (range.0.min(i128::from(i64::MIN)), range.1.max(i128::from(i64::MAX)));
        sequence.increment = within_type("INCREMENT BY", increment, (low, high))?;
    }
    if sequence.increment == 0 {
        return Err(messages::sequence_without_increment(&sequence.name));
    }
    if let Some(minimum) = options.minimum {
        sequence.minimum = minimum.map_or(Ok(range.0), |value| within_type("MINVALUE", value, range))?;
    }
    if let Some(maximum) = options.maximum {
        sequence.maximum = maximum.map_or(Ok(range.1), |value| within_type("MAXVALUE", value, range))?;
    }
    if sequence.minimum >= sequence.maximum {
        return Err(messages::sequence_bounds(&sequence.name));
    }
    if sequence.increment.unsigned_abs() > sequence.maximum.abs_diff(sequence.minimum) {
        return Err(messages::sequence_increment_too_large(&sequence.name));
    }
    sequence.is_cycling = options.is_cycling.unwrap_or(sequence.is_cycling);
    match options.cache {
        None => {}
        Some(SequenceCache::No) => (sequence.is_cached, sequence.cache_size) = (false, None),
        Some(SequenceCache::Default) => (sequence.is_cached, sequence.cache_size) = (true, None),
        Some(SequenceCache::Size(size)) if size > 0 => {
            let size = u32::try_from(size).map_err(|_| messages::sequence_value("CACHE"))?;
            (sequence.is_cached, sequence.cache_size) = (true, Some(size));
        }
        Some(SequenceCache::Size(_)) => return Err(messages::sequence_cache(&sequence.name)),
    }
    Ok(())
}
