//! The page for a browser: self-contained, whatever names it includes.

use advisor::render::{AdviceFormat, AdviceText, Unreached, advice_text};

use super::recorded::Recorded;

fn page(set: &Recorded, unreached: &[Unreached]) -> String {
    let servers = [set.advice()];
    let text = AdviceText {
        servers: &servers,
        unreached,
        all: true,
    };
    advice_text(text, AdviceFormat::Html)
}

#[test]
fn the_page_needs_nothing_beside_it_and_names_stay_text() {
    let mut set = Recorded::sales("FULL", "ACTIVE_TRANSACTION", 105, 70);
    set.transaction(105, "09:00:00", Some("<script>alert(1)</script>"));
    let unreached = [Unreached {
        name: "db<9>".to_owned(),
        reason: "no answer within 15 s".to_owned(),
    }];
    let page = page(&set, &unreached);
    for fetched in ["http:", "https:", "url(", "<script", "<link", "<img", "@import", "src="] {
        assert!(!page.contains(fetched), "{fetched}");
    }
    for part in [
        "&lt;script&gt;alert(1)",
        "db&lt;9&gt;",
        "held-by-transaction",
        "KILL 57;",
        "prefers-color-scheme: dark",
        "width=device-width",
        "@media print",
        "width:70%",
    ] {
        assert!(page.contains(part), "{part}");
    }
    // Each element that is opened is closed.
    for element in ["section", "table", "details", "main", "pre", "ul", "p", "td", "tr"] {
        let opened = page.matches(&format!("<{element}>")).count() + page.matches(&format!("<{element} ")).count();
        assert_eq!(opened, page.matches(&format!("</{element}>")).count(), "{element}");
    }
}

#[test]
fn a_healthy_server_has_nothing_to_do_on_its_page() {
    let page = page(&Recorded::sales("FULL", "NOTHING", 116, 8), &[]);
    assert!(page.contains("<h2>What to do</h2>\n<p>Nothing.</p>"), "{page}");
}
