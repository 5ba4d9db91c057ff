//! Makes a case smaller while the same engines still differ in the same way.
//!
//! Rows are left out; parts of the tape are cut out, stood in for by a part of theirs, or set to 0 (see [`crate::tape`]); at last
//! tables and columns that the statement does not need become empty.

use crate::bench::Bench;
use crate::dialect::Dialect;
use crate::generate::statement;
use crate::history::{Case, Trial, try_case};
use crate::print::{is_sayable, script};
use crate::tape::Tape;

/// The most statements tried for one case.
const TRIALS_MAX: usize = 5_000;
/// The most parts of a part that are tried in its place.
const STAND_INS_MAX: usize = 5;

struct Shrinker<'a> {
    bench: &'a mut Bench,
    case: Case,
    trial: Trial,
    trials: usize,
}

/// The smallest case found, in words; none if the case does not repeat alone.
///
/// # Errors
/// One of the parties does not answer any more.
pub fn smallest(bench: &mut Bench, case: &Case) -> Result<Option<String>, String> {
    bench.make(Some(&case.schema), &case.schema)?;
    let (Some(trial), ..) = try_case(bench, case)? else {
        return Ok(None);
    };
    let mut shrinker = Shrinker {
        bench,
        case: case.clone(),
        trial,
        trials: 0,
    };
    shrinker.rules()?;
    loop {
        let before = (shrinker.case.draws.clone(), shrinker.case.rows.clone());
        shrinker.rows()?;
        shrinker.spans()?;
        shrinker.draws()?;
        if before == (shrinker.case.draws.clone(), shrinker.case.rows.clone()) || shrinker.trials > TRIALS_MAX {
            break;
        }
    }
    Ok(Some(shrinker.words()))
}

impl Shrinker<'_> {
    /// Takes `case` if it still differs in the same.
    fn take(&mut self, mut case: Case) -> Result<bool, String> {
        if self.trials > TRIALS_MAX {
            return Ok(false);
        }
        self.trials += 1;
        let (trial, draws, spans) = try_case(self.bench, &case)?;
        let Some(trial) = trial.filter(|trial| trial.signature == self.trial.signature) else {
            return Ok(false);
        };
        // What is not shorter must be smaller, or this would go round and round.
        if (draws.len(), &draws) > (self.case.draws.len(), &self.case.draws) {
            return Ok(false);
        }
        (case.draws, case.spans) = (draws, spans);
        (self.case, self.trial) = (case, trial);
        Ok(true)
    }

    /// Switches rules on, one by one.
    fn rules(&mut self) -> Result<(), String> {
        for place in 0..u64::BITS {
            let mut case = self.case.clone();
            case.rules_off &= !(1 << place);
            if case.rules_off != self.case.rules_off {
                self.take(case)?;
            }
        }
        Ok(())
    }

    fn rows(&mut self) -> Result<(), String> {
        for table in 0..self.case.rows.len() {
            let mut row = 0;
            while row < self.case.rows[table].len() {
                let mut case = self.case.clone();
                case.rows[table].remove(row);
                if !self.take(case)? {
                    row += 1;
                }
            }
        }
        Ok(())
    }

    /// Cuts parts out, puts a part of theirs in their place, or sets them to 0.
    fn spans(&mut self) -> Result<(), String> {
        let mut place = self.case.spans.len();
        while place > 0 {
            place = (place - 1).min(self.case.spans.len().saturating_sub(1));
            let Some(span) = self.case.spans.get(place).copied() else {
                break;
            };
            let mut inner: Vec<Vec<u64>> = self
                .case
                .spans
                .iter()
                .filter(|part| part.sort == span.sort && part.begin >= span.begin && part.end <= span.end)
                .filter(|part| part.end - part.begin < span.end - span.begin)
                .map(|part| self.case.draws[part.begin..part.end].to_vec())
                .collect();
            inner.sort_by_key(|part| std::cmp::Reverse(part.len()));
            inner.truncate(STAND_INS_MAX);
            let mut stand_ins = vec![Vec::new(), vec![0; span.end - span.begin]];
            stand_ins.extend(inner);
            for stand_in in stand_ins {
                let mut case = self.case.clone();
                case.draws.splice(span.begin..span.end, stand_in);
                if self.take(case)? {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Sets single draws to 0, or makes them smaller, or leaves a few of them out.
    fn draws(&mut self) -> Result<(), String> {
        let mut place = 0;
        while place < self.case.draws.len() {
            let drawn = self.case.draws[place];
            for smaller in [0, drawn / 2, drawn.saturating_sub(1)] {
                if smaller < drawn && self.case.draws.get(place) == Some(&drawn) {
                    let mut case = self.case.clone();
                    case.draws[place] = smaller;
                    self.take(case)?;
                }
            }
            for count in [4, 1] {
                if place + count <= self.case.draws.len() {
                    let mut case = self.case.clone();
                    case.draws.drain(place..place + count);
                    self.take(case)?;
                }
            }
            place += 1;
        }
        Ok(())
    }

    fn words(&self) -> String {
        let case = &self.case;
        let (made, _) = statement(&case.schema, case.wanted, Tape::replay(case.draws.clone()));
        let mut text = self.bench.parties[0].rules_off_in_words(case.rules_off);
        text += if text.is_empty() { "" } else { ";\n" };
        for statement in case.schema.create(Dialect::TransactSql) {
            // A module stands in a batch alone.
            let is_module = ["create view", "create trigger"]
                .iter()
                .any(|begin| statement.starts_with(begin));
            text += &if is_module {
                format!("go\n{statement}\ngo\n")
            } else {
                format!("{statement};\n")
            };
        }
        for (table, rows) in case.schema.tables.iter().zip(&case.rows) {
            if !rows.is_empty() {
                text += &table.fill(Dialect::TransactSql, rows)[1..].join(";\n");
                text += ";\n";
            }
        }
        for dialect in [Dialect::TransactSql, Dialect::Sqlite, Dialect::Postgres] {
            if is_sayable(&made, dialect) {
                text += &format!("\n{dialect:?}: {}\n", script(&case.schema, dialect, &made).join("; "));
            }
        }
        format!("{}\n{text}\n{}\n", self.trial.signature, self.trial.words)
    }
}
