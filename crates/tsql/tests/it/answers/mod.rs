//! What a session answers to a batch, as text.
#![allow(clippy::unwrap_used, dead_code)]

use engine::types::Value;
use tsql::session::{DoneKind, Message, ResultColumn, ResultSink, Session, SinkClosed};

/// Rows as text, and errors as number, state and words.
#[derive(Default)]
pub struct Answers {
    pub rows: Vec<String>,
    pub errors: Vec<(i32, u8, String)>,
    pub last: Option<Message>,
}

impl ResultSink for Answers {
    fn columns(&mut self, _columns: &[ResultColumn]) -> Result<(), SinkClosed> {
        Ok(())
    }

    fn row(&mut self, row: &[Value]) -> Result<(), SinkClosed> {
        let shown = |value: &Value| match value {
            Value::Null => "NULL".to_owned(),
            Value::Text(text) => text.to_string(),
            Value::Decimal(number) => number.to_string(),
            Value::Bit(bit) => i32::from(*bit).to_string(),
            other => other.as_i64().map_or_else(|| format!("{other:?}"), |n| n.to_string()),
        };
        self.rows.push(row.iter().map(shown).collect::<Vec<_>>().join(" "));
        Ok(())
    }

    fn done(&mut self, _row_count: Option<u64>, _kind: DoneKind) -> Result<(), SinkClosed> {
        Ok(())
    }

    fn message(&mut self, message: &Message) -> Result<(), SinkClosed> {
        if message.severity > 10 {
            self.errors.push((message.number, message.state, message.text.clone()));
            self.last = Some(message.clone());
        } else if message.number != 5701 {
            self.rows.push(message.text.clone());
        }
        Ok(())
    }
}

pub fn answers(session: &mut Session, batch: &str) -> Answers {
    let mut answers = Answers::default();
    session.execute(batch, &mut answers);
    answers
}

/// Rows with `|` between them; the batch must not fail.
pub fn rows(session: &mut Session, batch: &str) -> String {
    let answers = answers(session, batch);
    assert!(answers.errors.is_empty(), "{batch}: {:?}", answers.errors);
    answers.rows.join("|")
}

/// Runs batches that must not fail.
pub fn run(session: &mut Session, batches: &[&str]) {
    for batch in batches {
        rows(session, batch);
    }
}

/// The number of the first error; there must be one.
pub fn error(session: &mut Session, batch: &str) -> i32 {
    let answers = answers(session, batch);
    let first = answers.errors.first();
    first.unwrap_or_else(|| panic!("{batch} answered {:?}", answers.rows)).0
}
