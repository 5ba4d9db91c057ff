//! The SET options of a session.

use engine::session::Isolation;

/// SET options with the defaults that SQL Server's client drivers set.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is an option of its own in T-SQL")]
pub struct SetOptions {
    /// NOCOUNT
    pub nocount: bool,
    /// XACT_ABORT
    pub xact_abort: bool,
    /// IMPLICIT_TRANSACTIONS
    pub implicit_transactions: bool,
    /// ANSI_NULLS
    pub ansi_nulls: bool,
    /// ANSI_PADDING
    pub ansi_padding: bool,
    /// ANSI_WARNINGS
    pub ansi_warnings: bool,
    /// ANSI_NULL_DFLT_ON
    pub ansi_null_default_on: bool,
    /// ARITHABORT
    pub arithabort: bool,
    /// CONCAT_NULL_YIELDS_NULL
    pub concat_null_yields_null: bool,
    /// QUOTED_IDENTIFIER
    pub quoted_identifier: bool,
    /// NOEXEC
    pub noexec: bool,
    /// PARSEONLY
    pub parseonly: bool,
    /// FMTONLY
    pub fmtonly: bool,
    /// ROWCOUNT; 0 is no limit.
    pub row_count: u64,
    /// LOCK_TIMEOUT in milliseconds; -1 waits forever.
    pub lock_timeout_ms: i32,
    /// The isolation level.
    pub isolation: Isolation,
    /// The table whose identity column takes explicit values: its database and object id.
    pub identity_insert: Option<(u16, u32)>,
    /// CONTEXT_INFO
    pub context_info: Option<Vec<u8>>,
    /// DATEFIRST and LANGUAGE are accepted and have their us_english values; TEXTSIZE is 2^31 - 1.
    pub statistics: bool,
}

/// The options that decide what a plan does: a plan bound under others is of no use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanOptions {
    ansi_nulls: bool,
    concat_null_yields_null: bool,
}

impl Default for SetOptions {
    fn default() -> SetOptions {
        SetOptions {
            nocount: false,
            xact_abort: false,
            implicit_transactions: false,
            ansi_nulls: true,
            ansi_padding: true,
            ansi_warnings: true,
            ansi_null_default_on: true,
            arithabort: true,
            concat_null_yields_null: true,
            quoted_identifier: true,
            noexec: false,
            parseonly: false,
            fmtonly: false,
            row_count: 0,
            lock_timeout_ms: -1,
            isolation: Isolation::ReadCommitted,
            identity_insert: None,
            context_info: None,
            statistics: false,
        }
    }
}

impl SetOptions {
    /// Sets an option that is on or off; false when there is none of that name.
    pub fn switch(&mut self, name: &str, on: bool) -> bool {
        let option = match name {
            "NOCOUNT" => &mut self.nocount,
            "XACT_ABORT" => &mut self.xact_abort,
            "IMPLICIT_TRANSACTIONS" => &mut self.implicit_transactions,
            "ANSI_NULLS" => &mut self.ansi_nulls,
            "ANSI_PADDING" => &mut self.ansi_padding,
            "ANSI_WARNINGS" => &mut self.ansi_warnings,
            "ANSI_NULL_DFLT_ON" => &mut self.ansi_null_default_on,
            "ARITHABORT" => &mut self.arithabort,
            "CONCAT_NULL_YIELDS_NULL" => &mut self.concat_null_yields_null,
            "QUOTED_IDENTIFIER" => &mut self.quoted_identifier,
            "NOEXEC" => &mut self.noexec,
            "PARSEONLY" => &mut self.parseonly,
            "FMTONLY" => &mut self.fmtonly,
            "STATISTICS IO" | "STATISTICS TIME" | "STATISTICS PROFILE" | "STATISTICS XML" => &mut self.statistics,
            "ANSI_DEFAULTS" => {
                self.ansi_nulls = on;
                self.ansi_padding = on;
                self.ansi_warnings = on;
                self.quoted_identifier = on;
                self.ansi_null_default_on = on;
                return true;
            }
            // Known, and without a meaning here: there is nothing they could change.
            "ANSI_NULL_DFLT_OFF"
            | "ARITHIGNORE"
            | "CURSOR_CLOSE_ON_COMMIT"
            | "NUMERIC_ROUNDABORT"
            | "FORCEPLAN"
            | "REMOTE_PROC_TRANSACTIONS"
            | "SHOWPLAN_ALL"
            | "SHOWPLAN_TEXT"
            | "SHOWPLAN_XML"
            | "NO_BROWSETABLE" => return true,
            _ => return false,
        };
        *option = on;
        true
    }

    /// The options that plans depend on.
    pub fn of_plans(&self) -> PlanOptions {
        PlanOptions {
            ansi_nulls: self.ansi_nulls,
            concat_null_yields_null: self.concat_null_yields_null,
        }
    }

    /// `@@OPTIONS` (SQL Server docs, "user options").
    pub fn bits(&self) -> i32 {
        let bits = [
            (self.implicit_transactions, 2),
            (self.ansi_warnings, 8),
            (self.ansi_padding, 16),
            (self.ansi_nulls, 32),
            (self.arithabort, 64),
            (self.quoted_identifier, 256),
            (self.nocount, 512),
            (self.ansi_null_default_on, 1024),
            (self.concat_null_yields_null, 4096),
            (self.xact_abort, 16_384),
        ];
        bits.iter().filter(|(on, _)| *on).map(|(_, bit)| bit).sum()
    }
}
