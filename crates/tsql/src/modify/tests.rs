//! The stations of a changed row, driven by a test source: rows with an action each, computed columns, the rows passed to triggers.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;
use std::sync::Arc;

use disk::sim::SimDisk;
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
use crate::plan::{
    BoundOutput, BoundTable, ComputedTarget, Expr, FiredEvent, Firing, OutputTarget, RowAction, Target, TargetColumns,
};
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

/// A session of a new instance.
pub(crate) fn session() -> Session {
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

/// The rows of a batch without errors.
pub(crate) fn rows(session: &mut Session, text: &str) -> Vec<Vec<Value>> {
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
            shown: Vec::new(),
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
    columns.columns[2].computed = Some(ComputedTarget {
        expression: Expr::column(1, SqlType::Int, true),
        is_stored: true,
    });
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

/// What triggers are to see comes out by action, each in the order of INSERT, UPDATE, DELETE, and for actions without rows as well.
#[test]
fn triggers_get_the_rows_of_each_action() {
    let mut session = session();
    rows(
        &mut session,
        "create table t (a int not null primary key, b int) insert t values (1, 1), (2, 2)",
    );
    let state = session.state();
    let (target, mut columns) = target(state, "t");
    let event = |action| FiredEvent {
        action,
        set: vec![true, true],
        instead_of: None,
        after: vec![1],
    };
    columns.firing = Some(Arc::new(Firing {
        database_id: 1,
        shape: Arc::default(),
        events: [RowAction::Insert, RowAction::Update, RowAction::Delete]
            .map(event)
            .into(),
    }));
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
    ];
    let variables = Variables::default();
    let context = Context::new(state, &variables);
    state.engine.borrow_mut().begin();
    let mut pipeline = Pipeline::new(&context, &target, &columns, "MERGE", None).unwrap();
    pipeline.change_all(changes).unwrap();
    let fired = pipeline.finish().unwrap().fired;
    state.engine.borrow_mut().commit().unwrap();
    let seen: Vec<_> = fired
        .iter()
        .map(|fired| (ints(&fired.rows.deleted.rows), ints(&fired.rows.inserted.rows)))
        .collect();
    let row = |a, b| vec![Some(a), Some(b)];
    assert_eq!(
        seen,
        [
            (vec![], vec![]),
            (vec![row(2, 2)], vec![row(2, 22)]),
            (vec![row(1, 1)], vec![])
        ]
    );
}
