//! The statements, by what they attack, and what each must answer.

/// What a statement must answer.
#[derive(Clone, Copy, Debug)]
pub enum Answer {
    /// Something with this text in it, and no error.
    Has(&'static str),
    /// One of these errors.
    Refused(&'static [i32]),
    /// A result, or one of these errors: it depends on how large the frames of this build are.
    Either(&'static [i32]),
}

use Answer::{Either, Has, Refused};

pub type Case = (String, String, Answer);

fn case(name: &str, batch: impl Into<String>, answer: Answer) -> Case {
    (name.to_owned(), batch.into(), answer)
}

/// `count` pieces with something between them.
fn list(count: usize, between: &str, piece: impl Fn(usize) -> String) -> String {
    (0..count).map(piece).collect::<Vec<_>>().join(between)
}

fn same(count: usize, between: &str, piece: &str) -> String {
    list(count, between, |_| piece.to_owned())
}

/// `open` so many times, the middle, `close` as often.
fn nested(count: usize, open: &str, middle: &str, close: &str) -> String {
    format!("{}{middle}{}", open.repeat(count), close.repeat(count))
}

const STACK: &[i32] = &[191, 8631];
const MEMORY: &[i32] = &[701];

pub fn deep_expressions() -> Vec<Case> {
    let select = |name: &str, text: String, answer| case(name, format!("select {text}"), answer);
    let test = |name: &str, text: String, answer| case(name, format!("select 1 where {text}"), answer);
    let deep = Refused(STACK);
    let items = |count: usize| list(count, ", ", |n| n.to_string());
    let branches = list(5_000, " ", |n| format!("when {n} then {n}"));
    let strings = list(20_000, ", ", |n| format!("'{n}'"));
    let conditions = same(20_000, " and ", "a = 1");
    vec![
        select("parentheses", nested(100_000, "(", "1", ")"), deep),
        select("some parentheses", nested(40, "(", "1", ")"), Has("1")),
        select("minus signs", "- ".repeat(100_000) + "1", deep),
        select("tildes", "~".repeat(100_000) + "1", deep),
        test("NOT", "not ".repeat(100_000) + "1 = 1", deep),
        select(
            "members of a shape",
            "geometry::Point(1, 2, 0)".to_owned() + &".STStartPoint()".repeat(100_000),
            deep,
        ),
        select(
            "properties of a shape",
            "geometry::Point(1, 2, 0)".to_owned() + &".STSrid".repeat(100_000),
            deep,
        ),
        select(
            "CASE",
            nested(50_000, "case when 1 = 1 then ", "1", " end"),
            Refused(&[125]),
        ),
        select("IIF", nested(50_000, "iif(1 = 1, ", "1", ", 0)"), Refused(&[125])),
        select("COALESCE", nested(50_000, "coalesce(null, ", "1", ")"), deep),
        select("CAST", nested(50_000, "cast(", "1", " as int)"), deep),
        select("ABS", nested(50_000, "abs(", "1", ")"), deep),
        select("unfinished", "abs(".repeat(100_000), deep),
        select("a sum", same(900, " + ", "1"), Has("900")),
        select("a long sum", same(100_000, " + ", "1"), deep),
        select("a long product", same(100_000, " * ", "1"), deep),
        select("a long string", same(50_000, " + ", "'a'"), deep),
        test("AND", same(30_000, " and ", "1 = 1"), Has("1")),
        test("OR", same(30_000, " or ", "1 = 1"), Has("1")),
        test("AND in parentheses", nested(50_000, "(1 = 1 and ", "1 = 1", ")"), deep),
        test("IN", format!("5 in ({})", items(100_000)), Has("1")),
        test("NOT IN of strings", format!("'x' not in ({strings})"), Has("1")),
        select("CASE with branches", format!("case 7 {branches} end"), Has("7")),
        select("CHOOSE", format!("choose(3, {})", items(2_000)), Has("2")),
        select(
            "CONCAT",
            format!("len(concat({}))", same(254, ", ", "'ab'")),
            Has("508"),
        ),
        select(
            "CONCAT of too many",
            format!("len(concat({}))", same(2_000, ", ", "'ab'")),
            Refused(&[189]),
        ),
        select(
            "COLLATE",
            "'a'".to_owned() + &" collate Latin1_General_CI_AS".repeat(50_000),
            deep,
        ),
        case(
            "AND over a row",
            format!("select a from (select 1 a) t where {conditions}"),
            Has("1"),
        ),
    ]
}

/// Common table expressions, each of which is made of the one before it by `next`.
fn chain(count: usize, next: &str) -> String {
    let more = (1..count).map(|n| format!(", c{n} as ({})", next.replace("$", &format!("c{}", n - 1))));
    let more: String = more.collect();
    format!("with c0 as (select 1 a){more} select count(*) from c{}", count - 1)
}

pub fn deep_queries() -> Vec<Case> {
    let deep = Refused(STACK);
    let (one, square) = ("select a from $", "select x.a from $ x cross join $ y");
    let rounds = "with n as (select 1 a union all select a + 1 from n) select count(*) from n";
    let mut cases = vec![
        case("UNION ALL", same(900, " union all ", "select 1"), Has("(900 rows")),
        case(
            "a long UNION ALL",
            same(20_000, " union all ", "select 1"),
            Has("(20000 rows"),
        ),
        case(
            "UNION",
            list(900, " union ", |n| format!("select {n}")),
            Has("(900 rows"),
        ),
        case(
            "UNION and UNION ALL",
            "select 1 union all select 1 union select 1 union all select 1",
            Has("(2 rows"),
        ),
        case("EXCEPT", list(50_000, " except ", |n| format!("select {n}")), deep),
        case("INTERSECT", same(50_000, " intersect ", "select 1"), deep),
        case("a short chain", chain(30, one), Has("1")),
        case("a chain", chain(400, one), Either(STACK)),
        case("a long chain", chain(5_000, one), deep),
        case("squares", chain(30, square), Refused(&[8623, 8631])),
        case("few squares", chain(8, square), Has("1")),
        case(
            "subqueries",
            format!("select {}", nested(20_000, "(select ", "1", ")")),
            deep,
        ),
        case(
            "derived tables",
            nested(20_000, "select * from (", "select 1 a", ") t"),
            deep,
        ),
        case(
            "EXISTS",
            format!(
                "select 1 where {}",
                nested(20_000, "exists (select 1 where ", "1 = 1", ")")
            ),
            deep,
        ),
        case(
            "IN of queries",
            format!(
                "select 1 where {}",
                nested(5_000, "1 in (select 1 where ", "1 = 1", ")")
            ),
            deep,
        ),
        case("rounds", rounds, Refused(&[530])),
        case(
            "many rounds",
            format!("{rounds} option (maxrecursion 32767)"),
            Refused(&[530]),
        ),
    ];
    cases.extend(joins());
    cases
}

fn joins() -> Vec<Case> {
    let deep = Refused(STACK);
    let from = |count: usize, item: &str| {
        let items = list(count, " ", |n| item.replace("$", &format!("t{n}")));
        format!("select count(*) from (select 1 a) t {items}")
    };
    vec![
        case("APPLY", from(3_000, "cross apply (select 1 b) $"), deep),
        case("sources", from(30_000, ", (select 1 a) $"), Refused(&[8623, 8631])),
        case("joins", from(3_000, "join (select 1 a) $ on 1 = 1"), deep),
        case("left joins", from(3_000, "left join (select 1 a) $ on $.a = t.a"), deep),
        case("some joins", from(60, "join (select 1 a) $ on $.a = t.a"), Has("1")),
    ]
}

pub fn deep_blocks() -> Vec<Case> {
    let deep = Refused(STACK);
    let view = |n: usize| match n {
        0 => "exec ('create view v0 as select 1 a')".to_owned(),
        n => format!("exec ('create view v{n} as select a from v{}')", n - 1),
    };
    let texts = list(20_000, ", ", |n| format!("@v{n} varchar(max) = replicate('x', 8000)"));
    let numbers = list(20_000, ", ", |n| format!("@v{n} int = {n}"));
    let doubled = |first: &str, twice: &str| {
        let doubled = format!("let $a := {twice} ").repeat(60);
        format!("declare @x xml = '<a/>' select @x.query('let $a := {first} {doubled} return count($a)')")
    };
    vec![
        case("BEGIN", nested(50_000, "begin ", "select 1", " end"), deep),
        case("IF", "if 1 = 1 ".repeat(50_000) + "select 1", deep),
        case("WHILE", "while 1 = 1 ".repeat(50_000) + "break", deep),
        case(
            "TRY",
            nested(20_000, "begin try ", "select 1", " end try begin catch end catch"),
            deep,
        ),
        case("ELSE", "if 1 = 0 select 0 else ".repeat(20_000) + "select 1", deep),
        case("a procedure", "exec ('create procedure own as exec own')", Has("")),
        case("one that calls itself", "exec own", Refused(&[217])),
        case("views", list(40, " ", view), Either(&[208, 217, 8631])),
        case("the last view", "select a from v39", Refused(&[208, 217, 8631])),
        case("a view", "select a from v20", Has("1")),
        case("comments", nested(100_000, "/*", "", "*/") + " select 1", Has("1")),
        case("an open comment", "/*".repeat(100_000), Refused(&[113])),
        case(
            "an open string",
            "select '".to_owned() + &"a".repeat(1_000_000),
            Refused(&[105]),
        ),
        case("semicolons", ";".repeat(1_000_000) + "select 1", Either(MEMORY)),
        case("statements", "select 1 ".repeat(20_000), Either(MEMORY)),
        case(
            "labels",
            list(20_000, " ", |n| format!("l{n}: ")) + "select 1",
            Either(MEMORY),
        ),
        case("texts", format!("declare {texts}"), Refused(MEMORY)),
        case("numbers", format!("declare {numbers}"), Either(MEMORY)),
        case(
            "XQuery that doubles a text",
            doubled("\"xxxxxxxxxx\"", "concat($a, $a)"),
            Refused(MEMORY),
        ),
        case(
            "XQuery that doubles a sequence",
            doubled("/a", "($a, $a)"),
            Refused(MEMORY),
        ),
    ]
}

pub fn wide_statements() -> Vec<Case> {
    let table = |head: &str, count: usize| format!("{head} ({})", list(count, ", ", |n| format!("c{n} int")));
    let ones = |count: usize| format!("select {}", same(count, ", ", "1"));
    let rows = |count: usize| list(count, ", ", |n| format!("({n})"));
    let into = list(1_025, ", ", |n| format!("1 c{n}"));
    let windows = same(1_000, ", ", "row_number() over (order by a)");
    let mut cases = vec![
        case("4096 columns", ones(4_096), Has("(1 rows")),
        case("4097 columns", ones(4_097), Refused(&[1056])),
        case("a million columns", ones(1_000_000), Refused(&[701, 1056])),
        case("a variable", table("declare @t table", 1_024), Has("")),
        case(
            "too wide a variable",
            table("declare @t table", 1_025),
            Refused(&[1702]),
        ),
        case("too wide a table", table("create table #wide", 1_025), Refused(&[1702])),
        case(
            "too wide a result",
            format!("select {into} into #into"),
            Refused(&[1702]),
        ),
        case(
            "rows of VALUES",
            format!("select count(*) from (values {}) t(a)", rows(5_000)),
            Has("5000"),
        ),
        case(
            "rows of INSERT",
            format!("declare @t table (a int) insert @t values {}", rows(1_001)),
            Refused(&[10738]),
        ),
        case(
            "window functions",
            format!("select {windows} from (select 1 a) t"),
            Has("(1 rows"),
        ),
    ];
    cases.extend(long_words());
    cases
}

fn long_words() -> Vec<Case> {
    vec![
        case(
            "a long name",
            format!("select 1 as {}", "a".repeat(129)),
            Refused(&[103]),
        ),
        case(
            "a long name in brackets",
            format!("select 1 as [{}]", "a".repeat(100_000)),
            Refused(&[103]),
        ),
        case(
            "a long variable",
            format!("declare @{} int", "a".repeat(200)),
            Refused(&[103]),
        ),
        case(
            "many parts",
            format!("select * from {}", same(1_000, ".", "a")),
            Refused(&[102, 117]),
        ),
        case(
            "a long number",
            format!("select {}", "9".repeat(100_000)),
            Refused(&[1007]),
        ),
        case(
            "a long fraction",
            format!("select 0.{}", "1".repeat(100_000)),
            Either(&[1007]),
        ),
        case("a huge exponent", "select 1e999999999", Refused(&[102, 168, 8115, 232])),
        case(
            "long binary",
            format!("select datalength(0x{})", "ab".repeat(500_000)),
            Has("500000"),
        ),
    ]
}

const STRINGS_ALONE: &[(&str, Answer)] = &[
    (
        "select len(replicate(cast('x' as varchar(max)), 2000000000))",
        Refused(MEMORY),
    ),
    (
        "select len(replicate(cast('x' as varchar(max)), 3000000000))",
        Refused(&[7119]),
    ),
    (
        "select len(replicate(cast('x' as varchar(max)), 9223372036854775807))",
        Refused(&[7119]),
    ),
    ("select len(replicate('x', 2000000000))", Has("8000")),
    (
        "select replicate('', 2000000000), replicate('x', -1), space(-1)",
        Has("NULL | NULL"),
    ),
    (
        "declare @t table (a varchar(8000)) insert @t values (replicate('x', 8000))
          while 1 = 1 insert @t select a from @t",
        Refused(MEMORY),
    ),
    (
        "with n as (select 1 a, cast(replicate('x', 8000) as varchar(8000)) b
                     union all select a + 1, b from n cross join (values (1), (2)) v(c))
          select count(*) from n option (maxrecursion 0)",
        Refused(MEMORY),
    ),
    (
        "with n as (select 1 a union all select a + 1 from n where a < 99)
          select len(string_agg(replicate('x', 200), ',')) from n",
        Refused(&[9829]),
    ),
];

pub fn long_strings() -> Vec<Case> {
    let with: &[(&str, Answer)] = &[
        ("while 1 = 1 set @s = @s + @s", Refused(&[701, 7119])),
        ("while 1 = 1 set @s += @s", Refused(&[701, 7119])),
        ("declare @n int = 0 while @n < 200 begin set @s = replicate(@s, 2) set @s = left(@s, 1000000) set @n += 1 end
          select len(@s)", Has("1000000")),
        ("select len(replicate(@s, 10)) from (values (1), (2), (3), (4), (5), (6), (7), (8), (9), (10), (11)) t(a)", Has("(11 rows")),
        ("declare @t table (a varchar(max)) while 1 = 1 insert @t values (@s + 'x')", Refused(MEMORY)),
        ("; with n as (select 1 a union all select a + 1 from n where a < 3000)
          select len(string_agg(@s, ',')) from n option (maxrecursion 0)", Refused(&[701, 7119])),
        ("select len(replace(@s, 'a', @s))", Refused(&[7119])),
        ("select len(replace(@s, 'a', 'bb'))", Has("2000000")),
        ("select len(replace(@s, 'aa', ''))", Has("0")),
        ("select len(stuff(@s, 500000, 10, @s))", Has("1999990")),
        ("select len(concat(@s, @s, @s, @s))", Has("4000000")),
        ("select len(concat_ws(@s, 'a', 'b', 'c'))", Has("2000003")),
        ("select len(reverse(upper(lower(@s))))", Has("1000000")),
        ("select len(substring(@s, 999999, 2147483647))", Has("2")),
        ("select len(left(@s, 2147483647)), len(right(@s, 2147483647))", Has("1000000 | 1000000")),
        ("select charindex('b', @s), patindex('%b%', @s)", Has("0 | 0")),
        ("select datalength(cast(@s as nvarchar(max)))", Has("2000000")),
        ("select len(convert(varchar(max), cast(@s as varbinary(max)), 1))", Has("2000002")),
        ("select len(string_escape(@s, 'json'))", Has("1000000")),
        ("select geometry::Parse(replace(@s, 'a', 'GEOMETRYCOLLECTION('))", Refused(&[701])),
        ("select datalength(geometry::Parse('LINESTRING(0 0' + replicate(replace(left(@s, 1000), 'a', ',1 1,2 3'), 30) + ')'))", Has("960048")),
        ("select geometry::Parse(replicate(cast('GEOMETRYCOLLECTION(' as varchar(max)), 100000) + 'POINT(1 1)' + replicate(cast(')' as varchar(max)), 100000)).STNumPoints()", Has("1")),
        ("select geometry::STGeomFromWKB(cast(replace(left(@s, 200000), 'a', char(1) + char(7) + char(0) + char(0) + char(0) + char(1) + char(0) + char(0) + char(0)) as varbinary(max)), 0)", Refused(&[6522])),
        ("select cast(0x0000000001040000007F + cast(@s as varbinary(max)) as geometry)", Refused(&[6522])),
        ("select cast(@s as int)", Refused(&[245, 248, 8114])),
        ("select cast(@s as datetime)", Refused(&[241])),
        ("select cast(@s as uniqueidentifier)", Refused(&[8169])),
        ("print @s", Has("aaaa")),
        ("exec (@s)", Refused(&[102, 103, 2812])),
        ("select 1 where @s like @s", Has("")),
        ("select @s", Has("aaaa")),
    ];
    let alone = STRINGS_ALONE.iter().map(|(text, answer)| case(text, *text, *answer));
    let declared = "declare @s varchar(max) = replicate(cast('a' as varchar(max)), 1000000)";
    let with = with
        .iter()
        .map(|(text, answer)| case(text, format!("{declared} {text}"), *answer));
    alone.chain(with).collect()
}

pub fn odd_arguments() -> Vec<Case> {
    let table: &[(&str, Answer)] = &[
        (
            "select nchar(70000), nchar(-1), nchar(65536)",
            Has("NULL | NULL | NULL"),
        ),
        ("select len(nchar(65535)), unicode(nchar(65))", Has("1 | 65")),
        ("select char(256), char(-1), ascii(char(65))", Has("NULL | NULL | 65")),
        (
            "select stuff('abc', 2147483647, 2147483647, 'x'), stuff('abc', -1, 1, 'x')",
            Has("NULL | NULL"),
        ),
        ("select substring('abc', -2147483648, 2147483647)", Has("")),
        ("select substring('abc', 2147483647, 2147483647)", Has("")),
        ("select substring('abc', 1, -1)", Refused(&[537])),
        ("select left('abc', -1)", Refused(&[536, 537])),
        ("select dateadd(year, 2147483647, getdate())", Refused(&[517])),
        ("select dateadd(day, -2147483648, getdate())", Refused(&[517])),
        (
            "select datediff(nanosecond, cast('0001-01-01' as datetime2), cast('9999-12-31' as datetime2))",
            Refused(&[535]),
        ),
        ("select power(10, 100)", Refused(&[232, 8115])),
        ("select power(1e300, 2)", Refused(&[3623, 8115, 232])),
        ("select exp(1e9)", Refused(&[3623, 8115, 232])),
        ("select log(0)", Refused(&[3623])),
        ("select sqrt(-1)", Refused(&[3623])),
        ("select str(1e300, 8000, 16)", Has("")),
        ("select str(1, -1)", Either(&[8115])),
        (
            "select round(1.5, 2147483647), round(1.5, -2147483648)",
            Either(&[8115]),
        ),
        ("select format(getdate(), replicate('y', 4000))", Has("20")),
        ("select format(1, replicate('0', 4000))", Has("0000")),
        ("select format(1, 'D99'), format(1, 'N2147483647')", Has("")),
        ("select top (-1) 1", Refused(&[1060, 1014, 127])),
        ("select top (101) percent 1", Refused(&[1031])),
        ("select 1 a order by 1 offset -1 rows", Refused(&[127, 10742])),
        ("select 2147483647 + 1", Refused(&[8115])),
        ("select cast(-9223372036854775808 as bigint) / -1", Refused(&[8115])),
        ("select cast(-9223372036854775808 as bigint) % -1", Either(&[8115])),
        ("select abs(cast(-2147483648 as int))", Refused(&[8115])),
        ("select 1 / 0", Refused(&[8134])),
        ("select cast(1e308 as decimal(38, 0))", Refused(&[8115])),
        ("declare @v varchar(8001)", Refused(&[131])),
        ("declare @v nvarchar(4001)", Refused(&[2717])),
        ("declare @v varchar(0)", Refused(&[1001])),
        ("declare @v nchar(70000)", Refused(&[131])),
        ("declare @v decimal(39, 0)", Refused(&[2750, 1007, 192])),
        ("declare @v decimal(5, 6)", Refused(&[192, 2751])),
        ("declare @v datetime2(8)", Refused(&[1002, 2751])),
        ("waitfor delay '99:99:99'", Refused(&[148])),
        ("select parsename(replicate('a.', 4000), 1)", Has("NULL")),
        (
            "select object_id(replicate(cast('a.' as varchar(max)), 100000))",
            Has("NULL"),
        ),
        ("goto nowhere", Refused(&[133])),
    ];
    table
        .iter()
        .map(|(batch, answer)| case(batch, *batch, *answer))
        .collect()
}
