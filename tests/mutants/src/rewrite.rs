//! A source that holds all chosen changes at once, each behind a question.
//!
//! ```text
//!   a + 1 < b      ->   (if vlflab_mutant::is(7) { a + 1 <= b } else { (if vlflab_mutant::is(8) { a - 1 } else { a + 1 }) < b })
//! ```
//!
//! Changed text is that of the original, without the changes inside of it: one change is made at a time.

use crate::sites::{Form, Site};
use std::fmt::Write;
use std::ops::Range;

/// The name of the question in a source of the crate.
const ASKED: &str = "crate::vlflab_mutant::is";

/// Where a change stands in the written source.
#[derive(Debug)]
pub struct Written {
    /// The number of the change.
    pub id: u32,
    /// The bytes of its changed text.
    pub changed: Range<usize>,
    /// The bytes of the question, its changed text and what stands there otherwise.
    pub whole: Range<usize>,
}

/// The source with all `chosen` changes, which are in the order of [`crate::sites::find`], and where they stand.
pub fn rewrite(source: &str, chosen: &[(u32, Site)]) -> (String, Vec<Written>) {
    let mut writer = Writer {
        source,
        text: String::with_capacity(source.len() * 2),
        written: Vec::new(),
    };
    writer.stretch(0..source.len(), chosen);
    (writer.text, writer.written)
}

struct Writer<'s> {
    source: &'s str,
    text: String,
    written: Vec<Written>,
}

impl Writer<'_> {
    /// A stretch of the source, with the changes inside of it.
    fn stretch(&mut self, stretch: Range<usize>, mut chosen: &[(u32, Site)]) {
        let mut position = stretch.start;
        while let Some((_, first)) = chosen.first() {
            let same = chosen.iter().take_while(|(_, site)| site.span == first.span).count();
            let inside = chosen
                .iter()
                .take_while(|(_, site)| site.span.end <= first.span.end)
                .count();
            self.text.push_str(&self.source[position..first.span.start]);
            self.place(first, &chosen[..same], &chosen[same..inside]);
            position = first.span.end;
            chosen = &chosen[inside..];
        }
        self.text.push_str(&self.source[position..stretch.end]);
    }

    /// One place with its changes, and those inside of it.
    fn place(&mut self, first: &Site, changes: &[(u32, Site)], inside: &[(u32, Site)]) {
        let start = self.text.len();
        let from = self.written.len();
        if first.form == Form::Expression {
            self.text.push('(');
        }
        for (id, site) in changes {
            write!(self.text, "if {ASKED}({id}) {{ ").expect("a string takes everything");
            let begin = self.text.len();
            self.text.push_str(&site.changed);
            self.written.push(Written {
                id: *id,
                changed: begin..self.text.len(),
                whole: start..start,
            });
            self.text.push_str(" } ");
            if site.form != Form::Insertion {
                self.text.push_str("else ");
            }
        }
        let until = self.written.len();
        if first.form != Form::Insertion {
            self.text.push_str("{ ");
            self.stretch(first.span.clone(), inside);
            self.text.push_str(" }");
        }
        if first.form == Form::Expression {
            self.text.push(')');
        }
        for written in &mut self.written[from..until] {
            written.whole.end = self.text.len();
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::sites;

    fn with_all(source: &str) -> (String, Vec<Written>) {
        let numbered: Vec<(u32, Site)> = (1..).zip(sites::find(source).unwrap()).collect();
        rewrite(source, &numbered)
    }

    #[test]
    fn changes_of_one_place_are_branches_and_those_inside_stand_in_the_last() {
        let (text, written) = with_all("fn f(a: u8, b: u8) -> bool { a < b }");
        assert_eq!(
            text,
            "fn f(a: u8, b: u8) -> bool { (if crate::vlflab_mutant::is(1) { true } else if crate::vlflab_mutant::is(2) \
             { false } else if crate::vlflab_mutant::is(3) { a <= b } else { a < b }) }"
        );
        assert_eq!(&text[written[2].changed.clone()], "a <= b");
        let (text, _) = with_all("fn f() { let x = a + 1 < b; }");
        assert_eq!(
            text,
            "fn f() { let x = (if crate::vlflab_mutant::is(1) { a + 1 <= b } else { (if crate::vlflab_mutant::is(2) \
             { a - 1 } else { a + (if crate::vlflab_mutant::is(3) { 2 } else if crate::vlflab_mutant::is(4) { 0 } \
             else { 1 }) }) < b }); }"
        );
    }

    #[test]
    fn a_statement_is_left_out_and_an_early_answer_put_in() {
        let (text, written) = with_all("fn f() -> Result<()> { g(); Ok(()) }");
        assert_eq!(
            text,
            "fn f() -> Result<()> {if crate::vlflab_mutant::is(1) { return Ok(()); }  if crate::vlflab_mutant::is(2) \
             {  } else { g(); } Ok(()) }"
        );
        assert_eq!(written.len(), 2);
        syn::parse_file(&text).unwrap();
    }
}
