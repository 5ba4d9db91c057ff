//! Text that does not parse is refused with SQL Server's number, words and line; nothing else makes the parser fail.
#![allow(clippy::unwrap_used)]

use tsql::parser::parse_batch;

#[test]
fn syntax_errors_have_number_line_and_words() {
    let near = |text: &str| format!("Incorrect syntax near '{text}'.");
    let keyword = |text: &str| format!("Incorrect syntax near the keyword '{text}'.");
    let table = [
        ("SELECT 1; SELEC 1", 102, 1, near("SELEC")),
        ("SELECT 1\nSELECT * FORM t", 102, 2, near("FORM")),
        ("SELECT * FROM", 102, 1, near("FROM")),
        ("SELECT a,\nFROM t", 156, 2, keyword("FROM")),
        ("SELECT 1 +", 102, 1, near("+")),
        ("SELECT (1", 102, 1, near("1")),
        ("SELECT 1)", 102, 1, near(")")),
        ("SELECT 1 = 1", 102, 1, near("=")),
        ("SELECT (a = 1)", 102, 1, near("=")),
        ("BEGIN\nSELECT 1\n", 102, 2, near("1")),
        ("IF 1 = 1\nBEGIN\nEND", 156, 3, keyword("END")),
        ("END", 156, 1, keyword("END")),
        ("SELECT 1 AS from", 156, 1, keyword("from")),
        ("CREATE TABLE t (a int,, b int)", 102, 1, near(",")),
        ("CREATE TABLE t ()", 102, 1, near(")")),
        ("INSERT t VALUES", 102, 1, near("VALUES")),
        ("UPDATE t a = 1", 102, 1, near("a")),
        ("SELECT 'x' 'y' 'z'", 102, 1, near("z")),
        ("PRINT [a b] [c d]", 102, 1, near("c d")),
        ("SELECT 1\nsp_who x", 102, 2, near("x")),
        ("SELECT ?", 102, 1, near("?")),
        ("SELECT $(x)", 102, 1, near("$")),
        ("ALTER DATABASE x SET RECOVERY", 102, 1, near("RECOVERY")),
        ("CREATE NONSENSE x", 102, 1, near("NONSENSE")),
        ("DECLARE @a", 102, 1, near("@a")),
        ("EXEC", 102, 1, near("EXEC")),
    ];
    for (text, number, line, message) in table {
        let error = parse_batch(text).unwrap_err();
        assert_eq!(
            (error.number, error.line, error.message.as_str()),
            (number, line, message.as_str()),
            "{text}"
        );
        assert_eq!((error.severity, error.state), (15, 1), "{text}");
    }
}

/// Text, number, line and the start of the message.
const OTHER_ERRORS: &[(&str, i32, u32, &str)] = &[
    (
        "SELECT 1\nPRINT 'abc",
        105,
        2,
        "Unclosed quotation mark after the character string 'abc'.",
    ),
    (
        "PRINT [abc",
        105,
        1,
        "Unclosed quotation mark after the character string 'abc'.",
    ),
    ("SELECT 1 /* a /* b */", 113, 1, "Missing end comment mark '*/'."),
    (
        "CREATE TABLE a.b.c.d.e (x int)",
        117,
        1,
        "The object name 'a.b.c.d.e' contains more than the maximum number of prefixes. The maximum is 3.",
    ),
    (
        "SELECT 1 WITH c AS (SELECT 1) SELECT * FROM c",
        319,
        1,
        "Incorrect syntax near the keyword 'with'. If this statement is a common table expression",
    ),
    (
        "SELECT 1 WHERE 5",
        4145,
        1,
        "An expression of non-boolean type specified in a context where a condition is expected, near '5'.",
    ),
    (
        "IF @a SELECT 1",
        4145,
        1,
        "An expression of non-boolean type specified in a context where a condition is expected, near 'SELECT'.",
    ),
    (
        "SELECT 1 CREATE VIEW v AS SELECT 1",
        111,
        1,
        "'CREATE VIEW' must be the first statement in a query batch.",
    ),
    ("SET FLYING ON", 195, 1, "'FLYING' is not a recognized SET option."),
    (
        "SELECT 1 AS []",
        1038,
        1,
        "An object or column name is missing or empty.",
    ),
    (
        "SELECT * FROM t WITH (QUICKLY)",
        321,
        1,
        "\"QUICKLY\" is not a recognized table hints option.",
    ),
    (
        "PRINT 1e999",
        168,
        1,
        "The floating point value '1e999' is out of the range",
    ),
    (
        "MERGE t USING u ON 1 = 1 WHEN MATCHED THEN DELETE",
        10713,
        1,
        "A MERGE statement must be terminated by a semi-colon (;).",
    ),
    (
        "CREATE TRIGGER x ON ALL SERVER FOR LOGON AS SELECT 1",
        40517,
        1,
        "Keyword or statement option 'TRIGGER ON ALL SERVER'",
    ),
    (
        "CREATE LOGIN x WITH PASSWORD = 'y'",
        40517,
        1,
        "Keyword or statement option 'LOGIN'",
    ),
];

#[test]
fn other_errors_have_their_own_numbers() {
    for &(text, number, line, start) in OTHER_ERRORS {
        let error = parse_batch(text).unwrap_err();
        assert_eq!((error.number, error.line), (number, line), "{text}: {error}");
        assert!(error.message.starts_with(start), "{text}: {error}");
    }
}

#[test]
fn lengths_are_limited() {
    let name = |letters| format!("PRINT [{}]", "x".repeat(letters));
    assert!(parse_batch(&name(128)).is_ok());
    assert_eq!(parse_batch(&name(129)).unwrap_err().number, 103);
    let rows = |count| format!("INSERT t VALUES {}", vec!["(1)"; count].join(","));
    assert!(parse_batch(&rows(1_000)).is_ok());
    assert_eq!(parse_batch(&rows(1_001)).unwrap_err().number, 10738);
}

/// Constructs that nest: before, opening, middle, closing, after.
const NESTING: &[[&str; 4]] = &[
    ["select ", "(", "1", ")"],
    ["select ", "- ", "1", ""],
    ["select ", "abs(", "1", ")"],
    ["select ", "1 * -", "1", ""],
    ["select ", "cast(", "1", " as int)"],
    ["select ", "(select ", "1", ")"],
    ["select ", "sum(1) over (order by ", "1", ")"],
    ["select 1 where ", "(", "1=1", ")"],
    ["select 1 where ", "not ", "1=1", ""],
    ["select 1 where ", "exists (select 1 where ", "1=1", ")"],
    ["select 1 where ", "1 in (select 1 where ", "1=1", ")"],
    ["select * from ", "(select * from ", "t", ") x"],
    ["select * from ", "(", "t", ")"],
    ["select * from ", "a join ", "t", " on 1=1"],
    ["select 1 group by ", "rollup(", "a", ")"],
    ["", "(", "select 1", ")"],
    ["", "if 1=1 ", "select 1", ""],
    ["", "if 1=1 select 1 else ", "select 1", ""],
    ["", "while 1=1 ", "select 1", ""],
    ["", "begin ", "select 1", " end"],
    ["", "begin try ", "select 1", " end try begin catch end catch"],
    ["backup database x to disk='a' with ", "x(", "a", ")"],
    ["select ", "1 + ", "1", ""],
    ["select 1 from a", " join b on 1=1", "", ""],
    ["select a", " collate b", "", ""],
];

#[test]
fn nesting_is_limited_and_safe_on_a_small_stack() {
    let deep = |[before, open, middle, close]: [&str; 4], times: usize| {
        format!("{before}{}{middle}{}", open.repeat(times), close.repeat(times))
    };
    let check = move || {
        tsql::stack::begin_thread(1 << 20);
        for &form in NESTING {
            parse_batch(&deep(form, 40))
                .map_err(|error| format!("{form:?}: {error}"))
                .unwrap();
            let error = parse_batch(&deep(form, 100_000)).unwrap_err();
            assert_eq!(error.number, 191, "{form:?}: {error}");
            assert!(
                error
                    .message
                    .starts_with("Some part of your SQL statement is nested too deeply.")
            );
        }
    };
    std::thread::Builder::new()
        .stack_size(1 << 20)
        .spawn(check)
        .unwrap()
        .join()
        .unwrap();
}

#[test]
fn long_flat_lists_are_not_nesting() {
    let ands = format!("select 1 where 1=1{}", " and 1=1".repeat(50_000));
    let ors = format!("select 1 where 1=1{}", " or 1=1 and 2=2".repeat(50_000));
    let list = format!("select 1 where a in (1{})", ",1".repeat(100_000));
    let statements = "select 1 ".repeat(50_000);
    for text in [ands, ors, list, statements] {
        assert!(parse_batch(&text).is_ok(), "{}", &text[..40]);
    }
}

/// A small linear congruential generator, so that a failure can be had again.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit.max(1)
    }
}

const SEEDS: &[&str] = &[
    "with a (x) as (select top (1) percent b, 'c' = d from [t] as u (nolock) join v with (index(1)) on u.x = v.y) select * from a option (maxdop 1)",
    "create table #t (a int identity(1,1) not null, b varchar(max) default 'x' check (a > 0 and b like '%' escape '\\'), primary key (a desc))",
    "create database v on (name=v, filename='c:\\v') log on (name=w, filename=N'x', size=1MB, maxsize=5GB, filegrowth=10%) for attach",
    "restore database [c] from disk = N'x' with file = 1, move 'a' to @b, stopat = '2020', stats = 1; backup log x to disk = 'y' with init",
    "begin try if @a = 1 begin exec @r = p 1, @b = 'x' output end else while 1=1 break end try begin catch throw 50000, 'x', 1 end catch",
    "declare @t table (a int), @x decimal(10,2) = 1.5e3 select @x += sum(distinct y) over (partition by z order by w rows between 1 preceding and current row)",
    "update top (5) t set @v = a = case when b in (1, $2.5, 0xff) then null else -c end output deleted.* from t, (values (1, default)) as d (e) where current of k",
    "/* a /* b */ c */ -- d\n dbcc sqlperf(\"x\", clear) with no_infomsgs alter database current set single_user with rollback after 5 seconds",
];

#[test]
fn damaged_statements_never_panic() {
    let pieces = [
        "(", ")", "'", "\"", "[", "]", "/*", "*/", "--", ",", ".", ";", "@", "@@", "$", "#", "select", "with", "begin",
        "end", "\u{a0}", "é", "\u{0}", "0x", "1e", "😀", "=", "::", "{", "}", "as",
    ];
    let mut dice = Dice(20_240_229);
    let mut refused = 0;
    for round in 0..40_000 {
        let mut text: Vec<char> = SEEDS[round % SEEDS.len()].chars().collect();
        for _ in 0..=dice.below(4) {
            let (from, to) = (dice.below(text.len()), dice.below(text.len()));
            let (from, to) = (from.min(to), from.max(to));
            match dice.below(4) {
                0 => drop(text.drain(from..to)),
                1 => text.truncate(to),
                2 => drop(text.splice(from..from, pieces[dice.below(pieces.len())].chars())),
                _ => {
                    let copy: Vec<char> = text[from..to].to_vec();
                    drop(text.splice(from..from, copy));
                }
            }
        }
        let text: String = text.into_iter().collect();
        let lines = u32::try_from(text.matches('\n').count() + 1).unwrap();
        if let Err(error) = parse_batch(&text) {
            refused += 1;
            assert!(
                error.line >= 1 && error.line <= lines && !error.message.is_empty(),
                "{text}"
            );
        }
    }
    assert!(refused > 20_000, "mutations hardly hurt: {refused}");
}

#[test]
fn parsing_costs_little() {
    let point = "SELECT id, name, balance FROM dbo.accounts WHERE id = 12345";
    let rounds = 20_000_u32;
    let start = std::time::Instant::now();
    for _ in 0..rounds {
        assert_eq!(
            std::hint::black_box(parse_batch(std::hint::black_box(point)))
                .unwrap()
                .len(),
            1
        );
    }
    println!("point select: {:?} each", start.elapsed() / rounds);
    for millions in [1, 4] {
        let text = "INSERT t VALUES (1, 'some text', NULL)\n".repeat(millions * 25_641);
        let start = std::time::Instant::now();
        assert_eq!(parse_batch(&text).unwrap().len(), millions * 25_641);
        println!("{} bytes: {:?}", text.len(), start.elapsed());
    }
}
