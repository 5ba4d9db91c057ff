//! CREATE, ALTER and DROP PARTITION FUNCTION and SCHEME; SWITCH, and TRUNCATE TABLE of partitions.

use super::{Parsed, Parser};
use crate::ast::{
    AlterTableAction, Expression, Identifier, PARTITION_SCOPE, PartitionStatement, StatementKind, SwitchPartition,
    TruncateTable,
};
use crate::error::ParseError;
use crate::lexer::TokenKind;

fn statement(partition: PartitionStatement) -> Parsed<StatementKind> {
    Ok(StatementKind::Partition(Box::new(partition)))
}

impl Parser<'_> {
    /// Whether the token is `$PARTITION`, behind which the name of a partition function follows.
    pub(super) fn at_partition_scope(&self) -> bool {
        self.token.kind == TokenKind::PseudoColumn && self.slice(self.token).eq_ignore_ascii_case(PARTITION_SCOPE)
    }

    /// `$PARTITION` as a part of a name, which it is only where it is not quoted.
    pub(super) fn partition_scope(&mut self) -> Parsed<Identifier> {
        self.advance()?;
        Ok(Identifier::new(PARTITION_SCOPE))
    }

    /// True for FUNCTION, false for SCHEME, PARTITION being read.
    fn partition_kind(&mut self) -> Parsed<bool> {
        let is_function = self.eat_word("FUNCTION")?;
        if !is_function {
            self.expect_word("SCHEME")?;
        }
        Ok(is_function)
    }

    /// `FUNCTION ...` or `SCHEME ...`, CREATE PARTITION being read.
    pub(super) fn create_partition(&mut self) -> Parsed<StatementKind> {
        let is_function = self.partition_kind()?;
        let name = self.identifier()?;
        if !is_function {
            self.expect_word("AS")?;
            self.expect_word("PARTITION")?;
            let function = self.identifier()?;
            let is_all = self.eat_word("ALL")?;
            self.expect_word("TO")?;
            let filegroups = self.enclosed(Self::filegroup)?;
            return statement(PartitionStatement::CreateScheme {
                name,
                function,
                is_all,
                filegroups,
            });
        }
        self.expect(b'(')?;
        let types = self.list(Self::data_type)?;
        let collation = match self.eat_word("COLLATE")? {
            true => Some(self.identifier()?),
            false => None,
        };
        self.expect(b')')?;
        self.expect_word("AS")?;
        self.expect_word("RANGE")?;
        let is_right = self.eat_word("RIGHT")?;
        if !is_right {
            self.eat_word("LEFT")?;
        }
        self.expect_word("FOR")?;
        self.expect_word("VALUES")?;
        self.expect(b'(')?;
        let values = match self.at(b')') {
            true => Vec::new(),
            false => self.list(Self::expression)?,
        };
        self.expect(b')')?;
        statement(PartitionStatement::CreateFunction {
            name,
            types,
            collation,
            is_right,
            values,
        })
    }

    /// The same, ALTER PARTITION being read.
    pub(super) fn alter_partition(&mut self) -> Parsed<StatementKind> {
        let is_function = self.partition_kind()?;
        let name = self.identifier()?;
        if !is_function {
            self.expect_word("NEXT")?;
            self.expect_word("USED")?;
            let is_named = self.at_identifier() || self.at_word("PRIMARY");
            let next_used = match is_named {
                true => Some(self.filegroup()?),
                false => None,
            };
            return statement(PartitionStatement::AlterScheme { name, next_used });
        }
        self.expect(b'(')?;
        self.expect(b')')?;
        let is_split = self.eat_word("SPLIT")?;
        if !is_split {
            self.expect_word("MERGE")?;
        }
        self.expect_word("RANGE")?;
        self.expect(b'(')?;
        let value = self.expression()?;
        self.expect(b')')?;
        statement(PartitionStatement::AlterFunction { name, is_split, value })
    }

    /// The same, DROP PARTITION being read.
    pub(super) fn drop_partition(&mut self) -> Parsed<StatementKind> {
        let is_function = self.partition_kind()?;
        let name = self.identifier()?;
        statement(match is_function {
            true => PartitionStatement::DropFunction(name),
            false => PartitionStatement::DropScheme(name),
        })
    }

    pub(super) fn truncate(&mut self) -> Parsed<StatementKind> {
        self.expect_word("TRUNCATE")?;
        self.expect_word("TABLE")?;
        let name = self.name()?;
        let mut partitions = Vec::new();
        if self.at_word("WITH") && self.peek_symbol(1, b'(')? {
            self.advance()?;
            self.expect(b'(')?;
            self.expect_word("PARTITIONS")?;
            partitions = self.enclosed(|parser| {
                let first = parser.expression()?;
                let last = match parser.eat_word("TO")? {
                    true => Some(parser.expression()?),
                    false => None,
                };
                Ok((first, last))
            })?;
            self.expect(b')')?;
        }
        Ok(StatementKind::TruncateTable(Box::new(TruncateTable {
            name,
            partitions,
        })))
    }

    /// `[PARTITION n] TO table [PARTITION m]`, SWITCH being read.
    pub(super) fn switch_partition(&mut self) -> Parsed<AlterTableAction> {
        let partition = self.optional_partition()?;
        self.expect_word("TO")?;
        let target = self.name()?;
        let target_partition = self.optional_partition()?;
        if self.at_word("WITH") {
            return Err(ParseError::not_supported(self.line(), "SWITCH ... WITH"));
        }
        Ok(AlterTableAction::Switch(Box::new(SwitchPartition {
            partition,
            target,
            target_partition,
        })))
    }

    fn optional_partition(&mut self) -> Parsed<Option<Expression>> {
        match self.eat_word("PARTITION")? {
            true => self.expression().map(Some),
            false => Ok(None),
        }
    }

    /// `PARTITION = ALL` of REBUILD, which says nothing, or `PARTITION = number`.
    pub(super) fn rebuilt_partition(&mut self) -> Parsed<Option<Expression>> {
        if !self.at_word("PARTITION") || !self.peek_word(2, "ALL")? {
            return self.numbered_partition();
        }
        self.expect_word("PARTITION")?;
        self.expect(b'=')?;
        self.expect_word("ALL")?;
        Ok(None)
    }

    /// `PARTITION = number`, if it is here.
    pub(super) fn numbered_partition(&mut self) -> Parsed<Option<Expression>> {
        if !self.eat_word("PARTITION")? {
            return Ok(None);
        }
        self.expect(b'=')?;
        self.expression().map(Some)
    }
}
