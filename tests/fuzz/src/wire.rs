//! TDS messages as clients write them (MS-TDS 2.2), built here by bytes so that they can be wrong anywhere.

use outside::random::Random;

const PROCEDURES: &[&str] = &[
    "sp_executesql",
    "sp_prepare",
    "sp_who",
    "p1",
    "p3",
    "sys.sp_help",
    "[dbo].[p1]",
    "sp_describe_first_result_set",
    "",
    "nothing",
];
const STATEMENTS: &[&str] = &[
    "select 1",
    "select @p0",
    "select @p0, @p1",
    "select * from @p0",
    "select i, s from fuzz..t1",
    "select sql_variant_property(@p0, 'BaseType')",
    "insert fuzz..t1 (i, s) values (@p0, @p1)",
    "waitfor delay '00:00:00.002' select 2",
    "set @p0 = @p1",
    "select * from sys.objects a cross join sys.objects b",
    "raiserror('x', 16, 1)",
    "print 'x'",
    "begin tran",
    "",
    "selec",
];
const DECLARATIONS: &[&str] = &[
    "@p0 int",
    "@p0 nvarchar(max), @p1 sql_variant",
    "@p0 varchar(20) output, @p1 datetime2(3)",
    "",
    "@p0 decimal(38, 5)",
    "@p0 tt1 readonly",
    "@",
];
/// A collation as clients of the server's own send it, and one of UTF-8.
const COLLATIONS: &[[u8; 5]] = &[
    [0x09, 0x04, 0xD0, 0x00, 0x34],
    [0x09, 0x04, 0xD0, 0x24, 0x00],
    [0; 5],
    [0xFF; 5],
];

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// Counted text with its count in one byte.
fn short_text(out: &mut Vec<u8>, text: &str) {
    out.push(text.encode_utf16().count() as u8);
    out.extend(utf16(text));
}

/// One of some texts.
fn drawn<'t>(random: &mut Random, texts: &[&'t str]) -> &'t str {
    texts[random.below(texts.len() as u64) as usize]
}

fn noise(random: &mut Random, count: usize) -> Vec<u8> {
    (0..count).map(|_| random.draw() as u8).collect()
}

/// ALL_HEADERS with the transaction's header.
fn headers(out: &mut Vec<u8>, random: &mut Random) {
    let transaction = if random.below(10) == 0 { random.draw() } else { 0 };
    out.extend(22_u32.to_le_bytes());
    out.extend(18_u32.to_le_bytes());
    out.extend(2_u16.to_le_bytes());
    out.extend(transaction.to_le_bytes());
    out.extend(1_u32.to_le_bytes());
}

/// A length of a value of at most `most` bytes.
fn length(random: &mut Random, most: u64) -> u64 {
    match random.below(8) {
        0 => 0,
        1 => most,
        _ => random.of_any_magnitude(most.max(1)).min(most),
    }
}

/// A value with its length in one byte, which is 0 for NULL.
fn sized(value: &mut Vec<u8>, is_null: bool, bytes: &[u8]) {
    if is_null {
        value.push(0);
    } else {
        value.push(bytes.len() as u8);
        value.extend(bytes);
    }
}

/// TYPE_INFO and a value of one of all types, as parameters have them; in rows `text` and its kin have pointers.
fn typed_value(out: &mut Vec<u8>, random: &mut Random, in_row: bool) -> Vec<u8> {
    let mut value = Vec::new();
    let is_null = random.below(6) == 0;
    match random.below(24) {
        0..10 => short_number(out, &mut value, random, is_null),
        10..14 => short_string(out, &mut value, random, is_null),
        14..17 => chunked_string(out, &mut value, random, is_null),
        17 => large_object(out, &mut value, random, in_row),
        18 | 19 => variant(out, &mut value, random, is_null),
        20 => {
            let (kind, width) = *random.choose(FIXED_TYPES);
            out.push(kind);
            value.extend(noise(random, width));
        }
        21 => {
            let (kind, most) = (*random.choose(&[0x25_u8, 0x27, 0x2D, 0x2F]), random.below(256) as u8);
            out.extend([kind, most]);
            let bytes = length(random, u64::from(most)) as usize;
            sized(&mut value, is_null, &noise(random, bytes));
        }
        22 => {
            out.extend([0xF1, 0]);
            chunks(&mut value, random, is_null);
        }
        _ => out.push(*random.choose(&[0xF0_u8, 0xF3, 0xF4, 0xF5, 0x00, 0xFF])),
    }
    value
}

/// Types whose values have no length, and how many bytes they take.
const FIXED_TYPES: &[(u8, usize)] = &[
    (0x30, 1),
    (0x32, 1),
    (0x34, 2),
    (0x38, 4),
    (0x3A, 4),
    (0x3B, 4),
    (0x3C, 8),
    (0x3D, 8),
    (0x3E, 8),
    (0x7A, 4),
    (0x7F, 8),
    (0x1F, 0),
];

/// Numbers, dates and times and uniqueidentifier: a length in one byte.
fn short_number(out: &mut Vec<u8>, value: &mut Vec<u8>, random: &mut Random, is_null: bool) {
    let width = match random.below(10) {
        0 => {
            let width = *random.choose(&[1_u8, 2, 4, 8]);
            out.extend([0x26, width]);
            width.into()
        }
        1 => {
            out.extend([0x68, 1]);
            1
        }
        2..5 => {
            // float, money, datetime
            let (kind, width) = (*random.choose(&[0x6D_u8, 0x6E, 0x6F]), *random.choose(&[4_u8, 8]));
            out.extend([kind, width]);
            width.into()
        }
        5 | 6 => {
            let precision = 1 + random.below(38) as u8;
            let scale = random.below(u64::from(precision) + 1) as u8;
            out.extend([*random.choose(&[0x6A, 0x6C]), 17, precision, scale]);
            1 + *random.choose(&[4_usize, 8, 12, 16])
        }
        7 => {
            out.extend([0x24, 16]);
            16
        }
        8 => {
            out.push(0x28);
            3
        }
        _ => {
            let (kind, scale) = (*random.choose(&[0x29_u8, 0x2A, 0x2B]), random.below(8) as u8);
            out.extend([kind, scale]);
            let time = [3, 3, 3, 4, 4, 5, 5, 5][usize::from(scale)];
            time + match kind {
                0x29 => 0,
                0x2A => 3,
                _ => 5,
            }
        }
    };
    // Not a number, and the greatest of everything, among all others.
    let bytes = if random.below(6) == 0 {
        vec![0xFF; width]
    } else {
        noise(random, width)
    };
    sized(value, is_null, &bytes);
}

/// text, ntext and image.
fn large_object(out: &mut Vec<u8>, value: &mut Vec<u8>, random: &mut Random, in_row: bool) {
    let kind = *random.choose(&[0x23_u8, 0x63, 0x22]);
    out.push(kind);
    out.extend(0x7FFF_FFFF_u32.to_le_bytes());
    if kind != 0x22 {
        out.extend(random.choose(COLLATIONS));
    }
    if in_row {
        value.push(16);
        value.extend([0; 24]);
    }
    let bytes = length(random, 300) as usize & !1;
    value.extend((bytes as u32).to_le_bytes());
    value.extend(noise(random, bytes));
}

/// (n)varchar, (n)char, varbinary and binary with a length in two bytes.
fn short_string(out: &mut Vec<u8>, value: &mut Vec<u8>, random: &mut Random, is_null: bool) {
    let kind = *random.choose(&[0xA5_u8, 0xA7, 0xAD, 0xAF, 0xE7, 0xEF]);
    let most = random.of_any_magnitude(8_000) & !1;
    out.push(kind);
    out.extend((most as u16).to_le_bytes());
    if !matches!(kind, 0xA5 | 0xAD) {
        out.extend(random.choose(COLLATIONS));
    }
    if is_null {
        value.extend(u16::MAX.to_le_bytes());
        return;
    }
    let bytes = length(random, most) as usize & !1;
    value.extend((bytes as u16).to_le_bytes());
    let text = random.choose(STATEMENTS);
    let letters = if random.below(2) == 0 {
        noise(random, bytes)
    } else {
        utf16(&text.repeat(bytes / 2 + 1))
    };
    value.extend(letters.into_iter().chain(std::iter::repeat(b' ')).take(bytes));
}

/// The `max` types.
fn chunked_string(out: &mut Vec<u8>, value: &mut Vec<u8>, random: &mut Random, is_null: bool) {
    let kind = *random.choose(&[0xA5_u8, 0xA7, 0xE7]);
    out.push(kind);
    out.extend(u16::MAX.to_le_bytes());
    if kind != 0xA5 {
        out.extend(random.choose(COLLATIONS));
    }
    chunks(value, random, is_null);
}

fn chunks(value: &mut Vec<u8>, random: &mut Random, is_null: bool) {
    if is_null {
        value.extend(u64::MAX.to_le_bytes());
        return;
    }
    let total = *random.choose(&[u64::MAX - 1, 0, 100, 1 << 40]);
    value.extend(total.to_le_bytes());
    for _ in 0..random.below(4) {
        let bytes = 2 * (1 + random.below(60) as usize);
        value.extend((bytes as u32).to_le_bytes());
        value.extend(noise(random, bytes));
    }
    value.extend(0_u32.to_le_bytes());
}

/// sql_variant: total, base type, properties, value.
fn variant(out: &mut Vec<u8>, value: &mut Vec<u8>, random: &mut Random, is_null: bool) {
    out.push(0x62);
    out.extend(8009_u32.to_le_bytes());
    if is_null {
        value.extend(0_u32.to_le_bytes());
        return;
    }
    let (base, properties, width): (u8, Vec<u8>, usize) = match random.below(8) {
        0 => (0x38, vec![], 4),
        1 => (
            0xA7,
            [random.choose(COLLATIONS).as_slice(), &20_u16.to_le_bytes()].concat(),
            random.below(20) as usize,
        ),
        2 => (
            0xE7,
            [random.choose(COLLATIONS).as_slice(), &40_u16.to_le_bytes()].concat(),
            random.below(10) as usize * 2,
        ),
        3 => (0x6C, vec![1 + random.below(38) as u8, random.below(20) as u8], 17),
        4 => (0x2A, vec![random.below(8) as u8], 8),
        5 => (0xA5, 20_u16.to_le_bytes().to_vec(), random.below(20) as usize),
        6 => (
            *random.choose(&[0x30, 0x32, 0x34, 0x3A, 0x3B, 0x3C, 0x3D, 0x3E, 0x7A, 0x7F, 0x24, 0x28]),
            vec![],
            random.below(17) as usize,
        ),
        _ => (random.draw() as u8, noise(random, 3), random.below(20) as usize),
    };
    value.extend((2 + properties.len() as u32 + width as u32).to_le_bytes());
    value.extend([base, properties.len() as u8]);
    value.extend(properties);
    value.extend(noise(random, width));
}

fn parameter(out: &mut Vec<u8>, random: &mut Random, place: u64) {
    let name = if random.below(3) == 0 {
        String::new()
    } else {
        format!("@p{place}")
    };
    short_text(out, &name);
    out.push(*random.choose(&[0_u8, 0, 0, 1, 2, 3, 8]));
    if random.below(4) == 0 {
        table(out, random);
        return;
    }
    let value = typed_value(out, random, false);
    out.extend(value);
}

/// A table-valued parameter.
fn table(out: &mut Vec<u8>, random: &mut Random) {
    out.push(0xF3);
    for text in [
        "",
        drawn(random, &["", "dbo", "other"]),
        drawn(random, &["tt1", "", "ut1", "nothing"]),
    ] {
        short_text(out, text);
    }
    let columns = random.below(5);
    let is_null = random.below(8) == 0;
    let mut row = Vec::new();
    if is_null {
        out.extend(u16::MAX.to_le_bytes());
    } else {
        out.extend((columns as u16).to_le_bytes());
        for _ in 0..columns {
            let is_default = random.below(5) == 0;
            out.extend([0; 4]);
            out.extend(if is_default { [0, 2] } else { [random.below(2) as u8, 0] });
            let value = typed_value(out, random, false);
            out.push(0);
            if !is_default {
                row.extend(value);
            }
        }
    }
    if random.below(4) == 0 {
        out.extend([0x10, 1, 0, 1, 0, random.below(4) as u8]);
    }
    if random.below(4) == 0 {
        out.push(0x11);
        out.extend((columns as u16).to_le_bytes());
        for number in (1..=columns).rev() {
            out.extend((number as u16).to_le_bytes());
        }
    }
    out.push(0);
    if !is_null {
        for _ in 0..random.below(4) {
            out.push(1);
            out.extend(&row);
        }
    }
    out.push(0);
}

/// A parameter of nvarchar(max) with a text.
fn text_parameter(out: &mut Vec<u8>, text: &str) {
    short_text(out, "");
    out.push(0);
    out.push(0xE7);
    out.extend(u16::MAX.to_le_bytes());
    out.extend(COLLATIONS[0]);
    let bytes = utf16(text);
    out.extend((bytes.len() as u64).to_le_bytes());
    if !bytes.is_empty() {
        out.extend((bytes.len() as u32).to_le_bytes());
        out.extend(bytes);
    }
    out.extend(0_u32.to_le_bytes());
}

/// A message of remote procedure calls.
pub fn calls(random: &mut Random) -> Vec<u8> {
    let mut out = Vec::new();
    headers(&mut out, random);
    let calls = 1 + random.below(3) * random.below(2);
    for number in 0..calls {
        if number > 0 {
            out.push(*random.choose(&[0xFF_u8, 0xFF, 0xFE, 0x80]));
        }
        let id = *random.choose(&[10_u16, 10, 10, 11, 12, 13, 15, 1, 2, 3, 5, 7, 9, 14, 16, 0]);
        if random.below(4) == 0 {
            let name = random.choose(PROCEDURES);
            out.extend((name.encode_utf16().count() as u16).to_le_bytes());
            out.extend(utf16(name));
        } else {
            out.extend(u16::MAX.to_le_bytes());
            out.extend(id.to_le_bytes());
        }
        out.extend((random.below(4) as u16).to_le_bytes());
        let has_texts = matches!(id, 10 | 11 | 13) && random.below(8) > 0;
        if has_texts {
            if id != 10 {
                // The handle that comes back.
                out.extend([0, 1, 0x26, 4, 0]);
                text_parameter(&mut out, drawn(random, DECLARATIONS));
            }
            text_parameter(&mut out, drawn(random, STATEMENTS));
            if id == 10 {
                text_parameter(&mut out, drawn(random, DECLARATIONS));
            }
        } else if matches!(id, 12 | 15) {
            out.extend([0, 0, 0x26, 4, 4]);
            out.extend((random.below(4) as u32).to_le_bytes());
        }
        for place in 0..random.below(4) {
            parameter(&mut out, random, place);
        }
    }
    out
}

pub fn batch(random: &mut Random) -> Vec<u8> {
    let mut out = Vec::new();
    headers(&mut out, random);
    out.extend(utf16(drawn(random, STATEMENTS)));
    out
}

/// BEGIN, COMMIT, ROLLBACK or SAVE of the transaction manager.
pub fn transaction(random: &mut Random) -> Vec<u8> {
    let mut out = Vec::new();
    headers(&mut out, random);
    let kind = *random.choose(&[5_u16, 7, 8, 9, 0, 1, 6]);
    out.extend(kind.to_le_bytes());
    let name = utf16(drawn(random, &["", "a", "savepoint1", "\u{1F600}"]));
    if kind == 5 {
        out.push(random.below(7) as u8);
    }
    out.push(name.len() as u8);
    out.extend(name);
    if matches!(kind, 7 | 8) {
        out.push(random.below(2) as u8);
        out.extend([random.below(7) as u8, 0]);
    }
    out
}

/// Columns, rows and the end of INSERT BULK.
pub fn bulk(random: &mut Random) -> Vec<u8> {
    let columns = random.below(5);
    let mut out = vec![0x81];
    out.extend((columns as u16).to_le_bytes());
    let mut row = Vec::new();
    for place in 0..columns {
        out.extend([0; 4]);
        out.extend((random.below(32) as u16).to_le_bytes());
        let before = out.len();
        row.extend(typed_value(&mut out, random, true));
        if matches!(out[before], 0x22 | 0x23 | 0x63) {
            out.extend(1_u16.to_le_bytes());
            out.extend(utf16("t"));
        }
        short_text(&mut out, &format!("c{place}"));
    }
    for _ in 0..random.below(4) {
        if random.below(4) == 0 {
            out.push(0xD2);
            out.extend(noise(random, columns.div_ceil(8) as usize));
        } else {
            out.push(0xD1);
        }
        out.extend(&row);
    }
    if random.below(4) > 0 {
        out.push(0xFD);
        out.extend([0; 12]);
    }
    out
}

/// Columns and rows that a table with a number, a larger number and a short string takes, if their keys are new to it.
pub fn fitting_bulk(random: &mut Random) -> Vec<u8> {
    /// Their names, flags (1 for NULL allowed, as the table has it) and types.
    const COLUMNS: [(&str, u16, &[u8]); 3] = [
        ("i", 0, &[0x38]),
        ("b", 1, &[0x26, 8]),
        ("s", 1, &[0xA7, 40, 0, 9, 4, 0xD0, 0, 0x34]),
    ];
    let mut out = vec![0x81];
    out.extend((COLUMNS.len() as u16).to_le_bytes());
    for (name, flags, description) in COLUMNS {
        out.extend([0; 4]);
        out.extend(flags.to_le_bytes());
        out.extend(description);
        short_text(&mut out, name);
    }
    for _ in 0..random.below(4) {
        out.push(0xD1);
        out.extend(noise(random, 4));
        let width = random.below(2) * 8;
        out.push(width as u8);
        out.extend(noise(random, width as usize));
        let letters = random.below(41) as usize;
        out.extend((letters as u16).to_le_bytes());
        out.extend(vec![b'x'; letters]);
    }
    out.push(0xFD);
    out.extend([0; 12]);
    out
}

/// LOGIN7 with the password given, obfuscated as clients do.
pub fn login(random: &mut Random, user: &str, password: &str) -> Vec<u8> {
    let hidden: Vec<u8> = utf16(password)
        .into_iter()
        .map(|byte| byte.rotate_left(4) ^ 0xA5)
        .collect();
    let mut fixed: Vec<u8> = Vec::new();
    fixed.extend(0x7400_0004_u32.to_le_bytes());
    fixed.extend(4096_u32.to_le_bytes());
    fixed.extend([0; 12]);
    let has_features = random.below(2) == 0;
    fixed.extend([0xE0, 0x03, 0, if has_features { 0x10 } else { 0 }]);
    fixed.extend([0; 8]);
    let mut data: Vec<u8> = Vec::new();
    let begin = 94_usize;
    let mut slots = Vec::new();
    let texts = [
        utf16("host"),
        utf16(user),
        hidden,
        utf16("fuzz"),
        utf16("server"),
        Vec::new(),
        utf16("library"),
        Vec::new(),
        utf16("master"),
    ];
    for (place, text) in texts.iter().enumerate() {
        slots.extend(((begin + data.len()) as u16).to_le_bytes());
        if place == 5 {
            slots.extend(4_u16.to_le_bytes());
            data.extend([0; 4]);
        } else {
            slots.extend(((text.len() / 2) as u16).to_le_bytes());
            data.extend(text);
        }
    }
    let block = (begin + data.len()) as u32;
    let pointer = texts[..5].iter().map(Vec::len).sum::<usize>();
    data[pointer..pointer + 4].copy_from_slice(&block.to_le_bytes());
    data.extend([0x0A, 1, 0, 0, 0, 1, 0x04, 1, 0, 0, 0, 1, 0xFF]);
    fixed.extend(slots);
    // Client id, SSPI, attached file, new password, long SSPI.
    fixed.extend([0; 6 + 4 + 4 + 4 + 4]);
    let mut out = ((4 + fixed.len() + data.len()) as u32).to_le_bytes().to_vec();
    out.extend(fixed);
    out.extend(data);
    out
}

/// PRELOGIN with any wish about encryption.
pub fn prelogin(random: &mut Random) -> Vec<u8> {
    prelogin_wishing(*random.choose(&[0_u8, 2, 2, 1, 3]))
}

/// PRELOGIN with version, encryption, instance, thread id and MARS.
pub fn prelogin_wishing(encryption: u8) -> Vec<u8> {
    let options: [(u8, Vec<u8>); 5] = [
        (0, vec![16, 0, 0, 1, 0, 0]),
        (1, vec![encryption]),
        (2, b"MSSQLServer\0".to_vec()),
        (3, vec![0; 4]),
        (4, vec![0]),
    ];
    let mut offset = options.len() * 5 + 1;
    let (mut table, mut data) = (Vec::new(), Vec::new());
    for (kind, bytes) in options {
        table.push(kind);
        table.extend((offset as u16).to_be_bytes());
        table.extend((bytes.len() as u16).to_be_bytes());
        offset += bytes.len();
        data.extend(bytes);
    }
    table.push(0xFF);
    table.extend(data);
    table
}

/// A message as packets of a size.
pub fn packets(kind: u8, payload: &[u8], bytes: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let mut parts: Vec<&[u8]> = payload.chunks(bytes).collect();
    if parts.is_empty() {
        parts.push(&[]);
    }
    let last = parts.len() - 1;
    for (number, part) in parts.into_iter().enumerate() {
        let status = u8::from(number == last);
        out.extend([kind, status]);
        out.extend(((part.len() + 8) as u16).to_be_bytes());
        out.extend([0, 0, number as u8, 0]);
        out.extend(part);
    }
    out
}

/// Kinds of messages and what makes them.
pub const ATTENTION: u8 = 0x06;

/// A message of any kind with its type.
pub fn message(random: &mut Random) -> (u8, Vec<u8>) {
    match random.below(12) {
        0 | 1 => (0x01, batch(random)),
        2..6 => (0x03, calls(random)),
        6 => (0x0E, transaction(random)),
        7 | 8 => (0x07, bulk(random)),
        9 => (0x10, login(random, "sa", "password")),
        10 => (0x12, prelogin(random)),
        _ => (random.draw() as u8, noise(random, 40)),
    }
}
