//! The tokens a server sends, written into packets of the negotiated size.
//!
//! ```text
//! COLMETADATA 81 · ROW D1 · NBCROW D2 · ORDER A9 · DONE FD · DONEPROC FE · DONEINPROC FF
//! ERROR AA · INFO AB · ENVCHANGE E3 · LOGINACK AD · FEATUREEXTACK AE · RETURNSTATUS 79 · RETURNVALUE AC
//! ```
//!
//! Invariant: after every method the buffer holds whole tokens only.

use std::io::{self, Write};

use crate::column::{Collation, Column, put_b_varchar, put_us_varchar, put_user_type};
use crate::login::FEATURE_UTF8_SUPPORT;
use crate::packet::PacketWriter;
use crate::row::{RowError, RowWriter, Slot, without_large_objects};
use crate::value::Value;
use crate::version::TdsVersion;

/// Which of the three DONE tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DoneKind {
    /// The end of a statement of a batch.
    Done,
    /// The end of a procedure.
    DoneProc,
    /// The end of a statement inside a procedure.
    DoneInProc,
}

/// A DONE token's contents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Done {
    /// More results of this request follow.
    pub more: bool,
    pub error: bool,
    /// It failed so badly that the server ends the connection (DONE_SRVERROR). [MS-TDS] 2.2.7.6 has the bit set in place of DONE_ERROR.
    /// Both are set here: python-tds looks at DONE_ERROR alone and takes a failed COMMIT for a success without it, go-mssqldb takes the
    /// connection for good without DONE_SRVERROR, and every other client goes by either.
    pub fatal: bool,
    /// A transaction is open.
    pub in_transaction: bool,
    /// This acknowledges the client's ATTENTION.
    pub attention: bool,
    /// A procedure of a message with several calls ended, and not the last of them.
    pub rpc_in_batch: bool,
    /// The number of rows, if the statement counts any.
    pub row_count: Option<u64>,
    /// What kind of statement it was, e.g. C1 for SELECT; 0 where nothing depends on it.
    pub command: u16,
}

impl Done {
    /// The command code of SELECT.
    pub const SELECT: u16 = 0xC1;
    /// The command code of EXECUTE, which every DONEPROC has.
    pub const EXECUTE: u16 = 0xE0;

    fn status(&self) -> u16 {
        u16::from(self.more)
            | u16::from(self.error || self.fatal) << 1
            | u16::from(self.in_transaction) << 2
            | u16::from(self.row_count.is_some()) << 4
            | u16::from(self.attention) << 5
            | u16::from(self.rpc_in_batch) << 7
            | u16::from(self.fatal) << 8
    }
}

/// An ERROR (severity above 10) or INFO message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerMessage<'a> {
    /// SQL Server's number.
    pub number: i32,
    pub state: u8,
    /// The severity, 0 to 25.
    pub severity: u8,
    pub text: &'a str,
    pub server: &'a str,
    /// The procedure it comes from, or empty.
    pub procedure: &'a str,
    /// The line in the batch or procedure, from 1.
    pub line: u32,
}

/// What changed in the session's environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnvironmentChange<'a> {
    /// The current database: new and old.
    Database(&'a str, &'a str),
    /// The language: new and old.
    Language(&'a str, &'a str),
    /// The packet size in bytes: new and old.
    PacketBytes(usize, usize),
    /// The collation of the current database.
    Collation(Collation),
    /// A transaction began; its descriptor.
    BeginTransaction(u64),
    CommitTransaction(u64),
    /// It was rolled back.
    RollbackTransaction(u64),
    /// The session was reset as asked.
    ResetConnection,
}

/// Writes tokens for one connection.
#[derive(Debug)]
pub struct TokenWriter {
    packets: PacketWriter,
    version: TdsVersion,
    collation: Collation,
    slots: Vec<Slot>,
}

impl TokenWriter {
    /// A writer for a client of `version`.
    pub fn new(version: TdsVersion) -> Self {
        Self {
            packets: PacketWriter::new(),
            version,
            collation: Collation::default(),
            slots: Vec::new(),
        }
    }

    /// The version tokens are written for.
    pub fn version(&self) -> TdsVersion {
        self.version
    }

    /// Sets the version, once LOGIN7 has named it.
    pub fn set_version(&mut self, version: TdsVersion) {
        self.version = version;
    }

    /// Sets the collation of character columns written from now on.
    pub fn set_collation(&mut self, collation: Collation) {
        self.collation = collation;
    }

    /// The packet writer below.
    pub fn packets(&mut self) -> &mut PacketWriter {
        &mut self.packets
    }

    /// Bytes not handed out yet.
    pub fn pending(&self) -> usize {
        self.packets.pending()
    }

    /// Hands whole packets to `sink`; call it between tokens once `pending` is worth a write.
    pub fn write_full(&mut self, sink: &mut dyn Write) -> io::Result<()> {
        self.packets.write_full(sink)
    }

    /// Hands out what there is although the message goes on, for results that must not wait.
    pub fn flush_partial(&mut self, sink: &mut dyn Write) -> io::Result<()> {
        self.packets.flush_partial(sink)
    }

    pub fn finish(&mut self, sink: &mut dyn Write) -> io::Result<()> {
        self.packets.finish(sink)
    }

    /// LOGINACK: the version is confirmed, the server names itself.
    pub fn login_ack(&mut self, program: &str, (major, minor, build): (u8, u8, u16)) {
        let version = self.version.acknowledged().to_be_bytes();
        self.sized(0xAD, |out| {
            out.push(1);
            out.extend_from_slice(&version);
            put_b_varchar(out, program);
            out.push(major);
            out.push(minor);
            out.extend_from_slice(&build.to_be_bytes());
        });
    }

    /// FEATUREEXTACK: with UTF8_SUPPORT acknowledged if the client offered it, else empty.
    pub fn feature_ext_ack(&mut self, utf8: bool) {
        let out = self.packets.payload();
        out.push(0xAE);
        if utf8 {
            out.push(FEATURE_UTF8_SUPPORT);
            out.extend_from_slice(&1u32.to_le_bytes());
            out.push(1);
        }
        out.push(0xFF);
    }

    /// ENVCHANGE. Transaction changes are unknown below 7.2 and left out there.
    pub fn environment(&mut self, change: EnvironmentChange<'_>) {
        use EnvironmentChange as Change;
        let transactional = matches!(
            change,
            Change::BeginTransaction(_) | Change::CommitTransaction(_) | Change::RollbackTransaction(_)
        );
        if transactional && !self.version.is_2005_or_later() {
            return;
        }
        self.sized(0xE3, |out| match change {
            Change::Database(new, old) => put_change(out, 1, new, old),
            Change::Language(new, old) => put_change(out, 2, new, old),
            Change::PacketBytes(new, old) => {
                put_change(out, 4, &new.to_string(), &old.to_string());
            }
            Change::Collation(collation) => {
                out.extend_from_slice(&[7, 5]);
                out.extend_from_slice(&collation.0);
                out.push(0);
            }
            Change::BeginTransaction(descriptor) => {
                out.extend_from_slice(&[8, 8]);
                out.extend_from_slice(&descriptor.to_le_bytes());
                out.push(0);
            }
            Change::CommitTransaction(descriptor) => put_end(out, 9, descriptor),
            Change::RollbackTransaction(descriptor) => put_end(out, 10, descriptor),
            Change::ResetConnection => out.extend_from_slice(&[18, 0, 0]),
        });
    }

    /// ERROR for severities above 10, else INFO.
    pub fn message(&mut self, message: &ServerMessage<'_>) {
        let token = if message.severity > 10 { 0xAA } else { 0xAB };
        let wide = self.version.is_2005_or_later();
        self.sized(token, |out| {
            out.extend_from_slice(&message.number.to_le_bytes());
            out.push(message.state);
            out.push(message.severity);
            // Texts are cut where the token's 16-bit length would overflow.
            put_us_varchar(out, message.text, 30_000);
            put_b_varchar(out, message.server);
            put_b_varchar(out, message.procedure);
            if wide {
                out.extend_from_slice(&message.line.to_le_bytes());
            } else {
                let narrow = u16::try_from(message.line).unwrap_or(u16::MAX);
                out.extend_from_slice(&narrow.to_le_bytes());
            }
        });
    }

    /// DONE, DONEPROC or DONEINPROC.
    pub fn done(&mut self, kind: DoneKind, done: &Done) {
        let wide = self.version.is_2005_or_later();
        let out = self.packets.payload();
        out.push(match kind {
            DoneKind::Done => 0xFD,
            DoneKind::DoneProc => 0xFE,
            DoneKind::DoneInProc => 0xFF,
        });
        out.extend_from_slice(&done.status().to_le_bytes());
        out.extend_from_slice(&done.command.to_le_bytes());
        let count = done.row_count.unwrap_or(0);
        if wide {
            out.extend_from_slice(&count.to_le_bytes());
        } else {
            let narrow = u32::try_from(count).unwrap_or(u32::MAX);
            out.extend_from_slice(&narrow.to_le_bytes());
        }
    }

    /// RETURNSTATUS of a procedure.
    pub fn return_status(&mut self, status: i32) {
        let out = self.packets.payload();
        out.push(0x79);
        out.extend_from_slice(&status.to_le_bytes());
    }

    /// RETURNVALUE: an output parameter after the procedure ended.
    pub fn return_value(&mut self, ordinal: u16, parameter: &Column, value: &Value) -> Result<(), RowError> {
        let column_type = parameter.column_type;
        let (version, collation) = (self.version, self.collation);
        let slot = Slot {
            declared: column_type,
            wire: without_large_objects(column_type.for_version(version)),
            is_utf8: collation.is_utf8(),
        };
        let out = self.packets.payload();
        let start = out.len();
        out.push(0xAC);
        out.extend_from_slice(&ordinal.to_le_bytes());
        put_b_varchar(out, &parameter.name);
        out.push(1);
        put_user_type(out, version, 0);
        out.extend_from_slice(&0u16.to_le_bytes());
        parameter.write_type_info(out, slot.wire, collation);
        let slots = [slot];
        let mut row = RowWriter::new(out, &slots, collation, start);
        row.value(value);
        row.finish()
    }

    /// COLMETADATA: the columns of the rows that follow, at most 65,534 of them.
    pub fn columns(&mut self, columns: &[Column]) {
        let columns = &columns[..columns.len().min(0xFFFE)];
        let (version, collation) = (self.version, self.collation);
        self.expect_rows(columns);
        let out = self.packets.payload();
        out.push(0x81);
        let count = u16::try_from(columns.len()).unwrap_or(0xFFFE);
        out.extend_from_slice(&count.to_le_bytes());
        columns.iter().for_each(|column| column.write(out, version, collation));
    }

    /// COLMETADATA for a client that knows the columns of the rows that follow (fNoMetaData of an RPC): none are sent.
    pub fn known_columns(&mut self, columns: &[Column]) {
        self.expect_rows(&columns[..columns.len().min(0xFFFE)]);
        self.packets.payload().extend_from_slice(&[0x81, 0xFF, 0xFF]);
    }

    fn expect_rows(&mut self, columns: &[Column]) {
        let (version, collation) = (self.version, self.collation);
        let slot = |column: &Column| Slot {
            declared: column.column_type,
            wire: column.column_type.for_version(version),
            is_utf8: column.collation.unwrap_or(collation).is_utf8(),
        };
        self.slots.clear();
        self.slots.extend(columns.iter().map(slot));
    }

    /// Opens a ROW of the columns last announced.
    pub fn row(&mut self) -> RowWriter<'_> {
        let out = self.packets.payload();
        let start = out.len();
        out.push(0xD1);
        RowWriter::new(out, &self.slots, self.collation, start)
    }

    /// Goes on with a ROW that was left open behind so many values, of which a part may have been sent.
    pub fn row_from(&mut self, next: usize) -> RowWriter<'_> {
        let out = self.packets.payload();
        let start = out.len();
        RowWriter::new(out, &self.slots, self.collation, start).behind(next)
    }

    /// Opens an NBCROW: shorter where NULLs are many. A ROW for clients below 7.3B.
    pub fn null_bitmap_row(&mut self) -> RowWriter<'_> {
        if !self.version.has_null_bitmap_rows() {
            return self.row();
        }
        let out = self.packets.payload();
        let start = out.len();
        out.push(0xD2);
        RowWriter::new(out, &self.slots, self.collation, start).with_bitmap()
    }

    /// ORDER: the result is sorted by these columns, counted from 1.
    pub fn order(&mut self, columns: &[u16]) {
        self.sized(0xA9, |out| {
            for column in columns {
                out.extend_from_slice(&column.to_le_bytes());
            }
        });
    }

    /// A token whose 16-bit length follows its type.
    fn sized(&mut self, token: u8, fill: impl FnOnce(&mut Vec<u8>)) {
        let out = self.packets.payload();
        out.push(token);
        let at = out.len();
        out.extend_from_slice(&[0; 2]);
        fill(out);
        let length = u16::try_from(out.len() - at - 2).unwrap_or(u16::MAX);
        out[at..at + 2].copy_from_slice(&length.to_le_bytes());
    }
}

fn put_change(out: &mut Vec<u8>, kind: u8, new: &str, old: &str) {
    out.push(kind);
    put_b_varchar(out, new);
    put_b_varchar(out, old);
}

fn put_end(out: &mut Vec<u8>, kind: u8, descriptor: u64) {
    out.extend_from_slice(&[kind, 0, 8]);
    out.extend_from_slice(&descriptor.to_le_bytes());
}
