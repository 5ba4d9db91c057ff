//! How far an error reaches, in one table.
//!
//! An error has a [`Class`], which depends on its number and on where it occurred. The class, SET XACT_ABORT and whether a TRY block can
//! catch the error determine its [`Effect`]. If the scope is a procedure, or the text of EXECUTE or sp_executesql, a caller that is not
//! aborted continues after its EXECUTE.
//!
//! | class | no TRY, OFF | no TRY, ON | in TRY, OFF | in TRY, ON |
//! |---|---|---|---|---|
//! | [`Statement`](Class::Statement) | the statement | the batch, rolled back | caught | caught, doomed |
//! | [`Binding`](Class::Binding) | its scope | the batch, rolled back | caught by callers, not in its scope | the same, doomed |
//! | [`Batch`](Class::Batch) | the batch, rolled back | the same | caught, doomed | the same |
//! | [`BatchAlone`](Class::BatchAlone) | the batch | the batch, rolled back | caught | caught, doomed |
//! | [`Raised`](Class::Raised) | the statement | the same | caught | caught |
//! | [`Session`](Class::Session) | the session, rolled back | the same | not caught | not caught |
//!
//! A cancellation (3617) ends the batch and cannot be caught; under XACT_ABORT the end of the request rolls back. A text with a syntax
//! error never begins, so the transaction stays; if EXECUTE was given the text, the error belongs to that statement. XACT_STATE returns -1
//! for a doomed transaction; a write then fails with 3930, and the end of the batch gives 3998.
//!
//! Sources: \[D\] SQL Server docs, SET XACT_ABORT, TRY...CATCH, RAISERROR, THROW, "Deferred name resolution". \[S1\] Erland Sommarskog,
//! "Error Handling in SQL 2000 - a Background", and \[S2\] "Error and Transaction Handling in SQL Server", part two. \[B\] Babelfish for
//! PostgreSQL, which has lists of what SQL Server was seen to do (`err_handler.c`). Doubtful points:
//!
//! - Errors of definitions (2714, 3726, 547 of ALTER TABLE and others) as `Batch`: \[B\] alone. It has 1505, too; but 3621 is seen behind
//!   1505, as it is behind errors that end a statement, so here that does.
//! - 3701, which XACT_ABORT leaves alone: \[B\] alone.
//! - 213 of INSERT ... EXECUTE and 8146: in \[S1\] they end the batch, in \[B\] the statement; here they end the statement.
//! - Binding errors other than of missing objects under XACT_ABORT in the outermost batch: "compile errors, such as syntax errors, are not
//!   affected" \[D\], but \[S2\] shows the transaction rolled back. SQL Server compiles a batch before it begins; here each statement is
//!   bound just before it runs, and the transaction is rolled back.
//! - 8622 as `Batch`: \[S2\] says so about optimizer errors.

use engine::error::Error;

use crate::sink::Message;

/// What an error ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    Statement,
    /// The batch, text or procedure that it is in.
    Scope,
    Batch,
    Session,
}

/// What kind of error it is. See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// A statement cannot do what it says.
    Statement,
    /// A statement cannot be bound: nothing of its scope can be relied on. A TRY block of the same scope does not catch it ("errors
    /// that occur during statement-level recompilation", SQL Server docs, TRY...CATCH).
    Binding,
    /// Conversions of text, lack of resources, deadlocks, definitions.
    Batch,
    /// THROW.
    BatchAlone,
    /// RAISERROR and whatever else SET XACT_ABORT does not look at.
    Raised,
    /// Severity 20 and above.
    Session,
}

/// Where an error was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// While a statement was bound.
    Binding,
    /// While ALTER TABLE looked at the rows that are there.
    Definition,
    /// Anywhere else.
    Execution,
}

/// What becomes of the transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Stays,
    /// It can only be rolled back.
    Doomed,
    RolledBack,
}

/// What an error comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effect {
    /// What it ends where nothing catches it.
    pub reach: Reach,
    pub is_caught: bool,
    pub fate: Fate,
}

/// A statement failed.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The error, as a client or CATCH sees it.
    pub message: Message,
    /// The message after it. CATCH sees the last of these instead.
    pub after: Vec<Message>,
    pub class: Class,
    /// What it ends, as far as is known: XACT_ABORT may make it more.
    pub reach: Reach,
    /// The client is gone or has cancelled: the error is not reported.
    pub silent: bool,
    /// Its message has been sent.
    pub told: bool,
    /// The client is to hear of it at once, though the batch goes on (RAISERROR WITH NOWAIT).
    pub is_urgent: bool,
    /// Its statement was rolled back, and the client gets 3621.
    pub undoes: bool,
}

impl Class {
    /// The class of an error that was met somewhere.
    pub fn of(error: &Error, place: Place) -> Class {
        match error.number {
            _ if error.severity >= 20 => Class::Session,
            _ if error.severity >= 17 => Class::Batch,
            _ if error.severity <= 10 => Class::Raised,
            // Deadlock victim, no rows as a snapshot needs them, transaction doomed.
            1205 | 3930 | 3931 | 3998 => Class::Batch,
            // What SNAPSHOT cannot do: "the transaction is rolled back" is what each of these says.
            3951 | 3952 | 3956..=3958 | 3960 | 3961 | 3964 => Class::Batch,
            // What a trigger has left behind (SQL Server docs, "CREATE TRIGGER": the batch is aborted).
            3609 | 3616 => Class::Batch,
            // Cancelled; see the module.
            3617 => Class::BatchAlone,
            // SAVE TRANSACTION outside of one, modules that nest too deep.
            628 | 217 => Class::Batch,
            // Text that does not convert.
            235 | 241 | 242 | 245 | 248 | 293 | 295 | 296 | 8114 | 8169 => Class::Batch,
            // Definitions.
            219 | 1715 | 1765 | 1768 | 1778 | 1946 | 2714 | 3723 | 3726 | 3729 | 3732 => Class::Batch,
            4708 | 4712 | 4901 | 4920 => Class::Batch,
            547 if place == Place::Definition => Class::Batch,
            911 => Class::Batch,
            // No plan for these hints.
            8622 => Class::Batch,
            266 | 3701 => Class::Raised,
            // A lock that binding waited for; IDENTITY_INSERT, which is looked at when the statement runs.
            1222 | 544 => Class::Statement,
            // Variables that are not declared, syntax.
            137 | 1087 => Class::Binding,
            102..=319 if error.severity == 15 => Class::Binding,
            _ if place == Place::Binding => Class::Binding,
            _ => Class::Statement,
        }
    }

    /// What an error of this class comes to, under SET XACT_ABORT or not, and where a TRY block can catch it or not.
    pub fn effect(self, xact_abort: bool, in_try: bool) -> Effect {
        let is_caught = in_try && self != Class::Session;
        let (reach, fate) = match (self, xact_abort) {
            (Class::Session, _) => (Reach::Session, Fate::RolledBack),
            (Class::Batch, _) | (Class::Statement | Class::Binding | Class::BatchAlone, true) => {
                (Reach::Batch, Fate::RolledBack)
            }
            (Class::BatchAlone, false) => (Reach::Batch, Fate::Stays),
            (Class::Binding, false) => (Reach::Scope, Fate::Stays),
            (Class::Statement, false) | (Class::Raised, _) => (Reach::Statement, Fate::Stays),
        };
        let fate = match fate {
            Fate::RolledBack if is_caught => Fate::Doomed,
            other => other,
        };
        Effect { reach, is_caught, fate }
    }
}

impl Failure {
    /// The failure that an error is, at a line of a procedure or batch.
    pub fn new(error: Error, line: u32, procedure: &str) -> Failure {
        Failure::met(error, Place::Execution, line, procedure)
    }

    /// As [`Failure::new`], of an error that was met somewhere.
    pub fn met(error: Error, place: Place, line: u32, procedure: &str) -> Failure {
        let class = Class::of(&error, place);
        let silent = error.number == 3617;
        let told = |error: &Error| Message::new(error, line, procedure);
        let behind = std::iter::successors(error.after.as_deref(), |error| error.after.as_deref());
        Failure {
            after: behind.map(told).collect(),
            message: told(&error),
            class,
            reach: class.effect(false, false).reach,
            silent,
            told: false,
            is_urgent: false,
            undoes: false,
        }
    }

    /// The same failure as one of another class.
    #[must_use]
    pub fn with_class(mut self: Box<Self>, class: Class) -> Box<Failure> {
        self.class = class;
        self.reach = class.effect(false, false).reach;
        self
    }

    /// 3621, information, where the error was.
    pub fn statement_terminated(&self) -> Message {
        Message {
            number: 3621,
            severity: 0,
            state: 0,
            text: "The statement has been terminated.".to_owned(),
            ..self.message.clone()
        }
    }

    /// The client takes no more: it has cancelled, or is gone, which ends the session by itself.
    pub fn closed() -> Failure {
        Failure::new(Error::cancelled(), 0, "")
    }

    /// The error this failure was made of.
    pub fn error(&self) -> Error {
        let error =
            |message: &Message| Error::new(message.number, message.severity, message.state, message.text.clone());
        let behind = self.after.iter().map(error);
        behind.fold(error(&self.message), Error::followed_by)
    }

    /// All that is said of it, in order.
    pub fn messages(&self) -> impl Iterator<Item = &Message> {
        std::iter::once(&self.message).chain(&self.after)
    }

    /// The error seen by CATCH and @@ERROR: the last message.
    pub fn last_message(&self) -> &Message {
        // Information, as 16934 behind 16947, is not caught.
        let mut errors = self.after.iter().rev().filter(|message| message.severity > 10);
        errors.next().unwrap_or(&self.message)
    }
}
