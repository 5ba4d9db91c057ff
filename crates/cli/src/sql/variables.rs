//! Scripting variables: sqlcmd's own, those of scripts, and the environment's.
//!
//! Precedence, lowest first: sqlcmd's default, the environment, the command line, `:setvar` (SQL Server docs, "Use sqlcmd with scripting
//! variables"). Names are case-insensitive.

use std::borrow::Cow;
use std::collections::BTreeMap;
use tsql::batches;

pub(super) const COLUMN_SEPARATOR: &str = "SQLCMDCOLSEP";
pub(super) const SCREEN_WIDTH: &str = "SQLCMDCOLWIDTH";
pub(super) const DATABASE: &str = "SQLCMDDBNAME";
pub(super) const EDITOR: &str = "SQLCMDEDITOR";
pub(super) const ERROR_LEVEL: &str = "SQLCMDERRORLEVEL";
pub(super) const FORMAT: &str = "SQLCMDFORMAT";
pub(super) const HEADING_ROWS: &str = "SQLCMDHEADERS";
pub(super) const STARTUP_SCRIPT: &str = "SQLCMDINI";
pub(super) const LOGIN_TIMEOUT: &str = "SQLCMDLOGINTIMEOUT";
pub(super) const FIXED_WIDTH: &str = "SQLCMDMAXFIXEDTYPEWIDTH";
pub(super) const LARGE_WIDTH: &str = "SQLCMDMAXVARTYPEWIDTH";
pub(super) const PACKET_SIZE: &str = "SQLCMDPACKETSIZE";
pub(super) const SERVER: &str = "SQLCMDSERVER";
pub(super) const QUERY_TIMEOUT: &str = "SQLCMDSTATTIMEOUT";
pub(super) const USER: &str = "SQLCMDUSER";
pub(super) const WORKSTATION: &str = "SQLCMDWORKSTATION";

/// sqlcmd's own with their defaults, in the order in which `:listvar` lists them.
const OWN: [(&str, &str); 16] = [
    (COLUMN_SEPARATOR, " "),
    (SCREEN_WIDTH, "0"),
    (DATABASE, ""),
    (EDITOR, ""),
    (ERROR_LEVEL, "0"),
    (FORMAT, ""),
    (HEADING_ROWS, "0"),
    (STARTUP_SCRIPT, ""),
    (LOGIN_TIMEOUT, "15"),
    (FIXED_WIDTH, "0"),
    (LARGE_WIDTH, "256"),
    (PACKET_SIZE, "4096"),
    (SERVER, ""),
    (QUERY_TIMEOUT, "0"),
    (USER, ""),
    (WORKSTATION, ""),
];

/// What only the command line and `:connect` set.
const READ_ONLY: [&str; 6] = [DATABASE, STARTUP_SCRIPT, PACKET_SIZE, SERVER, USER, WORKSTATION];

/// Values that are numbers, with the least and the most they can be.
const NUMBERS: [(&str, i64, i64); 8] = [
    (SCREEN_WIDTH, 0, 65_535),
    (ERROR_LEVEL, -1, 25),
    (HEADING_ROWS, -1, i32::MAX as i64),
    (LOGIN_TIMEOUT, 0, 65_534),
    (FIXED_WIDTH, 0, 8_000),
    (LARGE_WIDTH, 0, 8_000),
    (PACKET_SIZE, 512, 32_767),
    (QUERY_TIMEOUT, 0, 65_534),
];

#[derive(Debug, Default)]
pub(super) struct Variables {
    /// What was set, by names in capitals.
    set: BTreeMap<String, String>,
    has_environment: bool,
}

impl Variables {
    /// With sqlcmd's own from the environment, if that counts (`-X`).
    ///
    /// # Errors
    /// One of the environment's has a value that it cannot have.
    pub(super) fn new(has_environment: bool) -> Result<Variables, String> {
        let mut variables = Variables {
            set: BTreeMap::new(),
            has_environment,
        };
        if !has_environment {
            return Ok(variables);
        }
        for (name, _) in OWN {
            if let Some(value) = std::env::var(name).ok().filter(|value| !value.is_empty()) {
                check_number(name, &value)
                    .map_err(|_| format!("The environment variable: '{name}' has invalid value: '{value}'."))?;
                variables.put(name, &value);
            }
        }
        Ok(variables)
    }

    /// Sets without asking whether it may be.
    pub(super) fn put(&mut self, name: &str, value: &str) {
        self.set.insert(name.to_ascii_uppercase(), value.to_owned());
    }

    /// Sets one of the command line's (`-v`).
    ///
    /// # Errors
    /// A sentence: its name is none, or it cannot have that value.
    pub(super) fn put_checked(&mut self, name: &str, value: &str) -> Result<(), String> {
        check_name(name)?;
        check_number(&name.to_ascii_uppercase(), value)?;
        self.put(name, value);
        Ok(())
    }

    /// `:setvar`; without a value the variable goes, or becomes what it was at first.
    ///
    /// # Errors
    /// A sentence in sqlcmd's words.
    pub(super) fn set(&mut self, name: &str, written: &str) -> Result<(), String> {
        check_name(name)?;
        let key = name.to_ascii_uppercase();
        if READ_ONLY.contains(&key.as_str()) && !self.own(&key).is_empty() {
            return Err(format!("The scripting variable: '{name}' is read-only"));
        }
        if written.is_empty() {
            return match (self.set.remove(&key), is_own(&key)) {
                (None, false) => Err(not_defined(name)),
                _ => Ok(()),
            };
        }
        let value = value(written)?;
        check_number(&key, &value)?;
        self.set.insert(key, value);
        Ok(())
    }

    /// What `$(name)` stands for.
    ///
    /// # Errors
    /// It is not defined.
    pub(super) fn get(&self, name: &str) -> Result<Cow<'_, str>, String> {
        let key = name.to_ascii_uppercase();
        if let Some(value) = self.set.get(&key) {
            return Ok(value.into());
        }
        if let Some((_, value)) = OWN.iter().find(|(own, _)| *own == key) {
            return Ok((*value).into());
        }
        let of_environment = std::env::var(name).ok().filter(|_| self.has_environment);
        of_environment.map(Cow::Owned).ok_or_else(|| not_defined(name))
    }

    /// One of sqlcmd's own.
    pub(super) fn own(&self, name: &str) -> &str {
        let default = || OWN.iter().find(|(own, _)| *own == name).map_or("", |(_, value)| *value);
        self.explicit(name).unwrap_or_else(default)
    }

    /// One of sqlcmd's own, if anybody set it.
    pub(super) fn explicit(&self, name: &str) -> Option<&str> {
        self.set.get(name).map(String::as_str)
    }

    /// One of sqlcmd's own that is a number.
    pub(super) fn number(&self, name: &str) -> i64 {
        // All that is set was checked, and the defaults are numbers.
        self.own(name).parse().unwrap_or_default()
    }

    /// Puts values in the place of all variables of a text.
    ///
    /// # Errors
    /// One is not defined.
    pub(super) fn substitute<'t>(&self, text: &'t str) -> Result<Cow<'t, str>, String> {
        let references = batches::references(text);
        if references.is_empty() {
            return Ok(text.into());
        }
        let mut result = String::with_capacity(text.len());
        let mut end = 0;
        for (place, name) in references {
            result.push_str(text.get(end..place.start).unwrap_or_default());
            result.push_str(&self.get(name)?);
            end = place.end;
        }
        result.push_str(text.get(end..).unwrap_or_default());
        Ok(result.into())
    }

    /// The lines of `:listvar`: sqlcmd's own, then the others by name.
    pub(super) fn listed(&self) -> Vec<String> {
        let own = OWN.iter().map(|(name, _)| (*name, self.own(name)));
        let others = self.set.iter().filter(|(name, _)| !is_own(name));
        let others = others.map(|(name, value)| (name.as_str(), value.as_str()));
        own.chain(others)
            .map(|(name, value)| format!("{name} = \"{value}\""))
            .collect()
    }
}

fn is_own(key: &str) -> bool {
    OWN.iter().any(|(name, _)| *name == key)
}

fn not_defined(name: &str) -> String {
    format!("'{name}' scripting variable not defined.")
}

fn check_name(name: &str) -> Result<(), String> {
    let is_first = |letter: char| letter.is_ascii_alphabetic() || letter == '_';
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    match name.starts_with(is_first) && name.chars().all(is_letter) {
        true => Ok(()),
        false => Err(format!("Invalid variable identifier {name}")),
    }
}

fn check_number(key: &str, value: &str) -> Result<(), String> {
    let Some((_, min, max)) = NUMBERS.iter().find(|(name, _, _)| *name == key) else {
        return Ok(());
    };
    match value.parse::<i64>() {
        Ok(number) if (*min..=*max).contains(&number) => Ok(()),
        _ => Err(format!("Invalid variable value {value}: {key} is {min} to {max}")),
    }
}

/// A value as written after `:setvar`: in double quotes, which are doubled inside, if there are blanks in it.
fn value(written: &str) -> Result<String, String> {
    let invalid = || format!("Invalid variable value {written}");
    let Some(rest) = written.strip_prefix('"') else {
        return match written.contains(char::is_whitespace) {
            true => Err(invalid()),
            false => Ok(written.to_owned()),
        };
    };
    let inner = rest.strip_suffix('"').ok_or_else(invalid)?;
    let plain = inner.replace("\"\"", "");
    match plain.contains('"') {
        true => Err(invalid()),
        false => Ok(inner.replace("\"\"", "\"")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn bare() -> Variables {
        Variables::new(false).unwrap()
    }

    #[test]
    fn values_are_put_in_place_and_missing_ones_are_named() {
        let mut variables = bare();
        variables.set("db", "\"my \"\"db\"\"\"").unwrap();
        let text = variables.substitute("select '$(DB)' from $(Db)..t -- $(none)").unwrap();
        assert_eq!(text, "select 'my \"db\"' from my \"db\"..t -- $(none)");
        assert_eq!(
            variables.substitute("$(gone)").unwrap_err(),
            "'gone' scripting variable not defined."
        );
        // Only the environment knows it, and that does not count.
        assert!(variables.get("PATH").is_err());
        assert!(Variables::new(true).unwrap().get("PATH").is_ok());
    }

    #[test]
    fn what_cannot_be_set_says_why() {
        let mut variables = bare();
        variables.put(SERVER, "db1");
        for (name, value, part) in [
            ("SQLCMDSERVER", "x", "is read-only"),
            ("1a", "x", "Invalid variable identifier 1a"),
            ("a", "b c", "Invalid variable value b c"),
            ("a", "\"b", "Invalid variable value"),
            ("a", "\"b\"c\"", "Invalid variable value"),
            ("a", "", "'a' scripting variable not defined."),
            ("SQLCMDHEADERS", "many", "is -1 to"),
            ("sqlcmdcolwidth", "70000", "is 0 to 65535"),
        ] {
            let refused = variables.set(name, value).unwrap_err();
            assert!(refused.contains(part), "{name} {value}: {refused}");
        }
    }

    #[test]
    fn without_a_value_a_variable_goes_and_an_own_one_is_its_default_again() {
        let mut variables = bare();
        variables.set("a", "1").unwrap();
        variables.set("sqlcmdcolsep", ",").unwrap();
        assert_eq!(
            (variables.own(COLUMN_SEPARATOR), variables.number(LARGE_WIDTH)),
            (",", 256)
        );
        assert_eq!(variables.listed().last().unwrap(), "A = \"1\"");
        variables.set("a", "").unwrap();
        variables.set("sqlcmdcolsep", "").unwrap();
        assert!(variables.get("a").is_err());
        assert_eq!(variables.own(COLUMN_SEPARATOR), " ");
        assert_eq!(variables.explicit(LARGE_WIDTH), None);
    }
}
