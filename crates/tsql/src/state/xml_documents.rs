//! The documents that `sp_xml_preparedocument` has made ready for OPENXML. They are a session's own, outlive batches and rollbacks, and take
//! memory until they are removed or the session ends (sql-docs, "sp_xml_preparedocument").
//!
//! Handles are 1, 3, 5 and so on, none of them twice (the SqlServerSimulator project's notes on OPENXML, probed on SQL Server 2025).

use std::cell::RefCell;
use std::collections::BTreeMap;

use engine::error::Result;
use engine::memory::Charge;
use engine::types::Value;

use super::SessionState;
use crate::messages;

/// What a document takes beside its texts.
const DOCUMENT_BYTES: usize = 128;

struct Prepared {
    text: Value,
    /// Prefixes and addresses in turn, with a NUL between.
    prefixes: Value,
    _charge: Charge,
}

/// The documents of a session, by their handles.
#[derive(Default)]
pub(super) struct XmlDocuments(RefCell<Held>);

#[derive(Default)]
struct Held {
    by_handle: BTreeMap<i32, Prepared>,
    last_handle: i32,
}

impl SessionState {
    /// Keeps a well-formed text with the prefixes that patterns use; answers its handle.
    ///
    /// # Errors
    /// 701.
    pub(crate) fn prepare_xml_document(&self, text: &str, prefixes: &str) -> Result<i32> {
        let mut charge = Charge::default();
        charge.grow_to((text.len() + prefixes.len() + DOCUMENT_BYTES) as u64)?;
        let mut held = self.xml_documents.0.borrow_mut();
        let next = match held.last_handle {
            0 => 1,
            last => last.checked_add(2).ok_or_else(messages::no_xml_handle_left)?,
        };
        held.last_handle = next;
        let prepared = Prepared {
            text: Value::text(text),
            prefixes: Value::text(prefixes),
            _charge: charge,
        };
        held.by_handle.insert(next, prepared);
        Ok(next)
    }

    /// The text of a document, and the prefixes of patterns.
    ///
    /// # Errors
    /// 8179 for a handle that the session does not have.
    pub(crate) fn xml_document(&self, handle: i32) -> Result<(Value, Value)> {
        let held = self.xml_documents.0.borrow();
        let found = held.by_handle.get(&handle);
        let found = found.ok_or_else(|| messages::no_prepared_document(handle))?;
        Ok((found.text.clone(), found.prefixes.clone()))
    }

    /// Forgets a document.
    ///
    /// # Errors
    /// 8179 for a handle that the session does not have.
    pub(crate) fn remove_xml_document(&self, handle: i32) -> Result<()> {
        let removed = self.xml_documents.0.borrow_mut().by_handle.remove(&handle);
        removed.map(drop).ok_or_else(|| messages::no_prepared_document(handle))
    }

    /// Forgets all documents.
    pub(super) fn clear_xml_documents(&self) {
        *self.xml_documents.0.borrow_mut() = Held::default();
    }
}
