//! What the grammar leaves to be made: names of the catalog that [`crate::catalog`] fills, literals, options of the tables that the
//! server itself asks.

use super::writer::{Source, Writer};
use crate::catalog::TABLES;
use outside::random::Random;
use tsql::functions::Parameter;
use tsql::grammar::{Fate, PLACES};

/// What a column holds, as far as expressions care.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Number,
    /// Any string.
    Text,
    /// A date, a time or both.
    Moment,
    /// Anything else, or not known.
    Other,
}

const DATE_PARTS: &[&str] = &[
    "year",
    "yy",
    "quarter",
    "month",
    "dayofyear",
    "day",
    "week",
    "weekday",
    "hour",
    "minute",
    "second",
    "ms",
    "mcs",
    "ns",
    "tz",
    "iso_week",
    "nonsense",
];
const NUMBER_TYPES: &[&str] = &[
    "int",
    "bigint",
    "smallint",
    "tinyint",
    "bit",
    "decimal",
    "decimal(38, 0)",
    "decimal(5,2)",
    "numeric(38,38)",
    "float",
    "real",
    "money",
    "smallmoney",
    "float(24)",
];
const TEXT_TYPES: &[&str] = &[
    "varchar(20)",
    "varchar",
    "nvarchar(30)",
    "char(5)",
    "nchar(3)",
    "varchar(max)",
    "nvarchar(max)",
    "sysname",
    "varchar(8000)",
    "text",
    "ntext",
    "ut1",
    "nvarchar(4000)",
];
const DATE_TYPES: &[&str] = &[
    "date",
    "datetime",
    "datetime2",
    "datetime2(0)",
    "smalldatetime",
    "time",
    "time(3)",
    "datetimeoffset",
    "datetimeoffset(2)",
];
const OTHER_TYPES: &[&str] = &[
    "varbinary(20)",
    "binary(8)",
    "varbinary(max)",
    "uniqueidentifier",
    "sql_variant",
    "xml",
    "timestamp",
    "rowversion",
    "image",
    "geography",
    "geometry",
    "hierarchyid",
    "json",
    "cursor",
    "varchar(0)",
    "decimal(39,1)",
    "nvarchar(4001)",
    "varchar(8001)",
    "time(8)",
    "dbo.ut1",
    "int(3)",
    "table",
    "tt1",
    "double precision",
    "national character varying(10)",
    "char varying(5)",
    "character(4)",
    "dec(5)",
];
const COLLATIONS: &[&str] = &[
    "SQL_Latin1_General_CP1_CI_AS",
    "SQL_Latin1_General_CP1_CS_AS",
    "Latin1_General_CI_AS",
    "Latin1_General_CS_AS",
    "Latin1_General_CI_AI",
    "Latin1_General_BIN",
    "Latin1_General_BIN2",
    "Latin1_General_100_CI_AS_SC_UTF8",
    "database_default",
    "Nonsense_CI_AS",
];
const NUMBER_VARIABLES: &[&str] = &["@i", "@n", "@f"];
const TEXT_VARIABLES: &[&str] = &["@s", "@u"];
const OTHER_VARIABLES: &[&str] = &["@v", "@o", "@a", "@missing"];
const NEW_NAMES: &[&str] = &[
    "new1",
    "new2",
    "#new3",
    "##new4",
    "dbo.new5",
    "other.new6",
    "[strange ]]name]",
    "\"double\"\"name\"",
    "t1",
    "v1",
    "f1",
    "p1",
    "fuzz..new7",
    "missing..new8",
    "x1",
    "sys.objects",
    "tempdb..#new9",
];
const FORMATS: &[&str] = &[
    "N'N2'",
    "'C'",
    "'d'",
    "'D5'",
    "'yyyy-MM-dd'",
    "'0.00'",
    "'#,##0.###'",
    "'E3'",
    "'P'",
    "'x'",
    "'X8'",
    "'G'",
    "'r'",
    "'hh:mm:ss.fffffff tt'",
    "'0;-0;zero'",
    "'%d'",
    "'\\x'",
    "'''q'' MMMM'",
    "''",
    "'N999'",
    "'dddd, MMMM dd'",
    "'{0}'",
    "@s",
];
const MESSAGE_FORMATS: &[&str] = &[
    "'plain'",
    "'%d and %s'",
    "'%5.3d|%-10s|%x'",
    "'%'",
    "'%%'",
    "'%I64d'",
    "'%*d'",
    "'%.*s'",
    "'%+05i %o %u %X'",
    "'%p'",
    "'%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s'",
    "'%2147483647d'",
    "'%.99999999s'",
    "'%#x % d'",
    "N'é%s\u{1F600}%d'",
    "50001",
    "'%-'",
    "'%l'",
    "'%ld'",
    "'%hd'",
];
const GLOBAL_VARIABLES: &[&str] = &[
    "@@VERSION",
    "@@SERVERNAME",
    "@@IDENTITY",
    "@@FETCH_STATUS",
    "@@ROWCOUNT",
    "@@ERROR",
    "@@DBTS",
    "@@OPTIONS",
    "@@TEXTSIZE",
    "@@NESTLEVEL",
    "@@PROCID",
    "@@DATEFIRST",
    "@@LANGUAGE",
    "@@MAX_PRECISION",
    "@@CPU_BUSY",
    "@@NONSENSE",
    "@@MICROSOFTVERSION",
    "@@LOCK_TIMEOUT",
];

fn pick(random: &mut Random, choices: &[&str]) -> String {
    (*random.choose(choices)).to_owned()
}

/// A word that is in no grammar.
pub(super) fn strange_word(random: &mut Random) -> String {
    let words = [
        "'",
        "\"",
        "[",
        "]",
        "/*",
        "*/",
        "--",
        "N'",
        "0x",
        "0xABC",
        "1e",
        "1e400",
        "$",
        "$1.2.3",
        "@",
        "@@",
        "#",
        ";;",
        "::",
        "..",
        ".",
        ",",
        "(",
        ")",
        "'a''b'",
        "N'\u{1F600}\u{301}'",
        "\u{FEFF}",
        "\u{200B}",
        "\u{3000}",
        "99999999999999999999999999999999999999",
        "1.",
        ".5",
        "-",
        "{",
        "}",
        "{fn",
        "\\\n",
        "$action",
        "$partition",
        "@@@",
        "\u{0}",
        "\u{1}",
        "[a",
        "\"a",
        "0x0G",
        "1_000",
        "é",
        "ſelect",
        "K",
        "!",
        "!=",
        "=",
        "+=",
        "GO",
        "select",
        "from",
        "end",
    ];
    pick(random, &words)
}

fn number_literal(random: &mut Random) -> String {
    let literals = [
        "0",
        "1",
        "-1",
        "2147483647",
        "2147483648",
        "-2147483648",
        "9223372036854775807",
        "9223372036854775808",
        "0.1",
        "1.5",
        "123456789.123456789",
        "99999999999999999999999999999999999999",
        "0.00000000000000000000000000000000000001",
        "1e308",
        "1e-308",
        "1e5",
        "-1.5e-7",
        "$1.50",
        "$922337203685477.5807",
        "-$0.0001",
        "0x7FFFFFFF",
        "255",
        "32768",
        "8000",
        "4001",
        "10.00",
        "1.",
        ".5",
        "1e",
    ];
    pick(random, &literals)
}

fn string(random: &mut Random) -> String {
    let strings = [
        "''",
        "'a'",
        "'abc'",
        "N'\u{e4}\u{f6}\u{fc}'",
        "'%a_[b-d]%'",
        "'2024-02-29'",
        "'12'",
        "'1.5'",
        "'x'",
        "N'\u{1F600}'",
        "'a''b'",
        "'0x41'",
        "'1e5'",
        "' '",
        "'[^a-z]'",
        "'00:00:00.001'",
        "'2024-01-01T12:34:56.789+02:00'",
        "'$1,234.50'",
        "'6F9619FF-8B86-D011-B42D-00C04FC964FF'",
        "N'\u{301}a'",
        "'NULL'",
        "'-'",
        "'int'",
        "'BaseType'",
        "'+14:00'",
        "'dbo.t1'",
        "'t1'",
        "'\u{df}\u{c6}\u{fe}'",
        "'ISNULL'",
        "'Collation'",
        "'20240101'",
    ];
    if random.below(60) == 0 {
        return format!("'{}'", "ab%_".repeat(random.below(400) as usize));
    }
    pick(random, &strings)
}

fn date(random: &mut Random) -> String {
    let dates = [
        "'2024-02-29'",
        "'1900-01-01'",
        "'9999-12-31T23:59:59.997'",
        "'1753-01-01'",
        "'0001-01-01'",
        "'2024-06-01 12:34:56.1234567'",
        "'12:00'",
        "'2024-06-01T10:00:00-08:00'",
        "'1752-12-31'",
        "'2024-13-01'",
    ];
    pick(random, &dates)
}

/// A column of a kind that is seen here, mostly with its alias; else any.
fn column(writer: &mut Writer<'_>, wanted: Option<Kind>) -> String {
    let is_outer = writer.random.below(8) == 0;
    let scope = if is_outer {
        writer.scopes.iter().rev().nth(1)
    } else {
        writer.scopes.last()
    };
    let fits = |kind: Kind| wanted.is_none_or(|wanted| wanted == kind || kind == Kind::Other);
    let seen: Vec<(String, String)> = scope
        .into_iter()
        .flatten()
        .flat_map(|source| source.columns.iter().map(move |column| (source.alias.clone(), column)))
        .filter(|(_, column)| fits(column.1))
        .map(|(alias, column)| (alias, column.0.clone()))
        .collect();
    if seen.is_empty() || writer.random.below(50) == 0 {
        // Where nothing is seen a name alone would nearly always be wrong.
        let literal = match wanted {
            Some(Kind::Number) => number_literal(writer.random),
            Some(Kind::Text) => string(writer.random),
            Some(Kind::Moment) => date(writer.random),
            _ => "NULL".to_owned(),
        };
        return if writer.random.below(10) == 0 {
            any_column(writer.random)
        } else {
            literal
        };
    }
    let (alias, name) = writer.random.choose(&seen).clone();
    let is_alone = scope_sources(writer) <= 1;
    match writer.random.below(10) {
        0..3 if is_alone => name,
        3 => name,
        _ => format!("{alias}.{name}"),
    }
}

fn scope_sources(writer: &Writer<'_>) -> usize {
    writer.scopes.last().map_or(0, Vec::len)
}

fn any_column(random: &mut Random) -> String {
    let table = random.choose(TABLES);
    random.choose(table.columns).0.to_owned()
}

/// A table or view as a source, with an alias.
fn table_source(writer: &mut Writer<'_>) -> String {
    if !writer.ctes.is_empty() && writer.random.below(3) == 0 {
        let name = writer.random.choose(&writer.ctes).clone();
        let alias = next_alias(writer);
        writer.see(Source {
            alias: alias.clone(),
            columns: two_columns(),
        });
        return format!("{name} {alias}");
    }
    let table = writer.random.choose(TABLES);
    let columns = table
        .columns
        .iter()
        .map(|(name, kind)| ((*name).to_owned(), *kind))
        .collect();
    let qualified = match writer.random.below(12) {
        0 => format!("dbo.{}", table.name),
        1 => format!("fuzz..{}", table.name),
        2 => format!("[{}]", table.name),
        _ => table.name.to_owned(),
    };
    if writer.random.below(6) == 0 {
        let is_free = writer.scopes.iter().flatten().all(|source| source.alias != table.name);
        if is_free {
            writer.see(Source {
                alias: table.name.to_owned(),
                columns,
            });
            return qualified;
        }
    }
    let alias = next_alias(writer);
    writer.see(Source {
        alias: alias.clone(),
        columns,
    });
    format!("{qualified} {alias}")
}

fn next_alias(writer: &mut Writer<'_>) -> String {
    writer.aliases += 1;
    format!("q{}", writer.aliases)
}

fn two_columns() -> Vec<(String, Kind)> {
    vec![("c1".to_owned(), Kind::Other), ("c2".to_owned(), Kind::Other)]
}

fn derived_alias(writer: &mut Writer<'_>) -> String {
    let alias = next_alias(writer);
    writer.see(Source {
        alias: alias.clone(),
        columns: two_columns(),
    });
    format!("AS {alias} (c1, c2)")
}

/// A function of the catalog or of the server as a source.
fn function_source(writer: &mut Writer<'_>) -> String {
    let call = match writer.random.below(6) {
        0 => "dbo.f2(1)".to_owned(),
        1 => "dbo.f3(2)".to_owned(),
        2 => format!("string_split({}, ',')", string(writer.random)),
        3 => "generate_series(1, 5)".to_owned(),
        4 => "openjson('[1,2]')".to_owned(),
        _ => "::fn_helpcollations()".to_owned(),
    };
    let alias = next_alias(writer);
    let columns = if call.starts_with("dbo") {
        two_columns()
    } else {
        vec![("value".to_owned(), Kind::Other)]
    };
    writer.see(Source {
        alias: alias.clone(),
        columns,
    });
    format!("{call} {alias}")
}

fn system_source(writer: &mut Writer<'_>) -> String {
    let count = tsql::views::every().count() as u64;
    let number = writer.random.below(count) as usize;
    let Some(view) = tsql::views::every().nth(number) else {
        return "sys.objects".to_owned();
    };
    let alias = next_alias(writer);
    let columns = view
        .columns
        .iter()
        .take(8)
        .map(|(name, _)| ((*name).to_owned(), Kind::Other))
        .collect();
    writer.see(Source {
        alias: alias.clone(),
        columns,
    });
    let arguments: Vec<String> = view
        .parameters
        .iter()
        .map(|_| ["NULL", "1", "DB_ID()", "DEFAULT"][writer.random.below(4) as usize].to_owned())
        .collect();
    let call = if view.is_function {
        format!("({})", arguments.join(", "))
    } else {
        String::new()
    };
    format!("{}.{}{call} {alias}", view.schema, view.name)
}

/// A call of any function of the server, with arguments of about the right kind.
fn function_call(random: &mut Random) -> String {
    let count = tsql::functions::every().count() as u64;
    let chosen = random.below(count) as usize;
    let Some(signature) = tsql::functions::every().nth(chosen) else {
        return "NULL".to_owned();
    };
    if signature.minimum == 0 && signature.name.ends_with("user") {
        return signature.name.to_owned();
    }
    let most = signature.parameters.len() as u64 + if signature.variadic { 3 } else { 0 };
    let arguments = signature.minimum as u64 + random.below(most.saturating_sub(signature.minimum as u64) + 1);
    let argument = |place: u64, random: &mut Random| {
        let parameter = signature.parameters.get(place as usize).or(signature.parameters.last());
        match parameter {
            _ if random.below(12) == 0 => pick(random, &["NULL", "@v", "@a", "0x41", "$1", "NEWID()", "1e10"]),
            Some(Parameter::Text | Parameter::Name) => string(random),
            Some(Parameter::Moment | Parameter::LongMoment) => date(random),
            Some(Parameter::Any) | None => {
                if random.below(2) == 0 {
                    string(random)
                } else {
                    number_literal(random)
                }
            }
            Some(_) => number_literal(random),
        }
    };
    let arguments: Vec<String> = (0..arguments).map(|place| argument(place, random)).collect();
    format!("{}({})", signature.name, arguments.join(", "))
}

fn system_procedure(random: &mut Random) -> String {
    let count = tsql::system::procedures::every().count() as u64;
    let number = random.below(count) as usize;
    let Some(procedure) = tsql::system::procedures::every().nth(number) else {
        return "sp_who".to_owned();
    };
    let given = random.below(procedure.parameters.len() as u64 + 1) as usize;
    let arguments: Vec<String> = (0..given)
        .map(|_| match random.below(4) {
            0 => "NULL".to_owned(),
            1 => number_literal(random),
            2 => pick(random, &["'t1'", "'fuzz'", "'dbo.v1'", "'i'", "'true'", "'p1'"]),
            _ => string(random),
        })
        .collect();
    format!("{} {}", procedure.name, arguments.join(", "))
}

/// A word of a table of options, with a value where it takes one.
fn option(random: &mut Random, place: &str, is_string: bool) -> String {
    let place = PLACES
        .iter()
        .find(|known| known.name == place)
        .expect("the grammar names places that there are");
    // A word that is refused ends the statement before the binder sees it.
    let mut word = random.choose(place.words);
    if word.fate == Fate::Refused && random.below(10) > 0 {
        word = random.choose(place.words);
    }
    if is_string {
        return format!("'{}'", word.name);
    }
    let value = match word.fate {
        Fate::Only(values) if random.below(2) == 0 => (*random.choose(values)).to_owned(),
        _ if random.below(20) > 0 => String::new(),
        _ => pick(random, &["ON", "OFF", "1", "'x'", "(1)", "100", "FULL", "AUTO (a = 1)"]),
    };
    let is_bare = matches!(
        place.name,
        "SET" | "SET with a value" | "SET STATISTICS" | "SET OFFSETS" | "DECLARE CURSOR" | "DBCC" | "DBCC TRACEON"
    );
    if is_bare || value.is_empty() {
        word.name.to_owned()
    } else {
        format!("{}{}{value}", word.name, place.joint)
    }
}

fn constant(random: &mut Random) -> String {
    match random.below(6) {
        0 => "NULL".to_owned(),
        1 => "0x41".to_owned(),
        2 => string(random),
        _ => number_literal(random),
    }
}

/// What the grammar calls `<kind:argument>`.
pub(super) fn make(writer: &mut Writer<'_>, kind: &str, argument: &str) -> String {
    match kind {
        "column" => column(writer, None),
        "number_column" => column(writer, Some(Kind::Number)),
        "text_column" => column(writer, Some(Kind::Text)),
        "date_column" => column(writer, Some(Kind::Moment)),
        "table_source" => table_source(writer),
        "table_target" => {
            let table = *writer.random.choose(TABLES);
            let columns = table
                .columns
                .iter()
                .map(|(name, kind)| ((*name).to_owned(), *kind))
                .collect();
            writer.see(Source {
                alias: table.name.to_owned(),
                columns,
            });
            table.name.to_owned()
        }
        "from_target" => {
            let seen: Vec<String> = writer
                .scopes
                .last()
                .into_iter()
                .flatten()
                .map(|source| source.alias.clone())
                .collect();
            if seen.is_empty() || writer.random.below(12) == 0 {
                writer.random.choose(TABLES).name.to_owned()
            } else {
                writer.random.choose(&seen).clone()
            }
        }
        "derived_alias" => derived_alias(writer),
        "cte_name" => {
            let name = format!("w{}", writer.ctes.len());
            writer.ctes.push(name.clone());
            name
        }
        "function_source" => function_source(writer),
        "variable_source" => {
            let alias = next_alias(writer);
            writer.see(Source {
                alias: alias.clone(),
                columns: vec![("i".to_owned(), Kind::Number), ("s".to_owned(), Kind::Text)],
            });
            format!("@tv {alias}")
        }
        "system_source" => system_source(writer),
        "source_alias" => {
            let seen: Vec<String> = writer
                .scopes
                .last()
                .into_iter()
                .flatten()
                .map(|source| source.alias.clone())
                .collect();
            if seen.is_empty() {
                "t1".to_owned()
            } else {
                writer.random.choose(&seen).clone()
            }
        }
        _ => plain(writer.random, kind, argument),
    }
}

/// Kinds that are one of a few texts.
const LISTS: &[(&str, &[&str])] = &[
    ("new_table", &["new1", "new2", "#new3", "##new4", "dbo.new5", "t1"]),
    ("new_name", NEW_NAMES),
    ("new_column", &["a", "b", "c", "i", "s", "[d e]", "k1", "k2", "k3"]),
    (
        "int",
        &["0", "1", "2", "3", "5", "10", "100", "2147483647", "7", "1", "2"],
    ),
    ("small_size", &["1MB", "2MB", "512KB", "1", "3 MB", "64KB", "1TB", "0"]),
    ("float", &["1e0", "1.5e10", "1e308", "-1e-300", "0e0"]),
    ("money", &["$0", "$1.5", "-$922337203685477.5808", "$.1", "$"]),
    ("binary", &["0x", "0x0", "0x4142", "0xFFFFFFFFFFFFFFFFFF", "0x00000000"]),
    (
        "national_string",
        &[
            "N'select @a1'",
            "N'select 1 where @a1 = 1'",
            "N''",
            "N'select * from t1'",
        ],
    ),
    (
        "pattern",
        &[
            "'%a%'",
            "'[a-c]_%'",
            "'[^a]%'",
            "'a[]]'",
            "'['",
            "'%%%%%%'",
            "N'\u{e4}%'",
            "'a!%' ",
            "''",
        ],
    ),
    (
        "style",
        &[
            "0", "1", "2", "3", "101", "103", "112", "120", "121", "126", "127", "130", "999", "-1", "NULL",
        ],
    ),
    ("culture", &["'en-US'", "'de-DE'", "'nonsense'", "NULL", "''"]),
    ("format", FORMATS),
    ("message_format", MESSAGE_FORMATS),
    ("date_part", DATE_PARTS),
    ("number_type", NUMBER_TYPES),
    ("text_type", TEXT_TYPES),
    ("date_type", DATE_TYPES),
    ("collation", COLLATIONS),
    ("number_variable", NUMBER_VARIABLES),
    ("text_variable", TEXT_VARIABLES),
    ("any_variable", OTHER_VARIABLES),
    ("global_variable", GLOBAL_VARIABLES),
];

/// What needs no knowledge of the statement around it.
fn plain(random: &mut Random, kind: &str, argument: &str) -> String {
    if let Some((_, texts)) = LISTS.iter().find(|(name, _)| *name == kind) {
        return pick(random, texts);
    }
    match kind {
        "option" => option(random, argument, false),
        "option_string" => option(random, argument, true),
        "table" => match random.below(12) {
            0 => pick(random, NEW_NAMES),
            1 => pick(
                random,
                &[
                    "v1",
                    "@tv",
                    "missing",
                    "sys.objects",
                    "dbo.t1",
                    "fuzz.dbo.t2",
                    "other.t9",
                ],
            ),
            _ => random.choose(TABLES).name.to_owned(),
        },
        "column_name" => any_column(random),
        "number_literal" => number_literal(random),
        "string" => string(random),
        "date" => date(random),
        "data_type" => match random.below(4) {
            0 => pick(random, NUMBER_TYPES),
            1 => pick(random, TEXT_TYPES),
            2 => pick(random, DATE_TYPES),
            _ => pick(random, OTHER_TYPES),
        },
        "date_variable" => "@d".to_owned(),
        "scalar_variable" => match random.below(3) {
            0 => pick(random, TEXT_VARIABLES),
            _ => pick(random, NUMBER_VARIABLES),
        },
        "number_function" | "text_function" | "any_function" => function_call(random),
        "system_procedure" => system_procedure(random),
        "constant" => constant(random),
        _ => panic!("<{kind}> is made by nobody"),
    }
}
