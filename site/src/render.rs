//! Markdown as the book's HTML: headings with their anchors, tables that scroll by themselves, a list of pages beside each page.
//!
//! A page needs `style.css` and nothing else: no script, nothing from elsewhere. Light or dark is the reader's system's choice. One page,
//! [`WHOLE`], has all the others behind each other, to be searched by the browser and to be printed.

use crate::book::Page;
use crate::links::{Heading, headings, options};
use pulldown_cmark::{CowStr, Event, Parser, Tag, TagEnd, html};
use std::fmt::Write as _;

/// How pages look.
pub const STYLE: &str = include_str!("style.css");
/// The page with all pages.
pub const WHOLE: &str = "all.html";

/// What stands around a page's text.
pub struct Frame<'a> {
    pages: &'a [Page],
    /// The page's place among them; none for the page with all of them.
    index: Option<usize>,
}

impl<'a> Frame<'a> {
    /// That of the page at this place.
    pub fn of(pages: &'a [Page], index: usize) -> Frame<'a> {
        Frame {
            pages,
            index: Some(index),
        }
    }

    fn title(&self) -> &str {
        let page = self.index.and_then(|index| self.pages.get(index));
        page.map_or("Everything on one page", |page| page.title.as_str())
    }

    /// The list of all pages.
    fn list(&self) -> String {
        let (mut text, mut part) = (String::new(), "");
        for (index, page) in self.pages.iter().enumerate() {
            if page.part != part {
                part = &page.part;
                let _ = write!(text, "<h2>{}</h2>", escaped(part));
            }
            let here = if self.index == Some(index) {
                " aria-current=\"page\""
            } else {
                ""
            };
            let _ = write!(text, "<a href=\"{}\"{here}>{}</a>", page.html, escaped(&page.title));
        }
        let here = if self.index.is_none() {
            " aria-current=\"page\""
        } else {
            ""
        };
        let _ = write!(
            text,
            "<h2>Search and print</h2><a href=\"{WHOLE}\"{here}>Everything on one page</a>"
        );
        text
    }

    /// The page before and the page behind.
    fn turns(&self) -> String {
        let Some(index) = self.index else {
            return String::new();
        };
        let link = |page: Option<&Page>, relation: &str, arrow: &str| {
            page.map_or_else(String::new, |page| {
                let title = escaped(&page.title);
                format!(
                    "<a rel=\"{relation}\" href=\"{}\"><span>{arrow}</span> {title}</a>",
                    page.html
                )
            })
        };
        let before = index.checked_sub(1).and_then(|before| self.pages.get(before));
        let behind = self.pages.get(index + 1);
        format!(
            "<nav class=\"turns\" aria-label=\"Neighbours\">{}{}</nav>",
            link(before, "prev", "Before:"),
            link(behind, "next", "Next:")
        )
    }

    fn around(&self, body: &str) -> String {
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title} - vlflab</title>\n\
             <link rel=\"stylesheet\" href=\"style.css\">\n</head>\n<body>\n\
             <details class=\"pages\"><summary>Pages</summary><nav aria-label=\"Pages\">{list}</nav></details>\n\
             <nav class=\"pages\" aria-label=\"Pages\">{list}</nav>\n<main>\n{body}{turns}</main>\n</body>\n</html>\n",
            title = escaped(self.title()),
            list = self.list(),
            turns = self.turns(),
        )
    }
}

/// A page's HTML. `address` says where a link leads in the book.
pub fn page(frame: &Frame<'_>, markdown: &str, address: &dyn Fn(&str) -> String) -> String {
    let found = headings(markdown);
    let contents = contents(&found);
    frame.around(&body(markdown, &found, "", &contents, address))
}

/// The same as a part of the page with all pages, whose anchors begin with the page's name.
pub fn section(page: &Page, markdown: &str, address: &dyn Fn(&str) -> String) -> String {
    let name = page.html.trim_end_matches(".html");
    let found = headings(markdown);
    let prefix = format!("{name}.");
    // What leads to a place of its own page leads there here, too.
    let address = |link: &str| match link.strip_prefix('#') {
        Some(anchor) => format!("#{prefix}{anchor}"),
        None => address(link),
    };
    format!(
        "<section>\n{}</section>\n",
        body(markdown, &found, &prefix, "", &address)
    )
}

/// The page with all pages.
pub fn whole(pages: &[Page], sections: &str) -> String {
    let frame = Frame { pages, index: None };
    frame.around(sections)
}

/// The list of a page's own headings, if it is a long one.
fn contents(found: &[Heading]) -> String {
    let second: Vec<&Heading> = found.iter().filter(|heading| heading.level == 2).collect();
    if second.len() < 3 {
        return String::new();
    }
    let items: String = second
        .iter()
        .map(|heading| {
            format!(
                "<li><a href=\"#{}\">{}</a></li>",
                heading.anchor,
                escaped(&heading.text)
            )
        })
        .collect();
    format!("<details class=\"contents\"><summary>On this page</summary><ul>{items}</ul></details>\n")
}

fn body(markdown: &str, found: &[Heading], prefix: &str, contents: &str, address: &dyn Fn(&str) -> String) -> String {
    let mut next = found.iter();
    let mut anchors: Vec<String> = Vec::new();
    let mut events = Vec::new();
    for event in Parser::new_ext(markdown, options()) {
        match event {
            Event::Start(Tag::Heading {
                level, classes, attrs, ..
            }) => {
                let anchor = next
                    .next()
                    .map_or(String::new(), |heading| format!("{prefix}{}", heading.anchor));
                let id = Some(CowStr::from(anchor.clone()));
                anchors.push(anchor);
                events.push(Event::Start(Tag::Heading {
                    level,
                    id,
                    classes,
                    attrs,
                }));
            }
            Event::End(TagEnd::Heading(level)) => {
                let anchor = anchors.last().map_or("", String::as_str);
                let link = format!(" <a class=\"anchor\" href=\"#{anchor}\" aria-label=\"Link to this heading\">#</a>");
                events.push(Event::InlineHtml(link.into()));
                events.push(Event::End(TagEnd::Heading(level)));
                if anchors.len() == 1 && !contents.is_empty() {
                    events.push(Event::Html(contents.to_string().into()));
                }
            }
            Event::Start(Tag::Table(columns)) => {
                events.push(Event::Html("<div class=\"wide\" tabindex=\"0\">".into()));
                events.push(Event::Start(Tag::Table(columns)));
            }
            Event::End(TagEnd::Table) => {
                events.push(Event::End(TagEnd::Table));
                events.push(Event::Html("</div>\n".into()));
            }
            other => events.push(readdressed(other, address)),
        }
    }
    let mut text = String::new();
    html::push_html(&mut text, events.into_iter());
    text
}

/// Links and pictures with their addresses in the book.
fn readdressed<'e>(event: Event<'e>, address: &dyn Fn(&str) -> String) -> Event<'e> {
    match event {
        Event::Start(Tag::Link {
            link_type,
            dest_url,
            title,
            id,
        }) => Event::Start(Tag::Link {
            link_type,
            dest_url: address(&dest_url).into(),
            title,
            id,
        }),
        Event::Start(Tag::Image {
            link_type,
            dest_url,
            title,
            id,
        }) => Event::Start(Tag::Image {
            link_type,
            dest_url: address(&dest_url).into(),
            title,
            id,
        }),
        other => other,
    }
}

/// A text within HTML.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_anchors_a_box_around_its_table_and_addresses_of_the_book() {
        let pages = [Page {
            title: "A <b>".into(),
            source: "docs/a.md".into(),
            html: "a.html".into(),
            part: "Part".into(),
        }];
        let markdown = "# A\n\n[b](b.md)\n\n| x |\n|---|\n| `<y>` |\n";
        let made = page(&Frame::of(&pages, 0), markdown, &|link| format!("to-{link}"));
        let parts = [
            "<title>A &lt;b&gt; - vlflab</title>",
            "<h1 id=\"a\">A <a class=\"anchor\" href=\"#a\"",
            "<a href=\"to-b.md\">b</a>",
            "<div class=\"wide\" tabindex=\"0\"><table>",
            "<code>&lt;y&gt;</code>",
            "<h2>Part</h2><a href=\"a.html\" aria-current=\"page\">A &lt;b&gt;</a>",
        ];
        for part in parts {
            assert!(made.contains(part), "{part} in {made}");
        }
        let in_whole = section(&pages[0], "# A\n\n[up](#a)\n", &|link| link.to_string());
        assert!(
            in_whole.contains("<h1 id=\"a.a\">") && in_whole.contains("<a href=\"#a.a\">up</a>"),
            "{in_whole}"
        );
    }
}
