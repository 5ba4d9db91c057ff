//! The names of log records, SQL Server's and ours.
//!
//! A SQL Server record has the name of its operation number. One of our records that changes pages has the name of its first step, in SQL
//! Server's terms if they fit ([`vlf::own_record`] has the table, which `fn_dblog` uses too).

use std::borrow::Cow;

use vlf::record::SqlRecord;
use vlf::{FormatVersion, own_record};

/// What begins a checkpoint, in both families of records.
pub const BEGIN_CHECKPOINT: u8 = 150;
/// What ends a checkpoint, and says that it is complete.
pub const END_CHECKPOINT: u8 = 153;

/// The number of the operation of a record in `format`; `None` when the bytes are no record.
pub fn number_of(format: FormatVersion, record: &[u8]) -> Option<u8> {
    match format {
        FormatVersion::Vlflab => own_record::number_of(record),
        _ => SqlRecord::decode(format, record).map(|record| record.operation.0),
    }
}

/// The name of what a record in `format` does; `None` when the bytes are no record.
pub fn name_of(format: FormatVersion, record: &[u8]) -> Option<Cow<'static, str>> {
    if format == FormatVersion::Vlflab {
        return own_record::operation_name(record);
    }
    let operation = SqlRecord::decode(format, record)?.operation;
    Some(
        operation
            .name()
            .map_or_else(|| Cow::Owned(operation.to_string()), Cow::Borrowed),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_of_ours_names_its_own_length() {
        let record = [5, 0, 129, 0, 0];
        assert_eq!(number_of(FormatVersion::Vlflab, &record), Some(129));
        assert_eq!(
            name_of(FormatVersion::Vlflab, &record).as_deref(),
            Some("LOP_COMMIT_XACT")
        );
        assert_eq!(number_of(FormatVersion::Vlflab, &record[..4]), None);
        assert_eq!(name_of(FormatVersion::Vlflab, &record[..2]), None);
        assert_eq!(number_of(FormatVersion::Vlflab, &[]), None);
    }
}
