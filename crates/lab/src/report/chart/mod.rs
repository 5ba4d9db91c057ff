//! Charts as inline SVG, coloured by the page's style sheet so that they follow light, dark and paper.
//!
//! A figure is a heading, panels in a grid that folds on narrow pages, a legend, and the same data as a table:
//!
//! ```text
//! heading                  [legend]
//! +-- panel --+ +-- panel --+       each panel is 480 units wide and never shown much wider,
//! |           | |           |       so that its text stays the size of the page's
//! +-----------+ +-----------+
//! > The same as a table
//! ```
//! Invariant: a panel's size is bounded whatever the data: long series are thinned, small VLFs are drawn together.

pub(super) mod axis;
pub(super) mod bars;
pub(super) mod curve;
pub(super) mod growth;
pub(super) mod hurt;
pub(super) mod latency;
pub(super) mod series;
pub(super) mod vlf_map;
pub(super) mod waits;

use super::format::escape;
use super::table::Table;

/// Width of every panel in its own units; about a pixel each on a wide page.
pub(super) const WIDTH: f64 = 480.0;
/// Colours of the style sheet: `c0` to `c6`.
pub(super) const COLOURS: usize = 7;

pub(super) struct Panel {
    /// Above it.
    pub caption: String,
    /// Whether its figures are another's: drawn paler.
    pub published: bool,
    pub svg: String,
}

/// What a colour or a dash stands for.
pub(super) struct Key {
    /// Colour and dash by number.
    pub style: usize,
    /// Whether it is a line rather than an area.
    pub line: bool,
    pub text: String,
}

/// A heading with its panels.
#[derive(Default)]
pub(super) struct Figure {
    pub title: String,
    /// What to know when reading it.
    pub caption: String,
    pub keys: Vec<Key>,
    pub panels: Vec<Panel>,
    /// The same in figures.
    pub tables: Vec<Table>,
}

impl Figure {
    /// As HTML; nothing when there is nothing to draw.
    pub(super) fn html(&self) -> String {
        self.html_with("")
    }

    /// The same with a legend of its own.
    pub(super) fn html_with(&self, legend: &str) -> String {
        if self.panels.is_empty() {
            return String::new();
        }
        let mut html = format!("<div class=\"chart\">\n<h3>{}</h3>\n", escape(&self.title));
        if !self.caption.is_empty() {
            html.push_str(&format!("<p class=\"small\">{}</p>\n", escape(&self.caption)));
        }
        if self.keys.len() > 1 {
            let keys: String = self.keys.iter().map(key_html).collect();
            html.push_str(&format!("<ul class=\"legend\">{keys}</ul>\n"));
        }
        html.push_str(legend);
        html.push_str("<div class=\"panels\">\n");
        for panel in &self.panels {
            let class = if panel.published { " published" } else { "" };
            html.push_str(&format!(
                "<figure class=\"panel{class}\"><figcaption>{}</figcaption>{}</figure>\n",
                escape(&panel.caption),
                panel.svg
            ));
        }
        html.push_str("</div>\n");
        if !self.tables.is_empty() {
            let tables: String = self.tables.iter().map(Table::html).collect();
            html.push_str(&format!(
                "<details class=\"data\"><summary>The same as a table</summary>\n{tables}</details>\n"
            ));
        }
        html + "</div>\n"
    }
}

fn key_html(key: &Key) -> String {
    let style = style_class(key.style);
    let sign = if key.line {
        format!("<path class=\"line {style}\" d=\"M1 6H23\"/>")
    } else {
        format!("<rect class=\"area {style}\" x=\"6\" y=\"0\" width=\"12\" height=\"12\" rx=\"2\"/>")
    };
    format!(
        "<li><svg class=\"key\" viewBox=\"0 0 24 12\" aria-hidden=\"true\">{sign}</svg>{}</li>",
        escape(&key.text)
    )
}

/// Classes of a colour and, once the colours are used up, of a dash.
pub(super) fn style_class(style: usize) -> String {
    let dash = style / COLOURS;
    if dash == 0 {
        format!("c{}", style % COLOURS)
    } else {
        format!("c{} d{}", style % COLOURS, dash.min(2))
    }
}

/// An SVG of the panel's width with what it shows in words.
pub(super) fn svg(height: f64, title: &str, description: &str, body: &str) -> String {
    format!(
        "<svg viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\" aria-label=\"{0}\"><title>{0}</title><desc>{1}</desc>\n{body}</svg>",
        escape(title),
        escape(description)
    )
}

/// Text at a place; `anchor` is `start`, `middle` or `end`.
pub(super) fn text(class: &str, anchor: &str, (x, y): (f64, f64), text: &str) -> String {
    format!(
        "<text class=\"{class}\" text-anchor=\"{anchor}\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>",
        escape(text)
    )
}
