//! sqlcmd's commands: recognizing and parsing them.
//!
//! A command is alone on its line, in any letter case, outside strings and comments. All begin with a colon, except GO; for EXIT, QUIT,
//! RESET, ED and !! it is optional (SQL Server docs, "Commands in the sqlcmd utility"). `-- comment` may follow.
//!
//! Three are this program's own: `:vertical`, `:format` and `:timing`.

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Command {
    /// Run the batch, so often; the count may be a variable.
    Go(String),
    Quit,
    /// Leave; with a query, the value it answers is the exit code.
    Exit(Option<String>),
    Reset,
    List,
    ListVariables,
    /// A variable and its value, as written.
    Set(String, String),
    Read(String),
    Out(String),
    Error(String),
    /// The words after it: server and letters.
    Connect(String),
    Shell(String),
    Edit,
    /// Whether an error ends the script.
    OnError(OnError),
    Xml(bool),
    Format(String),
    Timing(bool),
    Help,
    /// One of sqlcmd's that does not exist here, with the reason.
    Refused(&'static str),
}

/// `:on error`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OnError {
    Exit,
    Ignore,
}

/// What a line is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// T-SQL.
    Text,
    Command(Command),
    /// A command that is written wrong, or that does not exist: its name.
    Wrong(String),
}

/// All names that begin with a colon, for completion.
pub(super) const NAMES: [&str; 20] = [
    ":connect",
    ":ed",
    ":error",
    ":exit",
    ":format",
    ":help",
    ":list",
    ":listvar",
    ":on error exit",
    ":on error ignore",
    ":out",
    ":quit",
    ":r",
    ":reset",
    ":setvar",
    ":timing",
    ":vertical",
    ":xml off",
    ":xml on",
    ":!!",
];

const SERVER_LIST: &str = ":serverlist is not there: this program does not search the network for servers";
const PERFORMANCE_TRACE: &str =
    ":perftrace is not there; -p prints times and packet sizes, :timing on the time of each batch";

/// What the line is, given the word that ends batches.
pub(super) fn parse(line: &str, terminator: &str) -> Line {
    let line = line.trim();
    if let Some(rest) = word(line, terminator) {
        return go(rest, line);
    }
    let (has_colon, body) = match line.strip_prefix(':') {
        Some(body) => (true, body),
        None => (false, line),
    };
    if let Some(command) = body.strip_prefix("!!") {
        return one(command, "!!", Command::Shell);
    }
    let end = body.find(|letter: char| !letter.is_ascii_alphabetic());
    let (name, rest) = body.split_at(end.unwrap_or(body.len()));
    let name = name.to_ascii_lowercase();
    let ends_word = rest.is_empty() || rest.starts_with(char::is_whitespace) || name == "exit" && rest.starts_with('(');
    let rest = without_comment(rest).trim();
    match (has_colon, name.as_str()) {
        (true, "") => Line::Text,
        (true, _) if !ends_word => Line::Wrong(format!(":{body}")),
        (true, _) => with_colon(&name, rest),
        (false, "exit") if ends_word => exit(rest),
        (false, "quit") if ends_word => nothing(rest, "quit", Command::Quit),
        (false, "reset") if rest.is_empty() => Line::Command(Command::Reset),
        (false, "ed") if rest.is_empty() => Line::Command(Command::Edit),
        _ => Line::Text,
    }
}

fn with_colon(name: &str, rest: &str) -> Line {
    let command = |command| Line::Command(command);
    match name {
        "exit" => exit(rest),
        "quit" => nothing(rest, ":quit", Command::Quit),
        "reset" => nothing(rest, ":reset", Command::Reset),
        "ed" => nothing(rest, ":ed", Command::Edit),
        "list" => nothing(rest, ":list", Command::List),
        "listvar" => nothing(rest, ":listvar", Command::ListVariables),
        "help" => nothing(rest, ":help", Command::Help),
        "r" => one(rest, ":r", Command::Read),
        "out" => one(rest, ":out", Command::Out),
        "error" => one(rest, ":error", Command::Error),
        "connect" => command(Command::Connect(rest.to_owned())),
        "setvar" if rest.is_empty() => Line::Wrong(":setvar".to_owned()),
        "setvar" => {
            let (name, value) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            command(Command::Set(name.to_owned(), value.trim().to_owned()))
        }
        "on" => match word(rest, "error").map(str::trim) {
            Some(choice) if choice.eq_ignore_ascii_case("exit") => command(Command::OnError(OnError::Exit)),
            Some(choice) if choice.eq_ignore_ascii_case("ignore") => command(Command::OnError(OnError::Ignore)),
            _ => Line::Wrong(":on error".to_owned()),
        },
        "xml" => switch(rest, ":xml", Command::Xml),
        "timing" => switch(rest, ":timing", Command::Timing),
        "vertical" if rest.is_empty() => command(Command::Format("vertical".to_owned())),
        "vertical" => switch(rest, ":vertical", |is_on| {
            let format = if is_on { "vertical" } else { "" };
            Command::Format(format.to_owned())
        }),
        "format" => one(rest, ":format", Command::Format),
        "serverlist" => command(Command::Refused(SERVER_LIST)),
        "perftrace" => command(Command::Refused(PERFORMANCE_TRACE)),
        other => Line::Wrong(format!(":{other}")),
    }
}

/// What follows `word` if the text begins with it.
fn word<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    let (start, rest) = text.split_at_checked(word.len())?;
    let ends = rest.is_empty() || rest.starts_with(|next: char| next.is_whitespace() || next == ';');
    (start.eq_ignore_ascii_case(word) && ends && !word.is_empty()).then_some(rest)
}

/// The rest of a GO line: a count or nothing, and a semicolon as people write it.
fn go(rest: &str, line: &str) -> Line {
    let count = without_comment(rest).trim().trim_end_matches(';').trim();
    let is_count = |count: &str| count.bytes().all(|byte| byte.is_ascii_digit());
    let is_variable = count.starts_with("$(") && count.ends_with(')');
    match is_count(count) || is_variable {
        true => Line::Command(Command::Go(count.to_owned())),
        false => Line::Wrong(line.split_whitespace().next().unwrap_or_default().to_owned()),
    }
}

fn exit(rest: &str) -> Line {
    let query = rest.strip_prefix('(').map(|rest| rest.strip_suffix(')'));
    match query {
        Some(Some(query)) => Line::Command(Command::Exit(Some(query.trim().to_owned()))),
        None if rest.is_empty() => Line::Command(Command::Exit(None)),
        _ => Line::Wrong("exit".to_owned()),
    }
}

fn nothing(rest: &str, name: &str, command: Command) -> Line {
    match rest.is_empty() {
        true => Line::Command(command),
        false => Line::Wrong(name.to_owned()),
    }
}

fn one(rest: &str, name: &str, command: impl FnOnce(String) -> Command) -> Line {
    match unquoted(rest.trim()) {
        "" => Line::Wrong(name.to_owned()),
        argument => Line::Command(command(argument.to_owned())),
    }
}

fn switch(rest: &str, name: &str, command: impl FnOnce(bool) -> Command) -> Line {
    match rest.to_ascii_lowercase().as_str() {
        "on" => Line::Command(command(true)),
        "off" => Line::Command(command(false)),
        _ => Line::Wrong(name.to_owned()),
    }
}

/// A name of a file may stand in double quotes.
fn unquoted(text: &str) -> &str {
    let inner = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inner.unwrap_or(text)
}

/// The text up to `--` that follows white space outside of double quotes.
fn without_comment(text: &str) -> &str {
    let (mut is_quoted, mut is_after_space) = (false, true);
    for (at, letter) in text.char_indices() {
        if !is_quoted && is_after_space && text.get(at..).is_some_and(|rest| rest.starts_with("--")) {
            return text.get(..at).unwrap_or(text);
        }
        is_quoted ^= letter == '"';
        is_after_space = letter.is_whitespace();
    }
    text
}

/// The words of an argument; double quotes keep blanks together.
pub(super) fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let (mut word, mut is_word, mut is_quoted) = (String::new(), false, false);
    for letter in text.chars() {
        match letter {
            '"' => {
                is_quoted = !is_quoted;
                is_word = true;
            }
            letter if letter.is_whitespace() && !is_quoted => {
                if std::mem::take(&mut is_word) {
                    words.push(std::mem::take(&mut word));
                }
            }
            letter => {
                word.push(letter);
                is_word = true;
            }
        }
    }
    if is_word {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(name: &str) -> Line {
        Line::Wrong(name.to_owned())
    }

    #[test]
    fn every_command_in_every_spelling() {
        for (line, command) in [
            ("go", Command::Go(String::new())),
            ("  GO 12 -- twelve times\r\n", Command::Go("12".to_owned())),
            ("Go;", Command::Go(String::new())),
            ("GO $(n)", Command::Go("$(n)".to_owned())),
            ("quit", Command::Quit),
            (":QUIT", Command::Quit),
            ("exit", Command::Exit(None)),
            (":exit -- now", Command::Exit(None)),
            ("exit()", Command::Exit(Some(String::new()))),
            (
                "EXIT (select max(a) from t)",
                Command::Exit(Some("select max(a) from t".to_owned())),
            ),
            ("reset", Command::Reset),
            (":Reset", Command::Reset),
            (":list", Command::List),
            (":ListVar", Command::ListVariables),
            (":setvar a \"b c\"", Command::Set("a".to_owned(), "\"b c\"".to_owned())),
            (":setvar a", Command::Set("a".to_owned(), String::new())),
            (":r \"my file.sql\" -- here", Command::Read("my file.sql".to_owned())),
            (":R a--b.sql", Command::Read("a--b.sql".to_owned())),
            (":out stdout", Command::Out("stdout".to_owned())),
            (":error e.txt", Command::Error("e.txt".to_owned())),
            (":connect db1 -U me", Command::Connect("db1 -U me".to_owned())),
            ("!!ls -l", Command::Shell("ls -l".to_owned())),
            (":!! date", Command::Shell("date".to_owned())),
            ("ed", Command::Edit),
            (":on error exit", Command::OnError(OnError::Exit)),
            (":On  Error  Ignore", Command::OnError(OnError::Ignore)),
            (":xml ON", Command::Xml(true)),
            (":vertical", Command::Format("vertical".to_owned())),
            (":vertical off", Command::Format(String::new())),
            (":format json", Command::Format("json".to_owned())),
            (":timing off", Command::Timing(false)),
            (":help", Command::Help),
            (":serverlist", Command::Refused(SERVER_LIST)),
        ] {
            assert_eq!(parse(line, "GO"), Line::Command(command), "{line}");
        }
    }

    #[test]
    fn what_is_written_wrong_is_named_and_what_is_none_is_text() {
        for (line, expected) in [
            ("go away", wrong("go")),
            ("go 1 2", wrong("go")),
            ("exit now", wrong("exit")),
            ("exit(select 1", wrong("exit")),
            (":r", wrong(":r")),
            (":out", wrong(":out")),
            ("!!", wrong("!!")),
            (":setvar", wrong(":setvar")),
            (":on error resume", wrong(":on error")),
            (":xml maybe", wrong(":xml")),
            (":frobnicate", wrong(":frobnicate")),
            (":list all", wrong(":list")),
            ("goto x", Line::Text),
            ("gone", Line::Text),
            ("exits", Line::Text),
            ("exit_code = 1", Line::Text),
            ("ed.name", Line::Text),
            ("reset x", Line::Text),
            ("list", Line::Text),
            ("on error.id = t.id", Line::Text),
            ("::fn_helpcollations()", Line::Text),
            ("select 1", Line::Text),
            ("", Line::Text),
        ] {
            assert_eq!(parse(line, "GO"), expected, "{line}");
        }
    }

    #[test]
    fn another_word_can_end_batches() {
        assert_eq!(parse("run 2", "RUN"), Line::Command(Command::Go("2".to_owned())));
        assert_eq!(parse("go", "RUN"), Line::Text);
        assert_eq!(parse(";", ";"), Line::Command(Command::Go(String::new())));
    }

    #[test]
    fn words_may_be_quoted() {
        assert_eq!(words("db1 -U \"a b\"  -P\"\" c"), ["db1", "-U", "a b", "-P", "c"]);
        assert!(words("  ").is_empty());
    }
}
