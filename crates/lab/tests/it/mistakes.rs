//! Experiment files with mistakes: every mistake, not only the first, is named with its line and the remedy.
#![allow(clippy::unwrap_used)]

use lab::catalogue::{self, Scripts};
use lab::experiment::{Experiment, Fault};
use std::fs;
use std::path::PathBuf;

/// A folder with scripts, removed when the test is over.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("mistakes-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("setup.sql"), "create database d\ngo\n").unwrap();
        fs::write(
            path.join("fill.sql"),
            "-- fills\ndeclare @rows int = $(row_count)\n\nselect $(rows), $(log_start), $(onlyfull)\n",
        )
        .unwrap();
        Folder(path)
    }

    fn faults(&self, text: &str) -> Vec<Fault> {
        Experiment::read(text, Scripts::Folder(self.0.clone())).1
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Each line that is wrong ends with what has to be said of it; `@` parts several things said of one line.
const WRONG: &str = r#"name = "mine"
titel = "A title" #: unknown key `titel`; did you mean title?
question = 5 #: `question` is a number; write a text in quotes
database = "d"
matrix = { log_polcy = ["native"] } #: unknown setting `matrix.log_polcy`; did you mean log_policy?
[scale.quick]
description = "small"
runs = "3" #: `scale.quick.runs` is a text; write a whole number
variables = { row_count = "10" }
[scale.full]
description = "large"
runs = 0 #: `scale.full.runs` is 0; at least 1
variables = { row_count = "1000", onlyfull = "1" }
[server]
sql_version = "2006" #: `sql_version` cannot be "2006"
log_policy = "native"
[[configuration]]
name = "bad"
title = "many"
log = { start = "1MB", growth = "1 parsec", max = "$(log_mb)MB" } #: "1 parsec" is not a size @ $(log_mb) is not defined
[[configuration]]
name = "bad" #: a second configuration is named "bad"
title = "again"
log = { start = "64MB", growth = "1MB", max = "64MB" }
[[configuration]] #: `configuration` has no `title`; add it
name = "good"
log = { start = "256KB", growth = "1MB", max = "4MB" } #: no log can have these sizes
[[step]]
do = "sql"
label = "set up"
file = "setpu.sql" #: script "setpu.sql": cannot read @ did you mean setup.sql?
[[step]]
do = "sql"
label = "fill"
file = "fill.sql"
until_error = "9002" #: `step.until_error` is a text; write a whole number
measure = "fill_s"
[[step]] #: `step` has no `sql`; add it
do = "query"
label = "rows"
measure = "rows"
[[step]]
do = "kil" #: `step.do` cannot be "kil"; did you mean kill?
[[step]]
do = "check"
label = "nothing is lost"
sql = "select $(nothing) from t" #: $(nothing) is not defined
equals = "row" #: "row" is neither a number nor measured before this check; did you mean rows?
mesure = "x" #: unknown key `step.mesure`
[[finding]]
measure = "fil_s" #: no step measures "fil_s"; did you mean fill_s?
slow = "bad"
fast = "god" #: no configuration is named "god"; did you mean good
what = "Filling"
[[chart]]
kind = "pie" #: `chart.kind` cannot be "pie"
title = "t"
caption = "c"
measures = "fill_s" #: `chart.measures` is a text; write a list
[[threshold]] #: `threshold` limits nothing; add max
measure = "fill_s"
configuration = "bad"
[[threshold]]
measure = "fill_s"
configuration = "bad"
ratio_to = "goodd" #: no configuration is named "goodd"; did you mean good?
max = 2
"#;

/// What is expected of each line, from the ends of the lines.
fn expected(text: &str) -> Vec<(usize, &str)> {
    let noted = text
        .lines()
        .enumerate()
        .filter_map(|(index, line)| Some((index + 1, line.split_once("#: ")?.1)));
    noted
        .flat_map(|(line, said)| said.split(" @ ").map(move |part| (line, part)))
        .collect()
}

#[test]
fn every_mistake_is_named_with_its_line_and_its_remedy() {
    let folder = Folder::new("every");
    let faults = folder.faults(WRONG);
    let shown: Vec<String> = faults.iter().map(ToString::to_string).collect();
    let shown = shown.join("\n");
    let in_file: Vec<&Fault> = faults.iter().filter(|fault| fault.script.is_none()).collect();
    let expected = expected(WRONG);
    assert!(expected.len() >= 24, "the file has its mistakes");
    for (line, part) in &expected {
        let found = in_file
            .iter()
            .any(|fault| fault.line == *line && fault.text.contains(part));
        assert!(found, "line {line}: {part}\namong\n{shown}");
    }
    // The key that is missing at the top has no line of its own: it is reported at the first one.
    assert!(
        in_file
            .iter()
            .any(|fault| fault.line == 1 && fault.text.contains("has no `title`")),
        "{shown}"
    );
    for fault in in_file {
        let is_expected = expected.iter().any(|(line, _)| *line == fault.line);
        assert!(is_expected || fault.line == 1, "nothing is wrong there: {fault}");
        assert!(!fault.text.contains('\u{FFFD}'), "{fault}");
    }
}

#[test]
fn unknown_variables_of_a_script_are_named_with_the_scripts_line() {
    let folder = Folder::new("script");
    let faults = folder.faults(WRONG);
    let of_script: Vec<(usize, &str)> = faults
        .iter()
        .filter(|fault| fault.script.as_deref() == Some("fill.sql"))
        .map(|fault| (fault.line, fault.text.as_str()))
        .collect();
    assert_eq!(of_script.len(), 2, "{of_script:?}");
    assert_eq!(of_script[0].0, 4);
    assert!(
        of_script[0].1.contains("$(onlyfull) has no value at scale \"quick\""),
        "{}",
        of_script[0].1
    );
    assert!(of_script[1].1.contains("$(rows) is not defined"), "{}", of_script[1].1);
}

#[test]
fn broken_toml_does_not_hide_the_other_mistakes() {
    let folder = Folder::new("broken");
    let text = "name = \"x\ntitle = \"t\"\nquestion = 5\ndatabase = = \"d\"\n";
    let faults = folder.faults(text);
    for (line, part) in [
        (1, "not TOML"),
        (3, "`question` is a number"),
        (4, "not TOML"),
        (1, "has no `step`"),
    ] {
        let found = faults
            .iter()
            .any(|fault| fault.line == line && fault.text.contains(part));
        assert!(found, "line {line}: {part} in {faults:#?}");
    }
}

#[test]
fn no_text_however_wrong_makes_reading_fail() {
    let folder = Folder::new("any");
    for text in [
        "",
        "\u{0}",
        "[[step]]",
        "step = 5",
        "step = [5, \"x\", {}]",
        "step = { do = \"sql\" }",
        "[[step]]\ndo = 7",
        "[[step]]\ndo = []\nfile = 1",
        "scale = []",
        "scale.quick = 1979-05-27",
        "configuration = [{ log = 5 }, { log = { start = 5 } }]",
        "[published]\nconfiguration = [{ measurements = { x = \"y\" } }]",
        "matrix = { log_policy = [1, 2] }",
        "name = \"a\"\nname = \"b\"",
        "[[finding]]\n[[finding.slow]]",
    ] {
        let faults = folder.faults(text);
        assert!(!faults.is_empty(), "{text:?} is an experiment?");
        let lines = text.lines().count().max(1);
        for fault in &faults {
            assert!((1..=lines).contains(&fault.line), "{text:?}: {fault}");
        }
    }
    // Every text that a cut or a lost character makes of a good file is read to its end, too.
    let good = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/recovery.toml")).unwrap();
    for end in (0..good.len()).step_by(97).filter(|end| good.is_char_boundary(*end)) {
        folder.faults(good.get(..end).unwrap());
        folder.faults(&(good.get(..end).unwrap().to_string() + good.get(end + 1..).unwrap_or_default()));
    }
}

#[test]
fn the_whole_list_is_told_with_the_files_name() {
    let folder = Folder::new("told");
    let path = folder.0.join("mine.toml");
    fs::write(&path, WRONG).unwrap();
    let error = catalogue::load(path.to_str().unwrap()).unwrap_err().to_string();
    assert!(
        error.contains("mine.toml has") && error.contains("mistakes:\n  "),
        "{error}"
    );
    assert!(error.contains("\n  line 2: unknown key `titel`"), "{error}");
    assert!(error.contains("\n  fill.sql, line 4: "), "{error}");
}
