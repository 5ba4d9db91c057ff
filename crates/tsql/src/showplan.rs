//! The XML document around plans, into which callers put plans. It conforms to schemas.microsoft.com/sqlserver/2004/07/showplan, version
//! 1.6 of 2017-03-27.

use vlf::ServerVersion;

/// A document of statements, each a `StmtSimple`.
pub fn document(version: ServerVersion, statements: &[String]) -> String {
    let ((major, minor), build) = (version.product_version(), version.build());
    format!(
        "<ShowPlanXML xmlns=\"http://schemas.microsoft.com/sqlserver/2004/07/showplan\" Version=\"1.6\" Build=\"{major}.{minor}.{build}.0\">\
         <BatchSequence><Batch><Statements>{}</Statements></Batch></BatchSequence></ShowPlanXML>",
        statements.concat()
    )
}

/// A text as it stands in an attribute.
pub fn escaped(written: &str) -> String {
    let mut safe = String::with_capacity(written.len());
    for character in written.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\t' | '\n' | '\r' => safe.push_str(&format!("&#{};", character as u32)),
            // XML 1.0 has no place for these.
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => safe.push(' '),
            other => safe.push(other),
        }
    }
    safe
}
