//! `vlflab mcp`: the DBA's tools for programs that speak the Model Context Protocol, over standard input and output.
//!
//! ```text
//! a line in ──► message ──► answer at once: server/discover, initialize, ping, tools/list, every error
//!                     └───► tools/call ──► a thread ──► this program again, as a child: vlflab plan ... ──► a line out
//! ```
//! A message is a line of JSON (JSON-RPC 2.0). Both generations of the protocol are supported, and each request shows which one it uses:
//!
//! | revision | how a client begins | results have |
//! |---|---|---|
//! | 2026-07-28 | with any request; its `_meta` names the revision | `resultType`; lists also `ttlMs` and `cacheScope` |
//! | 2024-11-05 to 2025-11-25 | with `initialize` | neither |
//!
//! (modelcontextprotocol.io, "Versioning and Compatibility" and "Tools" of 2026-07-28.)
//!
//! - Invariant: standard output carries only messages. A tool is a child process whose output is read here.
//! - Invariant: every tool only reads. The table of tools ([`tools::TOOLS`]) has no command that changes a server or a file.
//! - Invariant: an answer is written for each request, except for one that its client has cancelled.
//! - A line has at most [`MESSAGE_BYTES_MAX`] bytes, and at most [`CALLS_MAX`] calls run at a time; anything beyond that is refused with an
//!   error.

mod call;
mod tools;

use crate::exit::Failure;
use crate::login::{SecurityOptions, TicketOptions};
use call::{Calls, Outcome};
use clap::Args;
use serde_json::{Map, Value, json};
use std::io::{self, BufRead, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Shown under `vlflab mcp --help`.
pub const MCP_EXAMPLES: &str = "Examples:
  In the settings of a client that starts its servers:
    { \"mcpServers\": { \"vlflab\": { \"command\": \"vlflab\", \"args\": [\"mcp\"], \"env\": { \"MSSQL_PASSWORD\": \"...\" } } } }

The tools are plan, price, inspect, advise, snapshot and explain. They only read: no server and no file is changed. A server's
password is taken from MSSQL_PASSWORD or SQLCMDPASSWORD of this process, never from a request; with -E, the Kerberos ticket of
this session logs in to every server, and with --access-token that token. Files are read with the rights of this
process. Revisions 2026-07-28 and 2024-11-05 to 2025-11-25 of the protocol are understood.";

/// The longest message: pasted rows of 100,000 VLFs have a tenth of it.
const MESSAGE_BYTES_MAX: u64 = 64 << 20;
/// Tools that run at a time.
const CALLS_MAX: usize = 8;
/// The longest that a tool runs.
const CALL_LIMIT: Duration = Duration::from_secs(600);

/// The revision whose requests name it themselves.
const MODERN: &str = "2026-07-28";
/// The revisions that begin with `initialize`, the latest first.
const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
const SERVER_KEY: &str = "io.modelcontextprotocol/serverInfo";

/// The list of tools is the same as long as the program is: a day.
const LIST_TTL_MS: u64 = 24 * 60 * 60 * 1_000;

/// Options of `vlflab mcp`.
#[derive(Debug, Args)]
pub struct McpOptions {
    #[command(flatten)]
    pub security: SecurityOptions,
    #[command(flatten)]
    pub ticket: TicketOptions,
}

/// Error codes of JSON-RPC, and the one that the protocol adds.
#[derive(Debug, Clone, Copy)]
enum Code {
    Parse = -32_700,
    InvalidRequest = -32_600,
    MethodNotFound = -32_601,
    InvalidParams = -32_602,
    UnsupportedProtocolVersion = -32_022,
}

/// An error to answer with.
struct Refusal(Code, String, Option<Value>);

impl Refusal {
    fn new(code: Code, text: impl Into<String>) -> Refusal {
        Refusal(code, text.into(), None)
    }
}

/// Which results a request is answered with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Era {
    Modern,
    Legacy,
}

/// The result of a request, with the era that it is written for.
type Answer = (Era, Map<String, Value>);

/// Standard output: one message a line, whichever thread writes it.
#[derive(Clone)]
struct Out(Arc<Mutex<Box<dyn Write + Send>>>);

impl Out {
    fn message(&self, message: &Value) -> io::Result<()> {
        let mut out = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        writeln!(out, "{message}")?;
        out.flush()
    }

    fn result(&self, id: &Value, era: Era, mut result: Map<String, Value>) -> io::Result<()> {
        if era == Era::Modern {
            result.insert("resultType".to_owned(), "complete".into());
            result.insert("_meta".to_owned(), json!({ SERVER_KEY: server_info() }));
        }
        self.message(&json!({ "jsonrpc": "2.0", "id": id, "result": result }))
    }

    fn refusal(&self, id: Option<&Value>, Refusal(code, message, data): Refusal) -> io::Result<()> {
        let mut error = json!({ "code": code as i32, "message": message });
        if let (Some(data), Some(error)) = (data, error.as_object_mut()) {
            error.insert("data".to_owned(), data);
        }
        // JSON-RPC 2.0: the id is null where it could not be read.
        self.message(&json!({ "jsonrpc": "2.0", "id": id.unwrap_or(&Value::Null), "error": error }))
    }
}

/// Runs `vlflab mcp` until its input ends.
pub fn mcp(options: &McpOptions) -> Result<(), Failure> {
    let out = Out(Arc::new(Mutex::new(Box::new(io::stdout()))));
    let mut letters = options.security.letters();
    letters.extend(options.ticket.letters());
    let calls = Calls::new(letters, CALLS_MAX, CALL_LIMIT);
    serve(&mut io::stdin().lock(), &out, &calls)?;
    calls.end();
    Ok(())
}

/// Answers every line of the input.
fn serve(input: &mut dyn BufRead, out: &Out, calls: &Calls) -> io::Result<()> {
    let mut line = Vec::new();
    loop {
        line.clear();
        let bytes = input.take(MESSAGE_BYTES_MAX + 1).read_until(b'\n', &mut line)?;
        if bytes == 0 {
            return Ok(());
        }
        if bytes as u64 > MESSAGE_BYTES_MAX && line.last() != Some(&b'\n') {
            skip_line(input)?;
            let text = format!("a message has at most {MESSAGE_BYTES_MAX} bytes");
            out.refusal(None, Refusal::new(Code::InvalidRequest, text))?;
            continue;
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        match serde_json::from_slice::<Value>(&line) {
            Ok(message) => answer(&message, out, calls)?,
            Err(error) => out.refusal(None, Refusal::new(Code::Parse, format!("no JSON: {error}")))?,
        }
    }
}

/// Reads on to the end of a line that is too long to be kept.
fn skip_line(input: &mut dyn BufRead) -> io::Result<()> {
    loop {
        let buffer = input.fill_buf()?;
        let (used, is_end) = match buffer.iter().position(|&byte| byte == b'\n') {
            Some(place) => (place + 1, true),
            None => (buffer.len(), buffer.is_empty()),
        };
        input.consume(used);
        if is_end {
            return Ok(());
        }
    }
}

/// Answers a message; a notification has none.
fn answer(message: &Value, out: &Out, calls: &Calls) -> io::Result<()> {
    let id = message
        .get("id")
        .filter(|id| id.is_string() || id.is_i64() || id.is_u64());
    let Some(method) = message.get("method").and_then(Value::as_str) else {
        let is_response = message.get("result").is_some() || message.get("error").is_some();
        // This side asks nothing, so nothing can be answered to it.
        return match is_response {
            true => Ok(()),
            false => out.refusal(id, Refusal::new(Code::InvalidRequest, "a request has a method")),
        };
    };
    let params = message.get("params").cloned().unwrap_or_else(|| json!({}));
    let Some(id) = id else {
        if message.get("id").is_some() {
            return out.refusal(
                None,
                Refusal::new(Code::InvalidRequest, "an id is a string or a whole number"),
            );
        }
        if method == "notifications/cancelled" {
            calls.cancel(params.get("requestId").unwrap_or(&Value::Null));
        }
        return Ok(());
    };
    if !params.is_object() {
        return out.refusal(Some(id), Refusal::new(Code::InvalidParams, "params is an object"));
    }
    match request(id, method, &params, out, calls) {
        Ok(None) => Ok(()),
        Ok(Some((era, result))) => out.result(id, era, result),
        Err(refusal) => out.refusal(Some(id), refusal),
    }
}

/// What a request is answered with at once; nothing for a call, whose thread answers.
fn request(id: &Value, method: &str, params: &Value, out: &Out, calls: &Calls) -> Result<Option<Answer>, Refusal> {
    let era = era_of(params)?;
    let result = match (method, era) {
        ("initialize", _) => return Ok(Some((Era::Legacy, initialized(params)))),
        ("ping", Era::Legacy) => json!({}),
        ("server/discover", Era::Modern) => json!({
            "supportedVersions": std::iter::once(MODERN).chain(LEGACY).collect::<Vec<_>>(),
            "capabilities": { "tools": {} },
            "instructions": INSTRUCTIONS,
            "ttlMs": LIST_TTL_MS,
            "cacheScope": "public",
        }),
        ("server/discover", Era::Legacy) => {
            return Err(Refusal::new(Code::InvalidParams, format!("_meta lacks {VERSION_KEY}")));
        }
        ("tools/list", _) => {
            let mut list = json!({ "tools": tools::TOOLS.iter().map(tools::Tool::shown).collect::<Vec<_>>() });
            if let (Era::Modern, Some(list)) = (era, list.as_object_mut()) {
                list.insert("ttlMs".to_owned(), LIST_TTL_MS.into());
                list.insert("cacheScope".to_owned(), "public".into());
            }
            list
        }
        ("tools/call", _) => {
            call(id, era, params, out, calls)?;
            return Ok(None);
        }
        _ => {
            return Err(Refusal::new(
                Code::MethodNotFound,
                format!("there is no method {method}"),
            ));
        }
    };
    Ok(Some((era, result.as_object().cloned().unwrap_or_default())))
}

/// Which era a request is of.
///
/// # Errors
/// A revision that is not served (-32022), `_meta` without what the revision asks for (-32602).
fn era_of(params: &Value) -> Result<Era, Refusal> {
    let meta = params.get("_meta");
    let Some(version) = meta.and_then(|meta| meta.get(VERSION_KEY)) else {
        return Ok(Era::Legacy);
    };
    if version.as_str() != Some(MODERN) {
        let data = json!({ "supported": [MODERN], "requested": version });
        let text = "Unsupported protocol version".to_owned();
        return Err(Refusal(Code::UnsupportedProtocolVersion, text, Some(data)));
    }
    match meta.and_then(|meta| meta.get(CAPABILITIES_KEY)) {
        Some(Value::Object(_)) => Ok(Era::Modern),
        _ => Err(Refusal::new(
            Code::InvalidParams,
            format!("_meta lacks {CAPABILITIES_KEY}"),
        )),
    }
}

const INSTRUCTIONS: &str = "Tools of a SQL Server DBA for transaction logs. They only read: T-SQL in an answer is for a person to read and run.";

fn server_info() -> Value {
    json!({ "name": "vlflab", "title": "vlflab", "version": env!("CARGO_PKG_VERSION") })
}

/// The answer to `initialize`: the client's revision, or the latest of those that begin so.
fn initialized(params: &Value) -> Map<String, Value> {
    let wanted = params.get("protocolVersion").and_then(Value::as_str);
    let version = LEGACY
        .into_iter()
        .find(|known| Some(*known) == wanted)
        .unwrap_or(LEGACY[0]);
    let result = json!({
        "protocolVersion": version,
        "capabilities": { "tools": {} },
        "serverInfo": server_info(),
        "instructions": INSTRUCTIONS,
    });
    result.as_object().cloned().unwrap_or_default()
}

/// Begins a call. Its thread writes the answer.
///
/// # Errors
/// An unknown tool, arguments that are none of its, too many calls at a time.
fn call(id: &Value, era: Era, params: &Value, out: &Out, calls: &Calls) -> Result<(), Refusal> {
    let name = params.get("name").and_then(Value::as_str).unwrap_or_default();
    let tool = tools::TOOLS.iter().find(|tool| tool.name == name);
    let tool = tool.ok_or_else(|| Refusal::new(Code::InvalidParams, format!("there is no tool '{name}'")))?;
    let none = json!({});
    let arguments = params.get("arguments").unwrap_or(&none);
    let command = tool.command(arguments);
    let (own, out) = (id.clone(), out.clone());
    let answered = move |outcome: Outcome| {
        let (text, is_error) = match outcome {
            Outcome::Cancelled => return,
            Outcome::Done { text, is_error } => (text, is_error),
        };
        let result = json!({ "content": [{ "type": "text", "text": text }], "isError": is_error });
        // A client that reads no more has gone, and the input ends next.
        let _ = out.result(&own, era, result.as_object().cloned().unwrap_or_default());
    };
    match command {
        // Wrong arguments are for the model to mend: an error of the tool, not of the protocol ("Tools", Error Handling).
        Err(text) => {
            answered(Outcome::Done { text, is_error: true });
            Ok(())
        }
        Ok(command) => calls
            .begin(id, command, answered)
            .map_err(|text| Refusal::new(Code::InvalidRequest, text)),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// What is written for these lines.
    fn said(lines: &str) -> Vec<Value> {
        said_of(&mut lines.as_bytes())
    }

    fn said_of(input: &mut dyn BufRead) -> Vec<Value> {
        #[derive(Clone, Default)]
        struct Written(Arc<Mutex<Vec<u8>>>);
        impl Write for Written {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0.lock().unwrap().extend_from_slice(bytes);
                Ok(bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let written = Written::default();
        let out = Out(Arc::new(Mutex::new(Box::new(written.clone()))));
        let calls = Calls::new(Vec::new(), CALLS_MAX, CALL_LIMIT);
        serve(input, &out, &calls).unwrap();
        calls.end();
        let bytes = written.0.lock().unwrap();
        bytes
            .split(|&byte| byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(|line| serde_json::from_slice(line).unwrap())
            .collect()
    }

    const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

    #[test]
    fn each_era_has_its_own_results() {
        let modern = said(&format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{{META}}}}}"#
        ));
        assert_eq!(modern[0]["result"]["resultType"], "complete");
        assert_eq!(modern[0]["result"]["cacheScope"], "public");
        assert_eq!(
            modern[0]["result"]["tools"].as_array().unwrap().len(),
            tools::TOOLS.len()
        );
        let legacy = said(
            "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{}}}\n\
             {\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n\
             {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\n{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/list\"}\n",
        );
        assert_eq!(legacy.len(), 3);
        assert_eq!(legacy[0]["result"]["protocolVersion"], "2025-06-18");
        assert_eq!(legacy[1]["result"], json!({}));
        assert!(legacy[2]["result"].get("resultType").is_none());
    }

    #[test]
    fn a_client_that_asks_for_another_revision_hears_which_there_are() {
        let strange = META.replace("2026-07-28", "1900-01-01");
        let answers = said(&format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{{{strange}}}}}"#
        ));
        assert_eq!(answers[0]["error"]["code"], -32_022);
        assert_eq!(answers[0]["error"]["data"]["supported"], json!([MODERN]));
        let old = said(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"1.0"}}"#);
        assert_eq!(old[0]["result"]["protocolVersion"], LEGACY[0]);
    }

    #[test]
    fn what_is_no_request_is_refused_and_the_next_line_is_read() {
        let lines = [
            "nonsense",
            "[]",
            r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"no/such"}"#,
            r#"{"jsonrpc":"2.0","id":2,"method":"ping","params":[1]}"#,
            r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"drop"}}"#,
            r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"plan","arguments":{"unknown":1}}}"#,
            r#"{"jsonrpc":"2.0","id":9,"result":{}}"#,
            "",
            r#"{"jsonrpc":"2.0","id":5,"method":"ping"}"#,
        ];
        let answers = said(&lines.join("\n"));
        let codes: Vec<_> = answers
            .iter()
            .filter_map(|answer| answer["error"]["code"].as_i64())
            .collect();
        assert_eq!(codes, [-32_700, -32_600, -32_600, -32_601, -32_602, -32_602]);
        assert_eq!(answers[6]["result"]["isError"], true);
        assert_eq!(answers.last().unwrap()["id"], 5);
    }

    /// What is too long is refused once, and the next line is read from its beginning.
    #[test]
    fn a_line_that_is_too_long_is_not_kept() {
        let ping = &b"\n{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}\n"[..];
        let mut long = io::BufReader::new(io::repeat(b'x').take(MESSAGE_BYTES_MAX + 100).chain(ping));
        let answers = said_of(&mut long);
        assert_eq!(answers.len(), 2, "{answers:?}");
        assert_eq!(answers[0]["error"]["code"], -32_600);
        assert_eq!(answers[1]["id"], 7);
    }
}
