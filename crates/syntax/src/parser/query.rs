//! SELECT: common table expressions, set operations, select lists, grouping, hints.

use super::{Parsed, Parser};
use crate::ast::{
    AssignmentOperator, BinaryOperator, CommonTableExpression, Expression, GroupItem, Identifier, NamedWindow, Query,
    QueryBody, QueryHint, Select, SelectItem, SetOperator, Top,
};
use crate::error::ParseError;
use crate::lexer::TokenKind;

/// What a SELECT takes beside its expressions, in bytes.
const SELECT_BYTES: u64 = size_of::<Select>() as u64 + 128;

/// What comes first alone, or with all that follows it.
fn set_operations(first: QueryBody, others: Vec<(SetOperator, QueryBody)>) -> QueryBody {
    if others.is_empty() {
        return first;
    }
    QueryBody::SetOperations {
        first: Box::new(first),
        others,
    }
}

/// Whether the last of several queries has TOP. Inside of a statement the ORDER BY behind it says then which of its rows are meant, and
/// not the order of all (sqlservercentral.com, "Behavior of ORDER BY with UNION can be confusing").
fn ends_in_top(body: &QueryBody) -> bool {
    let QueryBody::SetOperations { others, .. } = body else {
        return false;
    };
    match others.last() {
        Some((_, QueryBody::Select(select))) => select.top.is_some(),
        _ => false,
    }
}

/// The body of a query with its order given to the last SELECT of it alone.
fn with_last_ordered(mut query: Query) -> QueryBody {
    if let QueryBody::SetOperations { first, mut others } = query.body {
        if let Some((operator, last)) = others.pop() {
            query.body = last;
            others.push((operator, with_last_ordered(query)));
        }
        return QueryBody::SetOperations { first, others };
    }
    QueryBody::Ordered(Box::new(query))
}

impl Parser<'_> {
    /// True where a subquery starts right after its parenthesis.
    pub(super) fn at_query(&self) -> Parsed<bool> {
        Ok(self.at_word("SELECT"))
    }

    /// A query inside parentheses: no WITH, no OPTION.
    pub(super) fn subquery(&mut self) -> Parsed<Query> {
        self.inside(|parser| {
            let query = parser.query_without_hints(Vec::new())?;
            if parser.at_word("OPTION") {
                return Err(parser.unexpected());
            }
            Ok(query)
        })
    }

    fn inside<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        let outer = std::mem::replace(&mut self.is_in_subquery, true);
        let parsed = self.nested(parse);
        self.is_in_subquery = outer;
        parsed
    }

    /// A whole query whose common table expressions, if any, are read already.
    pub(super) fn query(&mut self, ctes: Vec<CommonTableExpression>) -> Parsed<Query> {
        let mut query = self.query_without_hints(ctes)?;
        query.hints = self.optional_query_hints()?;
        Ok(query)
    }

    fn query_without_hints(&mut self, common_table_expressions: Vec<CommonTableExpression>) -> Parsed<Query> {
        let line = self.line();
        let body = self.query_body()?;
        self.query_after_body(line, common_table_expressions, body)
    }

    /// Whether an operator between queries is here.
    pub(super) fn at_set_operator(&self) -> bool {
        self.at_any(&["UNION", "EXCEPT", "INTERSECT"])
    }

    /// A query inside parentheses whose first part was read, in parentheses of its own: `(SELECT ...) UNION SELECT ...`.
    pub(super) fn subquery_after(&mut self, first: Query) -> Parsed<Query> {
        if first.for_clause.is_some() {
            return Err(self.unexpected());
        }
        let line = first.line;
        self.inside(|parser| {
            let body = match first.order_by.is_empty() {
                true => first.body,
                false => QueryBody::Ordered(Box::new(first)),
            };
            let body = parser.intersection_after(body)?;
            let body = parser.query_body_after(body)?;
            parser.query_after_body(line, Vec::new(), body)
        })
    }

    fn query_after_body(
        &mut self,
        line: u32,
        common_table_expressions: Vec<CommonTableExpression>,
        body: QueryBody,
    ) -> Parsed<Query> {
        let mut query = self.ordered(line, body)?;
        while self.is_in_subquery && !query.order_by.is_empty() && self.at_set_operator() {
            let body = self.query_body_after(with_last_ordered(query))?;
            query = self.ordered(line, body)?;
        }
        if self.is_in_subquery && !query.order_by.is_empty() && ends_in_top(&query.body) {
            query = self.bare_query(line, with_last_ordered(query));
        }
        query.common_table_expressions = common_table_expressions;
        query.for_clause = self.optional_for_clause()?;
        Ok(query)
    }

    fn bare_query(&mut self, line: u32, body: QueryBody) -> Query {
        Query {
            line,
            number: self.next_number(),
            common_table_expressions: Vec::new(),
            body,
            order_by: Vec::new(),
            offset: None,
            fetch: None,
            for_clause: None,
            hints: Vec::new(),
        }
    }

    /// A body with the ORDER BY, OFFSET and FETCH behind it.
    fn ordered(&mut self, line: u32, body: QueryBody) -> Parsed<Query> {
        let order_by = self.optional_order_by()?;
        let (mut offset, mut fetch) = (None, None);
        if !order_by.is_empty() && self.eat_word("OFFSET")? {
            offset = Some(self.expression()?);
            self.expect_row_word()?;
            if self.at_word("FETCH") && (self.peek_word(1, "APPROX")? || self.peek_word(1, "APPROXIMATE")?) {
                return Err(ParseError::not_supported(self.line(), "FETCH APPROXIMATE"));
            }
            if self.at_word("FETCH") && (self.peek_word(1, "NEXT")? || self.peek_word(1, "FIRST")?) {
                self.advance()?;
                self.advance()?;
                fetch = Some(self.expression()?);
                self.expect_row_word()?;
                self.expect_word("ONLY")?;
            }
        }
        Ok(Query {
            order_by,
            offset,
            fetch,
            ..self.bare_query(line, body)
        })
    }

    fn expect_row_word(&mut self) -> Parsed<()> {
        if self.eat_word("ROWS")? {
            Ok(())
        } else {
            self.expect_word("ROW")
        }
    }

    /// `WITH [XMLNAMESPACES (...),] name AS (...), ...`, if it is here. The namespaces hold to the end of the statement.
    pub(super) fn optional_with(&mut self) -> Parsed<Vec<CommonTableExpression>> {
        if !self.eat_word("WITH")? {
            return Ok(Vec::new());
        }
        if self.at_word("XMLNAMESPACES") {
            self.advance()?;
            self.xml_namespaces = Some(self.xml_namespaces()?);
            if !self.eat(b',')? {
                return Ok(Vec::new());
            }
        }
        self.common_table_expressions()
    }

    /// `name AS (...), ...`, the word WITH being read.
    fn common_table_expressions(&mut self) -> Parsed<Vec<CommonTableExpression>> {
        self.list(|parser| {
            let line = parser.line();
            if parser.at_word("XMLNAMESPACES") {
                return Err(parser.unexpected());
            }
            let name = parser.identifier()?;
            let columns = parser.optional_columns()?;
            parser.expect_word("AS")?;
            parser.expect(b'(')?;
            let query = parser.subquery()?;
            parser.expect(b')')?;
            Ok(CommonTableExpression {
                line,
                name,
                columns,
                query,
            })
        })
    }

    fn query_body(&mut self) -> Parsed<QueryBody> {
        let first = self.intersection()?;
        self.query_body_after(first)
    }

    fn query_body_after(&mut self, first: QueryBody) -> Parsed<QueryBody> {
        let mut others = Vec::new();
        loop {
            let operator = if self.eat_word("UNION")? {
                if self.eat_word("ALL")? {
                    SetOperator::UnionAll
                } else {
                    SetOperator::Union
                }
            } else if self.eat_word("EXCEPT")? {
                SetOperator::Except
            } else {
                break;
            };
            others.push((operator, self.intersection()?));
        }
        Ok(set_operations(first, others))
    }

    fn intersection(&mut self) -> Parsed<QueryBody> {
        let first = self.query_term()?;
        self.intersection_after(first)
    }

    fn intersection_after(&mut self, first: QueryBody) -> Parsed<QueryBody> {
        let mut others = Vec::new();
        while self.eat_word("INTERSECT")? {
            others.push((SetOperator::Intersect, self.query_term()?));
        }
        Ok(set_operations(first, others))
    }

    fn query_term(&mut self) -> Parsed<QueryBody> {
        if self.at(b'(') {
            return self.nested(|parser| {
                parser.expect(b'(')?;
                let line = parser.line();
                let mut body = parser.query_body()?;
                if parser.is_in_subquery && parser.at_word("ORDER") && matches!(body, QueryBody::Select(_)) {
                    body = QueryBody::Ordered(Box::new(parser.ordered(line, body)?));
                }
                parser.expect(b')')?;
                Ok(body)
            });
        }
        self.select().map(|select| QueryBody::Select(Box::new(select)))
    }

    fn select(&mut self) -> Parsed<Select> {
        self.charge(SELECT_BYTES)?;
        let line = self.line();
        self.expect_word("SELECT")?;
        let distinct = self.eat_word("DISTINCT")?;
        if !distinct {
            self.eat_word("ALL")?;
        }
        let top = self.optional_top()?;
        let items = self.list(Self::select_item)?;
        let into = if self.eat_word("INTO")? {
            Some(self.name()?)
        } else {
            None
        };
        let into_filegroup = if into.is_some() && self.eat_word("ON")? {
            Some(self.filegroup()?)
        } else {
            None
        };
        let from = if self.eat_word("FROM")? {
            self.table_sources()?
        } else {
            Vec::new()
        };
        let selection = if self.eat_word("WHERE")? {
            Some(self.condition()?)
        } else {
            None
        };
        let group_by = self.optional_group_by()?;
        let having = if self.eat_word("HAVING")? {
            Some(self.condition()?)
        } else {
            None
        };
        let windows = if self.at_window_clause()? {
            self.advance()?;
            self.list(Self::named_window)?
        } else {
            Vec::new()
        };
        Ok(Select {
            line,
            distinct,
            top,
            items,
            into,
            into_filegroup,
            from,
            selection,
            group_by,
            having,
            windows,
        })
    }

    /// True at `WINDOW name AS (`: the word is not reserved (sql-docs, "Reserved keywords").
    pub(super) fn at_window_clause(&self) -> Parsed<bool> {
        Ok(self.at_word("WINDOW") && self.peek_word(2, "AS")? && self.peek_symbol(3, b'(')?)
    }

    fn named_window(&mut self) -> Parsed<NamedWindow> {
        let name = self.identifier()?;
        self.expect_word("AS")?;
        let window = self.nested(Self::over)?;
        Ok(NamedWindow { name, window })
    }

    /// `TOP (n) [PERCENT] [WITH TIES]`; without parentheses only a constant or variable.
    pub(super) fn optional_top(&mut self) -> Parsed<Option<Top>> {
        if !self.eat_word("TOP")? {
            return Ok(None);
        }
        let bare = matches!(
            self.token.kind,
            TokenKind::Number | TokenKind::Float | TokenKind::Variable
        );
        if !bare && !self.at(b'(') {
            return Err(self.unexpected());
        }
        let count = self.primary(false)?;
        let percent = self.eat_word("PERCENT")?;
        if self.at_words(&["WITH", "APPROXIMATE"])? {
            return Err(ParseError::not_supported(self.line(), "WITH APPROXIMATE"));
        }
        let with_ties = self.at_word("WITH") && self.eat_words(&["WITH", "TIES"])?;
        Ok(Some(Top {
            count,
            percent,
            with_ties,
        }))
    }

    /// One item of a select list or of OUTPUT.
    pub(super) fn select_item(&mut self) -> Parsed<SelectItem> {
        let line = self.line();
        if self.eat(b'*')? {
            return Ok(SelectItem::Wildcard { line, qualifier: None });
        }
        if self.token.kind == TokenKind::Variable {
            if let Some(operator) = self.assignment_operator_at(1)? {
                let variable = self.variable()?;
                self.advance()?;
                let value = self.expression()?;
                return Ok(SelectItem::Assignment {
                    variable,
                    operator,
                    value,
                });
            }
        } else if (self.at_identifier() || self.at_string()) && self.peek_symbol(1, b'=')? {
            let alias = if self.at_string() {
                Identifier {
                    text: self.string()?,
                    quoted: true,
                }
            } else {
                self.identifier()?
            };
            self.advance()?;
            let expression = self.expression()?;
            return Ok(SelectItem::Expression {
                expression,
                alias: Some(alias),
            });
        }
        if let Some(item) = self.qualified_wildcard()? {
            return Ok(item);
        }
        let expression = self.expression()?;
        let alias = self.optional_alias()?;
        Ok(SelectItem::Expression { expression, alias })
    }

    /// `t.*` and `a.b.c.*`, looked for without moving.
    fn qualified_wildcard(&mut self) -> Parsed<Option<SelectItem>> {
        if !self.at_identifier() || !self.peek_symbol(1, b'.')? {
            return Ok(None);
        }
        let mut ahead = 2;
        while ahead < 9 {
            let token = self.peek(ahead)?;
            if token.kind == TokenKind::Symbol(b'*', 0) {
                let line = self.line();
                let qualifier = Some(self.name()?);
                self.expect(b'.')?;
                self.expect(b'*')?;
                return Ok(Some(SelectItem::Wildcard { line, qualifier }));
            }
            if token.kind == TokenKind::Symbol(b'.', 0) {
                ahead += 1;
            } else if self.is_identifier(token) && self.peek_symbol(ahead + 1, b'.')? {
                ahead += 2;
            } else {
                return Ok(None);
            }
        }
        Ok(None)
    }

    /// The assignment operator `ahead` places on.
    pub(super) fn assignment_operator_at(&self, ahead: usize) -> Parsed<Option<AssignmentOperator>> {
        let TokenKind::Symbol(first, second) = self.peek(ahead)?.kind else {
            return Ok(None);
        };
        if (first, second) == (b'=', 0) {
            return Ok(Some(AssignmentOperator::Assign));
        }
        if second != b'=' {
            return Ok(None);
        }
        Ok(Some(AssignmentOperator::Compound(match first {
            b'+' => BinaryOperator::Add,
            b'-' => BinaryOperator::Subtract,
            b'*' => BinaryOperator::Multiply,
            b'/' => BinaryOperator::Divide,
            b'%' => BinaryOperator::Modulo,
            b'&' => BinaryOperator::BitAnd,
            b'|' => BinaryOperator::BitOr,
            b'^' => BinaryOperator::BitXor,
            _ => return Ok(None),
        })))
    }

    fn optional_group_by(&mut self) -> Parsed<Vec<GroupItem>> {
        if !self.eat_word("GROUP")? {
            return Ok(Vec::new());
        }
        self.expect_word("BY")?;
        if self.at_word("ALL") {
            return Err(ParseError::not_supported(self.line(), "GROUP BY ALL"));
        }
        let items = self.list(Self::group_item)?;
        if self.at_word("WITH") && self.eat_words(&["WITH", "ROLLUP"])? {
            return Ok(vec![GroupItem::Rollup(items)]);
        }
        if self.at_word("WITH") && self.eat_words(&["WITH", "CUBE"])? {
            return Ok(vec![GroupItem::Cube(items)]);
        }
        Ok(items)
    }

    fn group_item(&mut self) -> Parsed<GroupItem> {
        self.nested(|parser| {
            if parser.at_any(&["ROLLUP", "CUBE"]) && parser.peek_symbol(1, b'(')? {
                let rollup = parser.any_word()? == "ROLLUP";
                let items = parser.enclosed(Self::group_item)?;
                return Ok(if rollup {
                    GroupItem::Rollup(items)
                } else {
                    GroupItem::Cube(items)
                });
            }
            if parser.at_word("GROUPING") && parser.eat_words(&["GROUPING", "SETS"])? {
                return parser.enclosed(Self::group_item).map(GroupItem::GroupingSets);
            }
            if parser.at(b'(') && parser.peek_symbol(1, b')')? {
                parser.advance()?;
                parser.advance()?;
                return Ok(GroupItem::Empty);
            }
            if parser.at(b'(') {
                return parser.composite_group();
            }
            parser.expression().map(GroupItem::Expression)
        })
    }

    /// `(a, b)`, or an expression that happens to start with a parenthesis.
    fn composite_group(&mut self) -> Parsed<GroupItem> {
        let start = (self.lexer, self.token, self.previous);
        self.expect(b'(')?;
        if !self.at_query()? {
            let items: Vec<Expression> = self.list(Self::expression)?;
            self.expect(b')')?;
            let goes_on = self.binary_operator().is_some() || self.at_any(&["COLLATE", "AT"]);
            if !goes_on {
                return Ok(GroupItem::Composite(items));
            }
        }
        (self.lexer, self.token, self.previous) = start;
        self.expression().map(GroupItem::Expression)
    }

    /// `OPTION (hints)`, if it is here.
    pub(super) fn optional_query_hints(&mut self) -> Parsed<Vec<QueryHint>> {
        if !self.eat_word("OPTION")? {
            return Ok(Vec::new());
        }
        self.enclosed(Self::query_hint)
    }

    fn query_hint(&mut self) -> Parsed<QueryHint> {
        let mut name = self.any_word()?;
        loop {
            if self.token.kind == TokenKind::Word {
                name.push(' ');
                name.push_str(&self.any_word()?);
                continue;
            }
            self.eat(b'=')?;
            let value = match self.token.kind {
                TokenKind::Number | TokenKind::Text | TokenKind::NationalText => {
                    let token = self.advance()?;
                    Some(self.plain(token))
                }
                TokenKind::Symbol(b'(', 0) => Some(self.balanced_text()?),
                TokenKind::Symbol(b',' | b')', 0) => None,
                _ => return Err(self.unexpected()),
            };
            return Ok(QueryHint { name, value });
        }
    }

    /// The text of a parenthesis with all it holds, without the outer pair.
    pub(super) fn balanced_text(&mut self) -> Parsed<String> {
        let start = self.token.end;
        self.expect(b'(')?;
        let mut depth = 1_usize;
        loop {
            if self.at_end() {
                return Err(self.unexpected());
            }
            let token = self.advance()?;
            match token.kind {
                TokenKind::Symbol(b'(', 0) => depth += 1,
                TokenKind::Symbol(b')', 0) => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return Ok(self.text_between(start, token.start).trim().to_owned());
            }
        }
    }

    /// Error for a clause that is known but not done, if the word is here.
    pub(super) fn refuse(&self, words: &[&str]) -> Parsed<()> {
        if self.at_any(words) {
            return Err(ParseError::not_supported(
                self.line(),
                &self.current().to_ascii_uppercase(),
            ));
        }
        Ok(())
    }
}
