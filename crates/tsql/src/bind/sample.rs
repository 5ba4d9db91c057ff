//! TABLESAMPLE: which share of a table's pages a scan reads.
//!
//! "TABLESAMPLE SYSTEM returns an approximate percentage of rows and generates a random value for each physical 8-KB page in the table"
//! (SQL Server docs, "Limiting Result Sets by Using TABLESAMPLE"). Size and seed are constants. ROWS becomes a share of the rows that the
//! table has when the statement runs. Views, functions, table variables and derived tables have no pages of their own.

use engine::catalog::TableDefinition;
use engine::error::Result;
use engine::types::{SqlType, Value};

use super::Binder;
use super::fold::value_of;
use crate::ast::{Expression, SampleUnit, TableReference};
use crate::plan::{SampleSize, SampledPages};
use crate::scalar::convert::convert;

engine::messages! { fn;
    /// 476: a share that is none.
    percent_out_of_range(percent: f64, table: &str) = 476, 16, 1, "Invalid PERCENT tablesample size \"{percent:.6}\" for table \"{table}\". The PERCENT tablesample size must be between 0 and 100.";
    /// 477: a count of rows or a seed with a fraction.
    number_not_whole(table: &str) = 477, 16, 1, "Invalid ROWS value or REPEATABLE seed in the TABLESAMPLE clause for table \"{table}\". The value or seed must be an integer.";
    /// 479: a count of rows or a seed that is not positive.
    number_not_positive(number: i64, table: &str) = 479, 16, 1, "Invalid ROWS value or REPEATABLE seed \"{number}\" in the TABLESAMPLE clause for table \"{table}\". The value or seed must be greater than 0.";
    /// 482: a size or a seed that is not constant.
    not_constant() = 482, 16, 1, "Non-constant or invalid expression is in the TABLESAMPLE or the REPEATABLE clause.";
    /// 494: a sample of a view or of anything else without pages.
    of_no_table() = 494, 16, 1, "The TABLESAMPLE clause can only be used with local tables.";
}

/// Fails at a sample of anything but a table.
///
/// # Errors
/// 494.
pub(super) fn refuse_sample(reference: &TableReference) -> Result<()> {
    match reference.sample {
        Some(_) => Err(of_no_table()),
        None => Ok(()),
    }
}

impl Binder<'_> {
    /// TABLESAMPLE of a table.
    ///
    /// # Errors
    /// 482 for what is not known when the statement is bound; 476, 477, 479 for a size or a seed that cannot be.
    pub(super) fn sampled(
        &self,
        reference: &TableReference,
        definition: &TableDefinition,
    ) -> Result<Option<SampledPages>> {
        let Some(sample) = &reference.sample else {
            return Ok(None);
        };
        let table = definition.name.as_str();
        let (size, sql_type) = self.constant_of_sample(&sample.size)?;
        let size = match sample.unit {
            SampleUnit::Rows => SampleSize::Rows(whole(&size, table)?),
            SampleUnit::Percent => match convert(&size, sql_type, SqlType::Float, None) {
                Ok(Value::Float(percent)) if (0.0..=100.0).contains(&percent) => SampleSize::Percent(percent),
                Ok(Value::Float(percent)) => return Err(percent_out_of_range(percent, table)),
                _ => return Err(not_constant()),
            },
        };
        let seed = match &sample.seed {
            Some(seed) => Some(whole(&self.constant_of_sample(seed)?.0, table)?),
            None => None,
        };
        Ok(Some(SampledPages { size, seed }))
    }

    /// The value of a constant expression, with its type.
    fn constant_of_sample(&self, written: &Expression) -> Result<(Value, SqlType)> {
        let bound = Binder::new(self.session, self.variables).expression(written)?;
        let is_number = bound.sql_type.is_numeric();
        let value = value_of(&bound).filter(|value| is_number && !value.is_null());
        value.map(|value| (value, bound.sql_type)).ok_or_else(not_constant)
    }
}

/// A count of rows or a seed.
fn whole(value: &Value, table: &str) -> Result<i64> {
    let number = match value {
        Value::Decimal(number) if number.scale == 0 => i64::try_from(number.coefficient()).ok(),
        other => other.as_i64(),
    };
    match number {
        Some(number) if number > 0 => Ok(number),
        Some(number) => Err(number_not_positive(number, table)),
        None => Err(number_not_whole(table)),
    }
}
