//! Fuzzing targets: each makes inputs and passes them to the program's own functions.

mod files;
mod functions;
mod listening;
mod rows_files;
mod session;
mod tds;
mod text;
mod tls;

use outside::random::Random;

/// Whether an input got past the first look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reached {
    /// It was refused as a whole: it does not parse, or is not a message.
    Refused,
    /// It was taken: parsed, bound, executed or decoded.
    Taken,
}

/// What an input of most targets may take besides a hundred times its length.
pub const MEMORY_BYTES: usize = 64 << 20;

/// Something that reads inputs.
pub trait Target {
    /// Makes an input of draws.
    fn make(&self, random: &mut Random) -> Vec<u8>;

    /// Does what is done once for many inputs, so that none of them is charged for it.
    fn prepare(&mut self) {}

    /// Gives an input to the program.
    fn take(&mut self, input: &[u8]) -> Reached;

    /// What an input may take besides a hundred times its length.
    fn memory_bytes_max(&self) -> usize {
        MEMORY_BYTES
    }
}

/// A target's name and what a run of all does with it.
#[derive(Clone, Copy)]
pub struct Description {
    /// Its name in commands and counts.
    pub name: &'static str,
    /// Of 1,000 inputs of a run of all targets, so many are for this one.
    pub share: u64,
    /// Inputs of a history; each history has a target of its own.
    pub history: u64,
    /// A new one.
    pub build: fn() -> Box<dyn Target>,
}

pub const TARGETS: &[Description] = &[
    Description {
        name: "batch-bytes",
        share: 230,
        history: 20_000,
        build: text::by_bytes,
    },
    Description {
        name: "batch-grammar",
        share: 150,
        history: 20_000,
        build: text::by_grammar,
    },
    Description {
        name: "bind-grammar",
        share: 110,
        history: 2_000,
        build: session::binding,
    },
    Description {
        name: "run-grammar",
        share: 20,
        history: 500,
        build: session::running,
    },
    Description {
        name: "functions",
        share: 60,
        history: 2_000,
        build: functions::build,
    },
    Description {
        name: "tds-packets",
        share: 150,
        history: 20_000,
        build: tds::packets,
    },
    Description {
        name: "tds-messages",
        share: 180,
        history: 20_000,
        build: tds::messages,
    },
    Description {
        name: "tds-calls",
        share: 9,
        history: 1_000,
        build: tds::calls,
    },
    Description {
        name: "tds-bulk",
        share: 9,
        history: 1_000,
        build: tds::bulk,
    },
    Description {
        name: "tds-conversation",
        share: 1,
        history: 200,
        build: tds::conversation,
    },
    Description {
        name: "tls",
        share: 40,
        history: 5_000,
        build: tls::handshakes,
    },
    Description {
        name: "genuine-files",
        share: 20,
        history: 5_000,
        build: files::build,
    },
    Description {
        name: "rows-files",
        share: 20,
        history: 5_000,
        build: rows_files::build,
    },
    Description {
        name: "tls-conversation",
        share: 1,
        history: 200,
        build: tls::conversation,
    },
];

/// The target of a name.
pub fn find(name: &str) -> Option<&'static Description> {
    TARGETS.iter().find(|target| target.name == name)
}
