//! What application locks refuse (SQL Server docs, "sp_getapplock").

use engine::error::Error;

/// 1224 to 1227: a word that no application lock knows; `part` is what the word was to be.
pub fn invalid_application_lock(part: &str, callee: &str, state: u8) -> Error {
    let number = match part {
        "resource" => 1224,
        "mode" => 1225,
        "owner" => 1226,
        _ => 1227,
    };
    let text = format!("An invalid application lock {part} was passed to {callee}.");
    Error::new(number, 16, state, text)
}
