//! Lessons: T-SQL with explanations, which the program runs and shows as a recording of the log.
//!
//! ```toml
//! title = "A forgotten transaction"
//! about = "One sentence or two for the list of lessons."
//! sql_version = "2022"             # whose rules apply; 2022 if not given
//! log_policy = "native"
//! disk = "hdd-7200-2010"           # the modelled disk whose time counts
//!
//! [[step]]
//! say = "What the reader should see."
//! sql = "INSERT t DEFAULT VALUES;"
//! times = 20                       # shown after each; 1 if not given
//! session = "A"                    # a session of this name; sessions stay open
//! error = 9002                     # the error in which it has to end
//! rules = "2014"                   # growths follow the rules of this version from here on
//!
//! [question]
//! text = "..."
//! answer = "..."
//! shows = "head"                   # or needed: the VLF in which the answer is seen
//! ```

use serde::Deserialize;
use vlf::ServerVersion;

/// A lesson. See the module.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lesson {
    pub title: String,
    pub about: String,
    #[serde(default = "newest")]
    pub sql_version: String,
    #[serde(default = "native")]
    pub log_policy: String,
    #[serde(default = "of_2010")]
    pub disk: String,
    #[serde(rename = "step")]
    pub steps: Vec<Step>,
    pub question: Option<Question>,
}

/// A step of a lesson.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    pub say: String,
    pub sql: String,
    #[serde(default = "once")]
    pub times: u16,
    #[serde(default)]
    pub session: String,
    pub error: Option<i32>,
    pub rules: Option<String>,
}

/// The question at the end.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    pub text: String,
    pub answer: String,
    pub shows: Option<Shows>,
}

/// The VLF in which an answer is seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shows {
    /// Where the log stands.
    Head,
    /// The oldest one that is needed.
    Needed,
}

fn newest() -> String {
    "2022".to_owned()
}

fn native() -> String {
    "native".to_owned()
}

fn of_2010() -> String {
    "hdd-7200-2010".to_owned()
}

fn once() -> u16 {
    1
}

/// The built-in lessons, by name.
pub const LESSONS: [(&str, &str); 8] = [
    ("fill", include_str!("../../../lessons/fill.toml")),
    ("wrap", include_str!("../../../lessons/wrap.toml")),
    ("full", include_str!("../../../lessons/full.toml")),
    ("backup", include_str!("../../../lessons/backup.toml")),
    ("growth", include_str!("../../../lessons/growth.toml")),
    ("transaction", include_str!("../../../lessons/transaction.toml")),
    ("accelerated", include_str!("../../../lessons/accelerated.toml")),
    ("shrink", include_str!("../../../lessons/shrink.toml")),
];

impl Lesson {
    /// Reads a lesson.
    ///
    /// # Errors
    /// What is wrong with it, with the line.
    pub fn parse(text: &str) -> Result<Lesson, String> {
        let lesson: Lesson = toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())?;
        if lesson.steps.is_empty() {
            return Err("a lesson has a step at least".to_owned());
        }
        let versions = lesson.steps.iter().filter_map(|step| step.rules.as_ref());
        for version in versions.chain([&lesson.sql_version]) {
            version
                .parse::<ServerVersion>()
                .map_err(|error| format!("{version}: {error}"))?;
        }
        Ok(lesson)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_lesson_is_one() {
        for (name, text) in LESSONS {
            let lesson = Lesson::parse(text).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(lesson.steps.iter().all(|step| step.say.ends_with('.')), "{name}");
            assert!(lesson.question.is_some(), "{name}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        let refused = |text: &str| Lesson::parse(text).unwrap_err();
        assert!(refused("title = 'x'").contains("about"));
        let step = "[[step]]\nsay = 'x'\nsql = 'y'\n";
        assert!(refused(&format!("title = 'x'\nabout = 'y'\n{step}tmes = 3")).contains("tmes"));
        assert!(refused(&format!("title = 'x'\nabout = 'y'\nsql_version = '1999'\n{step}")).contains("1999"));
    }
}
