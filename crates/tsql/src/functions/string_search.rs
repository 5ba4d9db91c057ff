//! String functions that look for strings in strings. They compare character by character, by the collation of their arguments.

use engine::cancel;
use engine::error::Result;
use engine::memory::Charge;
use engine::types::{Collation, HeldValue, Length, SqlType, Value, string_room};

use super::Answer::{Computed, Fixed};
use super::Parameter::{Int, Text};
use super::{Call, INT, Signature, signature};
use crate::plan::Expr;
use crate::scalar::data_type::{byte_length, string_type};
use crate::scalar::like::Pattern;
use crate::scalar::search::{Searched, Wanted};
use crate::scalar::windows::Windows;

pub(super) const FUNCTIONS: &[Signature] = &[
    signature("charindex", 2, &[Text, Text, Int], INT, charindex)
        .told("wanted, text, start: where a text begins in another; 0 if nowhere"),
    signature("patindex", 2, &[Text, Text], INT, patindex)
        .told("pattern, text: where a pattern of LIKE begins in a text; 0 if nowhere"),
    signature("difference", 2, &[Text, Text], INT, difference)
        .told("left, right: places at which two SOUNDEX codes agree, 0 to 4"),
    signature(
        "soundex",
        1,
        &[Text],
        Fixed(SqlType::VarChar(Length::Limited(4))),
        soundex,
    )
    .told("text: how an English word sounds: a letter and three digits"),
    signature("replace", 3, &[Text, Text, Text], Computed(replaced), replace)
        .told("text, wanted, by: the text with every occurrence replaced"),
    signature(
        "translate",
        3,
        &[Text, Text, Text],
        Fixed(SqlType::NVarChar(Length::Limited(4000))),
        translate,
    )
    .told("text, characters, by: the text with each of these characters replaced by the one at the same place of the third argument"),
    signature(
        "string_escape",
        2,
        &[Text, Text],
        Fixed(SqlType::NVarChar(Length::Max)),
        string_escape,
    )
    .told("text, kind: the text escaped as JSON"),
];

fn replaced(arguments: &[Expr]) -> Result<SqlType> {
    let unicode = arguments.iter().any(|argument| argument.sql_type.is_unicode());
    let is_max = arguments
        .first()
        .is_some_and(|argument| byte_length(argument.sql_type) == Length::Max);
    Ok(string_type(
        unicode,
        if is_max { Length::Max } else { Length::Limited(8000) },
    ))
}

/// Characters compared in the time of a step.
const CHARACTERS_PER_STEP: usize = 64;

/// Asks for a text taken apart into characters.
fn room_of_characters(text: &str) -> Result<Charge> {
    Charge::of_large(text.len().saturating_mul(size_of::<char>()))
}

/// As [`charindex`], in a text that is read in parts.
fn charindex_held(wanted: &str, held: &HeldValue, first_character: usize, collation: Collation) -> Result<Value> {
    let wanted = Wanted::new(wanted, collation)?;
    let mut windows = Windows::new(held, wanted.characters_max(), collation);
    while let Some(window) = windows.next_window()? {
        let skipped = first_character.saturating_sub(window.characters_before);
        let found = Searched::new(&window.text, skipped, collation)?.next(&wanted)?;
        if let Some(found) = found {
            let place = window.characters_before + found.characters_before + 1;
            return Ok(Value::Int(i32::try_from(place).unwrap_or(i32::MAX)));
        }
    }
    Ok(Value::Int(0))
}

fn charindex(call: &Call<'_>) -> Result<Value> {
    if let (Some(wanted), Value::Held(held)) = (call.text(0), call.value(1)) {
        let first_character = usize::try_from(call.integer(2).unwrap_or(1) - 1).unwrap_or(0);
        return charindex_held(wanted, held, first_character, call.collation());
    }
    let (Some(wanted), Some(text)) = (call.text(0), call.text(1)) else {
        return Ok(Value::Null);
    };
    let first_character = usize::try_from(call.integer(2).unwrap_or(1) - 1).unwrap_or(0);
    let wanted = Wanted::new(wanted, call.collation())?;
    let found = Searched::new(text, first_character, call.collation())?.next(&wanted)?;
    Ok(Value::Int(found.map_or(0, |found| found.characters_before as i32 + 1)))
}

/// The code of how a word sounds: its first letter and three digits (sql-docs, "SOUNDEX"). Letters of one digit count once where
/// they are neighbours, H and W between them counting for nothing; the word ends at anything but a letter.
fn sound_of(text: &str) -> String {
    let digit = |letter: char| match letter {
        'B' | 'F' | 'P' | 'V' => '1',
        'C' | 'G' | 'J' | 'K' | 'Q' | 'S' | 'X' | 'Z' => '2',
        'D' | 'T' => '3',
        'L' => '4',
        'M' | 'N' => '5',
        'R' => '6',
        _ => '0',
    };
    let mut letters = text
        .chars()
        .map(|letter| letter.to_ascii_uppercase())
        .take_while(char::is_ascii_uppercase);
    let Some(first) = letters.next() else {
        return "0000".to_owned();
    };
    let mut code = String::from(first);
    let mut last = digit(first);
    for letter in letters.filter(|letter| !matches!(letter, 'H' | 'W')) {
        let found = digit(letter);
        if found != '0' && found != last && code.len() < 4 {
            code.push(found);
        }
        last = found;
    }
    format!("{code:0<4}")
}

fn soundex(call: &Call<'_>) -> Result<Value> {
    Ok(call.text(0).map_or(Value::Null, |text| Value::from(sound_of(text))))
}

/// How many of the four places of two codes agree.
fn difference(call: &Call<'_>) -> Result<Value> {
    let (Some(left), Some(right)) = (call.text(0), call.text(1)) else {
        return Ok(Value::Null);
    };
    let (left, right) = (sound_of(left), sound_of(right));
    let same = left
        .bytes()
        .zip(right.bytes())
        .filter(|(left, right)| left == right)
        .count();
    Ok(Value::Int(same as i32))
}

fn patindex(call: &Call<'_>) -> Result<Value> {
    if let (Some(pattern), Value::Held(held)) = (call.text(0), call.value(1)) {
        let place = Pattern::new(pattern, None, call.collation()).position_held(held)?;
        return Ok(Value::Int(i32::try_from(place).unwrap_or(i32::MAX)));
    }
    let (Some(pattern), Some(text)) = (call.text(0), call.text(1)) else {
        return Ok(Value::Null);
    };
    let _characters = (room_of_characters(text)?, room_of_characters(pattern)?);
    Ok(Value::Int(
        Pattern::new(pattern, None, call.collation()).position(text)? as i32,
    ))
}

fn replace(call: &Call<'_>) -> Result<Value> {
    let (Some(text), Some(wanted), Some(by)) = (call.text(0), call.text(1), call.text(2)) else {
        return Ok(Value::Null);
    };
    if wanted.is_empty() {
        return Ok(call.value(0).clone());
    }
    let wanted = Wanted::new(wanted, call.collation())?;
    let mut searched = Searched::new(text, 0, call.collation())?;
    let mut length = text.len();
    while let Some(found) = searched.next(&wanted)? {
        length = (length - (found.end - found.start)).saturating_add(by.len());
    }
    let charge = string_room(length)?;
    searched.begin_again();
    let (mut result, mut at) = (String::with_capacity(length), 0);
    while let Some(found) = searched.next(&wanted)? {
        cancel::spend(1 + by.len() / CHARACTERS_PER_STEP)?;
        result.push_str(text.get(at..found.start).unwrap_or_default());
        result.push_str(by);
        at = found.end;
    }
    result.push_str(text.get(at..).unwrap_or_default());
    Ok(Value::Text(engine::types::Text::charged(result, charge)))
}

fn translate(call: &Call<'_>) -> Result<Value> {
    let (Some(text), Some(from), Some(to)) = (call.text(0), call.text(1), call.text(2)) else {
        return Ok(Value::Null);
    };
    let _characters = (room_of_characters(from)?, room_of_characters(to)?);
    let (from, to): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
    if from.len() != to.len() {
        let text = "The second and third arguments of the TRANSLATE built-in function must contain an equal number of characters.";
        return Err(engine::error::Error::new(9828, 16, 1, text));
    }
    let mut replaced = String::with_capacity(text.len());
    for character in text.chars() {
        cancel::spend(from.len() / CHARACTERS_PER_STEP)?;
        let found = from
            .iter()
            .position(|&wanted| call.collation().equal_characters(wanted, character));
        replaced.push(found.map_or(character, |index| to[index]));
    }
    Ok(Value::from(replaced))
}

/// `STRING_ESCAPE(text, 'json')`
fn string_escape(call: &Call<'_>) -> Result<Value> {
    let Some(text) = call.text(0) else {
        return Ok(Value::Null);
    };
    // A control character becomes six.
    let charge = string_room(text.len().saturating_mul(2))?;
    let mut result = String::with_capacity(text.len());
    crate::scalar::json::push_escaped(&mut result, text);
    Ok(Value::Text(engine::types::Text::charged(result, charge)))
}
