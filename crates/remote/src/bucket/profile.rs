//! The files in which the AWS tools keep profiles.
//!
//! ```text
//! ~/.aws/credentials  [NAME]           aws_access_key_id = ...     or the file AWS_SHARED_CREDENTIALS_FILE
//! ~/.aws/config       [profile NAME]   region = ...                or the file AWS_CONFIG_FILE; [default] has no "profile"
//! ```
//! AWS_PROFILE names the profile, else it is `default`. Where both files have a key, the first one's value holds.
//!
//! Source: AWS SDKs and Tools Reference Guide, "Shared config and credentials files".

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

/// A profile's values by key; none where there is no such file.
#[derive(Debug, Default)]
pub struct Profile {
    pub name: String,
    values: BTreeMap<String, String>,
}

impl Profile {
    /// Reads the profile that the environment names.
    ///
    /// # Errors
    /// A file is there and cannot be read; [`io::ErrorKind::InvalidInput`] for a profile that is named and in neither file.
    pub fn load(environment: &dyn Fn(&str) -> Option<String>) -> io::Result<Profile> {
        let variable = |name: &str| environment(name).filter(|value| !value.is_empty());
        let named = variable("AWS_PROFILE");
        let name = named.clone().unwrap_or_else(|| "default".to_owned());
        let file = |variable_name: &str, below_home: &str| {
            let said = variable(variable_name).map(PathBuf::from);
            said.or_else(|| Some(PathBuf::from(variable("HOME")?).join(below_home)))
        };
        let files = [
            (file("AWS_CONFIG_FILE", ".aws/config"), true),
            (file("AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials"), false),
        ];
        let mut values = BTreeMap::new();
        let mut is_there = false;
        for (path, is_config) in files {
            let Some(path) = path else { continue };
            let text = match std::fs::read_to_string(&path) {
                Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                    continue;
                }
                Err(error) => return Err(io::Error::new(error.kind(), format!("{}: {error}", path.display()))),
                Ok(text) => text,
            };
            if let Some(section) = section(&text, &name, is_config) {
                is_there = true;
                values.extend(section);
            }
        }
        match named {
            Some(name) if !is_there => Err(super::invalid(format!("there is no profile {name} (AWS_PROFILE)"))),
            _ => Ok(Profile { name, values }),
        }
    }

    pub fn value(&self, key: &str) -> Option<String> {
        self.values.get(key).filter(|value| !value.is_empty()).cloned()
    }
}

/// The values of a profile's section; none where there is no such section. A line that is indented belongs to the key above it.
fn section(text: &str, name: &str, is_config: bool) -> Option<BTreeMap<String, String>> {
    let mut found: Option<BTreeMap<String, String>> = None;
    let mut is_inside = false;
    for line in text.lines() {
        let is_indented = line.starts_with([' ', '\t']);
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) || is_indented {
            continue;
        }
        if let Some(head) = line.strip_prefix('[') {
            let head = head.split(']').next().unwrap_or_default().trim();
            let of_profile = head.strip_prefix("profile").map(str::trim_start);
            is_inside = match (is_config, of_profile) {
                (true, Some(of_profile)) => of_profile == name,
                (true, None) => head == name && name == "default",
                (false, _) => head == name,
            };
            if is_inside {
                found.get_or_insert_default();
            }
            continue;
        }
        if let (true, Some((key, value)), Some(values)) = (is_inside, line.split_once('='), &mut found) {
            values.insert(key.trim().to_ascii_lowercase(), value.trim().to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const CONFIG: &str = "[default]\nregion = eu-west-1\n# a remark\n[profile work]\nRegion=us-east-2\ns3 =\n    region = no\n[work]\nregion = no\n";
    const CREDENTIALS: &str =
        "[default]\naws_access_key_id=A\n[work]\naws_access_key_id = B\n; a remark\naws_secret_access_key = x=y\n";

    #[test]
    fn a_profile_is_found_in_both_files() {
        let of = |text, name, is_config, key: &str| {
            section(text, name, is_config).and_then(|values| values.get(key).cloned())
        };
        for (text, name, is_config, key, expected) in [
            (CONFIG, "default", true, "region", Some("eu-west-1")),
            (CONFIG, "work", true, "region", Some("us-east-2")),
            (CONFIG, "other", true, "region", None),
            (CREDENTIALS, "work", false, "aws_access_key_id", Some("B")),
            (CREDENTIALS, "work", false, "aws_secret_access_key", Some("x=y")),
            (CREDENTIALS, "default", false, "aws_secret_access_key", None),
        ] {
            assert_eq!(of(text, name, is_config, key).as_deref(), expected, "{name} {key}");
        }
    }

    #[test]
    fn a_profile_that_is_named_has_to_be_there() {
        let value = |name: &str| match name {
            "AWS_PROFILE" => Some("work".to_owned()),
            _ => None,
        };
        assert_eq!(Profile::load(&value).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        assert!(Profile::load(&|_| None).unwrap().value("region").is_none());
    }
}
