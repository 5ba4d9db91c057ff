//! Log sequence numbers: the place of a record in the log.
//!
//! An LSN names a VLF by its sequence number, a log block by its offset inside that VLF in 512-byte sectors, and a record
//! by its slot in the block (1 = first). LSNs order exactly as the records were written. As bytes:
//!
//! ```text
//! 0        4          8      10
//! | vlf LE | block LE | slot |
//! ```
//!
//! SQL Server writes one LSN in three ways (Remus Rusanu, "What is an LSN: log sequence number"):
//! `00000014:000000d9:02eb` (hex), `20:217:747` (decimal) and `20000000021700747` (numeric(25,0): sequence, ten digits of
//! block, five digits of slot).

use std::fmt;
use std::str::FromStr;

use crate::bytes;

/// A VLF's sequence number (`FSeqNo` of `DBCC LOGINFO`): 0 = never used; grows by one whenever the log enters a VLF.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VlfSequence(pub u32);

impl VlfSequence {
    /// The sequence of a VLF that was never used.
    pub const UNUSED: VlfSequence = VlfSequence(0);

    /// The sequence the next VLF gets. `None` when 32 bits are used up.
    pub fn next(self) -> Option<VlfSequence> {
        self.0.checked_add(1).map(VlfSequence)
    }
}

impl fmt::Display for VlfSequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A log sequence number. `Display` gives the hex form; see the module for the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lsn {
    /// Sequence number of the VLF.
    pub vlf: u32,
    /// Offset of the log block from the VLF's start, in 512-byte sectors. The first block is at 16.
    pub block: u32,
    /// Slot of the record in its block, counted from 1. 0 names no record.
    pub slot: u16,
}

const NUMERIC_BLOCK: u128 = 100_000;
const NUMERIC_VLF: u128 = 1_000_000_000_000_000;

impl Lsn {
    /// Before every record; also "none", e.g. the create LSN of a VLF made with its file.
    pub const ZERO: Lsn = Lsn::new(0, 0, 0);
    /// After every record.
    pub const MAX: Lsn = Lsn::new(u32::MAX, u32::MAX, u16::MAX);
    /// Bytes of the encoded form.
    pub const BYTES: usize = 10;

    /// An LSN from its three parts.
    pub const fn new(vlf: u32, block: u32, slot: u16) -> Lsn {
        Lsn { vlf, block, slot }
    }

    /// The VLF part as its newtype.
    pub fn sequence(self) -> VlfSequence {
        VlfSequence(self.vlf)
    }

    /// The same block, another slot.
    pub fn with_slot(self, slot: u16) -> Lsn {
        Lsn { slot, ..self }
    }

    /// Byte offset of the block from the start of its VLF.
    pub fn offset_in_vlf(self) -> u64 {
        u64::from(self.block) * 512
    }

    /// LSN of the first record of the block that follows one of `block_bytes` bytes in the same VLF.
    pub fn next_block(self, block_bytes: usize) -> Lsn {
        let sectors = u32::try_from(block_bytes / 512).unwrap_or(u32::MAX);
        Lsn::new(self.vlf, self.block.saturating_add(sectors), 1)
    }

    /// The ten bytes of the encoded form.
    pub fn to_bytes(self) -> [u8; Lsn::BYTES] {
        let mut out = [0; Lsn::BYTES];
        out[..4].copy_from_slice(&self.vlf.to_le_bytes());
        out[4..8].copy_from_slice(&self.block.to_le_bytes());
        out[8..].copy_from_slice(&self.slot.to_le_bytes());
        out
    }

    /// The LSN of ten bytes. Every value is an LSN.
    pub fn from_bytes(bytes: [u8; Lsn::BYTES]) -> Lsn {
        let [a, b, c, d, e, f, g, h, i, j] = bytes;
        Lsn::new(
            u32::from_le_bytes([a, b, c, d]),
            u32::from_le_bytes([e, f, g, h]),
            u16::from_le_bytes([i, j]),
        )
    }

    /// The LSN stored at `offset` of `bytes`; `None` past their end.
    pub fn read(bytes: &[u8], offset: usize) -> Option<Lsn> {
        bytes::array_at(bytes, offset).map(Lsn::from_bytes)
    }

    /// The numeric(25,0) form, as in `msdb.dbo.backupset` and `DBCC LOGINFO`.
    pub fn to_numeric(self) -> u128 {
        u128::from(self.vlf) * NUMERIC_VLF + u128::from(self.block) * NUMERIC_BLOCK + u128::from(self.slot)
    }

    /// The LSN of a numeric(25,0) value.
    ///
    /// # Errors
    /// A part that does not fit its field.
    pub fn from_numeric(value: u128) -> Result<Lsn, LsnParseError> {
        let part = |part: &'static str, value: u128, max: u128| {
            if value > max {
                Err(LsnParseError::PartTooLarge { part, max })
            } else {
                Ok(value)
            }
        };
        let vlf = part("VLF sequence", value / NUMERIC_VLF, u128::from(u32::MAX))?;
        let block = part("block", value % NUMERIC_VLF / NUMERIC_BLOCK, u128::from(u32::MAX))?;
        let slot = part("slot", value % NUMERIC_BLOCK, u128::from(u16::MAX))?;
        Ok(Lsn::new(vlf as u32, block as u32, slot as u16))
    }

    /// The decimal colon form, `20:217:747`.
    pub fn to_decimal(self) -> String {
        format!("{}:{}:{}", self.vlf, self.block, self.slot)
    }

    /// Reads the decimal colon form. [`FromStr`] cannot: `20:217:747` is also valid hex.
    ///
    /// # Errors
    /// Says which part is missing, not a number, or too large.
    pub fn parse_decimal(text: &str) -> Result<Lsn, LsnParseError> {
        parse_colons(text.trim(), 10)
    }
}

impl fmt::Display for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}:{:08x}:{:04x}", self.vlf, self.block, self.slot)
    }
}

/// Why a text is not an LSN.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LsnParseError {
    /// Nothing to read.
    Empty,
    /// A colon form has three parts.
    PartCount {
        /// Parts found.
        found: usize,
    },
    /// A part has a character that is not a digit of its base, or no digit at all.
    NotANumber { part: &'static str, text: String },
    /// A part does not fit its field.
    PartTooLarge {
        part: &'static str,
        /// Largest value that fits.
        max: u128,
    },
}

impl fmt::Display for LsnParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LsnParseError::Empty => f.write_str("an LSN cannot be empty"),
            LsnParseError::PartCount { found } => {
                write!(f, "an LSN has three parts, VLF:block:slot, this text has {found}")
            }
            LsnParseError::NotANumber { part, text } => {
                write!(f, "the {part} part of the LSN is not a number: '{text}'")
            }
            LsnParseError::PartTooLarge { part, max } => {
                write!(f, "the {part} part of the LSN is larger than {max}")
            }
        }
    }
}

impl std::error::Error for LsnParseError {}

/// Reads the hex form (`0x` allowed in front of it) and, for text without colons, the numeric form.
impl FromStr for Lsn {
    type Err = LsnParseError;

    fn from_str(text: &str) -> Result<Lsn, LsnParseError> {
        let text = text.trim();
        let hex = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
        if text.contains(':') || hex.is_some() {
            return parse_colons(hex.unwrap_or(text), 16);
        }
        if text.is_empty() {
            return Err(LsnParseError::Empty);
        }
        let value = number("numeric", text, 10, NUMERIC_VLF << 32)?;
        Lsn::from_numeric(value)
    }
}

fn parse_colons(text: &str, base: u32) -> Result<Lsn, LsnParseError> {
    if text.is_empty() {
        return Err(LsnParseError::Empty);
    }
    let parts: Vec<&str> = text.split(':').collect();
    let [vlf, block, slot] = parts.as_slice() else {
        return Err(LsnParseError::PartCount { found: parts.len() });
    };
    let vlf = number("VLF sequence", vlf, base, u128::from(u32::MAX))?;
    let block = number("block", block, base, u128::from(u32::MAX))?;
    let slot = number("slot", slot, base, u128::from(u16::MAX))?;
    Ok(Lsn::new(vlf as u32, block as u32, slot as u16))
}

/// Digits only: `from_str_radix` alone would also take a sign.
fn number(part: &'static str, text: &str, base: u32, max: u128) -> Result<u128, LsnParseError> {
    if text.is_empty() || !text.chars().all(|c| c.is_digit(base)) {
        return Err(LsnParseError::NotANumber {
            part,
            text: text.to_owned(),
        });
    }
    match u128::from_str_radix(text, base) {
        Ok(value) if value <= max => Ok(value),
        _ => Err(LsnParseError::PartTooLarge { part, max }),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// The published example: one LSN in its three forms.
    #[test]
    fn three_forms_of_one_lsn() {
        let lsn = Lsn::new(20, 217, 747);
        assert_eq!(lsn.to_string(), "00000014:000000d9:02eb");
        assert_eq!(lsn.to_decimal(), "20:217:747");
        assert_eq!(lsn.to_numeric(), 20_000_000_021_700_747);
        assert_eq!("00000014:000000d9:02eb".parse(), Ok(lsn));
        assert_eq!("0x00000014:000000d9:02eb".parse(), Ok(lsn));
        assert_eq!(" 20000000021700747 ".parse(), Ok(lsn));
        assert_eq!(Lsn::parse_decimal("20:217:747"), Ok(lsn));
        assert_eq!(Lsn::from_bytes(lsn.to_bytes()), lsn);
        assert_eq!(lsn.to_bytes(), [20, 0, 0, 0, 217, 0, 0, 0, 0xeb, 0x02]);
    }

    #[test]
    fn extremes_survive_every_form() {
        for lsn in [Lsn::ZERO, Lsn::MAX, Lsn::new(0, 0, 1), Lsn::new(1, 0, 0)] {
            assert_eq!(lsn.to_string().parse(), Ok(lsn));
            assert_eq!(lsn.to_numeric().to_string().parse(), Ok(lsn));
            assert_eq!(Lsn::parse_decimal(&lsn.to_decimal()), Ok(lsn));
            assert_eq!(Lsn::from_bytes(lsn.to_bytes()), lsn);
        }
    }

    #[test]
    fn orders_by_vlf_then_block_then_slot() {
        let in_order = [
            Lsn::ZERO,
            Lsn::new(1, 16, 1),
            Lsn::new(1, 16, 2),
            Lsn::new(1, 17, 1),
            Lsn::new(2, 16, 1),
            Lsn::MAX,
        ];
        assert!(in_order.is_sorted());
        let numeric: Vec<u128> = in_order.iter().map(|lsn| lsn.to_numeric()).collect();
        assert!(numeric.is_sorted());
    }

    #[test]
    fn errors_say_what_is_wrong() {
        let error = |text: &str| text.parse::<Lsn>().unwrap_err().to_string();
        assert_eq!(error(""), "an LSN cannot be empty");
        assert_eq!(error("0x"), "an LSN cannot be empty");
        assert!(error("1:2").contains("this text has 2"));
        assert!(error("1:2:3:4").contains("this text has 4"));
        assert_eq!(error("1:xyz:3"), "the block part of the LSN is not a number: 'xyz'");
        assert!(error("-1:2:3").contains("VLF sequence part"));
        assert!(error("1:2:10000").contains("larger than 65535"));
        assert!(error("99999999999999999999999999999999").contains("numeric part"));
        assert!(error("99999").contains("slot part"));
        assert!(Lsn::parse_decimal("1:2:65536").is_err());
    }

    #[test]
    fn next_block_counts_sectors() {
        let lsn = Lsn::new(7, 16, 9);
        assert_eq!(lsn.next_block(61_440), Lsn::new(7, 16 + 120, 1));
        assert_eq!(lsn.offset_in_vlf(), 8192);
        assert_eq!(VlfSequence(7).next(), Some(VlfSequence(8)));
        assert_eq!(VlfSequence(u32::MAX).next(), None);
    }
}
