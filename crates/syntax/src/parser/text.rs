//! READTEXT, WRITETEXT and UPDATETEXT (sql-docs, "READTEXT", "WRITETEXT", "UPDATETEXT").
//!
//! ```text
//! READTEXT table.column pointer offset size [HOLDLOCK]        a query of one table, of which one row is read
//! WRITETEXT table.column pointer [WITH LOG] data              an UPDATE of one row
//! UPDATETEXT table.column pointer offset length [WITH LOG] [data | table.column pointer]        likewise
//! ```
//! Operands are constants and variables. SQL Server ignores WITH LOG. BULK, whose data come behind the batch, is refused.

use super::{Parsed, Parser};
use crate::ast::{
    AssignmentOperator, Expression, ExpressionKind, Identifier, Literal, Mutator, Name, Query, QueryBody, ReadText,
    Select, SelectItem, StatementKind, TableHint, TableReference, TableSource, Target, TextRow, Update,
    UpdateAssignment, WriteText,
};
use crate::error::ParseError;
use crate::lexer::TokenKind;

/// `table.column pointer`.
struct Addressed {
    line: u32,
    table: Name,
    row: TextRow,
}

impl Parser<'_> {
    pub(super) fn read_text(&mut self) -> Parsed<StatementKind> {
        self.expect_word("READTEXT")?;
        let addressed = self.addressed("READ TEXT")?;
        let offset = self.text_number(false)?;
        let size = self.text_number(false)?;
        let holds_lock = self.eat_word("HOLDLOCK")?;
        let query = self.query_of(addressed, holds_lock);
        let number = self.next_number();
        Ok(StatementKind::ReadText(Box::new(ReadText {
            number,
            query,
            offset,
            size,
        })))
    }

    pub(super) fn write_text(&mut self) -> Parsed<StatementKind> {
        self.expect_word("WRITETEXT")?;
        self.refuse(&["BULK"])?;
        let addressed = self.addressed("WRITE TEXT")?;
        self.refuse(&["TIMESTAMP"])?;
        self.eat_words(&["WITH", "LOG"])?;
        let value = self.text_data()?;
        Ok(self.written_text("WRITETEXT", addressed, value, None))
    }

    pub(super) fn update_text(&mut self) -> Parsed<StatementKind> {
        self.expect_word("UPDATETEXT")?;
        self.refuse(&["BULK"])?;
        let addressed = self.addressed("UPDATE TEXT")?;
        let offset = self.text_number(true)?;
        let length = self.text_number(true)?;
        self.eat_words(&["WITH", "LOG"])?;
        let line = self.line();
        let is_name = self.at_identifier() && self.peek_symbol(1, b'.')?;
        let value = if is_name {
            let source = self.addressed("UPDATE TEXT")?;
            let query = self.query_of(source, false);
            Expression::new(line, ExpressionKind::Subquery(Box::new(query)))
        } else if self.at_text_data() {
            self.text_data()?
        } else {
            Expression::new(line, ExpressionKind::Literal(Literal::Null))
        };
        let mutator = Mutator::UpdateText { offset, length };
        Ok(self.written_text("UPDATETEXT", addressed, value, Some(Box::new(mutator))))
    }

    /// `table.column pointer`.
    ///
    /// # Errors
    /// 182 for a column without its table.
    fn addressed(&mut self, statement: &'static str) -> Parsed<Addressed> {
        let line = self.line();
        let mut table = self.name()?;
        let column = table.parts.pop();
        let Some(column) = column.filter(|_| !table.parts.is_empty()) else {
            let text = "Table and column names must be supplied for the READTEXT or WRITETEXT utility.";
            return Err(ParseError::new(182, line, text));
        };
        let pointer = match self.token.kind {
            TokenKind::Variable | TokenKind::Binary => self.primary(false)?,
            _ => return Err(self.unexpected()),
        };
        Ok(Addressed {
            line,
            table,
            row: TextRow {
                column,
                pointer,
                statement,
            },
        })
    }

    /// A whole number without a sign, a variable, or where it may be missing NULL.
    fn text_number(&mut self, may_be_null: bool) -> Parsed<Expression> {
        match self.token.kind {
            TokenKind::Number | TokenKind::Variable => self.primary(false),
            _ if may_be_null && self.at_word("NULL") => self.primary(false),
            _ => Err(self.unexpected()),
        }
    }

    fn at_text_data(&self) -> bool {
        let is_constant = matches!(
            self.token.kind,
            TokenKind::Text | TokenKind::NationalText | TokenKind::Binary | TokenKind::Variable
        );
        is_constant || self.at_word("NULL")
    }

    /// A constant or a variable.
    fn text_data(&mut self) -> Parsed<Expression> {
        match self.at_text_data() {
            true => self.primary(false),
            false => Err(self.unexpected()),
        }
    }

    /// The column of the one row.
    fn query_of(&mut self, addressed: Addressed, holds_lock: bool) -> Query {
        let Addressed { line, table, row } = addressed;
        let column = column_expression(line, &row.column);
        let hint = TableHint {
            name: "HOLDLOCK".to_owned(),
            arguments: Vec::new(),
        };
        let reference = TableReference {
            line,
            name: table,
            alias: None,
            system_time: None,
            sample: None,
            hints: holds_lock.then_some(hint).into_iter().collect(),
            shows_row_places: false,
            text_row: Some(Box::new(row)),
        };
        let select = Select {
            line,
            distinct: false,
            top: None,
            items: vec![SelectItem::Expression {
                expression: column,
                alias: None,
            }],
            into: None,
            into_filegroup: None,
            from: vec![TableSource::Table(reference)],
            selection: None,
            group_by: Vec::new(),
            having: None,
            windows: Vec::new(),
        };
        Query {
            line,
            number: self.next_number(),
            common_table_expressions: Vec::new(),
            body: QueryBody::Select(Box::new(select)),
            order_by: Vec::new(),
            offset: None,
            fetch: None,
            for_clause: None,
            hints: Vec::new(),
        }
    }

    /// The change of the column of the one row.
    fn written_text(
        &mut self,
        name: &'static str,
        addressed: Addressed,
        value: Expression,
        mutator: Option<Box<Mutator>>,
    ) -> StatementKind {
        let Addressed { line, table, row } = addressed;
        let assignment = UpdateAssignment {
            line,
            variable: None,
            column: Some(Name {
                parts: vec![row.column.clone()],
            }),
            operator: AssignmentOperator::Assign,
            value,
            mutator,
        };
        let update = Update {
            number: self.next_number(),
            common_table_expressions: Vec::new(),
            top: None,
            target: Target::Table(table),
            hints: Vec::new(),
            assignments: vec![assignment],
            output: None,
            from: Vec::new(),
            selection: None,
            current_of: None,
            query_hints: Vec::new(),
            shows_row_places: false,
            text_row: Some(Box::new(row)),
        };
        StatementKind::WriteText(Box::new(WriteText { update, name }))
    }
}

fn column_expression(line: u32, column: &Identifier) -> Expression {
    let name = Name {
        parts: vec![column.clone()],
    };
    Expression::new(line, ExpressionKind::Column(name))
}
