//! What follows CREATE, ALTER and DROP.

use super::{Parsed, Parser};
use crate::ast::{
    AlterSchema, CreateSynonym, CreateType, DefinitionKind, Drop, ObjectKind, StatementKind, TypeDefinition,
    XmlSchemaText,
};
use crate::error::ParseError;
use crate::lexer::TokenKind;

/// Object kinds SQL Server defines and this engine does not, by their first word.
const FOREIGN_KINDS: &[&str] = &[
    "AGGREGATE",
    "APPLICATION",
    "ASSEMBLY",
    "ASYMMETRIC",
    "AVAILABILITY",
    "BROKER",
    "CERTIFICATE",
    "COLUMN",
    "COLUMNSTORE",
    "COUNTER",
    "CONTRACT",
    "CREDENTIAL",
    "CRYPTOGRAPHIC",
    "ENDPOINT",
    "EVENT",
    "EXTERNAL",
    "FULLTEXT",
    "JSON",
    "LOGIN",
    "MASTER",
    "MATERIALIZED",
    "MESSAGE",
    "PRIMARY",
    "QUEUE",
    "REMOTE",
    "RESOURCE",
    "ROUTE",
    "SEARCH",
    "SECURITY",
    "SELECTIVE",
    "SENSITIVITY",
    "SERVER",
    "SERVICE",
    "SIGNATURE",
    "SPATIAL",
    "SYMMETRIC",
    "VECTOR",
    "WORKLOAD",
    "XML",
];

impl Parser<'_> {
    pub(super) fn create(&mut self) -> Parsed<StatementKind> {
        let start = self.token.start;
        self.expect_word("CREATE")?;
        let mut definition = DefinitionKind::Create;
        if self.at_word("OR") && self.eat_words(&["OR", "ALTER"])? {
            definition = DefinitionKind::CreateOrAlter;
        }
        if self.at_any(&["PROC", "PROCEDURE", "FUNCTION", "VIEW", "TRIGGER"]) {
            return self.module(definition, start);
        }
        if definition == DefinitionKind::CreateOrAlter {
            return Err(self.unexpected());
        }
        if self.at_word("TABLE") {
            return self.create_table();
        }
        if self.at_word("DATABASE") {
            if self.peek_word(1, "AUDIT")? || self.peek_word(1, "ENCRYPTION")? || self.peek_word(1, "SCOPED")? {
                return Err(ParseError::not_supported(
                    self.line(),
                    "DATABASE AUDIT, ENCRYPTION, SCOPED",
                ));
            }
            return self.create_database();
        }
        if self.at_any(&["UNIQUE", "CLUSTERED", "NONCLUSTERED", "INDEX"]) {
            return self.create_index();
        }
        if self.eat_word("SCHEMA")? {
            self.require_first(start, "CREATE SCHEMA")?;
            return self.create_schema();
        }
        if self.eat_word("TYPE")? {
            return self.create_type();
        }
        if self.eat_word("STATISTICS")? {
            return self.create_statistics();
        }
        if self.eat_word("SEQUENCE")? {
            return self.sequence(DefinitionKind::Create);
        }
        if self.eat_word("SYNONYM")? {
            return self.create_synonym();
        }
        if self.at_any(&["DEFAULT", "RULE"]) {
            return self.create_standalone(start);
        }
        if self.eat_word("PARTITION")? {
            return self.create_partition();
        }
        if self.eat_word("ROLE")? {
            return self.create_role();
        }
        if self.eat_word("USER")? {
            return self.create_user();
        }
        if self.at_xml_schema()? {
            return self.xml_schema(DefinitionKind::Create, "AS");
        }
        if self.at_full_text()? {
            return self.create_full_text();
        }
        self.refuse(FOREIGN_KINDS)?;
        Err(self.unexpected())
    }

    fn at_xml_schema(&self) -> Parsed<bool> {
        Ok(self.at_word("XML") && self.peek_word(1, "SCHEMA")? && self.peek_word(2, "COLLECTION")?)
    }

    /// A collection, from the word XML on; its text is a constant or a variable.
    fn xml_schema(&mut self, definition: DefinitionKind, word: &str) -> Parsed<StatementKind> {
        self.eat_words(&["XML", "SCHEMA", "COLLECTION"])?;
        let name = self.name()?;
        self.expect_word(word)?;
        if !self.at_string() && self.token.kind != TokenKind::Variable {
            return Err(self.unexpected());
        }
        let text = self.primary(false)?;
        Ok(StatementKind::XmlSchema(Box::new(XmlSchemaText {
            definition,
            name,
            text,
        })))
    }

    fn create_synonym(&mut self) -> Parsed<StatementKind> {
        let name = self.name()?;
        self.expect_word("FOR")?;
        let base = self.name()?;
        Ok(StatementKind::CreateSynonym(Box::new(CreateSynonym { name, base })))
    }

    fn create_type(&mut self) -> Parsed<StatementKind> {
        let name = self.name()?;
        self.refuse(&["EXTERNAL"])?;
        let definition = if self.eat_word("FROM")? {
            let data_type = self.data_type()?;
            TypeDefinition::Alias {
                data_type,
                nullable: self.optional_nullable()?,
            }
        } else {
            self.expect_word("AS")?;
            self.expect_word("TABLE")?;
            let elements = self.table_elements()?;
            if self.at_word("WITH") && self.peek_symbol(1, b'(')? && self.peek_word(2, "MEMORY_OPTIMIZED")? {
                return Err(ParseError::not_supported(self.line(), "MEMORY_OPTIMIZED"));
            }
            TypeDefinition::Table(elements)
        };
        Ok(StatementKind::CreateType(Box::new(CreateType { name, definition })))
    }

    pub(super) fn alter(&mut self) -> Parsed<StatementKind> {
        let start = self.token.start;
        self.expect_word("ALTER")?;
        if self.at_any(&["PROC", "PROCEDURE", "FUNCTION", "VIEW", "TRIGGER"]) {
            return self.module(DefinitionKind::Alter, start);
        }
        if self.at_word("TABLE") {
            return self.alter_table();
        }
        if self.at_word("INDEX") {
            return self.alter_index();
        }
        if self.at_word("DATABASE") {
            return self.alter_database();
        }
        if self.eat_word("SEQUENCE")? {
            return self.sequence(DefinitionKind::Alter);
        }
        if self.at_xml_schema()? {
            return self.xml_schema(DefinitionKind::Alter, "ADD");
        }
        if self.eat_word("PARTITION")? {
            return self.alter_partition();
        }
        if self.eat_word("SCHEMA")? {
            return self.alter_schema();
        }
        if self.eat_word("ROLE")? {
            return self.alter_role();
        }
        if self.eat_word("USER")? {
            return self.alter_user();
        }
        if self.eat_word("AUTHORIZATION")? {
            return self.alter_authorization();
        }
        self.refuse(FOREIGN_KINDS)?;
        Err(self.unexpected())
    }

    /// `schema TRANSFER [OBJECT::]name`, ALTER SCHEMA being read. Types and schema collections stay where they are.
    fn alter_schema(&mut self) -> Parsed<StatementKind> {
        let schema = self.identifier()?;
        self.expect_word("TRANSFER")?;
        if self.at_word("XML") && self.peek_word(1, "SCHEMA")? {
            self.refuse(&["XML"])?;
        }
        if self.peek(1)?.kind == TokenKind::Symbol(b':', b':') {
            self.refuse(&["TYPE"])?;
            self.expect_word("OBJECT")?;
            self.advance()?;
        }
        let name = self.name()?;
        Ok(StatementKind::AlterSchema(Box::new(AlterSchema { schema, name })))
    }

    pub(super) fn drop_statement(&mut self) -> Parsed<StatementKind> {
        self.expect_word("DROP")?;
        if self.at_word("INDEX") {
            return self.drop_index();
        }
        if self.eat_word("STATISTICS")? {
            return self.drop_statistics();
        }
        if self.at_xml_schema()? {
            self.eat_words(&["XML", "SCHEMA", "COLLECTION"])?;
            let drop = Drop {
                kind: ObjectKind::XmlSchemaCollection,
                if_exists: false,
                names: vec![self.name()?],
            };
            return Ok(StatementKind::Drop(Box::new(drop)));
        }
        if self.at_full_text()? {
            return self.drop_full_text();
        }
        if self.eat_word("PARTITION")? {
            return self.drop_partition();
        }
        if self.at_any(&["ROLE", "USER"]) {
            let is_role = self.at_word("ROLE");
            self.advance()?;
            return self.drop_principal(is_role);
        }
        self.refuse(FOREIGN_KINDS)?;
        let kind = match self.current().to_ascii_uppercase().as_str() {
            "TABLE" => ObjectKind::Table,
            "VIEW" => ObjectKind::View,
            "PROC" | "PROCEDURE" => ObjectKind::Procedure,
            "FUNCTION" => ObjectKind::Function,
            "TRIGGER" => ObjectKind::Trigger,
            "SEQUENCE" => ObjectKind::Sequence,
            "SYNONYM" => ObjectKind::Synonym,
            "DEFAULT" => ObjectKind::Default,
            "RULE" => ObjectKind::Rule,
            "SCHEMA" => ObjectKind::Schema,
            "TYPE" => ObjectKind::Type,
            "DATABASE" => ObjectKind::Database,
            _ => return Err(self.unexpected()),
        };
        self.advance()?;
        let if_exists = self.if_exists()?;
        // One synonym at a time (sql-docs, DROP SYNONYM).
        let names = match kind {
            ObjectKind::Synonym => vec![self.name()?],
            _ => self.list(Self::name)?,
        };
        let kind = match kind == ObjectKind::Trigger && self.eat_word("ON")? {
            true if self.trigger_of_database()? => ObjectKind::DatabaseTrigger,
            true => return Err(self.unexpected()),
            false => kind,
        };
        Ok(StatementKind::Drop(Box::new(Drop { kind, if_exists, names })))
    }
}
