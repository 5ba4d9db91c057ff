//! UPDATE and DELETE with FROM against a model that evaluates FROM by brute force: every form that names a target, random
//! shapes, and refused forms. Every row must be as the model says. Counts are printed.
//!
//! - A walk over the forms: each combination of what [`walked_forms`] lists, which are counted.
//! - Random shapes: nested joins, derived tables, APPLY, TOP, conditions with OR, targets beside FROM, changing rows.
//! - Forms that are refused, each by its number.
//!
//! Depth: one form in 17, 400 random statements; deep: every form, 100,000 statements.
#![allow(clippy::unwrap_used)]

use crate::transcript;

use engine::types::Value;
use transcript::{instance, session};
use tsql::session::{DoneKind, Message, ResultColumn, ResultSink, Session, SinkClosed};

/// Random statements. All of them take some seconds.
const STATEMENTS: u64 = 400;
const STATEMENTS_DEEP: u64 = 100_000;
/// The tables: a clustered one with an index, a clustered one, a heap, a temporary table, a table variable.
const TABLES: [&str; 5] = ["t", "u", "h", "#p", "@v"];
const ROWS: usize = 6;

type Row = [Option<i64>; 3];

/// xorshift64*: the same statements on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % limit
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }
}

#[derive(Default)]
struct Answers {
    sets: Vec<Vec<Vec<Option<i64>>>>,
    errors: Vec<(i32, u8)>,
}

impl ResultSink for Answers {
    fn columns(&mut self, _columns: &[ResultColumn]) -> Result<(), SinkClosed> {
        self.sets.push(Vec::new());
        Ok(())
    }

    fn row(&mut self, row: &[Value]) -> Result<(), SinkClosed> {
        let set = self.sets.last_mut().unwrap();
        set.push(row.iter().map(Value::as_i64).collect());
        Ok(())
    }

    fn done(&mut self, _row_count: Option<u64>, _kind: DoneKind) -> Result<(), SinkClosed> {
        Ok(())
    }

    fn message(&mut self, message: &Message) -> Result<(), SinkClosed> {
        if message.severity > 10 {
            self.errors.push((message.number, message.severity));
        }
        Ok(())
    }
}

fn run(session: &mut Session, batch: &str) -> Answers {
    let mut answers = Answers::default();
    session.execute(batch, &mut answers);
    answers
}

/// A source of FROM.
#[derive(Clone)]
struct Source {
    table: usize,
    alias: Option<String>,
    /// A derived table: only rows with an id below this.
    derived: Option<i64>,
}

impl Source {
    fn exposed(&self) -> &str {
        self.alias.as_deref().unwrap_or(TABLES[self.table])
    }

    fn text(&self) -> String {
        let table = TABLES[self.table];
        match (self.derived, &self.alias) {
            (Some(limit), Some(alias)) => format!("(select id, a, b from {table} where id < {limit}) {alias}"),
            (_, Some(alias)) => format!("{table} as {alias}"),
            _ => table.to_owned(),
        }
    }
}

/// A column of a source, by numbers.
#[derive(Clone, Copy)]
struct Column(usize, usize);

/// `left operator right`, where right is a column or a constant.
#[derive(Clone)]
struct Comparison {
    left: Column,
    operator: &'static str,
    right: Result<Column, i64>,
}

/// Comparisons joined by AND or OR.
#[derive(Clone)]
struct Condition {
    parts: Vec<Comparison>,
    any: bool,
}

#[derive(Clone)]
enum Tree {
    Source(usize),
    Join(Box<Tree>, &'static str, Box<Tree>, Option<Condition>),
    /// `left CROSS | OUTER APPLY (SELECT ... WHERE condition)`
    Apply(Box<Tree>, &'static str, usize, Condition),
}

/// One row of FROM: the row of each source, if it takes part and an outer join found one.
type Wide = Vec<Option<usize>>;

struct Model {
    tables: [Vec<Row>; 5],
    sources: Vec<Source>,
    /// Whether every join inside of a join stands in parentheses; else only one at the right side does, which needs them.
    is_bracketed: bool,
}

impl Model {
    fn column_name(&self, Column(source, column): Column) -> String {
        // A variable's name is not a qualifier without brackets.
        let name = self.sources[source].exposed();
        let name = if name.starts_with('@') {
            format!("[{name}]")
        } else {
            name.to_owned()
        };
        format!("{name}.{}", ["id", "a", "b"][column])
    }

    fn value(&self, wide: &Wide, Column(source, column): Column) -> Option<i64> {
        wide[source].and_then(|row| self.tables[self.sources[source].table][row][column])
    }

    fn condition_text(&self, condition: &Condition) -> String {
        let parts = condition.parts.iter().map(|part| {
            let right = match part.right {
                Ok(column) => self.column_name(column),
                Err(constant) => constant.to_string(),
            };
            format!("{} {} {right}", self.column_name(part.left), part.operator)
        });
        let word = if condition.any { " or " } else { " and " };
        format!("({})", parts.collect::<Vec<_>>().join(word))
    }

    fn holds(&self, wide: &Wide, condition: &Condition) -> bool {
        let mut truths = condition.parts.iter().map(|part| {
            let right = match part.right {
                Ok(column) => self.value(wide, column),
                Err(constant) => Some(constant),
            };
            let (Some(left), Some(right)) = (self.value(wide, part.left), right) else {
                return false;
            };
            match part.operator {
                "=" => left == right,
                "<" => left < right,
                "<=" => left <= right,
                _ => left != right,
            }
        });
        // Unknown counts as false: there is no NOT.
        if condition.any {
            truths.any(|truth| truth)
        } else {
            truths.all(|truth| truth)
        }
    }

    fn text(&self, tree: &Tree) -> String {
        let right = |tree: &Tree| match tree {
            Tree::Source(_) => self.text(tree),
            _ => format!("({})", self.text(tree)),
        };
        let left = |tree: &Tree| match self.is_bracketed {
            true => right(tree),
            false => self.text(tree),
        };
        match tree {
            Tree::Source(source) => self.sources[*source].text(),
            Tree::Join(one, kind, other, on) => {
                let on = on
                    .as_ref()
                    .map_or(String::new(), |on| format!(" on {}", self.condition_text(on)));
                format!("{} {kind} {}{on}", left(one), right(other))
            }
            Tree::Apply(one, kind, source, condition) => {
                let alias = self.sources[*source].exposed();
                let table = TABLES[self.sources[*source].table];
                let inside = self.condition_text(condition).replace(&format!("{alias}."), "inside.");
                let query = format!("select id, a, b from {table} as inside where {inside}");
                format!("{} {kind} ({query}) {alias}", left(one))
            }
        }
    }

    fn rows_of(&self, source: usize) -> Vec<Wide> {
        let limit = self.sources[source].derived.unwrap_or(i64::MAX);
        let rows = self.tables[self.sources[source].table].iter().enumerate();
        let rows = rows.filter(|(_, row)| row[0].unwrap() < limit);
        rows.map(|(number, _)| {
            let mut wide = vec![None; self.sources.len()];
            wide[source] = Some(number);
            wide
        })
        .collect()
    }

    fn rows(&self, tree: &Tree) -> Vec<Wide> {
        match tree {
            Tree::Source(source) => self.rows_of(*source),
            Tree::Join(left, kind, right, on) => self.joined(&self.rows(left), kind, &self.rows(right), on.as_ref()),
            Tree::Apply(left, kind, source, condition) => {
                let kind = if *kind == "outer apply" {
                    "left join"
                } else {
                    "inner join"
                };
                self.joined(&self.rows(left), kind, &self.rows_of(*source), Some(condition))
            }
        }
    }

    fn joined(&self, left: &[Wide], kind: &str, right: &[Wide], on: Option<&Condition>) -> Vec<Wide> {
        let both = |left: &Wide, right: &Wide| -> Wide {
            left.iter().zip(right).map(|(left, right)| left.or(*right)).collect()
        };
        let mut rows = Vec::new();
        let (mut left_met, mut right_met) = (vec![false; left.len()], vec![false; right.len()]);
        for (at_left, one) in left.iter().enumerate() {
            for (at_right, other) in right.iter().enumerate() {
                let wide = both(one, other);
                if on.is_none_or(|on| self.holds(&wide, on)) {
                    (left_met[at_left], right_met[at_right]) = (true, true);
                    rows.push(wide);
                }
            }
        }
        let alone = |side: &[Wide], met: &[bool]| -> Vec<Wide> {
            let unmet = side.iter().zip(met).filter(|(_, met)| !**met);
            unmet.map(|(wide, _)| wide.clone()).collect()
        };
        if matches!(kind, "left join" | "full join") {
            rows.extend(alone(left, &left_met));
        }
        if matches!(kind, "right join" | "full join") {
            rows.extend(alone(right, &right_met));
        }
        rows
    }
}

/// What the statement calls its target, and which source that is by the rules of SQL Server.
enum Meant {
    Source(usize),
    Ambiguous,
    /// A source of its own.
    Separate(usize),
}

fn resolve(sources: &[Source], name: &str) -> Option<Meant> {
    let stored = || {
        sources
            .iter()
            .enumerate()
            .filter(|(_, source)| source.derived.is_none())
    };
    if let Some((place, _)) = stored().find(|(_, source)| source.alias.as_deref() == Some(name)) {
        return Some(Meant::Source(place));
    }
    let plain = name.strip_prefix("dbo.").unwrap_or(name);
    let table = TABLES.iter().position(|table| *table == plain)?;
    let places: Vec<usize> = stored()
        .filter(|(_, source)| source.table == table)
        .map(|(place, _)| place)
        .collect();
    match places[..] {
        [] => Some(Meant::Separate(table)),
        [one] => Some(Meant::Source(one)),
        _ => {
            let without = places.iter().find(|&&place| sources[place].alias.is_none());
            Some(without.map_or(Meant::Ambiguous, |&place| Meant::Source(place)))
        }
    }
}

/// One statement with its FROM.
struct Case {
    model: Model,
    trees: Vec<Tree>,
    target: String,
    meant: Meant,
    selection: Option<Condition>,
    /// Rows of TOP.
    top: Option<usize>,
}

fn random_rows(random: &mut Random) -> Vec<Row> {
    let value = |random: &mut Random| (!random.one_in(5)).then(|| random.below(4) as i64);
    (0..ROWS)
        .map(|id| [Some(id as i64), value(random), value(random)])
        .collect()
}

fn random_condition(random: &mut Random, sources: &[usize]) -> Condition {
    let column = |random: &mut Random| Column(sources[random.below(sources.len())], random.below(3));
    let parts = (0..=random.below(2)).map(|_| Comparison {
        left: column(random),
        operator: ["=", "=", "=", "<", "<=", "<>"][random.below(6)],
        right: if random.one_in(4) {
            Err(random.below(4) as i64)
        } else {
            Ok(column(random))
        },
    });
    let parts = parts.collect();
    Condition {
        parts,
        any: random.one_in(3),
    }
}

fn on_condition(random: &mut Random, left: &[usize], right: &[usize]) -> Condition {
    let both: Vec<usize> = left.iter().chain(right).copied().collect();
    let mut condition = random_condition(random, &both);
    // Mostly a pair of equal columns of both sides.
    if !random.one_in(4) {
        let pick = |random: &mut Random, side: &[usize]| Column(side[random.below(side.len())], random.below(3));
        condition.parts[0] = Comparison {
            left: pick(random, left),
            operator: "=",
            right: Ok(pick(random, right)),
        };
    }
    condition
}

fn random_tree(random: &mut Random, sources: &[usize], model: &Model) -> Tree {
    let [only] = sources else {
        let cut = 1 + random.below(sources.len() - 1);
        let (left, right) = sources.split_at(cut);
        if let [one] = right
            && model.sources[*one].derived == Some(i64::MAX)
        {
            let kind = ["cross apply", "outer apply"][random.below(2)];
            let mut condition = random_condition(random, sources);
            condition.parts[0].left = Column(*one, 1);
            return Tree::Apply(Box::new(random_tree(random, left, model)), kind, *one, condition);
        }
        let kinds = [
            "inner join",
            "inner join",
            "left join",
            "right join",
            "full join",
            "cross join",
        ];
        let kind = kinds[random.below(kinds.len())];
        let on = (kind != "cross join").then(|| on_condition(random, left, right));
        let left = random_tree(random, left, model);
        return Tree::Join(Box::new(left), kind, Box::new(random_tree(random, right, model)), on);
    };
    Tree::Source(*only)
}

fn random_sources(random: &mut Random) -> Vec<Source> {
    let mut sources: Vec<Source> = Vec::new();
    for place in 0..=random.below(4) {
        let table = random.below(TABLES.len());
        let name = TABLES[table];
        let is_free = |name: &str| sources.iter().all(|source| source.exposed() != name);
        // An alias may well be another table's name.
        let others: Vec<&str> = TABLES[..3].iter().copied().filter(|other| is_free(other)).collect();
        let alias = match random.below(6) {
            0 | 1 if is_free(name) => None,
            2 if !others.is_empty() => Some(others[random.below(others.len())].to_owned()),
            _ => Some(format!("s{place}")),
        };
        // i64::MAX: everything, and the place for an apply.
        let derived = match random.below(6) {
            0 if place > 0 && alias.is_some() => Some(i64::MAX),
            1 if alias.is_some() => Some(random.below(ROWS) as i64),
            _ => None,
        };
        sources.push(Source { table, alias, derived });
    }
    sources
}

fn random_case(random: &mut Random) -> Option<Case> {
    let tables = std::array::from_fn(|_| random_rows(random));
    let sources = random_sources(random);
    let names = TABLES.iter().map(|&name| name.to_owned());
    let names = names.chain(TABLES[..3].iter().map(|name| format!("dbo.{name}")));
    let mut names: Vec<String> = names.collect();
    let exposed = sources.iter().filter(|source| source.derived.is_none());
    for source in exposed {
        // The sources themselves are the interesting targets.
        names.extend(vec![source.exposed().to_owned(); 3]);
    }
    let target = names[random.below(names.len())].clone();
    let meant = resolve(&sources, &target)?;
    let is_exposed = |name: &str| sources.iter().any(|source| source.exposed() == name);
    let is_derived = sources
        .iter()
        .any(|source| source.derived.is_some() && source.exposed() == target);
    if is_derived || matches!(meant, Meant::Separate(table) if is_exposed(TABLES[table])) {
        return None;
    }
    let mut model = Model {
        tables,
        sources,
        is_bracketed: true,
    };
    let count = model.sources.len();
    let cut = if random.one_in(3) { random.below(count) } else { 0 };
    let places: Vec<usize> = (0..count).collect();
    let (first, second) = places.split_at(cut);
    let mut trees: Vec<Tree> = Vec::new();
    for part in [first, second] {
        if !part.is_empty() {
            trees.push(random_tree(random, part, &model));
        }
    }
    let mut visible = places;
    if let Meant::Separate(table) = meant {
        visible.push(count);
        model.sources.push(Source {
            table,
            alias: None,
            derived: None,
        });
    }
    let selection = (!random.one_in(4)).then(|| random_condition(random, &visible));
    let top = random.one_in(6).then(|| random.below(4));
    Some(Case {
        model,
        trees,
        target,
        meant,
        selection,
        top,
    })
}

impl Case {
    /// The target's source, and for every one of its rows that FROM and WHERE meet, the rows of FROM that meet it.
    fn met(&self) -> (usize, Vec<Vec<Wide>>) {
        let target = match self.meant {
            Meant::Source(place) => place,
            _ => self.model.sources.len() - 1,
        };
        let mut rows = vec![vec![None; self.model.sources.len()]];
        for tree in &self.trees {
            rows = self.model.joined(&rows, "cross join", &self.model.rows(tree), None);
        }
        if matches!(self.meant, Meant::Separate(_)) {
            rows = self
                .model
                .joined(&rows, "cross join", &self.model.rows_of(target), None);
        }
        let selection = self.selection.as_ref();
        rows.retain(|wide| selection.is_none_or(|selection| self.model.holds(wide, selection)));
        let rows_of_target = self.model.tables[self.model.sources[target].table].len();
        let mut met = vec![Vec::new(); rows_of_target];
        for wide in rows {
            if let Some(row) = wide[target] {
                met[row].push(wide);
            }
        }
        (target, met)
    }

    fn clause_text(&self) -> String {
        let trees: Vec<String> = self.trees.iter().map(|tree| self.model.text(tree)).collect();
        let selection = self.selection.as_ref();
        let selection = selection.map_or(String::new(), |condition| {
            format!(" where {}", self.model.condition_text(condition))
        });
        format!("from {}{selection}", trees.join(", "))
    }

    /// UPDATE with this column, plus 100, for the target's column b; DELETE without one.
    fn statement(&self, value: Option<Column>) -> String {
        let top = self.top.map_or(String::new(), |top| format!("top ({top}) "));
        let (name, from) = (&self.target, self.clause_text());
        match value {
            None => format!("delete {top}{name} {from}"),
            Some(value) => format!(
                "update {top}{name} set b = {} + 100 {from}",
                self.model.column_name(value)
            ),
        }
    }

    fn batch(&self, statement: &str) -> String {
        let mut batch = format!("set nocount on begin tran {VARIABLE}");
        for (table, rows) in TABLES.iter().zip(&self.model.tables) {
            batch += &insertion(table, rows);
        }
        batch + &self.judged(statement)
    }

    /// The statement and what is read after it.
    fn judged(&self, statement: &str) -> String {
        let mut batch = statement.to_owned();
        batch += " select @@rowcount ";
        for table in TABLES {
            batch += &format!("select id, a, b from {table} order by id ");
        }
        batch + "rollback"
    }
}

/// The variable that is called as the last one of [`TABLES`].
const VARIABLE: &str = "declare @v table (id int, a int, b int) ";

fn insertion(table: &str, rows: &[Row]) -> String {
    let show = |value: Option<i64>| value.map_or("null".to_owned(), |value| value.to_string());
    let rows = rows.iter().map(|row| format!("({})", row.map(show).join(", ")));
    format!("insert {table} values {} ", rows.collect::<Vec<_>>().join(", "))
}

/// The rows that are left or changed are those of the model, and all other tables are as they were; see [`Case::statement`] for
/// the value.
fn check(case: &Case, answers: &Answers, text: &str, value: Option<Column>) {
    assert_eq!(answers.errors, [], "{text}");
    let allowed = |wide: &Wide, row: &Row| {
        let value = case.model.value(wide, value?);
        Some([row[0], row[1], value.map(|value| value + 100)])
    };
    let (target, met) = case.met();
    let own_table = case.model.sources[target].table;
    let [count, after @ ..] = answers.sets.as_slice() else {
        panic!("no answers: {text}\n{:?}", answers.errors);
    };
    let mut changed = 0;
    for (table, rows) in case.model.tables.iter().enumerate() {
        let now = |id: Option<i64>| {
            after[table]
                .iter()
                .find(|row| row[0] == id)
                .map(|row| [row[0], row[1], row[2]])
        };
        for (number, row) in rows.iter().enumerate() {
            let found = now(row[0]);
            let is_met = table == own_table && !met[number].is_empty();
            let possible: Vec<Option<Row>> = met[number].iter().map(|wide| allowed(wide, row)).collect();
            let is_changed = is_met && possible.contains(&found);
            changed += usize::from(is_changed && (found != Some(*row) || case.top.is_none()));
            let is_kept = found == Some(*row) && (!is_met || case.top.is_some());
            assert!(
                is_changed || is_kept,
                "{} row {row:?} is {found:?}: {text}\n{:?}",
                TABLES[table],
                case.model.tables
            );
        }
        assert!(after[table].len() <= rows.len(), "rows appeared: {text}");
    }
    let expected = met.iter().filter(|rows| !rows.is_empty()).count();
    let expected = case.top.map_or(expected, |top| expected.min(top));
    assert_eq!(count[0][0], Some(expected as i64), "@@rowcount: {text}");
    if case.top.is_none() {
        assert_eq!(changed, expected, "{text}");
    }
}

fn prepared_session() -> Session {
    let instance = instance();
    let mut session = session(&instance);
    let columns = "(id int not null, a int, b int)";
    let keyed = "(id int not null primary key, a int, b int)";
    let script = format!(
        "create table t {keyed} create index by_a on t (a) create table u {keyed} create table h {columns} create table #p {columns}"
    );
    assert!(run(&mut session, &script).errors.is_empty());
    session
}

#[test]
fn every_shape_of_from_changes_the_rows_that_the_model_says() {
    let mut session = prepared_session();
    let mut random = Random(0x5EED_0010);
    let (mut ambiguous, mut separate, mut third) = (0, 0, 0);
    let depth = workbench::depth("shapes of FROM that change rows", STATEMENTS, STATEMENTS_DEEP);
    for number in 0..depth.units {
        let case = loop {
            if let Some(case) = random_case(&mut random) {
                break case;
            }
        };
        let (target, met) = match case.meant {
            Meant::Ambiguous => (0, Vec::new()),
            _ => case.met(),
        };
        // The new value comes from the target or from any other source: the target may meet several of its rows.
        let source = if random.one_in(2) {
            target
        } else {
            random.below(case.model.sources.len())
        };
        let value = Column(source, random.below(3));
        let statement = case.statement((number % 2 == 1).then_some(value));
        let answers = run(&mut session, &case.batch(&statement));
        if matches!(case.meant, Meant::Ambiguous) {
            assert_eq!(answers.errors.first(), Some(&(8154, 15)), "{statement}");
            run(&mut session, "if @@trancount > 0 rollback");
            ambiguous += 1;
            continue;
        }
        separate += usize::from(matches!(case.meant, Meant::Separate(_)));
        third += usize::from(target == 2 && case.model.sources.len() == 4 && met.iter().any(|rows| !rows.is_empty()));
        check(&case, &answers, &statement, (number % 2 == 1).then_some(value));
    }
    assert!(
        ambiguous > 5 && separate > 30 && third > 8,
        "{ambiguous} {separate} {third}"
    );
    depth.count();
}

/// The rows of the walk.
const WALKED_ROWS: [[Row; 3]; 5] = [
    [
        [Some(0), Some(1), Some(0)],
        [Some(1), Some(2), None],
        [Some(2), None, Some(1)],
    ],
    [
        [Some(0), Some(1), Some(1)],
        [Some(1), Some(0), Some(2)],
        [Some(2), Some(2), Some(0)],
    ],
    [
        [Some(0), Some(2), Some(1)],
        [Some(1), Some(1), Some(0)],
        [Some(2), Some(0), None],
    ],
    [
        [Some(0), None, Some(2)],
        [Some(1), Some(1), Some(1)],
        [Some(2), Some(2), Some(0)],
    ],
    [
        [Some(0), Some(0), Some(1)],
        [Some(1), Some(1), Some(2)],
        [Some(2), Some(1), Some(0)],
    ],
];

/// What may stand between two sources.
const KINDS: [&str; 6] = ["inner join", "left join", "right join", "full join", "cross join", ","];
const SOURCES_MAX: usize = 5;

/// What stands behind the target's table in FROM.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Alias {
    None,
    Own,
    /// The name of another table, which may stand beside it.
    OtherTable,
}

/// What the statement says for its target.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Called {
    Alias,
    Table,
    SchemaAndTable,
}

/// How the target stands in FROM, what it is called, and whether its table stands there once more: with an alias, without, or not.
struct Role(Alias, Called, Option<Alias>);

const ROLES: [Role; 13] = [
    Role(Alias::Own, Called::Alias, None),
    Role(Alias::Own, Called::Table, None),
    Role(Alias::Own, Called::SchemaAndTable, None),
    Role(Alias::None, Called::Table, None),
    Role(Alias::None, Called::SchemaAndTable, None),
    Role(Alias::OtherTable, Called::Alias, None),
    Role(Alias::Own, Called::Alias, Some(Alias::Own)),
    Role(Alias::Own, Called::Alias, Some(Alias::None)),
    // The one without an alias is meant.
    Role(Alias::Own, Called::Table, Some(Alias::None)),
    Role(Alias::None, Called::Table, Some(Alias::Own)),
    Role(Alias::None, Called::SchemaAndTable, Some(Alias::Own)),
    // Ambiguous.
    Role(Alias::Own, Called::Table, Some(Alias::Own)),
    Role(Alias::Own, Called::SchemaAndTable, Some(Alias::Own)),
];

/// A combination of the walk.
struct Form {
    is_update: bool,
    /// The target's place among the sources.
    place: usize,
    /// The place of its table's second occurrence, where the role has one.
    twin: usize,
    role: &'static Role,
    /// What stands before each source but the first.
    kinds: Vec<usize>,
}

/// All lists of kinds before `count` sources; before five sources, those in which two kinds at most are not inner joins.
fn lists_of_kinds(count: usize) -> Vec<Vec<usize>> {
    let mut lists = vec![Vec::new()];
    for _ in 1..count {
        let longer = lists
            .iter()
            .flat_map(|list: &Vec<usize>| (0..KINDS.len()).map(|kind| list.iter().copied().chain([kind]).collect()));
        lists = longer.collect();
    }
    lists.retain(|list| count < SOURCES_MAX || list.iter().filter(|&&kind| kind > 0).count() <= 2);
    lists
}

/// Both statements; one to five sources; the target at each place; each role; all lists of kinds; and where joins are all of one
/// kind, the second occurrence of the target's table at each other place, too (else after the target, or first).
fn walked_forms() -> Vec<Form> {
    let mut forms = Vec::new();
    for count in 1..=SOURCES_MAX {
        for kinds in lists_of_kinds(count) {
            let is_of_one_kind = kinds.iter().all(|kind| *kind == kinds[0]);
            for (place, role) in (0..count).flat_map(|place| ROLES.iter().map(move |role| (place, role))) {
                let others = (1..count).map(|distance| (place + distance) % count);
                let twins: Vec<usize> = match role.2 {
                    None => vec![place],
                    Some(_) => others.take(if is_of_one_kind { count } else { 1 }).collect(),
                };
                for (twin, is_update) in twins.iter().flat_map(|&twin| [(twin, false), (twin, true)]) {
                    let kinds = kinds.clone();
                    forms.push(Form {
                        is_update,
                        place,
                        twin,
                        role,
                        kinds,
                    });
                }
            }
        }
    }
    forms
}

impl Form {
    /// The sources: the tables in turns, from a drawn one on; others with an alias or without, as drawn.
    fn sources(&self, random: &mut Random) -> Vec<Source> {
        let Role(alias, called, twin) = *self.role;
        let is_stored = called == Called::SchemaAndTable;
        // A temporary table's schema is not dbo, and a variable has none.
        let own = random.below(if is_stored { 3 } else { TABLES.len() });
        let taken = (alias == Alias::OtherTable).then(|| (own + 1 + random.below(2)) % 3);
        let taken = taken.map(|table| if table == own { (table + 1) % 3 } else { table });
        let count = self.kinds.len() + 1;
        let source = |place: usize| {
            let is_twin = twin.is_some() && place == self.twin;
            let table = match is_twin {
                true => own,
                false => (own + TABLES.len() + place - self.place) % TABLES.len(),
            };
            let alias = match (place == self.place, is_twin) {
                (true, _) => alias,
                (_, true) => twin.unwrap(),
                _ if Some(table) == taken || random.one_in(2) => Alias::Own,
                _ => Alias::None,
            };
            let alias = match alias {
                Alias::None => None,
                Alias::Own => Some(format!("s{place}")),
                Alias::OtherTable => taken.map(|table| TABLES[table].to_owned()),
            };
            Source {
                table,
                alias,
                derived: None,
            }
        };
        (0..count).map(source).collect()
    }

    /// Each source is joined to the one before it, on columns that are drawn.
    fn trees(&self, random: &mut Random) -> Vec<Tree> {
        let mut trees = vec![Tree::Source(0)];
        for (place, &kind) in (1..).zip(&self.kinds) {
            let kind = KINDS[kind];
            if kind == "," {
                trees.push(Tree::Source(place));
                continue;
            }
            let mut column = || [1, 1, 0, 2][random.below(4)];
            let equal = Comparison {
                left: Column(place, column()),
                operator: "=",
                right: Ok(Column(place - 1, column())),
            };
            let on = (kind != "cross join").then(|| Condition {
                parts: vec![equal],
                any: false,
            });
            let left = trees.pop().unwrap();
            trees.push(Tree::Join(Box::new(left), kind, Box::new(Tree::Source(place)), on));
        }
        trees
    }

    fn case(&self, random: &mut Random) -> Case {
        let sources = self.sources(random);
        let trees = self.trees(random);
        let own = &sources[self.place];
        let target = match self.role.1 {
            Called::Alias => own.exposed().to_owned(),
            Called::Table => TABLES[own.table].to_owned(),
            Called::SchemaAndTable => format!("dbo.{}", TABLES[own.table]),
        };
        let meant = resolve(&sources, &target).unwrap();
        let places: Vec<usize> = (0..sources.len()).collect();
        let selection = (!random.one_in(3)).then(|| random_condition(random, &places));
        let model = Model {
            tables: WALKED_ROWS.map(|rows| rows.to_vec()),
            sources,
            is_bracketed: false,
        };
        let top = None;
        Case {
            model,
            trees,
            target,
            meant,
            selection,
            top,
        }
    }
}

#[test]
fn every_form_that_names_a_target_changes_the_rows_that_the_model_says() {
    let mut session = prepared_session();
    for (table, rows) in TABLES.iter().zip(&WALKED_ROWS).take(4) {
        assert_eq!(run(&mut session, &insertion(table, rows)).errors, []);
    }
    let begin = format!(
        "set nocount on begin tran {VARIABLE}{}",
        insertion("@v", &WALKED_ROWS[4])
    );
    let mut random = Random(0x5EED_0011);
    let (mut ambiguous, mut of_rows) = (0, 0);
    let forms = walked_forms();
    let sample = workbench::sample("forms that name a target", 17);
    for form in forms.iter().step_by(sample.one_in) {
        let case = form.case(&mut random);
        let source = if random.one_in(2) {
            form.place
        } else {
            random.below(case.model.sources.len())
        };
        let value = form.is_update.then(|| Column(source, random.below(3)));
        let statement = case.statement(value);
        let answers = run(&mut session, &(begin.clone() + &case.judged(&statement)));
        if matches!(case.meant, Meant::Ambiguous) {
            assert_eq!(answers.errors.first(), Some(&(8154, 15)), "{statement}");
            run(&mut session, "if @@trancount > 0 rollback");
            ambiguous += 1;
            continue;
        }
        check(&case, &answers, &statement, value);
        of_rows += usize::from(answers.sets[0][0][0] > Some(0));
    }
    println!(
        "{} forms, {ambiguous} of them ambiguous, {of_rows} changed rows",
        forms.len()
    );
    assert_eq!(forms.len(), 48_960);
    assert!(ambiguous * sample.one_in > 7_000, "{ambiguous}");
    assert!(sample.one_in > 1 || ambiguous == 7_680, "{ambiguous}");
    assert!(of_rows * sample.one_in > 28_000, "{of_rows}");
    sample.count(forms.len() as u64);
}

/// Statements that name no target, or a wrong one, and the number and severity of what is said.
const REFUSED: [(&str, (i32, u8)); 26] = [
    // The table stands there several times, each time with an alias.
    ("delete t from t a, t b", (8154, 15)),
    ("update dbo.t set b = 1 from t a join t b on a.id = b.id", (8154, 15)),
    (
        "delete t from u left join (t a cross join t b) on u.id = a.id",
        (8154, 15),
    ),
    ("delete #p from #p a full join #p b on a.id = b.id", (8154, 15)),
    ("delete @v from @v a, @v b", (8154, 15)),
    // There is nothing of that name.
    ("delete x from t a", (208, 16)),
    ("update x set b = 1 from t a, u", (208, 16)),
    ("delete dbo.a from t a", (208, 16)),
    ("delete #x from t a", (208, 16)),
    ("update nowhere.t set b = 1 from t", (208, 16)),
    ("delete @w from t", (1087, 15)),
    // Two sources go by one name.
    ("delete t from t, t", (1013, 16)),
    ("delete t from t join dbo.t on 1 = 1", (1013, 16)),
    ("delete a from t a, u a", (1011, 16)),
    ("delete t from t, u t", (1012, 16)),
    // An alias hides the table's name.
    ("delete t from t a where t.id = 1", (4104, 16)),
    ("update t set b = t.a from t a", (4104, 16)),
    // Columns of other sources, columns that do not exist, the same one twice.
    ("update a set x.b = 1 from t a join u x on a.id = x.id", (4104, 16)),
    ("update t set nowhere = 1 from t a", (207, 16)),
    ("update a set b = 1, b = 2 from t a", (264, 16)),
    ("delete a from t a join u on a.id = nowhere", (207, 16)),
    // Sources without stored rows.
    ("delete d from t, (values (1)) d (id)", (4406, 16)),
    ("update d set n = 1 from t, (select count(*) as n from u) d", (4418, 16)),
    // An alias stands in FROM only.
    ("delete from t a where a.id = 1", (102, 15)),
    ("update t a set b = 1", (102, 15)),
    ("delete a, x from t a, u x", (102, 15)),
];

#[test]
fn what_names_no_target_is_refused_by_number_and_changes_nothing() {
    let mut session = prepared_session();
    let mut wrong = Vec::new();
    for (statement, expected) in REFUSED {
        let begin =
            format!("set nocount on {VARIABLE}insert @v values (0, 0, 0) delete t delete u delete h delete #p ");
        let filled =
            "insert t values (1, 1, 1) insert u values (1, 1, 1) insert h values (1, 1, 1) insert #p values (1, 1, 1)";
        assert_eq!(run(&mut session, &format!("{begin}{filled}")).errors, []);
        let answers = run(&mut session, &format!("{VARIABLE}{statement}"));
        let left = "select count(*), sum(b) from (select b from t union all select b from u union all select b from h \
                    union all select b from #p) x";
        let left = run(&mut session, left).sets;
        if answers.errors != [expected] || left != [[[Some(4), Some(4)]]] {
            wrong.push(format!(
                "{statement}: {:?} for {expected:?}, left {left:?}",
                answers.errors
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
