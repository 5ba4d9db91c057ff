//! `query_hash` and `query_plan_hash`: equal for statements that differ only in constants, and for plans that differ only in costs
//! (sql-docs, `sys.dm_exec_query_stats`: "You can use the query hash to determine the aggregate resource usage for queries that differ only
//! by literal values"). The values are opaque and this program's own.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use syntax::lexer::{Lexer, TokenKind};

/// What of a plan tells it from others; estimates, counts and the text do not.
const PARTS_OF_PLANS: [&str; 8] = [
    "PhysicalOp",
    "LogicalOp",
    "Database",
    "Schema",
    "Table",
    "Index",
    "Ordered",
    "ScanDirection",
];

/// Of a statement. Names are the same in every letter case and between any quotes; comments and blanks are nothing.
pub(super) fn of_query(text: &str) -> [u8; 8] {
    let mut hasher = DefaultHasher::new();
    let mut lexer = Lexer::new(text, true);
    while let Ok(token) = lexer.next_token() {
        let written = text.get(token.start..token.end).unwrap_or_default();
        match token.kind {
            TokenKind::End => break,
            TokenKind::Text
            | TokenKind::NationalText
            | TokenKind::Number
            | TokenKind::Float
            | TokenKind::Money
            | TokenKind::Binary => hasher.write_u8(1),
            TokenKind::Bracketed | TokenKind::DoubleQuoted => {
                let name = written.get(1..written.len().saturating_sub(1)).unwrap_or_default();
                (2_u8, name.to_lowercase()).hash(&mut hasher);
            }
            TokenKind::Symbol(b';', 0) => {}
            _ => (2_u8, written.to_lowercase()).hash(&mut hasher),
        }
    }
    hasher.finish().to_be_bytes()
}

/// Of the plan of a statement, given as its element in XML; zeros for none.
pub(super) fn of_plan(element: Option<&String>) -> [u8; 8] {
    let Some(element) = element else { return [0; 8] };
    let mut hasher = DefaultHasher::new();
    let mut rest = element.as_str();
    while let Some((before, behind)) = rest.split_once("=\"") {
        let Some((value, next)) = behind.split_once('"') else {
            break;
        };
        let name = before.rsplit([' ', '<']).next().unwrap_or_default();
        if PARTS_OF_PLANS.contains(&name) {
            (name, value).hash(&mut hasher);
        }
        rest = next;
    }
    hasher.finish().to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_case_quotes_and_blanks_make_no_other_query() {
        let one = of_query("select a from t where b = 1 and c = N'x'");
        for same in [
            "SELECT  [a] FROM \"T\" /* why */ where b = 17.5 and c='y' -- so\n",
            "select a from t where b = 0x01 and c = $3;",
        ] {
            assert_eq!(of_query(same), one, "{same}");
        }
        for other in ["select a from t where b = 1", "select a from u where b = 1 and c = 'x'"] {
            assert_ne!(of_query(other), one, "{other}");
        }
    }

    #[test]
    fn a_plan_is_told_by_its_operators_and_objects() {
        let plan = |operator: &str, rows: u32| {
            format!("<RelOp PhysicalOp=\"{operator}\" EstimateRows=\"{rows}\"><Object Table=\"[t]\"/></RelOp>")
        };
        assert_eq!(of_plan(Some(&plan("Sort", 1))), of_plan(Some(&plan("Sort", 9))));
        assert_ne!(of_plan(Some(&plan("Sort", 1))), of_plan(Some(&plan("Top", 1))));
        assert_eq!(of_plan(None), [0; 8]);
    }
}
