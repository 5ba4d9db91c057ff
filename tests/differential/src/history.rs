//! One history: tables, and statements on them, until enough were asked or an answer differs.
//!
//! Statements go in segments, so that all parties work at once: some queries, then a change, then all tables are read. Between
//! segments the tables are filled again where they have grown, have values larger than generators count on, or by draw. A change
//! is made once in a transaction that is rolled back first, now and then, so that undo is judged, too. Half of the segments are asked with some
//! rules of the optimizer switched off, a fifth with PARAMETERIZATION FORCED.

use crate::ast::{Change, Expression, Statement};
use crate::bench::{Bench, Question, Verdict};
use crate::compare::{Shape, has_from, normal_rows};
use crate::generate::{self, NUMBER_MAX, ROWS_MAX, TEXT_MAX, Wanted, statement};
use crate::judges::FORCED_PARAMETERIZATION;
use crate::schema::{Column, Fallback, Kind, Row, Schema};
use crate::tape::{Span, Tape};
use outside::random::Random;
use outside::tally::Counted;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The most queries before a change.
const QUERIES_MAX: u64 = 14;

/// Counts of one or many histories.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Statements whose answers were compared with at least one other.
    pub statements: u64,
    /// Those that ask.
    pub queries: u64,
    /// Those that answered at least one row.
    pub queries_with_rows: u64,
    pub changes: u64,
    /// Those whose target is named beside a FROM.
    pub changes_with_from: u64,
    /// Those that changed at least one row.
    pub changes_of_rows: u64,
    /// Those refused by all for a rule of a table.
    pub refused: u64,
    /// Those asked with optimizer rules switched off.
    #[serde(default)]
    pub with_rules_off: u64,
    /// Those asked with constants made parameters wherever that is done.
    #[serde(default)]
    pub with_forced: u64,
    /// Tables read and compared.
    pub tables: u64,
    /// Statements by judge.
    pub by_judge: BTreeMap<String, u64>,
    /// Intended differences, by name.
    pub known: BTreeMap<String, u64>,
}

impl Counted for Counts {
    fn add(&mut self, other: &Counts) {
        self.statements += other.statements;
        self.queries += other.queries;
        self.queries_with_rows += other.queries_with_rows;
        self.changes += other.changes;
        self.changes_with_from += other.changes_with_from;
        self.changes_of_rows += other.changes_of_rows;
        self.refused += other.refused;
        self.with_rules_off += other.with_rules_off;
        self.with_forced += other.with_forced;
        self.tables += other.tables;
        for (name, count) in &other.by_judge {
            *self.by_judge.entry(name.clone()).or_default() += count;
        }
        for (name, count) in &other.known {
            *self.known.entry(name.clone()).or_default() += count;
        }
    }

    fn words(&self) -> String {
        let judges: Vec<String> = self
            .by_judge
            .iter()
            .map(|(name, count)| format!("{count} by {name}"))
            .collect();
        let known: Vec<String> = self
            .known
            .iter()
            .map(|(name, count)| format!(", {count} intended differences ({name})"))
            .collect();
        format!(
            "{} statements ({}): {} queries ({} with rows), {} changes ({} with FROM, {} of rows, {} refused by all), {} with \
             rules off, {} with forced parameters, {} tables compared{}",
            self.statements,
            judges.join(", "),
            self.queries,
            self.queries_with_rows,
            self.changes,
            self.changes_with_from,
            self.changes_of_rows,
            self.refused,
            self.with_rules_off,
            self.with_forced,
            self.tables,
            known.concat()
        )
    }
}

/// A statement on tables with these rows.
#[derive(Debug, Clone)]
pub struct Case {
    pub schema: Schema,
    pub rows: Vec<Vec<Row>>,
    /// The optimizer rules that are off, by their places.
    pub rules_off: u64,
    /// Which sort of statement the tape makes.
    pub wanted: Wanted,
    pub draws: Vec<u64>,
    pub spans: Vec<Span>,
}

/// Where a history ended early.
#[derive(Debug)]
pub struct Difference {
    /// In words: who, in what.
    pub what: String,
    pub case: Case,
    /// Its number in the history, from 1.
    pub number: u64,
}

/// A statement of a segment.
struct Asked {
    statement: Statement,
    wanted: Wanted,
    draws: Vec<u64>,
    spans: Vec<Span>,
}

struct History<'a> {
    bench: &'a mut Bench,
    schema: Schema,
    rows: Vec<Vec<Row>>,
    random: Random,
    /// Draws rules, so that a seed's statements do not depend on them.
    random_rules: Random,
    /// The optimizer rules that are off.
    rules_off: u64,
    counts: Counts,
    /// Whether an intended difference may have left different rows.
    is_apart: bool,
}

/// Runs the history of `seed`.
///
/// # Errors
/// One of the parties does not answer any more.
pub fn run(
    bench: &mut Bench,
    former: &mut Option<Schema>,
    seed: u64,
    statements_max: u64,
) -> Result<(Counts, Option<Difference>), String> {
    let mut random = Random::new(seed);
    let schema = Schema::draw(&mut Tape::fresh(random.draw()));
    bench.make(former.as_ref(), &schema)?;
    *former = Some(schema.clone());
    let mut history = History {
        bench,
        rows: vec![Vec::new(); schema.tables.len()],
        schema,
        random,
        random_rules: Random::new(!seed),
        rules_off: 0,
        counts: Counts::default(),
        is_apart: false,
    };
    history.refill()?;
    while history.counts.statements < statements_max {
        if let Some(difference) = history.segment()? {
            return Ok((history.counts, Some(difference)));
        }
        if history.is_apart || history.is_out_of_bounds() || history.random.percent(30) {
            history.refill()?;
        }
    }
    Ok((history.counts, None))
}

impl History<'_> {
    fn refill(&mut self) -> Result<(), String> {
        self.is_apart = false;
        let mut tape = Tape::fresh(self.random.draw());
        self.rows = self
            .schema
            .tables
            .iter()
            .map(|table| table.draw_rows(&mut tape))
            .collect();
        self.bench.fill(&self.schema, &self.rows)
    }

    /// Whether statements could overflow, or take long.
    fn is_out_of_bounds(&self) -> bool {
        let is_large = |kind: Kind, text: &str| match kind {
            Kind::Text => text.len() as i64 > TEXT_MAX,
            Kind::Date => !text.starts_with("202"),
            _ => text.parse::<f64>().is_ok_and(|number| number.abs() > NUMBER_MAX as f64),
        };
        self.schema.tables.iter().zip(&self.rows).any(|(table, rows)| {
            rows.len() as u64 > ROWS_MAX
                || rows.iter().any(|row| {
                    let cells = row.iter().zip(&table.columns);
                    let cells = cells.filter(|(_, column)| column.computed.is_none());
                    cells
                        .filter_map(|(cell, column)| Some((column.kind, cell.as_deref()?)))
                        .any(|(kind, text)| is_large(kind, text))
                })
        })
    }

    fn draw_statement(&mut self, wanted: Wanted) -> Asked {
        let (statement, tape) = generate::statement(&self.schema, wanted, Tape::fresh(self.random.draw()));
        let (draws, spans) = tape.into_parts();
        Asked {
            statement,
            wanted,
            draws,
            spans,
        }
    }

    /// All rules in half of the draws, else without a half or a quarter of them. Parameters are forced in a fifth.
    fn draw_rules(&mut self) -> Result<(), String> {
        self.rules_off = match self.random_rules.below(4) {
            0 => self.random_rules.draw(),
            1 => self.random_rules.draw() & self.random_rules.draw(),
            _ => 0,
        };
        self.rules_off &= !FORCED_PARAMETERIZATION;
        if self.random_rules.below(5) == 0 {
            self.rules_off |= FORCED_PARAMETERIZATION;
        }
        self.bench.switch_rules(self.rules_off)
    }

    fn segment(&mut self) -> Result<Option<Difference>, String> {
        self.draw_rules()?;
        let queries = self.random.below(QUERIES_MAX + 1);
        let mut asked: Vec<Asked> = (0..queries).map(|_| self.draw_statement(Wanted::Query)).collect();
        asked.push(self.draw_statement(Wanted::Change));
        let mut questions: Vec<Question> = Vec::new();
        // What a sequence gave is gone, whatever becomes of the transaction.
        let is_undone_first =
            self.random.percent(15) && !takes_from_sequence(&self.schema, &asked[asked.len() - 1].statement);
        for one in &asked {
            questions.push(self.bench.question(&self.schema, &one.statement));
        }
        // Before the change itself, which is the last one.
        let undone = is_undone_first.then(|| self.bench.undone(&self.schema, &asked[asked.len() - 1].statement));
        let place_undone = questions.len() - 1;
        if let Some(undone) = undone {
            questions.insert(place_undone, undone);
        }
        for table in 0..self.schema.tables.len() {
            let change = &asked[asked.len() - 1].statement;
            questions.push(self.bench.read(&self.schema, table, change));
        }
        for view in 0..self.schema.views.len() {
            let change = &asked[asked.len() - 1].statement;
            questions.push(self.bench.read_view(&self.schema, view, change));
        }
        let mut verdicts = self.bench.judge(&questions)?;
        if is_undone_first {
            verdicts.remove(place_undone);
        }
        let mut tables = verdicts.split_off(asked.len());
        let views = tables.split_off(self.schema.tables.len());
        let is_refused = verdicts.last().is_some_and(|verdict| verdict.own().failure.is_some());
        // How many values a sequence gave to a refused statement differs.
        let is_behind = is_refused && takes_from_sequence(&self.schema, &asked[asked.len() - 1].statement);
        self.is_apart = is_behind
            || tables
                .iter()
                .chain(verdicts.last())
                .any(|verdict| !verdict.known.is_empty());
        for (one, verdict) in asked.iter().zip(&verdicts) {
            self.count(one, verdict);
            if let Some(difference) = self.difference(one, &verdict.differences, "") {
                return Ok(Some(difference));
            }
        }
        self.compare_tables(&asked[asked.len() - 1], &tables, &views)
    }

    fn count(&mut self, one: &Asked, verdict: &Verdict) {
        let counts = &mut self.counts;
        let own = verdict.own();
        let mut judged = 0;
        for (party, _) in verdict
            .answers
            .iter()
            .enumerate()
            .skip(1)
            .filter(|(_, answer)| answer.is_some())
        {
            let name = self.bench.parties[party].name().to_owned();
            *counts.by_judge.entry(name).or_default() += 1;
            judged += 1;
        }
        if judged == 0 {
            return;
        }
        counts.statements += 1;
        counts.with_rules_off += u64::from(self.rules_off & !FORCED_PARAMETERIZATION != 0);
        counts.with_forced += u64::from(self.rules_off & FORCED_PARAMETERIZATION != 0);
        for name in &verdict.known {
            *counts.known.entry((*name).to_owned()).or_default() += 1;
        }
        match one.wanted {
            Wanted::Query => {
                counts.queries += 1;
                counts.queries_with_rows += u64::from(!own.rows.is_empty());
            }
            Wanted::Change => {
                counts.changes += 1;
                counts.changes_with_from += u64::from(has_from(&one.statement));
                counts.changes_of_rows += u64::from(own.count.unwrap_or(0) > 0);
                counts.refused += u64::from(own.failure.is_some());
            }
        }
    }

    fn difference(&self, one: &Asked, found: &[(usize, &'static str)], of_what: &str) -> Option<Difference> {
        let words: Vec<String> = found
            .iter()
            .map(|(party, what)| format!("{}: {what}{of_what}", self.bench.parties[*party].name()))
            .collect();
        (!found.is_empty()).then(|| Difference {
            what: words.join("; "),
            case: Case {
                schema: self.schema.clone(),
                rows: self.rows.clone(),
                rules_off: self.rules_off,
                wanted: one.wanted,
                draws: one.draws.clone(),
                spans: one.spans.clone(),
            },
            number: self.counts.statements,
        })
    }

    /// Compares what the change left, and takes it for what the next statements work on.
    fn compare_tables(
        &mut self,
        change: &Asked,
        tables: &[Verdict],
        views: &[Verdict],
    ) -> Result<Option<Difference>, String> {
        for (table, verdict) in tables.iter().enumerate() {
            self.counts.tables += 1;
            let name = &self.schema.tables[table].name;
            let of_what = format!(" in {name} afterwards");
            if let Some(difference) = self.difference(change, &verdict.differences, &of_what) {
                return Ok(Some(difference));
            }
        }
        for (view, verdict) in views.iter().enumerate() {
            let of_what = format!(" in {} afterwards", self.schema.views[view].name);
            if let Some(difference) = self.difference(change, &verdict.differences, &of_what) {
                return Ok(Some(difference));
            }
        }
        for (table, verdict) in tables.iter().enumerate() {
            self.rows[table] = normal_rows(&Shape::of_table(&self.schema, table), &verdict.own().rows);
        }
        Ok(None)
    }
}

/// Whether a statement takes values from a sequence.
fn takes_from_sequence(schema: &Schema, statement: &Statement) -> bool {
    let Statement::Change(Change::InsertValues { table, columns, rows }, _) = statement else {
        return false;
    };
    let is_left =
        |place: usize, column: &Column| matches!(column.fallback, Fallback::Sequence(_)) && !columns.contains(&place);
    let all = schema.tables[*table].columns.iter().enumerate();
    rows.iter()
        .flatten()
        .any(|value| matches!(value, Expression::NextValue(..)))
        || all.into_iter().any(|(place, column)| is_left(place, column))
}

/// A case that was tried: what differs, if anything does, and the tape as it was used.
pub type Tried = (Option<Trial>, Vec<u64>, Vec<Span>);

/// What trying a case alone, on tables just filled, comes to.
pub struct Trial {
    /// Which engine differs in what; the same for the same defect.
    pub signature: String,
    /// The statement and all answers, for people.
    pub words: String,
}

/// Makes a case's statement and tries it. The tables must be there.
///
/// # Errors
/// One of the parties does not answer any more, or the rows break a rule.
pub fn try_case(bench: &mut Bench, case: &Case) -> Result<Tried, String> {
    let (made, tape) = statement(&case.schema, case.wanted, Tape::replay(case.draws.clone()));
    let (draws, spans) = tape.into_parts();
    bench.switch_rules(case.rules_off)?;
    bench.fill(&case.schema, &case.rows)?;
    let mut questions = vec![bench.question(&case.schema, &made)];
    for table in 0..case.schema.tables.len() {
        questions.push(bench.read(&case.schema, table, &made));
    }
    for view in 0..case.schema.views.len() {
        questions.push(bench.read_view(&case.schema, view, &made));
    }
    let verdicts = bench.judge(&questions)?;
    let mut signature = Vec::new();
    let mut words = Vec::new();
    for (verdict, place) in verdicts.iter().zip(0..) {
        for (party, what) in &verdict.differences {
            let what = if place == 0 { *what } else { "table afterwards" };
            signature.push(format!("{party} {what}"));
        }
        if !verdict.differences.is_empty() {
            let about = match place {
                0 => "answers".to_owned(),
                table => {
                    let tables = case.schema.tables.iter().map(|table| &table.name);
                    let views = case.schema.views.iter().map(|view| &view.name);
                    let name = tables.chain(views).nth(table - 1).map_or("?", String::as_str);
                    format!("{name} afterwards")
                }
            };
            words.push(about);
            for (party, answer) in bench.parties.iter().zip(&verdict.answers) {
                let Some(answer) = answer else { continue };
                words.push(format!("  {}: {}", party.name(), said(answer)));
            }
        }
    }
    signature.sort();
    signature.dedup();
    let trial = (!signature.is_empty()).then(|| Trial {
        signature: signature.join("; "),
        words: words.join("\n"),
    });
    Ok((trial, draws, spans))
}

fn said(answer: &crate::judges::Answer) -> String {
    if let Some(failure) = &answer.failure {
        return failure.text.clone();
    }
    let cell = |cell: &Option<String>| cell.clone().unwrap_or_else(|| "NULL".into());
    let rows: Vec<String> = answer
        .rows
        .iter()
        .map(|row| format!("({})", row.iter().map(cell).collect::<Vec<_>>().join(", ")))
        .collect();
    let count = answer.count.map_or(String::new(), |count| format!("{count} rows: "));
    format!("{count}{}", rows.join(" "))
}
