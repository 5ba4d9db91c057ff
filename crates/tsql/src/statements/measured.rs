//! Statements under SET STATISTICS: the figures of each are sent when it is done.
//!
//! ```text
//! IO        3615   a line for each table that was read or changed         PROFILE   SHOWPLAN_ALL's rows, with Rows and Executes before them
//! TIME      3612   time on a processor and time that went by              XML       SHOWPLAN_XML's document with RunTimeInformation
//!           3613   the same of parsing, and of each plan that was made
//! ```
//! (sql-docs, "SET STATISTICS IO", "... TIME", "... PROFILE", "... XML".) Messages have severity 0: what SQL Server says with 10 it sends as 0
//! (sql-docs, "Database Engine error severities"). The work of user-defined functions is not reported separately, as there.

use std::rc::Rc;

use engine::buffer::PageUse;
use engine::error::Result;
use engine::workspace::{SpillUse, SpillUses, replace_spill_uses};
use vlf::ServerVersion;

use super::executor::{Executor, Flow, Outcome, closed};
use crate::ast::Statement;
use crate::measure::{Measures, Spent, Start, TableReads};
use crate::optimize::shown::ShownOperator;
use crate::plan::Target;
use crate::prepared::{Bound, Planned};
use crate::sink::{Message, ResultSink};
use crate::state::StatisticsOptions;

/// A statement whose figures are counted, and what was counted around it.
pub(super) struct Counting {
    measures: Rc<Measures>,
    outer_spilled: SpillUses,
    outer: Option<Rc<Measures>>,
    outer_plan: Option<Planned>,
    wanted: StatisticsOptions,
}

impl Executor<'_> {
    /// Begins to count if anything of this statement is to be reported.
    pub(super) fn count(&self) -> Option<Counting> {
        let wanted = self.session.options().statistics;
        if !wanted.any() || self.returns.is_function() {
            return None;
        }
        let clock = self.session.instance.env.clock.clone();
        let measures = Rc::new(Measures::begin(clock, wanted.profile || wanted.xml));
        Some(Counting {
            outer_spilled: replace_spill_uses(SpillUses::default()),
            outer: self.session.replace_measures(Some(measures.clone())),
            outer_plan: self.ran.take(),
            measures,
            wanted,
        })
    }

    /// Ends counting, and tells what was asked for if the statement did not fail.
    pub(super) fn counted(&mut self, counting: Option<Counting>, is_done: bool, line: u32) -> Outcome<()> {
        let Some(counting) = counting else { return Ok(()) };
        self.session.replace_measures(counting.outer);
        counting
            .measures
            .add_spilled(replace_spill_uses(counting.outer_spilled));
        let ran = self.ran.replace(counting.outer_plan);
        if !is_done {
            return Ok(());
        }
        let (wanted, still) = (counting.wanted, self.session.options().statistics);
        let wanted = StatisticsOptions {
            io: wanted.io && still.io,
            profile: wanted.profile && still.profile,
            time: wanted.time && still.time,
            xml: wanted.xml && still.xml,
        };
        let told = self.tell_figures(wanted, &counting.measures, ran.as_ref(), line);
        told.map_err(|error| self.failure(error, line))
    }

    /// Runs a statement that is not control of flow, and tells what it came to if that is asked for.
    pub(super) fn measured(&mut self, statement: &Statement) -> Outcome<Flow> {
        if self.session.options().statistics.time && !self.returns.is_function() {
            self.tell_planning(statement)
                .map_err(|error| self.failure(error, statement.line))?;
        }
        let counting = self.count();
        let outcome = self.dispatch(statement);
        self.counted(counting, outcome.is_ok(), statement.line)?;
        outcome
    }

    /// Plans a statement ahead of its execution and tells how long that took. What fails in it fails again when it is executed.
    fn tell_planning(&mut self, statement: &Statement) -> Result<()> {
        let clock = self.session.instance.env.clock.clone();
        let start = Start::now(&*clock);
        match self.planned(&statement.kind) {
            Ok(Some(_)) => tell_compile(self.sink, start.spent(&*clock), statement.line, &self.procedure),
            _ => Ok(()),
        }
    }

    fn tell_figures(
        &mut self,
        wanted: StatisticsOptions,
        measures: &Measures,
        ran: Option<&Planned>,
        line: u32,
    ) -> Result<()> {
        let spent = measures.spent();
        if wanted.io {
            let version = self.session.instance.options.version;
            let tables = measures.tables(ran.and_then(|planned| target_name(planned)).as_deref());
            for table in tables.into_iter().chain(work_tables(ran, measures.spilled())) {
                self.inform(3615, 10, line, io_text(version, &table))?;
            }
        }
        if let Some(planned) = ran
            && (wanted.profile || wanted.xml)
        {
            self.show_figures(wanted, planned, measures)?;
        }
        if wanted.time {
            let text = format!(
                "\r\n SQL Server Execution Times:\r\n   CPU time = {} ms,  elapsed time = {} ms.",
                spent.cpu_micros / 1_000,
                spent.elapsed_micros / 1_000
            );
            self.inform(3612, 10, line, text)?;
        }
        Ok(())
    }
}

/// What an operator puts rows into that it cannot keep, as SQL Server tells of it whether any were put there or not. Its answers beside its
/// plans are the source: a hash join that fits into memory has a line of zeros for each, a sort that fits has none (scripts of lessons with
/// SET STATISTICS IO and SHOWPLAN_TEXT, SQL Server 2012 to 2022); sorts that do not fit have no logical reads, and hash joins read as often
/// logically as from files.
fn work_tables(ran: Option<&Planned>, spilled: SpillUses) -> Vec<TableReads> {
    let root = ran.and_then(Planned::shown);
    let has = |is_it: fn(&ShownOperator) -> bool| root.as_ref().is_some_and(|root| root.has(&is_it));
    let hashes = has(|one| one.physical == "Hash Match");
    let spools = has(|one| one.physical == "Table Spool" || one.argument.contains("MANY-TO-MANY"));
    let (files, tables) = (spilled.workfiles, spilled.worktables);
    let mut found = Vec::new();
    let ahead = |one: SpillUse| one.pages_read.saturating_sub(one.reads);
    if hashes || files.level > 0 {
        found.push(TableReads {
            table: "Workfile".to_owned(),
            scans: files.scans,
            reads: PageUse {
                logical: files.pages_read,
                physical: files.reads,
                read_ahead: ahead(files),
                dirtied: 0,
            },
        });
    }
    if hashes || spools || tables.level > 0 {
        found.push(TableReads {
            table: "Worktable".to_owned(),
            scans: tables.scans,
            reads: PageUse {
                logical: 0,
                physical: tables.reads,
                read_ahead: ahead(tables),
                dirtied: 0,
            },
        });
    }
    found
}

/// 3613: how long parsing or planning took.
///
/// # Errors
/// Cancelled when the client is gone.
pub(crate) fn tell_compile(sink: &mut dyn ResultSink, spent: Spent, line: u32, procedure: &str) -> Result<()> {
    let message = Message {
        number: 3613,
        severity: 10,
        state: 1,
        line,
        procedure: procedure.to_owned(),
        text: format!(
            "SQL Server parse and compile time: \r\n   CPU time = {} ms, elapsed time = {} ms.",
            spent.cpu_micros / 1_000,
            spent.elapsed_micros / 1_000
        ),
    };
    sink.message(&message).map_err(closed)
}

/// The table that a statement changes, without schema.
fn target_name(bound: &Bound) -> Option<String> {
    let target = match bound {
        Bound::Insert(insert) => &insert.target,
        Bound::Update(update) => &update.search.target,
        Bound::Delete(delete) => &delete.search.target,
        Bound::Merge(merge) => &merge.search.target,
        _ => return None,
    };
    match target {
        Target::Table(table) => Some(table.table.definition().name.clone()),
        Target::Variable(..) | Target::View(_) => None,
    }
}

/// 3615. Page servers are listed since SQL Server 2019; there are none here, nor pages of large objects.
fn io_text(version: ServerVersion, table: &TableReads) -> String {
    let PageUse {
        logical,
        physical,
        read_ahead,
        dirtied: _,
    } = table.reads;
    let begin = format!(
        "Table '{}'. Scan count {}, logical reads {logical}",
        table.table, table.scans
    );
    if version < ServerVersion::V2019 {
        return format!(
            "{begin}, physical reads {physical}, read-ahead reads {read_ahead}, lob logical reads 0, lob physical reads 0, lob read-ahead reads 0."
        );
    }
    format!(
        "{begin}, physical reads {physical}, page server reads 0, read-ahead reads {read_ahead}, page server read-ahead reads 0, \
         lob logical reads 0, lob physical reads 0, lob page server reads 0, lob read-ahead reads 0, lob page server read-ahead reads 0."
    )
}
