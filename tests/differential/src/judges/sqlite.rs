//! SQLite, as Python carries it: where there is Python there is SQLite, and nothing has to be compiled for it.

use super::{Answer, Judge};
use crate::dialect::Dialect;
use crate::print::Script;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

const PROGRAM: &str = include_str!("sqlite.py");
/// The first version with RIGHT and FULL JOIN.
const VERSION_MIN: (u32, u32) = (3, 39);

/// A process of Python with a database in memory.
pub struct Sqlite {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    name: String,
}

impl Sqlite {
    /// Starts it.
    ///
    /// # Errors
    /// There is none here, or it is too old.
    pub fn start() -> Result<Sqlite, String> {
        let mut child = Command::new("python3")
            .args(["-c", PROGRAM])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("python3: {error}"))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("python3 without pipes".into());
        };
        let mut sqlite = Sqlite {
            child,
            input,
            output: BufReader::new(output),
            name: String::new(),
        };
        let version: String = sqlite.read()?;
        let mut parts = version.split('.').map_while(|part| part.parse().ok());
        let number = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
        if number < VERSION_MIN {
            return Err(format!("SQLite {version} of python3 has no FULL JOIN; 3.39 has"));
        }
        sqlite.name = format!("SQLite {version}");
        Ok(sqlite)
    }

    fn read<T: serde::de::DeserializeOwned>(&mut self) -> Result<T, String> {
        let mut line = String::new();
        self.output
            .read_line(&mut line)
            .map_err(|error| format!("SQLite: {error}"))?;
        serde_json::from_str(&line).map_err(|error| format!("SQLite ended: {error}"))
    }
}

impl Judge for Sqlite {
    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn ask(&mut self, scripts: &[Script]) -> Result<Vec<Answer>, String> {
        let line = serde_json::to_string(scripts).map_err(|error| error.to_string())?;
        writeln!(self.input, "{line}").map_err(|error| format!("SQLite: {error}"))?;
        self.read()
    }
}

impl Drop for Sqlite {
    fn drop(&mut self) {
        // Fails only for a process that has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
