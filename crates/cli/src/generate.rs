//! `vlflab completions` and `vlflab man`: made from the same definitions as the command line itself.

use crate::arguments::Arguments;
use crate::exit::Failure;
use clap::{Args, CommandFactory};
use clap_complete::Shell;
use std::io::{self, Write};

/// Shown under `vlflab completions --help`.
pub const COMPLETIONS_EXAMPLES: &str = "Examples:
  vlflab completions bash > /etc/bash_completion.d/vlflab
  vlflab completions zsh > ~/.zfunc/_vlflab
  vlflab completions powershell >> $PROFILE";

/// Shown under `vlflab man --help`.
pub const MAN_EXAMPLES: &str = "Examples:
  vlflab man | man -l -
  vlflab man plan | man -l -
  vlflab man inspect > /usr/local/share/man/man1/vlflab-inspect.1";

/// Options of `vlflab completions`.
#[derive(Debug, Args)]
pub struct CompletionsOptions {
    /// Shell to write for.
    pub shell: Shell,
}

/// Options of `vlflab man`.
#[derive(Debug, Args)]
pub struct ManOptions {
    /// Subcommand whose page is wanted; without one, the page of vlflab.
    pub command: Option<String>,
}

/// Prints the completion script of a shell.
pub fn completions(options: &CompletionsOptions) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut Arguments::command(), "vlflab", &mut script);
    Ok(io::stdout().lock().write_all(&script)?)
}

/// Prints a manual page.
pub fn man(options: &ManOptions) -> Result<(), Failure> {
    let whole = Arguments::command();
    let command = match &options.command {
        None => whole,
        Some(name) => {
            let known = whole.get_subcommands().find(|command| command.get_name() == name);
            let named = known.map(|command| {
                command
                    .clone()
                    .name(format!("vlflab-{name}"))
                    .bin_name(format!("vlflab {name}"))
            });
            named.ok_or_else(|| Failure::Usage(format!("there is no subcommand '{name}'")))?
        }
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page)?;
    Ok(io::stdout().lock().write_all(&page)?)
}
