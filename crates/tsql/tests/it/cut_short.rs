//! A result set in whose midst an error came that TRY caught ends before CATCH answers. HammerDB's order status was the deadlock victim
//! that way: Microsoft's ODBC driver met the columns of CATCH within the rows of the statement, gave up the result, and refused every
//! later call ("Connection is busy with results for another command").
#![allow(clippy::unwrap_used)]

use crate::transcript::{instance, session};
use engine::types::Value;
use tsql::session::{DoneKind, Message, ResultColumn, ResultSink, SinkClosed};

/// The tokens of an answer in their order.
#[derive(Default)]
struct Tokens(String);

impl ResultSink for Tokens {
    fn columns(&mut self, _columns: &[ResultColumn]) -> Result<(), SinkClosed> {
        self.0.push_str("columns ");
        Ok(())
    }

    fn row(&mut self, _row: &[Value]) -> Result<(), SinkClosed> {
        self.0.push_str("row ");
        Ok(())
    }

    fn done(&mut self, row_count: Option<u64>, _kind: DoneKind) -> Result<(), SinkClosed> {
        self.0
            .push_str(&row_count.map_or("done ".to_owned(), |count| format!("done({count}) ")));
        Ok(())
    }

    fn message(&mut self, message: &Message) -> Result<(), SinkClosed> {
        self.0.push_str(&format!("message({}) ", message.number));
        Ok(())
    }
}

fn tokens(session: &mut tsql::session::Session, batch: &str) -> String {
    let mut tokens = Tokens::default();
    session.execute(batch, &mut tokens);
    tokens.0.trim_end().to_owned()
}

#[test]
fn rows_cut_short_by_a_caught_error_have_an_end() {
    let instance = instance();
    let mut one = session(&instance);
    let cut = "select 10 / (3 - value) from generate_series(1, 9)";
    let caught = |tried: &str| format!("begin try {tried} end try begin catch select error_number() end catch");
    assert_eq!(
        tokens(&mut one, &caught(cut)),
        "columns row row done(2) columns row done(1)"
    );
    assert_eq!(
        tokens(&mut one, &format!("set nocount on {} set nocount off", caught(cut))),
        "columns row row done columns row done done"
    );
    // The error of a procedure's statement, caught outside of it.
    assert_eq!(tokens(&mut one, &format!("create procedure p as {cut}")), "done");
    assert_eq!(
        tokens(&mut one, &caught("exec p")),
        "columns row row done(2) columns row done(1)"
    );
    // Not caught, its end has no count.
    assert_eq!(
        tokens(&mut one, &format!("{cut} select 1")),
        "columns row row message(8134) done columns row done(1)"
    );
    // What ends whole has one end, and what fails at its first row none.
    assert_eq!(
        tokens(&mut one, &caught("select 1 select 1 / 0")),
        "columns row done(1) columns row done(1)"
    );
    assert_eq!(
        tokens(&mut one, &caught("select 1 declare @i int = 1 / 0")),
        "columns row done(1) columns row done(1)"
    );
}
