//! The statements that make, fill and read the tables, in each dialect.

use super::{Column, Fallback, Filter, Formula, Kind, Row, Schema, Sequence, Storage, Table, Trigger, View};
use crate::dialect::Dialect;

impl Schema {
    /// The statements that make the tables and what belongs to them.
    pub fn create(&self, dialect: Dialect) -> Vec<String> {
        let mut all = self.create_sequences(dialect);
        for table in &self.tables {
            all.extend(table.create(dialect, &self.sequences));
        }
        for view in &self.views {
            all.extend(view.create(dialect, &self.tables[view.table]));
        }
        for table in &self.tables {
            if let Some(trigger) = &table.trigger {
                all.extend(trigger.create(dialect, table, &self.tables[trigger.log]));
            }
        }
        all
    }

    /// The statements that remove them, whether they are there or not.
    pub fn drop(&self, dialect: Dialect) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        all.extend(
            self.views
                .iter()
                .map(|view| format!("drop view if exists {}", view.name)),
        );
        all.extend(
            self.tables
                .iter()
                .map(|table| format!("drop table if exists {}", dialect.table_name(table))),
        );
        match dialect {
            Dialect::Sqlite => all.push("drop table if exists sequences".into()),
            _ => all.extend(
                self.sequences
                    .iter()
                    .map(|sequence| format!("drop sequence if exists {}", sequence.name)),
            ),
        }
        all
    }

    fn create_sequences(&self, dialect: Dialect) -> Vec<String> {
        if dialect == Dialect::Sqlite {
            let mut all = vec!["create table sequences (name text, used integer)".to_owned()];
            all.extend(
                self.sequences
                    .iter()
                    .map(|sequence| format!("insert into sequences values ('{}', 0)", sequence.name)),
            );
            return all;
        }
        let create = |sequence: &Sequence| {
            let Sequence {
                name,
                start,
                increment,
                min,
                max,
            } = sequence;
            format!(
                "create sequence {name} as int start with {start} increment by {increment} minvalue {min} maxvalue {max} cycle"
            )
        };
        self.sequences.iter().map(create).collect()
    }

    /// The statements that let all sequences begin again.
    pub fn restart(&self, dialect: Dialect) -> Vec<String> {
        match dialect {
            Dialect::Sqlite => vec!["update sequences set used = 0".into()],
            _ => self
                .sequences
                .iter()
                .map(|sequence| format!("alter sequence {} restart with {}", sequence.name, sequence.start))
                .collect(),
        }
    }
}

impl Sequence {
    /// What SQLite has in place of the value that a sequence gives to the row of that number in a statement.
    pub fn value_in_sqlite(&self, row: usize) -> String {
        let Sequence {
            name,
            start,
            increment,
            min,
            max,
        } = self;
        let first_round = (max - start) / increment + 1;
        let round = (max - min) / increment + 1;
        format!(
            "(select case when used + {row} < {first_round} then {start} + (used + {row}) * {increment} \
             else {min} + ((used + {row} - {first_round}) % {round}) * {increment} end from sequences where name = '{name}')"
        )
    }

    /// What SQLite does behind a statement that took so many values.
    pub fn advance_in_sqlite(&self, rows: usize) -> String {
        format!("update sequences set used = used + {rows} where name = '{}'", self.name)
    }
}

impl Formula {
    fn text(self, dialect: Dialect, columns: &[Column]) -> String {
        let name = |place: usize| columns[place].name.as_str();
        let is_own = dialect == Dialect::TransactSql;
        match self {
            Formula::Sum(x, y) => format!("{} + {}", name(x), name(y)),
            Formula::Absolute(x) => format!("abs({})", name(x)),
            Formula::Remainder(x) => format!("{} % 3", name(x)),
            Formula::OrElse(x) => format!("coalesce({}, -7)", name(x)),
            Formula::IsGreater(x, y) => format!("case when {} > {} then 1 else 0 end", name(x), name(y)),
            Formula::Length(x) if is_own => format!("len({})", name(x)),
            Formula::Length(x) => format!("length({})", name(x)),
            Formula::Suffixed(x) if is_own => format!("{} + 'z'", name(x)),
            Formula::Suffixed(x) => format!("{} || 'z'", name(x)),
        }
    }
}

impl Filter {
    /// The place of the column that it is about.
    pub fn column(&self) -> usize {
        match self {
            Filter::IsNotNull(column)
            | Filter::Equal(column, _)
            | Filter::Greater(column, _)
            | Filter::In(column, _) => *column,
        }
    }

    fn text(&self, dialect: Dialect, columns: &[Column]) -> String {
        let column = &columns[self.column()];
        let name = &column.name;
        let literal = |text: &String| dialect.literal(column.kind, Some(text));
        match self {
            Filter::IsNotNull(_) => format!("{name} is not null"),
            Filter::Equal(_, value) => format!("{name} = {}", literal(value)),
            Filter::Greater(_, value) => format!("{name} > {}", literal(value)),
            Filter::In(_, values) => {
                let values: Vec<String> = values.iter().map(literal).collect();
                format!("{name} in ({})", values.join(", "))
            }
        }
    }
}

impl View {
    /// What its columns hold.
    pub fn kinds(&self, schema: &Schema) -> Vec<Kind> {
        let key = schema.tables[self.table].columns[self.key].kind;
        vec![key, Kind::Integer, Kind::Integer]
    }

    fn create(&self, dialect: Dialect, table: &Table) -> Vec<String> {
        let name = &self.name;
        let (key, summed) = (&table.columns[self.key].name, &table.columns[self.summed].name);
        let table = &table.name;
        if dialect != Dialect::TransactSql {
            return vec![format!(
                "create view {name} as select {key} as k, count(*) as n, sum(coalesce({summed}, 0)) as s from {table} group by {key}"
            )];
        }
        vec![
            format!(
                "create view {name} with schemabinding as select {key} as k, count_big(*) as n, sum(isnull({summed}, 0)) as s \
                 from dbo.{table} group by {key}"
            ),
            format!("create unique clustered index i_{name} on {name} (k)"),
        ]
    }

    /// The query that reads all of it.
    pub fn read(&self, dialect: Dialect) -> String {
        let hint = match dialect {
            Dialect::TransactSql => " with (noexpand)",
            _ => "",
        };
        format!("select k, n, s from {}{hint}", self.name)
    }
}

const EVENTS: [&str; 3] = ["insert", "update", "delete"];

impl Trigger {
    fn create(&self, dialect: Dialect, table: &Table, log: &Table) -> Vec<String> {
        let name = &table.name;
        let noted = &table.columns[self.noted].name;
        let events: Vec<&str> = (0..3)
            .filter(|&event| self.events[event])
            .map(|event| EVENTS[event])
            .collect();
        let into = format!("insert into {} (id, a, b)", log.name);
        let refused = self
            .refused
            .map(|(column, value)| (table.columns[column].name.as_str(), value));
        match dialect {
            Dialect::TransactSql => {
                let refusal = refused.map_or(String::new(), |(column, value)| {
                    format!(
                        " if exists (select * from inserted where {column} = {value}) throw 50001, 'a trigger refuses it', 1;"
                    )
                });
                vec![format!(
                    "create trigger r_{name} on {name} after {} as begin set nocount on;{refusal} \
                     {into} select id, 'i', {noted} from inserted; {into} select id, 'd', {noted} from deleted; end",
                    events.join(", ")
                )]
            }
            Dialect::Sqlite => {
                let create = |event: &&str| {
                    let mut body = String::new();
                    if *event != "delete" {
                        if let Some((column, value)) = refused {
                            body +=
                                &format!("select raise(abort, 'a trigger refuses it') where new.{column} = {value}; ");
                        }
                        body += &format!("{into} values (new.id, 'i', new.{noted}); ");
                    }
                    if *event != "insert" {
                        body += &format!("{into} values (old.id, 'd', old.{noted}); ");
                    }
                    format!("create trigger r_{name}_{event} after {event} on {name} begin {body}end")
                };
                events.iter().map(create).collect()
            }
            Dialect::Postgres => {
                let refusal = refused.map_or(String::new(), |(column, value)| {
                    format!(
                        "if new.{column} = {value} then raise exception 'a trigger refuses it' using errcode = '23514'; end if; "
                    )
                });
                vec![
                    format!(
                        "create or replace function r_{name}() returns trigger language plpgsql as $$ begin \
                         if tg_op <> 'DELETE' then {refusal}{into} values (new.id, 'i', new.{noted}); end if; \
                         if tg_op <> 'INSERT' then {into} values (old.id, 'd', old.{noted}); end if; return null; end $$"
                    ),
                    format!(
                        "create trigger r_{name} after {} on {name} for each row execute function r_{name}()",
                        events.join(" or ")
                    ),
                ]
            }
        }
    }
}

impl Table {
    fn column_text(&self, column: &Column, dialect: Dialect, sequences: &[Sequence]) -> String {
        let name = &column.name;
        let type_name = dialect.type_name(column.kind);
        if let Some((formula, persisted)) = column.computed {
            let formula = formula.text(dialect, &self.columns);
            return match dialect {
                Dialect::TransactSql => format!("{name} as ({formula}){}", if persisted { " persisted" } else { "" }),
                Dialect::Sqlite => format!(
                    "{name} {type_name} generated always as ({formula}) {}",
                    if persisted { "stored" } else { "virtual" }
                ),
                Dialect::Postgres => format!("{name} {type_name} generated always as ({formula}) stored"),
            };
        }
        let null = if column.nullable { "null" } else { "not null" };
        let fallback = match &column.fallback {
            Fallback::Null => String::new(),
            Fallback::Constant(value) => format!(" default {}", dialect.literal(column.kind, Some(value))),
            Fallback::Sequence(place) => match dialect {
                Dialect::TransactSql => format!(" default (next value for {})", sequences[*place].name),
                // The statements say it.
                Dialect::Sqlite => String::new(),
                Dialect::Postgres => format!(" default nextval('{}')", sequences[*place].name),
            },
        };
        // A default that is a call needs parentheses there.
        let fallback = match dialect {
            Dialect::Sqlite if !fallback.is_empty() => format!(" default ({})", &fallback[" default ".len()..]),
            _ => fallback,
        };
        format!("{name} {type_name} {null}{fallback}")
    }

    fn create(&self, dialect: Dialect, sequences: &[Sequence]) -> Vec<String> {
        let name = dialect.table_name(self);
        let columns = self.columns.iter();
        let mut parts: Vec<String> = columns
            .map(|column| self.column_text(column, dialect, sequences))
            .collect();
        let mut more = Vec::new();
        match dialect {
            Dialect::TransactSql => {
                match self.storage {
                    Storage::Clustered => parts.push("primary key (id)".into()),
                    Storage::Nonclustered => parts.push("primary key nonclustered (id)".into()),
                    Storage::Heap => {}
                    Storage::ClusteredByOther => more.push(format!("create clustered index i_clustered on {name} (a)")),
                }
                if let Some(unique) = self.unique {
                    let column = &self.columns[unique].name;
                    let filter = match self.unique_is_filtered {
                        true => format!(" where {column} is not null"),
                        false => String::new(),
                    };
                    more.push(format!("create unique index i_unique on {name} ({column}){filter}"));
                }
            }
            // Judged at the end of the statement, as SQL Server does.
            Dialect::Postgres => {
                for place in (0..self.columns.len()).filter(|&place| self.is_unique(place)) {
                    let column = &self.columns[place].name;
                    let nulls = match self.tells_nulls_apart(place) {
                        true => "",
                        false => " nulls not distinct",
                    };
                    parts.push(format!("unique{nulls} ({column}) deferrable initially immediate"));
                }
            }
            Dialect::Sqlite => {
                // Its rowid under a name that survives joins in parentheses.
                parts.insert(0, "address integer primary key".into());
                for place in (0..self.columns.len()).filter(|&place| self.is_unique(place)) {
                    let column = &self.columns[place].name;
                    let key = match self.tells_nulls_apart(place) {
                        true => column.clone(),
                        false => format!("coalesce({column}, -999)"),
                    };
                    more.push(format!("create unique index u_{name}_{column} on {name} ({key})"));
                }
            }
        }
        let mut all = vec![format!("create table {name} ({})", parts.join(", "))];
        all.extend(more);
        all.extend(self.create_indexes(dialect));
        all
    }

    fn create_indexes(&self, dialect: Dialect) -> Vec<String> {
        let name = dialect.table_name(self);
        let create = |(number, index): (usize, &super::Index)| {
            let columns: Vec<&str> = index
                .columns
                .iter()
                .map(|&place| self.columns[place].name.as_str())
                .collect();
            let filter = index.filter.as_ref().map_or(String::new(), |filter| {
                format!(" where {}", filter.text(dialect, &self.columns))
            });
            let index_name = match dialect {
                Dialect::TransactSql => format!("i{number}"),
                // Names are those of the whole database there.
                _ => format!("i{number}_{}", self.name),
            };
            format!("create index {index_name} on {name} ({}){filter}", columns.join(", "))
        };
        self.indexes.iter().enumerate().map(create).collect()
    }

    /// The statements that leave exactly `rows` in the table.
    pub fn fill(&self, dialect: Dialect, rows: &[Row]) -> Vec<String> {
        let name = dialect.table_name(self);
        let mut all = vec![format!("delete from {name}")];
        if !rows.is_empty() {
            let row_text = |row: &Row| {
                let cells: Vec<String> = self
                    .written()
                    .map(|place| dialect.literal(self.columns[place].kind, row[place].as_deref()))
                    .collect();
                format!("({})", cells.join(", "))
            };
            let rows: Vec<String> = rows.iter().map(row_text).collect();
            let columns: Vec<&str> = self.written().map(|place| self.columns[place].name.as_str()).collect();
            all.push(format!(
                "insert into {name} ({}) values {}",
                columns.join(", "),
                rows.join(", ")
            ));
        }
        all
    }

    /// The query that reads all of it.
    pub fn read(&self, dialect: Dialect) -> String {
        let names: Vec<&str> = self.columns.iter().map(|column| column.name.as_str()).collect();
        format!("select {} from {}", names.join(", "), dialect.table_name(self))
    }
}
