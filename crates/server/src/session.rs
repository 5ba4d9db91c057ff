//! The session loop: one request after another, each answered by one message.

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use engine::errorlog::ErrorNumbers;
use engine::memory::Charge;
use tds::bulk::BulkLoad;
use tds::token::{Done, DoneKind, EnvironmentChange, TokenWriter};
use tds::{DecodeError, PacketError, PacketType, RpcBatch, SqlBatch, TransactionRequest};

use crate::backend::{Backend, BackendSession};
use crate::handshake::packet_sentence;
use crate::inbox::{Inbound, Inbox, Signals};
use crate::notices;
use crate::procedures::{self, PreparedStatements};
use crate::receiving::Received;
use crate::results::Results;
use crate::sql::Announced;

/// A logged-in connection.
pub(crate) struct Session<'a, B: Backend> {
    pub(crate) backend: &'a B,
    pub(crate) inner: B::Session,
    pub(crate) server_name: String,
    pub(crate) spid: u16,
    pub(crate) address: String,
    pub(crate) tokens: TokenWriter,
    pub(crate) stream: &'a mut dyn Write,
    pub(crate) signals: Arc<Signals>,
    pub(crate) prepared: PreparedStatements,
    /// The columns of the last result: a statement that is sent again announces the same.
    pub(crate) announced: Announced,
    /// ATTENTIONs answered so far; each is answered once.
    pub(crate) acknowledged: u64,
    /// ATTENTION messages taken from the inbox so far.
    pub(crate) attention_messages: u64,
}

impl<B: Backend> Session<'_, B> {
    /// Serves requests until the client leaves, breaks the protocol, or an error ends the session.
    pub(crate) fn run(mut self, inbox: &Inbox) {
        let mut served = Vec::new();
        while let Some(inbound) = inbox.next(std::mem::take(&mut served)) {
            let goes_on;
            (goes_on, served) = self.serve_inbound(inbox, inbound);
            if !goes_on {
                break;
            }
        }
        self.close();
    }

    /// Serves what came: whether the session goes on, and memory that the next message may use.
    pub(crate) fn serve_inbound(&mut self, inbox: &Inbox, inbound: Inbound) -> (bool, Vec<u8>) {
        match inbound {
            Inbound::Broken(error) => {
                self.report_broken(&error);
                (false, Vec::new())
            }
            Inbound::Message(received) if received.message.kind == PacketType::Attention => {
                (self.serve_attention(), Vec::new())
            }
            Inbound::Message(received) => {
                inbox.turn();
                let goes_on = self.serve(&received);
                inbox.turn();
                (goes_on, received.message.payload)
            }
        }
    }

    /// Dropping the backend's session rolls back; that too must not take the server down.
    pub(crate) fn close(self) {
        let (backend, source, inner) = (self.backend, format!("spid{}", self.spid), self.inner);
        if catch_unwind(AssertUnwindSafe(|| drop(inner))).is_err() {
            backend.write_errorlog(&source, "The session could not be closed in good order.");
        }
    }

    fn report_broken(&self, error: &PacketError) {
        log_invalid(self.backend, self.spid, &self.address, &packet_sentence(error));
    }

    /// An ATTENTION that arrived between requests, or was already answered with the request it interrupted.
    fn serve_attention(&mut self) -> bool {
        self.attention_messages += 1;
        if self.attention_messages <= self.acknowledged {
            return true;
        }
        self.acknowledged = self.attention_messages;
        self.acknowledge()
    }

    /// Answers an ATTENTION, in a message of its own as SQL Server does: drivers read the interrupted answer to its end
    /// and then wait for this one.
    fn acknowledge(&mut self) -> bool {
        self.tokens.done(
            DoneKind::Done,
            &Done {
                attention: true,
                ..Done::default()
            },
        );
        self.tokens.finish(self.stream).is_ok()
    }

    fn serve(&mut self, received: &Received) -> bool {
        let message = &received.message;
        let attended_before = self.signals.begin_request() > self.acknowledged;
        if message.reset_connection && !self.reset(message.keep_transaction) {
            return false;
        }
        let mut results = Results::new(
            &mut self.tokens,
            self.stream,
            &self.signals,
            &self.server_name,
            &mut self.announced,
        );
        if message.ignored {
            return results.refuse_ignored();
        }
        // What the message says is decoded beside it.
        let decoded = Charge::of_large(message.payload.len());
        if let Some(refusal) = &received.refusal {
            results.tell(refusal);
        } else if decoded.is_err() {
            results.tell(&notices::insufficient_memory());
        } else if !attended_before {
            let (inner, prepared, version) = (&mut self.inner, &mut self.prepared, results.tokens().version());
            let served = catch_unwind(AssertUnwindSafe(|| match message.kind {
                PacketType::SqlBatch => {
                    SqlBatch::parse(&message.payload, version).map(|batch| inner.run_batch(&batch.text, &mut results))
                }
                PacketType::Rpc => serve_calls(
                    RpcBatch::parse(received.payload(&self.signals), version),
                    inner,
                    prepared,
                    &mut results,
                ),
                PacketType::TransactionManager => TransactionRequest::parse(&message.payload, version)
                    .map(|request| inner.transaction(&request, &mut results)),
                PacketType::BulkLoad => BulkLoad::parse(received.payload(&self.signals), version)
                    .map(|mut load| inner.bulk_load(&mut load, &mut results)),
                other => Err(DecodeError::Unsupported("message type", u64::from(other.to_byte()))),
            }));
            if let Err(problem) = served.unwrap_or_else(|panic| {
                self.backend
                    .write_errorlog(&format!("spid{}", self.spid), &panic_text(panic.as_ref()));
                results.drop_open_row();
                results.tell(&notices::assertion_failed());
                Ok(())
            }) && refuse(&problem, message.kind, self.inner.has_ended(), &mut results)
            {
                log_invalid(self.backend, self.spid, &self.address, &problem.to_string());
                results.finish(false);
                return false;
            }
        }
        if message.kind == PacketType::BulkLoad {
            self.inner.forget_bulk_load();
        }
        let received = self.signals.attentions();
        let attention = received > self.acknowledged;
        self.acknowledged = received;
        let goes_on = results.finish(attention) && (!attention || self.acknowledge());
        // A write waits until the client has taken what an ATTENTION held back.
        goes_on && self.stream.write(&[]).is_ok() && !self.inner.has_ended()
    }

    fn reset(&mut self, keep_transaction: bool) -> bool {
        let before = self.inner.database();
        let inner = &mut self.inner;
        let keep_isolation = !self.tokens.version().has_date_types();
        let Ok(rolled_back) = catch_unwind(AssertUnwindSafe(|| inner.reset(keep_transaction, keep_isolation))) else {
            let text = "The session could not be reset; it is closed.";
            self.backend.write_errorlog(&format!("spid{}", self.spid), text);
            return false;
        };
        self.prepared.clear();
        if let Some(id) = rolled_back {
            self.tokens.environment(EnvironmentChange::RollbackTransaction(id));
        }
        self.tokens.environment(EnvironmentChange::ResetConnection);
        let after = self.inner.database();
        if after != before {
            self.tokens.environment(EnvironmentChange::Database(&after, &before));
        }
        true
    }
}

/// All calls of an RPC message, until one is broken or an error ends the session.
fn serve_calls<S: BackendSession>(
    batch: Result<RpcBatch<'_>, DecodeError>,
    inner: &mut S,
    prepared: &mut PreparedStatements,
    results: &mut Results<'_>,
) -> Result<(), DecodeError> {
    let mut batch = batch?;
    while let Some(request) = batch.next_request()? {
        let more = batch.has_more();
        if request.execute {
            procedures::serve(inner, prepared, &request, results, more);
        } else {
            results.enter_procedure();
            results.procedure_done(more);
        }
        if results.ends_session() {
            break;
        }
    }
    Ok(())
}

/// Writes to the error log that what a client sent is none of the protocol.
fn log_invalid<B: Backend>(backend: &B, spid: u16, address: &str, sentence: &str) {
    let numbers = ErrorNumbers {
        number: 17836,
        severity: 20,
        state: 17,
    };
    let sentence = format!("{sentence}. [CLIENT: {address}]");
    backend.write_error(&format!("spid{spid}"), numbers, &sentence);
}

/// Tells the client about a message that could not be served; true when the stream cannot be trusted any more.
fn refuse(problem: &DecodeError, kind: PacketType, is_killed: bool, results: &mut Results<'_>) -> bool {
    let reason = problem.to_string();
    let error = match kind {
        _ if *problem == DecodeError::Stopped && is_killed => notices::session_killed(),
        // The client has its answer to the ATTENTION.
        _ if *problem == DecodeError::Stopped => return false,
        _ if *problem == DecodeError::NoMemory => notices::insufficient_memory(),
        _ if matches!(problem, DecodeError::Unreadable(_)) => notices::message_unreadable(&reason),
        PacketType::Rpc => notices::rpc_stream(&reason),
        PacketType::BulkLoad if !matches!(problem, DecodeError::Unsupported(..)) => notices::bulk_stream(),
        _ => notices::request_not_served(&reason),
    };
    if kind == PacketType::Rpc {
        results.enter_procedure();
    }
    results.tell(&error);
    !matches!(
        problem,
        DecodeError::Unsupported(..) | DecodeError::NoMemory | DecodeError::Unreadable(_) | DecodeError::Stopped
    )
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let reason = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no reason given".to_owned());
    format!("A system assertion check has failed: {reason}. The session ends.")
}
