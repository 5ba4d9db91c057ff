//! The scripts of `tests/sql` against the transcripts beside them; `UPDATE_TRANSCRIPTS=1` writes them again.
//!
//! `tests/sql/name.sql` is the script, `tests/sql/name.txt` its transcript. With `UPDATE_TRANSCRIPTS=1` the transcripts are
//! written again: read the difference before you keep it.
#![allow(clippy::unwrap_used)]

use crate::transcript;

use std::path::Path;

#[test]
fn scripts_answer_as_their_transcripts_say() {
    transcript::on_a_sessions_stack(compare_all);
}

fn compare_all() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sql");
    let mut scripts: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    scripts.retain(|path| path.extension().is_some_and(|extension| extension == "sql"));
    scripts.sort();
    assert!(!scripts.is_empty());
    let mut wrong = Vec::new();
    for script in scripts {
        let found = transcript::run(&std::fs::read_to_string(&script).unwrap());
        let expected_path = script.with_extension("txt");
        if std::env::var_os("UPDATE_TRANSCRIPTS").is_some() {
            std::fs::write(&expected_path, &found).unwrap();
        }
        let expected = std::fs::read_to_string(&expected_path).unwrap_or_default();
        if found != expected {
            let line = found
                .lines()
                .zip(expected.lines())
                .position(|(found, expected)| found != expected);
            let line = line.unwrap_or(found.lines().count().min(expected.lines().count()));
            let shown = |text: &str| {
                text.lines()
                    .skip(line.saturating_sub(3))
                    .take(8)
                    .collect::<Vec<_>>()
                    .join("\n")
            };
            wrong.push(format!(
                "{} differs at line {}:\n--- expected\n{}\n--- found\n{}",
                script.display(),
                line + 1,
                shown(&expected),
                shown(&found)
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
