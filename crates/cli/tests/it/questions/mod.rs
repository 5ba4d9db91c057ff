//! docs/questions.md: each of its commands is run, and each line that it quotes is a line of what the command says, in that order. The servers
//! of the questions cannot be asked: `-S db1` reads rows made after the question, kept as a snapshot.

#[path = "../../../../advisor/tests/it/advice/recorded.rs"]
#[expect(dead_code, reason = "the advisor's tests use more of it")]
mod recorded;
#[path = "../../../../advisor/tests/it/advice/rows.rs"]
#[expect(dead_code, reason = "the advisor's tests use more of it")]
mod rows;
mod sets;

use crate::advise::{PASSWORD, PROGRAM, Serving, run};
use advisor::apply::{Applying, Refusal, Step, Task};
use advisor::snapshot::Snapshot;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A line of the page's table.
struct Question {
    id: String,
    /// Words behind `vlflab`; empty = no command answers it.
    command: Vec<String>,
    lines: Vec<String>,
}

fn text_of_page() -> String {
    // Asked when the test runs, not when it was built: a build folder may be shared by several checkouts.
    let folder = std::env::var("CARGO_MANIFEST_DIR").unwrap();
    fs::read_to_string(Path::new(&folder).join("../../docs/questions.md")).unwrap()
}

fn page() -> Vec<Question> {
    let text = text_of_page();
    let (table, _) = text.split_once("\n## ").unwrap();
    let rows = table
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| |"));
    let question = |row: &str| {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let [id, _, command, answer] = cells.as_slice() else {
            panic!("not four cells: {row}");
        };
        Question {
            id: (*id).to_owned(),
            command: command
                .trim_matches('`')
                .split(' ')
                .skip(1)
                .map(str::to_owned)
                .collect(),
            lines: answer.split("<br>").map(plain).collect(),
        }
    };
    rows.map(question).collect()
}

/// A line without its indentation and the width of its columns.
fn plain(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What the program says.
fn said(arguments: &[String]) -> String {
    let output = Command::new(PROGRAM).args(arguments).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
    assert!(!text.is_empty(), "{arguments:?} says nothing");
    text
}

/// The rows of the question, as the file that `vlflab snapshot` writes, or as the page names it where they are pasted.
fn kept(id: &str, folder: &Path) -> PathBuf {
    let (name, text) = match id {
        "R2" => ("loginfo.txt", sets::pasted()),
        _ => ("db1.json", sets::of(id).to_json()),
    };
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    path
}

/// A command that names a server or a file of the question reads its rows instead.
fn of_rows(question: &Question) -> String {
    let name = format!("question-{}-{}", question.id, std::process::id());
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).unwrap();
    let name = kept(&question.id, &folder).to_str().unwrap().to_owned();
    let arguments: Vec<String> = question
        .command
        .iter()
        .map(|word| match word.as_str() {
            "-S" => "--from".to_owned(),
            "db1" | "loginfo.txt" => name.clone(),
            other => other.to_owned(),
        })
        .collect();
    let text = said(&arguments);
    fs::remove_dir_all(folder).unwrap();
    text
}

/// The first step of `--apply` that changes nothing more, in the words of the program.
fn of_apply(id: &str) -> String {
    let (snapshot, disk) = (sets::of(id), sets::slow_disk());
    let step = |snapshot: &Snapshot, task: Task| {
        let mut applying = Applying::begin(task);
        loop {
            match applying.next(snapshot, &disk) {
                Step::Run(_) | Step::AwaitLogBackup { .. } => {}
                Step::Stop(why) => {
                    break format!("Stopped: {why}.\nCompleted steps stay. Run the same command again to continue.");
                }
                Step::Done(shape) => panic!("{id} is done: {shape}"),
            }
        }
    };
    match Task::of(&snapshot, &disk, "Sales") {
        Ok(task) => step(&snapshot, task),
        Err(Refusal::PrintOnly { because, tsql }) => format!("Printed and not run, because {because}:\n{tsql}"),
        Err(other) => panic!("{id}: {other:?}"),
    }
}

/// `inspect` of a server whose login has the rights of the question.
fn of_server(id: &str) -> String {
    let withheld: &[&str] = match id {
        "P1" => &[
            "--sql-version",
            "2012",
            "--withhold",
            "dm_db_log_info=208",
            "--withhold",
            "loginfo=2571",
        ],
        _ => &[],
    };
    let server = Serving::start(&format!("question-{id}"), withheld);
    run(&mut server.connection(), "create database Sales");
    let output = Command::new(PROGRAM)
        .args(["inspect", "-S", &server.address()])
        .env("MSSQL_PASSWORD", PASSWORD)
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

fn answer(question: &Question) -> Option<String> {
    let words: Vec<&str> = question.command.iter().map(String::as_str).collect();
    Some(match words.as_slice() {
        [] | ["run", ..] => return None,
        ["inspect", ..] => of_server(&question.id),
        ["advise", .., "--apply", _] => of_apply(&question.id),
        ["advise", "-S" | "--from", ..] => of_rows(question),
        _ => said(&question.command),
    })
}

/// Which quoted lines are not lines of the answer behind those before them. `...` at the end of a line leaves out its rest.
fn missing<'a>(lines: &'a [String], answer: &str) -> Vec<&'a str> {
    let mut said = answer.lines().map(|line| plain(line.trim_start_matches([' ', '|'])));
    let mut is_said = |line: &String| match line.strip_suffix("...") {
        Some(begin) => said.any(|each| each.starts_with(begin.trim_end())),
        None => said.any(|each| each == *line),
    };
    lines.iter().filter(|line| !is_said(line)).map(String::as_str).collect()
}

#[test]
fn every_quoted_answer_is_what_its_command_says() {
    let page = page();
    assert_eq!(page.len(), 39);
    let ids: BTreeSet<&str> = page.iter().map(|question| question.id.as_str()).collect();
    assert_eq!(ids.len(), 39, "a question stands there twice");
    let mut faults = Vec::new();
    let mut unanswered = Vec::new();
    for question in &page {
        match answer(question) {
            None => {
                assert!(question.lines[0].starts_with("not answered"), "{}", question.id);
                unanswered.push(question.id.as_str());
            }
            Some(answer) => {
                assert!(
                    !question.lines.is_empty() && !question.lines[0].is_empty(),
                    "{}",
                    question.id
                );
                for line in missing(&question.lines, &answer) {
                    faults.push(format!("{}: not said: {line}\n{answer}", question.id));
                }
            }
        }
    }
    assert_eq!(unanswered, ["B1", "B2", "T1"]);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_line_that_is_not_said_or_in_another_place_is_noticed() {
    let lines = |text: &str| text.split('/').map(str::to_owned).collect::<Vec<_>>();
    let answer = "one  two\n    three four\n  | five";
    assert!(missing(&lines("one two/three .../five"), answer).is_empty());
    assert_eq!(missing(&lines("one two/three"), answer), ["three"]);
    assert_eq!(missing(&lines("five/one two"), answer), ["one two"]);
}

/// The text of the fenced block of this language behind the heading "The first hour".
fn block<'a>(page: &'a str, language: &str) -> &'a str {
    let (_, hour) = page.split_once("## The first hour").unwrap();
    let (_, block) = hour.split_once(&format!("```{language}\n")).unwrap();
    block.split_once("```").unwrap().0
}

/// The hour's commands that ask a running server, each with the lines that are shown of its answer. `...` alone leaves lines out, and how long a
/// statement took is this machine's.
fn commands_of_the_hour(page: &str) -> Vec<(String, Vec<String>)> {
    let mut commands: Vec<(String, Vec<String>)> = Vec::new();
    for line in block(page, "text").lines() {
        match line.strip_prefix("$ ") {
            Some(command) => commands.push((command.to_owned(), Vec::new())),
            None => commands
                .last_mut()
                .unwrap()
                .1
                .push(plain(line.trim_start_matches([' ', '|']))),
        }
    }
    let is_time = |line: &str| {
        line.strip_suffix(" s")
            .is_some_and(|number| number.parse::<f64>().is_ok())
    };
    for (_, lines) in &mut commands {
        lines.retain(|line| line != "..." && !line.starts_with("Go on?") && !is_time(line));
    }
    commands.retain(|(command, _)| command.starts_with("vlflab advise") || command.starts_with("vlflab inspect"));
    commands
}

/// A DBA's first hour as the page tells it: a log is found to be worth a rebuild, rebuilt, and found to be well.
#[test]
fn the_first_hour_goes_as_it_is_told() {
    let page = text_of_page();
    let server = Serving::start("first-hour", &["--sql-version", "2012"]);
    let mut connection = server.connection();
    for batch in block(&page, "sql").split("\ngo\n") {
        run(&mut connection, batch);
    }
    let commands = commands_of_the_hour(&page);
    assert_eq!(commands.len(), 4);
    for (command, lines) in commands {
        let agreed = if command.contains("--apply") { " --yes" } else { "" };
        let there = command.replace("127.0.0.1,14777", &server.address());
        let output = Command::new("sh")
            .args([
                "-c",
                &format!("{}{agreed}", there.replacen("vlflab", "\"$PROGRAM\"", 1)),
            ])
            .env("PROGRAM", PROGRAM)
            .env("MSSQL_PASSWORD", PASSWORD)
            .current_dir(&server.folder)
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
        let text = text.replace(&format!("127.0.0.1:{}", server.port), "127.0.0.1:14777");
        assert!(!lines.is_empty(), "{command}");
        let missing = missing(&lines, &text);
        assert!(missing.is_empty(), "{command}: not said: {missing:?}\n{text}");
    }
}
