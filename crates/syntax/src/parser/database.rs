//! CREATE and ALTER DATABASE, BACKUP and RESTORE.

use super::{Parsed, Parser};
use crate::ast::*;
use crate::error::ParseError;
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// `DATABASE name ...`, CREATE being read.
    pub(super) fn create_database(&mut self) -> Parsed<StatementKind> {
        self.expect_word("DATABASE")?;
        let name = self.identifier()?;
        let mut database = CreateDatabase {
            name,
            containment: None,
            files: Vec::new(),
            filegroups: Vec::new(),
            log_files: Vec::new(),
            collation: None,
            attach: None,
            snapshot_of: None,
            copy_of: None,
            options: Vec::new(),
        };
        if self.eat_word("CONTAINMENT")? {
            self.expect(b'=')?;
            database.containment = Some(self.any_word()?);
        }
        if self.eat_word("ON")? {
            self.primary_files(&mut database)?;
        }
        if self.at_word("LOG") && self.eat_words(&["LOG", "ON"])? {
            database.log_files = self.list(Self::file_specification)?;
        }
        if self.eat_word("COLLATE")? {
            database.collation = Some(self.identifier()?);
        }
        if self.eat_word("FOR")? {
            database.attach = Some(match self.any_word()?.as_str() {
                "ATTACH" => Attach::Attach,
                "ATTACH_REBUILD_LOG" => Attach::RebuildLog,
                "ATTACH_FORCE_REBUILD_LOG" => {
                    let line = self.previous.line;
                    return Err(ParseError::not_supported(line, "ATTACH_FORCE_REBUILD_LOG"));
                }
                _ => return Err(ParseError::near(self.previous.line, self.slice(self.previous))),
            });
        }
        // A snapshot has no log of its own, and says of each file its name and its place.
        let may_be_snapshot = database.attach.is_none() && database.log_files.is_empty() && !database.files.is_empty();
        if may_be_snapshot && self.at_word("AS") && self.eat_words(&["AS", "SNAPSHOT", "OF"])? {
            let is_placed = |file: &FileSpecification| !file.name.is_empty() && file.file_name.is_some();
            if let Some(file) = database.files.iter().find(|file| !is_placed(file)) {
                return Err(ParseError::near(file.line, ")"));
            }
            database.snapshot_of = Some(self.identifier()?);
            return Ok(StatementKind::CreateDatabase(Box::new(database)));
        }
        if database.attach.is_none() && self.at_word("AS") && self.eat_words(&["AS", "COPY", "OF"])? {
            database.copy_of = Some(self.copy_source(&database)?);
            return Ok(StatementKind::CreateDatabase(Box::new(database)));
        }
        if self.eat_word("WITH")? {
            database.options = self.list(|parser| {
                let mut option = parser.outer_option()?;
                // TRUSTWORTHY and DB_CHAINING take ON and OFF without an equals sign.
                if option.value.is_none() && parser.at_any(&["ON", "OFF"]) {
                    option.value = Some(parser.option_value()?);
                }
                Ok(option)
            })?;
        }
        Ok(StatementKind::CreateDatabase(Box::new(database)))
    }

    /// `name [(MAXSIZE = size)]` behind AS COPY OF. Files that are listed say their names and their places.
    fn copy_source(&mut self, database: &CreateDatabase) -> Parsed<CopySource> {
        let is_placed = |file: &FileSpecification| !file.name.is_empty() && file.file_name.is_some();
        let mut files = database.files.iter().chain(&database.log_files);
        if let Some(file) = files.find(|file| !is_placed(file)) {
            return Err(ParseError::near(file.line, ")"));
        }
        let mut source = CopySource {
            name: self.identifier()?,
            size_max: None,
        };
        if self.eat(b'(')? {
            self.expect_word("MAXSIZE")?;
            self.expect(b'=')?;
            source.size_max = Some(self.file_size_max()?);
            self.expect(b')')?;
        }
        Ok(source)
    }

    /// A size, or UNLIMITED.
    fn file_size_max(&mut self) -> Parsed<FileSizeMax> {
        Ok(match self.eat_word("UNLIMITED")? {
            true => FileSizeMax::Unlimited,
            false => FileSizeMax::Size(self.file_size()?),
        })
    }

    fn primary_files(&mut self, database: &mut CreateDatabase) -> Parsed<()> {
        self.eat_word("PRIMARY")?;
        loop {
            if self.eat_word("FILEGROUP")? {
                let name = self.identifier()?;
                self.refuse(&["CONTAINS"])?;
                let default = self.eat_word("DEFAULT")?;
                database.filegroups.push(Filegroup {
                    name,
                    default,
                    files: vec![self.file_specification()?],
                });
            } else {
                let file = self.file_specification()?;
                match database.filegroups.last_mut() {
                    Some(filegroup) => filegroup.files.push(file),
                    None => database.files.push(file),
                }
            }
            if !self.eat(b',')? {
                return Ok(());
            }
        }
    }

    /// `(NAME = ..., ...)`.
    fn file_specification(&mut self) -> Parsed<FileSpecification> {
        let mut file = FileSpecification {
            line: self.line(),
            ..FileSpecification::default()
        };
        self.expect(b'(')?;
        loop {
            match self.any_word()?.as_str() {
                "NAME" => file.name = self.file_text()?,
                "NEWNAME" => file.new_name = Some(self.file_text()?),
                "FILENAME" => file.file_name = Some(self.file_text()?),
                "SIZE" => {
                    self.expect(b'=')?;
                    file.size = Some(self.file_size()?);
                }
                "MAXSIZE" => {
                    self.expect(b'=')?;
                    file.size_max = Some(self.file_size_max()?);
                }
                "FILEGROWTH" => {
                    self.expect(b'=')?;
                    file.growth = Some(self.file_growth()?);
                }
                "OFFLINE" => file.offline = true,
                _ => return Err(ParseError::near(self.previous.line, self.slice(self.previous))),
            }
            if !self.eat(b',')? {
                break;
            }
        }
        self.expect(b')')?;
        Ok(file)
    }

    fn file_text(&mut self) -> Parsed<String> {
        self.expect(b'=')?;
        self.name_or_text().map(|name| name.text)
    }

    fn file_size(&mut self) -> Parsed<FileSize> {
        let count = self.whole_number()?;
        Ok(FileSize {
            count,
            unit: self.optional_size_unit()?,
        })
    }

    fn optional_size_unit(&mut self) -> Parsed<SizeUnit> {
        Ok(if self.eat_word("KB")? {
            SizeUnit::Kilobytes
        } else if self.eat_word("GB")? {
            SizeUnit::Gigabytes
        } else if self.eat_word("TB")? {
            SizeUnit::Terabytes
        } else {
            self.eat_word("MB")?;
            SizeUnit::Megabytes
        })
    }

    fn file_growth(&mut self) -> Parsed<FileGrowth> {
        let count = self.whole_number()?;
        if self.eat(b'%')? {
            return Ok(FileGrowth::Percent(count));
        }
        Ok(FileGrowth::Size(FileSize {
            count,
            unit: self.optional_size_unit()?,
        }))
    }

    /// `DATABASE ...`, ALTER being read.
    pub(super) fn alter_database(&mut self) -> Parsed<StatementKind> {
        self.expect_word("DATABASE")?;
        if self.at_word("SCOPED") && self.eat_words(&["SCOPED", "CONFIGURATION"])? {
            let of_secondary = self.at_word("FOR") && self.eat_words(&["FOR", "SECONDARY"])?;
            if !self.at_word("CLEAR") {
                self.expect_word("SET")?;
            }
            let option = self.scoped_configuration()?;
            let action = AlterDatabaseAction::ScopedConfiguration { option, of_secondary };
            return Ok(StatementKind::AlterDatabase(Box::new(AlterDatabase {
                name: None,
                action,
            })));
        }
        let name = if self.eat_word("CURRENT")? {
            None
        } else {
            Some(self.identifier()?)
        };
        let action = if self.eat_word("SET")? {
            self.database_options()?
        } else if self.eat_word("ADD")? {
            self.add_to_database()?
        } else if self.eat_word("REMOVE")? {
            let file = self.eat_word("FILE")?;
            if !file {
                self.expect_word("FILEGROUP")?;
            }
            let name = self.name_or_text()?;
            if file {
                AlterDatabaseAction::RemoveFile(name)
            } else {
                AlterDatabaseAction::RemoveFilegroup(name)
            }
        } else if self.eat_word("MODIFY")? {
            self.modify_database()?
        } else {
            self.refuse(&["PERFORM_CUTOVER", "REBUILD"])?;
            self.expect_word("COLLATE")?;
            AlterDatabaseAction::Collate(self.identifier()?)
        };
        Ok(StatementKind::AlterDatabase(Box::new(AlterDatabase { name, action })))
    }

    /// `CLEAR PROCEDURE_CACHE`, or `name = value` after SET.
    fn scoped_configuration(&mut self) -> Parsed<OptionValue> {
        if self.at_word("CLEAR") && self.eat_words(&["CLEAR", "PROCEDURE_CACHE"])? {
            if matches!(self.token.kind, TokenKind::Binary | TokenKind::Variable) {
                let what = "CLEAR PROCEDURE_CACHE plan_handle";
                return Err(ParseError::not_supported(self.line(), what));
            }
            let name = "CLEAR PROCEDURE_CACHE".to_owned();
            return Ok(OptionValue {
                line: self.previous.line,
                name,
                value: None,
                arguments: Vec::new(),
            });
        }
        self.outer_option()
    }

    fn add_to_database(&mut self) -> Parsed<AlterDatabaseAction> {
        if self.eat_word("FILEGROUP")? {
            let name = self.identifier()?;
            self.refuse(&["CONTAINS"])?;
            return Ok(AlterDatabaseAction::AddFilegroup(name));
        }
        let log = self.eat_word("LOG")?;
        self.expect_word("FILE")?;
        let files = self.list(Self::file_specification)?;
        if log {
            return Ok(AlterDatabaseAction::AddLogFiles(files));
        }
        let filegroup = if self.eat_word("TO")? {
            self.expect_word("FILEGROUP")?;
            Some(self.filegroup()?)
        } else {
            None
        };
        Ok(AlterDatabaseAction::AddFiles { files, filegroup })
    }

    fn modify_database(&mut self) -> Parsed<AlterDatabaseAction> {
        if self.eat_word("FILE")? {
            return self.file_specification().map(AlterDatabaseAction::ModifyFile);
        }
        if self.eat_word("FILEGROUP")? {
            let name = self.filegroup()?;
            let property = self.filegroup_property()?;
            self.refuse(&["WITH"])?;
            return Ok(AlterDatabaseAction::ModifyFilegroup { name, property });
        }
        self.expect_word("NAME")?;
        self.expect(b'=')?;
        self.identifier().map(AlterDatabaseAction::ModifyName)
    }

    fn filegroup_property(&mut self) -> Parsed<FilegroupProperty> {
        let line = self.line();
        let word = self.any_word()?;
        Ok(match word.as_str() {
            "DEFAULT" => FilegroupProperty::Default,
            "READ_ONLY" | "READONLY" => FilegroupProperty::ReadOnly(true),
            "READ_WRITE" | "READWRITE" => FilegroupProperty::ReadOnly(false),
            "AUTOGROW_ALL_FILES" => FilegroupProperty::GrowsAllFiles(true),
            "AUTOGROW_SINGLE_FILE" => FilegroupProperty::GrowsAllFiles(false),
            "NAME" => {
                self.expect(b'=')?;
                FilegroupProperty::Name(self.identifier()?)
            }
            _ => return Err(ParseError::near(line, &word)),
        })
    }

    fn database_options(&mut self) -> Parsed<AlterDatabaseAction> {
        let options = self.list(Self::database_option)?;
        let mut termination = None;
        if self.eat_word("WITH")? {
            termination = Some(if self.eat_word("NO_WAIT")? {
                Termination::NoWait
            } else {
                self.expect_word("ROLLBACK")?;
                if self.eat_word("IMMEDIATE")? {
                    Termination::RollbackImmediate
                } else {
                    self.expect_word("AFTER")?;
                    let seconds = self.whole_number()?;
                    self.eat_word("SECONDS")?;
                    Termination::RollbackAfter { seconds }
                }
            });
        }
        Ok(AlterDatabaseAction::Set { options, termination })
    }

    /// `OPTION`, `OPTION value`, `OPTION = value [unit]`, and what stands in parentheses after it.
    fn database_option(&mut self) -> Parsed<DatabaseOption> {
        self.refuse(&[
            "AUTOMATIC_INDEX_COMPACTION",
            "PARTNER",
            "SUPPLEMENTAL_LOGGING",
            "WITNESS",
        ])?;
        for words in [["HADR", "AVAILABILITY"], ["QUERY_STORE", "CLEAR"]] {
            if self.at_words(&words)? {
                return Err(ParseError::not_supported(self.line(), &words.join(" ")));
            }
        }
        let name = self.any_word()?;
        let mut value = None;
        let assigned = self.eat(b'=')?;
        let starts_value = match self.token.kind {
            // Words that start the next statement, WITH for one, end an option without value.
            TokenKind::Word => self.at_identifier() || self.at_any(&["ON", "OFF", "FULL"]),
            TokenKind::Number | TokenKind::Text | TokenKind::NationalText => true,
            _ => false,
        };
        let takes_value = !matches!(
            name.as_str(),
            "SINGLE_USER"
                | "MULTI_USER"
                | "RESTRICTED_USER"
                | "ONLINE"
                | "OFFLINE"
                | "EMERGENCY"
                | "READ_ONLY"
                | "READ_WRITE"
                | "ENABLE_BROKER"
                | "DISABLE_BROKER"
                | "NEW_BROKER"
                | "ERROR_BROKER_CONVERSATIONS"
        );
        if assigned || (starts_value && takes_value) {
            if !starts_value && !self.at(b'(') {
                return Err(self.unexpected());
            }
            if starts_value {
                let token = self.advance()?;
                let mut text = self.plain(token).to_ascii_uppercase();
                let unit = token.kind == TokenKind::Number && self.at_any(&["SECONDS", "MINUTES", "HOURS", "DAYS"]);
                if unit {
                    text = format!("{text} {}", self.any_word()?);
                }
                value = Some(text);
            }
        } else if takes_value && !self.at(b'(') {
            return Err(self.unexpected());
        }
        let arguments = if self.at(b'(') {
            self.enclosed(Self::inner_option)?
        } else {
            Vec::new()
        };
        Ok(DatabaseOption { name, value, arguments })
    }

    fn database_reference(&mut self) -> Parsed<DatabaseReference> {
        if self.token.kind == TokenKind::Variable {
            return self.variable().map(DatabaseReference::Variable);
        }
        self.identifier().map(DatabaseReference::Name)
    }

    /// `FILE = 'x', FILEGROUP = 'y', PAGE = '1:2'` before TO or FROM.
    fn backup_files(&mut self) -> Parsed<Vec<OptionValue>> {
        let here = self.at_any(&["FILE", "FILEGROUP", "PAGE", "READ_WRITE_FILEGROUPS"]);
        if here {
            self.list(Self::outer_option)
        } else {
            Ok(Vec::new())
        }
    }

    fn backup_devices(&mut self) -> Parsed<Vec<BackupDevice>> {
        self.list(|parser| {
            let mut kind = String::new();
            if parser.token.kind == TokenKind::Word && parser.peek_symbol(1, b'=')? {
                kind = parser.any_word()?;
                parser.advance()?;
            }
            let line = parser.line();
            let path = match parser.token.kind {
                TokenKind::Variable => ExpressionKind::Variable(parser.variable()?),
                TokenKind::Text | TokenKind::NationalText => ExpressionKind::Literal(parser.literal()?),
                _ if kind.is_empty() => ExpressionKind::Literal(Literal::NationalText(parser.identifier()?.text)),
                _ => return Err(parser.unexpected()),
            };
            Ok(BackupDevice {
                kind,
                path: Expression::new(line, path),
            })
        })
    }

    pub(super) fn backup(&mut self) -> Parsed<StatementKind> {
        self.expect_word("BACKUP")?;
        let log = self.eat_word("LOG")? || self.eat_word("TRAN")? || self.eat_word("TRANSACTION")?;
        if !log {
            self.refuse(&["CERTIFICATE", "GROUP", "MASTER", "SERVICE", "SYMMETRIC", "SERVER"])?;
            self.expect_word("DATABASE")?;
        }
        let database = self.database_reference()?;
        let files = self.backup_files()?;
        self.expect_word("TO")?;
        let devices = self.backup_devices()?;
        let mut mirrors = Vec::new();
        while self.at_word("MIRROR") && self.eat_words(&["MIRROR", "TO"])? {
            mirrors.push(self.backup_devices()?);
        }
        let options = if self.eat_word("WITH")? {
            self.list(Self::outer_option)?
        } else {
            Vec::new()
        };
        Ok(StatementKind::Backup(Box::new(Backup {
            log,
            database,
            files,
            devices,
            mirrors,
            options,
        })))
    }

    pub(super) fn restore(&mut self) -> Parsed<StatementKind> {
        self.expect_word("RESTORE")?;
        self.refuse(&["MASTER", "SERVICE", "SYMMETRIC", "REWINDONLY"])?;
        let kind = match self.any_word()?.as_str() {
            "DATABASE" => RestoreKind::Database,
            "LOG" | "TRAN" | "TRANSACTION" => RestoreKind::Log,
            "HEADERONLY" => RestoreKind::HeaderOnly,
            "FILELISTONLY" => RestoreKind::FileListOnly,
            "VERIFYONLY" => RestoreKind::VerifyOnly,
            "LABELONLY" => RestoreKind::LabelOnly,
            _ => return Err(ParseError::near(self.previous.line, self.slice(self.previous))),
        };
        let (mut database, mut files) = (None, Vec::new());
        let whole = matches!(kind, RestoreKind::Database | RestoreKind::Log);
        if whole {
            database = Some(self.database_reference()?);
            files = self.backup_files()?;
        }
        let from = if whole {
            self.eat_word("FROM")?
        } else {
            self.expect_word("FROM").map(|()| true)?
        };
        let is_revert = from && kind == RestoreKind::Database && files.is_empty();
        let snapshot = match is_revert && self.eat_word("DATABASE_SNAPSHOT")? {
            true => Some(self.file_text()?),
            false => None,
        };
        let has_devices = from && snapshot.is_none();
        let devices = if has_devices {
            self.backup_devices()?
        } else {
            Vec::new()
        };
        let mut restore = Restore {
            kind,
            database,
            files,
            devices,
            snapshot,
            moves: Vec::new(),
            after: None,
            options: Vec::new(),
        };
        if restore.snapshot.is_none() && self.eat_word("WITH")? {
            self.list(|parser| parser.restore_option(&mut restore))?;
        }
        Ok(StatementKind::Restore(Box::new(restore)))
    }

    fn restore_option(&mut self, restore: &mut Restore) -> Parsed<()> {
        if self.eat_word("MOVE")? {
            let logical = self.text_or_variable()?;
            self.expect_word("TO")?;
            restore.moves.push((logical, self.text_or_variable()?));
            return Ok(());
        }
        let option = self.outer_option()?;
        if self.at_word("AFTER") {
            if !matches!(option.name.as_str(), "STOPATMARK" | "STOPBEFOREMARK") || restore.after.is_some() {
                return Err(self.unexpected());
            }
            self.advance()?;
            restore.after = Some(self.text_or_variable()?);
        }
        restore.options.push(option);
        Ok(())
    }

    /// A string constant or a variable.
    pub(super) fn text_or_variable(&mut self) -> Parsed<Expression> {
        let line = self.line();
        let kind = match self.token.kind {
            TokenKind::Variable => ExpressionKind::Variable(self.variable()?),
            TokenKind::Text | TokenKind::NationalText => ExpressionKind::Literal(self.literal()?),
            _ => return Err(self.unexpected()),
        };
        Ok(Expression::new(line, kind))
    }
}
