//! The bridge to T-SQL: its types, values and results in the protocol's terms, and back.

mod backend;
mod rows;
mod sink;
mod values;

pub use backend::{ShutdownHook, SqlBackend, SqlSession};
pub use sink::{Announced, Bridge};
pub use values::{column_type, parameter, to_wire};
