//! The server side of TDS 7.1 to 7.4 as bytes and tokens, without sockets or threads.
//!
//! ```text
//! bytes in  -> PacketReader -> Message -> PreLogin | Login | SqlBatch | RpcBatch | TransactionRequest | BulkLoad
//! bytes out <- PacketWriter <- TokenWriter (COLMETADATA, ROW, DONE, ...)
//! ```
//!
//! Invariants: no input makes a decoder panic or allocate more than a small multiple of the bytes
//! that really arrived; every decoder refuses with a [`DecodeError`] that names what was wrong.
//! Layouts are those of Microsoft's open specification MS-TDS; what differs between the versions
//! is decided in one place each, by [`TdsVersion`].

pub mod bulk;
pub mod code_page;
pub mod column;
pub mod cursor;
pub mod date;
pub mod feed;
pub mod login;
pub mod packet;
pub mod prelogin;
pub mod request;
pub mod row;
pub mod rpc;
pub mod smp;
pub mod table;
pub mod token;
pub mod value;
pub mod version;

pub use bulk::BulkLoad;
pub use column::{Collation, Column, ColumnType, XmlCollection};
pub use cursor::DecodeError;
pub use feed::{LongForm, LongValue, Payload, Spooled};
pub use login::{FeatureRequest, Login};
pub use packet::{Message, PacketError, PacketReader, PacketType, PacketWriter};
pub use prelogin::{Encryption, PreLogin, PreLoginReply};
pub use request::{IsolationLevel, SqlBatch, TransactionRequest};
pub use row::{LongFrame, RowError, RowWriter};
pub use rpc::{Procedure, RpcBatch, RpcParameter, RpcRequest};
pub use table::{TableColumn, TableRows, TableValue};
pub use token::{Done, DoneKind, EnvironmentChange, ServerMessage, TokenWriter};
pub use value::{Value, VariantValue};
pub use version::TdsVersion;
