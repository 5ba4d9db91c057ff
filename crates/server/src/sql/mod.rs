//! The bridge to T-SQL: its types, values and results in the protocol's terms, and back.

mod sink;
mod values;

pub use sink::Bridge;
pub use values::{column_type, parameter, to_wire};
