//! Sequences.

use super::{DataType, DefinitionKind, Name};

/// `CREATE | ALTER SEQUENCE`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateSequence {
    /// Never CREATE OR ALTER.
    pub definition: DefinitionKind,
    pub name: Name,
    /// `AS type`.
    pub data_type: Option<DataType>,
    pub options: SequenceOptions,
}

/// The options of a sequence; `None` for options that are not given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SequenceOptions {
    /// `START WITH value`.
    pub start: Option<i128>,
    /// `RESTART [WITH value]`.
    pub restart: Option<Option<i128>>,
    /// `INCREMENT BY value`.
    pub increment: Option<i128>,
    /// `MINVALUE value`, or `NO MINVALUE`.
    pub minimum: Option<Option<i128>>,
    /// `MAXVALUE value`, or `NO MAXVALUE`.
    pub maximum: Option<Option<i128>>,
    /// `CYCLE` (true) or `NO CYCLE`.
    pub is_cycling: Option<bool>,
    pub cache: Option<SequenceCache>,
}

/// How many values are promised at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SequenceCache {
    /// `NO CACHE`
    No,
    /// `CACHE`
    Default,
    /// `CACHE size`
    Size(i128),
}
