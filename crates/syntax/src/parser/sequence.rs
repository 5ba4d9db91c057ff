//! CREATE and ALTER SEQUENCE.

use super::{Parsed, Parser};
use crate::ast::{CreateSequence, DefinitionKind, SequenceCache, SequenceOptions, StatementKind};
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// A sequence, from its name on.
    pub(super) fn sequence(&mut self, definition: DefinitionKind) -> Parsed<StatementKind> {
        let name = self.name()?;
        let data_type = if definition == DefinitionKind::Create && self.eat_word("AS")? {
            Some(self.data_type()?)
        } else {
            None
        };
        let mut options = SequenceOptions::default();
        while self.sequence_option(&mut options, definition)? {}
        let sequence = CreateSequence {
            definition,
            name,
            data_type,
            options,
        };
        Ok(StatementKind::CreateSequence(Box::new(sequence)))
    }

    /// One option; false if none is here. One that is said twice is a syntax error.
    fn sequence_option(&mut self, options: &mut SequenceOptions, definition: DefinitionKind) -> Parsed<bool> {
        let is_new = definition == DefinitionKind::Create;
        let before = options.clone();
        if is_new && self.eat_word("START")? {
            self.expect_word("WITH")?;
            self.once(&before.start)?;
            options.start = Some(self.signed_number()?);
        } else if !is_new && self.eat_word("RESTART")? {
            self.once(&before.restart)?;
            let value = if self.eat_word("WITH")? {
                Some(self.signed_number()?)
            } else {
                None
            };
            options.restart = Some(value);
        } else if self.eat_word("INCREMENT")? {
            self.expect_word("BY")?;
            self.once(&before.increment)?;
            options.increment = Some(self.signed_number()?);
        } else if self.eat_word("MINVALUE")? {
            self.once(&before.minimum)?;
            options.minimum = Some(Some(self.signed_number()?));
        } else if self.eat_word("MAXVALUE")? {
            self.once(&before.maximum)?;
            options.maximum = Some(Some(self.signed_number()?));
        } else if self.eat_word("CYCLE")? {
            self.once(&before.is_cycling)?;
            options.is_cycling = Some(true);
        } else if self.eat_word("CACHE")? {
            self.once(&before.cache)?;
            let has_size = self.token.kind == TokenKind::Number || self.at(b'-') || self.at(b'+');
            options.cache = Some(match has_size {
                true => SequenceCache::Size(self.signed_number()?),
                false => SequenceCache::Default,
            });
        } else if self.eat_word("NO")? {
            self.without(options)?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// `MINVALUE`, `MAXVALUE`, `CYCLE` or `CACHE`, NO being read.
    fn without(&mut self, options: &mut SequenceOptions) -> Parsed<()> {
        if self.eat_word("MINVALUE")? {
            self.once(&options.minimum)?;
            options.minimum = Some(None);
        } else if self.eat_word("MAXVALUE")? {
            self.once(&options.maximum)?;
            options.maximum = Some(None);
        } else if self.eat_word("CYCLE")? {
            self.once(&options.is_cycling)?;
            options.is_cycling = Some(false);
        } else {
            self.expect_word("CACHE")?;
            self.once(&options.cache)?;
            options.cache = Some(SequenceCache::No);
        }
        Ok(())
    }

    fn once<T>(&self, said: &Option<T>) -> Parsed<()> {
        match said {
            None => Ok(()),
            Some(_) => Err(self.unexpected()),
        }
    }
}
