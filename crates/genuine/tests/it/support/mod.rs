//! What the tests share: writers of pages, backups and logs, damage, and the folder of public files.

pub mod database;
pub mod log;
pub mod media;
pub mod public;
pub mod random;
pub mod story;
pub mod writer;
