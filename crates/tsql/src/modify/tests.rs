//! The stations of a changed row, driven by a source of the tests' own: rows with an action each, computed columns,
//! reactions.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use disk::sim::SimDisk;
use engine::error::Error;
use engine::errorlog::ErrorLog;
use engine::instance::{Instance, InstanceOptions};
use engine::log::LogPolicy;
use engine::seams::{Background, Environment, ManualClock};
use engine::session::Table;
use engine::store::ReadMode;
use engine::types::{Length, SqlType, Value};
use engine::waits::WaitStatistics;

use super::{Pipeline, RowChange};
use crate::bind::{Binder, VariableScope};
use crate::context::{Context, Variables};
use crate::exec::locator_value;
use crate::plan::{BoundOutput, BoundTable, ChangedRows, Expr, OutputTarget, Reaction, Target, TargetColumns};
use crate::session::Session;
use crate::sink::{DoneKind, Message, ResultColumn, ResultSink, SinkClosed};
use crate::state::{Login, SessionState};

/// Rows and errors of a batch.
#[derive(Default)]
struct Answer {
    rows: Vec<Vec<Value>>,
    errors: Vec<i32>,
}

impl ResultSink for Answer {
    fn columns(&mut self, _: &[ResultColumn]) -> Result<(), SinkClosed> {
        Ok(())
    }

    fn row(&mut self, row: &[Value]) -> Result<(), SinkClosed> {
        self.rows.push(row.to_vec());
        Ok(())
    }

    fn done(&mut self, _: Option<u64>, _: DoneKind) -> Result<(), SinkClosed> {
        Ok(())
    }

    fn message(&mut self, message: &Message) -> Result<(), SinkClosed> {
        if message.severity > 10 {
            self.errors.push(message.number);
        }
        Ok(())
    }

    fn database_changed(&mut self, _: &str, _: &str) {}
}

fn session() -> Session {
    let clock = Arc::new(ManualClock::starting_at(1_700_000_000_000_000));
    let env = Environment {
        disk: Arc::new(SimDisk::new(7)),
        clock: clock.clone(),
        background: Background::Inline,
        waits: Arc::new(WaitStatistics::new()),
        activity: Arc::default(),
        errorlog: Arc::new(ErrorLog::new(clock)),
    };
    let options = InstanceOptions {
        folder: PathBuf::from("/instance"),
        server_name: "VLFLAB".to_owned(),
        version: vlf::ServerVersion::V2022,
        policy: LogPolicy::native(),
        max_server_memory_bytes: 64 << 20,
        instant_file_initialization: true,
    };
    let login = Login {
        login: "sa".into(),
        host: "HOST".into(),
        application: "tests".into(),
        ..Login::default()
    };
    Session::new(Instance::start(options, env).unwrap(), login).unwrap()
}

fn rows(session: &mut Session, text: &str) -> Vec<Vec<Value>> {
    let mut answer = Answer::default();
    session.execute(text, &mut answer);
    assert!(answer.errors.is_empty(), "{text}: {:?}", answer.errors);
    answer.rows
}

fn target(state: &SessionState, name: &str) -> (Target, TargetColumns) {
    let (database, object) = state.find_object_by_text(name).unwrap();
    let full_name = format!("master.dbo.{name}");
    let table = Table::open(&database, &object).unwrap();
    let target = Target::Table(Arc::new(BoundTable { table, full_name }));
    let columns = Binder::new(state, &VariableScope::default())
        .target_columns(&target)
        .unwrap();
    (target, columns)
}

/// The rows of a target whose first column has a value, with their locators.
fn find(state: &SessionState, target: &Target, wanted: &dyn Fn(i64) -> bool) -> Vec<(Value, Vec<Value>)> {
    let Target::Table(table) = target else {
        panic!("a table")
    };
    let mut scan = table.table.scan(&state.locks, ReadMode::Uncommitted).unwrap();
    let mut found = Vec::new();
    while scan.next_batch().unwrap() {
        for place in 0..scan.len() {
            let mut row = Vec::new();
            table
                .table
                .layout()
                .decode_into(scan.row(place).unwrap(), &mut row)
                .unwrap();
            if wanted(row[0].as_i64().unwrap()) {
                found.push((locator_value(&scan.locator(place).unwrap()), row));
            }
        }
    }
    found
}

fn one(state: &SessionState, target: &Target, wanted: i64) -> (Value, Vec<Value>) {
    find(state, target, &|first| first == wanted).pop().unwrap()
}

/// Runs changes as a statement of its own; its OUTPUT, or the number of the error that it failed with.
fn change(
    state: &SessionState,
    (target, columns): (&Target, &TargetColumns),
    output: Option<&BoundOutput>,
    changes: Vec<RowChange>,
) -> Result<Vec<Vec<Value>>, i32> {
    let variables = Variables::default();
    let context = Context::new(state, &variables);
    state.engine.borrow_mut().begin();
    let mut pipeline = Pipeline::new(&context, target, columns, "MERGE", output).unwrap();
    let outcome = pipeline.change_all(changes).and_then(|()| pipeline.finish());
    match outcome {
        Ok(changed) => {
            state.engine.borrow_mut().commit().unwrap();
            Ok(changed.output.rows)
        }
        Err(error) => {
            state.engine.borrow_mut().roll_back().unwrap();
            Err(error.number)
        }
    }
}

fn ints(rows: &[Vec<Value>]) -> Vec<Vec<Option<i64>>> {
    rows.iter().map(|row| row.iter().map(Value::as_i64).collect()).collect()
}

/// A delete frees keys for an update, the update's for an insert, whatever the order they come in; `$action` tells them apart.
#[test]
fn rows_with_an_action_each_take_keys_from_one_another() {
    for shape in [
        "create table t (k int not null primary key, u int not null unique)",
        "create table t (k int not null primary key nonclustered, u int not null unique)",
        "create table t (k int not null unique, u int not null primary key)",
    ] {
        let mut session = session();
        rows(
            &mut session,
            &format!("{shape} insert t values (1, 10), (2, 20), (3, 30)"),
        );
        let state = session.state();
        let (target, columns) = target(state, "t");
        let output = BoundOutput {
            expressions: vec![
                Expr::column(0, SqlType::Int, true),
                Expr::column(2, SqlType::Int, true),
                Expr::column(4, SqlType::NVarChar(Length::Limited(10)), false),
            ],
            columns: Vec::new(),
            target: OutputTarget::Client,
        };
        let (first, second, third) = (one(state, &target, 1), one(state, &target, 2), one(state, &target, 3));
        let changes = vec![
            RowChange::Insert(vec![Value::Int(3), Value::Int(20)]),
            RowChange::Update {
                locator: third.0,
                old: third.1,
                new: vec![Value::Int(2), Value::Int(10)],
            },
            RowChange::Update {
                locator: second.0,
                old: second.1,
                new: vec![Value::Int(1), Value::Int(30)],
            },
            RowChange::Delete {
                locator: first.0,
                old: first.1,
            },
        ];
        let told = change(state, (&target, &columns), Some(&output), changes).unwrap();
        let actions: Vec<&str> = told.iter().map(|row| row[2].as_str().unwrap()).collect();
        assert_eq!(actions, ["INSERT", "UPDATE", "UPDATE", "DELETE"]);
        let expected = [[None, Some(3)], [Some(3), Some(2)], [Some(2), Some(1)], [Some(1), None]];
        let found: Vec<[Option<i64>; 2]> = told.iter().map(|row| [row[0].as_i64(), row[1].as_i64()]).collect();
        assert_eq!(found, expected);
        // What two rows would have in the end is a duplicate, and nothing stays of the statement.
        let (first, second) = (one(state, &target, 1), one(state, &target, 2));
        let changes = vec![
            RowChange::Delete {
                locator: first.0,
                old: first.1,
            },
            RowChange::Update {
                locator: second.0,
                old: second.1,
                new: vec![Value::Int(3), Value::Int(99)],
            },
        ];
        assert_eq!(change(state, (&target, &columns), None, changes), Err(2627), "{shape}");
        let left = rows(&mut session, "select k, u from t order by k");
        assert_eq!(
            ints(&left),
            [[Some(1), Some(30)], [Some(2), Some(10)], [Some(3), Some(20)]],
            "{shape}"
        );
    }
}

/// Columns computed from the rest of their row have their value before NULLs and CHECK are judged, on insert and on update.
#[test]
fn computed_columns_are_computed_before_they_are_judged() {
    let mut session = session();
    rows(
        &mut session,
        "create table t (a int not null primary key, b int, c int not null check (c < 10))",
    );
    let state = session.state();
    let (target, mut columns) = target(state, "t");
    columns.columns[2].computed = Some(Expr::column(1, SqlType::Int, true));
    let insert = |b: Value| vec![RowChange::Insert(vec![Value::Int(1), b, Value::Null])];
    let both = (&target, &columns);
    assert_eq!(change(state, both, None, insert(Value::Null)), Err(515));
    assert_eq!(change(state, both, None, insert(Value::Int(11))), Err(547));
    change(state, both, None, insert(Value::Int(4))).unwrap();
    let (locator, old) = one(state, &target, 1);
    let mut new = old.clone();
    new[1] = Value::Int(5);
    change(state, both, None, vec![RowChange::Update { locator, old, new }]).unwrap();
    let left = rows(&mut session, "select a, b, c from t");
    assert_eq!(ints(&left), [[Some(1), Some(5), Some(5)]]);
}

/// Rows of one statement as a trigger sees them: `inserted` and `deleted`.
type Seen = (Vec<Vec<Value>>, Vec<Vec<Value>>);

/// Keeps what it gets; refuses rows with a 13 in front, as a trigger may.
#[derive(Debug, Default)]
struct Trigger(Mutex<Vec<Seen>>);

impl Reaction for Trigger {
    fn after(&self, _: &Context<'_>, rows: &ChangedRows) -> engine::error::Result<()> {
        let told = (rows.deleted().to_vec(), rows.inserted().to_vec());
        self.0.lock().unwrap().push(told);
        match rows.inserted().iter().any(|row| row[0] == Value::Int(13)) {
            true => Err(Error::new(50_000, 16, 1, "thirteen")),
            false => Ok(()),
        }
    }
}

#[test]
fn reactions_see_all_rows_of_a_statement_at_once_and_can_fail_it() {
    let mut session = session();
    rows(
        &mut session,
        "create table t (a int not null primary key, b int) insert t values (1, 1), (2, 2)",
    );
    let state = session.state();
    let (target, mut columns) = target(state, "t");
    let trigger = Arc::new(Trigger::default());
    columns.reactions.push(trigger.clone());
    let (first, second) = (one(state, &target, 1), one(state, &target, 2));
    let changes = vec![
        RowChange::Delete {
            locator: first.0,
            old: first.1,
        },
        RowChange::Update {
            locator: second.0,
            old: second.1,
            new: vec![Value::Int(2), Value::Int(22)],
        },
        RowChange::Insert(vec![Value::Int(3), Value::Null]),
    ];
    change(state, (&target, &columns), None, changes).unwrap();
    let told = std::mem::take(&mut *trigger.0.lock().unwrap());
    assert_eq!(told.len(), 1);
    assert_eq!(ints(&told[0].0), [[Some(1), Some(1)], [Some(2), Some(2)]]);
    assert_eq!(ints(&told[0].1), [[Some(2), Some(22)], [Some(3), None]]);
    let refused = vec![RowChange::Insert(vec![Value::Int(13), Value::Null])];
    assert_eq!(change(state, (&target, &columns), None, refused), Err(50_000));
    let left = rows(&mut session, "select a from t order by a");
    assert_eq!(ints(&left), [[Some(2)], [Some(3)]]);
}

/// Deletes the rows that refer to deleted ones, by a pipeline of its own.
#[derive(Debug)]
struct Cascade;

impl Reaction for Cascade {
    fn after(&self, context: &Context<'_>, rows: &ChangedRows) -> engine::error::Result<()> {
        let (target, columns) = target(context.session, "child");
        let gone: Vec<i64> = rows.deleted().iter().filter_map(|row| row[0].as_i64()).collect();
        let mut pipeline = Pipeline::new(context, &target, &columns, "DELETE", None)?;
        for (locator, old) in find(context.session, &target, &|first| gone.contains(&first)) {
            pipeline.delete(&locator, &old)?;
        }
        pipeline.finish().map(|_| ())
    }
}

#[test]
fn a_reaction_changes_rows_of_another_table_within_the_statement() {
    let mut session = session();
    rows(
        &mut session,
        "create table parent (id int not null primary key) insert parent values (1), (2)",
    );
    rows(
        &mut session,
        "create table child (parent int, n int) insert child values (1, 1), (2, 2), (1, 3)",
    );
    let state = session.state();
    let (target, mut columns) = target(state, "parent");
    columns.reactions.push(Arc::new(Cascade));
    let (locator, old) = one(state, &target, 1);
    change(
        state,
        (&target, &columns),
        None,
        vec![RowChange::Delete { locator, old }],
    )
    .unwrap();
    let left = rows(&mut session, "select id, n from parent join child on parent = id");
    assert_eq!(ints(&left), [[Some(2), Some(2)]]);
    assert_eq!(ints(&rows(&mut session, "select count(*) from child")), [[Some(1)]]);
}
