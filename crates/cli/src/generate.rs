//! `vlflab completions` and `vlflab man`: generated from the same definitions as the command line itself.

use crate::arguments::Arguments;
use crate::exit::Failure;
use clap::builder::Resettable;
use clap::{Args, Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Shown under `vlflab completions --help`.
pub const COMPLETIONS_EXAMPLES: &str = "Examples:
  vlflab completions bash > /etc/bash_completion.d/vlflab
  vlflab completions zsh > ~/.zfunc/_vlflab
  vlflab completions powershell >> $PROFILE";

/// Shown under `vlflab man --help`.
pub const MAN_EXAMPLES: &str = "Examples:
  vlflab man | man -l -
  vlflab man disks probe | man -l -
  vlflab man --out /usr/local/share/man/man1";

/// Options of `vlflab completions`.
#[derive(Debug, Args)]
pub struct CompletionsOptions {
    /// Shell to write for.
    pub shell: Shell,
}

/// Options of `vlflab man`.
#[derive(Debug, Args)]
pub struct ManOptions {
    /// Subcommand whose page to print; without one, the page of vlflab.
    pub command: Vec<String>,
    /// Write the pages of all commands into this folder, which is created if it does not exist.
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    pub out: Option<PathBuf>,
}

/// Prints the completion script of a shell.
pub fn completions(options: &CompletionsOptions) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut Arguments::command(), "vlflab", &mut script);
    Ok(io::stdout().lock().write_all(&script)?)
}

/// Prints a manual page, or writes all of them.
pub fn man(options: &ManOptions) -> Result<(), Failure> {
    // A page names the pages of its subcommands, and `help` has none.
    let mut whole = without_help(Arguments::command());
    whole.build();
    if let Some(folder) = &options.out {
        let written = fs::create_dir_all(folder).and_then(|()| write_pages(&whole, folder));
        return written.map_err(|error| Failure::Failed(format!("{}: {error}", folder.display())));
    }
    let mut command = &whole;
    for name in &options.command {
        let within = command.get_bin_name().unwrap_or("vlflab");
        let known = command.find_subcommand(name);
        command = known.ok_or_else(|| Failure::Usage(format!("there is no subcommand '{name}' of {within}")))?;
    }
    Ok(io::stdout().lock().write_all(&page(command)?)?)
}

fn without_help(command: Command) -> Command {
    command.disable_help_subcommand(true).mut_subcommands(without_help)
}

/// Writes the page of a command and those of its subcommands, `vlflab-disks-probe.1` for one.
fn write_pages(command: &Command, folder: &Path) -> io::Result<()> {
    let title = command.get_display_name().unwrap_or("vlflab");
    fs::write(folder.join(format!("{title}.1")), page(command)?)?;
    let mut below = command.get_subcommands();
    below.try_for_each(|command| write_pages(command, folder))
}

/// The page of a command that was built with the whole.
fn page(command: &Command) -> io::Result<Vec<u8>> {
    let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let manual = Man::new(command.clone().after_help(Resettable::Reset));
    let mut page = Vec::new();
    manual
        .source(concat!("vlflab ", env!("CARGO_PKG_VERSION")))
        .manual("vlflab")
        .render(&mut page)?;
    after_help(&after).to_writer(&mut page)?;
    Ok(page)
}

/// What stands under a command's help. Indented lines are examples: they keep their line and their spaces, to be copied.
fn after_help(text: &str) -> Roff {
    let mut section = Roff::default();
    let body = text.strip_prefix("Examples:\n");
    if !text.is_empty() {
        section.control("SH", [if body.is_some() { "EXAMPLES" } else { "NOTES" }]);
    }
    let mut is_example = false;
    for line in body.unwrap_or(text).lines() {
        if line.starts_with(' ') != is_example {
            is_example = !is_example;
            section.control(if is_example { "nf" } else { "fi" }, []);
        }
        match line {
            "" => section.control("PP", []),
            line => section.text([roman(line)]),
        };
    }
    if is_example {
        section.control("fi", []);
    }
    section
}
