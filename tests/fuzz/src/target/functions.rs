//! Functions, conversions, LIKE and PATINDEX patterns, format strings and messages, with arguments of every type.
//!
//! An input is text: a line with the query, and lines with a type and a value as a literal, which become parameters.

use super::session::Client;
use super::{Reached, Target};
use engine::types::{Length, SqlType, Value};
use outside::random::Random;
use tsql::functions::Parameter as Kind;
use tsql::scalar::convert::convert;
use tsql::session::Parameter;

/// Types that parameters are declared as.
const TYPES: &[(&str, SqlType)] = &[
    ("bit", SqlType::Bit),
    ("tinyint", SqlType::TinyInt),
    ("smallint", SqlType::SmallInt),
    ("int", SqlType::Int),
    ("bigint", SqlType::BigInt),
    (
        "decimal(38, 10)",
        SqlType::Decimal {
            precision: 38,
            scale: 10,
        },
    ),
    ("decimal(5, 5)", SqlType::Decimal { precision: 5, scale: 5 }),
    (
        "decimal(38, 0)",
        SqlType::Decimal {
            precision: 38,
            scale: 0,
        },
    ),
    ("money", SqlType::Money),
    ("smallmoney", SqlType::SmallMoney),
    ("real", SqlType::Real),
    ("float", SqlType::Float),
    ("date", SqlType::Date),
    ("time(7)", SqlType::Time { scale: 7 }),
    ("datetime", SqlType::DateTime),
    ("smalldatetime", SqlType::SmallDateTime),
    ("datetime2(7)", SqlType::DateTime2 { scale: 7 }),
    ("datetimeoffset(7)", SqlType::DateTimeOffset { scale: 7 }),
    ("varchar(50)", SqlType::VarChar(Length::Limited(50))),
    ("varchar(max)", SqlType::VarChar(Length::Max)),
    ("nvarchar(50)", SqlType::NVarChar(Length::Limited(50))),
    ("nvarchar(max)", SqlType::NVarChar(Length::Max)),
    ("char(10)", SqlType::Char(10)),
    ("nchar(10)", SqlType::NChar(10)),
    ("varbinary(50)", SqlType::VarBinary(Length::Limited(50))),
    ("uniqueidentifier", SqlType::UniqueIdentifier),
    ("sql_variant", SqlType::SqlVariant),
];

const PIECES: &[&str] = &[
    "%",
    "_",
    "[",
    "]",
    "^",
    "-",
    "a",
    "b",
    "z",
    "A",
    "0",
    "9",
    " ",
    ".",
    ",",
    "'",
    "\\",
    "%d",
    "%s",
    "%5.3",
    "yyyy",
    "MM",
    "dd",
    "hh",
    "mm",
    "ss",
    "fff",
    "tt",
    "#",
    "0.00",
    ";",
    "E+0",
    "\u{e4}",
    "\u{df}",
    "\u{1F600}",
    "\u{301}",
    "\u{0}",
    "2024",
    "-02-29",
    "12:34:56",
    "T",
    "Z",
    "+02:00",
    "1e",
    "$",
    "0x",
    "NaN",
    "inf",
    "{",
    "}",
    "\"",
    "/",
    ":",
    "1900",
    "9999-12-31",
    "99999999999999999999",
    "\t",
    "\u{feff}",
    "\u{3000}",
    "\u{fffd}",
    "I64",
    "*",
    "J",
    "P",
    "N2",
    "G29",
];

fn piece_text(random: &mut Random) -> String {
    (0..random.below(10)).map(|_| *random.choose(PIECES)).collect()
}

fn number_text(random: &mut Random) -> String {
    match random.below(8) {
        0 => i64::MAX.to_string(),
        1 => i64::MIN.to_string(),
        2 => i32::MAX.to_string(),
        3 => i32::MIN.to_string(),
        4 => format!("{}.{}", random.below(1_000_000), random.below(1_000_000)),
        5 => format!("-{}", random.of_any_magnitude(1 << 40)),
        6 => format!("{}e{}", random.below(100), random.below(640) as i64 - 320),
        _ => random.below(300).to_string(),
    }
}

fn moment_text(random: &mut Random) -> String {
    let year = [1, 1752, 1753, 1899, 1900, 1999, 2000, 2024, 2078, 2079, 9999][random.below(11) as usize];
    let (month, day) = (1 + random.below(12), 1 + random.below(28));
    match random.below(3) {
        0 => format!("{year:04}-{month:02}-{day:02}"),
        1 => format!(
            "{:02}:{:02}:{:02}.{:07}",
            random.below(24),
            random.below(60),
            random.below(60),
            random.below(10_000_000)
        ),
        _ => format!(
            "{year:04}-{month:02}-{day:02}T{:02}:{:02}:59.9999999",
            random.below(24),
            random.below(60)
        ),
    }
}

/// A type and a text that is mostly a value of it; no text is NULL.
fn argument(random: &mut Random, kind: Option<&Kind>) -> String {
    let (name, sql_type) = *random.choose(TYPES);
    let (name, sql_type) = match kind {
        Some(Kind::Text | Kind::Name) if random.below(3) > 0 => ("nvarchar(max)", SqlType::NVarChar(Length::Max)),
        Some(Kind::Int | Kind::BigInt | Kind::Float | Kind::Number) if random.below(3) > 0 => ("int", SqlType::Int),
        Some(Kind::Moment | Kind::LongMoment) if random.below(3) > 0 => {
            ("datetime2(7)", SqlType::DateTime2 { scale: 7 })
        }
        _ => (name, sql_type),
    };
    let text = match sql_type {
        _ if random.below(20) == 0 => return name.to_owned(),
        _ if sql_type.is_temporal() => moment_text(random),
        SqlType::VarChar(_) | SqlType::NVarChar(_) | SqlType::Char(_) | SqlType::NChar(_) | SqlType::SqlVariant => {
            match random.below(4) {
                0 => number_text(random),
                1 => moment_text(random),
                _ => piece_text(random),
            }
        }
        SqlType::VarBinary(_) => piece_text(random),
        SqlType::UniqueIdentifier => "6F9619FF-8B86-D011-B42D-00C04FC964FF".to_owned(),
        SqlType::Bit => "1".to_owned(),
        _ => number_text(random),
    };
    format!("{name} {}", text.replace('\n', " "))
}

/// Queries that are not a call of one function, each with how many parameters it has.
const QUERIES: &[(&str, usize)] = &[
    ("select 1 where @p0 like @p1", 2),
    ("select 1 where @p0 not like @p1 escape @p2", 3),
    ("select 1 where @p0 collate Latin1_General_BIN like @p1", 2),
    (
        "select 1 where cast(@p0 as varchar(100)) collate Latin1_General_100_CI_AS_SC_UTF8 like @p1",
        2,
    ),
    ("select patindex(@p0, @p1)", 2),
    ("select format(@p0, @p1)", 2),
    ("select format(@p0, @p1, @p2)", 3),
    ("select formatmessage(@p0, @p1, @p2, @p3)", 4),
    ("raiserror(@p0, 10, 1, @p1, @p2)", 3),
    ("select @p0 + @p1", 2),
    ("select @p0 - @p1, @p0 * @p1", 2),
    ("select @p0 / @p1, @p0 % @p1", 2),
    ("select @p0 & @p1, @p0 | @p1, ~@p0", 2),
    ("select 1 where @p0 = @p1 or @p0 < @p1", 2),
    ("select coalesce(@p0, @p1), isnull(@p0, @p1), nullif(@p0, @p1)", 2),
    ("select case when 1 = 1 then @p0 else @p1 end", 2),
    ("select @p0 union select @p1", 2),
    (
        "select parse(@p0 as datetime2 using @p1), try_parse(@p0 as decimal(10, 2))",
        2,
    ),
    ("select * from string_split(@p0, @p1)", 2),
    ("select @p0 at time zone @p1", 2),
    ("select sum(x), max(x), stdev(x) from (values (@p0), (@p1)) v (x)", 2),
    (
        "select x, row_number() over (order by x), lag(x, @p1) over (order by x) from (values (@p0), (@p1)) v (x)",
        2,
    ),
];

/// A query with places for parameters, and of what kind these should be.
fn query(random: &mut Random) -> (String, Vec<Option<Kind>>) {
    match random.below(3) {
        0 => {
            let (text, count) = *random.choose(QUERIES);
            (text.to_owned(), vec![None; count])
        }
        _ if random.below(3) == 0 => (conversion(random), vec![None]),
        _ => call(random),
    }
}

/// A query that converts one parameter.
fn conversion(random: &mut Random) -> String {
    let types = TYPES.iter().map(|(name, _)| *name).chain([
        "varchar",
        "nchar(2)",
        "binary(3)",
        "text",
        "decimal",
        "time(0)",
        "char",
    ]);
    let types: Vec<&str> = types.collect();
    let (one, other) = (*random.choose(&types), *random.choose(&types));
    let style = random.below(140);
    format!(
        "select convert({one}, @p0, {style}), try_convert({other}, try_convert({one}, @p0), {style}), cast(@p0 as {other})"
    )
}

/// A call of any function there is.
fn call(random: &mut Random) -> (String, Vec<Option<Kind>>) {
    let count = tsql::functions::every().count() as u64;
    let chosen = random.below(count) as usize;
    let Some(signature) = tsql::functions::every().nth(chosen) else {
        return ("select @p0".to_owned(), vec![None]);
    };
    let most = signature.parameters.len() + if signature.variadic { 3 } else { 0 };
    let given = signature.minimum + random.below((most - signature.minimum.min(most)) as u64 + 1) as usize;
    let kinds: Vec<Option<Kind>> = (0..given)
        .map(|place| signature.parameters.get(place).or(signature.parameters.last()).copied())
        .collect();
    let mut arguments: Vec<String> = (0..given).map(|place| format!("@p{place}")).collect();
    // DATEADD and its kin take the name of a part.
    if signature.name.starts_with("date") && !arguments.is_empty() && random.below(8) > 0 {
        arguments[0] = (*random.choose(&[
            "year", "month", "day", "week", "hour", "ms", "ns", "tz", "weekday", "iso_week", "quarter",
        ]))
        .to_owned();
    }
    (format!("select {}({})", signature.name, arguments.join(", ")), kinds)
}

struct Functions {
    client: Option<Client>,
}

pub fn build() -> Box<dyn Target> {
    Box::new(Functions { client: None })
}

/// The parameter of a line.
fn parameter(place: usize, line: &str) -> Option<(String, Parameter)> {
    let (name, sql_type) = TYPES
        .iter()
        .filter(|(name, _)| line.starts_with(name))
        .max_by_key(|(name, _)| name.len())?;
    let value = match line[name.len()..].strip_prefix(' ') {
        None => Value::Null,
        Some(text) => {
            let text: Value = text.into();
            let from = SqlType::NVarChar(Length::Max);
            let base = if *sql_type == SqlType::SqlVariant {
                from
            } else {
                *sql_type
            };
            convert(&text, from, base, None).unwrap_or(Value::Null)
        }
    };
    let declared = format!("@p{place} {name}");
    let parameter = Parameter {
        name: format!("@p{place}"),
        sql_type: *sql_type,
        value,
        output: false,
        is_default: false,
        table: None,
    };
    Some((declared, parameter))
}

impl Target for Functions {
    fn make(&self, random: &mut Random) -> Vec<u8> {
        let (query, kinds) = query(random);
        let mut input = query;
        for kind in &kinds {
            input.push('\n');
            input.push_str(&argument(random, kind.as_ref()));
        }
        input.into_bytes()
    }

    fn take(&mut self, input: &[u8]) -> Reached {
        let text = String::from_utf8_lossy(input);
        let mut lines = text.split('\n');
        let query = lines.next().unwrap_or_default();
        let (declared, parameters): (Vec<String>, Vec<Parameter>) = lines
            .enumerate()
            .filter_map(|(place, line)| parameter(place, line))
            .unzip();
        let client = self.client.get_or_insert_with(Client::new);
        let counter = client.work(|session, counter| {
            session.execute_with_parameters(query, &declared.join(", "), &parameters, counter)
        });
        if counter.errors.is_empty() {
            Reached::Taken
        } else {
            Reached::Refused
        }
    }
}
