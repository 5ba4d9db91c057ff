//! Whatever runs is stopped by ATTENTION, by KILL and by the client's end; and a signal ends the server whatever runs.

mod kinds;
mod rollbacks;
mod signals;
mod statements;
