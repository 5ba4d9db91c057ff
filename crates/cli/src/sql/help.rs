//! The output of `:help`.

use crate::wrap;

/// Each command and what it does.
const COMMANDS: [(&str, &str); 19] = [
    ("GO [n]", "run what was typed, n times"),
    (":r FILE", "read T-SQL and commands from a file"),
    (
        ":connect SERVER[,PORT] [-U LOGIN] [-P PASSWORD] [-d DATABASE] [-l SECONDS] [-N[s|m|o]] [-C] [-F NAME] [-J FILE]",
        "connect to a server; without anything, to the last one again",
    ),
    (":out FILE|stdout|stderr", "where rows and messages go"),
    (":error FILE|stdout|stderr", "where errors go"),
    (":list", "print what was typed since the last GO"),
    (":reset", "forget it"),
    (":ed", "edit it, or the last batch (SQLCMDEDITOR, VISUAL, EDITOR)"),
    (
        ":setvar NAME [VALUE]",
        "set the variable that $(NAME) stands for, or forget it",
    ),
    (":listvar", "print the variables"),
    (":on error exit|ignore", "what an error does"),
    (":xml on|off", "print FOR XML as one text"),
    (":vertical [on|off]", "a line for each value"),
    (
        ":format FORMAT",
        "auto, horizontal, vertical, fit, ascii, json, csv or md",
    ),
    (":timing on|off", "print what each batch took"),
    ("!! COMMAND", "run a command of the system"),
    (":exit, :quit", "leave"),
    (":exit(QUERY)", "leave with the value of its last row as exit code"),
    (":help", "print this"),
];

const KEYS: &str = "Tab completes keywords, commands and the names of databases, tables and columns. Up and Down go through the \
    batches of this and earlier sessions, Ctrl-R searches them. Ctrl-C stops the running batch, or forgets what was typed; Ctrl-D \
    leaves.";

/// Room for a command; a longer one has lines of its own, and what it does stands below.
const COMMAND_COLUMNS: usize = 26;

/// The commands in lines of at most `width` characters, broken between words.
pub(super) fn text(width: usize) -> String {
    let mut text = Vec::new();
    let rest = " ".repeat(COMMAND_COLUMNS);
    for (command, about) in COMMANDS {
        if command.chars().count() < COMMAND_COLUMNS {
            let first = format!("{command:<COMMAND_COLUMNS$}");
            write(&mut text, width, (&first, &rest), about);
        } else {
            write(&mut text, width, ("", "    "), command);
            write(&mut text, width, (&rest, &rest), about);
        }
    }
    text.push(b'\n');
    write(&mut text, width, ("", ""), KEYS);
    String::from_utf8_lossy(&text).trim_end().to_owned()
}

fn write(text: &mut Vec<u8>, width: usize, indents: (&str, &str), words: &str) {
    wrap::write(text, width, indents, words).expect("memory takes what is written to it");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::command;

    /// At any width a line has whole words and fits, and nothing is lost.
    #[test]
    fn lines_fit_and_words_stay_whole() {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let all = words(&text(usize::MAX));
        for width in 40..=100 {
            let text = text(width);
            assert_eq!(words(&text), all, "{width}");
            for line in text.lines() {
                let is_one_word = words(line).len() == 1;
                assert!(line.chars().count() <= width || is_one_word, "{width}: {line:?}");
            }
        }
    }

    /// Every command that completion knows is explained.
    #[test]
    fn every_command_is_explained() {
        let text = text(wrap::WIDTH_MAX);
        for name in command::NAMES {
            let word = name.trim_start_matches(":!!").split(' ').next().unwrap_or_default();
            let is_there = text
                .lines()
                .any(|line| line.starts_with(word) || line.contains(&format!(" {word}")));
            assert!(is_there, "{name}");
        }
    }
}
