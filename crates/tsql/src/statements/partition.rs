//! Partition functions and schemes; TRUNCATE TABLE of partitions. SWITCH is in `switched`.
//!
//! Numbers, states and words are as the SqlServerSimulator project has probed them on SQL Server 2025.
//!
//! ```text
//! SPLIT at b, LEFT    the new partition is the one that ends with b          MERGE at b, LEFT    the partition that ends with b goes
//! SPLIT at b, RIGHT   the new partition is the one that begins with b        MERGE at b, RIGHT   the partition that begins with b goes
//! ```
//! The new partition gets the filegroup NEXT USED of each scheme (sql-docs, ALTER PARTITION FUNCTION).

use std::sync::Arc;

use engine::catalog::{
    CatalogObject, ObjectDefinition, PARTITION_FUNCTION_ID_FIRST, PARTITION_SCHEME_ID_FIRST, PARTITIONS_MAX,
    PartitionFunction, PartitionScheme, TableDefinition,
};
use engine::database::Database;
use engine::error::{Error, Result};
use engine::lock::Mode;
use engine::types::off_row::is_unlimited;
use engine::types::{Collation, SqlType, Value};

use super::data_space::{filegroup_of, function_where, partitions_resource, scheme_named};
use super::executor::Executor;
use crate::ast::{DataType, Expression, Identifier, PartitionStatement};
use crate::messages;
use crate::optimize::Optimizer;
use crate::scalar::convert::store;

/// Number of the error for text that would be cut.
const TRUNCATED: i32 = 2628;

type FunctionAndScheme<'f> = (&'f PartitionFunction, &'f PartitionScheme);

impl Executor<'_> {
    /// CREATE, ALTER and DROP PARTITION FUNCTION and SCHEME. One at a time is changed in a database.
    pub(super) fn change_partitions(&mut self, statement: &PartitionStatement, line: u32) -> Result<()> {
        let database = self.session.database();
        self.session.locks.lock(partitions_resource(&database), Mode::X)?;
        match statement {
            PartitionStatement::CreateFunction {
                name,
                types,
                collation,
                is_right,
                values,
            } => {
                let parameter = (types.as_slice(), collation.as_ref());
                self.create_partition_function(&database, name, parameter, (*is_right, values))
            }
            PartitionStatement::AlterFunction { name, is_split, value } => {
                self.alter_partition_function(&database, name, (*is_split, value))
            }
            PartitionStatement::DropFunction(name) => self.drop_partition_function(&database, name),
            PartitionStatement::CreateScheme {
                name,
                function,
                is_all,
                filegroups,
            } => self.create_partition_scheme(&database, (name, function), (*is_all, filegroups), line),
            PartitionStatement::AlterScheme { name, next_used } => {
                self.alter_partition_scheme(&database, name, next_used.as_ref())
            }
            PartitionStatement::DropScheme(name) => self.drop_partition_scheme(&database, name),
        }
    }

    /// The value of a constant expression, of a type.
    ///
    /// # Errors
    /// 7705 when it cannot be converted, 7720 when it would be cut.
    fn boundary(&self, expression: &Expression, sql_type: SqlType, ordinal: usize) -> Result<Value> {
        let mut binder = crate::bind::Binder::new(self.session, &self.batch.scope);
        let mut bound = binder.scalar(expression)?;
        Optimizer::new(self.session).expression(&mut bound)?;
        let value = crate::exec::evaluate(&bound, &[], &self.context())?.into_owned();
        if value.is_null() {
            return Ok(Value::Null);
        }
        let stored = store(&value, bound.sql_type, sql_type, "", "");
        stored.map_err(|error| match error.number {
            TRUNCATED => messages::boundary_truncated(ordinal),
            _ => messages::boundary_not_converted(ordinal),
        })
    }

    fn create_partition_function(
        &mut self,
        database: &Arc<Database>,
        name: &Identifier,
        (types, collation): (&[DataType], Option<&Identifier>),
        (is_right, values): (bool, &[Expression]),
    ) -> Result<()> {
        if function_where(database, self.session.id, |one| name.is(&one.name)).is_some() {
            return Err(messages::partition_object_exists(&name.text));
        }
        let [data_type] = types else {
            return Err(messages::partition_function_parameters());
        };
        let declared = self.session.declared_type(data_type, 1)?;
        let sql_type = declared.sql_type;
        if is_unlimited(sql_type) || matches!(sql_type, SqlType::RowVersion | SqlType::SqlVariant) {
            return Err(messages::partition_function_type(&data_type.name.to_string()));
        }
        if values.len() >= PARTITIONS_MAX {
            return Err(messages::too_many_partitions());
        }
        let collation = match (sql_type.is_character(), collation) {
            (true, Some(written)) => self.session.collation(&written.text)?,
            (true, None) => database.collation(),
            (false, _) => Collation::default(),
        };
        let boundaries = (1..)
            .zip(values)
            .map(|(ordinal, value)| self.boundary(value, sql_type, ordinal));
        let boundaries = boundaries.collect::<Result<Vec<Value>>>()?;
        let now = self.session.now_ticks();
        let mut function = PartitionFunction {
            object_id: database.new_object_id()?,
            function_id: self.next_function_id(database),
            name: name.text.clone(),
            sql_type,
            collation,
            is_right,
            boundaries: Vec::new(),
            created: (now.days, now.ticks),
            modified: (now.days, now.ticks),
        };
        let sorted = function.sorted(boundaries.clone());
        function.boundaries =
            sorted.map_err(|(first, second)| messages::duplicate_boundaries(first + 1, second + 1))?;
        if function.boundaries != boundaries {
            let name = &name.text;
            let text = format!(
                "Warning: Range value list for partition function '{name}' is not sorted by value. Mapping of partitions to filegroups during CREATE PARTITION SCHEME will use the sorted boundary values if the function '{name}' is referenced in CREATE PARTITION SCHEME."
            );
            self.inform(7709, 10, 0, text)?;
        }
        let definition = ObjectDefinition::PartitionFunction(function);
        let mut engine = self.session.engine.borrow_mut();
        engine.create_object(database, definition).map(|_| ())
    }

    fn next_function_id(&self, database: &Database) -> u32 {
        let objects = database.catalog.objects(self.session.id);
        let functions = objects
            .iter()
            .filter_map(|object| object.definition.partition_function());
        let ids = functions.map(|function| function.function_id + 1);
        ids.max().unwrap_or(PARTITION_FUNCTION_ID_FIRST)
    }

    fn function_object(
        &self,
        database: &Database,
        verb: &str,
        name: &Identifier,
    ) -> Result<(Arc<CatalogObject>, PartitionFunction)> {
        let mut objects = database.catalog.objects(self.session.id).into_iter();
        let found = objects.find_map(|object| {
            let function = object.definition.partition_function().cloned()?;
            name.is(&function.name).then_some((object, function))
        });
        found.ok_or_else(|| messages::no_partition_object(verb, "function", &name.text))
    }

    fn scheme_object(
        &self,
        database: &Database,
        verb: &str,
        name: &Identifier,
    ) -> Result<(Arc<CatalogObject>, PartitionScheme)> {
        let mut objects = database.catalog.objects(self.session.id).into_iter();
        let found = objects.find_map(|object| {
            let scheme = object.definition.partition_scheme().cloned()?;
            name.is(&scheme.name).then_some((object, scheme))
        });
        found.ok_or_else(|| messages::no_partition_object(verb, "scheme", &name.text))
    }

    /// The schemes of a function.
    fn schemes_of(&self, database: &Database, function: u32) -> Vec<(Arc<CatalogObject>, PartitionScheme)> {
        let objects = database.catalog.objects(self.session.id).into_iter();
        let schemes = objects.filter_map(|object| {
            let scheme = object.definition.partition_scheme().cloned()?;
            (scheme.function == function).then_some((object, scheme))
        });
        schemes.collect()
    }

    /// The tables that a scheme partitions.
    fn tables_in(&self, database: &Database, scheme: u32) -> Vec<Arc<CatalogObject>> {
        let is_in = |table: &TableDefinition| {
            table
                .partitioning
                .as_ref()
                .is_some_and(|partitioning| partitioning.scheme == scheme)
        };
        let mut objects = database.catalog.objects(self.session.id);
        objects.retain(|object| object.definition.table().is_some_and(is_in));
        objects.sort_by_key(|object| object.definition.object_id());
        objects
    }

    fn drop_partition_function(&mut self, database: &Arc<Database>, name: &Identifier) -> Result<()> {
        let (object, function) = self.function_object(database, "drop", name)?;
        if !self.schemes_of(database, function.function_id).is_empty() {
            return Err(messages::partition_function_in_use(&function.name));
        }
        self.session.engine.borrow_mut().drop_object(database, &object)
    }

    fn drop_partition_scheme(&mut self, database: &Arc<Database>, name: &Identifier) -> Result<()> {
        let (object, scheme) = self.scheme_object(database, "drop", name)?;
        if !self.tables_in(database, scheme.data_space).is_empty() {
            return Err(messages::partition_scheme_in_use(&scheme.name));
        }
        self.session.engine.borrow_mut().drop_object(database, &object)
    }

    fn create_partition_scheme(
        &mut self,
        database: &Arc<Database>,
        (name, function): (&Identifier, &Identifier),
        (is_all, written): (bool, &[Identifier]),
        line: u32,
    ) -> Result<()> {
        let entry = database.entry();
        let is_taken = scheme_named(database, self.session.id, name).is_some() || entry.filegroup(&name.text).is_some();
        if is_taken {
            return Err(messages::partition_object_exists(&name.text));
        }
        let found = function_where(database, self.session.id, |one| function.is(&one.name));
        let function = found.ok_or_else(|| messages::no_partition_function(&function.text))?;
        if is_all && written.len() > 1 {
            return Err(messages::all_to_several_filegroups());
        }
        let filegroups = written.iter().map(|one| {
            let id = filegroup_of(&entry, one)?;
            u16::try_from(id).map_err(|_| Error::assertion("a filegroup has a small number"))
        });
        let mut filegroups = filegroups.collect::<Result<Vec<u16>>>()?;
        let count = function.boundaries.len() + 1;
        let mut next_used = None;
        if is_all {
            next_used = filegroups.first().copied();
            filegroups = vec![next_used.unwrap_or_default(); count];
        }
        if filegroups.len() < count {
            return Err(messages::too_few_filegroups(&function.name, &name.text));
        }
        let left = filegroups.split_off(count);
        if let Some(next) = left.first() {
            next_used = Some(*next);
        }
        let objects = database.catalog.objects(self.session.id);
        let schemes = objects.iter().filter_map(|object| object.definition.partition_scheme());
        let ids = schemes.map(|scheme| scheme.data_space + 1);
        let scheme = PartitionScheme {
            object_id: database.new_object_id()?,
            data_space: ids.max().unwrap_or(PARTITION_SCHEME_ID_FIRST),
            name: name.text.clone(),
            function: function.function_id,
            filegroups,
            next_used,
        };
        {
            let definition = ObjectDefinition::PartitionScheme(scheme);
            let mut engine = self.session.engine.borrow_mut();
            engine.create_object(database, definition)?;
        }
        if let Some(next) = next_used {
            let next = database.storage.files.filegroup_name(next);
            let name = &name.text;
            let text = format!(
                "Partition scheme '{name}' has been created successfully. '{next}' is marked as the next used filegroup in partition scheme '{name}'."
            );
            self.inform(7712, 10, line, text)?;
        }
        if left.len() > 1 {
            let count = left.len() - 1;
            let text = format!("{count} filegroups specified after the next used filegroup are ignored.");
            self.inform(7713, 10, line, text)?;
        }
        Ok(())
    }

    fn alter_partition_scheme(
        &mut self,
        database: &Arc<Database>,
        name: &Identifier,
        next_used: Option<&Identifier>,
    ) -> Result<()> {
        let (object, mut scheme) = self.scheme_object(database, "alter", name)?;
        scheme.next_used = match next_used {
            Some(written) => u16::try_from(filegroup_of(&database.entry(), written)?).ok(),
            None => None,
        };
        let mut engine = self.session.engine.borrow_mut();
        let changed = ObjectDefinition::PartitionScheme(scheme);
        engine.replace_object(database, &object, changed).map(|_| ())
    }

    /// SPLIT and MERGE: the function, its schemes and all of their tables change together.
    fn alter_partition_function(
        &mut self,
        database: &Arc<Database>,
        name: &Identifier,
        (is_split, value): (bool, &Expression),
    ) -> Result<()> {
        let (object, former) = self.function_object(database, "alter", name)?;
        // Queries that ask for $PARTITION come to the function first and to its tables then.
        self.session.engine.borrow().lock_definition(database, &object)?;
        let mut function = former.clone();
        let value = self.boundary(value, function.sql_type, 1)?;
        let known = function.ranges().position(&value);
        let at = match (is_split, known) {
            (true, Some(known)) => return Err(messages::boundary_exists(known + 1)),
            (true, None) if function.boundaries.len() + 1 >= PARTITIONS_MAX => {
                return Err(messages::too_many_partitions());
            }
            (true, None) => function.partition_of(&value),
            (false, known) => known.ok_or_else(messages::no_such_boundary)?,
        };
        match is_split {
            true => function.boundaries.insert(at, value),
            false => {
                function.boundaries.remove(at);
            }
        }
        let now = self.session.now_ticks();
        function.modified = (now.days, now.ticks);
        // The partition on the boundary's own side is the one that comes or goes.
        let number = at + usize::from(function.is_right);
        let other = at + usize::from(!function.is_right);
        for (scheme_object, former_scheme) in self.schemes_of(database, function.function_id) {
            let mut scheme = former_scheme.clone();
            if is_split {
                let next = scheme.next_used.take();
                let next = next.ok_or_else(|| messages::no_next_used(&scheme.name))?;
                scheme.filegroups.insert(number.min(scheme.filegroups.len()), next);
            } else if number < scheme.filegroups.len() {
                scheme.filegroups.remove(number);
            }
            for table in self.tables_in(database, scheme.data_space) {
                let functions = ((&former, &former_scheme), (&function, &scheme));
                self.repartition(database, &table, functions, (is_split, number, other))?;
            }
            let mut engine = self.session.engine.borrow_mut();
            engine.replace_object(database, &scheme_object, ObjectDefinition::PartitionScheme(scheme))?;
        }
        let mut engine = self.session.engine.borrow_mut();
        let changed = ObjectDefinition::PartitionFunction(function);
        engine.replace_object(database, &object, changed).map(|_| ())
    }

    fn repartition(
        &mut self,
        database: &Arc<Database>,
        object: &Arc<CatalogObject>,
        (before, after): (FunctionAndScheme<'_>, FunctionAndScheme<'_>),
        (is_split, number, other): (bool, usize, usize),
    ) -> Result<()> {
        let table = object.definition.table();
        let former = table.and_then(|table| table.partitioning.as_ref());
        let column = former.map(|partitioning| partitioning.column);
        let column = column.ok_or_else(|| Error::assertion("a table of a partition scheme is partitioned"))?;
        let former = before.0.partitioning(before.1, column)?;
        let change = (&former, after.0.partitioning(after.1, column)?);
        let mut engine = self.session.engine.borrow_mut();
        match is_split {
            true => engine.split_partition(database, object, change, (number, other)),
            false => engine.merge_partition(database, object, change, number),
        }
    }

    /// The number of a partition that an expression says.
    pub(super) fn partition_number(&self, expression: &Expression) -> Result<i64> {
        let mut binder = crate::bind::Binder::new(self.session, &self.batch.scope);
        let mut bound = binder.scalar_as(expression, SqlType::Int)?;
        Optimizer::new(self.session).expression(&mut bound)?;
        let value = crate::exec::evaluate(&bound, &[], &self.context())?.into_owned();
        Ok(value.as_i64().unwrap_or(0))
    }

    /// The partitions that TRUNCATE TABLE names, counted from 0.
    ///
    /// # Errors
    /// 7729 for a table without partitions; 7722, 7728, 7711.
    pub(super) fn partitions_to_truncate(
        &self,
        table: &TableDefinition,
        written: &[(Expression, Option<Expression>)],
    ) -> Result<Vec<usize>> {
        if table.partitioning.is_none() {
            return Err(messages::truncate_partitions_of_whole(&table.name));
        }
        let count = table.partition_count();
        let number = |expression: &Expression| {
            let number = self.partition_number(expression)?;
            let place = usize::try_from(number)
                .ok()
                .filter(|number| (1..=count).contains(number));
            place.ok_or_else(|| messages::invalid_partition_number(number, &table.name, count))
        };
        let mut numbers = Vec::new();
        for (first, last) in written {
            let first = number(first)?;
            let last = last.as_ref().map_or(Ok(first), number)?;
            if first > last {
                return Err(messages::invalid_partition_range(first as i64, last as i64));
            }
            for number in first - 1..last {
                if numbers.contains(&number) {
                    return Err(messages::partition_listed_twice());
                }
                numbers.push(number);
            }
        }
        Ok(numbers)
    }
}
