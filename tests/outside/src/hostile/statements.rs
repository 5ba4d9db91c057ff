//! Statements built to use up stack, memory, time or locks.

use crate::random::Random;

/// Makes one: the text.
type Make = fn(&mut Random) -> String;

const MAKES: [Make; 14] = [
    nested,
    chained,
    unions,
    doubled_string,
    rows_without_end,
    recursion,
    cross_joins,
    endless_loop,
    transaction_left_open,
    dynamic,
    cursors,
    patterns,
    spoiled_text,
    large_literal,
];

pub fn draw(random: &mut Random) -> String {
    random.choose(&MAKES)(random)
}

fn nested(random: &mut Random) -> String {
    let depth = random.of_any_magnitude(20_000) as usize;
    let (open, inside, close) = *random.choose(&[
        ("(", "1", ")"),
        ("abs(", "1", ")"),
        ("case when 1 = 1 then ", "1", " end"),
        ("(select ", "1", ")"),
        ("-", "1", ""),
        ("isnull(null, ", "1", ")"),
    ]);
    format!("select {}{inside}{}", open.repeat(depth), close.repeat(depth))
}

fn chained(random: &mut Random) -> String {
    let count = random.of_any_magnitude(50_000) as usize;
    let link = *random.choose(&[" + 1", " and 1 = 1", " or 1 = 0", " + 'a'", ", 1", " * 2"]);
    match link.contains('=') {
        true => format!("select 1 where 1 = 1{}", link.repeat(count)),
        false => format!("select 1{}", link.repeat(count)),
    }
}

fn unions(random: &mut Random) -> String {
    let count = random.of_any_magnitude(5_000) as usize;
    let word = *random.choose(&["union all", "union", "except", "intersect"]);
    format!("select 1{}", format!(" {word} select 2").repeat(count))
}

fn doubled_string(random: &mut Random) -> String {
    let length = random.of_any_magnitude(100_000_000);
    let more = *random.choose(&[
        "replace(@s, 'a', @s)",
        "@s + @s",
        "reverse(@s)",
        "upper(@s) + lower(@s)",
        "quotename(@s)",
    ]);
    format!("declare @s varchar(max) = replicate(cast('a' as varchar(max)), {length}) while 1 = 1 set @s = {more}")
}

fn rows_without_end(random: &mut Random) -> String {
    let sort = *random.choose(&["", " order by 1 desc", " order by newid()"]);
    format!(
        "select a.name, b.name, c.name from sys.all_columns a cross join sys.all_columns b cross join sys.all_columns c{sort}"
    )
}

fn recursion(random: &mut Random) -> String {
    let width = random.of_any_magnitude(8_000);
    format!(
        "with n as (select 0 a, cast(replicate('x', {width}) as varchar(8000)) b union all select a + 1, b from n) \
         select count(distinct b), max(a) from n option (maxrecursion 0)"
    )
}

fn cross_joins(random: &mut Random) -> String {
    let count = 1 + random.below(30);
    let parts: Vec<String> = (1..=count)
        .map(|number| {
            format!(
                "c{number} as (select a.x from c{before} a cross join c{before} b)",
                before = number - 1
            )
        })
        .collect();
    format!(
        "with c0 as (select 1 x union all select 2), {} select count(*) from c{count}",
        parts.join(", ")
    )
}

fn endless_loop(random: &mut Random) -> String {
    let text = *random.choose(&[
        "a: goto a",
        "while 1 = 1 print 'x'",
        "while 1 = 1 begin begin tran; commit end",
        "waitfor delay '01:00'",
        "while 1 = 1 select 1",
        "while 1 = 1 begin try select 1 / 0 end try begin catch end catch",
    ]);
    text.into()
}

fn transaction_left_open(random: &mut Random) -> String {
    let name = random.below(1_000_000);
    let end = *random.choose(&[
        "",
        " rollback",
        " commit",
        " drop table #t",
        " save tran a rollback tran a",
    ]);
    format!("begin tran create table #t (a int, b char(2000)) insert #t select {name}, name from sys.all_columns{end}")
}

fn dynamic(random: &mut Random) -> String {
    let text = *random.choose(&[
        "declare @s nvarchar(max) = N'exec (@s)' exec sp_executesql @s, N'@s nvarchar(max)', @s",
        "declare @s nvarchar(max) = replicate(cast(N'select 1 ' as nvarchar(max)), 100000) exec (@s)",
        "exec sp_executesql N'exec sp_executesql N''exec sp_executesql N''''select 1'''''''",
        "declare @h int exec sp_prepare @h output, N'', N'select 1' while 1 = 1 exec sp_execute @h",
    ]);
    text.into()
}

fn cursors(random: &mut Random) -> String {
    let kind = *random.choose(&["static", "keyset", "dynamic", "fast_forward", ""]);
    format!(
        "declare c cursor global {kind} for select a.name from sys.all_columns a cross join sys.all_columns b \
         open c while 1 = 1 fetch next from c"
    )
}

fn patterns(random: &mut Random) -> String {
    let parts = 1 + random.below(12) as usize;
    let length = random.of_any_magnitude(200_000);
    format!(
        "declare @s varchar(max) = replicate(cast('a' as varchar(max)), {length}) select patindex('{}b%', @s)",
        "%a".repeat(parts)
    )
}

/// A statement with characters changed, so that it is one no more, or another.
fn spoiled_text(random: &mut Random) -> String {
    let make = random.choose(&MAKES[..8]);
    let mut text: Vec<char> = make(random).chars().take(5_000).collect();
    for _ in 0..random.of_any_magnitude(20) {
        let place = random.below(text.len() as u64) as usize;
        text[place] = *random.choose(&[
            '\'', '"', '(', ')', '[', ']', ';', '@', '#', '\0', '\u{FFFD}', '0', '-', '/', '*', ' ',
        ]);
    }
    text.into_iter().collect()
}

fn large_literal(random: &mut Random) -> String {
    format!(
        "select len('{}')",
        "x".repeat(random.of_any_magnitude(4_000_000) as usize)
    )
}
