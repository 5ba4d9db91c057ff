//! How far an error reaches.

use engine::error::Error;

use crate::sink::Message;

/// What an error ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    Statement,
    Batch,
    Session,
}

/// A statement failed.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The error, as a client or CATCH sees it.
    pub message: Message,
    /// What is said behind it. CATCH sees the last of these in its place.
    pub after: Vec<Message>,
    /// What it ends.
    pub reach: Reach,
    /// Whether the transaction can go on: some errors leave it only the way back.
    pub dooms: bool,
    /// Whether SET XACT_ABORT makes it end the batch and the transaction. RAISERROR and 266 go on (sql-docs, SET XACT_ABORT;
    /// Erland Sommarskog, "Error and Transaction Handling in SQL Server").
    pub obeys_xact_abort: bool,
    /// The client is gone or has cancelled: nobody wants to hear of it.
    pub silent: bool,
    /// Its message has been sent.
    pub told: bool,
    /// The client is to hear of it at once, though the batch goes on (RAISERROR WITH NOWAIT).
    pub is_urgent: bool,
    /// What its statement had changed was taken back, which the client is told (3621).
    pub undoes: bool,
}

/// What an error of this number and severity ends. Binding errors end the batch because the rest of it was written in the
/// belief that they would not happen; conversion errors because SQL Server does so (Erland Sommarskog, "Error and Transaction
/// Handling in SQL Server"); lack of resources because the next statement would fail as well.
fn reach_of(error: &Error) -> Reach {
    match error.number {
        _ if error.severity >= 20 => Reach::Session,
        _ if error.severity >= 17 => Reach::Batch,
        // Cancelled, deadlock victim, transaction doomed.
        3617 | 1205 | 3930 | 3931 | 3998 => Reach::Batch,
        // SAVE TRANSACTION outside of one: what follows counts on a transaction.
        628 => Reach::Batch,
        // Syntax and names.
        102..=319 if error.severity == 15 => Reach::Batch,
        207 | 208 | 209 | 4104 | 137 | 1087 => Reach::Batch,
        // Not what the transaction was to see.
        3952 => Reach::Batch,
        // Text that does not convert.
        241 | 242 | 245 | 248 | 8114 | 235 | 8169 => Reach::Batch,
        _ => Reach::Statement,
    }
}

impl Failure {
    /// The failure that an error is, at a line of a procedure or batch.
    pub fn new(error: Error, line: u32, procedure: &str) -> Failure {
        let reach = reach_of(&error);
        let dooms = reach >= Reach::Batch && error.severity >= 13 && !matches!(error.number, 207 | 208);
        let silent = error.number == 3617;
        let told = |error: &Error| Message {
            number: error.number,
            severity: error.severity,
            state: error.state,
            line,
            procedure: procedure.to_owned(),
            text: error.message.clone(),
        };
        let behind = std::iter::successors(error.after.as_deref(), |error| error.after.as_deref());
        Failure {
            after: behind.map(told).collect(),
            message: told(&error),
            reach,
            dooms,
            obeys_xact_abort: true,
            silent,
            told: false,
            is_urgent: false,
            undoes: false,
        }
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

    /// What CATCH and @@ERROR have of it: what is said last.
    pub fn last_message(&self) -> &Message {
        self.after.last().unwrap_or(&self.message)
    }
}
