//! SQL Server versions that lay out a log differently.

use std::fmt;
use std::str::FromStr;

/// A released version of SQL Server. Orders by age.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ServerVersion {
    /// SQL Server 2005, product version 9.0.
    V2005,
    /// SQL Server 2008, product version 10.0.
    V2008,
    /// SQL Server 2008 R2, product version 10.50.
    V2008R2,
    /// SQL Server 2012, product version 11.0.
    V2012,
    /// SQL Server 2014, product version 12.0.
    V2014,
    /// SQL Server 2016, product version 13.0.
    V2016,
    /// SQL Server 2017, product version 14.0.
    V2017,
    /// SQL Server 2019, product version 15.0.
    V2019,
    /// SQL Server 2022, product version 16.0.
    V2022,
    /// SQL Server 2025, product version 17.0.
    V2025,
}

impl ServerVersion {
    /// Every version, oldest first.
    pub const ALL: [ServerVersion; 10] = [
        ServerVersion::V2005,
        ServerVersion::V2008,
        ServerVersion::V2008R2,
        ServerVersion::V2012,
        ServerVersion::V2014,
        ServerVersion::V2016,
        ServerVersion::V2017,
        ServerVersion::V2019,
        ServerVersion::V2022,
        ServerVersion::V2025,
    ];

    /// The marketing name without "SQL Server": `2008 R2`, `2022`.
    pub fn name(self) -> &'static str {
        match self {
            ServerVersion::V2005 => "2005",
            ServerVersion::V2008 => "2008",
            ServerVersion::V2008R2 => "2008 R2",
            ServerVersion::V2012 => "2012",
            ServerVersion::V2014 => "2014",
            ServerVersion::V2016 => "2016",
            ServerVersion::V2017 => "2017",
            ServerVersion::V2019 => "2019",
            ServerVersion::V2022 => "2022",
            ServerVersion::V2025 => "2025",
        }
    }

    /// Major and minor part of `SERVERPROPERTY('ProductVersion')`.
    pub fn product_version(self) -> (u8, u8) {
        match self {
            ServerVersion::V2005 => (9, 0),
            ServerVersion::V2008 => (10, 0),
            ServerVersion::V2008R2 => (10, 50),
            ServerVersion::V2012 => (11, 0),
            ServerVersion::V2014 => (12, 0),
            ServerVersion::V2016 => (13, 0),
            ServerVersion::V2017 => (14, 0),
            ServerVersion::V2019 => (15, 0),
            ServerVersion::V2022 => (16, 0),
            ServerVersion::V2025 => (17, 0),
        }
    }

    /// The build number behind them: of each version's release or last service pack (Microsoft's build lists).
    pub fn build(self) -> u16 {
        match self {
            ServerVersion::V2005 => 5000,
            ServerVersion::V2008 | ServerVersion::V2008R2 => 6000,
            ServerVersion::V2012 => 7001,
            ServerVersion::V2014 => 6024,
            ServerVersion::V2016 => 6300,
            ServerVersion::V2017 | ServerVersion::V2022 => 1000,
            ServerVersion::V2019 => 2000,
            ServerVersion::V2025 => 800,
        }
    }

    /// The version of a product version's major and minor part. Minor parts only tell 2008 from 2008 R2.
    pub fn from_product_version(major: u8, minor: u8) -> Option<ServerVersion> {
        if (major, minor) == (10, 50) {
            return Some(ServerVersion::V2008R2);
        }
        ServerVersion::ALL
            .into_iter()
            .find(|version| version.product_version().0 == major)
    }

    /// Two bytes that name the version in a file: the major part, then the minor part.
    pub fn code(self) -> u16 {
        let (major, minor) = self.product_version();
        u16::from_le_bytes([major, minor])
    }

    /// The version of a stored [`ServerVersion::code`].
    pub fn from_code(code: u16) -> Option<ServerVersion> {
        ServerVersion::ALL.into_iter().find(|version| version.code() == code)
    }
}

impl fmt::Display for ServerVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A text that names no version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownVersion(pub String);

impl fmt::Display for UnknownVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown SQL Server version '{}'; known are", self.0)?;
        for version in ServerVersion::ALL {
            write!(f, " {version},")?;
        }
        f.write_str(" or a product version such as 16.0")
    }
}

impl std::error::Error for UnknownVersion {}

/// Reads names (`2022`, `2008R2`, `SQL Server 2008 R2`) and product versions (`16`, `16.0`, `10.50.1600.1`).
impl FromStr for ServerVersion {
    type Err = UnknownVersion;

    fn from_str(text: &str) -> Result<ServerVersion, UnknownVersion> {
        let unknown = || UnknownVersion(text.to_owned());
        let compact: String = text
            .to_ascii_uppercase()
            .chars()
            .filter(|c| !c.is_whitespace())
            .collect();
        let compact = compact.strip_prefix("SQLSERVER").unwrap_or(&compact);
        let by_name = |version: &ServerVersion| version.name().replace(' ', "") == compact;
        if let Some(version) = ServerVersion::ALL.iter().copied().find(by_name) {
            return Ok(version);
        }
        let mut parts = compact.split('.').map(str::parse::<u32>);
        let major = parts.next().and_then(Result::ok).ok_or_else(unknown)?;
        let minor = match parts.next() {
            Some(part) => part.map_err(|_| unknown())?,
            None => 0,
        };
        if parts.any(|part| part.is_err()) {
            return Err(unknown());
        }
        let major = u8::try_from(major).map_err(|_| unknown())?;
        ServerVersion::from_product_version(major, u8::try_from(minor).unwrap_or(u8::MAX)).ok_or_else(unknown)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_version_reads_back_from_every_form() {
        for version in ServerVersion::ALL {
            let (major, minor) = version.product_version();
            assert_eq!(version.name().parse(), Ok(version));
            assert_eq!(format!("SQL Server {version}").parse(), Ok(version));
            assert_eq!(format!("{major}.{minor}").parse(), Ok(version));
            assert_eq!(format!("{major}.{minor}.1600.5").parse(), Ok(version));
            assert_eq!(ServerVersion::from_code(version.code()), Some(version));
        }
        assert!(ServerVersion::ALL.is_sorted());
    }

    #[test]
    fn loose_forms_and_refusals() {
        assert_eq!("2008r2".parse(), Ok(ServerVersion::V2008R2));
        assert_eq!("16".parse(), Ok(ServerVersion::V2022));
        assert_eq!("10.0".parse(), Ok(ServerVersion::V2008));
        for text in ["", "2010", "8.0", "16.x", "16.0.x", "999", "-16"] {
            let error = text.parse::<ServerVersion>().unwrap_err();
            assert!(error.to_string().contains("2008 R2"), "{text}");
        }
    }
}
