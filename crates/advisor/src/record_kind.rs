//! Names of what log records do, SQL Server's and ours, counted by number.
//!
//! Our records (format version 0x5603) begin alike whatever they say:
//!
//! ```text
//! 0    u16  length of the whole record
//! 2    u8   kind
//! ```
//!
//! | kind | name | meaning |
//! |---|---|---|
//! | 1 | `LOP_VLFLAB_CHANGE` | pages changed |
//! | 2 | `LOP_VLFLAB_COMPENSATION` | one change undone |
//! | 128, 129, 130 | `LOP_BEGIN_XACT`, `LOP_COMMIT_XACT`, `LOP_ABORT_XACT` | a transaction begins, commits, is rolled back |
//! | 150, 152, 153 | `LOP_BEGIN_CKPT`, `LOP_XACT_CKPT`, `LOP_END_CKPT` | a checkpoint begins, its transactions, its end |
//! | 160 | `LOP_VLFLAB_LOCKS_CKPT` | a checkpoint's transactions' locks on what they changed |
//! | 161 | `LOP_VLFLAB_ID_RANGE` | ids of allocation units and objects are promised |
//! | 211 | `LOP_SHRINK_NOOP` | nothing: fills a VLF that the log was to leave |
//!
//! Where SQL Server has an operation of the same meaning, number and name are its own.

use vlf::FormatVersion;
use vlf::record::{Operation, SqlRecord};

const OURS: [(u8, &str); 4] = [
    (1, "LOP_VLFLAB_CHANGE"),
    (2, "LOP_VLFLAB_COMPENSATION"),
    (160, "LOP_VLFLAB_LOCKS_CKPT"),
    (161, "LOP_VLFLAB_ID_RANGE"),
];
const SHARED: [u8; 7] = [128, 129, 130, 150, 152, 153, 211];

/// The number of the operation of a record in `format`; `None` when the bytes are no record.
pub fn number_of(format: FormatVersion, record: &[u8]) -> Option<u8> {
    if format != FormatVersion::Vlflab {
        return SqlRecord::decode(format, record).map(|record| record.operation.0);
    }
    let (length, rest) = record.split_first_chunk::<2>()?;
    let sound = usize::from(u16::from_le_bytes(*length)) == record.len();
    rest.first().copied().filter(|_| sound)
}

/// The name of operation `number` in `format`.
pub fn name_of(format: FormatVersion, number: u8) -> String {
    if format == FormatVersion::Vlflab && !SHARED.contains(&number) {
        let ours = OURS.iter().find(|(known, _)| *known == number);
        return ours.map_or_else(|| format!("LOP_VLFLAB_{number}"), |(_, name)| (*name).to_owned());
    }
    Operation(number).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_and_sql_servers_numbers_do_not_mix() {
        let ours = |number| name_of(FormatVersion::Vlflab, number);
        assert_eq!(ours(1), "LOP_VLFLAB_CHANGE");
        assert_eq!(ours(2), "LOP_VLFLAB_COMPENSATION");
        assert_eq!(ours(3), "LOP_VLFLAB_3");
        assert_eq!(ours(129), "LOP_COMMIT_XACT");
        assert_eq!(ours(211), "LOP_SHRINK_NOOP");
        assert_eq!(name_of(FormatVersion::SqlServer2012, 2), "LOP_INSERT_ROWS");
    }

    #[test]
    fn a_record_of_ours_names_its_own_length() {
        let record = [5, 0, 129, 0, 0];
        assert_eq!(number_of(FormatVersion::Vlflab, &record), Some(129));
        assert_eq!(number_of(FormatVersion::Vlflab, &record[..4]), None);
        assert_eq!(number_of(FormatVersion::Vlflab, &record[..2]), None);
        assert_eq!(number_of(FormatVersion::Vlflab, &[]), None);
    }
}
