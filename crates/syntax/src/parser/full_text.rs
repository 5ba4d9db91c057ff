//! CREATE and DROP of full-text catalogs and indexes (sql-docs, "CREATE FULLTEXT CATALOG", "CREATE FULLTEXT INDEX"). They are read, so that
//! scripts may have them behind a question whether full-text search is installed.

use super::{Parsed, Parser};
use crate::ast::{FullText, StatementKind};

impl Parser<'_> {
    /// True at `FULLTEXT CATALOG` and `FULLTEXT INDEX`.
    pub(super) fn at_full_text(&self) -> Parsed<bool> {
        Ok(self.at_word("FULLTEXT") && (self.peek_word(1, "CATALOG")? || self.peek_word(1, "INDEX")?))
    }

    /// What follows CREATE, from the word FULLTEXT on.
    pub(super) fn create_full_text(&mut self) -> Parsed<StatementKind> {
        self.expect_word("FULLTEXT")?;
        if self.eat_word("CATALOG")? {
            self.full_text_catalog()?;
            return Ok(StatementKind::FullText(FullText::CreateCatalog));
        }
        self.expect_word("INDEX")?;
        self.full_text_index()?;
        Ok(StatementKind::FullText(FullText::CreateIndex))
    }

    /// What follows DROP, from the word FULLTEXT on.
    pub(super) fn drop_full_text(&mut self) -> Parsed<StatementKind> {
        self.expect_word("FULLTEXT")?;
        if self.eat_word("CATALOG")? {
            self.identifier()?;
            return Ok(StatementKind::FullText(FullText::DropCatalog));
        }
        self.expect_word("INDEX")?;
        self.expect_word("ON")?;
        self.name()?;
        Ok(StatementKind::FullText(FullText::DropIndex))
    }

    fn full_text_catalog(&mut self) -> Parsed<()> {
        self.identifier()?;
        if self.eat_words(&["ON", "FILEGROUP"])? {
            self.identifier()?;
        }
        if self.eat_words(&["IN", "PATH"])? {
            self.string()?;
        }
        if self.eat_words(&["WITH", "ACCENT_SENSITIVITY"])? {
            self.expect(b'=')?;
            self.full_text_word(&["ON", "OFF"])?;
        }
        self.eat_words(&["AS", "DEFAULT"])?;
        if self.eat_word("AUTHORIZATION")? {
            self.identifier()?;
        }
        Ok(())
    }

    fn full_text_index(&mut self) -> Parsed<()> {
        self.expect_word("ON")?;
        self.name()?;
        if self.at(b'(') {
            self.enclosed(Self::full_text_column)?;
        }
        self.expect_word("KEY")?;
        self.expect_word("INDEX")?;
        self.identifier()?;
        if self.eat_word("ON")? {
            match self.at(b'(') {
                true => drop(self.enclosed(Self::full_text_place)?),
                false => self.full_text_place()?,
            }
        }
        if self.eat_word("WITH")? {
            match self.at(b'(') {
                true => drop(self.enclosed(Self::full_text_option)?),
                false => drop(self.list(Self::full_text_option)?),
            }
        }
        Ok(())
    }

    fn full_text_column(&mut self) -> Parsed<()> {
        self.identifier()?;
        if self.eat_words(&["TYPE", "COLUMN"])? {
            self.identifier()?;
        }
        if self.eat_word("LANGUAGE")? {
            self.primary(false)?;
        }
        self.eat_word("STATISTICAL_SEMANTICS")?;
        Ok(())
    }

    /// A catalog or a filegroup.
    fn full_text_place(&mut self) -> Parsed<()> {
        self.eat_word("FILEGROUP")?;
        self.identifier().map(drop)
    }

    fn full_text_option(&mut self) -> Parsed<()> {
        if self.eat_words(&["NO", "POPULATION"])? {
            return Ok(());
        }
        if self.eat_word("CHANGE_TRACKING")? {
            self.eat(b'=')?;
            return self.full_text_word(&["MANUAL", "AUTO", "OFF"]);
        }
        if !self.eat_word("STOPLIST")? && !self.eat_words(&["SEARCH", "PROPERTY", "LIST"])? {
            return Err(self.unexpected());
        }
        self.eat(b'=')?;
        match self.eat_word("OFF")? {
            true => Ok(()),
            false => self.identifier().map(drop),
        }
    }

    fn full_text_word(&mut self, words: &[&str]) -> Parsed<()> {
        match self.at_any(words) {
            true => self.advance().map(drop),
            false => Err(self.unexpected()),
        }
    }
}
