//! Clients that speak TLS with the server, as they should or not.
//!
//! ```text
//!   script      an input: how the client comes, what of it is changed, what it says inside
//!     |
//!   client      a true client of TLS 1.2 within packets of PRELOGIN or of TLS 1.2 or 1.3 from the first byte; its flights, changed
//!     |   |
//!   edits  suites      bytes on their way, changed; what is sealed, changed before it is
//!
//!   readable    what the server sends, read by one who has no key
//! ```
//! The keys of a handshake are new each time, so an input that is repeated changes the same places of other bytes.

pub mod client;
pub mod edits;
pub mod readable;
pub mod script;
pub mod suites;
