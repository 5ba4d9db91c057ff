//! From the unchanged suite to a judgement of every change; each step goes on where it was stopped.
//!
//! ```text
//!   folder/tests.json       every test, its time, the changes it comes by; those that fail unchanged judge nothing
//!   folder/results.jsonl    one line for each change that was judged; the last line of a change counts
//!   folder/confirmed.json   tests that caught something, run again unchanged
//! ```

use crate::suite::{self, End, Run, Test, limit};
use crate::workshop::Plan;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The longest a test may take unchanged.
const UNCHANGED_MAX: Duration = Duration::from_secs(300);

/// The usual time of the first tests that are run together; doubled for those after them.
const TOGETHER_MS: u64 = 500;

/// How often a test that caught something must pass unchanged.
const CONFIRMATIONS: usize = 3;

/// What became of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Tests fail with it, or do not end.
    Caught,
    /// All tests that come by it pass with it.
    Survived,
    /// No test comes by it.
    Unreached,
}

/// One line of the results.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Judgement {
    pub id: u32,
    /// What became of it.
    pub outcome: Outcome,
    /// The tests that failed; `too long` where they did not end.
    pub by: Vec<String>,
    /// How long it took, in milliseconds.
    pub ms: u64,
}

/// Runs every test alone and unchanged, and writes which changes it comes by. Tests of programs that are as they were when they
/// were last run are not run, but for those of `again`.
pub fn trace(folder: &Path, programs: &BTreeMap<String, PathBuf>, again: &[String]) -> Result<(), Box<dyn Error>> {
    let known = suite::read(folder).unwrap_or_default();
    let since = fs::metadata(folder.join("tests.json"))
        .and_then(|file| file.modified())
        .ok();
    let mut tests = Vec::new();
    for (binary, program) in programs {
        let is_known = !again.contains(binary)
            && since.is_some_and(|since| {
                let built = fs::metadata(program).and_then(|file| file.modified());
                built.is_ok_and(|built| built < since)
            });
        for test in suite::tests_of(binary, program)? {
            let old = known
                .iter()
                .find(|old| old.binary == *binary && old.name == test.name && old.passes);
            match old.filter(|_| is_known) {
                Some(old) => tests.push(old.clone()),
                None => tests.push(traced(folder, test)?),
            }
        }
    }
    fs::write(folder.join("tests.json"), serde_json::to_string_pretty(&tests)?)?;
    Ok(())
}

fn traced(folder: &Path, mut test: Test) -> Result<Test, Box<dyn Error>> {
    let path = fs::canonicalize(folder)?.join("trace");
    let _ = fs::remove_file(&path);
    let start = Instant::now();
    let variables = [("VLFLAB_MUTANT_TRACE", path.display().to_string())];
    let run = Run {
        folder,
        variables: &variables,
    };
    let end = run.tests(&[&test], |_| UNCHANGED_MAX)?;
    test.ms = u64::try_from(start.elapsed().as_millis())?;
    test.passes = end == End::Passed;
    let reached: BTreeSet<u32> = fs::read_to_string(&path)
        .unwrap_or_default()
        .lines()
        .filter_map(|line| line.parse().ok())
        .collect();
    test.reached = reached.into_iter().collect();
    println!(
        "{} {} ms, {} changes, {end:?}",
        test.full_name(),
        test.ms,
        test.reached.len()
    );
    Ok(test)
}

/// The last judgement of every change.
pub fn judgements(folder: &Path) -> Result<BTreeMap<u32, Judgement>, Box<dyn Error>> {
    let text = fs::read_to_string(folder.join("results.jsonl")).unwrap_or_default();
    let mut all = BTreeMap::new();
    for line in text.lines() {
        let judgement: Judgement = serde_json::from_str(line)?;
        all.insert(judgement.id, judgement);
    }
    Ok(all)
}

/// Judges all changes without a judgement, or those of `again`.
pub fn run(folder: &Path, again: &[u32]) -> Result<(), Box<dyn Error>> {
    let plan = Plan::read(folder)?;
    let mut tests: Vec<Test> = suite::read(folder)?.into_iter().filter(|test| test.passes).collect();
    tests.sort_by_key(|test| test.ms);
    let judged = judgements(folder)?;
    let mut results = File::options()
        .create(true)
        .append(true)
        .open(folder.join("results.jsonl"))?;
    for mutant in &plan.mutants {
        let wanted = match again {
            [] => !judged.contains_key(&mutant.id),
            some => some.contains(&mutant.id),
        };
        if !wanted {
            continue;
        }
        let judgement = judge(folder, mutant.id, &tests)?;
        println!(
            "{} {:?} {:?} {} ms",
            mutant.id, judgement.outcome, judgement.by, judgement.ms
        );
        writeln!(results, "{}", serde_json::to_string(&judgement)?)?;
    }
    Ok(())
}

/// Judges all that were not caught once more, by `tests` alone; catches are added to the results.
pub fn judge_survivors(folder: &Path, tests: &[Test]) -> Result<(), Box<dyn Error>> {
    let mut results = File::options().append(true).open(folder.join("results.jsonl"))?;
    let judged = judgements(folder)?.into_values();
    let survivors = judged.filter(|judgement| judgement.outcome != Outcome::Caught);
    for survivor in survivors.filter(|survivor| tests.iter().any(|test| test.reached.contains(&survivor.id))) {
        let judgement = judge(folder, survivor.id, tests)?;
        println!(
            "{} {:?} {:?} {} ms",
            judgement.id, judgement.outcome, judgement.by, judgement.ms
        );
        if judgement.outcome != survivor.outcome {
            writeln!(results, "{}", serde_json::to_string(&judgement)?)?;
        }
    }
    Ok(())
}

/// Judges survivors by the tests of some programs; see [`judge_survivors`].
pub fn judge_survivors_by(folder: &Path, binaries: &[String]) -> Result<(), Box<dyn Error>> {
    let tests = suite::read(folder)?.into_iter();
    let mut tests: Vec<Test> = tests
        .filter(|test| test.passes && binaries.contains(&test.binary))
        .collect();
    tests.sort_by_key(|test| test.ms);
    judge_survivors(folder, &tests)
}

/// Judges survivors by a test outside cargo; see [`judge_survivors`].
pub fn judge_survivors_alone(folder: &Path, test: Test) -> Result<(), Box<dyn Error>> {
    let test = traced(folder, test)?;
    if !test.passes {
        return Err(format!("{} fails without any change", test.full_name()).into());
    }
    judge_survivors(folder, &[test])
}

fn judge(folder: &Path, id: u32, tests: &[Test]) -> Result<Judgement, Box<dyn Error>> {
    let start = Instant::now();
    let reaching: Vec<&Test> = tests.iter().filter(|test| test.reached.contains(&id)).collect();
    let variables = [("VLFLAB_MUTANT", id.to_string())];
    let run = Run {
        folder,
        variables: &variables,
    };
    let mut outcome = match reaching.is_empty() {
        true => Outcome::Unreached,
        false => Outcome::Survived,
    };
    let mut by = Vec::new();
    for together in portions(&reaching) {
        match run.tests(together, limit)? {
            End::Passed => continue,
            End::Failed(names) => by = names,
            End::TooLong => by = vec!["too long".to_string()],
        }
        outcome = Outcome::Caught;
        break;
    }
    let ms = u64::try_from(start.elapsed().as_millis())?;
    Ok(Judgement { id, outcome, by, ms })
}

/// Tests in portions whose usual times double, so that a quick one can end the judgement early.
fn portions<'a, 't>(mut tests: &'a [&'t Test]) -> Vec<&'a [&'t Test]> {
    let mut portions = Vec::new();
    let mut room = TOGETHER_MS;
    while !tests.is_empty() {
        let mut sum = 0;
        let fit = tests.iter().take_while(|test| {
            sum += test.ms;
            sum <= room
        });
        let (portion, rest) = tests.split_at(fit.count().max(1));
        portions.push(portion);
        tests = rest;
        room *= 2;
    }
    portions
}

/// Runs the tests that caught something unchanged again; what only a test that fails there has caught is judged again without it.
pub fn confirm(folder: &Path) -> Result<(), Box<dyn Error>> {
    let judged = judgements(folder)?;
    let caught: BTreeSet<&String> = judged.values().flat_map(|judgement| &judgement.by).collect();
    let mut tests = suite::read(folder)?;
    let mut failing = Vec::new();
    let mut count = 0;
    for test in tests.iter_mut().filter(|test| caught.contains(&test.full_name())) {
        count += 1;
        let run = Run { folder, variables: &[] };
        for _ in 0..CONFIRMATIONS {
            if run.tests(&[test], limit)? != End::Passed {
                test.passes = false;
            }
        }
        if !test.passes {
            failing.push(test.full_name());
        }
    }
    println!("{count} tests that caught something, {CONFIRMATIONS} times unchanged; fail at times: {failing:?}");
    fs::write(folder.join("tests.json"), serde_json::to_string_pretty(&tests)?)?;
    let doubtful = judged
        .values()
        .filter(|judgement| judgement.by.iter().any(|name| failing.contains(name)));
    let again: Vec<u32> = doubtful.map(|judgement| judgement.id).collect();
    match again.is_empty() {
        true => Ok(()),
        false => self::run(folder, &again),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn portions_double_and_none_is_empty() {
        let test = |ms| Test {
            binary: String::new(),
            name: String::new(),
            program: PathBuf::new(),
            arguments: None,
            ms,
            reached: Vec::new(),
            passes: true,
        };
        let tests: Vec<Test> = [100, 200, 300, 400, 500, 5_000].map(test).into();
        let tests: Vec<&Test> = tests.iter().collect();
        let lengths: Vec<usize> = portions(&tests).iter().map(|portion| portion.len()).collect();
        assert_eq!(lengths, [2, 2, 1, 1]);
    }
}
