//! The protocol versions a client may speak, and how each is written on the wire.
//!
//! LOGIN7 carries the version as a little-endian u32, LOGINACK answers it big-endian; the values
//! are those of MS-TDS. The variants are ordered, so "7.2 and later" is `version >= V7_2`.

/// A TDS version, oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TdsVersion {
    /// SQL Server 2000: no ALL_HEADERS, 4-byte row counts, 2-byte user types.
    V7_1,
    /// SQL Server 2000 SP1; on the wire like 7.1.
    V7_1Revision1,
    /// SQL Server 2005: MAX types, ALL_HEADERS, 8-byte row counts.
    V7_2,
    /// SQL Server 2008: date, time, datetime2, datetimeoffset.
    V7_3A,
    /// SQL Server 2008 R2: NBCROW.
    V7_3B,
    /// SQL Server 2012 and later: feature extensions.
    V7_4,
    /// SQL Server 2022 and later: as 7.4, after a TLS handshake.
    V8_0,
}

impl TdsVersion {
    /// The version that serves a client whose LOGIN7 asks for `requested`: the newest known one
    /// that is not above the request. None below 7.1 (7.0 and the 4.2/5.0 family).
    pub fn from_login(requested: u32) -> Option<Self> {
        match requested {
            0x0700_0000 | 0x7000_0000 => None,
            0x0800_0000 => Some(Self::V8_0),
            0x0000_0071 | 0x0701_0000 | 0x7100_0000 => Some(Self::V7_1),
            0x7100_0001..0x7200_0000 => Some(Self::V7_1Revision1),
            0x7200_0000..0x730A_0000 => Some(Self::V7_2),
            0x730A_0000..0x730B_0000 => Some(Self::V7_3A),
            0x730B_0000..0x7400_0000 => Some(Self::V7_3B),
            0x7400_0000.. => Some(Self::V7_4),
            _ => None,
        }
    }

    /// The value LOGINACK carries.
    pub fn acknowledged(self) -> u32 {
        match self {
            Self::V7_1 => 0x0701_0000,
            Self::V7_1Revision1 => 0x7100_0001,
            Self::V7_2 => 0x7209_0002,
            Self::V7_3A => 0x730A_0003,
            Self::V7_3B => 0x730B_0003,
            Self::V7_4 => 0x7400_0004,
            Self::V8_0 => 0x0800_0000,
        }
    }

    /// Requests start with ALL_HEADERS; row counts have 8 bytes, user types and line numbers 4;
    /// the MAX types exist.
    pub fn is_2005_or_later(self) -> bool {
        self >= Self::V7_2
    }

    /// The date and time types of SQL Server 2008 exist.
    pub fn has_date_types(self) -> bool {
        self >= Self::V7_3A
    }

    /// The client understands NBCROW.
    pub fn has_null_bitmap_rows(self) -> bool {
        self >= Self::V7_3B
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_gets_the_newest_version_not_above_its_own() {
        let walks = [
            (0x7000_0000, None),
            (0x7100_0000, Some(TdsVersion::V7_1)),
            (0x7100_0001, Some(TdsVersion::V7_1Revision1)),
            (0x7209_0002, Some(TdsVersion::V7_2)),
            (0x730A_0003, Some(TdsVersion::V7_3A)),
            (0x730B_0003, Some(TdsVersion::V7_3B)),
            (0x7400_0004, Some(TdsVersion::V7_4)),
            (0x7500_0000, Some(TdsVersion::V7_4)),
            (0x0800_0000, Some(TdsVersion::V8_0)),
            (0x0000_0000, None),
        ];
        for (requested, served) in walks {
            assert_eq!(TdsVersion::from_login(requested), served, "{requested:#x}");
        }
    }
}
