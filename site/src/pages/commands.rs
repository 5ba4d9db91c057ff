//! Every command with its options, from its own `--help`.

use crate::{Outcome, SiteError};
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Columns of the help texts: what a telephone held sideways has room for.
const COLUMNS: &str = "76";

const HEAD: &str = "# Commands\n\n\
Everything is one program, `vlflab`. Each command below is followed by what its `--help` prints. `-h` prints a shorter text.\n\n\
`vlflab completions SHELL` prints what bash, zsh or fish need to complete all of this; `vlflab man` prints a manual page.\n";

/// The page.
///
/// # Errors
/// The program cannot be run, or says something else than its help.
pub fn page(program: &Path) -> Outcome<String> {
    let mut page = HEAD.to_string();
    add(program, &[], &mut page)?;
    Ok(page)
}

/// The help of one command, and of those within it.
fn add(program: &Path, path: &[&str], page: &mut String) -> Outcome<()> {
    let help = help(program, path)?;
    let name: Vec<&str> = ["vlflab"].into_iter().chain(path.iter().copied()).collect();
    let level = if path.len() > 1 { "###" } else { "##" };
    let _ = write!(
        page,
        "\n{level} {}\n\n```text\n{}\n```\n",
        name.join(" "),
        help.trim_end()
    );
    for inner in subcommands(&help) {
        let mut longer = path.to_vec();
        longer.push(inner);
        add(program, &longer, page)?;
    }
    Ok(())
}

/// A command's help, the same whatever terminal and variables the caller has.
fn help(program: &Path, path: &[&str]) -> Outcome<String> {
    let mut command = Command::new(program);
    command.args(path).arg("--help").env_clear().env("COLUMNS", COLUMNS);
    let ran = command.stdin(Stdio::null()).output();
    let output = ran.map_err(|error| SiteError(format!("cannot run {}: {error}", program.display())))?;
    match String::from_utf8(output.stdout) {
        Ok(text) if output.status.success() => Ok(lines_trimmed(&text)),
        _ => Err(SiteError(format!(
            "{} {} --help failed",
            program.display(),
            path.join(" ")
        ))),
    }
}

fn lines_trimmed(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n")
}

/// The commands that a help text lists, but for `help` itself.
fn subcommands(help: &str) -> Vec<&str> {
    let list = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = list.take_while(|line| !line.is_empty()).filter_map(|line| {
        let name = line.strip_prefix("  ")?;
        (!name.starts_with(' ')).then(|| name.split_whitespace().next().unwrap_or_default())
    });
    names.filter(|name| *name != "help").collect()
}

#[cfg(test)]
mod tests {
    use super::subcommands;

    #[test]
    fn commands_are_read_from_their_list_without_what_is_said_of_them() {
        let help = "About\n\nCommands:\n  run          Runs\n  disks        Lists\n               and more\n  help         Print\n\nOptions:\n  -h\n";
        assert_eq!(subcommands(help), ["run", "disks"]);
    }
}
