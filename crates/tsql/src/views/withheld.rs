//! Sources that an instance hides, so that tools can be tested against an older version's views and a login with fewer rights: only for
//! tests, by the hidden option `--withhold` of `vlflab serve`.
//!
//! | number | what a reader sees | words |
//! |---|---|---|
//! | 207 | a column, given as `view.column`, does not exist, not even in `sys.all_columns` | as for any column that does not exist |
//! | 208 | the view does not exist, not even in `sys.all_objects` and `sys.all_columns` | as for any object that does not exist |
//! | 229 | SELECT (EXECUTE on a procedure) is denied | sql-docs, "MSSQLSERVER_229" |
//! | 300 | VIEW SERVER STATE is denied | sql-docs, list of system messages |
//! | 2571 | DBCC is denied | the same |

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::error::{Error, Result};
use engine::instance::Instance;
use engine::memory::Keeper;
use parking_lot::Mutex;

/// The numbers that a source can be answered by.
pub const WITHHELD_NUMBERS: [i32; 5] = [207, 208, 229, 300, 2571];

/// What an instance keeps back, by the name in lower case: a view or function of `sys`, a column of one (`databases.is_cdc_enabled`),
/// `loginfo`, `sp_readerrorlog`.
#[derive(Debug, Default)]
pub(crate) struct Withheld(Mutex<BTreeMap<String, i32>>);

impl Keeper for Withheld {
    /// A few names: there is nothing to give up.
    fn give_up(&self, _bytes: u64) {}
}

impl Withheld {
    fn of(instance: &Instance) -> Arc<Withheld> {
        instance.kept_above(Withheld::default)
    }

    /// Whether a view is not there.
    pub(crate) fn hides(instance: &Instance, name: &str) -> bool {
        Withheld::of(instance).0.lock().get(name) == Some(&208)
    }

    /// Whether a column of a view is not there.
    pub(crate) fn hides_column(instance: &Instance, view: &str, column: &str) -> bool {
        let withheld = Withheld::of(instance);
        let names = withheld.0.lock();
        !names.is_empty() && names.get(&format!("{view}.{}", column.to_lowercase())) == Some(&207)
    }

    /// The error by which a source is answered.
    ///
    /// # Errors
    /// That one.
    pub(crate) fn check(instance: &Instance, name: &str) -> Result<()> {
        let number = Withheld::of(instance).0.lock().get(name).copied();
        let (severity, state, text) = match number {
            None => return Ok(()),
            Some(208) => (16, 1, format!("Invalid object name 'sys.{name}'.")),
            Some(229) => {
                let what = if name.starts_with("sp_") { "EXECUTE" } else { "SELECT" };
                let text = format!(
                    "The {what} permission was denied on the object '{name}', database 'mssqlsystemresource', schema 'sys'."
                );
                (14, 5, text)
            }
            Some(300) => {
                let text = "VIEW SERVER STATE permission was denied on object 'server', database 'master'.";
                (14, 1, text.to_owned())
            }
            Some(_) => (
                14,
                3,
                format!("User 'guest' does not have permission to run DBCC {name}."),
            ),
        };
        Err(Error::new(number.unwrap_or(208), severity, state, text))
    }
}

/// Keeps a source back from now on.
pub fn withhold(instance: &Instance, name: &str, number: i32) {
    Withheld::of(instance).0.lock().insert(name.to_lowercase(), number);
}
