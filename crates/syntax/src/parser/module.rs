//! Procedures, functions, views and triggers.

use super::{Parsed, Parser};
use crate::ast::{
    CreateDatabaseTrigger, CreateFunction, CreateProcedure, CreateTrigger, CreateView, DataType, DefinitionKind,
    FunctionBody, Name, Parameter, Statement, StatementKind, SwitchTriggers, TriggerEvent,
};
use crate::error::ParseError;
use crate::lexer::{Lexer, TokenKind};

impl Parser<'_> {
    /// A module, from its kind on; `start` is where its CREATE or ALTER begins. It must be alone in its batch.
    pub(super) fn module(&mut self, definition: DefinitionKind, start: usize) -> Parsed<StatementKind> {
        let kind = self.any_word()?;
        let verb = match definition {
            DefinitionKind::Create | DefinitionKind::CreateOrAlter => "CREATE",
            DefinitionKind::Alter => "ALTER",
        };
        let full_kind = if kind == "PROC" { "PROCEDURE" } else { &kind };
        self.require_first(start, &format!("{verb} {full_kind}"))?;
        self.is_in_module = true;
        match kind.as_str() {
            "VIEW" => self.view(definition),
            "FUNCTION" => self.function(definition),
            "TRIGGER" => self.trigger(definition),
            _ => self.procedure(definition),
        }
    }

    /// Error 111 unless the statement that begins at `start` is the first of the text.
    pub(super) fn require_first(&self, start: usize, statement: &str) -> Parsed<()> {
        if Lexer::new(self.text, true).next_token()?.start == start {
            return Ok(());
        }
        let text = format!("'{statement}' must be the first statement in a query batch.");
        Err(ParseError::new(111, self.previous.line, text))
    }

    fn module_options(&mut self) -> Parsed<Vec<String>> {
        if !self.eat_word("WITH")? {
            return Ok(Vec::new());
        }
        self.list(|parser| {
            let mut words = parser.any_word()?;
            if matches!(words.as_str(), "EXECUTE" | "EXEC") {
                parser.expect_word("AS")?;
                words.push_str(" AS ");
                words.push_str(&if parser.at_string() {
                    format!("'{}'", parser.string()?)
                } else {
                    parser.any_word()?
                });
            }
            if words == "INLINE" {
                parser.expect(b'=')?;
                words.push_str(if parser.on_or_off()? { " = ON" } else { " = OFF" });
            }
            let returns_null = words == "RETURNS" || words == "CALLED";
            while returns_null && parser.token.kind == TokenKind::Word && !parser.at_word("AS") {
                words.push(' ');
                words.push_str(&parser.any_word()?);
            }
            Ok(words)
        })
    }

    fn parameter(&mut self) -> Parsed<Parameter> {
        let name = self.variable()?;
        self.eat_word("AS")?;
        if self.at_word("CURSOR") {
            return self.cursor_parameter(name);
        }
        let data_type = self.data_type()?;
        self.optional_nullable()?;
        let default = if self.eat(b'=')? {
            Some(self.argument_value()?)
        } else {
            None
        };
        let output = self.eat_word("OUTPUT")? || self.eat_word("OUT")?;
        let read_only = self.eat_word("READONLY")?;
        Ok(Parameter {
            name,
            data_type,
            default,
            output,
            read_only,
            is_cursor: false,
        })
    }

    /// `CURSOR VARYING OUTPUT` behind the name of a parameter.
    ///
    /// # Errors
    /// 1051 for other words in its place.
    fn cursor_parameter(&mut self, name: String) -> Parsed<Parameter> {
        let line = self.line();
        self.expect_word("CURSOR")?;
        let is_whole = self.eat_word("VARYING")? && (self.eat_word("OUTPUT")? || self.eat_word("OUT")?);
        if !is_whole {
            let text = "Cursor parameters in a stored procedure must be declared with OUTPUT and VARYING options, and they must be specified in the order CURSOR VARYING OUTPUT.";
            return Err(ParseError {
                state: 2,
                ..ParseError::new(1051, line, text)
            });
        }
        Ok(Parameter {
            name,
            data_type: DataType {
                name: Name::single("int"),
                arguments: Vec::new(),
            },
            default: None,
            output: true,
            read_only: false,
            is_cursor: true,
        })
    }

    /// Parameters with commas between.
    pub(super) fn parameter_list(&mut self) -> Parsed<Vec<Parameter>> {
        self.list(Self::parameter)
    }

    fn procedure(&mut self, definition: DefinitionKind) -> Parsed<StatementKind> {
        let name = self.name()?;
        self.refuse_procedure_number()?;
        let parameters = if self.at(b'(') {
            self.enclosed(Self::parameter)?
        } else if self.token.kind == TokenKind::Variable {
            self.parameter_list()?
        } else {
            Vec::new()
        };
        let options = self.module_options()?;
        if self.at_word("FOR") && self.peek_word(1, "REPLICATION")? {
            return Err(ParseError::not_supported(self.line(), "FOR REPLICATION"));
        }
        self.expect_word("AS")?;
        self.refuse(&["EXTERNAL"])?;
        // A procedure may have no statements (sql-docs, "CREATE PROCEDURE").
        let body = self.nested(|parser| parser.statements(&[]))?;
        let text = self.text.to_owned();
        let procedure = CreateProcedure {
            definition,
            name,
            parameters,
            options,
            body,
            text,
        };
        Ok(StatementKind::CreateProcedure(Box::new(procedure)))
    }

    fn function(&mut self, definition: DefinitionKind) -> Parsed<StatementKind> {
        let name = self.name()?;
        self.expect(b'(')?;
        let parameters = if self.at(b')') {
            Vec::new()
        } else {
            self.parameter_list()?
        };
        if parameters.iter().any(|parameter| parameter.is_cursor) {
            return Err(ParseError::not_supported(
                self.line(),
                "CURSOR as a parameter of a function",
            ));
        }
        self.expect(b')')?;
        self.expect_word("RETURNS")?;
        let (body, options) = if self.eat_word("TABLE")? {
            if self.at(b'(') {
                return Err(ParseError::not_supported(self.line(), "EXTERNAL NAME"));
            }
            let options = self.module_options()?;
            self.eat_word("AS")?;
            self.expect_word("RETURN")?;
            let query = self.inline_definition(Self::returned_query)?;
            (FunctionBody::InlineTable(Box::new(query)), options)
        } else if self.token.kind == TokenKind::Variable {
            let variable = self.variable()?;
            self.expect_word("TABLE")?;
            let elements = self.table_elements()?;
            let options = self.module_options()?;
            self.eat_word("AS")?;
            let statements = self.function_block()?;
            (
                FunctionBody::Table {
                    variable,
                    elements,
                    statements,
                },
                options,
            )
        } else {
            let returns = self.data_type()?;
            let options = self.module_options()?;
            self.eat_word("AS")?;
            (
                FunctionBody::Scalar {
                    returns,
                    statements: self.function_block()?,
                },
                options,
            )
        };
        let text = self.text.to_owned();
        let function = CreateFunction {
            definition,
            name,
            parameters,
            body,
            options,
            text,
        };
        Ok(StatementKind::CreateFunction(Box::new(function)))
    }

    /// The query of an inline function, with or without parentheses and common table expressions. Parentheses around all of it are
    /// those of RETURN, so ORDER BY may stand in them; what follows a part in parentheses belongs to one query with it.
    /// Reads the query of a view or of an inline function.
    fn inline_definition<T>(&mut self, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        let outer = std::mem::replace(&mut self.is_inline_definition, true);
        let read = read(self);
        self.is_inline_definition = outer;
        read
    }

    fn returned_query(&mut self) -> Parsed<crate::ast::Query> {
        if self.at(b'(') {
            return self.nested(|parser| {
                parser.expect(b'(')?;
                let query = parser.returned_query()?;
                parser.expect(b')')?;
                match parser.at_set_operator() {
                    true => parser.subquery_after(query),
                    false => Ok(query),
                }
            });
        }
        let ctes = self.optional_with()?;
        self.query(ctes)
    }

    fn function_block(&mut self) -> Parsed<Vec<Statement>> {
        self.refuse(&["EXTERNAL"])?;
        self.expect_word("BEGIN")?;
        self.refuse(&["ATOMIC"])?;
        let statements = self.nested(|parser| parser.statements(&["END"]))?;
        self.expect_word("END")?;
        Ok(statements)
    }

    fn trigger(&mut self, definition: DefinitionKind) -> Parsed<StatementKind> {
        let name = self.name()?;
        self.expect_word("ON")?;
        if self.trigger_of_database()? {
            return self.database_trigger(definition, name);
        }
        let parent = self.name()?;
        let options = self.module_options()?;
        let is_instead_of = self.eat_word("INSTEAD")?;
        if is_instead_of {
            self.expect_word("OF")?;
        } else if !self.eat_word("AFTER")? {
            self.expect_word("FOR")?;
        }
        let events = self.trigger_events()?;
        self.refuse(&["WITH"])?;
        let is_not_for_replication = self.eat_word("NOT")?;
        if is_not_for_replication {
            self.expect_word("FOR")?;
            self.expect_word("REPLICATION")?;
        }
        let body = self.trigger_body()?;
        let trigger = CreateTrigger {
            definition,
            name,
            parent,
            options,
            is_instead_of,
            events,
            is_not_for_replication,
            body,
            text: self.text.to_owned(),
        };
        Ok(StatementKind::CreateTrigger(Box::new(trigger)))
    }

    /// `INSERT, UPDATE, DELETE` in any order; an action that is named twice is a syntax error.
    fn trigger_events(&mut self) -> Parsed<Vec<TriggerEvent>> {
        let mut events = Vec::new();
        loop {
            let event = match self.current().to_ascii_uppercase().as_str() {
                "INSERT" => TriggerEvent::Insert,
                "UPDATE" => TriggerEvent::Update,
                "DELETE" => TriggerEvent::Delete,
                _ => return Err(self.unexpected()),
            };
            if events.contains(&event) {
                return Err(self.unexpected());
            }
            self.advance()?;
            events.push(event);
            if !self.eat(b',')? {
                return Ok(events);
            }
        }
    }

    /// The statements of a trigger, from AS on.
    fn trigger_body(&mut self) -> Parsed<Vec<Statement>> {
        self.expect_word("AS")?;
        self.refuse(&["EXTERNAL"])?;
        let body = self.nested(|parser| parser.statements(&[]))?;
        match body.is_empty() {
            true => Err(self.unexpected()),
            false => Ok(body),
        }
    }

    /// A trigger of the database, from what follows ON DATABASE on.
    fn database_trigger(&mut self, definition: DefinitionKind, name: Name) -> Parsed<StatementKind> {
        let options = self.module_options()?;
        if !self.eat_word("AFTER")? {
            self.expect_word("FOR")?;
        }
        let events = self.list(Self::identifier)?;
        let trigger = CreateDatabaseTrigger {
            definition,
            name,
            options,
            events,
            body: self.trigger_body()?,
            text: self.text.to_owned(),
        };
        Ok(StatementKind::CreateDatabaseTrigger(Box::new(trigger)))
    }

    /// Takes DATABASE behind the ON of a trigger, if it is there.
    ///
    /// # Errors
    /// 40517 for triggers of the server, logons among them.
    pub(super) fn trigger_of_database(&mut self) -> Parsed<bool> {
        if self.at_word("ALL") && self.peek_word(1, "SERVER")? {
            return Err(ParseError::not_supported(self.line(), "TRIGGER ON ALL SERVER"));
        }
        self.eat_word("DATABASE")
    }

    /// `ENABLE | DISABLE TRIGGER name, ... | ALL ON table`, from its second word on.
    pub(super) fn switch_triggers(&mut self, enable: bool) -> Parsed<StatementKind> {
        self.expect_word("TRIGGER")?;
        let names = self.trigger_names()?;
        self.expect_word("ON")?;
        let parent = match self.trigger_of_database()? {
            true => None,
            false => Some(self.name()?),
        };
        let switch = SwitchTriggers {
            enable,
            names,
            parent,
            of_table: false,
        };
        Ok(StatementKind::SwitchTriggers(Box::new(switch)))
    }

    /// The same of ALTER TABLE, from TRIGGER on.
    pub(super) fn switch_triggers_of(&mut self, parent: Name, enable: bool) -> Parsed<StatementKind> {
        self.expect_word("TRIGGER")?;
        let switch = SwitchTriggers {
            enable,
            names: self.trigger_names()?,
            parent: Some(parent),
            of_table: true,
        };
        Ok(StatementKind::SwitchTriggers(Box::new(switch)))
    }

    fn trigger_names(&mut self) -> Parsed<Vec<Name>> {
        match self.eat_word("ALL")? {
            true => Ok(Vec::new()),
            false => self.list(Self::name),
        }
    }

    pub(super) fn view(&mut self, definition: DefinitionKind) -> Parsed<StatementKind> {
        let name = self.name()?;
        let columns = self.optional_columns()?;
        let options = self.module_options()?;
        self.expect_word("AS")?;
        let query = self.inline_definition(|parser| {
            let ctes = parser.optional_with()?;
            parser.query(ctes)
        })?;
        let check_option = self.at_word("WITH") && self.eat_words(&["WITH", "CHECK", "OPTION"])?;
        let text = self.text.to_owned();
        let view = CreateView {
            definition,
            name,
            columns,
            options,
            query,
            check_option,
            text,
        };
        Ok(StatementKind::CreateView(Box::new(view)))
    }
}
