//! The conversion settings of the session that a thread serves.
//!
//! Invariant: helper threads of a statement use the settings of the statement's thread: [`serve`] applies there what [`served`] returns
//! here. There is one value for all settings, so that no thread has only some of them.

use std::cell::Cell;

use super::language::{DateSettings, OF_ENGLISH};

/// The options of a session that conversions look at.
#[derive(Clone, Copy, Debug)]
pub struct Conversions {
    /// How dates are read and written.
    pub dates: DateSettings,
    /// Whether columns take strings that are too long for them, cut, as under ANSI_WARNINGS OFF (SQL Server docs, SET ANSI_WARNINGS).
    pub cuts_silently: bool,
    /// NUMERIC_ROUNDABORT: digits of exact numbers are not lost.
    pub keeps_digits: bool,
}

thread_local! {
    static SERVED: Cell<Conversions> = const {
        Cell::new(Conversions {
            dates: OF_ENGLISH,
            cuts_silently: false,
            keeps_digits: false,
        })
    };
}

/// Has the thread convert values by these options from here on.
pub fn serve(conversions: Conversions) {
    SERVED.set(conversions);
}

/// The options by which the thread converts values.
pub fn served() -> Conversions {
    SERVED.get()
}
