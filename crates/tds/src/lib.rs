//! The TDS protocol as bytes and tokens. Pure: no sockets.
