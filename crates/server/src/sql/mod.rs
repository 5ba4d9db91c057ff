//! T-SQL's types, values and parameters in the protocol's terms, and back; its sessions as the server's backend.

mod backend;
mod columns;
mod returned;
mod rows;
mod sent;
mod values;

pub use backend::{ShutdownHook, SqlBackend, SqlSession};
pub use columns::Announced;
pub use returned::{Returned, ReturnedValue};
pub use sent::whole_text;
pub use values::{column_type, parameter, to_wire};
