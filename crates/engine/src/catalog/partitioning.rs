//! Partition functions and schemes, and how a table is partitioned by them.
//!
//! ```text
//! function   boundaries b1 < b2 < ... bn of one type      partitions 1 .. n+1
//!            RANGE LEFT   partition of x: how many boundaries are below x, plus 1
//!            RANGE RIGHT  partition of x: how many boundaries are not above x, plus 1
//! scheme     the filegroup of each partition of a function, and the one that the next partition gets
//! table      column and boundaries, copied from its function; for each partition a heap or clustered tree, and a tree of each index
//! ```
//! NULL is below every value. A table carries the boundaries itself, so that its definition alone says where a row is: SPLIT and MERGE change
//! the definitions of all tables of the function in one transaction, and plans made from the former definitions are not used any more.
//!
//! The roots of the first partition are where those of a table that is not partitioned are; the others follow in `other_partitions`.

use super::definition::{StoredType, collation_of, stored_collation, stored_type, type_of};
use super::{IndexDefinition, ObjectDefinition, StorageRoot, TableDefinition};
use crate::error::{Error, Result};
use crate::types::{Collation, KeyDirection, RowLayout, SqlType, Value, encode_stored_key_part};
use serde::{Deserialize, Serialize};

/// The most partitions of a function (sql-docs, "Partitioned tables and indexes").
pub const PARTITIONS_MAX: usize = 15_000;
/// `function_id` of the first partition function of a database.
pub const PARTITION_FUNCTION_ID_FIRST: u32 = 65_536;
/// `data_space_id` of the first partition scheme of a database: above all filegroups.
pub const PARTITION_SCHEME_ID_FIRST: u32 = 65_601;

/// CREATE PARTITION FUNCTION.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(into = "StoredFunction", try_from = "StoredFunction")]
pub struct PartitionFunction {
    /// The catalog row's id.
    pub object_id: u32,
    /// `function_id`
    pub function_id: u32,
    /// As declared; unique among the partition functions of the database.
    pub name: String,
    /// The type of its parameter.
    pub sql_type: SqlType,
    /// What strings are compared by.
    pub collation: Collation,
    /// RANGE RIGHT: a boundary belongs to the partition on its right.
    pub is_right: bool,
    /// Ascending, no two of them equal.
    pub boundaries: Vec<Value>,
    /// Days and ticks of creation.
    pub created: (i32, u32),
    /// Days and ticks of the last SPLIT or MERGE.
    pub modified: (i32, u32),
}

/// CREATE PARTITION SCHEME.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartitionScheme {
    /// The catalog row's id.
    pub object_id: u32,
    /// `data_space_id`
    pub data_space: u32,
    /// As declared; unique among the data spaces of the database.
    pub name: String,
    /// `function_id` of its function.
    pub function: u32,
    /// The filegroup of each partition.
    pub filegroups: Vec<u16>,
    /// NEXT USED: the filegroup of the partition that the next SPLIT makes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_used: Option<u16>,
}

/// How a table is partitioned, and all of its indexes with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Partitioning {
    /// `data_space_id` of its scheme.
    pub scheme: u32,
    /// The column that decides.
    pub column: usize,
    /// RANGE RIGHT.
    pub is_right: bool,
    /// The boundaries, each as a row of one column of the column's type.
    pub boundaries: Vec<Vec<u8>>,
    /// The filegroup of each partition.
    pub filegroups: Vec<u16>,
}

impl Partitioning {
    /// How many partitions there are.
    pub fn partition_count(&self) -> usize {
        self.boundaries.len() + 1
    }

    /// The boundaries as keys of a column of this type.
    ///
    /// # Errors
    /// 824 when a boundary cannot be read.
    pub fn ranges(&self, sql_type: SqlType, collation: Collation, direction: KeyDirection) -> Result<PartitionRanges> {
        let layout = boundary_layout(sql_type, collation);
        let keys = self.boundaries.iter().map(|boundary| {
            let value = layout.column(boundary, 0)?;
            Ok(key_of(&value, collation, direction))
        });
        Ok(PartitionRanges {
            is_right: self.is_right,
            is_descending: direction == KeyDirection::Descending,
            collation,
            keys: keys.collect::<Result<_>>()?,
        })
    }
}

impl PartitionFunction {
    /// How a table whose column decides is partitioned by it and a scheme of it.
    ///
    /// # Errors
    /// 511 for a boundary that no row can have.
    pub fn partitioning(&self, scheme: &PartitionScheme, column: usize) -> Result<Partitioning> {
        let layout = boundary_layout(self.sql_type, self.collation);
        let boundaries = self.boundaries.iter().map(|value| {
            let mut row = Vec::new();
            layout.push(std::slice::from_ref(value), &mut row)?;
            Ok(row)
        });
        Ok(Partitioning {
            scheme: scheme.data_space,
            column,
            is_right: self.is_right,
            boundaries: boundaries.collect::<Result<_>>()?,
            filegroups: scheme.filegroups.clone(),
        })
    }

    /// Values as its boundaries: ascending. The places of the first two that are equal, counted from 0, when there are such.
    ///
    /// # Errors
    /// Those places.
    pub fn sorted(&self, values: Vec<Value>) -> std::result::Result<Vec<Value>, (usize, usize)> {
        let keyed = values.into_iter().enumerate().map(|(place, value)| {
            let key = key_of(&value, self.collation, KeyDirection::Ascending);
            (key, place, value)
        });
        let mut keyed: Vec<(Vec<u8>, usize, Value)> = keyed.collect();
        keyed.sort_by(|one, other| (&one.0, one.1).cmp(&(&other.0, other.1)));
        let equal = keyed.windows(2).filter(|pair| pair[0].0 == pair[1].0);
        match equal
            .map(|pair| (pair[0].1, pair[1].1))
            .min_by_key(|(_, second)| *second)
        {
            Some(equal) => Err(equal),
            None => Ok(keyed.into_iter().map(|(.., value)| value).collect()),
        }
    }

    /// The partition of a value of its type, counted from 0.
    pub fn partition_of(&self, value: &Value) -> usize {
        let key = |value: &Value| key_of(value, self.collation, KeyDirection::Ascending);
        let own = key(value);
        self.boundaries.partition_point(|boundary| match self.is_right {
            true => key(boundary) <= own,
            false => key(boundary) < own,
        })
    }

    /// Its boundaries as keys.
    pub fn ranges(&self) -> PartitionRanges {
        let key = |value: &Value| key_of(value, self.collation, KeyDirection::Ascending);
        PartitionRanges {
            is_right: self.is_right,
            is_descending: false,
            collation: self.collation,
            keys: self.boundaries.iter().map(key).collect(),
        }
    }
}

impl ObjectDefinition {
    /// The partition function that it is, if it is one.
    pub fn partition_function(&self) -> Option<&PartitionFunction> {
        match self {
            ObjectDefinition::PartitionFunction(function) => Some(function),
            _ => None,
        }
    }

    /// The partition scheme that it is, if it is one.
    pub fn partition_scheme(&self) -> Option<&PartitionScheme> {
        match self {
            ObjectDefinition::PartitionScheme(scheme) => Some(scheme),
            _ => None,
        }
    }
}

impl TableDefinition {
    /// Every heap and tree, with its index and the number of its partition, counted from 1; the rows' own first.
    pub fn partition_roots(&self) -> Vec<(Option<&IndexDefinition>, usize, StorageRoot)> {
        let heaps = self.heap.into_iter().chain(self.other_partitions.iter().copied());
        let heaps = (1..).zip(heaps).map(|(number, root)| (None, number, root));
        let trees = self.indexes.iter().flat_map(|index| {
            let numbered = (1..).zip(index.storage_roots());
            numbered.map(move |(number, root)| (Some(index), number, root))
        });
        heaps.chain(trees).collect()
    }

    /// Whether its heap and each of its trees have storage for every partition, and no more.
    pub fn has_all_partitions(&self) -> bool {
        let others = self.partition_count() - 1;
        let heaps = match self.heap {
            Some(_) => others,
            None => 0,
        };
        let filegroups = self.partitioning.as_ref().map_or(1, |one| one.filegroups.len());
        let mut trees = self.indexes.iter();
        self.other_partitions.len() == heaps
            && filegroups == others + 1
            && trees.all(|index| index.other_partitions.len() == others)
    }

    /// Its partitions, each as a table that is not partitioned.
    pub fn partitions(&self) -> PartitionDefinitions<'_> {
        let mut first = self.clone();
        first.partitioning = None;
        first.other_partitions = Vec::new();
        for index in &mut first.indexes {
            index.other_partitions = Vec::new();
        }
        PartitionDefinitions { table: self, first }
    }
}

/// The partitions of a table. The boundaries, and the storage of all partitions, are not copied for each of them.
pub struct PartitionDefinitions<'t> {
    table: &'t TableDefinition,
    first: TableDefinition,
}

impl PartitionDefinitions<'_> {
    /// A partition, counted from 0. `None` when the definition has no storage of it.
    pub fn get(&self, number: usize) -> Option<TableDefinition> {
        let mut one = self.first.clone();
        let Some(other) = number.checked_sub(1) else {
            return Some(one);
        };
        if one.heap.is_some() {
            one.heap = Some(*self.table.other_partitions.get(other)?);
        }
        for (index, own) in one.indexes.iter_mut().zip(&self.table.indexes) {
            index.storage = *own.other_partitions.get(other)?;
        }
        Some(one)
    }
}

fn boundary_layout(sql_type: SqlType, collation: Collation) -> RowLayout {
    RowLayout::new(&[sql_type]).with_collations(vec![collation])
}

fn key_of(value: &Value, collation: Collation, direction: KeyDirection) -> Vec<u8> {
    let mut key = Vec::new();
    encode_stored_key_part(value, collation, direction, &mut key);
    key
}

/// Boundaries as key parts: where values and keys that begin with one belong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionRanges {
    is_right: bool,
    /// The keys are those of a descending column, so they descend.
    is_descending: bool,
    collation: Collation,
    /// In the order of the boundaries.
    keys: Vec<Vec<u8>>,
}

impl PartitionRanges {
    /// The partition of a value of the column, counted from 0.
    pub fn partition_of(&self, value: &Value) -> usize {
        let direction = match self.is_descending {
            true => KeyDirection::Descending,
            false => KeyDirection::Ascending,
        };
        self.partition_of_key(&key_of(value, self.collation, direction))
    }

    /// The partition of the rows whose keys begin with the first part of this one, counted from 0. No part of a key is the beginning of
    /// another, so what is behind that part does not count.
    pub fn partition_of_key(&self, key: &[u8]) -> usize {
        let is_before = |boundary: &Vec<u8>| {
            let is_equal = key.starts_with(boundary);
            match is_equal {
                true => self.is_right,
                false => (boundary.as_slice() < key) != self.is_descending,
            }
        };
        self.keys.partition_point(is_before)
    }

    /// Whether they are keys of a descending column.
    pub fn is_descending(&self) -> bool {
        self.is_descending
    }

    /// How many boundaries are below a value, or not above it.
    pub fn boundaries_below(&self, value: &Value, counts_equal: bool) -> usize {
        let key = key_of(value, self.collation, KeyDirection::Ascending);
        self.keys.partition_point(|boundary| match counts_equal {
            true => *boundary <= key,
            false => *boundary < key,
        })
    }

    /// Which boundary equals a value, counted from 0.
    pub fn position(&self, value: &Value) -> Option<usize> {
        let key = key_of(value, self.collation, KeyDirection::Ascending);
        self.keys.iter().position(|boundary| *boundary == key)
    }

    /// How many partitions there are.
    pub fn partition_count(&self) -> usize {
        self.keys.len() + 1
    }
}

#[derive(Clone, Serialize, Deserialize)]
struct StoredFunction {
    object_id: u32,
    function_id: u32,
    name: String,
    sql_type: StoredType,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    collation: Option<String>,
    is_right: bool,
    /// Each as a row of one column.
    boundaries: Vec<Vec<u8>>,
    created: (i32, u32),
    modified: (i32, u32),
}

impl From<PartitionFunction> for StoredFunction {
    fn from(function: PartitionFunction) -> StoredFunction {
        let layout = boundary_layout(function.sql_type, function.collation);
        let row = |value: &Value| {
            let mut row = Vec::new();
            // What does not fit in a row was refused when the function was made.
            layout
                .push(std::slice::from_ref(value), &mut row)
                .expect("a boundary fits in a row");
            row
        };
        StoredFunction {
            object_id: function.object_id,
            function_id: function.function_id,
            boundaries: function.boundaries.iter().map(row).collect(),
            name: function.name,
            sql_type: stored_type(function.sql_type),
            collation: stored_collation(function.collation),
            is_right: function.is_right,
            created: function.created,
            modified: function.modified,
        }
    }
}

impl TryFrom<StoredFunction> for PartitionFunction {
    type Error = String;

    fn try_from(stored: StoredFunction) -> std::result::Result<PartitionFunction, String> {
        let problem = |problem: String| format!("partition function {}: {problem}", stored.name);
        let sql_type = type_of(stored.sql_type).map_err(problem)?;
        let collation = collation_of(stored.collation.as_deref()).map_err(problem)?;
        let layout = boundary_layout(sql_type, collation);
        let boundaries = stored.boundaries.iter().map(|row| layout.column(row, 0));
        let boundaries: Result<Vec<Value>> = boundaries.collect();
        Ok(PartitionFunction {
            boundaries: boundaries.map_err(|error: Error| problem(error.message))?,
            sql_type,
            collation,
            object_id: stored.object_id,
            function_id: stored.function_id,
            name: stored.name,
            is_right: stored.is_right,
            created: stored.created,
            modified: stored.modified,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(is_right: bool) -> PartitionFunction {
        PartitionFunction {
            object_id: 1,
            function_id: PARTITION_FUNCTION_ID_FIRST,
            name: "f".to_owned(),
            sql_type: SqlType::Int,
            collation: Collation::default(),
            is_right,
            boundaries: vec![Value::Int(10), Value::Int(20), Value::Int(30)],
            created: (1, 2),
            modified: (3, 4),
        }
    }

    #[test]
    fn a_boundary_belongs_to_the_side_that_is_said() {
        for (is_right, expected) in [(false, [0, 0, 0, 1, 1, 2, 3]), (true, [0, 0, 1, 1, 2, 3, 3])] {
            let ranges = function(is_right).ranges();
            let values = [
                Value::Null,
                Value::Int(9),
                Value::Int(10),
                Value::Int(11),
                Value::Int(20),
                Value::Int(30),
                Value::Int(31),
            ];
            let found = values.clone().map(|value| ranges.partition_of(&value));
            assert_eq!(found, expected, "{is_right}");
            assert_eq!(values.map(|value| function(is_right).partition_of(&value)), expected);
            assert_eq!(ranges.position(&Value::Int(20)), Some(1));
            assert_eq!(ranges.position(&Value::Int(21)), None);
        }
    }

    #[test]
    fn keys_of_either_direction_find_the_same_partition() {
        let scheme = PartitionScheme {
            object_id: 2,
            data_space: PARTITION_SCHEME_ID_FIRST,
            name: "s".to_owned(),
            function: PARTITION_FUNCTION_ID_FIRST,
            filegroups: vec![1; 4],
            next_used: None,
        };
        for is_right in [false, true] {
            let function = function(is_right);
            let partitioning = function.partitioning(&scheme, 0).expect("numbers fit in rows");
            assert_eq!(partitioning.partition_count(), 4);
            for direction in [KeyDirection::Ascending, KeyDirection::Descending] {
                let ranges = partitioning.ranges(SqlType::Int, Collation::default(), direction);
                let ranges = ranges.expect("the boundaries were written");
                for value in 0..40 {
                    let value = Value::Int(value);
                    let mut key = key_of(&value, Collation::default(), direction);
                    key.extend_from_slice(b"more of the key");
                    let expected = function.ranges().partition_of(&value);
                    assert_eq!(ranges.partition_of_key(&key), expected, "{value:?} {direction:?}");
                    assert_eq!(ranges.partition_of(&value), expected);
                }
            }
        }
    }

    #[test]
    fn a_function_comes_back_as_it_went() {
        let function = function(true);
        let text = serde_json::to_string(&function).expect("it is text");
        let back: PartitionFunction = serde_json::from_str(&text).expect("it was written so");
        assert_eq!(back, function);
    }
}
