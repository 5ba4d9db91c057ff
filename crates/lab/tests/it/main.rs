//! The tests of `lab` from outside: one program, so that the crate is linked once. Each file says at its head what it holds.
#![allow(clippy::unwrap_used)]

mod documented_keys;
mod mistakes;
mod prices;
mod report;
mod report_of_everything;
mod report_of_the_default_run;
mod routes;
mod validity;
