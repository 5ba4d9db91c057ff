//! What the tests share: a writer of pages, and the folder of public files.

pub mod public;
pub mod writer;
