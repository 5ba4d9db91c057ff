//! The supported T-SQL: tried, or read from the server's own tables.

mod forms;
mod names;
mod trial;

use super::cell;
use crate::Outcome;
use forms::{CHAPTERS, Chapter, SETUP, Subject};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use trial::{Trial, Verdict};
use tsql::grammar::{Fate, PLACES, Place};
use tsql::system::procedures;
use tsql::{functions, views};
use vlf::ServerVersion;

const HEAD: &str = "# Supported T-SQL\n\n\
**Yes** means that every form in the line works, **Partly** that some do, **No** that none does. Nothing that would change an answer is accepted and \
then ignored. What is not supported is refused with the error number in parentheses, mostly 40517, whose text names the refused word.\n\n\
This page is generated: the server ran a script for each form, and the page shows the outcome. Words, functions, views and procedures come \
from the server's own tables. [README, Limits](../README.md#limits) says how large a statement may be.\n\n";

/// The page.
///
/// # Errors
/// The server that scripts are tried on does not start, or refuses what all of them need.
pub fn page() -> Outcome<String> {
    let trial = Trial::start()?;
    let mut page = HEAD.to_string();
    let mut number = 0;
    for chapter in CHAPTERS {
        add_chapter(&mut page, &trial, &chapter, &mut number)?;
    }
    trial.must("master", "create database named")?;
    trial.must("named", SETUP)?;
    add_types(&mut page, &trial)?;
    add_functions(&mut page, &trial)?;
    add_globals(&mut page, &trial)?;
    add_words(&mut page);
    add_views(&mut page);
    add_procedures(&mut page);
    Ok(page)
}

fn add_chapter(page: &mut String, trial: &Trial, chapter: &Chapter, number: &mut usize) -> Outcome<()> {
    let _ = write!(
        page,
        "## {}\n\n| statement | | what works | what is refused |\n|---|---|---|---|\n",
        chapter.title
    );
    for subject in chapter.subjects {
        *number += 1;
        let database = format!("book{number}");
        trial.must("master", &format!("create database {database}"))?;
        trial.must(&database, SETUP)?;
        add_subject(page, trial, subject, &database)?;
    }
    page.push('\n');
    Ok(())
}

fn add_subject(page: &mut String, trial: &Trial, subject: &Subject, database: &str) -> Outcome<()> {
    let (mut works, mut refused) = (Vec::new(), Vec::new());
    for (form, script) in subject.forms {
        match trial.run(database, &script.replace("{}", database))? {
            Ok(()) => works.push((*form).to_owned()),
            Err((number, _)) => refused.push(format!("{form} ({number})")),
        }
    }
    let answer = match (works.is_empty(), refused.is_empty()) {
        (false, true) => "Yes",
        (false, false) => "Partly",
        (true, _) => "No",
    };
    let (works, refused) = (works.join("; "), refused.join("; "));
    let (name, works, refused) = (cell(subject.name), cell(&works), cell(&refused));
    let _ = writeln!(page, "| {name} | **{answer}** | {works} | {refused} |");
    Ok(())
}

/// Names in code, with commas between them.
fn listed<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

fn add_types(page: &mut String, trial: &Trial) -> Outcome<()> {
    page.push_str("## Types\n\nAs columns of a table.\n\n| | types |\n|---|---|\n");
    let newest = Trial::of(ServerVersion::V2025)?;
    newest.must("master", "create database named")?;
    let (mut had, mut later, mut refused) = (Vec::new(), Vec::new(), Vec::new());
    for (index, name) in names::TYPES.split([' ', '|']).enumerate() {
        let made = format!("create table type{index} (x {name})");
        match trial.run("named", &made)? {
            Ok(()) => had.push(name),
            Err(_) if newest.run("named", &made)?.is_ok() => later.push(name),
            Err((number, _)) => refused.push(format!("`{name}` ({number})")),
        }
    }
    let _ = writeln!(page, "| **Yes** | {} |", listed(had));
    let _ = writeln!(
        page,
        "| **With `--sql-version 2025`** | {} (else 2715) |",
        listed(later)
    );
    let _ = write!(page, "| **No** | {} |\n\n", refused.join(", "));
    page.push_str("There are nineteen collations, all of them Latin1_General: `select name from sys.fn_helpcollations()` lists them. A row has at most 8,060 bytes on its page; longer values of `max` types, and variable columns that do not fit, are stored outside of it (511 when that is not enough). A `rowversion` (`timestamp`) column gets the database's next value whenever a row is written; reserved values that were not used are skipped when the database opens.\n\n");
    Ok(())
}

/// Adds a heading and a table of what is had and what not.
fn add_yes_and_no(page: &mut String, title: &str, tried: &BTreeMap<String, Verdict>) {
    let had: Vec<&str> = tried
        .iter()
        .filter(|(_, verdict)| verdict.is_ok())
        .map(|(name, _)| name.as_str())
        .collect();
    let refused: Vec<String> = tried
        .iter()
        .filter_map(|(name, verdict)| verdict.as_ref().err().map(|(number, _)| format!("`{name}` ({number})")))
        .collect();
    let _ = write!(page, "### {title}\n\n| | |\n|---|---|\n| **Yes** | {} |\n", listed(had));
    if !refused.is_empty() {
        let _ = writeln!(page, "| **No** | {} |", refused.join(", "));
    }
    page.push('\n');
}

fn add_functions(page: &mut String, trial: &Trial) -> Outcome<()> {
    page.push_str("## Functions\n\n");
    let mut apart = BTreeSet::new();
    for (title, calls) in names::CALLED {
        let mut tried = BTreeMap::new();
        for (name, script) in calls {
            tried.insert((*name).to_owned(), trial.run("named", script)?);
            apart.insert(*name);
        }
        add_yes_and_no(page, title, &tried);
    }
    let mut tried = BTreeMap::new();
    for name in names::BARE {
        tried.insert(name.to_uppercase(), trial.run("named", &format!("select {name}"))?);
    }
    for name in names::SCALAR
        .split_whitespace()
        .filter(|name| !apart.contains(name.to_uppercase().as_str()))
    {
        let verdict = match functions::find(name) {
            Some(_) => Ok(()),
            None => absent(trial.run("named", &format!("select {name}(1)"))?),
        };
        tried.insert(name.to_uppercase(), verdict);
    }
    let more = functions::every().map(|function| function.name.to_uppercase());
    for name in more.filter(|name| !apart.contains(name.as_str())) {
        tried.entry(name).or_insert(Ok(()));
    }
    add_yes_and_no(page, "Scalar functions", &tried);
    Ok(())
}

/// A function that no table has may be one of the binder's own: then its call is refused for its arguments alone.
fn absent(verdict: Verdict) -> Verdict {
    const WRONG_ARGUMENTS: [i32; 4] = [174, 189, 8116, 1035];
    match verdict {
        Err((number, _)) if WRONG_ARGUMENTS.contains(&number) => Ok(()),
        other => other,
    }
}

fn add_globals(page: &mut String, trial: &Trial) -> Outcome<()> {
    let mut tried = BTreeMap::new();
    for name in names::GLOBALS.split_whitespace() {
        tried.insert(
            format!("@@{}", name.to_uppercase()),
            trial.run("named", &format!("select @@{name}"))?,
        );
    }
    add_yes_and_no(page, "Variables of the server", &tried);
    Ok(())
}

fn add_words(page: &mut String) {
    page.push_str(
        "## Options, hints and DBCC\n\n\
         *Obeyed*: it has SQL Server's effect. *As it is*: only this value is accepted, because it says what holds here anyway; any other is refused \
         with 40517, or with the number behind it. *No matter*: it asks for one of several ways to the same answer; it is accepted, and the server takes its own way. *Refused*: \
         with 40517.\n\n",
    );
    for place in PLACES {
        add_place(page, place);
    }
}

/// What a column of the tables of words is called.
fn title_of(fate: Fate) -> &'static str {
    match fate {
        Fate::Obeyed => "Obeyed",
        Fate::Only(_) | Fate::OnlyWhenRun(..) => "As it is",
        Fate::Advice => "No matter",
        Fate::Refused => "Refused",
    }
}

fn add_place(page: &mut String, place: &Place) {
    let _ = write!(page, "### {}\n\n| | |\n|---|---|\n", place.name);
    for title in ["Obeyed", "As it is", "No matter", "Refused"] {
        let words: Vec<String> = place
            .words
            .iter()
            .filter(|word| title_of(word.fate) == title)
            .map(|word| match word.fate {
                Fate::Only(values) if values != [""] => {
                    let written: Vec<String> = values
                        .iter()
                        .map(|value| format!("`{}{}{value}`", word.name, place.joint))
                        .collect();
                    written.join(" or ")
                }
                Fate::OnlyWhenRun(values, number) => {
                    let written: Vec<String> = values
                        .iter()
                        .map(|value| format!("`{}{}{value}`", word.name, place.joint))
                        .collect();
                    format!("{} (else {number})", written.join(" or "))
                }
                _ => format!("`{}`", word.name),
            })
            .collect();
        if !words.is_empty() {
            let _ = writeln!(page, "| **{title}** | {} |", cell(&words.join(", ")));
        }
    }
    page.push('\n');
}

fn add_views(page: &mut String) {
    page.push_str(
        "## System views and functions\n\n\
         They have SQL Server's columns. Views of features that are not there are empty. msdb has tables, as in SQL Server: those of the \
         history of backups and restores are filled, those of jobs are filled by `sp_add_job` and its kin (nothing runs jobs: \
         `sp_start_job` is 22022), those of alerts and log shipping are empty.\n\n\
         | schema | views |\n|---|---|\n",
    );
    let mut schemas: BTreeMap<(&str, bool), BTreeSet<&str>> = BTreeMap::new();
    for view in views::every() {
        schemas
            .entry((view.schema, view.is_function))
            .or_default()
            .insert(view.name);
    }
    for ((schema, is_function), names) in schemas {
        let kind = if is_function { ", functions" } else { "" };
        let _ = writeln!(page, "| `{schema}`{kind} | {} |", listed(names));
    }
    page.push('\n');
}

fn add_procedures(page: &mut String) {
    page.push_str("## System procedures\n\n| procedure | parameters |\n|---|---|\n");
    let mut all: Vec<_> = procedures::every().collect();
    all.sort_by_key(|procedure| procedure.name);
    for procedure in all {
        let parameters: Vec<String> = procedure
            .parameters
            .iter()
            .map(|(name, _, needed)| {
                if *needed {
                    format!("`{name}`")
                } else {
                    format!("[`{name}`]")
                }
            })
            .collect();
        let _ = writeln!(page, "| `{}` | {} |", procedure.name, parameters.join(", "));
    }
    page.push_str("\nParameters in brackets may be left out.");
    page.push_str(
        " `sp_executesql`, `sp_prepare`, `sp_execute`, `sp_unprepare`, `sp_prepexec`, the `sp_cursor` family and \
         `sp_describe_first_result_set` are there as well. Clients use them, so they are not in the table.\n",
    );
}
