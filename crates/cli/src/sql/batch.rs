//! The lines typed or read since the last GO.

use tsql::batches::Inside;

#[derive(Debug, Default)]
pub(super) struct Batch {
    text: String,
    inside: Inside,
    lines: usize,
}

impl Batch {
    /// Adds a line, given without its end.
    pub(super) fn push(&mut self, line: &str) {
        self.inside = self.inside.after(line);
        self.text.push_str(line);
        self.text.push('\n');
        self.lines += 1;
    }

    pub(super) fn clear(&mut self) {
        *self = Batch::default();
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn lines(&self) -> usize {
        self.lines
    }

    /// Whether the next line is inside of a string or comment.
    pub(super) fn is_open(&self) -> bool {
        self.inside != Inside::Nothing
    }

    /// Whether there is nothing to run.
    pub(super) fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }
}
