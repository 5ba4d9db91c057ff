//! The tests that judge: each known by its program and its name, with its time and the changes it comes by.

use rustix::process::{Pid, Signal, kill_process_group};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::error::Error;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The address space of a test's process; far more than any needs, far less than the machine has.
const ADDRESSES_KIB: u64 = 12 << 20;

/// How long a process may take beyond ten times what it takes unchanged.
const GRACE: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Test {
    /// The name of its program, as cargo calls it.
    pub binary: String,
    pub name: String,
    pub program: PathBuf,
    /// Arguments in place of the test's name, for a program that is one test.
    pub arguments: Option<Vec<String>>,
    /// How long it takes, in milliseconds.
    pub ms: u64,
    /// The changes it comes by.
    pub reached: Vec<u32>,
    /// Whether it passes without any change; others judge nothing.
    pub passes: bool,
}

impl Test {
    pub fn full_name(&self) -> String {
        format!("{}::{}", self.binary, self.name)
    }
}

/// All tests, as [`crate::campaign::trace`] has left them.
pub fn read(folder: &Path) -> Result<Vec<Test>, Box<dyn Error>> {
    Ok(serde_json::from_str(&fs::read_to_string(folder.join("tests.json"))?)?)
}

/// The tests of a program.
pub fn tests_of(binary: &str, program: &Path) -> Result<Vec<Test>, Box<dyn Error>> {
    let list = |more: &[&str]| -> Result<Vec<String>, Box<dyn Error>> {
        let answer = Command::new(program)
            .args(["--list", "--format", "terse"])
            .args(more)
            .output()?;
        let text = String::from_utf8(answer.stdout)?;
        Ok(text
            .lines()
            .filter_map(|line| line.strip_suffix(": test"))
            .map(str::to_string)
            .collect())
    };
    let ignored = list(&["--ignored"])?;
    let names = list(&[])?.into_iter().filter(|name| !ignored.contains(name));
    let tests = names.map(|name| Test {
        binary: binary.to_string(),
        name,
        program: program.to_path_buf(),
        arguments: None,
        ms: 0,
        reached: Vec::new(),
        passes: false,
    });
    Ok(tests.collect())
}

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// All its tests pass.
    Passed,
    /// These fail, or the process died in them.
    Failed(Vec<String>),
    TooLong,
}

/// The settings of a run.
pub struct Run<'r> {
    pub folder: &'r Path,
    /// Variables of the run's processes.
    pub variables: &'r [(&'r str, String)],
}

impl Run<'_> {
    /// Runs tests, those of one program in one process, until some fail.
    pub fn tests(&self, tests: &[&Test], limit: impl Fn(Duration) -> Duration) -> Result<End, Box<dyn Error>> {
        let mut programs: BTreeMap<(&Path, Option<&[String]>), Vec<&Test>> = BTreeMap::new();
        for test in tests {
            let key = (test.program.as_path(), test.arguments.as_deref());
            programs.entry(key).or_default().push(test);
        }
        for ((program, arguments), tests) in programs {
            let usual: u64 = tests.iter().map(|test| test.ms).sum();
            let arguments: Vec<String> = match arguments {
                Some(own) => own.to_vec(),
                None => {
                    let names = tests.iter().map(|test| test.name.clone());
                    let options = ["--exact", "--test-threads=1"].map(str::to_string);
                    options.into_iter().chain(names).collect()
                }
            };
            let end = self.process(program, &arguments, limit(Duration::from_millis(usual)))?;
            if end != End::Passed {
                return Ok(match end {
                    End::Failed(names) => End::Failed(
                        names
                            .iter()
                            .map(|name| format!("{}::{name}", tests[0].binary))
                            .collect(),
                    ),
                    other => other,
                });
            }
        }
        Ok(End::Passed)
    }

    fn process(&self, program: &Path, arguments: &[String], limit: Duration) -> Result<End, Box<dyn Error>> {
        let scratch = fs::canonicalize(self.folder)?.join("scratch");
        if scratch.exists() {
            fs::remove_dir_all(&scratch)?;
        }
        fs::create_dir_all(&scratch)?;
        let told = scratch.join("told");
        let mut command = Command::new("sh");
        command
            .arg("-c")
            .arg(format!("ulimit -v {ADDRESSES_KIB}; exec \"$0\" \"$@\""));
        command.arg(program).args(arguments);
        command
            .current_dir(self.folder.join("copy/crates/tsql"))
            .env("TMPDIR", &scratch);
        command.env(
            "CARGO_MANIFEST_DIR",
            fs::canonicalize(self.folder.join("copy/crates/tsql"))?,
        );
        command.envs(self.variables.iter().map(|(name, value)| (*name, value.as_str())));
        command
            .stdin(Stdio::null())
            .stdout(File::create(&told)?)
            .stderr(Stdio::null())
            .process_group(0);
        let mut child = command.spawn()?;
        let start = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break Some(status);
            }
            if start.elapsed() > limit {
                break None;
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        // Whatever it has started ends with it.
        let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let _ = group.map(|group| kill_process_group(group, Signal::KILL));
        child.wait()?;
        Ok(match status {
            Some(status) if status.success() => End::Passed,
            Some(_) => End::Failed(failed_tests(&String::from_utf8_lossy(&fs::read(told)?))),
            None => End::TooLong,
        })
    }
}

/// The tests that a test program tells to have failed, or the one it died in.
fn failed_tests(told: &str) -> Vec<String> {
    let lines = || told.lines().filter_map(|line| line.strip_prefix("test "));
    let failed = lines().filter_map(|line| line.split_once(" ... ").filter(|(_, end)| end.ends_with("FAILED")));
    let failed: Vec<String> = failed.map(|(name, _)| name.to_string()).collect();
    if !failed.is_empty() {
        return failed;
    }
    let last = lines().next_back().and_then(|line| line.split(" ... ").next());
    vec![last.unwrap_or("the process").to_string()]
}

/// The time that a changed run may take.
pub fn limit(usual: Duration) -> Duration {
    usual * 10 + GRACE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_those_told_else_the_test_under_way() {
        let told = "running 3 tests\ntest a::b ... ok\ntest c ... FAILED\ntest d ... ok\n\nfailures:\n";
        assert_eq!(failed_tests(told), ["c"]);
        assert_eq!(
            failed_tests("running 2 tests\ntest a ... ok\ntest b - should panic ... "),
            ["b - should panic"]
        );
        assert_eq!(failed_tests(""), ["the process"]);
    }
}
