//! Table definitions, ALTER TABLE and indexes.

use super::{Parsed, Parser};
use crate::ast::*;
use crate::grammar::{ALTER_COLUMN_OPTIONS, DROP_INDEX_OPTIONS};
use crate::lexer::TokenKind;

/// What ALTER COLUMN may say behind the type, beside the collation and NULL.
const ALTERED_COLUMN_REFUSED: [&str; 6] = ["COLUMN_SET", "ENCRYPTED", "FILESTREAM", "GENERATED", "HIDDEN", "SPARSE"];

/// Whether MASKED may follow what was said of a column: its type, COLLATE and SPARSE alone come before it.
fn may_be_masked(column: &ColumnDefinition) -> bool {
    column.mask.is_none()
        && column.nullable.is_none()
        && column.identity.is_none()
        && column.default.is_none()
        && column.index.is_none()
        && column.generated.is_none()
        && !column.row_guid
        && column.constraints.is_empty()
}

/// Whether a constraint says which columns it is of.
fn names_columns(kind: &ConstraintKind) -> bool {
    match kind {
        ConstraintKind::Key(key) => !key.columns.is_empty(),
        ConstraintKind::ForeignKey(key) => !key.columns.is_empty(),
        ConstraintKind::Check { .. } | ConstraintKind::Default { .. } => false,
    }
}

impl Parser<'_> {
    /// `TABLE name (...)`, CREATE being read.
    pub(super) fn create_table(&mut self) -> Parsed<StatementKind> {
        self.expect_word("TABLE")?;
        let name = self.name()?;
        self.refuse(&["AS"])?;
        let elements = self.table_elements()?;
        self.refuse(&["AS"])?;
        let (mut data_space, mut text_filegroup, mut options) = (None, None, Vec::new());
        loop {
            if data_space.is_none() && self.eat_word("ON")? {
                data_space = Some(self.data_space()?);
            } else if text_filegroup.is_none() && self.eat_word("TEXTIMAGE_ON")? {
                text_filegroup = Some(self.filegroup()?);
            } else if self.at_word("WITH") && self.peek_symbol(1, b'(')? {
                options = self.optional_with_options()?;
            } else {
                self.refuse(&["FILESTREAM_ON"])?;
                break;
            }
        }
        let table = CreateTable {
            name,
            elements,
            data_space,
            text_filegroup,
            options,
        };
        Ok(StatementKind::CreateTable(Box::new(table)))
    }

    /// The filegroup after ON: a name, or `"default"`.
    pub(super) fn filegroup(&mut self) -> Parsed<Identifier> {
        let name = if self.at_word("PRIMARY") {
            self.take_identifier()?
        } else {
            self.name_or_text()?
        };
        Ok(name)
    }

    /// What follows ON: a filegroup, or a partition scheme with its column.
    pub(super) fn data_space(&mut self) -> Parsed<DataSpace> {
        let name = self.filegroup()?;
        let column = if self.eat(b'(')? {
            let column = self.identifier()?;
            self.expect(b')')?;
            Some(column)
        } else {
            None
        };
        Ok(DataSpace { name, column })
    }

    /// `ON` with what follows, if it is there.
    fn optional_data_space(&mut self) -> Parsed<Option<DataSpace>> {
        match self.eat_word("ON")? {
            true => self.data_space().map(Some),
            false => Ok(None),
        }
    }

    /// An identifier, or a string in its place.
    pub(super) fn name_or_text(&mut self) -> Parsed<Identifier> {
        if self.at_string() {
            return Ok(Identifier {
                text: self.string()?,
                quoted: true,
            });
        }
        self.identifier()
    }

    /// `(columns and constraints)`; a comma may end the list, as SQL Server allows.
    pub(super) fn table_elements(&mut self) -> Parsed<Vec<TableElement>> {
        self.expect(b'(')?;
        let mut elements = Vec::new();
        self.table_element(&mut elements)?;
        loop {
            // Table constraints may follow without a comma.
            if !self.eat(b',')? && !self.at_any(&["CONSTRAINT", "PRIMARY", "UNIQUE", "FOREIGN", "CHECK"]) {
                break;
            }
            if self.at(b')') {
                break;
            }
            self.table_element(&mut elements)?;
        }
        self.expect(b')')?;
        Ok(elements)
    }

    /// What ADD of ALTER TABLE lists.
    fn added_elements(&mut self) -> Parsed<Vec<TableElement>> {
        let mut elements = Vec::new();
        self.list(|parser| parser.table_element(&mut elements))?;
        Ok(elements)
    }

    /// A column, a constraint or an index. A key with columns of its own behind a column, without a comma, is one of the table.
    fn table_element(&mut self, elements: &mut Vec<TableElement>) -> Parsed<()> {
        let mut element = self.one_table_element()?;
        let (mut of_table, mut index) = (Vec::new(), None);
        if let TableElement::Column(column) = &mut element {
            let (own, others) = std::mem::take(&mut column.constraints)
                .into_iter()
                .partition(|constraint| !names_columns(&constraint.kind));
            (column.constraints, of_table) = (own, others);
            index = column.index.take();
        }
        elements.push(element);
        elements.extend(index.map(|index| TableElement::Index(*index)));
        elements.extend(of_table.into_iter().map(TableElement::Constraint));
        Ok(())
    }

    fn one_table_element(&mut self) -> Parsed<TableElement> {
        if self.at_any(&["CONSTRAINT", "PRIMARY", "UNIQUE", "FOREIGN", "CHECK", "DEFAULT"]) {
            return self.table_constraint().map(TableElement::Constraint);
        }
        if self.at_word("INDEX") {
            return self.inline_index().map(TableElement::Index);
        }
        self.refuse_connection()?;
        if self.at_word("PERIOD") && self.peek_word(1, "FOR")? {
            return self.period().map(TableElement::Period);
        }
        self.column_definition().map(TableElement::Column)
    }

    fn period(&mut self) -> Parsed<Period> {
        let line = self.line();
        self.period_words()?;
        self.expect(b'(')?;
        let start = self.identifier()?;
        self.expect(b',')?;
        let end = self.identifier()?;
        self.expect(b')')?;
        Ok(Period { line, start, end })
    }

    fn period_words(&mut self) -> Parsed<()> {
        let mut words = ["PERIOD", "FOR", "SYSTEM_TIME"].iter();
        words.try_for_each(|word| self.expect_word(word))
    }

    fn inline_index(&mut self) -> Parsed<InlineIndex> {
        self.expect_word("INDEX")?;
        let name = self.identifier()?;
        let unique = self.eat_word("UNIQUE")?;
        let clustered = self.optional_clustered()?;
        self.refuse(&["COLUMNSTORE", "HASH"])?;
        let columns = if self.at(b'(') {
            self.enclosed(Self::index_column)?
        } else {
            Vec::new()
        };
        let included_columns = self.optional_include()?;
        let filter = self.optional_filter()?;
        let options = self.optional_with_options()?;
        let data_space = self.optional_data_space()?;
        Ok(InlineIndex {
            name,
            unique,
            clustered,
            columns,
            included_columns,
            filter,
            options,
            data_space,
        })
    }

    /// One column with its options.
    pub(super) fn column_definition(&mut self) -> Parsed<ColumnDefinition> {
        let line = self.line();
        let name = self.identifier()?;
        let mut column = ColumnDefinition {
            line,
            name,
            data_type: None,
            computed: None,
            collation: None,
            nullable: None,
            identity: None,
            row_guid: false,
            sparse: false,
            generated: None,
            mask: None,
            default: None,
            constraints: Vec::new(),
            index: None,
        };
        if self.eat_word("AS")? {
            let (expression, text) = self.expression_with_text()?;
            let persisted = self.eat_word("PERSISTED")?;
            column.computed = Some(Box::new(ComputedDefinition {
                expression,
                text,
                persisted,
            }));
        } else if column.name.is("timestamp") && self.at_end_of_name() {
            column.data_type = Some(DataType {
                name: Name {
                    parts: vec![column.name.clone()],
                },
                arguments: Vec::new(),
            });
        } else {
            column.data_type = Some(self.data_type()?);
        }
        while self.column_option(&mut column)? {}
        Ok(column)
    }

    /// Whether no type follows a column's name: SQL Server takes `timestamp` for both then (sql-docs, rowversion).
    fn at_end_of_name(&self) -> bool {
        self.at(b',')
            || self.at(b')')
            || self.at(b';')
            || self.at_end()
            || self.at_any(&[
                "NOT",
                "NULL",
                "CONSTRAINT",
                "PRIMARY",
                "UNIQUE",
                "CHECK",
                "DEFAULT",
                "REFERENCES",
            ])
    }

    /// One option of a column; false if none is here.
    fn column_option(&mut self, column: &mut ColumnDefinition) -> Parsed<bool> {
        if let Some(nullable) = self.optional_nullable()? {
            column.nullable = Some(nullable);
        } else if column.computed.is_some() {
            return self.column_constraint(column);
        } else if self.eat_word("COLLATE")? {
            column.collation = Some(self.identifier()?);
        } else if self.eat_word("IDENTITY")? {
            column.identity = Some(self.identity()?);
        } else if self.eat_word("ROWGUIDCOL")? {
            column.row_guid = true;
        } else if self.at_word("COLUMN_SET") {
            return Err(crate::error::ParseError::not_supported(self.line(), "COLUMN_SET"));
        } else if self.eat_word("SPARSE")? {
            column.sparse = true;
        } else if self.at_word("INDEX") {
            let mut index = self.inline_index()?;
            if index.columns.is_empty() {
                index.columns.push(IndexColumn {
                    name: column.name.clone(),
                    descending: false,
                });
            }
            if column.index.is_some() {
                return Err(self.unexpected());
            }
            column.index = Some(Box::new(index));
        } else if self.at_any(&["FILESTREAM", "ENCRYPTED"]) {
            self.refuse(&["FILESTREAM", "ENCRYPTED"])?;
        } else if self.at_word("MASKED") {
            if !may_be_masked(column) {
                return Err(self.unexpected());
            }
            column.mask = Some(self.mask()?);
        } else if column.generated.is_none() && self.at_word("GENERATED") {
            column.generated = Some(self.generated_always()?);
        } else {
            return self.column_constraint(column);
        }
        Ok(true)
    }

    /// `MASKED WITH (FUNCTION = 'function')`.
    fn mask(&mut self) -> Parsed<String> {
        self.expect_word("MASKED")?;
        self.expect_word("WITH")?;
        self.expect(b'(')?;
        self.expect_word("FUNCTION")?;
        self.expect(b'=')?;
        let function = self.string()?;
        self.expect(b')')?;
        Ok(function)
    }

    /// `GENERATED ALWAYS AS ROW START | END [HIDDEN]`. What a ledger generates is refused by its word.
    fn generated_always(&mut self) -> Parsed<GeneratedAlways> {
        for word in ["GENERATED", "ALWAYS", "AS"] {
            self.expect_word(word)?;
        }
        self.refuse(&["TRANSACTION_ID", "SEQUENCE_NUMBER", "SUSER_SID", "SUSER_SNAME"])?;
        self.expect_word("ROW")?;
        let is_start = self.eat_word("START")?;
        if !is_start {
            self.expect_word("END")?;
        }
        let is_hidden = self.eat_word("HIDDEN")?;
        Ok(GeneratedAlways { is_start, is_hidden })
    }

    fn column_constraint(&mut self, column: &mut ColumnDefinition) -> Parsed<bool> {
        let line = self.line();
        let name = self.optional_constraint_name()?;
        if column.computed.is_none() && self.eat_word("DEFAULT")? {
            let (expression, text) = self.expression_with_text()?;
            let with_values = self.with_values()?;
            column.default = Some(DefaultDefinition {
                name,
                expression,
                text,
                with_values,
            });
            return Ok(true);
        }
        let kind = if self.at_any(&["PRIMARY", "UNIQUE"]) {
            ConstraintKind::Key(self.key_constraint()?)
        } else if self.at_any(&["FOREIGN", "REFERENCES"]) {
            let mut columns = Vec::new();
            if self.eat_word("FOREIGN")? {
                self.expect_word("KEY")?;
                if self.at(b'(') {
                    columns = self.enclosed(Self::identifier)?;
                }
            }
            ConstraintKind::ForeignKey(self.references(columns)?)
        } else if self.at_word("CHECK") {
            self.check_constraint()?
        } else if name.is_some() {
            if let Some(nullable) = self.optional_nullable()? {
                column.nullable = Some(nullable);
                return Ok(true);
            }
            return Err(self.unexpected());
        } else {
            return Ok(false);
        };
        column.constraints.push(TableConstraint { line, name, kind });
        Ok(true)
    }

    fn expression_with_text(&mut self) -> Parsed<(Expression, String)> {
        let start = self.token.start;
        let expression = self.expression()?;
        Ok((expression, self.text_between(start, self.previous.end).to_owned()))
    }

    /// `WITH VALUES` behind a default.
    fn with_values(&mut self) -> Parsed<bool> {
        Ok(self.at_word("WITH") && self.peek_word(1, "VALUES")? && self.eat_words(&["WITH", "VALUES"])?)
    }

    fn identity(&mut self) -> Parsed<IdentityDefinition> {
        let (mut seed, mut increment) = (1, 1);
        if self.eat(b'(')? {
            seed = self.signed_number()?;
            self.expect(b',')?;
            increment = self.signed_number()?;
            self.expect(b')')?;
        }
        let not_for_replication = self.not_for_replication()?;
        Ok(IdentityDefinition {
            seed,
            increment,
            not_for_replication,
        })
    }

    pub(super) fn signed_number(&mut self) -> Parsed<i128> {
        let negative = self.eat(b'-')?;
        if !negative {
            self.eat(b'+')?;
        }
        let value: i128 = self.whole_number()?;
        Ok(if negative { -value } else { value })
    }

    fn not_for_replication(&mut self) -> Parsed<bool> {
        Ok(self.at_word("NOT") && self.eat_words(&["NOT", "FOR", "REPLICATION"])?)
    }

    fn optional_constraint_name(&mut self) -> Parsed<Option<Identifier>> {
        if self.eat_word("CONSTRAINT")? {
            self.identifier().map(Some)
        } else {
            Ok(None)
        }
    }

    /// # Errors
    /// 40517 at `CONNECTION (`, the constraint of an edge table.
    fn refuse_connection(&self) -> Parsed<()> {
        match self.peek_symbol(1, b'(')? {
            true => self.refuse(&["CONNECTION"]),
            false => Ok(()),
        }
    }

    fn table_constraint(&mut self) -> Parsed<TableConstraint> {
        let line = self.line();
        let name = self.optional_constraint_name()?;
        self.refuse_connection()?;
        let kind = if self.at_any(&["PRIMARY", "UNIQUE"]) {
            ConstraintKind::Key(self.key_constraint()?)
        } else if self.eat_word("FOREIGN")? {
            self.expect_word("KEY")?;
            let columns = self.enclosed(Self::identifier)?;
            ConstraintKind::ForeignKey(self.references(columns)?)
        } else if self.at_word("CHECK") {
            self.check_constraint()?
        } else if self.eat_word("DEFAULT")? {
            let (expression, text) = self.expression_with_text()?;
            self.expect_word("FOR")?;
            let column = self.identifier()?;
            let with_values = self.with_values()?;
            ConstraintKind::Default {
                definition: DefaultDefinition {
                    name: name.clone(),
                    expression,
                    text,
                    with_values,
                },
                column,
            }
        } else {
            return Err(self.unexpected());
        };
        Ok(TableConstraint { line, name, kind })
    }

    fn key_constraint(&mut self) -> Parsed<KeyConstraint> {
        let primary = self.eat_word("PRIMARY")?;
        self.expect_word(if primary { "KEY" } else { "UNIQUE" })?;
        let clustered = self.optional_clustered()?;
        self.refuse(&["COLUMNSTORE", "HASH"])?;
        let columns = if self.at(b'(') {
            self.enclosed(Self::index_column)?
        } else {
            Vec::new()
        };
        let mut options = self.optional_with_options()?;
        if self.at_word("WITH") && self.eat_words(&["WITH", "FILLFACTOR"])? {
            self.expect(b'=')?;
            let line = self.line();
            let value = Some(self.option_value()?);
            options.push(OptionValue {
                line,
                name: "FILLFACTOR".to_owned(),
                value,
                arguments: Vec::new(),
            });
        }
        let data_space = self.optional_data_space()?;
        Ok(KeyConstraint {
            primary,
            clustered,
            columns,
            options,
            data_space,
        })
    }

    fn references(&mut self, columns: Vec<Identifier>) -> Parsed<ForeignKey> {
        self.expect_word("REFERENCES")?;
        let table = self.name()?;
        let referenced_columns = self.optional_columns()?;
        let (mut on_delete, mut on_update) = (ReferentialAction::NoAction, ReferentialAction::NoAction);
        while self.eat_word("ON")? {
            if self.eat_word("DELETE")? {
                on_delete = self.referential_action()?;
            } else {
                self.expect_word("UPDATE")?;
                on_update = self.referential_action()?;
            }
        }
        let not_for_replication = self.not_for_replication()?;
        Ok(ForeignKey {
            columns,
            table,
            referenced_columns,
            on_delete,
            on_update,
            not_for_replication,
        })
    }

    fn referential_action(&mut self) -> Parsed<ReferentialAction> {
        if self.eat_word("CASCADE")? {
            return Ok(ReferentialAction::Cascade);
        }
        if self.eat_word("NO")? {
            self.expect_word("ACTION")?;
            return Ok(ReferentialAction::NoAction);
        }
        self.expect_word("SET")?;
        if self.eat_word("NULL")? {
            return Ok(ReferentialAction::SetNull);
        }
        self.expect_word("DEFAULT")?;
        Ok(ReferentialAction::SetDefault)
    }

    fn check_constraint(&mut self) -> Parsed<ConstraintKind> {
        self.expect_word("CHECK")?;
        let not_for_replication = self.not_for_replication()?;
        self.expect(b'(')?;
        let start = self.token.start;
        let condition = self.condition()?;
        let text = self.text_between(start, self.previous.end).to_owned();
        self.expect(b')')?;
        Ok(ConstraintKind::Check {
            condition,
            text,
            not_for_replication,
        })
    }

    pub(super) fn optional_clustered(&mut self) -> Parsed<Option<bool>> {
        if self.eat_word("CLUSTERED")? {
            return Ok(Some(true));
        }
        Ok(if self.eat_word("NONCLUSTERED")? {
            Some(false)
        } else {
            None
        })
    }

    fn index_column(&mut self) -> Parsed<IndexColumn> {
        let name = self.identifier()?;
        let descending = self.descending()?;
        Ok(IndexColumn { name, descending })
    }

    fn optional_include(&mut self) -> Parsed<Vec<Identifier>> {
        if self.eat_word("INCLUDE")? {
            self.enclosed(Self::identifier)
        } else {
            Ok(Vec::new())
        }
    }

    /// `WHERE condition`, if it is here.
    pub(super) fn optional_filter(&mut self) -> Parsed<Option<IndexFilter>> {
        if !self.eat_word("WHERE")? {
            return Ok(None);
        }
        let start = self.token.start;
        let condition = self.condition()?;
        let text = self.text_between(start, self.previous.end).to_owned();
        Ok(Some(IndexFilter { condition, text }))
    }

    /// `[UNIQUE] [CLUSTERED | NONCLUSTERED] INDEX ...`, CREATE being read.
    pub(super) fn create_index(&mut self) -> Parsed<StatementKind> {
        let unique = self.eat_word("UNIQUE")?;
        let clustered = self.optional_clustered()?.unwrap_or(false);
        self.refuse(&["COLUMNSTORE"])?;
        self.expect_word("INDEX")?;
        let name = self.identifier()?;
        self.expect_word("ON")?;
        let table = self.name()?;
        let columns = self.enclosed(Self::index_column)?;
        let included_columns = self.optional_include()?;
        let filter = self.optional_filter()?;
        let mut options = self.optional_with_options()?;
        if options.is_empty() && self.at_word("WITH") && self.peek(1)?.kind == TokenKind::Word {
            self.advance()?;
            options = self.list(Self::outer_option)?;
        }
        let data_space = self.optional_data_space()?;
        self.refuse(&["FILESTREAM_ON"])?;
        let index = CreateIndex {
            name,
            unique,
            clustered,
            table,
            columns,
            included_columns,
            filter,
            options,
            data_space,
        };
        Ok(StatementKind::CreateIndex(Box::new(index)))
    }

    /// `INDEX name | ALL ON table ...`, ALTER being read.
    pub(super) fn alter_index(&mut self) -> Parsed<StatementKind> {
        self.expect_word("INDEX")?;
        let name = if self.eat_word("ALL")? {
            None
        } else {
            Some(self.identifier()?)
        };
        self.expect_word("ON")?;
        let table = self.name()?;
        self.refuse(&["RESUME", "PAUSE", "ABORT", "FOR"])?;
        let mut partition = None;
        let (action, options) = if self.eat_word("REBUILD")? {
            partition = self.rebuilt_partition()?;
            (AlterIndexAction::Rebuild, self.optional_with_options()?)
        } else if self.eat_word("REORGANIZE")? {
            partition = self.numbered_partition()?;
            (AlterIndexAction::Reorganize, self.optional_with_options()?)
        } else if self.eat_word("DISABLE")? {
            (AlterIndexAction::Disable, Vec::new())
        } else {
            self.expect_word("SET")?;
            (AlterIndexAction::Set, self.enclosed(Self::inner_option)?)
        };
        Ok(StatementKind::AlterIndex(Box::new(AlterIndex {
            name,
            table,
            action,
            partition,
            options,
        })))
    }

    /// `INDEX ...`, DROP being read.
    pub(super) fn drop_index(&mut self) -> Parsed<StatementKind> {
        self.expect_word("INDEX")?;
        let if_exists = self.if_exists()?;
        let indexes = self.list(|parser| {
            let mut name = parser.name()?;
            if parser.eat_word("ON")? {
                let table = parser.name()?;
                parser.drop_options()?;
                let index = if name.parts.len() == 1 { name.parts.pop() } else { None };
                return index.map(|index| (index, table)).ok_or_else(|| parser.unexpected());
            }
            match name.parts.pop() {
                Some(index) if !name.parts.is_empty() => Ok((index, name)),
                _ => Err(parser.unexpected()),
            }
        })?;
        self.drop_options()?;
        Ok(StatementKind::DropIndex(Box::new(DropIndex { if_exists, indexes })))
    }

    /// WITH of what drops an index. All of the words that it admits say how the same is done.
    fn drop_options(&mut self) -> Parsed<()> {
        if self.at_word("WITH") && self.peek_symbol(1, b'(')? {
            self.advance()?;
            self.enclosed(|parser| {
                if parser.at_any(&["MOVE", "FILESTREAM_ON"]) {
                    return parser.refuse(&["MOVE", "FILESTREAM_ON"]);
                }
                let option = parser.inner_option()?;
                DROP_INDEX_OPTIONS.admit_option(&option)
            })?;
        }
        Ok(())
    }

    /// `TABLE name ...`, ALTER being read.
    pub(super) fn alter_table(&mut self) -> Parsed<StatementKind> {
        self.expect_word("TABLE")?;
        let name = self.name()?;
        let mut check = None;
        if self.eat_word("WITH")? {
            check = Some(self.eat_word("CHECK")?);
            if check == Some(false) {
                self.expect_word("NOCHECK")?;
            }
        }
        let action = if self.eat_word("ADD")? {
            AlterTableAction::Add {
                check,
                elements: self.added_elements()?,
            }
        } else if self.at_any(&["CHECK", "NOCHECK"]) {
            let enable = self.any_word()? == "CHECK";
            self.expect_word("CONSTRAINT")?;
            let names = if self.eat_word("ALL")? {
                Vec::new()
            } else {
                self.list(Self::identifier)?
            };
            AlterTableAction::CheckConstraint {
                check_existing: check,
                enable,
                names,
            }
        } else if check.is_some() {
            return Err(self.unexpected());
        } else if self.eat_word("DROP")? {
            if self.at_word("PERIOD") && self.peek_word(1, "FOR")? {
                self.period_words()?;
                let action = AlterTableAction::DropPeriod;
                return Ok(StatementKind::AlterTable(Box::new(AlterTable { name, action })));
            }
            self.refuse(&["INDEX"])?;
            AlterTableAction::Drop(self.alter_table_drops()?)
        } else if self.eat_word("ALTER")? {
            self.refuse(&["INDEX"])?;
            self.alter_column()?
        } else if self.eat_word("SWITCH")? {
            self.switch_partition()?
        } else if self.eat_word("REBUILD")? {
            let partition = self.rebuilt_partition()?;
            let options = self.optional_with_options()?;
            AlterTableAction::Rebuild { partition, options }
        } else if self.eat_word("SET")? {
            AlterTableAction::Set(self.enclosed(Self::inner_option)?)
        } else {
            if self.at_any(&["ENABLE", "DISABLE"]) && self.peek_word(1, "TRIGGER")? {
                let enable = self.any_word()? == "ENABLE";
                return self.switch_triggers_of(name, enable);
            }
            self.refuse(&["ENABLE", "DISABLE"])?;
            return Err(self.unexpected());
        };
        Ok(StatementKind::AlterTable(Box::new(AlterTable { name, action })))
    }

    /// The word COLUMN or CONSTRAINT holds for the names after it until another stands.
    fn alter_table_drops(&mut self) -> Parsed<Vec<AlterTableDrop>> {
        let (mut column, mut if_exists) = (false, false);
        self.list(|parser| {
            if parser.at_any(&["COLUMN", "CONSTRAINT"]) {
                column = parser.any_word()? == "COLUMN";
                if_exists = parser.if_exists()?;
            }
            let name = parser.identifier()?;
            parser.drop_options()?;
            Ok(AlterTableDrop {
                column,
                if_exists,
                name,
            })
        })
    }

    fn alter_column(&mut self) -> Parsed<AlterTableAction> {
        self.expect_word("COLUMN")?;
        let name = self.identifier()?;
        if self.at_any(&["ADD", "DROP"]) && self.peek_word(1, "HIDDEN")? {
            let is_hidden = self.any_word()? == "ADD";
            self.expect_word("HIDDEN")?;
            return Ok(AlterTableAction::Hide { name, is_hidden });
        }
        if self.at_any(&["ADD", "DROP"]) && self.peek_word(1, "MASKED")? {
            let function = match self.any_word()?.as_str() {
                "ADD" => Some(self.mask()?),
                _ => {
                    self.expect_word("MASKED")?;
                    None
                }
            };
            return Ok(AlterTableAction::Mask { name, function });
        }
        self.refuse(&["ADD", "DROP"])?;
        let data_type = self.data_type()?;
        let collation = if self.eat_word("COLLATE")? {
            Some(self.identifier()?)
        } else {
            None
        };
        self.refuse(&ALTERED_COLUMN_REFUSED)?;
        let mask = match self.at_word("MASKED") {
            true => Some(self.mask()?),
            false => None,
        };
        let nullable = self.optional_nullable()?;
        self.refuse(&ALTERED_COLUMN_REFUSED)?;
        ALTER_COLUMN_OPTIONS.admit_all(&self.optional_with_options()?)?;
        Ok(AlterTableAction::AlterColumn {
            name,
            data_type,
            collation,
            mask,
            nullable,
        })
    }
}
