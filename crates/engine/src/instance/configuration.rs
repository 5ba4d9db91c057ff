//! The settings of `sp_configure`: names, ranges and defaults as SQL Server has them; values configured and in use.
//!
//! Only settings that this engine obeys, or that published scripts set and read back, are listed. A value is configured
//! first and comes into use with RECONFIGURE.

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
}

const fn option(id: u32, name: &'static str, range: (i64, i64), default: i64, advanced: bool) -> ConfigurationOption {
    ConfigurationOption {
        id,
        name,
        minimum: range.0,
        maximum: range.1,
        default,
        advanced,
    }
}

/// Every setting, in the order of names.
pub const OPTIONS: [ConfigurationOption; 9] = [
    option(1579, "backup compression default", (0, 1), 0, false),
    option(1538, "cost threshold for parallelism", (0, 32_767), 5, true),
    option(109, "fill factor (%)", (0, 100), 0, true),
    option(1539, "max degree of parallelism", (0, 32_767), 0, true),
    option(
        1544,
        "max server memory (MB)",
        (128, 2_147_483_647),
        2_147_483_647,
        true,
    ),
    option(1543, "min server memory (MB)", (0, 2_147_483_647), 0, true),
    option(101, "recovery interval (min)", (0, 32_767), 0, true),
    option(103, "user connections", (0, 32_767), 0, true),
    option(518, "show advanced options", (0, 1), 0, false),
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

    /// All settings.
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
    /// Errors: 15123 for an unknown or ambiguous name, 15129 for a value out of range.
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
        values[index].configured = value;
        Ok((former, values[index]))
    }

    /// RECONFIGURE: configured values come into use.
    pub fn reconfigure(&self) {
        self.values
            .lock()
            .iter_mut()
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
