//! The keys and values of a session's context (sql-docs, "sp_set_session_context", "SESSION_CONTEXT").

use std::cell::RefCell;
use std::collections::BTreeMap;

use engine::error::{Error, Result};
use engine::types::Value;

use super::SessionState;

/// All keys and values of a session together (sql-docs, "sp_set_session_context").
const BYTES_MAX: usize = 1_048_576;

#[derive(Debug)]
struct Entry {
    value: Value,
    read_only: bool,
}

/// See the module. Keys differ by every character.
#[derive(Debug, Default)]
pub(super) struct SessionContext(RefCell<BTreeMap<String, Entry>>);

fn bytes_of(key: &str, value: &Value) -> usize {
    let value = match value {
        Value::Variant(variant) => variant.to_bytes().len(),
        _ => 0,
    };
    key.encode_utf16().count() * 2 + value
}

impl SessionState {
    /// Sets a key to a `sql_variant`, for good where it is read-only; NULL gives its memory back.
    ///
    /// # Errors
    /// 15664 for a key that is read-only, 15665 beyond 1 MB.
    pub(crate) fn set_session_context(&self, key: &str, value: Value, read_only: bool) -> Result<()> {
        let mut entries = self.session_context.0.borrow_mut();
        if entries.get(key).is_some_and(|entry| entry.read_only) {
            let text = format!(
                "Cannot set key '{key}' in the session context. The key has been set as read_only for this session."
            );
            return Err(Error::new(15_664, 16, 1, text));
        }
        let others = entries.iter().filter(|(other, _)| *other != key);
        let kept: usize = others.map(|(key, entry)| bytes_of(key, &entry.value)).sum();
        if kept + bytes_of(key, &value) > BYTES_MAX {
            let text = format!(
                "The value was not set for key '{key}' because the total size of keys and values in the session context would exceed the 1 MB limit."
            );
            return Err(Error::new(15_665, 16, 1, text));
        }
        match value.is_null() && !read_only {
            true => entries.remove(key),
            false => entries.insert(key.to_owned(), Entry { value, read_only }),
        };
        Ok(())
    }

    /// The value of a key; NULL for one that was never set.
    pub(crate) fn session_context(&self, key: &str) -> Value {
        let entries = self.session_context.0.borrow();
        entries.get(key).map_or(Value::Null, |entry| entry.value.clone())
    }

    /// Forgets all keys.
    pub(super) fn clear_session_context(&self) {
        self.session_context.0.borrow_mut().clear();
    }
}
