//! The page of functions, `docs/functions.md`, made from the functions' own descriptions.
//!
//! `docs/build` writes the file, and a test of the book (`crates/cli/tests/it/book.rs`) checks it.

use std::fmt::Write as _;

use super::variable::VARIABLES;
use super::{Answer, Signature, TABLE_FUNCTIONS, TABLES};
use crate::keywords::FUNCTIONS_WITHOUT_PARENTHESES;

const HEAD: &str = "# Functions

Every function of this T-SQL. The names, arguments and answers are SQL Server's. A call of a function that is not on this page is error 195.

This page is made from the code.
Arguments in brackets can be left out. Where no type is named, the type of the answer follows from the arguments.
";

/// Calls that the parser or the binder reads by a rule of their own.
const OF_THEIR_OWN: [(&str, &[(&str, &str)]); 5] = [
    (
        "Conversions and choices",
        &[
            ("CAST(value AS type)", "the value as another type"),
            ("TRY_CAST(value AS type)", "the same; NULL where it cannot be"),
            (
                "CONVERT(type, value [, style])",
                "the value as another type; dates, money and binary strings by a style",
            ),
            (
                "TRY_CONVERT(type, value [, style])",
                "the same; NULL where it cannot be",
            ),
            (
                "PARSE(text AS type [USING culture])",
                "a text read as a number or a date",
            ),
            (
                "TRY_PARSE(text AS type [USING culture])",
                "the same; NULL where it cannot be",
            ),
            ("COALESCE(value, value, ...)", "the first value that is not NULL"),
            (
                "ISNULL(value, other)",
                "the value, or the other where it is NULL, in the type of the value",
            ),
            ("NULLIF(left, right)", "NULL where both are equal, else the left one"),
            ("IIF(condition, yes, no)", "one of two values"),
            ("CHOOSE(place, value, ...)", "the value at a place, from 1"),
        ],
    ),
    (
        "Aggregates: all but the last three also with OVER",
        &[
            ("COUNT(*)", "rows"),
            ("COUNT([DISTINCT] value)", "values that are not NULL"),
            ("COUNT_BIG([DISTINCT] value)", "the same as bigint"),
            ("SUM([DISTINCT] number)", "sum"),
            ("AVG([DISTINCT] number)", "mean"),
            ("MIN(value)", "least value"),
            ("MAX(value)", "greatest value"),
            ("STDEV(number)", "standard deviation of a sample"),
            ("STDEVP(number)", "standard deviation of a population"),
            ("VAR(number)", "variance of a sample"),
            ("VARP(number)", "variance of a population"),
            (
                "STRING_AGG(text, separator) [WITHIN GROUP (ORDER BY ...)]",
                "the texts joined, with the separator between",
            ),
            ("CHECKSUM_AGG(number)", "a checksum of numbers in any order"),
            (
                "APPROX_COUNT_DISTINCT(value)",
                "different values that are not NULL, as bigint; the count is exact",
            ),
        ],
    ),
    (
        "Making JSON",
        &[
            (
                "JSON_OBJECT(name:value, ... [NULL | ABSENT ON NULL] [RETURNING JSON])",
                "an object; without a word of NULL, NULL stays",
            ),
            (
                "JSON_ARRAY(value, ... [NULL | ABSENT ON NULL] [RETURNING JSON])",
                "an array; without a word of NULL, NULL is left out",
            ),
            (
                "JSON_OBJECTAGG(name:value [NULL | ABSENT ON NULL] [RETURNING JSON])",
                "an object of a group's rows; without a word of NULL, NULL stays",
            ),
            (
                "JSON_ARRAYAGG(value [ORDER BY ...] [NULL | ABSENT ON NULL] [RETURNING JSON])",
                "an array of a group's rows; without a word of NULL, NULL is left out",
            ),
        ],
    ),
    (
        "Pointers and documents",
        &[
            (
                "TEXTPTR(column)",
                "a pointer to a text, ntext or image value of a row, for READTEXT, WRITETEXT and UPDATETEXT",
            ),
            (
                "OPENXML(document, pattern [, flags]) [WITH (columns) | WITH table]",
                "in FROM: a row for each node of a prepared document that a pattern leads to",
            ),
        ],
    ),
    (
        "Groups and windows",
        &[
            ("GROUPING(key)", "1 in a row that GROUPING SETS made without this key"),
            ("GROUPING_ID(key, ...)", "the same for several keys, as bits"),
            ("ROW_NUMBER() OVER (... ORDER BY ...)", "number of the row"),
            ("RANK() OVER (... ORDER BY ...)", "rank with gaps"),
            ("DENSE_RANK() OVER (... ORDER BY ...)", "rank without gaps"),
            (
                "NTILE(count) OVER (... ORDER BY ...)",
                "number of the part, where the rows are cut into so many equal parts",
            ),
            ("PERCENT_RANK() OVER (... ORDER BY ...)", "rank from 0 to 1"),
            (
                "CUME_DIST() OVER (... ORDER BY ...)",
                "share of the rows up to this one",
            ),
            (
                "LAG(value [, rows [, default]]) OVER (... ORDER BY ...)",
                "value of an earlier row",
            ),
            (
                "LEAD(value [, rows [, default]]) OVER (... ORDER BY ...)",
                "value of a later row",
            ),
            (
                "FIRST_VALUE(value) OVER (... ORDER BY ...)",
                "value of the frame's first row",
            ),
            (
                "LAST_VALUE(value) OVER (... ORDER BY ...)",
                "value of the frame's last row",
            ),
        ],
    ),
];

pub fn page() -> String {
    let mut page = HEAD.to_owned();
    for (title, rows) in OF_THEIR_OWN {
        begin(&mut page, title, "| call | answers |\n|---|---|\n");
        for (call, meaning) in rows {
            line(&mut page, &[&format!("`{call}`"), meaning]);
        }
    }
    begin(&mut page, "In FROM", "| call | answers |\n|---|---|\n");
    for function in &TABLE_FUNCTIONS {
        let (call, meaning) = function.told;
        line(&mut page, &[&format!("`{call}`"), meaning]);
    }
    for (title, functions) in TABLES.into_iter().chain([("Global variables", VARIABLES)]) {
        begin(&mut page, title, "| call | type | answers |\n|---|---|---|\n");
        let mut functions: Vec<&Signature> = functions.iter().collect();
        functions.sort_by_key(|function| function.name);
        for function in functions {
            let meaning = function.told.split_once(':').map_or("", |(_, meaning)| meaning.trim());
            line(
                &mut page,
                &[&format!("`{}`", call_of(function)), &type_of(function), meaning],
            );
        }
    }
    page
}

fn begin(page: &mut String, title: &str, head: &str) {
    write!(page, "\n## {title}\n\n{head}").expect("a string takes what is written");
}

fn line(page: &mut String, cells: &[&str]) {
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
    writeln!(page, "| {} |", cells.join(" | ")).expect("a string takes what is written");
}

fn type_of(function: &Signature) -> String {
    match function.answer {
        Answer::Fixed(sql_type) => sql_type.to_string(),
        Answer::Same(_) | Answer::Computed(_) => String::new(),
    }
}

/// How a function is called: `LOG(number [, base])`.
fn call_of(function: &Signature) -> String {
    let name = function.name.to_ascii_uppercase();
    if name.starts_with('@') || FUNCTIONS_WITHOUT_PARENTHESES.contains(&name.as_str()) {
        return name;
    }
    let names = parameter_names(function);
    let last = names.last().copied().unwrap_or_default();
    let count = names.len().max(function.minimum);
    let mut call = String::new();
    for place in 0..count {
        let comma = if place > 0 { ", " } else { "" };
        let parameter = names.get(place).copied().unwrap_or(last);
        let open = if place == function.minimum { " [" } else { "" };
        call.push_str(&format!("{open}{comma}{parameter}"));
    }
    call.push_str(if function.variadic { ", ..." } else { "" });
    call.push_str(if count > function.minimum { "]" } else { "" });
    format!("{name}({})", call.trim_start())
}

fn parameter_names(function: &Signature) -> Vec<&'static str> {
    let names = function.told.split_once(':').map_or("", |(names, _)| names);
    names.split(", ").filter(|name| !name.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_says_what_it_is_called_with_and_what_it_answers() {
        let tables = TABLES.into_iter().chain([("", VARIABLES)]);
        let functions: Vec<&Signature> = tables.flat_map(|(_, functions)| functions).collect();
        assert!(functions.len() > 150);
        for function in &functions {
            let (names, meaning) = (parameter_names(function), function.told.split_once(": "));
            assert!(meaning.is_some(), "{} says nothing of itself", function.name);
            let fits = match function.variadic {
                true => names.len() >= function.parameters.len(),
                false => names.len() == function.parameters.len(),
            };
            assert!(fits, "{} names {} parameters", function.name, names.len());
            let same = functions.iter().filter(|other| other.name == function.name);
            assert_eq!(same.count(), 1, "{} stands there twice", function.name);
        }
    }

    #[test]
    fn what_can_be_left_out_stands_in_brackets() {
        let call = |name| call_of(super::super::find(name).expect("a name of the table"));
        assert_eq!(call("log"), "LOG(number [, base])");
        assert_eq!(call("concat_ws"), "CONCAT_WS(separator, value, value, ...)");
        assert_eq!(call("formatmessage"), "FORMATMESSAGE(message [, argument, ...])");
        assert_eq!(call("rand"), "RAND([seed])");
        assert_eq!(call("current_user"), "CURRENT_USER");
    }
}
