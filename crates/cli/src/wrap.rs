//! Text in lines that fit, broken at words.

use std::io::{self, Write};

/// Lines are never longer, however wide the terminal: longer ones are hard to read.
pub const WIDTH_MAX: usize = 100;
/// Nor are they broken more narrowly than this.
const WIDTH_MIN: usize = 40;

/// Characters of a line on the terminal that standard output is; the most there are where it is none.
pub fn width() -> usize {
    let terminal = terminal_size::terminal_size_of(io::stdout());
    terminal.map_or(WIDTH_MAX, |(columns, _)| {
        usize::from(columns.0).clamp(WIDTH_MIN, WIDTH_MAX)
    })
}

/// Writes a text in lines of at most `width` characters: the first behind `first`, the others behind `rest`. A word that is longer
/// than a line has one for itself.
///
/// # Errors
/// The text cannot be written.
pub fn write(out: &mut dyn Write, width: usize, (first, rest): (&str, &str), text: &str) -> io::Result<()> {
    let mut line = String::from(first);
    let mut is_empty = true;
    for word in text.split_whitespace() {
        if line.chars().count() + 1 + word.chars().count() > width && !is_empty {
            writeln!(out, "{line}")?;
            line = String::from(rest);
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    writeln!(out, "{}", line.trim_end())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn wrapped(width: usize, text: &str) -> String {
        let mut bytes = Vec::new();
        write(&mut bytes, width, ("  note  ", "        "), text).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn lines_end_at_words_and_go_on_below_each_other() {
        assert_eq!(
            wrapped(20, "the quick brown fox, größer than a dog"),
            "  note  the quick\n        brown fox,\n        größer than\n        a dog\n"
        );
        assert_eq!(wrapped(20, "short"), "  note  short\n");
        assert_eq!(wrapped(20, ""), "  note\n");
        assert_eq!(
            wrapped(20, "a incomprehensibilities b"),
            "  note  a\n        incomprehensibilities\n        b\n"
        );
    }
}
