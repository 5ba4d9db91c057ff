//! What the tests of all crates share: how deep a test goes, and a count of what was run. Nothing of the product uses it.
//!
//! A test whose depth is a choice asks for it here by a name, with two numbers: the quick one, and the one of `./test --deep`, which sets
//! [`DEEP`]. A test that walks over every case, every operation at which the power can be cut, say, asks for a [`Sample`] of them: one in
//! several when it has to be quick, all in a deep run. A deep run writes what each test has done into the file that [`COUNTS`] names, a line each: name, tab, number. `./test --deep`
//! adds them to `tests/deep-runs.txt`, which counts what was ever run. A test that draws its cases from a seed takes [`Depth::seeds`]: those
//! of a deep run go on behind what is counted there, so that each deep run tries other cases.
//!
//! A test that ends by its failure has counted nothing: it counts behind its last assertion.
//!
//! A test that starts servers for other reasons than their passwords saves half of each start with [`store_sa_password`].

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::ops::RangeInclusive;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The variable that asks for the deep runs. Its value is a factor: `1` for the depths as they are written, `10` for ten times as deep.
pub const DEEP: &str = "VLFLAB_DEEP";

/// The variable with the file that counts go to.
pub const COUNTS: &str = "VLFLAB_COUNTS";

/// The book of deep runs.
const BOOK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/deep-runs.txt");

/// The variable that names another program than the tests', so that a deep run can try the one that is shipped.
pub const PROGRAM: &str = "VLFLAB";

/// The password that [`store_sa_password`] gives to `sa`.
pub const SA_PASSWORD: &str = "Workbench 1";

/// What a server stores for [`SA_PASSWORD`], by the least work that Argon2 can do: as strong a record as a server makes takes half of the
/// processor time of its start.
const SA_RECORD: &str = "$argon2id$v=19$m=8,t=1,p=1$nAccCh+3Dx6wMrsghaN7tg$Vq+GnVJe/gVFfBDso+s8JrherePu/RRnH5RpflpQzOc";

/// Stores [`SA_PASSWORD`] for an instance that is to be started in a folder, which is created; a password that is there stays.
///
/// # Panics
/// If the folder or the file cannot be written.
pub fn store_sa_password(folder: &Path) {
    std::fs::create_dir_all(folder).expect("a test's folder can be created");
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(folder.join("sa.password"));
    match file {
        Ok(mut file) => file.write_all(SA_RECORD.as_bytes()).expect("the record can be written"),
        Err(error) => assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{error}"),
    }
}

/// How deep a test goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Depth {
    name: &'static str,
    /// Units of work: kills, statements, rounds.
    pub units: u64,
    /// Whether this is a deep run.
    pub is_deep: bool,
    /// How many units deep runs have counted already; 0 in a quick run, which tries the same ones each time.
    units_counted: u64,
}

/// The depth of the test `name`: `quick` units, or `deep` ones times the factor.
///
/// # Panics
/// If the factor is not a number of at least 1.
pub fn depth(name: &'static str, quick: u64, deep: u64) -> Depth {
    let factor = std::env::var(DEEP).ok();
    match factor_of(factor.as_deref()) {
        None => Depth {
            name,
            units: quick,
            is_deep: false,
            units_counted: 0,
        },
        Some(factor) => Depth {
            name,
            units: deep * factor,
            is_deep: true,
            units_counted: counted_in(&std::fs::read_to_string(BOOK).unwrap_or_default(), name),
        },
    }
}

/// What the book of deep runs says of `name`; 0 where it says nothing.
fn counted_in(book: &str, name: &str) -> u64 {
    let line = book
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix('\t'));
    line.and_then(|line| line.split('\t').next()?.parse().ok()).unwrap_or(0)
}

fn factor_of(text: Option<&str>) -> Option<u64> {
    let text = text?;
    let factor = text.parse().ok().filter(|&factor: &u64| factor > 0);
    Some(factor.unwrap_or_else(|| panic!("{DEEP}={text} is not a number of at least 1")))
}

impl Depth {
    /// A seed for each unit, from 1; in a deep run, from the one behind those that were counted.
    pub fn seeds(self) -> RangeInclusive<u64> {
        self.units_counted + 1..=self.units_counted + self.units
    }

    /// Counts the units as run without a failure. Quick runs are not counted.
    ///
    /// # Panics
    /// If the file cannot be written.
    pub fn count(self) {
        if !self.is_deep {
            return;
        }
        if let Some(path) = std::env::var_os(COUNTS) {
            let file = OpenOptions::new().create(true).append(true).open(&path);
            let mut file = file.expect("the folder of the counts is there");
            // One write, so that lines of several processes do not mix.
            file.write_all(format!("{}\t{}\n", self.name, self.units).as_bytes())
                .expect("the counts can be written");
        }
    }
}

/// The program that a test starts: the one that [`PROGRAM`] names, a package's perhaps, else the one that was built with the test.
pub fn program(built: &str) -> PathBuf {
    std::env::var_os(PROGRAM).map_or_else(|| built.into(), PathBuf::from)
}

/// Builds the server as these sources make it, in the profile of the tests: a test of another package alone does not build it.
///
/// # Panics
/// If it cannot be built.
pub fn build_server() {
    let mut command = Command::new(env!("CARGO"));
    command.args(["build", "--quiet", "--package", "vlflab"]);
    if !cfg!(debug_assertions) {
        command.arg("--release");
    }
    // A test finds variables of its own package here. Build scripts that look at them, as ring's does, would run again, and all above ring
    // would be compiled once more.
    for (name, _) in std::env::vars_os() {
        let is_of_package = |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
        if name.to_str().is_some_and(is_of_package) {
            command.env_remove(name);
        }
    }
    let status = command.status().expect("cargo is where these tests were built");
    assert!(status.success(), "the server cannot be built");
}

/// Which cases of a walk a test tries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    name: &'static str,
    /// One case in so many, the first of them; 1 is every case.
    pub one_in: usize,
}

/// The sample of the test `name`: one case in `one_in`, or every case in a deep run. What a test varies by the number of the case goes
/// round in a quick run too, if `one_in` has no factor in common with the number of variants.
///
/// # Panics
/// If the factor of a deep run is not a number of at least 1.
pub fn sample(name: &'static str, one_in: usize) -> Sample {
    let factor = std::env::var(DEEP).ok();
    let is_deep = factor_of(factor.as_deref()).is_some();
    Sample {
        name,
        one_in: if is_deep { 1 } else { one_in },
    }
}

impl Sample {
    /// Counts cases as tried without a failure. Those of quick runs are not counted.
    ///
    /// # Panics
    /// If the file cannot be written.
    pub fn count(self, cases: u64) {
        let depth = Depth {
            name: self.name,
            units: cases,
            is_deep: self.one_in == 1,
            units_counted: 0,
        };
        depth.count();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_factor_is_a_number_or_an_error() {
        assert_eq!(factor_of(None), None);
        assert_eq!(factor_of(Some("1")), Some(1));
        assert_eq!(factor_of(Some("10")), Some(10));
        for text in ["", "0", "-1", "many"] {
            assert!(std::panic::catch_unwind(|| factor_of(Some(text))).is_err(), "{text:?}");
        }
    }
    #[test]
    fn the_book_says_how_many_were_counted() {
        let book = "# histories\t9\nhistories by locks\t25200\t25200 on a day\nhistories\t12\t2 on a day\n";
        assert_eq!(counted_in(book, "histories"), 12);
        assert_eq!(counted_in(book, "histories by locks"), 25_200);
        assert_eq!(counted_in(book, "histories by"), 0);
    }

    #[test]
    fn a_deep_run_goes_on_behind_what_was_counted() {
        let depth = |units_counted| Depth {
            name: "cases",
            units: 3,
            is_deep: true,
            units_counted,
        };
        assert_eq!(depth(0).seeds(), 1..=3);
        assert_eq!(depth(40).seeds(), 41..=43);
    }
}
