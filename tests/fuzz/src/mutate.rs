//! Bytes and texts that are nearly valid.

use outside::random::Random;

/// What stands before and after something to nest it.
const NESTS: &[(&str, &str)] = &[
    ("(", ")"),
    ("not ", ""),
    ("-", ""),
    ("~", ""),
    ("case when 1=1 then ", " end"),
    ("case ", " when 1 then 2 end"),
    ("(select ", ")"),
    ("exists (select ", ")"),
    ("select * from (", ") x"),
    ("select * from (t1 join ", " on 1=1)"),
    ("begin ", " end"),
    ("if 1=1 ", ""),
    ("if 1=1 select 1 else ", ""),
    ("while 1=0 ", ""),
    ("coalesce(1,", ")"),
    ("1+", ""),
    ("1 in (", ")"),
    ("a.", ""),
    ("/*", "*/"),
    ("'", "'"),
    ("[", "]"),
    ("\"", "\""),
    ("select 1 union ", ""),
    ("(select 1 union ", ")"),
    ("cast(", " as int)"),
    ("begin try ", " end try begin catch end catch"),
    ("with x as (", ") select * from x"),
    ("rollup(", ")"),
    ("grouping sets(", ")"),
    ("a.b.c.", ""),
    ("dbo.f1(", ")"),
    ("select * from t1 where ", ""),
    ("(a join ", " on 1=1)"),
    ("{fn ", "}"),
    ("1=1 and ", ""),
    ("1=1 or (", ")"),
    ("a ", ""),
    (";", ""),
    ("@a=", ""),
    ("print ", ""),
    ("\u{301}", ""),
    ("(x = (", "))"),
    ("iif(1=1,", ",2)"),
    ("sum(1) over (order by ", ")"),
    ("1 between ", " and 2"),
    ("values (", ")"),
    ("from t1 cross apply (", ") q"),
    (" collate Latin1_General_BIN", ""),
    (", 1", ""),
    ("exec ('", "')"),
    ("select top (", ") 1"),
];

/// Lengths of nests: mostly a few, at times very many.
fn nest_count(random: &mut Random) -> u64 {
    let most = if random.below(20) == 0 { 6_000 } else { 200 };
    random.of_any_magnitude(most)
}

/// A text wrapped many times.
pub fn nest(text: &str, random: &mut Random) -> String {
    let (before, after) = *random.choose(NESTS);
    let count = nest_count(random) as usize;
    let closed = if random.below(4) == 0 {
        random.below(count as u64 + 1) as usize
    } else {
        count
    };
    let (begin, end) = span(text, random);
    let (head, inner, tail) = (&text[..begin], &text[begin..end], &text[end..]);
    format!("{head}{}{inner}{}{tail}", before.repeat(count), after.repeat(closed))
}

/// A part of a text that begins and ends between characters.
fn span(text: &str, random: &mut Random) -> (usize, usize) {
    let place = |random: &mut Random| {
        let mut place = random.below(text.len() as u64 + 1) as usize;
        while !text.is_char_boundary(place) {
            place -= 1;
        }
        place
    };
    let (one, other) = (place(random), place(random));
    (one.min(other), one.max(other))
}

/// Cuts a text into words, blanks and signs.
fn words(text: &str) -> Vec<&str> {
    let class = |letter: char| match letter {
        _ if letter.is_alphanumeric() || matches!(letter, '_' | '@' | '#' | '$') => 0,
        _ if letter.is_whitespace() => 1,
        _ => 2,
    };
    let mut words = Vec::new();
    let mut begin = 0;
    let mut former = None;
    for (place, letter) in text.char_indices() {
        let found = class(letter);
        if former.is_some_and(|former| former != found || found == 2) {
            words.push(&text[begin..place]);
            begin = place;
        }
        former = Some(found);
    }
    words.push(&text[begin..]);
    words
}

/// A text with some of its words changed; `others` lends words.
pub fn change_words(text: &str, others: &str, random: &mut Random) -> String {
    let lent = words(others);
    let mut words = words(text);
    for _ in 0..random.of_any_magnitude(8) {
        let place = random.below(words.len() as u64) as usize;
        match random.below(6) {
            0 if words.len() > 1 => {
                words.remove(place);
            }
            1 => words.insert(place, words[place]),
            2 => words[place] = lent[random.below(lent.len() as u64) as usize],
            3 => {
                let other = random.below(words.len() as u64) as usize;
                words.swap(place, other);
            }
            4 => {
                let from = random.below(lent.len() as u64) as usize;
                let count = (random.of_any_magnitude(12) as usize).min(lent.len() - from);
                words.splice(place..place, lent[from..from + count].iter().copied());
            }
            _ => words.insert(
                place,
                *random.choose(&[
                    "(", ")", "'", ",", ";", "select", "from", "*", "[", "\"", "/*", "--", "=", "as", "null", ".", "@",
                    "end",
                ]),
            ),
        }
    }
    if random.below(8) == 0 {
        words.truncate(random.below(words.len() as u64 + 1) as usize);
    }
    words.concat()
}

/// A word, a number, a string or a name of great length.
pub fn huge(random: &mut Random) -> String {
    let count = random.of_any_magnitude(40_000) as usize;
    let (before, body, after) = *random.choose(&[
        ("select '", "a", "'"),
        ("select '", "''", "'"),
        ("select N'", "\u{1F600}", "'"),
        ("select ", "9", ""),
        ("select 0.", "0", "1"),
        ("select 1e", "9", ""),
        ("select 0x", "AF", ""),
        ("select $", "7", ".5"),
        ("select [", "n", "]"),
        ("select [", "]]", "]"),
        ("select \"", "\"\"", "\""),
        ("select @", "v", ""),
        ("select ", "a", " from t1"),
        ("select 1 as ", "#", ""),
        ("select * from t1 where s like '", "%_", "'"),
        ("print '", "%s", "'"),
        ("-- ", "x", ""),
        ("/* ", "/*", ""),
        ("select 1", "\n", ""),
        ("select 1 where 1 in (1", ",1", ")"),
        ("insert t1 values (1", ",1", ")"),
        ("select 1", " union all select 1", ""),
        ("select 1", "+1", ""),
        ("select 1 where 1=1", " or 1=1", ""),
        ("select case 1", " when 1 then 1", " end"),
        ("create table x (a int", ", b int", ")"),
        ("select * from t1 a", ", t1 a", ""),
        ("declare @x int", ", @x int", ""),
        ("select concat('a'", ",'b'", ")"),
        ("", "go\n", ""),
        ("", "select 1 ", ""),
        ("exec p1 1", ", 2", ""),
        ("raiserror('", "%d", "', 16, 1)"),
        ("goto ", "l: ", ""),
        ("", ";", ""),
    ]);
    format!("{before}{}{after}", body.repeat(count))
}

/// Bytes with some changed, inserted, left out, doubled or cut off.
pub fn change_bytes(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..random.of_any_magnitude(6) {
        if bytes.is_empty() {
            bytes.push(random.draw() as u8);
            continue;
        }
        let place = random.below(bytes.len() as u64) as usize;
        match random.below(8) {
            0 => bytes[place] = random.draw() as u8,
            1 => bytes[place] ^= 1 << random.below(8),
            2 => bytes[place] = *random.choose(&[0, 1, 0x7F, 0x80, 0xFE, 0xFF]),
            3 => bytes.insert(place, random.draw() as u8),
            4 => {
                bytes.remove(place);
            }
            5 => {
                let end = (place + random.of_any_magnitude(64) as usize).min(bytes.len());
                let part = bytes[place..end].to_vec();
                bytes.splice(place..place, part);
            }
            6 => {
                // Lengths stand in two or four bytes.
                let length = *random.choose(&[
                    0_u32,
                    1,
                    2,
                    0x7F,
                    0xFF,
                    0x7FFF,
                    0x8000,
                    0xFFFE,
                    0xFFFF,
                    0x7FFF_FFFF,
                    0xFFFF_FFFE,
                    0xFFFF_FFFF,
                ]);
                let width = if random.below(2) == 0 { 2 } else { 4 };
                let end = (place + width).min(bytes.len());
                bytes[place..end].copy_from_slice(&length.to_le_bytes()[..end - place]);
            }
            _ => bytes.truncate(place),
        }
    }
}
