//! The SET options of a session.

use engine::instance::Configuration;
use engine::session::Isolation;

use super::RulesOff;
use crate::scalar::language::{DateSettings, LANGUAGES, Language, YEAR_CUTOFF};

/// SET options with the defaults that SQL Server's client drivers set.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is an option of its own in T-SQL")]
pub struct SetOptions {
    pub nocount: bool,
    pub xact_abort: bool,
    pub implicit_transactions: bool,
    pub ansi_nulls: bool,
    pub ansi_padding: bool,
    pub ansi_warnings: bool,
    /// ANSI_NULL_DFLT_ON
    pub ansi_null_default_on: bool,
    pub arithabort: bool,
    pub concat_null_yields_null: bool,
    /// Digits that a result loses are an error.
    pub numeric_roundabort: bool,
    pub quoted_identifier: bool,
    pub noexec: bool,
    pub parseonly: bool,
    pub fmtonly: bool,
    /// ROWCOUNT; 0 is no limit.
    pub row_count: u64,
    /// LOCK_TIMEOUT in milliseconds; -1 waits forever.
    pub lock_timeout_ms: i32,
    /// The isolation level.
    pub isolation: Isolation,
    /// The table whose identity column takes explicit values: its database and object id.
    pub identity_insert: Option<(u16, u32)>,
    pub context_info: Option<Vec<u8>>,
    /// ANSI_NULL_DFLT_OFF
    pub ansi_null_default_off: bool,
    pub arithignore: bool,
    pub cursor_close_on_commit: bool,
    pub showplan: Option<&'static str>,
    pub statistics: StatisticsOptions,
    /// LANGUAGE and DATEFORMAT.
    pub dates: DateSettings,
    /// DATEFIRST: the day that begins a week, from 1 (Monday) to 7.
    pub date_first: u8,
    /// Whether SET DATEFIRST, and SET DATEFORMAT, have said what they are: a language that is set later leaves them.
    pub is_date_first_said: bool,
    pub is_date_order_said: bool,
    /// DEADLOCK_PRIORITY, from -10 to 10.
    pub deadlock_priority: i8,
    /// FORCEPLAN
    pub force_plan: bool,
    /// TEXTSIZE in bytes: what a result shows of a value of a `max` type.
    pub text_size_bytes: i32,
    /// Rules of the optimizer that DBCC RULEOFF has switched off.
    pub rules_off: RulesOff,
}

impl SetOptions {
    /// Whether everything is on that SET ANSI_DEFAULTS ON sets (sql-docs, "SET ANSI_DEFAULTS").
    pub(crate) fn has_ansi_defaults(&self) -> bool {
        let set = [
            self.ansi_nulls,
            self.cursor_close_on_commit,
            self.ansi_null_default_on,
            self.implicit_transactions,
            self.ansi_padding,
            self.quoted_identifier,
            self.ansi_warnings,
        ];
        set.into_iter().all(|is_on| is_on)
    }

    /// The options that are not as indexes on computed columns, and indexes with filters, need them to be: values would be computed and
    /// compared in other ways (sql-docs, "SET QUOTED_IDENTIFIER" and its kin). ANSI_WARNINGS has ARITHABORT in it.
    pub fn wrong_for_indexes(&self) -> Vec<&'static str> {
        let wanted = [
            (self.ansi_nulls, "ANSI_NULLS"),
            (self.quoted_identifier, "QUOTED_IDENTIFIER"),
            (self.concat_null_yields_null, "CONCAT_NULL_YIELDS_NULL"),
            (self.ansi_warnings, "ANSI_WARNINGS"),
            (self.ansi_padding, "ANSI_PADDING"),
            (self.arithabort || self.ansi_warnings, "ARITHABORT"),
            (!self.numeric_roundabort, "NUMERIC_ROUNDABORT"),
        ];
        wanted
            .into_iter()
            .filter(|(is_on, _)| !is_on)
            .map(|(_, name)| name)
            .collect()
    }
}

/// TEXTSIZE of clients that log in through ODBC, OLE DB and their kin, and the most there is.
pub const TEXT_SIZE_BYTES_MAX: i32 = i32::MAX;
/// TEXTSIZE 0 (SQL Server docs, "SET TEXTSIZE").
pub const TEXT_SIZE_BYTES_DEFAULT: i32 = 4_096;

/// How far statements get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Execution {
    /// They are executed.
    Whole,
    /// PARSEONLY: they have been parsed.
    Parsed,
    /// NOEXEC: they are bound to what they name.
    Bound,
    /// FMTONLY: queries tell their columns.
    Described,
    /// SHOWPLAN of this kind: they are not executed, and plans are not shown.
    Shown(&'static str),
}

/// What is reported of each statement that was executed (SET STATISTICS).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatisticsOptions {
    /// Pages read, by table.
    pub io: bool,
    /// Its plan with rows and executions, as a result set.
    pub profile: bool,
    /// Time on a processor and time that went by.
    pub time: bool,
    /// Its plan with figures, as XML.
    pub xml: bool,
}

impl StatisticsOptions {
    /// Whether anything is reported.
    pub fn any(self) -> bool {
        self.io || self.profile || self.time || self.xml
    }
}

/// The options that decide what a plan does: a plan bound under others is of no use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanOptions {
    ansi_nulls: bool,
    concat_null_yields_null: bool,
    numeric_roundabort: bool,
    force_plan: bool,
    /// Constants of a plan are converted when it is made.
    dates: DateSettings,
    rules_off: RulesOff,
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
            numeric_roundabort: false,
            quoted_identifier: true,
            noexec: false,
            parseonly: false,
            fmtonly: false,
            row_count: 0,
            lock_timeout_ms: -1,
            isolation: Isolation::ReadCommitted,
            identity_insert: None,
            context_info: None,
            ansi_null_default_off: false,
            arithignore: false,
            cursor_close_on_commit: false,
            showplan: None,
            statistics: StatisticsOptions::default(),
            dates: DateSettings::default(),
            date_first: 7,
            is_date_first_said: false,
            is_date_order_said: false,
            deadlock_priority: 0,
            force_plan: false,
            text_size_bytes: TEXT_SIZE_BYTES_MAX,
            rules_off: RulesOff::default(),
        }
    }
}

/// `@@OPTIONS` by its bits, which are those of `user options`.
const OPTION_BITS: [(&str, i32); 14] = [
    ("IMPLICIT_TRANSACTIONS", 2),
    ("CURSOR_CLOSE_ON_COMMIT", 4),
    ("ANSI_WARNINGS", 8),
    ("ANSI_PADDING", 16),
    ("ANSI_NULLS", 32),
    ("ARITHABORT", 64),
    ("ARITHIGNORE", 128),
    ("QUOTED_IDENTIFIER", 256),
    ("NOCOUNT", 512),
    ("ANSI_NULL_DFLT_ON", 1024),
    ("ANSI_NULL_DFLT_OFF", 2048),
    ("CONCAT_NULL_YIELDS_NULL", 4096),
    ("NUMERIC_ROUNDABORT", 8192),
    ("XACT_ABORT", 16_384),
];

impl SetOptions {
    /// What a session begins with: what clients set at login, and what `sp_configure` says of `user options` and `default language`.
    pub fn configured(configuration: &Configuration) -> SetOptions {
        let mut options = SetOptions::default();
        let bits = configuration.in_use("user options");
        for (name, bit) in OPTION_BITS {
            if bits & i64::from(bit) != 0 {
                options.switch(name, true);
            }
        }
        let language = usize::try_from(configuration.in_use("default language")).unwrap_or(0);
        if let Some(language) = LANGUAGES.get(language).filter(|language| language.id != 0) {
            options.speak(language);
        }
        options.dates.year_cutoff = i32::try_from(configuration.in_use("two digit year cutoff")).unwrap_or(YEAR_CUTOFF);
        options
    }

    /// "SET LANGUAGE implicitly sets the setting of SET DATEFORMAT", and that of DATEFIRST (SQL Server docs, SET LANGUAGE, SET DATEFIRST).
    /// "SET DATEFORMAT overrides the implicit date format setting of SET LANGUAGE" (SET DATEFORMAT), whichever comes first: the options of a
    /// connection of tedious are a batch in which SET LANGUAGE stands last, and its suite expects of SQL Server that the others stay.
    pub fn speak(&mut self, language: &Language) {
        self.dates.language = language.id;
        if !self.is_date_order_said {
            self.dates.order = language.order;
        }
        if !self.is_date_first_said {
            self.date_first = language.date_first;
        }
    }

    /// Sets an option that is on or off. Those that the grammar's table takes and that are not here change nothing.
    pub fn switch(&mut self, name: &str, on: bool) {
        let option = match name {
            "NOCOUNT" => &mut self.nocount,
            "XACT_ABORT" => &mut self.xact_abort,
            "IMPLICIT_TRANSACTIONS" => &mut self.implicit_transactions,
            "ANSI_NULLS" => &mut self.ansi_nulls,
            "ANSI_PADDING" => &mut self.ansi_padding,
            "ANSI_WARNINGS" => &mut self.ansi_warnings,
            "ARITHABORT" => &mut self.arithabort,
            "ARITHIGNORE" => &mut self.arithignore,
            "CONCAT_NULL_YIELDS_NULL" => &mut self.concat_null_yields_null,
            "CURSOR_CLOSE_ON_COMMIT" => &mut self.cursor_close_on_commit,
            "NUMERIC_ROUNDABORT" => &mut self.numeric_roundabort,
            "QUOTED_IDENTIFIER" => &mut self.quoted_identifier,
            "NOEXEC" => &mut self.noexec,
            "PARSEONLY" => &mut self.parseonly,
            "FORCEPLAN" => &mut self.force_plan,
            "FMTONLY" => &mut self.fmtonly,
            // One of the two at most is ON (SQL Server docs, "SET ANSI_NULL_DFLT_ON").
            "ANSI_NULL_DFLT_ON" => {
                self.ansi_null_default_off &= !on;
                &mut self.ansi_null_default_on
            }
            "ANSI_NULL_DFLT_OFF" => {
                self.ansi_null_default_on &= !on;
                &mut self.ansi_null_default_off
            }
            "STATISTICS IO" => &mut self.statistics.io,
            "STATISTICS PROFILE" => &mut self.statistics.profile,
            "STATISTICS TIME" => &mut self.statistics.time,
            "STATISTICS XML" => &mut self.statistics.xml,
            "SHOWPLAN_ALL" | "SHOWPLAN_TEXT" | "SHOWPLAN_XML" => return self.switch_showplan(name, on),
            "ANSI_DEFAULTS" => return self.switch_defaults(on),
            _ => return,
        };
        *option = on;
    }

    fn switch_showplan(&mut self, name: &str, on: bool) {
        let kinds = ["SHOWPLAN_ALL", "SHOWPLAN_TEXT", "SHOWPLAN_XML"];
        let kind = kinds.into_iter().find(|kind| *kind == name);
        if on {
            self.showplan = kind;
        } else if self.showplan == kind {
            self.showplan = None;
        }
    }

    /// What ANSI_DEFAULTS sets together (SQL Server docs, "SET ANSI_DEFAULTS").
    fn switch_defaults(&mut self, on: bool) {
        let together = [
            "ANSI_NULLS",
            "ANSI_NULL_DFLT_ON",
            "ANSI_PADDING",
            "ANSI_WARNINGS",
            "CURSOR_CLOSE_ON_COMMIT",
            "IMPLICIT_TRANSACTIONS",
            "QUOTED_IDENTIFIER",
        ];
        together.into_iter().for_each(|name| self.switch(name, on));
    }

    /// How far statements get.
    pub fn execution(&self) -> Execution {
        match self.showplan {
            Some(kind) => Execution::Shown(kind),
            None if self.parseonly => Execution::Parsed,
            None if self.noexec => Execution::Bound,
            None if self.fmtonly => Execution::Described,
            None => Execution::Whole,
        }
    }

    /// The options that plans depend on.
    pub fn of_plans(&self) -> PlanOptions {
        PlanOptions {
            ansi_nulls: self.ansi_nulls,
            concat_null_yields_null: self.concat_null_yields_null,
            numeric_roundabort: self.numeric_roundabort,
            force_plan: self.force_plan,
            dates: self.dates,
            rules_off: self.rules_off,
        }
    }

    /// `@@OPTIONS` (SQL Server docs, "user options").
    pub fn bits(&self) -> i32 {
        let bits = [
            (self.implicit_transactions, 2),
            (self.cursor_close_on_commit, 4),
            (self.ansi_warnings, 8),
            (self.ansi_padding, 16),
            (self.ansi_nulls, 32),
            (self.arithabort, 64),
            (self.arithignore, 128),
            (self.quoted_identifier, 256),
            (self.nocount, 512),
            (self.ansi_null_default_on, 1024),
            (self.ansi_null_default_off, 2048),
            (self.concat_null_yields_null, 4096),
            (self.numeric_roundabort, 8192),
            (self.xact_abort, 16_384),
        ];
        bits.iter().filter(|(on, _)| *on).map(|(_, bit)| bit).sum()
    }
}
