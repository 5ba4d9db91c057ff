//! The texts of this repository that a server may be sent: scripts of the tests, of the experiments, and strings of test programs.

use std::fs;
use std::path::Path;

/// Longer texts are cut, so that an input stays small.
const TEXT_BYTES_MAX: usize = 4_000;
/// Strings of test programs that begin like this are taken for T-SQL.
const FIRST_WORDS: &[&str] = &[
    "select",
    "insert",
    "update",
    "delete",
    "create",
    "alter",
    "drop",
    "declare",
    "set",
    "exec",
    "begin",
    "if",
    "while",
    "with",
    "dbcc",
    "backup",
    "restore",
    "use",
    "print",
    "raiserror",
    "truncate",
    "merge",
    "grant",
];

/// All of them. Where the sources are not at hand, a few.
pub fn texts() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut texts = vec![
        "select 1".to_owned(),
        "create table t (a int primary key) insert t values (1)".to_owned(),
    ];
    for folder in ["crates/tsql/tests", "tests/clients", "experiments", "crates/cli/tests"] {
        collect(&root.join(folder), &mut texts);
    }
    texts
}

fn collect(folder: &Path, texts: &mut Vec<String>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    for path in paths {
        let extension = path
            .extension()
            .and_then(|extension| extension.to_str())
            .unwrap_or_default();
        match (extension, fs::read_to_string(&path)) {
            _ if path.is_dir() => collect(&path, texts),
            ("sql", Ok(text)) => texts.extend(tsql::batches::split(&text).into_iter().map(|batch| cut(&batch.text))),
            ("toml", Ok(text)) => texts.extend(text.split("'''").skip(1).step_by(2).map(cut)),
            ("rs" | "txt" | "py", Ok(text)) => texts.extend(strings(&text).filter(|text| is_statement(text)).map(cut)),
            _ => {}
        }
    }
}

fn strings(text: &str) -> impl Iterator<Item = &str> {
    text.split('"').skip(1).step_by(2)
}

fn is_statement(text: &str) -> bool {
    let word = text.split_whitespace().next().unwrap_or_default();
    FIRST_WORDS.iter().any(|first| first.eq_ignore_ascii_case(word))
}

fn cut(text: &str) -> String {
    let mut end = text.len().min(TEXT_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::texts;

    #[test]
    fn the_repository_has_over_a_thousand_texts() {
        let texts = texts();
        assert!(texts.len() > 1_000, "{}", texts.len());
    }
}
