//! The settings of `sp_configure`: names, ranges and defaults as SQL Server has them; values configured and in use.
//!
//! All settings of SQL Server are listed, except those for parts of a machine (affinity masks). Settings that affect results are
//! implemented: limits of memory and of parallel work, the recovery interval, `default language`, `two digit year cutoff`, `user options`,
//! `show advanced options`. `query governor cost limit` is refused, because queries are never refused by cost. The others control features
//! that are refused by their own number, or resources that are managed differently: they are stored and shown. A value is configured first
//! and takes effect with RECONFIGURE, or with the next startup if the setting is not dynamic.

use crate::error::{Error, Result};
use parking_lot::Mutex;

/// One setting. Ranges and defaults are SQL Server's (sql-docs, "Server configuration options").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConfigurationOption {
    /// `configuration_id` in `sys.configurations`.
    pub id: u32,
    pub name: &'static str,
    /// Least value.
    pub minimum: i64,
    /// Greatest value.
    pub maximum: i64,
    /// Value of a new instance.
    pub default: i64,
    /// Shown only with `show advanced options`.
    pub advanced: bool,
    /// Whether RECONFIGURE brings it into use; else the next start does.
    pub dynamic: bool,
}

/// A setting that RECONFIGURE brings into use.
const fn option(id: u32, name: &'static str, range: (i64, i64), default: i64, advanced: bool) -> ConfigurationOption {
    ConfigurationOption {
        id,
        name,
        minimum: range.0,
        maximum: range.1,
        default,
        advanced,
        dynamic: true,
    }
}

/// A setting that the next start brings into use.
const fn at_start(id: u32, name: &'static str, range: (i64, i64), default: i64, advanced: bool) -> ConfigurationOption {
    ConfigurationOption {
        dynamic: false,
        ..option(id, name, range, default, advanced)
    }
}

const SWITCH: (i64, i64) = (0, 1);
const INT_MAX: i64 = 2_147_483_647;

/// Every setting, in the order of ids (sql-docs, "Server configuration options", "sys.configurations").
pub const OPTIONS: [ConfigurationOption; 79] = [
    option(101, "recovery interval (min)", (0, 32_767), 0, true),
    option(102, "allow updates", SWITCH, 0, false),
    at_start(103, "user connections", (0, 32_767), 0, true),
    at_start(106, "locks", (5_000, INT_MAX), 0, true),
    at_start(107, "open objects", (0, INT_MAX), 0, true),
    at_start(109, "fill factor (%)", (0, 100), 0, true),
    option(114, "disallow results from triggers", SWITCH, 0, true),
    option(115, "nested triggers", SWITCH, 1, false),
    option(116, "server trigger recursion", SWITCH, 1, false),
    at_start(117, "remote access", SWITCH, 1, false),
    option(124, "default language", (0, 9_999), 0, false),
    option(400, "cross db ownership chaining", SWITCH, 0, false),
    option(503, "max worker threads", (128, 65_535), 0, true),
    option(505, "network packet size (B)", (512, 32_767), 4_096, true),
    option(518, "show advanced options", SWITCH, 0, false),
    option(542, "remote proc trans", SWITCH, 0, false),
    at_start(544, "c2 audit mode", SWITCH, 0, true),
    option(1126, "default full-text language", (0, INT_MAX), 1_033, true),
    option(1127, "two digit year cutoff", (1_753, 9_999), 2_049, true),
    option(1505, "index create memory (KB)", (704, INT_MAX), 0, true),
    at_start(1517, "priority boost", SWITCH, 0, true),
    option(1519, "remote login timeout (s)", (0, INT_MAX), 10, false),
    option(1520, "remote query timeout (s)", (0, INT_MAX), 600, false),
    option(1531, "cursor threshold", (-1, INT_MAX), -1, true),
    at_start(1532, "set working set size", SWITCH, 0, true),
    option(1534, "user options", (0, 32_767), 0, false),
    option(1536, "max text repl size (B)", (-1, INT_MAX), 65_536, false),
    option(1537, "media retention", (0, 365), 0, true),
    option(1538, "cost threshold for parallelism", (0, 32_767), 5, true),
    option(1539, "max degree of parallelism", (0, 32_767), 0, true),
    option(1540, "min memory per query (KB)", (512, INT_MAX), 1_024, true),
    option(1541, "query wait (s)", (-1, INT_MAX), -1, true),
    option(1543, "min server memory (MB)", (0, INT_MAX), 0, true),
    option(1544, "max server memory (MB)", (128, INT_MAX), INT_MAX, true),
    option(1545, "query governor cost limit", (0, INT_MAX), 0, true),
    at_start(1546, "lightweight pooling", SWITCH, 0, true),
    at_start(1547, "scan for startup procs", SWITCH, 0, true),
    option(1555, "transform noise words", SWITCH, 0, true),
    option(1556, "precompute rank", SWITCH, 0, true),
    option(1557, "PH timeout (s)", (1, 3_600), 60, true),
    option(1562, "clr enabled", SWITCH, 0, false),
    option(1563, "max full-text crawl range", (0, 256), 4, true),
    option(1564, "ft notify bandwidth (min)", (0, 32_767), 0, true),
    option(1565, "ft notify bandwidth (max)", (0, 32_767), 100, true),
    option(1566, "ft crawl bandwidth (min)", (0, 32_767), 0, true),
    option(1567, "ft crawl bandwidth (max)", (0, 32_767), 100, true),
    option(1568, "default trace enabled", SWITCH, 1, true),
    option(1569, "blocked process threshold (s)", (0, 86_400), 0, true),
    option(1570, "in-doubt xact resolution", (0, 2), 0, true),
    option(1576, "remote admin connections", SWITCH, 0, false),
    at_start(1577, "common criteria compliance enabled", SWITCH, 0, true),
    option(1578, "EKM provider enabled", SWITCH, 0, true),
    option(1579, "backup compression default", SWITCH, 0, false),
    option(1580, "filestream access level", (0, 2), 0, false),
    option(1581, "optimize for ad hoc workloads", SWITCH, 0, true),
    option(1582, "access check cache bucket count", (0, 65_536), 0, true),
    option(1583, "access check cache quota", (0, INT_MAX), 0, true),
    option(1584, "backup checksum default", SWITCH, 0, false),
    at_start(1585, "automatic soft-NUMA disabled", SWITCH, 0, true),
    option(1586, "external scripts enabled", SWITCH, 0, false),
    option(1587, "clr strict security", SWITCH, 1, true),
    at_start(1588, "column encryption enclave type", (0, 2), 0, false),
    at_start(1589, "tempdb metadata memory-optimized", SWITCH, 0, true),
    option(1591, "ADR cleaner retry timeout (min)", (0, 32_767), 120, true),
    option(1592, "ADR Preallocation Factor", (0, 32_767), 4, true),
    option(16_384, "Agent XPs", SWITCH, 0, true),
    option(16_386, "Database Mail XPs", SWITCH, 0, true),
    option(16_387, "SMO and DMO XPs", SWITCH, 1, true),
    option(16_388, "Ole Automation Procedures", SWITCH, 0, true),
    option(16_390, "xp_cmdshell", SWITCH, 0, true),
    option(16_391, "Ad Hoc Distributed Queries", SWITCH, 0, true),
    option(16_392, "Replication XPs", SWITCH, 0, true),
    option(16_393, "contained database authentication", SWITCH, 0, false),
    at_start(16_394, "hadoop connectivity", (0, 7), 0, false),
    option(16_395, "polybase network encryption", SWITCH, 1, false),
    option(16_396, "remote data archive", SWITCH, 0, false),
    option(16_397, "allow polybase export", SWITCH, 0, false),
    option(16_398, "allow filesystem enumeration", SWITCH, 1, true),
    option(16_399, "polybase enabled", SWITCH, 0, false),
];

/// A setting with its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConfiguredOption {
    pub option: ConfigurationOption,
    /// As configured: in use after RECONFIGURE.
    pub configured: i64,
    pub in_use: i64,
}

/// The settings of an instance.
pub struct Configuration {
    values: Mutex<Vec<ConfiguredOption>>,
}

impl Configuration {
    /// Defaults, with `stored` values (by name) over them.
    pub fn new(stored: &[(String, i64)]) -> Configuration {
        let value = |option: ConfigurationOption| {
            let stored = stored.iter().find(|(name, _)| name == option.name);
            let value = stored.map_or(option.default, |(_, value)| *value);
            ConfiguredOption {
                option,
                configured: value,
                in_use: value,
            }
        };
        Configuration {
            values: Mutex::new(OPTIONS.into_iter().map(value).collect()),
        }
    }

    pub fn all(&self) -> Vec<ConfiguredOption> {
        self.values.lock().clone()
    }

    /// The value in use of a setting by its full name; the default's zero for one that does not exist.
    pub fn in_use(&self, name: &str) -> i64 {
        let values = self.values.lock();
        values
            .iter()
            .find(|value| value.option.name == name)
            .map_or(0, |value| value.in_use)
    }

    /// Configures a value; a unique part of the name is enough, as for `sp_configure`. Returns the former and new state.
    ///
    /// # Errors
    /// 15123 for an unknown or ambiguous name, 15129 for a value out of range, 40517 for a limit that queries would be refused by.
    pub fn configure(&self, name: &str, value: i64) -> Result<(ConfiguredOption, ConfiguredOption)> {
        let mut values = self.values.lock();
        let folded = name.trim().to_lowercase();
        let exact = values
            .iter()
            .position(|entry| entry.option.name.to_lowercase() == folded);
        let matches: Vec<usize> = (0..values.len())
            .filter(|&index| values[index].option.name.to_lowercase().contains(&folded))
            .collect();
        let index = match (exact, matches.as_slice()) {
            (Some(index), _) | (None, &[index]) => index,
            _ => return Err(Error::no_such_option(name)),
        };
        let former = values[index];
        if value < former.option.minimum || value > former.option.maximum {
            return Err(Error::option_value(value, former.option.name));
        }
        if former.option.name == "query governor cost limit" && value != 0 {
            let text =
                "Keyword or statement option 'query governor cost limit' is not supported in this version of vlflab.";
            return Err(Error::new(40517, 16, 1, text));
        }
        values[index].configured = value;
        Ok((former, values[index]))
    }

    /// RECONFIGURE: configured values of dynamic settings come into use.
    pub fn reconfigure(&self) {
        self.values
            .lock()
            .iter_mut()
            .filter(|value| value.option.dynamic)
            .for_each(|value| value.in_use = value.configured);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_in_use_after_reconfigure_only() {
        let configuration = Configuration::new(&[]);
        configuration.configure("max degree", 2).unwrap();
        assert_eq!(configuration.in_use("max degree of parallelism"), 0);
        configuration.reconfigure();
        assert_eq!(configuration.in_use("max degree of parallelism"), 2);
    }

    #[test]
    fn a_setting_that_is_not_dynamic_waits_for_the_next_start() {
        let configuration = Configuration::new(&[]);
        configuration.configure("priority boost", 1).unwrap();
        configuration.reconfigure();
        assert_eq!(configuration.in_use("priority boost"), 0);
        let started_again = Configuration::new(&[("priority boost".to_owned(), 1)]);
        assert_eq!(started_again.in_use("priority boost"), 1);
    }

    #[test]
    fn ids_and_names_stand_once_and_defaults_are_allowed() {
        for (place, one) in OPTIONS.iter().enumerate() {
            assert!(
                OPTIONS[..place]
                    .iter()
                    .all(|other| other.id < one.id && other.name != one.name)
            );
            // 0 is "as many as are wanted" whatever the least number of them is.
            assert!(
                one.default == 0 || (one.minimum..=one.maximum).contains(&one.default),
                "{}",
                one.name
            );
        }
    }

    #[test]
    fn unknown_ambiguous_and_out_of_range_are_refused() {
        let configuration = Configuration::new(&[]);
        assert_eq!(configuration.configure("no such", 1).unwrap_err().number, 15123);
        assert_eq!(
            configuration.configure("server memory", 1_000).unwrap_err().number,
            15123
        );
        assert_eq!(
            configuration.configure("show advanced options", 2).unwrap_err().number,
            15129
        );
    }
}
