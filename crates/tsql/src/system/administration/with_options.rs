//! Common parts of BACKUP and RESTORE: devices, the options after WITH, and several errors for one failure.

use engine::backup::FAMILIES_MAX;
use engine::error::{Error, Result};

use super::super::{Host, text_of};
use super::required_text;
use crate::ast::{BackupDevice, DatabaseReference, OptionValue};
use crate::grammar::{Fate, Place};

/// 40517 for what this engine knows of but does not do.
pub(super) fn unsupported(what: &str) -> Error {
    crate::messages::not_supported(what)
}

/// Whether an option that nothing here reads may stand.
pub(super) fn admit(place: &Place, option: &OptionValue) -> Result<()> {
    let is_read_elsewhere = place
        .word(&option.name.to_ascii_uppercase())
        .is_some_and(|word| word.fate == Fate::Obeyed);
    let fate = if is_read_elsewhere {
        // Obeyed by the other statement of the two that share a table.
        Err(place.unknown(option.line, &option.name))
    } else {
        place.admit_option(option)
    };
    fate.map_err(|error| Error::new(error.number, error.severity, error.state, error.message))
}

pub(super) fn reference(host: &mut dyn Host, reference: &DatabaseReference) -> Result<String> {
    match reference {
        DatabaseReference::Name(name) => Ok(name.text.clone()),
        DatabaseReference::Variable(name) => {
            let kind = crate::ast::ExpressionKind::Variable(name.clone());
            required_text(host, &crate::ast::Expression::new(1, kind))
        }
    }
}

/// The paths of all devices.
///
/// # Errors
/// 3205 for more than a media set can have.
pub(super) fn paths_of(host: &mut dyn Host, devices: &[BackupDevice]) -> Result<Vec<String>> {
    if devices.len() > usize::from(FAMILIES_MAX) {
        return Err(Error::too_many_devices(FAMILIES_MAX));
    }
    devices.iter().map(|device| path_of_one(host, device)).collect()
}

fn path_of_one(host: &mut dyn Host, device: &BackupDevice) -> Result<String> {
    match device.kind.as_str() {
        "DISK" => required_text(host, &device.path),
        "" => {
            let name = required_text(host, &device.path)?;
            let text = format!(
                "Backup device '{name}' does not exist. To view existing backup devices, use the sys.backup_devices catalog view. To create a new backup device use either sp_addumpdevice or SQL Server Management Studio."
            );
            Err(Error::new(3206, 16, 1, text))
        }
        kind => Err(unsupported(kind)),
    }
}

/// Lets 3013 follow what is wrong with a statement's options and devices, where it does in SQL Server: 3031, 3205, 4334.
pub(super) fn ended<T>(host: &mut dyn Host, command: &str, outcome: Result<T>) -> Result<T> {
    match outcome {
        Err(error) if [3031, 3205, 4334].contains(&error.number) => {
            Err(sent(host, vec![error, Error::terminating_abnormally(command)]))
        }
        outcome => outcome,
    }
}

/// Sends all errors but the last, which is the answer.
pub(super) fn sent(host: &mut dyn Host, errors: Vec<Error>) -> Error {
    let mut errors = errors;
    let last = errors
        .pop()
        .unwrap_or_else(|| Error::assertion("a failure without an error"));
    for error in &errors {
        if let Err(gone) = host.message(error) {
            return gone;
        }
    }
    last
}

/// The options behind WITH, one after the other.
pub(super) struct Options<'h, 'o> {
    host: &'h mut dyn Host,
    options: std::slice::Iter<'o, OptionValue>,
}

impl<'h, 'o> Options<'h, 'o> {
    pub(super) fn new(host: &'h mut dyn Host, options: &'o [OptionValue]) -> Options<'h, 'o> {
        Options {
            host,
            options: options.iter(),
        }
    }

    pub(super) fn next(&mut self) -> Option<&'o OptionValue> {
        self.options.next()
    }

    pub(super) fn value(&mut self, option: &OptionValue) -> Result<engine::types::Value> {
        let value = option
            .value
            .as_ref()
            .ok_or_else(|| crate::messages::incorrect_syntax_near_keyword(&option.name))?;
        self.host.evaluate(value)
    }

    /// Its value as text.
    pub(super) fn text(&mut self, option: &OptionValue) -> Result<String> {
        let value = self.value(option)?;
        text_of(&value).ok_or_else(|| crate::messages::incorrect_syntax_near_keyword(&option.name))
    }

    /// STATS: its value, 1 to 100; 10 when none is written.
    pub(super) fn percent(&mut self, option: &OptionValue) -> Result<u8> {
        if option.value.is_none() {
            return Ok(10);
        }
        let value = self.value(option)?.as_i64().unwrap_or(10);
        Ok(u8::try_from(value.clamp(1, 100)).unwrap_or(100))
    }

    pub(super) fn number(&mut self, option: &OptionValue) -> Result<u32> {
        let value = self
            .value(option)?
            .as_i64()
            .and_then(|number| u32::try_from(number).ok());
        value.ok_or_else(|| crate::messages::incorrect_syntax_near_keyword(&option.name))
    }
}
