//! A client's session: executes batches, calls and transaction requests, and answers through a [`ResultSink`].

mod sink;

pub use sink::{BatchOutcome, DoneKind, Message, Parameter, ResultColumn, ResultSink, SinkClosed, TransactionEvent};
