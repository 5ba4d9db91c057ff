//! `cargo run -p xtask`: makes the tables of TESTING.md again from the heads of the test files.

use std::path::Path;
use std::process::ExitCode;
use xtask::testing;

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let made = testing::page(&root).and_then(|page| std::fs::write(root.join("TESTING.md"), page));
    match made {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}
