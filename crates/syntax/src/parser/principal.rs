//! Principals and permissions: CREATE, ALTER and DROP ROLE and USER, ALTER AUTHORIZATION, GRANT, DENY and REVOKE.

use super::{Parsed, Parser};
use crate::ast::{
    Identifier, Permission, PermissionAction, PermissionWords, PrincipalStatement, RoleChange, Securable,
    StatementKind, UserOption, UserSource,
};
use crate::error::ParseError;
use crate::lexer::TokenKind;

/// `REMOTE SERVICE BINDING`, `SEARCH PROPERTY LIST` and `XML SCHEMA COLLECTION` are the longest classes of securables.
const CLASS_WORDS_MAX: usize = 3;

/// Permissions that may be given on columns (sql-docs, "GRANT object permissions"; UNMASK since SQL Server 2022).
const OF_COLUMNS: [&str; 6] = ["ALL", "ALL PRIVILEGES", "REFERENCES", "SELECT", "UNMASK", "UPDATE"];

fn statement(principal: PrincipalStatement) -> StatementKind {
    StatementKind::Principal(Box::new(principal))
}

impl Parser<'_> {
    /// `name [AUTHORIZATION owner]`, CREATE ROLE being read.
    pub(super) fn create_role(&mut self) -> Parsed<StatementKind> {
        let name = self.identifier()?;
        let owner = match self.eat_word("AUTHORIZATION")? {
            true => Some(self.identifier()?),
            false => None,
        };
        Ok(statement(PrincipalStatement::CreateRole { name, owner }))
    }

    /// `name ADD MEMBER member | DROP MEMBER member | WITH NAME = name`, ALTER ROLE being read.
    pub(super) fn alter_role(&mut self) -> Parsed<StatementKind> {
        let name = self.identifier()?;
        let change = if self.eat_word("ADD")? {
            self.expect_word("MEMBER")?;
            RoleChange::AddMember(self.identifier()?)
        } else if self.eat_word("DROP")? {
            self.expect_word("MEMBER")?;
            RoleChange::DropMember(self.identifier()?)
        } else {
            self.expect_word("WITH")?;
            self.expect_word("NAME")?;
            self.expect(b'=')?;
            RoleChange::Rename(self.identifier()?)
        };
        Ok(statement(PrincipalStatement::AlterRole { name, change }))
    }

    /// `[IF EXISTS] name`, DROP ROLE or DROP USER being read.
    pub(super) fn drop_principal(&mut self, is_role: bool) -> Parsed<StatementKind> {
        let if_exists = self.if_exists()?;
        let name = self.identifier()?;
        Ok(statement(match is_role {
            true => PrincipalStatement::DropRole { name, if_exists },
            false => PrincipalStatement::DropUser { name, if_exists },
        }))
    }

    /// `name [source] [WITH options]`, CREATE USER being read. Users of certificates, keys and external providers are refused by those words.
    pub(super) fn create_user(&mut self) -> Parsed<StatementKind> {
        let name = self.identifier()?;
        let mut source = UserSource::Login(name.clone());
        if self.eat_word("WITHOUT")? {
            self.expect_word("LOGIN")?;
            source = UserSource::WithoutLogin;
        } else if self.eat_word("FOR")? || self.eat_word("FROM")? {
            self.refuse(&["ASYMMETRIC", "CERTIFICATE", "EXTERNAL"])?;
            self.expect_word("LOGIN")?;
            source = UserSource::Login(self.identifier()?);
        }
        let options = match self.eat_word("WITH")? {
            true => self.list(Self::user_option)?,
            false => Vec::new(),
        };
        let is_of_alter = |option: &UserOption| matches!(option, UserOption::Name(_) | UserOption::Login(_));
        if options.iter().any(is_of_alter) {
            return Err(self.unexpected());
        }
        if options.contains(&UserOption::Password) {
            source = UserSource::Password;
        }
        Ok(statement(PrincipalStatement::CreateUser { name, source, options }))
    }

    /// `name WITH options`, ALTER USER being read.
    pub(super) fn alter_user(&mut self) -> Parsed<StatementKind> {
        let name = self.identifier()?;
        self.expect_word("WITH")?;
        let options = self.list(Self::user_option)?;
        Ok(statement(PrincipalStatement::AlterUser { name, options }))
    }

    /// `NAME = name` and its like. Options of contained databases and of external providers are refused by their words.
    fn user_option(&mut self) -> Parsed<UserOption> {
        self.refuse(&["DEFAULT_LANGUAGE", "OBJECT_ID", "SID", "TYPE"])?;
        let line = self.line();
        let word = self.any_word()?;
        self.expect(b'=')?;
        Ok(match word.as_str() {
            "NAME" => UserOption::Name(self.identifier()?),
            "LOGIN" => UserOption::Login(self.identifier()?),
            "DEFAULT_SCHEMA" => {
                self.refuse(&["NULL"])?;
                UserOption::DefaultSchema(self.identifier()?)
            }
            "ALLOW_ENCRYPTED_VALUE_MODIFICATIONS" => {
                let is_on = self.eat_word("ON")?;
                if !is_on {
                    self.expect_word("OFF")?;
                }
                UserOption::AllowEncryptedModifications(is_on)
            }
            "PASSWORD" => {
                self.option_value()?;
                if self.eat_word("OLD_PASSWORD")? {
                    self.expect(b'=')?;
                    self.option_value()?;
                }
                UserOption::Password
            }
            other => return Err(ParseError::near(line, other)),
        })
    }

    /// `ON [class::]name TO owner | SCHEMA OWNER`, ALTER AUTHORIZATION being read.
    pub(super) fn alter_authorization(&mut self) -> Parsed<StatementKind> {
        self.expect_word("ON")?;
        let class = self.securable_class()?;
        let name = self.name()?;
        self.expect_word("TO")?;
        let owner = match self.eat_words(&["SCHEMA", "OWNER"])? {
            true => None,
            false => Some(self.identifier()?),
        };
        Ok(statement(PrincipalStatement::AlterAuthorization { class, name, owner }))
    }

    /// `GRANT | DENY | REVOKE permissions [ON securable] TO principals`.
    pub(super) fn permission(&mut self) -> Parsed<StatementKind> {
        let action = match self.any_word()?.as_str() {
            "GRANT" => PermissionAction::Grant,
            "DENY" => PermissionAction::Deny,
            _ => PermissionAction::Revoke,
        };
        let mut grant_option = action == PermissionAction::Revoke
            && self.at_word("GRANT")
            && self.eat_words(&["GRANT", "OPTION", "FOR"])?;
        let permissions = self.list(Self::permission_words)?;
        let securable = match self.eat_word("ON")? {
            true => Some(self.securable()?),
            false => None,
        };
        self.check_columns(&permissions, securable.as_ref())?;
        if !(action == PermissionAction::Revoke && self.eat_word("FROM")?) {
            self.expect_word("TO")?;
        }
        let principals = self.list(Self::grantee)?;
        if action == PermissionAction::Grant && self.at_word("WITH") && self.peek_word(1, "GRANT")? {
            self.advance()?;
            self.advance()?;
            self.expect_word("OPTION")?;
            grant_option = true;
        }
        let cascade = action != PermissionAction::Grant && self.eat_word("CASCADE")?;
        let grantor = match self.eat_word("AS")? {
            true => Some(self.grantee()?),
            false => None,
        };
        Ok(StatementKind::Permission(Box::new(Permission {
            action,
            permissions,
            securable,
            principals,
            grant_option,
            cascade,
            grantor,
        })))
    }

    /// A principal; `public` and `null` are keywords that may stand for one.
    fn grantee(&mut self) -> Parsed<Identifier> {
        match self.at_any(&["PUBLIC", "NULL"]) {
            true => self.take_identifier(),
            false => self.identifier(),
        }
    }

    /// A permission: its words, and in parentheses the columns it is for.
    fn permission_words(&mut self) -> Parsed<PermissionWords> {
        let line = self.line();
        let mut words = self.any_word()?;
        while self.token.kind == TokenKind::Word && !self.at_any(&["ON", "TO", "FROM"]) {
            words.push(' ');
            words.push_str(&self.any_word()?);
        }
        if words == "EXEC" {
            words = "EXECUTE".to_owned();
        }
        let columns = self.optional_columns()?;
        Ok(PermissionWords { line, words, columns })
    }

    /// Columns stand behind the permission or behind the object, of permissions that columns have.
    ///
    /// # Errors
    /// 1019 for both places; 1020 for a permission, or a class, that has no columns.
    fn check_columns(&self, permissions: &[PermissionWords], securable: Option<&Securable>) -> Parsed<()> {
        let own = permissions.iter().any(|permission| !permission.columns.is_empty());
        let behind = securable.is_some_and(|securable| !securable.columns.is_empty());
        if own && behind {
            let text = "Invalid column list after object name in GRANT/REVOKE statement.";
            return Err(ParseError::new(1019, self.line(), text));
        }
        let is_of_objects =
            securable.is_some_and(|securable| matches!(securable.class.as_deref(), None | Some("OBJECT")));
        let has_none = |permission: &PermissionWords| {
            let has_columns = behind || !permission.columns.is_empty();
            has_columns && !(is_of_objects && OF_COLUMNS.contains(&permission.words.as_str()))
        };
        match permissions.iter().any(has_none) {
            true => {
                let text = "Sub-entity lists (such as column or security expressions) cannot be specified for entity-level permissions.";
                Err(ParseError::new(1020, self.line(), text))
            }
            false => Ok(()),
        }
    }

    /// The words of a class and the `::` behind them, such as `XML SCHEMA COLLECTION::`.
    fn securable_class(&mut self) -> Parsed<Option<String>> {
        let mut count = 0;
        while count < CLASS_WORDS_MAX && self.peek(count)?.kind == TokenKind::Word {
            count += 1;
        }
        if count == 0 || self.peek(count)?.kind != TokenKind::Symbol(b':', b':') {
            return Ok(None);
        }
        let mut words = self.any_word()?;
        for _ in 1..count {
            words.push(' ');
            words.push_str(&self.any_word()?);
        }
        self.advance()?;
        Ok(Some(words))
    }

    fn securable(&mut self) -> Parsed<Securable> {
        let class = self.securable_class()?;
        let name = self.name()?;
        let columns = self.optional_columns()?;
        Ok(Securable { class, name, columns })
    }
}
