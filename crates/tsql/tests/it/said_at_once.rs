//! Messages inside INSERT ... EXECUTE reach the client while it runs; names and ids of constraints.
#![allow(clippy::unwrap_used)]

use crate::transcript;

use tsql::session::{BatchOutcome, DoneKind, Message, ResultColumn, ResultSink, Session, SinkClosed};

use engine::types::Value;
use transcript::{Transcript, Whole, instance, session};

fn run(session: &mut Session, batch: &str) -> String {
    let mut transcript = Transcript::default();
    session.execute(batch, &mut transcript);
    transcript.text
}

/// Notes how many rows another session sees when each message comes; takes no more after some messages.
struct Listener {
    other: Session,
    seen: Vec<String>,
    messages_max: usize,
}

impl ResultSink for Listener {
    fn columns(&mut self, _: &[ResultColumn]) -> Result<(), SinkClosed> {
        Ok(())
    }

    fn row(&mut self, _: &[Value]) -> Result<(), SinkClosed> {
        Ok(())
    }

    fn done(&mut self, _: Option<u64>, _: DoneKind) -> Result<(), SinkClosed> {
        Ok(())
    }

    fn message(&mut self, message: &Message) -> Result<(), SinkClosed> {
        let mut count = Whole::default();
        let batch = "select cast(count(*) as varchar) from seen with (nolock)";
        self.other.execute(batch, &mut count);
        self.seen.push(format!("{} {}", message.text, count.0[0]));
        if self.seen.len() == self.messages_max {
            return Err(SinkClosed);
        }
        Ok(())
    }
}

#[test]
fn messages_of_insert_execute_are_not_kept_until_it_is_over() {
    let instance = instance();
    let mut one = session(&instance);
    run(&mut one, "create table seen (a int) create table t (a int)");
    run(
        &mut one,
        "create procedure talks as declare @i int = 0
         while @i < 4 begin set @i += 1 insert seen values (@i) print cast(@i as varchar) end select @i",
    );
    let mut listener = Listener {
        other: session(&instance),
        seen: Vec::new(),
        messages_max: usize::MAX,
    };
    assert_eq!(
        one.execute("insert t exec talks", &mut listener),
        BatchOutcome::Completed
    );
    assert_eq!(listener.seen, ["1 1", "2 2", "3 3", "4 4"]);
    assert!(run(&mut one, "select a from t").contains("\n  4\n"));
    // A client that takes no more ends it there, and nothing of it stays.
    (listener.seen, listener.messages_max) = (Vec::new(), 2);
    assert_eq!(
        one.execute("insert t exec talks", &mut listener),
        BatchOutcome::Cancelled
    );
    assert_eq!(listener.seen, ["1 5", "2 6"]);
    assert!(run(&mut one, "select count(*) n from seen").contains("\n  4\n"));
}

#[test]
fn constraints_have_names_and_ids_as_objects_do() {
    let instance = instance();
    let mut one = session(&instance);
    run(&mut one, "create schema app");
    run(
        &mut one,
        "create table app.t (a int constraint pk primary key, b int constraint uq unique constraint df default 3,
         c int constraint ck check (c > 1), d int constraint fk references app.t)",
    );
    for (name, code, property) in [
        ("pk", "PK", "IsPrimaryKey"),
        ("uq", "UQ", "IsUniqueCnst"),
        ("df", "D", "IsDefaultCnst"),
        ("ck", "C", "IsCheckCnst"),
        ("fk", "F", "IsForeignKey"),
    ] {
        let query = format!(
            "declare @id int = (select object_id from sys.objects where name = '{name}')
             select object_name(@id) + ' ' + object_schema_name(@id) + ' ' + iif(object_id('app.{name}') = @id, 'same', 'other')
               + ' ' + iif(object_id('app.{name}', '{code}') = @id, 'same', 'other') + ' ' + isnull(cast(object_id('{name}') as varchar), 'none')
               + ' ' + isnull(cast(object_id('app.{name}', 'U') as varchar), 'none')
               + ' ' + cast(objectproperty(@id, '{property}') as varchar) + cast(objectproperty(@id, 'IsConstraint') as varchar)
               + cast(objectproperty(@id, 'IsTable') as varchar) + ' ' + isnull(object_definition(@id), '')"
        );
        let text = match name {
            "df" => "((3))",
            "ck" => "([c]>(1))",
            _ => "",
        };
        let mut answer = Whole::default();
        one.execute(&query, &mut answer);
        assert_eq!(
            answer.0[0],
            format!("{name} app same same none none 110 {text}"),
            "{name}"
        );
    }
    let mut answer = Whole::default();
    let absent = "select isnull(object_name(1), 'none') + isnull(cast(object_id('app.nothing') as varchar), 'none')";
    one.execute(absent, &mut answer);
    assert_eq!(answer.0, ["nonenone"]);
}

#[test]
fn a_conversion_tells_of_its_operand_before_it_tells_of_a_type_that_is_not_there() {
    let instance = instance();
    let mut one = session(&instance);
    run(&mut one, "create table t (a int)");
    for (batch, number) in [
        ("select cast(b as nothing) from t", 207),
        ("select convert(nothing, b) from t", 207),
        ("select try_cast(b as nothing) from t", 207),
        ("select parse(b as nothing) from t", 207),
        ("select cast(a as nothing) from t", 243),
        ("select convert(nothing, a) from t", 243),
        ("select cast(b as varchar(9000)) from t", 131),
        ("select cast(b as int) from t", 207),
    ] {
        let text = run(&mut one, batch);
        assert!(text.contains(&format!("Msg {number},")), "{batch}: {text}");
    }
}
