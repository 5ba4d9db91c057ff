//! `vlflab sql` as a person and as a script has it, against `vlflab serve`: by pipes, and in a terminal.
#![allow(clippy::unwrap_used)]

mod commands;
mod endings;
mod forms;
mod support;
mod terminal;
