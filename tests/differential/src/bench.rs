//! vlflab and its judges side by side on the same tables.

use crate::ast::Statement;
use crate::compare::{Shape, difference};
use crate::dialect::Dialect;
use crate::judges::{Answer, Judge};
use crate::known;
use crate::print::{Script, is_sayable, script};
use crate::schema::{Row, Schema};

/// vlflab first, then those it is held against.
pub struct Bench {
    /// At least two.
    pub parties: Vec<Box<dyn Judge>>,
}

/// One thing asked of all: a script for each party, none for one that cannot say it.
pub struct Question {
    scripts: Vec<Option<Script>>,
    shape: Shape,
    statement: Option<Statement>,
}

/// What all said.
pub struct Verdict {
    /// By party; none where it was not asked.
    pub answers: Vec<Option<Answer>>,
    /// Where another engine differs from vlflab: which one and in what.
    pub differences: Vec<(usize, &'static str)>,
    /// Differences that are intended: their names in the table of known ones.
    pub known: Vec<&'static str>,
}

impl Verdict {
    pub fn own(&self) -> Answer {
        self.answers[0].clone().unwrap_or_default()
    }
}

impl Bench {
    /// Asks everything of all, each on a thread of its own.
    ///
    /// # Errors
    /// One of them does not answer any more.
    fn ask(&mut self, questions: &[Question]) -> Result<Vec<Vec<Option<Answer>>>, String> {
        let answers: Vec<Result<Vec<Answer>, String>> = std::thread::scope(|scope| {
            let handles: Vec<_> = self
                .parties
                .iter_mut()
                .enumerate()
                .map(|(party, judge)| {
                    let scripts: Vec<Script> = questions
                        .iter()
                        .filter_map(|question| question.scripts[party].clone())
                        .collect();
                    scope.spawn(move || {
                        judge
                            .ask(&scripts)
                            .map_err(|error| format!("{}: {error}", judge.name()))
                    })
                })
                .collect();
            let lost = |_| Err("a thread ended".to_owned());
            handles
                .into_iter()
                .map(|handle| handle.join().unwrap_or_else(lost))
                .collect()
        });
        let mut streams = Vec::new();
        for answers in answers {
            streams.push(answers?.into_iter());
        }
        let verdicts = questions.iter().map(|question| {
            let asked = question.scripts.iter().zip(&mut streams);
            asked
                .map(|(script, stream)| script.as_ref().and_then(|_| stream.next()))
                .collect()
        });
        Ok(verdicts.collect())
    }

    /// Asks everything of all and compares.
    ///
    /// # Errors
    /// One of them does not answer any more.
    pub fn judge(&mut self, questions: &[Question]) -> Result<Vec<Verdict>, String> {
        let answers = self.ask(questions)?;
        let verdicts = questions.iter().zip(answers).map(|(question, answers)| {
            let own = answers[0].clone().unwrap_or_default();
            let mut verdict = Verdict {
                answers,
                differences: Vec::new(),
                known: Vec::new(),
            };
            for (party, answer) in verdict.answers.iter().enumerate().skip(1) {
                let Some(answer) = answer else { continue };
                let Some(what) = difference(&question.shape, &own, answer) else {
                    continue;
                };
                let dialect = self.parties[party].dialect();
                match known::reason(dialect, question.statement.as_ref(), &own, answer) {
                    Some(known) => verdict.known.push(known),
                    None => verdict.differences.push((party, what)),
                }
            }
            verdict
        });
        Ok(verdicts.collect())
    }

    /// Switches optimizer rules of vlflab.
    ///
    /// # Errors
    /// It does not answer any more.
    pub fn switch_rules(&mut self, off: u64) -> Result<(), String> {
        self.parties[0]
            .switch_rules(off)
            .map_err(|error| format!("vlflab: {error}"))
    }

    fn dialects(&self) -> Vec<Dialect> {
        self.parties.iter().map(|party| party.dialect()).collect()
    }

    /// A statement for all who can say it.
    pub fn question(&self, schema: &Schema, statement: &Statement) -> Question {
        let write = |dialect: Dialect| is_sayable(statement, dialect).then(|| script(schema, dialect, statement));
        Question {
            scripts: self.dialects().into_iter().map(write).collect(),
            shape: Shape::of(schema, statement),
            statement: Some(statement.clone()),
        }
    }

    /// The statement in a transaction that is rolled back, for vlflab alone.
    pub fn undone(&self, schema: &Schema, statement: &Statement) -> Question {
        let mut undone = vec!["begin transaction".to_owned()];
        undone.extend(script(schema, Dialect::TransactSql, statement));
        undone.push("rollback transaction".into());
        let mut scripts = vec![None; self.parties.len()];
        scripts[0] = Some(undone);
        Question {
            scripts,
            shape: Shape::of(schema, statement),
            statement: None,
        }
    }

    /// All of a table, after a statement.
    pub fn read(&self, schema: &Schema, table: usize, after: &Statement) -> Question {
        let read = |dialect| Some(vec![schema.tables[table].read(dialect)]);
        Question {
            scripts: self.dialects().into_iter().map(read).collect(),
            shape: Shape::of_table(schema, table),
            statement: Some(after.clone()),
        }
    }

    /// All of a view, after a statement.
    pub fn read_view(&self, schema: &Schema, view: usize, after: &Statement) -> Question {
        let view = &schema.views[view];
        let read = |dialect| Some(vec![view.read(dialect)]);
        Question {
            scripts: self.dialects().into_iter().map(read).collect(),
            shape: Shape::of_view(schema, view),
            statement: Some(after.clone()),
        }
    }

    /// Runs statements that must succeed everywhere.
    ///
    /// # Errors
    /// One does not, or an engine does not answer any more.
    fn must(&mut self, write: impl Fn(Dialect) -> Vec<String>) -> Result<(), String> {
        for party in &mut self.parties {
            let scripts: Vec<Script> = write(party.dialect()).into_iter().map(|text| vec![text]).collect();
            for (answer, script) in party.ask(&scripts)?.iter().zip(&scripts) {
                if let Some(failure) = &answer.failure {
                    return Err(format!("{}: {} at {script:?}", party.name(), failure.text));
                }
            }
        }
        Ok(())
    }

    /// Makes the tables, in place of `former` ones.
    ///
    /// # Errors
    /// As [`Bench::must`].
    pub fn make(&mut self, former: Option<&Schema>, schema: &Schema) -> Result<(), String> {
        self.must(|dialect| {
            let mut all = former.map_or(Vec::new(), |former| former.drop(dialect));
            all.extend(schema.drop(dialect));
            all.extend(schema.create(dialect));
            all
        })
    }

    /// Leaves exactly `rows` in the tables, and sequences at their begin.
    ///
    /// # Errors
    /// As [`Bench::must`].
    pub fn fill(&mut self, schema: &Schema, rows: &[Vec<Row>]) -> Result<(), String> {
        self.must(|dialect| {
            let tables = schema.tables.iter().zip(rows);
            let fill = tables.flat_map(|(table, rows)| table.fill(dialect, rows));
            fill.chain(schema.restart(dialect)).collect()
        })
    }
}
