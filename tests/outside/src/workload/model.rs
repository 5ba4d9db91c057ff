//! Tables of one client in one database: a model of their rows, and statements that change model and table alike.
//!
//! A row is `id`, `value` and a filler of one repeated letter, so that its whole content is known by four small numbers and
//! the server can say by itself whether a filler is whole.

use super::dressing::Dressing;
use crate::random::Random;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Rows of one INSERT ... VALUES.
const INSERTED_MAX: u64 = 40;
/// Rows of one UPDATE, and of one DELETE.
const UPDATED_MAX: u64 = 30;
const DELETED_MAX: u64 = 60;
/// Rows of one MERGE that are there, and that are not.
const MERGED_MAX: u64 = 12;
/// A table of more rows is truncated or thinned out rather than filled.
const ROWS_MAX: usize = 300;
/// A copy takes rows whose keys are at most this far apart, so that keys grow by steps and not by doublings.
const COPIED_KEYS: i32 = 1_000;
const TABLES_MAX: usize = 3;
const FILLER_MAX: u64 = 2_400;
/// The longest filler that fits into a row with its other columns.
const FILLER_MAX_WIDE: u64 = 7_000;
/// The longest filler of a `max` column: some lie in the row, some in a page beside it, some in a tree of pages.
const FILLER_MAX_LARGE: u64 = 200_000;

/// One row but for its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// Column `value`.
    pub value: i32,
    /// The letter of the filler.
    pub letter: char,
    pub length: u32,
}

/// How a table is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// No index.
    Heap,
    /// Clustered primary key on `id`.
    Clustered,
    /// Heap with a nonclustered primary key on `id`.
    NonclusteredKey,
    /// Clustered on an identity column before the others.
    Identity,
}

/// A column added to a table that had rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extra {
    /// What every row has in it; `None` is NULL.
    pub value: Option<i32>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// How it is stored.
    pub shape: Shape,
    /// Its rows by `id`.
    pub rows: BTreeMap<i32, Row>,
    /// Whether it has the nonclustered index on `value`.
    pub value_index: bool,
    /// Whether it was clustered on `id` later.
    pub clustered_later: bool,
    /// The column `extra`, if it has one.
    pub extra: Option<Extra>,
    /// Whether its filler is varchar(max).
    pub has_large_values: bool,
    pub dressing: Dressing,
}

impl Table {
    fn new(shape: Shape, dressing: Dressing, has_large_values: bool) -> Table {
        Table {
            shape,
            dressing,
            has_large_values,
            rows: BTreeMap::new(),
            value_index: false,
            clustered_later: false,
            extra: None,
        }
    }

    /// How many columns it has.
    pub fn column_count(&self) -> usize {
        let own = usize::from(self.shape == Shape::Identity) + usize::from(self.extra.is_some());
        3 + own + self.dressing.column_count()
    }

    /// How many indexes it has, a heap not counted.
    pub fn index_count(&self) -> usize {
        let own = usize::from(self.shape != Shape::Heap) + usize::from(self.clustered_later);
        own + usize::from(self.value_index) + self.dressing.index_count()
    }
}

/// The tables of one client in one database by name.
pub type Tables = BTreeMap<String, Table>;

/// Makes statements for one client. Keys and names are never used twice, so that a stale row is known by its key.
#[derive(Debug, Clone)]
pub struct Author {
    client: usize,
    next_table: u32,
    next_key: i32,
}

fn rows_text(rows: &[(i32, Row)]) -> String {
    let mut text = String::new();
    for (index, (id, row)) in rows.iter().enumerate() {
        let separator = if index == 0 { "" } else { ", " };
        // Writing into a string does not fail.
        let _ = write!(text, "{separator}({id}, {}, {})", row.value, filler_text(row));
    }
    text
}

/// The filler as an expression.
fn filler_text(row: &Row) -> String {
    let Row { letter, length, .. } = row;
    if u64::from(*length) <= FILLER_MAX_WIDE {
        return format!("replicate('{letter}', {length})");
    }
    format!("replicate(cast('{letter}' as varchar(max)), {length})")
}

fn draw_row(random: &mut Random, has_large_values: bool) -> Row {
    let max = match random.below(100) {
        0..=4 => FILLER_MAX_WIDE,
        5..=14 if has_large_values => FILLER_MAX_LARGE,
        _ => FILLER_MAX,
    };
    Row {
        value: random.below(50) as i32,
        letter: char::from(b'a' + random.below(26) as u8),
        length: random.of_any_magnitude(max) as u32,
    }
}

fn draw_table<'a>(tables: &'a mut Tables, random: &mut Random) -> Option<(&'a str, &'a mut Table)> {
    let index = random.below(tables.len().max(1) as u64) as usize;
    tables.iter_mut().nth(index).map(|(name, table)| (name.as_str(), table))
}

impl Author {
    /// An author for the client of that number.
    pub fn new(client: usize) -> Author {
        Author {
            client,
            next_table: 1,
            next_key: 1,
        }
    }

    fn new_table_name(&mut self) -> String {
        let number = self.next_table;
        self.next_table += 1;
        format!("c{}_{number}", self.client)
    }

    /// One statement, and what it does to the tables.
    pub fn statement(&mut self, tables: &mut Tables, random: &mut Random) -> String {
        if tables.is_empty() {
            return self.create_table(tables, random);
        }
        match random.below(100) {
            0..=7 if tables.len() < TABLES_MAX => self.create_table(tables, random),
            8..=11 if tables.len() < TABLES_MAX => self.select_into(tables, random),
            12..=14 => drop_table(tables, random),
            15..=18 => change_structure(tables, random),
            19..=22 => truncate(tables, random),
            23..=34 => self.insert_select(tables, random),
            35..=44 => self.merge(tables, random),
            45..=59 => update(tables, random, UPDATED_MAX),
            60..=74 => delete(tables, random, DELETED_MAX),
            _ => self.insert(tables, random, INSERTED_MAX),
        }
    }

    /// A statement that changes a row or two.
    pub fn small_statement(&mut self, tables: &mut Tables, random: &mut Random) -> String {
        match random.below(5) {
            0 => delete(tables, random, 2),
            1 | 2 => update(tables, random, 2),
            _ => self.insert(tables, random, 2),
        }
    }

    fn create_table(&mut self, tables: &mut Tables, random: &mut Random) -> String {
        let name = self.new_table_name();
        let shapes = [Shape::Heap, Shape::Clustered, Shape::NonclusteredKey, Shape::Identity];
        let shape = *random.choose(&shapes);
        let has_large_values = random.percent(20);
        let filler = if has_large_values { "max" } else { "8000" };
        let mut dressing = *random.choose(&Dressing::ALL);
        // Partitions are those of the key.
        if dressing == Dressing::Partitioned && shape != Shape::Clustered {
            dressing = Dressing::Plain;
        }
        let own = dressing.columns(&name);
        let columns = format!("value int not null, filler varchar({filler}) not null{own}");
        tables.insert(name.clone(), Table::new(shape, dressing, has_large_values));
        let create = match shape {
            Shape::Heap => format!("create table {name} (id int not null, {columns})"),
            Shape::Clustered => format!("create table {name} (id int not null primary key, {columns})"),
            Shape::NonclusteredKey => {
                format!("create table {name} (id int not null primary key nonclustered, {columns})")
            }
            Shape::Identity => {
                format!("create table {name} (row int identity(1, 1) not null primary key, id int not null, {columns})")
            }
        };
        let (before, place, after) = (dressing.before(&name), dressing.place(&name), dressing.after(&name));
        format!("{before}{create}{place}{after}")
    }

    fn insert(&mut self, tables: &mut Tables, random: &mut Random, rows_max: u64) -> String {
        let Some((name, table)) = draw_table(tables, random) else {
            return self.create_table(tables, random);
        };
        if table.rows.len() > ROWS_MAX {
            return truncate_one(name, table);
        }
        let count = random.of_any_magnitude(rows_max);
        let rows: Vec<(i32, Row)> = (0..count)
            .map(|_| {
                let key = self.next_key;
                self.next_key += 1;
                (key, draw_row(random, table.has_large_values))
            })
            .collect();
        table.rows.extend(rows.iter().copied());
        format!("insert {name} (id, value, filler) values {}", rows_text(&rows))
    }

    /// INSERT ... SELECT from one table into another or itself.
    fn insert_select(&mut self, tables: &mut Tables, random: &mut Random) -> String {
        let Some((source, table)) = draw_table(tables, random) else {
            return self.create_table(tables, random);
        };
        let source = source.to_string();
        let first = table.rows.keys().next().copied().unwrap_or(0);
        let last = first + COPIED_KEYS;
        let shift = self.next_key - first;
        self.next_key += COPIED_KEYS + 1;
        let copied = table.rows.range(first..=last);
        let copied: Vec<(i32, Row)> = copied.map(|(id, row)| (id + shift, *row)).collect();
        let Some((name, target)) = draw_table(tables, random) else {
            return String::new();
        };
        let too_long = |(_, row): &(i32, Row)| u64::from(row.length) > FILLER_MAX_WIDE;
        let do_not_fit = !target.has_large_values && copied.iter().any(too_long);
        if do_not_fit || target.rows.len() + copied.len() > 2 * ROWS_MAX {
            return truncate_one(name, target);
        }
        target.rows.extend(copied);
        format!(
            "insert {name} (id, value, filler) select id + {shift}, value, filler from {source} \
             where id between {first} and {last}"
        )
    }

    /// MERGE of new rows, of new values for some that are there, and sometimes of the end of those before them.
    fn merge(&mut self, tables: &mut Tables, random: &mut Random) -> String {
        let Some((name, table)) = draw_table(tables, random) else {
            return self.create_table(tables, random);
        };
        if table.rows.len() > ROWS_MAX {
            return truncate_one(name, table);
        }
        let (_, known) = draw_keys(table, random, MERGED_MAX);
        let first = known.first().copied().unwrap_or(0);
        let mut rows: Vec<(i32, Row)> = Vec::new();
        for key in known {
            rows.push((key, draw_row(random, table.has_large_values)));
        }
        for _ in 0..random.of_any_magnitude(MERGED_MAX) {
            rows.push((self.next_key, draw_row(random, table.has_large_values)));
            self.next_key += 1;
        }
        if rows.is_empty() {
            return truncate_one(name, table);
        }
        let mut ending = "";
        if random.percent(30) {
            table.rows.retain(|id, _| *id >= first);
            ending = "when not matched by source and t.id < @first then delete ";
        }
        table.rows.extend(rows.iter().copied());
        let ending = ending.replace("@first", &first.to_string());
        format!(
            "merge {name} as t using (values {}) as s (id, value, filler) on t.id = s.id \
             when matched then update set value = s.value, filler = s.filler \
             when not matched by target then insert (id, value, filler) values (s.id, s.value, s.filler) {ending};",
            rows_text(&rows)
        )
    }

    fn select_into(&mut self, tables: &mut Tables, random: &mut Random) -> String {
        let Some((source, table)) = draw_table(tables, random) else {
            return self.create_table(tables, random);
        };
        let source = source.to_string();
        let mut copy = Table::new(Shape::Heap, Dressing::Plain, table.has_large_values);
        copy.rows = table
            .rows
            .iter()
            .filter(|(id, _)| **id % 2 == 0)
            .map(|(id, row)| (*id, *row))
            .collect();
        let name = self.new_table_name();
        tables.insert(name.clone(), copy);
        format!("select id, value, filler into {name} from {source} where id % 2 = 0")
    }
}

fn drop_table(tables: &mut Tables, random: &mut Random) -> String {
    let Some((name, table)) = draw_table(tables, random) else {
        return String::new();
    };
    let (name, dressing) = (name.to_string(), table.dressing);
    tables.remove(&name);
    dressing.drop_table(&name)
}

fn truncate_one(name: &str, table: &mut Table) -> String {
    table.rows.clear();
    match table.dressing.may_be_truncated() {
        true => format!("truncate table {name}"),
        false => format!("delete {name}"),
    }
}

fn truncate(tables: &mut Tables, random: &mut Random) -> String {
    draw_table(tables, random).map_or_else(String::new, |(name, table)| truncate_one(name, table))
}

/// CREATE and DROP INDEX, ALTER TABLE ADD and DROP COLUMN, ALTER INDEX REBUILD.
fn change_structure(tables: &mut Tables, random: &mut Random) -> String {
    let Some((name, table)) = draw_table(tables, random) else {
        return String::new();
    };
    match random.below(4) {
        0 if table.shape == Shape::Heap => {
            table.clustered_later = !table.clustered_later;
            if table.clustered_later {
                format!("create clustered index by_id on {name} (id)")
            } else {
                format!("drop index by_id on {name}")
            }
        }
        1 => change_extra(name, table, random),
        2 if table.index_count() > 0 => format!("alter index all on {name} rebuild"),
        _ => {
            table.value_index = !table.value_index;
            if table.value_index {
                format!("create index by_value on {name} (value)")
            } else {
                format!("drop index by_value on {name}")
            }
        }
    }
}

fn change_extra(name: &str, table: &mut Table, random: &mut Random) -> String {
    match table.extra {
        Some(Extra { value: None }) => {
            table.extra = None;
            format!("alter table {name} drop column extra")
        }
        // A column with a default cannot be dropped before its constraint.
        Some(Extra { value: Some(_) }) => format!("alter table {name} rebuild"),
        None if random.percent(50) => {
            table.extra = Some(Extra { value: None });
            format!("alter table {name} add extra int null")
        }
        None => {
            let value = random.below(1_000) as i32;
            table.extra = Some(Extra { value: Some(value) });
            format!("alter table {name} add extra int not null default {value}")
        }
    }
}

/// Keys of a table from a drawn one on, at most `max`, as a condition and as a list.
fn draw_keys(table: &Table, random: &mut Random, max: u64) -> (String, Vec<i32>) {
    let skipped = random.below(table.rows.len().max(1) as u64) as usize;
    let count = random.of_any_magnitude(max) as usize;
    let keys: Vec<i32> = table.rows.keys().skip(skipped).take(count).copied().collect();
    let (first, last) = (keys.first().copied().unwrap_or(0), keys.last().copied().unwrap_or(0));
    (format!("id between {first} and {last}"), keys)
}

fn update(tables: &mut Tables, random: &mut Random, rows_max: u64) -> String {
    let Some((name, table)) = draw_table(tables, random) else {
        return String::new();
    };
    let (condition, keys) = draw_keys(table, random, rows_max);
    let drawn = draw_row(random, table.has_large_values);
    let keeps_length = random.percent(30);
    for key in keys {
        if let Some(row) = table.rows.get_mut(&key) {
            row.value += 1;
            if !keeps_length {
                (row.letter, row.length) = (drawn.letter, drawn.length);
            }
        }
    }
    if keeps_length {
        return format!("update {name} set value = value + 1 where {condition}");
    }
    let filler = filler_text(&drawn);
    format!("update {name} set value = value + 1, filler = {filler} where {condition}")
}

fn delete(tables: &mut Tables, random: &mut Random, rows_max: u64) -> String {
    let Some((name, table)) = draw_table(tables, random) else {
        return String::new();
    };
    let (condition, keys) = draw_keys(table, random, rows_max);
    for key in keys {
        table.rows.remove(&key);
    }
    format!("delete {name} where {condition}")
}

#[cfg(test)]
mod tests {
    use super::{Author, Tables};
    use crate::random::Random;
    use std::collections::BTreeSet;

    #[test]
    fn every_kind_of_statement_is_drawn() {
        let (mut author, mut tables, mut random) = (Author::new(1), Tables::new(), Random::new(7));
        let mut begins = BTreeSet::new();
        for _ in 0..3_000 {
            let statement = author.statement(&mut tables, &mut random);
            assert!(!statement.is_empty());
            let words: Vec<&str> = statement.split(' ').take(2).collect();
            begins.insert(words.join(" ").replace(char::is_numeric, ""));
            assert!(tables.len() <= super::TABLES_MAX);
        }
        for begin in [
            "create table",
            "select id,",
            "drop table",
            "truncate table",
            "create index",
            "drop index",
            "create clustered",
            "alter table",
            "alter index",
            "insert c_",
            "update c_",
            "delete c_",
            "merge c_",
            "create sequence",
            "create partition",
            "exec ('create",
            "drop view",
        ] {
            assert!(begins.contains(begin), "{begin} is not among {begins:?}");
        }
    }
}
