//! What operators have of `vlflab serve`: the real binary under a service manager, asked for its health.
#![allow(clippy::unwrap_used)]

mod health;
mod in_memory;
mod lesson;
mod log_format;
mod log_page;
mod metrics;
mod notify;
mod stand_in;
mod support;
mod web;
