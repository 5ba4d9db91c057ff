//! Writes a statement in each of the three dialects.
//!
//! What one of them has no words for is said in others that mean the same: an UPDATE or DELETE with FROM becomes one by row
//! address (`ctid`, or the column `address` that tables have in SQLite) from a query, so that its joins are those of a SELECT; APPLY of a table becomes LATERAL or a join.

mod change;
mod document;
mod merge;
mod query;

use crate::ast::{
    Aggregate, AggregateFunction, ColumnName, Comparison, Condition, Expression, Function, Operator, Statement, Window,
    WindowFunction,
};
use crate::dialect::Dialect;
use crate::schema::{Kind, Schema};

/// What one judge is asked: statements that stand or fall together, the answer is that of the first.
pub type Script = Vec<String>;

/// Whether a dialect can say it at all.
pub fn is_sayable(statement: &Statement, dialect: Dialect) -> bool {
    dialect != Dialect::Sqlite || !format!("{statement:?}").contains("Quantified(") && !has_ties(statement)
}

/// Whether it has a TOP WITH TIES somewhere.
pub fn has_ties(statement: &Statement) -> bool {
    format!("{statement:?}").contains("ties: true")
}

pub fn script(schema: &Schema, dialect: Dialect, statement: &Statement) -> Script {
    let printer = Printer { schema, dialect };
    match statement {
        Statement::Query(query) => vec![printer.query(query)],
        Statement::Change(change, output) => printer.change(change, output),
    }
}

/// Writes in one dialect.
struct Printer<'a> {
    schema: &'a Schema,
    dialect: Dialect,
}

fn joined<T>(items: &[T], separator: &str, write: impl FnMut(&T) -> String) -> String {
    items.iter().map(write).collect::<Vec<_>>().join(separator)
}

fn not(negated: bool) -> &'static str {
    if negated { "not " } else { "" }
}

fn comparison_sign(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Equal => "=",
        Comparison::Different => "<>",
        Comparison::Less => "<",
        Comparison::LessOrEqual => "<=",
        Comparison::Greater => ">",
        Comparison::GreaterOrEqual => ">=",
    }
}

impl Printer<'_> {
    fn is(&self, dialect: Dialect) -> bool {
        self.dialect == dialect
    }

    /// The name a table without an alias goes by.
    fn qualifier(&self, source: &str) -> String {
        let table = self.schema.tables.iter().find(|table| table.name == source);
        table.map_or_else(|| source.to_owned(), |table| self.dialect.table_name(table))
    }

    fn column(&self, ColumnName { source, column }: &ColumnName) -> String {
        format!("{}.{column}", self.qualifier(source))
    }

    fn expression(&self, expression: &Expression) -> String {
        match expression {
            Expression::Literal(kind, cell) => self.dialect.literal(*kind, cell.as_deref()),
            Expression::Column(name) => self.column(name),
            Expression::Negative(inner) => format!("(-{})", self.expression(inner)),
            Expression::Binary(operator, left, right) => {
                let sign = match operator {
                    Operator::Add => "+",
                    Operator::Subtract => "-",
                    Operator::Multiply => "*",
                    Operator::Divide => "/",
                    Operator::Remainder => "%",
                    Operator::Concatenate if self.is(Dialect::TransactSql) => "+",
                    Operator::Concatenate => "||",
                };
                format!("({} {sign} {})", self.expression(left), self.expression(right))
            }
            Expression::Call(function, arguments) => self.call(*function, arguments),
            Expression::Case(branches, otherwise) => {
                let branches = joined(branches, " ", |(condition, value)| {
                    format!("when {} then {}", self.condition(condition), self.expression(value))
                });
                let otherwise = otherwise
                    .as_ref()
                    .map_or(String::new(), |value| format!(" else {}", self.expression(value)));
                format!("case {branches}{otherwise} end")
            }
            Expression::Iif(parts) => {
                let (condition, yes, no) = (
                    self.condition(&parts.0),
                    self.expression(&parts.1),
                    self.expression(&parts.2),
                );
                if self.is(Dialect::TransactSql) {
                    format!("iif({condition}, {yes}, {no})")
                } else {
                    format!("case when {condition} then {yes} else {no} end")
                }
            }
            Expression::Aggregate(aggregate) => self.averaged(aggregate, &self.aggregate(aggregate)),
            Expression::Window(window) => self.window(window),
            Expression::Scalar(query) => format!("({})", self.query(query)),
            Expression::ForJson(query) => self.for_json(query),
            Expression::NextValue(sequence, row) => {
                let sequence = &self.schema.sequences[*sequence];
                match self.dialect {
                    Dialect::TransactSql => format!("next value for {}", sequence.name),
                    Dialect::Sqlite => sequence.value_in_sqlite(*row),
                    Dialect::Postgres => format!("cast(nextval('{}') as int)", sequence.name),
                }
            }
        }
    }

    fn call(&self, function: Function, arguments: &[Expression]) -> String {
        let texts: Vec<String> = arguments.iter().map(|argument| self.expression(argument)).collect();
        let all = texts.join(", ");
        let text = |place: usize| texts[place].as_str();
        let own = self.is(Dialect::TransactSql);
        let is_sqlite = self.is(Dialect::Sqlite);
        match function {
            Function::Absolute => format!("abs({all})"),
            Function::Length if own => format!("len({all})"),
            Function::Length => format!("length({all})"),
            Function::Substring if is_sqlite => format!("substr({all})"),
            Function::Substring => format!("substring({all})"),
            Function::Left if is_sqlite => format!("substr({}, 1, {})", text(0), text(1)),
            Function::Left => format!("left({all})"),
            Function::Replace => format!("replace({all})"),
            Function::Position if own => format!("charindex({all})"),
            Function::Position if is_sqlite => format!("instr({}, {})", text(1), text(0)),
            Function::Position => format!("strpos({}, {})", text(1), text(0)),
            Function::Concat if is_sqlite => format!("(coalesce({}, '') || coalesce({}, ''))", text(0), text(1)),
            Function::Concat => format!("concat({all})"),
            Function::IsNull if own => format!("isnull({all})"),
            Function::Coalesce | Function::IsNull => format!("coalesce({all})"),
            Function::NullIf => format!("nullif({all})"),
            Function::ToText if own => format!("cast({all} as varchar(20))"),
            Function::ToText => format!("cast({all} as text)"),
            Function::AddDays if own => format!("dateadd(day, {}, {})", text(0), text(1)),
            Function::AddDays if is_sqlite => format!("date({}, {} || ' days')", text(1), text(0)),
            Function::AddDays => format!("({} + {})", text(1), text(0)),
            Function::DaysBetween if own => format!("datediff(day, {all})"),
            Function::DaysBetween if is_sqlite => {
                format!("cast(julianday({}) - julianday({}) as integer)", text(1), text(0))
            }
            Function::DaysBetween => format!("({} - {})", text(1), text(0)),
            Function::Day if own => format!("day({all})"),
            Function::Day if is_sqlite => format!("cast(strftime('%d', {all}) as integer)"),
            Function::Day => format!("cast(extract(day from {all}) as int)"),
            Function::JsonMember | Function::JsonNumber | Function::JsonModified => self.json_member(function, text(0)),
            Function::Month if own => format!("month({all})"),
            Function::Month if is_sqlite => format!("cast(strftime('%m', {all}) as integer)"),
            Function::Month => format!("cast(extract(month from {all}) as int)"),
        }
    }

    fn json_member(&self, function: Function, value: &str) -> String {
        let document = match (self.dialect, function) {
            (Dialect::TransactSql, Function::JsonModified) => format!("json_modify('{{\"k\":1}}', '$.k', {value})"),
            (Dialect::TransactSql, _) => format!("json_object('k': {value})"),
            (Dialect::Sqlite, Function::JsonModified) => format!("json_set('{{\"k\":1}}', '$.k', {value})"),
            (Dialect::Sqlite, _) => format!("json_object('k', {value})"),
            (Dialect::Postgres, Function::JsonModified) => {
                format!("jsonb_set('{{\"k\":1}}', '{{k}}', to_jsonb({value}))")
            }
            (Dialect::Postgres, _) => format!("json_build_object('k', {value})"),
        };
        let type_name = match function {
            Function::JsonMember => self.dialect.type_name(Kind::Text),
            _ => self.dialect.type_name(Kind::Integer),
        };
        match self.dialect {
            Dialect::TransactSql => format!("cast(json_value({document}, '$.k') as {type_name})"),
            Dialect::Sqlite => format!("json_extract({document}, '$.k')"),
            Dialect::Postgres => format!("cast({document} ->> 'k' as {type_name})"),
        }
    }

    fn aggregate(&self, aggregate: &Aggregate) -> String {
        let name = match aggregate.function {
            AggregateFunction::CountRows | AggregateFunction::Count => "count",
            AggregateFunction::Sum => "sum",
            AggregateFunction::Min => "min",
            AggregateFunction::Max => "max",
            AggregateFunction::Average => "avg",
        };
        let argument = aggregate
            .argument
            .as_ref()
            .map_or("*".to_owned(), |argument| self.expression(argument));
        let distinct = if aggregate.distinct { "distinct " } else { "" };
        format!("{name}({distinct}{argument})")
    }

    /// The average of integers is an integer in SQL Server, a fraction elsewhere.
    fn averaged(&self, aggregate: &Aggregate, text: &str) -> String {
        match (aggregate.function, self.dialect) {
            (AggregateFunction::Average, Dialect::Sqlite) => format!("cast({text} as integer)"),
            (AggregateFunction::Average, Dialect::Postgres) => format!("cast(trunc({text}) as int)"),
            // A sum of integers is a bigint or a decimal there.
            (AggregateFunction::Sum, Dialect::Postgres) if aggregate.kind == Kind::Integer => {
                format!("cast({text} as int)")
            }
            (AggregateFunction::Count | AggregateFunction::CountRows, Dialect::Postgres) => {
                format!("cast({text} as int)")
            }
            _ => text.to_owned(),
        }
    }

    fn window(&self, window: &Window) -> String {
        let function = match &window.function {
            WindowFunction::RowNumber => "row_number()".to_owned(),
            WindowFunction::Rank => "rank()".to_owned(),
            WindowFunction::DenseRank => "dense_rank()".to_owned(),
            WindowFunction::Tiles(count) => format!("ntile({count})"),
            WindowFunction::Aggregate(aggregate) => self.aggregate(aggregate),
            WindowFunction::Lag(value, count) => format!("lag({}, {count})", self.expression(value)),
            WindowFunction::Lead(value, count) => format!("lead({}, {count})", self.expression(value)),
            WindowFunction::FirstValue(value) => format!("first_value({})", self.expression(value)),
            WindowFunction::LastValue(value) => format!("last_value({})", self.expression(value)),
        };
        let text = match window.is_named {
            true => format!("{function} over w"),
            false => format!("{function} over ({})", self.window_parts(window)),
        };
        match &window.function {
            WindowFunction::Aggregate(aggregate) => self.averaged(aggregate, &text),
            WindowFunction::RowNumber | WindowFunction::Rank | WindowFunction::DenseRank
                if self.is(Dialect::Postgres) =>
            {
                format!("cast({text} as int)")
            }
            _ => text,
        }
    }

    /// What stands in the parentheses of OVER, or in WINDOW.
    fn window_parts(&self, window: &Window) -> String {
        let mut parts = Vec::new();
        if !window.partition.is_empty() {
            let keys = joined(&window.partition, ", ", |key| self.expression(key));
            parts.push(format!("partition by {keys}"));
        }
        if !window.order.is_empty() {
            let keys = joined(&window.order, ", ", |(key, descending)| {
                self.sort_key(&self.expression(key), *descending)
            });
            parts.push(format!("order by {keys}"));
        }
        parts.extend(window.frame.map(str::to_owned));
        parts.join(" ")
    }

    /// NULL comes first, as SQL Server and SQLite have it.
    fn sort_key(&self, key: &str, descending: bool) -> String {
        match (self.dialect, descending) {
            (Dialect::Postgres, true) => format!("{key} desc nulls last"),
            (Dialect::Postgres, false) => format!("{key} nulls first"),
            (_, true) => format!("{key} desc"),
            (_, false) => key.to_owned(),
        }
    }

    fn condition(&self, condition: &Condition) -> String {
        match condition {
            Condition::Compare(comparison, left, right) => format!(
                "{} {} {}",
                self.expression(left),
                comparison_sign(*comparison),
                self.expression(right)
            ),
            Condition::Distinct(negated, left, right) => {
                let (left, right) = (self.expression(left), self.expression(right));
                match (self.dialect, negated) {
                    (Dialect::Sqlite, true) => format!("{left} is {right}"),
                    (Dialect::Sqlite, false) => format!("{left} is not {right}"),
                    (_, negated) => format!("{left} is {}distinct from {right}", not(*negated)),
                }
            }
            Condition::Between(negated, value, low, high) => format!(
                "{} {}between {} and {}",
                self.expression(value),
                not(*negated),
                self.expression(low),
                self.expression(high)
            ),
            Condition::InList(negated, value, list) => {
                let list = joined(list, ", ", |item| self.expression(item));
                format!("{} {}in ({list})", self.expression(value), not(*negated))
            }
            Condition::InQuery(negated, value, query) => {
                format!("{} {}in ({})", self.expression(value), not(*negated), self.query(query))
            }
            Condition::Exists(negated, query) => format!("{}exists ({})", not(*negated), self.query(query)),
            Condition::Quantified(comparison, all, value, query) => format!(
                "{} {} {} ({})",
                self.expression(value),
                comparison_sign(*comparison),
                if *all { "all" } else { "any" },
                self.query(query)
            ),
            Condition::Like(negated, value, pattern) => {
                format!("{} {}like '{pattern}'", self.expression(value), not(*negated))
            }
            Condition::IsNull(negated, value) => format!("{} is {}null", self.expression(value), not(*negated)),
            Condition::And(parts) => joined(parts, " and ", |part| match part {
                Condition::Or(_) => format!("({})", self.condition(part)),
                _ => self.condition(part),
            }),
            Condition::Or(parts) => joined(parts, " or ", |part| self.condition(part)),
            Condition::Not(inner) => format!("not ({})", self.condition(inner)),
        }
    }
}
