//! The page itself: one HTML text with inline style and script, which contacts only the server it came from.

const HTML: &str = include_str!("page/page.html");
/// The style of the page: colours, cards, ring.
pub const STYLE: &str = include_str!("page/page.css");
/// Logs as arrays of numbers: `Log`, made of a [`super::LogMap`].
pub const MODEL: &str = include_str!("page/model.js");
/// The ring and the close-up on canvases; needs [`MODEL`] before it.
pub const DRAWING: &str = include_str!("page/drawing.js");
const INSIDE: &str = include_str!("page/inside.js");
const RECOVERY: &str = include_str!("page/recovery.js");
const SCRIPT: &str = include_str!("page/page.js");

/// The page with `data` inside: a recording, or nothing; `nonce` lets its style and script run under a policy that names it.
pub fn page(data: &str, nonce: &str) -> String {
    let attribute = match nonce {
        "" => String::new(),
        nonce => format!(" nonce=\"{nonce}\""),
    };
    let script = format!("\"use strict\";\n{MODEL}{DRAWING}{INSIDE}{RECOVERY}{SCRIPT}");
    // The data last: what a server calls itself must not be taken for a place of the page.
    HTML.replace("{{nonce}}", &attribute)
        .replace("{{style}}", STYLE)
        .replace("{{script}}", &script)
        .replacen("{{data}}", data, 1)
}
