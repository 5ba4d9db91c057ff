//! An instance on a simulated disk, and a host that keeps what system statements answer.
#![allow(clippy::unwrap_used, dead_code)]

use disk::sim::SimDisk;
use engine::error::{Error, Result};
use engine::errorlog::ErrorLog;
use engine::instance::{Instance, InstanceOptions};
use engine::log::LogPolicy;
use engine::seams::{Background, Environment, ManualClock};
use engine::types::Value;
use engine::waits::WaitStatistics;
use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::Arc;
use tsql::ast::{Expression, ExpressionKind, Literal, StatementKind, UnaryOperator};
use tsql::session::{ClientRows, ResultColumn};
use tsql::system::{self, Host, SystemContext};
use vlf::ServerVersion;

pub struct Machine {
    pub disk: SimDisk,
    pub instance: Arc<Instance>,
    pub session: RefCell<engine::session::Session>,
    pub database: String,
}

/// What a statement answered.
#[derive(Default)]
pub struct Answers {
    pub columns: Vec<ResultColumn>,
    pub rows: Vec<Vec<Value>>,
    pub messages: Vec<Error>,
    pub batches: Vec<String>,
    pub transactions: u32,
    pub moved_to: Option<String>,
}

impl Host for Answers {
    fn is_given(&self, _parameter: usize) -> bool {
        false
    }

    fn output(&mut self, _parameter: usize, _value: Value) {}

    fn rules_off(&self) -> tsql::state::RulesOff {
        tsql::state::RulesOff::default()
    }

    fn switch_rules(&mut self, _: &[tsql::state::Rule], _: bool) {}

    fn raise(&mut self, error: Error) -> Result<()> {
        self.message(&error)
    }

    fn set_session_context(&mut self, _: &str, _: Value, _: bool) -> Result<()> {
        Ok(())
    }

    fn prepare_xml_document(&mut self, _: &str, _: &str) -> Result<i32> {
        Ok(1)
    }

    fn remove_xml_document(&mut self, _: i32) -> Result<()> {
        Ok(())
    }

    fn evaluate(&mut self, expression: &Expression) -> Result<Value> {
        Ok(match &expression.kind {
            ExpressionKind::Literal(Literal::Integer(number)) => Value::Int(*number),
            ExpressionKind::Literal(Literal::Text(text) | Literal::NationalText(text)) => text.as_str().into(),
            ExpressionKind::Unary {
                operator: UnaryOperator::Minus,
                operand,
            } => Value::Int(-(self.evaluate(operand)?.as_i64().unwrap() as i32)),
            ExpressionKind::Column(name) => name.to_string().into(),
            other => panic!("the tests use no {other:?}"),
        })
    }

    fn result_set(&mut self, columns: &[ResultColumn], rows: &[Vec<Value>]) -> Result<()> {
        self.columns = columns.to_vec();
        self.rows = rows.to_vec();
        for row in rows {
            assert_eq!(row.len(), columns.len(), "one value for each column");
            for (value, column) in row.iter().zip(columns) {
                assert!(
                    value.belongs_to(column.sql_type),
                    "{value:?} in column {} {:?}",
                    column.name,
                    column.sql_type
                );
            }
        }
        Ok(())
    }

    fn stream(&mut self, columns: &[ResultColumn], rows: &mut dyn tsql::views::RowStream) -> Result<()> {
        let mut all = Vec::new();
        while let Some(row) = rows.next()? {
            all.push(row);
        }
        self.result_set(columns, &all)
    }

    fn message(&mut self, message: &Error) -> Result<()> {
        self.messages.push(message.clone());
        Ok(())
    }

    fn load(&mut self, announcement: &str, _: &mut dyn ClientRows) -> Result<()> {
        panic!("{announcement}: this host loads nothing")
    }

    fn clean_history(&mut self, batch: &str) -> Result<i64> {
        self.execute(batch).map(|()| 0)
    }

    fn execute(&mut self, batch: &str) -> Result<()> {
        self.batches.push(batch.to_owned());
        Ok(())
    }

    fn user_options(&self) -> Vec<(String, String)> {
        vec![("language".into(), "us_english".into())]
    }

    fn transaction_count(&self) -> u32 {
        self.transactions
    }

    fn value_of(&mut self, _text: &str) -> Result<Value> {
        Ok(Value::Null)
    }

    fn refresh_module(&mut self, _name: &str) -> Result<()> {
        Ok(())
    }

    fn change_database(&mut self, name: &str) -> Result<()> {
        self.moved_to = Some(name.to_owned());
        Ok(())
    }
}

impl Answers {
    pub fn numbers(&self) -> Vec<i32> {
        self.messages.iter().map(|message| message.number).collect()
    }

    /// One column of the result set as text.
    pub fn column(&self, name: &str) -> Vec<String> {
        let place = self.columns.iter().position(|column| column.name == name).unwrap();
        self.rows.iter().map(|row| shown(&row[place])).collect()
    }
}

pub fn shown(value: &Value) -> String {
    match value {
        Value::Null => "NULL".into(),
        Value::Text(text) => text.to_string(),
        Value::Bit(bit) => i32::from(*bit).to_string(),
        Value::Float(number) => number.to_string(),
        Value::Real(number) => number.to_string(),
        Value::Decimal(number) => number.coefficient().to_string(),
        other => other
            .as_i64()
            .map_or_else(|| format!("{other:?}"), |number| number.to_string()),
    }
}

/// A session that only the system uses: nobody binds statements for it.
struct NoStatements;

impl tsql::views::Describer for NoStatements {
    fn first_result(&self, text: &str, _: &str, _: bool) -> Result<Vec<Vec<Value>>> {
        Err(Error::invalid_object(text))
    }
}

impl Machine {
    pub fn start(version: ServerVersion) -> Machine {
        Machine::start_on(&SimDisk::new(7), version)
    }

    pub fn start_on(disk: &SimDisk, version: ServerVersion) -> Machine {
        let clock = Arc::new(ManualClock::starting_at(1_700_000_000_000_000));
        let environment = Environment {
            disk: Arc::new(disk.clone()),
            errorlog: Arc::new(ErrorLog::new(clock.clone())),
            clock,
            background: Background::Inline,
            waits: Arc::new(WaitStatistics::new()),
            activity: Arc::default(),
        };
        let options = InstanceOptions {
            folder: PathBuf::from("/instance"),
            server_name: "TEST".into(),
            version,
            policy: LogPolicy::classic(),
            max_server_memory_bytes: 4 << 20,
            instant_file_initialization: true,
        };
        let instance = Instance::start(options, environment).unwrap();
        let session = RefCell::new(instance.open_session().unwrap());
        Machine {
            disk: disk.clone(),
            instance,
            session,
            database: "master".into(),
        }
    }

    pub fn with_context<T>(&self, work: impl FnOnce(&SystemContext<'_>) -> T) -> T {
        work(&SystemContext {
            instance: &self.instance,
            engine: &self.session,
            session_id: self.session.borrow().id,
            login: "sa",
            host: "workstation",
            application: "tests",
            database: self.instance.database(&self.database).unwrap(),
            transaction: 0,
            describer: &NoStatements,
        })
    }

    /// Runs the one statement of a batch.
    pub fn run(&self, batch: &str) -> (Answers, Result<()>) {
        self.run_with(batch, Answers::default())
    }

    pub fn run_with(&self, batch: &str, mut answers: Answers) -> (Answers, Result<()>) {
        let statements = tsql::parser::parse_batch(batch).unwrap();
        let outcome = self.with_context(|context| {
            let [statement] = statements.as_slice() else {
                panic!("one statement, not {batch}")
            };
            by_system(context, &mut answers, &statement.kind)
        });
        (answers, outcome)
    }

    /// Runs a statement that must succeed.
    pub fn done(&self, batch: &str) -> Answers {
        let (answers, outcome) = self.run(batch);
        outcome.unwrap_or_else(|error| panic!("{batch}: {error:?}"));
        answers
    }

    /// Runs a statement that must fail; the numbers of all its errors in order.
    pub fn failed(&self, batch: &str) -> Vec<i32> {
        let (answers, outcome) = self.run(batch);
        let mut numbers = answers.numbers();
        numbers.push(outcome.expect_err(batch).number);
        numbers
    }

    /// Runs a system procedure; what is left out is NULL.
    pub fn call(&self, name: &str, arguments: &[Value]) -> Answers {
        self.try_call(name, arguments)
            .unwrap_or_else(|error| panic!("{name}: {error:?}"))
    }

    pub fn try_call(&self, name: &str, arguments: &[Value]) -> Result<Answers> {
        let procedure = tsql::system::procedures::find(name).unwrap();
        let mut answers = Answers::default();
        let mut values = arguments.to_vec();
        values.resize(procedure.parameters.len(), Value::Null);
        self.with_context(|context| (procedure.run)(context, &mut answers, &values))?;
        Ok(answers)
    }

    /// The rows of a view as (column, value) pairs.
    pub fn view(&self, name: &str, arguments: &[Value]) -> Answers {
        let parts = name.split('.').map(tsql::ast::Identifier::new).collect();
        let name = tsql::ast::Name { parts };
        let view = tsql::views::find(&name).or_else(|| tsql::views::find_function(&name));
        let view = view.unwrap_or_else(|| panic!("{name}"));
        let rows = self.with_context(|context| view.rows.all(context, arguments)).unwrap();
        let columns: Vec<ResultColumn> = view
            .columns
            .iter()
            .map(|(name, kind)| ResultColumn::new(name, *kind))
            .collect();
        let mut answers = Answers::default();
        answers.result_set(&columns, &rows).unwrap();
        answers
    }
}

/// Runs a statement of the system without a batch around it.
pub fn by_system(context: &SystemContext<'_>, host: &mut dyn Host, statement: &StatementKind) -> Result<()> {
    match statement {
        StatementKind::CreateDatabase(create) => system::create_database(context, host, create),
        StatementKind::AlterDatabase(alter) => system::alter_database(context, host, alter),
        StatementKind::Drop(drop) => system::drop_databases(context, host, drop),
        StatementKind::Backup(backup) => system::backup(context, host, backup),
        StatementKind::Restore(restore) => system::restore(context, host, restore),
        StatementKind::Dbcc(command) => system::dbcc::execute(context, host, command),
        StatementKind::Checkpoint(_) => system::checkpoint(context),
        StatementKind::Kill { session, status_only } => system::kill(context, host, session, *status_only),
        StatementKind::Reconfigure { .. } => system::reconfigure(context, host),
        StatementKind::Shutdown { no_wait } => system::announce_shutdown(context, host, *no_wait),
        other => panic!("{} is no statement of the system", other.facts().name),
    }
}
