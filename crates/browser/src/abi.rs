//! The way into WebAssembly and out of it: three functions, one import, no library between.
//!
//! ```text
//! worker: pointer = input(bytes); writes the question there; pointer = answer(); reads answer_bytes() bytes there
//! inside: file_read(number, offset, pointer, bytes) -> 1, the bytes are there; 0, they cannot be read
//! ```
//! `input` grows the memory, so views of it are made anew behind each call. Offsets are numbers of JavaScript, exact up to 2^53.
//!
//! The attributes below are the only unsafe things here: they put names into a module of its own, which no other code is linked to.
#![allow(unsafe_code)]

use std::cell::RefCell;
use vlf::{ReadAt, ReadFault};

#[link(wasm_import_module = "worker")]
unsafe extern "C" {
    /// Writes `bytes` bytes of file `number` from `offset` on to `into`, which has room for them; 0 = they cannot be read.
    safe fn file_read(number: u32, offset: f64, into: *mut u8, bytes: u32) -> u32;
}

thread_local! {
    static QUESTION: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static ANSWER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// A file that the worker has.
struct WorkerFile {
    number: u32,
    bytes: u64,
}

impl ReadAt for WorkerFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), ReadFault> {
        let fault = |reason: &str| ReadFault {
            offset,
            reason: reason.to_owned(),
        };
        let end = offset.checked_add(buffer.len() as u64);
        if end.is_none_or(|end| end > self.bytes) {
            return Err(fault("beyond the end"));
        }
        match file_read(self.number, offset as f64, buffer.as_mut_ptr(), buffer.len() as u32) {
            0 => Err(fault(
                "the browser cannot read the file; has it changed, or is it gone?",
            )),
            _ => Ok(()),
        }
    }

    fn len(&self) -> u64 {
        self.bytes
    }
}

/// Makes room for a question of so many bytes.
#[unsafe(no_mangle)]
pub extern "C" fn input(bytes: usize) -> *mut u8 {
    QUESTION.with_borrow_mut(|question| {
        *question = vec![0; bytes];
        question.as_mut_ptr()
    })
}

/// Answers the question.
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> *const u8 {
    let question = QUESTION.take();
    let open = |number: usize, bytes: u64| -> Box<dyn ReadAt + Sync> {
        Box::new(WorkerFile {
            number: number as u32,
            bytes,
        })
    };
    let answer = crate::answer(&question, &open);
    ANSWER.with_borrow_mut(|kept| {
        *kept = answer;
        kept.as_ptr()
    })
}

/// Bytes of the last answer.
#[unsafe(no_mangle)]
pub extern "C" fn answer_bytes() -> usize {
    ANSWER.with_borrow(Vec::len)
}
