//! BULK INSERT: the rows of a file, by the way of the rows that bulk copy clients send (`bulk_load.rs`).
//!
//! ```text
//! WITH, format file -> Layout, destinations -> Reader -> FileRows -> a batch: one unit, as INSERT BULK     BATCHSIZE: the next one
//! ```
//! | | |
//! |---|---|
//! | a row that a value of is wrong (4863, 4864, 4867, 4869) | is left out, told, and counted; beyond MAXERRORS the load ends (4865) |
//! | a file that cannot be read on (4832, 4862, 4866, 4879) | the load ends |
//! | an error of the table (515, 547, 2627 and so on) | the load ends |
//! | a load that ends so | its batch is rolled back, batches before it stay (sql-docs, BULK INSERT: BATCHSIZE) |
//! | identity and computed columns, rowversions, periods | their fields are passed over; an identity column's are kept with KEEPIDENTITY |
//!
//! ERRORFILE gets the bytes of the rows that are left out, and a file of the same name with `.Error.Txt` behind it where each was.

use std::sync::Arc;

use engine::catalog::TableDefinition;
use engine::error::{Error, Result};
use engine::instance::{FaultyRowsFile, RowsFile};
use engine::memory::Charge;
use engine::types::{SqlType, Value};

use super::bulk_load::order_of;
use super::executor::{Executor, closed};
use crate::ast::{BulkInsert, Identifier};
use crate::data_file::{
    Destination, FIELD_BYTES_MAX, Fault, Format, Layout, Options, Read, Reader, fault_error, read_format,
};
use crate::messages;
use crate::sink::{ClientColumn, ClientRows, DoneKind, Message};
use crate::state::BulkTarget;

/// What is behind the name of the file that says where rows with errors were (sql-docs, BULK INSERT: ERRORFILE).
const CONTROL_SUFFIX: &str = ".Error.Txt";

impl Executor<'_> {
    /// # Errors
    /// 208; those of the options, of the files and of the rows.
    pub(super) fn bulk_insert(&mut self, bulk: &BulkInsert) -> Result<()> {
        let (_, object_id, definition) = self.find_bulk_table(&bulk.table, "BULK INSERT")?;
        let options = Options::read(&bulk.options)?;
        let format = match &options.format_file {
            Some(name) => Some(read_format(&self.session.instance.open_rows_file(name)?)?),
            None => None,
        };
        let places = places_of(&definition, format.as_ref(), &options)?;
        let mut target = BulkTarget {
            table: bulk.table.clone(),
            object_id,
            checks_constraints: options.checks_constraints,
            keeps_nulls: options.keeps_nulls,
            locks_table: options.locks_table,
            fires_triggers: options.fires_triggers,
            order: order_of(&bulk.options, &definition)?,
            columns: Vec::new(),
        };
        for column in places.iter().filter_map(|place| definition.columns.get(*place)) {
            target.columns.push((Identifier::new(&column.name), column.sql_type));
        }
        let destinations = self.destinations(&target, &definition, &places)?;
        let layout = layout_of(&definition, format.as_ref(), &places, &destinations, &options)?;
        let file = self.session.instance.open_rows_file(&bulk.file)?;
        let columns = client_columns(&definition, &places);
        let mut reader = Reader::new(file, layout, destinations.clone(), options.clone())?;
        if let Some(notice) = reader.take_notice() {
            self.inform(notice.number, notice.severity, self.statement.line, notice.message)?;
        }
        let errors = ErrorFiles::create(self, &options)?;
        let mut rows = FileRows {
            reader,
            columns,
            left: None,
            is_over: false,
            faults: Vec::new(),
            charge: Charge::default(),
            errors_max: options.errors_max(),
            errors,
        };
        let loaded = self.load_file(&target, &mut rows, options.batch_rows);
        // CATCH sees the last error of a load alone.
        if loaded.is_ok() || self.try_depth == 0 {
            self.tell_faults(&rows.faults, &destinations)?;
        }
        let count = loaded?;
        self.changed(count, DoneKind::BulkLoad, false)
    }

    /// Loads a file, batch by batch; answers how many rows it had.
    fn load_file(&mut self, target: &BulkTarget, rows: &mut FileRows, batch_rows: Option<u64>) -> Result<u64> {
        let mut count = 0;
        while !rows.is_over {
            rows.left = batch_rows;
            count += self.load_batch(target, rows)?;
        }
        Ok(count)
    }

    /// Tells of the rows that were left out.
    fn tell_faults(&mut self, faults: &[Fault], destinations: &[Destination]) -> Result<()> {
        for fault in faults {
            let error = fault_error(fault, destinations);
            self.severity_max = self.severity_max.max(error.severity);
            let message = Message::new(&error, self.statement.line, &self.procedure);
            self.sink.message(&message).map_err(closed)?;
        }
        Ok(())
    }

    /// The columns that values of the file go to.
    fn destinations(
        &self,
        target: &BulkTarget,
        definition: &TableDefinition,
        places: &[usize],
    ) -> Result<Vec<Destination>> {
        let bound = self.bound_bulk(target)?;
        let columns = places.iter().filter_map(|place| definition.columns.get(*place));
        let has_default = |name: &str| {
            let mut own = bound.columns.columns.iter();
            own.any(|column| column.name == name && column.default.is_some())
        };
        let destination = columns.map(|column| Destination {
            name: column.name.clone(),
            sql_type: column.sql_type,
            collation: column.collation,
            nullable: column.nullable || !target.keeps_nulls && has_default(&column.name),
        });
        Ok(destination.collect())
    }
}

/// Whether the values of a file reach a column.
fn is_filled(definition: &TableDefinition, place: usize, options: &Options) -> bool {
    definition.columns.get(place).is_some_and(|column| {
        column.computed.is_none()
            && column.generated.is_none()
            && column.sql_type != SqlType::RowVersion
            && (column.identity.is_none() || options.keeps_identity)
    })
}

/// The columns of the table that the file fills, in the order of the table.
///
/// # Errors
/// 4828 for a column of the format file that the table does not have.
fn places_of(definition: &TableDefinition, format: Option<&Format>, options: &Options) -> Result<Vec<usize>> {
    let count = definition.columns.len();
    let is_named = |place: usize| match format {
        None => true,
        Some(format) => format.columns.iter().any(|column| column.place == place + 1),
    };
    if let (Some(format), Some(file)) = (format, &options.format_file)
        && let Some(column) = format.columns.iter().find(|column| column.place > count)
    {
        return Err(messages::format_destination(column.field + 1, file));
    }
    let filled = (0..count).filter(|place| is_named(*place) && is_filled(definition, *place, options));
    Ok(filled.collect())
}

fn layout_of(
    definition: &TableDefinition,
    format: Option<&Format>,
    places: &[usize],
    destinations: &[Destination],
    options: &Options,
) -> Result<Layout> {
    let to = |place: usize| places.iter().position(|own| *own == place);
    if let Some(format) = format {
        return Ok(Layout::of_format(format, destinations, |column| {
            column.place.checked_sub(1).and_then(to)
        }));
    }
    let columns = definition.columns.iter().enumerate();
    let columns = columns.filter(|(_, column)| !column.generated.as_ref().is_some_and(|generated| generated.is_hidden));
    let columns: Vec<_> = columns
        .map(|(place, column)| (column.sql_type, column.nullable, to(place)))
        .collect();
    Layout::of_columns(&columns, options)
}

/// What a client would announce of the same columns.
fn client_columns(definition: &TableDefinition, places: &[usize]) -> Vec<ClientColumn> {
    let columns = places.iter().filter_map(|place| definition.columns.get(*place));
    let announced = columns.map(|column| ClientColumn::of_column(&column.name, column.sql_type, column.nullable));
    announced.collect()
}

/// The rows of a file as those that a client sends.
struct FileRows {
    reader: Reader<RowsFile>,
    columns: Vec<ClientColumn>,
    /// Rows that the batch still takes; `None` for all.
    left: Option<u64>,
    /// Whether the file has no more rows.
    is_over: bool,
    /// The rows that were left out.
    faults: Vec<Fault>,
    charge: Charge,
    errors_max: u64,
    errors: Option<ErrorFiles>,
}

impl ClientRows for FileRows {
    fn columns(&self) -> &[ClientColumn] {
        &self.columns
    }

    fn next(&mut self, row: &mut Vec<Value>) -> Result<bool> {
        if self.left == Some(0) {
            return Ok(false);
        }
        loop {
            match self.reader.next(row)? {
                Read::Row => {
                    self.left = self.left.map(|left| left - 1);
                    return Ok(true);
                }
                Read::End => {
                    self.is_over = true;
                    return Ok(false);
                }
                Read::Fault(fault) => self.leave_out(fault)?,
            }
        }
    }
}

impl FileRows {
    /// # Errors
    /// 4865 for one row too many, with 7399 and 7330 behind it; 4870.
    fn leave_out(&mut self, fault: Fault) -> Result<()> {
        if let Some(errors) = &mut self.errors {
            errors.add(self.reader.file(), &fault)?;
        }
        let count = self.faults.len() as u64 + 1;
        self.charge.grow_to(count * size_of::<Fault>() as u64)?;
        self.faults.push(fault);
        match count > self.errors_max {
            true => Err(too_many(self.errors_max)),
            false => Ok(()),
        }
    }
}

fn too_many(errors_max: u64) -> Error {
    messages::bulk_too_many_errors(errors_max)
        .followed_by(messages::bulk_provider_error())
        .followed_by(messages::bulk_fetch_failed())
}

/// Where the rows go that were left out.
struct ErrorFiles {
    rows: FaultyRowsFile,
    control: FaultyRowsFile,
}

impl ErrorFiles {
    fn create(executor: &Executor<'_>, options: &Options) -> Result<Option<ErrorFiles>> {
        let Some(name) = &options.error_file else {
            return Ok(None);
        };
        let instance: &Arc<engine::instance::Instance> = &executor.session.instance;
        let rows = instance.create_faulty_rows_file(name)?;
        match instance.create_faulty_rows_file(&format!("{name}{CONTROL_SUFFIX}")) {
            Ok(control) => Ok(Some(ErrorFiles { rows, control })),
            Err(error) => {
                instance.remove_faulty_rows_file(rows);
                Err(error)
            }
        }
    }

    /// Copies a row, and says where it was.
    fn add(&mut self, file: &RowsFile, fault: &Fault) -> Result<()> {
        let line = format!(
            "Row {} File Offset {} ErrorFile Offset {} - HRESULT 0x80004005\r\n",
            fault.row,
            fault.bytes.start,
            self.rows.bytes()
        );
        self.control.append(line.as_bytes())?;
        let mut piece = vec![0; usize::try_from(FIELD_BYTES_MAX).unwrap_or(0)];
        let mut at = fault.bytes.start;
        while at < fault.bytes.end {
            engine::cancel::look()?;
            let length = (fault.bytes.end - at).min(FIELD_BYTES_MAX);
            let piece = &mut piece[..usize::try_from(length).unwrap_or(0)];
            file.read_at(at, piece)?;
            self.rows.append(piece)?;
            at += length;
        }
        Ok(())
    }
}
