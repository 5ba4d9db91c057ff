//! The book's pictures: drawn from the rules of `vlf` and from the contracts of modules, never by hand.
//!
//! They are 480 units wide, so that their words can be read on a telephone, and follow the reader's choice of light or dark.

mod bytes;
mod logs;

pub use bytes::{Field, byte_map};
pub use logs::{growth, sixteen_and_many, wrap};

use std::fmt::{Display, Write as _};

/// Units from the left edge to the right one.
pub const WIDTH: f64 = 480.0;

const STYLE: &str = "<style>:root { color-scheme: light; --paper: #fcfcfa; --ink: #1d2126; --soft: #55606a; --line: #c3c9cf; --panel: #f1f3f4; \
--hot: #d0500a; --cool: #2a6fb5; --free: #e3e7ea; --hot-ink: #fff; --cool-ink: #fff; }\n\
@media (prefers-color-scheme: dark) { :root { color-scheme: dark; --paper: #15181c; --ink: #e6e8ea; --soft: #a3adb6; --line: #4a525b; \
--panel: #1f2429; --hot: #f2803d; --cool: #5b9fe0; --free: #2b3138; --hot-ink: #15181c; --cool-ink: #15181c; } }\n\
text { fill: var(--ink); font: 13px system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif; } \
.soft { fill: var(--soft); font-size: 12px; } .name { font-weight: 600; } .middle { text-anchor: middle; } .end { text-anchor: end; } \
.cell { stroke: var(--paper); stroke-width: 1; } .fine { stroke: var(--paper); stroke-width: 0.35; } .hot { fill: var(--hot); } \
.cool { fill: var(--cool); } .free { fill: var(--free); } .panel { fill: var(--panel); stroke: var(--line); } \
.on-hot { fill: var(--hot-ink); } .on-cool { fill: var(--cool-ink); } .line { stroke: var(--soft); fill: none; } \
.bar { fill: none; stroke: var(--soft); }</style>\n";

/// A picture that grows downward.
pub(crate) struct Picture {
    body: String,
    /// Where the next thing goes.
    pub y: f64,
}

impl Picture {
    pub fn new() -> Picture {
        Picture {
            body: String::new(),
            y: 0.0,
        }
    }

    pub fn text(&mut self, class: &str, x: f64, y: f64, words: impl Display) {
        let words = crate::render::escaped(&words.to_string());
        let _ = writeln!(
            self.body,
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{words}</text>"
        );
    }

    /// A box with its tooltip.
    pub fn cell(&mut self, class: &str, at: (f64, f64), size: (f64, f64), title: &str) {
        let ((x, y), (width, height)) = (at, size);
        let title = match title {
            "" => String::new(),
            title => format!("<title>{}</title>", crate::render::escaped(title)),
        };
        let _ = writeln!(
            self.body,
            "<rect class=\"{class}\" x=\"{x:.2}\" y=\"{y:.2}\" width=\"{width:.2}\" height=\"{height:.2}\">{title}</rect>"
        );
    }

    pub fn path(&mut self, class: &str, path: impl Display) {
        let _ = writeln!(self.body, "<path class=\"{class}\" d=\"{path}\"/>");
    }

    /// The whole file. `described` is for those who do not see it.
    pub fn finish(self, title: &str, described: &str) -> String {
        let height = self.y.ceil() + 8.0;
        let (title, described) = (crate::render::escaped(title), crate::render::escaped(described));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"720\" viewBox=\"-8 -6 {width} {height}\" role=\"img\" \
             aria-label=\"{title}\"><title>{title}</title><desc>{described}</desc>\n{STYLE}\
             <rect x=\"-8\" y=\"-6\" width=\"{width}\" height=\"{height}\" fill=\"var(--paper)\"/>\n{body}</svg>\n",
            width = WIDTH + 16.0,
            body = self.body,
        )
    }
}

/// A whole number with commas between its thousands.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        assert_eq!(
            [0, 999, 1_000, 20_480, 1_234_567].map(grouped),
            ["0", "999", "1,000", "20,480", "1,234,567"]
        );
    }
}
