//! Counts and seeds of long runs, which add up in a file from run to run.
//!
//! One row for each kind of run and each build of the server, so that what was seen of one build is never claimed of
//! another. A run goes on with the seed after the last one that was finished.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::io;
use std::path::{Path, PathBuf};

/// What a kind of harness counts.
pub trait Counted: Clone + Default + Serialize + DeserializeOwned {
    fn add(&mut self, other: &Self);

    /// All counts in words.
    fn words(&self) -> String;
}

/// A failure in short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Seed of its history.
    pub seed: u64,
    pub what: String,
}

/// What one kind of run has done to one build.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row<C> {
    pub seed_first: u64,
    /// The next seed to take.
    pub seed_next: u64,
    /// Histories that were finished.
    pub histories: u64,
    /// Everything counted in them.
    pub counts: C,
    /// What went wrong in them.
    pub findings: Vec<Finding>,
}

#[derive(Debug)]
pub struct Tally<C> {
    path: PathBuf,
    rows: BTreeMap<String, Row<C>>,
}

/// A short name for the bytes of a program.
///
/// # Errors
/// The program cannot be read.
pub fn build_of(program: &Path) -> io::Result<String> {
    let mut hasher = DefaultHasher::new();
    hasher.write(&fs::read(program)?);
    Ok(format!("{:08x}", hasher.finish() >> 32))
}

impl<C: Counted> Tally<C> {
    /// Reads the file, or begins an empty one.
    ///
    /// # Errors
    /// The file cannot be read, or is none of ours.
    pub fn open(path: &Path) -> io::Result<Tally<C>> {
        let rows = match fs::read(path) {
            Ok(bytes) => serde_json::from_slice(&bytes)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => BTreeMap::new(),
            Err(error) => return Err(error),
        };
        Ok(Tally {
            path: path.to_path_buf(),
            rows,
        })
    }

    fn save(&self) -> io::Result<()> {
        let temporary = self.path.with_extension("writing");
        fs::write(&temporary, serde_json::to_vec_pretty(&self.rows)?)?;
        fs::rename(&temporary, &self.path)
    }

    /// The row of a kind of run and a build; `seed` is its first when it is new.
    pub fn row(&mut self, kind: &str, build: &str, seed: u64) -> &mut Row<C> {
        self.rows
            .entry(format!("{kind} of build {build}"))
            .or_insert_with(|| Row {
                seed_first: seed,
                seed_next: seed,
                ..Row::default()
            })
    }

    /// Adds a finished history and saves the file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn add(&mut self, kind: &str, build: &str, counts: &C, finding: Option<Finding>) -> io::Result<()> {
        let row = self.row(kind, build, 0);
        row.histories += 1;
        row.counts.add(counts);
        row.findings.extend(finding);
        self.save()
    }

    /// One line for each row.
    pub fn summary(&self) -> String {
        let line = |(name, row): (&String, &Row<C>)| {
            format!(
                "{name}: {} histories, seeds {} to {}: {}, {} failed\n",
                row.histories,
                row.seed_first,
                row.seed_next.saturating_sub(1),
                row.counts.words(),
                row.findings.len()
            )
        };
        self.rows.iter().map(line).collect()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{Finding, Tally};
    use crate::power_cuts::Counts;

    #[test]
    fn counts_of_runs_add_up_in_the_file() {
        let path = std::env::temp_dir().join(format!("vlflab-outside-tally-{}", std::process::id()));
        let counts = Counts {
            ends: 3,
            ..Counts::default()
        };
        for run in 0..2 {
            let mut tally = Tally::<Counts>::open(&path).unwrap();
            assert_eq!(tally.row("cuts", "b", 7).seed_next, 7 + run);
            tally.row("cuts", "b", 7).seed_next += 1;
            let finding = (run == 1).then(|| Finding {
                seed: 8,
                what: "lost".into(),
            });
            tally.add("cuts", "b", &counts, finding).unwrap();
        }
        let mut tally = Tally::<Counts>::open(&path).unwrap();
        let row = tally.row("cuts", "b", 7).clone();
        assert_eq!((row.histories, row.counts.ends, row.findings.len()), (2, 6, 1));
        assert!(
            tally.summary().contains("2 histories, seeds 7 to 8: 6 ends"),
            "{}",
            tally.summary()
        );
        std::fs::remove_file(path).unwrap();
    }
}
