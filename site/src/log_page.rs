//! `log.html`: the page of the book that reads a log in the browser. One file with everything inside: style, scripts, disks, WebAssembly.
//!
//! Its policy allows its own two scripts by their hashes, WebAssembly, a worker made of the page, and nothing from elsewhere. The second
//! script is that of the live page, which plays recordings in a frame without an origin; the frame inherits the policy.
//!
//! Where no WebAssembly was built (`packaging/wasm`), the page is short and says why.

use crate::render::escaped;
use crate::{Outcome, SiteError};
use advisor::live::page::{DRAWING, MODEL, STYLE, page as live_page};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use browser::Disk;
use lab::disks;
use sha2::{Digest, Sha256};
use std::path::Path;
use vlf::{LogLayout, ServerVersion};

/// Its name in the book.
pub const NAME: &str = "log.html";
/// What a link to it is in Markdown: its source.
pub const SOURCE: &str = "crates/browser/page/page.html";

const HTML: &str = include_str!("../../crates/browser/page/page.html");
const OWN_STYLE: &str = include_str!("../../crates/browser/page/page.css");
const OWN_SCRIPT: &str = include_str!("../../crates/browser/page/page.js");
const WORKER: &str = include_str!("../../crates/browser/page/worker.js");

/// Megabytes of the example's log when it was created, and of each growth.
const EXAMPLE_STEP_MB: u64 = 1;
/// How often the example's log has grown.
const EXAMPLE_GROWTHS: u64 = 2_000;
/// Its first sequence number, and the VLFs at its end that are active.
const EXAMPLE_SEQUENCE: usize = 38;
const EXAMPLE_ACTIVE: usize = 25;

/// The page, or why there is none.
///
/// # Errors
/// A built-in disk that cannot be read.
pub fn of_build(target: &Path) -> Outcome<Result<String, String>> {
    let folder = target.join("wasm");
    match std::fs::read(folder.join("browser.wasm")) {
        Ok(wasm) => page(&wasm).map(Ok),
        Err(_) => {
            let reason = std::fs::read_to_string(folder.join("reason"));
            Ok(Err(reason.map_or_else(
                |_| "it was not built: run packaging/wasm".to_owned(),
                |text| text.trim().to_owned(),
            )))
        }
    }
}

/// The page with this WebAssembly inside.
///
/// # Errors
/// A built-in disk that cannot be read.
pub fn page(wasm: &[u8]) -> Outcome<String> {
    let script = format!("\"use strict\";\n{MODEL}{DRAWING}{OWN_SCRIPT}");
    let live = live_page("", "");
    let live_script = script_of(&live);
    let policy = format!(
        "default-src 'none'; script-src {} {} 'wasm-unsafe-eval'; style-src 'unsafe-inline'; worker-src blob:; img-src data:; \
         base-uri 'none'; form-action 'none'",
        hash_of(&script),
        hash_of(live_script)
    );
    let parts = [
        ("{{policy}}", policy),
        ("{{style}}", format!("{STYLE}{OWN_STYLE}")),
        ("{{disks}}", disks_json()?),
        ("{{example}}", example_rows()),
        ("{{worker}}", WORKER.to_owned()),
        ("{{wasm}}", STANDARD.encode(wasm)),
        ("{{script}}", script),
    ];
    let mut rest = HTML;
    let mut made = String::with_capacity(wasm.len() * 2);
    for (place, text) in parts {
        let (before, behind) = rest
            .split_once(place)
            .ok_or_else(|| SiteError(format!("{SOURCE} has no {place} in its order")))?;
        made += before;
        made += &text;
        rest = behind;
    }
    Ok(made + rest)
}

/// The short page that says why the book lacks the long one.
pub fn without(reason: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Read a log here - vlflab</title>\n\
         <link rel=\"stylesheet\" href=\"style.css\">\n</head>\n<body>\n<main>\n<h1>Read a log here</h1>\n\
         <p>This copy of the book has no such page: {}.</p>\n<p><a href=\"index.html\">The book</a></p>\n</main>\n</body>\n</html>\n",
        escaped(reason)
    )
}

/// The text of the script that a page runs: the others have a type, and are data.
fn script_of(page: &str) -> &str {
    let begun = page.split_once("<script>").map_or("", |(_, behind)| behind);
    begun.split_once("</script>").map_or("", |(script, _)| script)
}

fn hash_of(script: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(script.as_bytes())))
}

fn disks_json() -> Outcome<String> {
    let disk = |name: &&'static str| {
        let disk = disks::load(name).map_err(|error| SiteError(error.to_string()))?;
        Ok(Disk::of(&disk.name, &disk.title, &disk.ranges))
    };
    let disks = disks::names().iter().map(disk).collect::<Outcome<Vec<Disk>>>()?;
    let text = serde_json::to_string(&disks).map_err(|error| SiteError(error.to_string()))?;
    Ok(text.replace('<', "\\u003c"))
}

/// Rows of `DBCC LOGINFO`, as SQL Server 2012 prints them of a log that has grown by small steps.
fn example_rows() -> String {
    const MB: u64 = 1 << 20;
    let mut layout =
        LogLayout::create(ServerVersion::V2012, EXAMPLE_STEP_MB * MB).expect("a log of a megabyte may be created");
    for _ in 0..EXAMPLE_GROWTHS {
        layout
            .grow(EXAMPLE_STEP_MB * MB)
            .expect("a log of a gigabyte may grow by a megabyte");
    }
    let mut text = String::from("RecoveryUnitId\tFileId\tFileSize\tStartOffset\tFSeqNo\tStatus\tParity\tCreateLSN\n");
    let count = layout.vlf_count();
    for (index, vlf) in layout.vlfs().iter().enumerate() {
        let status = if index + EXAMPLE_ACTIVE >= count { 2 } else { 0 };
        let create_lsn = match vlf.growth_step {
            0 => "0".to_owned(),
            step => format!("{}000000001600005", EXAMPLE_SEQUENCE + 4 * step as usize),
        };
        text += &format!(
            "0\t2\t{}\t{}\t{}\t{status}\t64\t{create_lsn}\n",
            vlf.span.bytes,
            vlf.span.offset,
            EXAMPLE_SEQUENCE + index
        );
    }
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_page_asks_nothing_of_a_network_and_runs_its_own_scripts_alone() {
        let made = page(b"\0asm").unwrap();
        let policy = made.split("Content-Security-Policy\" content=\"").nth(1).unwrap();
        let policy = policy.split('"').next().unwrap();
        assert!(policy.starts_with("default-src 'none'; "), "{policy}");
        // The script that is there is the one that the policy names.
        assert!(policy.contains(&hash_of(script_of(&made))), "{policy}");
        let live = live_page("", "");
        assert!(policy.contains(&hash_of(script_of(&live))), "{policy}");
        for script in [script_of(&made), script_of(&live)] {
            assert!(script.starts_with("\"use strict\";"), "{}", &script[..40]);
            assert!(script.trim_end().ends_with(");"), "the whole script");
        }
        assert!(
            !made.contains("http://") && !made.contains("https://"),
            "nothing from elsewhere"
        );
        assert!(!made.contains("{{"), "every place is filled");
        assert!(made.contains("AGFzbQ=="), "the WebAssembly is inside");
        assert!(made.contains("\"azure-p30\""), "and so are the disks");
    }

    #[test]
    fn a_book_without_the_page_says_why() {
        let nowhere = std::env::temp_dir().join(format!("vlflab-no-wasm-{}", std::process::id()));
        let reason = of_build(&nowhere).unwrap().unwrap_err();
        assert_eq!(reason, "it was not built: run packaging/wasm");
        std::fs::create_dir_all(nowhere.join("wasm")).unwrap();
        std::fs::write(nowhere.join("wasm/reason"), "no <target>\n").unwrap();
        let reason = of_build(&nowhere).unwrap().unwrap_err();
        std::fs::remove_dir_all(&nowhere).unwrap();
        assert!(without(&reason).contains("no &lt;target&gt;."));
    }

    #[test]
    fn the_example_is_a_log_that_advice_has_something_to_say_about() {
        let rows = example_rows();
        let snapshot = advisor::snapshot::of_text(&rows, "example", ServerVersion::V2012).unwrap();
        let database = &snapshot.databases[0];
        assert_eq!(database.vlf_count(), 4 + 4 * EXAMPLE_GROWTHS);
    }
}
