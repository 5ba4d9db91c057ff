//! The output of `serve`: text for people, or JSON for log collectors.
//!
//! | what | as text | as JSON |
//! |---|---|---|
//! | a generated password, readiness | standard output, a line each | standard output, an object a line with `event` |
//! | lines of the error log | standard output, if asked for, as in the file | standard output, an object a line |
//! | warnings | standard error | their line of the error log, with `level` |
//! | why the server cannot start | standard error | standard error, an object with `event` and `exit_code` |
//!
//! Every object has `time` (RFC 3339, UTC), `level`, `source` and `message`. An error is one object, with `error`, `severity` and `state`,
//! where the file has two lines. New keys may be added; these stay.

use crate::arguments::LogFormat;
use crate::exit::Failure;
use engine::errorlog::{ErrorLog, ErrorLogLine, LineKind};
use engine::seams::{Clock, DateTimeTicks, SystemClock, civil_from_days};
use rustix::fs::Stat;
use serde_json::{Map, Value, json};
use server::encryption::{Certificate, ServerEncryption};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};

/// Errors from this severity on are the operator's: those below come from what clients ask.
const OPERATORS_SEVERITY_MIN: u8 = 17;

/// Where `serve` says what it has to say.
#[derive(Debug, Clone, Copy)]
pub struct Console {
    format: LogFormat,
}

/// What the line on readiness tells.
pub struct Ready<'a> {
    pub address: SocketAddr,
    /// What this machine is called: where to connect to when the address is that of every interface.
    pub host_name: &'a str,
    pub metrics: Option<SocketAddr>,
    /// Where the live page is, with its token.
    pub page: Option<&'a str>,
    pub demand: ServerEncryption,
    pub certificate: Option<&'a Certificate>,
    /// Version and log policy.
    pub manner: &'a str,
}

impl Console {
    /// A console of this form; text where none was asked for.
    pub fn new(format: Option<LogFormat>) -> Console {
        Console {
            format: format.unwrap_or(LogFormat::Text),
        }
    }

    /// Prints the lines that `log` has, and will have.
    pub fn print_errorlog(self, log: &ErrorLog) {
        log.add_sink(Box::new(move |line| {
            let printed = match self.format {
                LogFormat::Text => Some(line.file_text()),
                LogFormat::Json => object_of(line).map(|object| object.to_string()),
            };
            if let Some(printed) = printed {
                // The server goes on without a console.
                let _ = writeln!(io::stdout(), "{printed}");
            }
        }));
    }

    /// Says a warning that stands in the error log already.
    pub fn warn(self, warning: &str) {
        if self.format == LogFormat::Text {
            eprintln!("warning: {warning}");
        }
    }

    /// Shows the generated password, before it takes effect.
    ///
    /// # Errors
    /// Nobody would see it.
    pub fn show_password(self, made_up: &str) -> Result<(), Failure> {
        let remedy = "; give one by MSSQL_SA_PASSWORD or --sa-password";
        if is_null_device(io::stdout().as_fd()) {
            let text =
                "a password of sa would be made up, and standard output, where it is shown, is closed or /dev/null";
            return Err(Failure::Failed(format!("{text}{remedy}")));
        }
        let text = format!("password of sa, shown only now: {made_up}");
        let told = [("event", json!("password")), ("password", json!(made_up))];
        self.say(&text, told)
            .map_err(|error| cannot_tell(&format!("the password that was made up{remedy}"), &error))
    }

    /// The one line that programs wait for, and people copy from.
    ///
    /// # Errors
    /// Standard output does not take it.
    pub fn ready(self, ready: &Ready<'_>) -> Result<(), Failure> {
        let (host, port) = (host_of(ready), ready.address.port());
        let (setting, letters) = match ready.demand {
            ServerEncryption::Off => ("Encrypt=false", " -N disable"),
            // A strict client always verifies.
            ServerEncryption::Strict => ("Encrypt=strict", " -N strict -J FILE"),
            ServerEncryption::On | ServerEncryption::Required => ("Encrypt=true;TrustServerCertificate=true", " -C"),
        };
        let fingerprint = ready.certificate.map(Certificate::fingerprint);
        let shown = fingerprint.as_ref().map_or(String::new(), |fingerprint| {
            format!(", certificate SHA-256 {fingerprint}")
        });
        let metrics = ready.metrics.map(|address| format!("http://{address}/metrics"));
        let measured = metrics.as_ref().map_or(String::new(), |url| format!(", metrics {url}"));
        let live = ready.page.map_or(String::new(), |url| format!(", live page {url}"));
        let text = format!(
            "ready: Server={host},{port};User Id=sa;{setting}   (sqlcmd -S {host},{port} -U sa{letters}), speaking as \
             {}{shown}{measured}{live}",
            ready.manner
        );
        let told = [
            ("event", json!("ready")),
            ("host", json!(host)),
            ("port", json!(port)),
            ("certificate_sha256", json!(fingerprint)),
            ("metrics", json!(metrics)),
            ("live_page", json!(ready.page)),
        ];
        self.say(&text, told)
            .map_err(|error| cannot_tell("that it is ready", &error))
    }

    /// The end of `serve`; in JSON format it also writes the remaining message.
    pub fn ended(self, outcome: Result<(), Failure>) -> Result<(), Failure> {
        let (LogFormat::Json, Err(failure)) = (self.format, &outcome) else {
            return outcome;
        };
        let (code, text) = failure.code_and_text();
        if code != 0 && !text.is_empty() {
            let now = SystemClock::new().wall_ticks();
            let mut object = object(now, "error", "serve", &text);
            object.extend([
                ("event".to_owned(), json!("failed")),
                ("exit_code".to_owned(), json!(code)),
            ]);
            // When standard error is gone too, the code still tells.
            let _ = writeln!(io::stderr(), "{}", Value::Object(object));
        }
        Err(Failure::Code(code))
    }

    /// A line on standard output that scripts wait for.
    fn say<const COUNT: usize>(self, text: &str, told: [(&str, Value); COUNT]) -> io::Result<()> {
        let line = match self.format {
            LogFormat::Text => text.to_owned(),
            LogFormat::Json => {
                let mut object = object(SystemClock::new().wall_ticks(), "info", "serve", text);
                let told = told.into_iter().filter(|(_, value)| !value.is_null());
                object.extend(told.map(|(key, value)| (key.to_owned(), value)));
                Value::Object(object).to_string()
            }
        };
        let mut out = io::stdout().lock();
        writeln!(out, "{line}")?;
        out.flush()
    }
}

/// Where clients connect to. Nobody connects to 0.0.0.0 or [::], which stand for every address of this machine.
fn host_of(ready: &Ready<'_>) -> String {
    match ready.address.ip() {
        every if every.is_unspecified() => ready.host_name.to_owned(),
        one => one.to_string(),
    }
}

/// What every object has.
fn object(time: DateTimeTicks, level: &str, source: &str, message: &str) -> Map<String, Value> {
    let pairs = [
        ("time", rfc_3339(time)),
        ("level", level.to_owned()),
        ("source", source.to_owned()),
        ("message", message.to_owned()),
    ];
    pairs
        .map(|(key, value)| (key.to_owned(), Value::String(value)))
        .into_iter()
        .collect()
}

/// A line of the error log. An error's numbers come with its sentence, not by themselves.
fn object_of(line: &ErrorLogLine) -> Option<Value> {
    let (level, numbers) = match line.kind {
        LineKind::Numbers(_) => return None,
        LineKind::Sentence(numbers) if numbers.severity >= OPERATORS_SEVERITY_MIN => ("error", Some(numbers)),
        LineKind::Sentence(numbers) => ("warning", Some(numbers)),
        LineKind::Plain if line.text.starts_with("Warning: ") => ("warning", None),
        LineKind::Plain => ("info", None),
    };
    let mut object = object(line.time, level, &line.source, &line.text);
    if let Some(numbers) = numbers {
        object.extend([
            ("error".to_owned(), json!(numbers.number)),
            ("severity".to_owned(), json!(numbers.severity)),
            ("state".to_owned(), json!(numbers.state)),
        ]);
    }
    Some(Value::Object(object))
}

/// `2008-05-16T13:22:47.970Z`
fn rfc_3339(time: DateTimeTicks) -> String {
    let millis = time.unix_micros().div_ceil(1_000);
    let (days, of_day) = (millis / 86_400_000, millis % 86_400_000);
    // A u64 of milliseconds has fewer days than an i64 holds.
    let (year, month, day) = civil_from_days(days.cast_signed());
    let (seconds, fraction) = (of_day / 1_000, of_day % 1_000);
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{fraction:03}Z")
}

/// A standard output that was closed is the null device by the time a Rust program begins.
fn is_null_device(file: BorrowedFd<'_>) -> bool {
    let same = |file: Stat, null: Stat| file.st_rdev == null.st_rdev && file.st_rdev != 0;
    match (rustix::fs::fstat(file), rustix::fs::stat("/dev/null")) {
        (Ok(file), Ok(null)) => same(file, null),
        _ => false,
    }
}

fn cannot_tell(what: &str, error: &io::Error) -> Failure {
    Failure::Failed(format!("standard output does not take {what}: {error}"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use engine::errorlog::ErrorNumbers;

    fn line(text: &str, kind: LineKind) -> ErrorLogLine {
        ErrorLogLine {
            time: DateTimeTicks::from_unix_micros(1_210_944_167_970_000),
            source: "spid51".into(),
            text: text.into(),
            kind,
        }
    }

    #[test]
    fn an_error_is_one_object_and_its_severity_tells_whose_it_is() {
        let numbers = |number, severity| ErrorNumbers {
            number,
            severity,
            state: 4,
        };
        let full = numbers(9002, 17);
        assert_eq!(object_of(&line("Error: 9002, ...", LineKind::Numbers(full))), None);
        let object = object_of(&line("The \"log\"\nis full.", LineKind::Sentence(full))).unwrap();
        let expected = json!({
            "time": "2008-05-16T13:22:47.970Z", "level": "error", "source": "spid51", "message": "The \"log\"\nis full.",
            "error": 9002, "severity": 17, "state": 4
        });
        assert_eq!(object, expected);
        assert!(!object.to_string().contains('\n'), "an object is a line");
        let refused = object_of(&line("Login failed.", LineKind::Sentence(numbers(18456, 14)))).unwrap();
        assert_eq!(refused["level"], "warning");
    }

    #[test]
    fn a_plain_line_has_no_numbers() {
        let level = |text| object_of(&line(text, LineKind::Plain)).unwrap()["level"].clone();
        assert_eq!(level("Starting up database 'vlf'."), "info");
        assert_eq!(level("Warning: nothing is encrypted."), "warning");
        let object = object_of(&line("x", LineKind::Plain)).unwrap();
        assert_eq!(object.as_object().unwrap().len(), 4);
    }
}
