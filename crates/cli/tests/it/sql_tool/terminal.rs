//! The prompt in a pseudo terminal made by `script`, driven by keys.

use super::support::{Folder, PASSWORD, PROGRAM, Serving};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

const CTRL_C: &str = "\x03";
const CTRL_D: &str = "\x04";
const UP: &str = "\x1b[A";
const TAB: &str = "\t";
/// Nothing takes as long, on whatever machine.
const PATIENCE: Duration = Duration::from_secs(120);
/// How long the tool has to take a key before it is pressed once more.
const BETWEEN_KEYS: Duration = Duration::from_millis(100);

/// What the terminal has shown, and until where the test has read it.
struct Terminal {
    child: Child,
    keys: Option<ChildStdin>,
    shown: Arc<(Mutex<Vec<u8>>, Condvar)>,
    read: usize,
}

impl Terminal {
    /// The tool in a terminal of 60 columns, with `home` as its user's folder.
    fn open(arguments: &str, home: &Folder) -> Terminal {
        let line = format!("stty cols 60 rows 24; exec '{PROGRAM}' sql {arguments}");
        let mut command = Command::new("script");
        command.args(["-qefc", &line, "/dev/null"]).current_dir(&home.0);
        for name in [
            "SQLCMDSERVER",
            "SQLCMDUSER",
            "SQLCMDDBNAME",
            "SQLCMDINI",
            "SQLCMDFORMAT",
            "SQLCMDEDITOR",
            "VISUAL",
        ] {
            command.env_remove(name);
        }
        command
            .envs([
                ("TERM", "xterm"),
                ("NO_COLOR", "1"),
                ("SHELL", "/bin/sh"),
                ("SQLCMDPASSWORD", PASSWORD),
            ])
            .env("EDITOR", home.path("editor"))
            .env("HOME", &home.0)
            .env("XDG_STATE_HOME", home.0.join("state"));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let keys = child.stdin.take();
        let mut screen = child.stdout.take().unwrap();
        let shown = Arc::new((Mutex::new(Vec::new()), Condvar::new()));
        let kept = Arc::clone(&shown);
        thread::spawn(move || {
            let mut chunk = [0; 4096];
            while let Ok(count @ 1..) = screen.read(&mut chunk) {
                kept.0.lock().unwrap().extend_from_slice(&chunk[..count]);
                kept.1.notify_all();
            }
        });
        Terminal {
            child,
            keys,
            shown,
            read: 0,
        }
    }

    fn press(&mut self, keys: &str) {
        let input = self.keys.as_mut().unwrap();
        input.write_all(keys.as_bytes()).unwrap();
        input.flush().unwrap();
    }

    /// Types a line once the prompt for it is there.
    fn line(&mut self, number: u32, text: &str) {
        self.see(&format!("{number}> "));
        self.press(&format!("{text}\r"));
    }

    /// Waits until something is shown; answers what was shown up to it.
    fn see(&mut self, text: &str) -> String {
        self.see_within(text, PATIENCE)
            .unwrap_or_else(|shown| panic!("{text:?} is not shown: {shown}"))
    }

    fn see_within(&mut self, text: &str, patience: Duration) -> Result<String, String> {
        let begin = Instant::now();
        let mut shown = self.shown.0.lock().unwrap();
        loop {
            let rest = String::from_utf8_lossy(&shown[self.read..]).into_owned();
            if let Some(at) = rest.find(text) {
                self.read += at + text.len();
                return Ok(rest[..at].to_owned());
            }
            let Some(left) = patience.checked_sub(begin.elapsed()) else {
                return Err(rest);
            };
            shown = self.shown.1.wait_timeout(shown, left).unwrap().0;
        }
    }

    /// Waits for the end; the exit code, which `script` hands on.
    fn end(mut self) -> i32 {
        let begin = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code().unwrap();
            }
            assert!(begin.elapsed() < PATIENCE, "the tool does not end");
            thread::yield_now();
        }
    }
}

impl Terminal {
    /// Presses keys again and again until the end: a signal that comes while the one before is not taken yet is the same signal.
    fn end_by(mut self, keys: &str) -> i32 {
        let begin = Instant::now();
        while self.child.try_wait().unwrap().is_none() {
            assert!(begin.elapsed() < PATIENCE, "the tool does not end");
            let _ = self.keys.as_mut().unwrap().write_all(keys.as_bytes());
            thread::sleep(BETWEEN_KEYS);
        }
        self.end()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Without keys `script` hangs up.
        self.keys = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn on(server: &Serving, more: &str) -> Terminal {
    Terminal::open(&format!("-S {} {more}", server.address), &server.folder)
}

#[test]
fn the_prompt_welcomes_numbers_lines_and_shows_rows_that_fit() {
    let server = Serving::new("welcome");
    let mut terminal = on(&server, "");
    terminal.see(&format!("Connected to {} as sa: ", server.address));
    terminal.see("Database master, the login alone encrypted by TLS 1.2");
    terminal.see(":help lists the commands");
    terminal.line(1, "select 1 as id, cast('abc' as nvarchar(200)) as name,");
    terminal.line(2, "null as none");
    terminal.line(3, "GO");
    // Columns are as wide as their values, not 200.
    terminal.see("id name none\r\n-- ---- ----\r\n 1 abc  NULL\r\n\r\n(1 rows affected)\r\nElapsed: ");
    terminal.line(1, ":vertical");
    terminal.line(1, "select 2 as a");
    terminal.line(2, "GO");
    terminal.see("a 2\r\n");
    terminal.line(1, ":nonsense");
    // The line is the one that the prompt numbers, whatever was typed earlier.
    terminal.see("Syntax error at line 1 near command ':nonsense'. :help lists the commands.");
    terminal.line(1, "select 3");
    terminal.line(2, ":nonsense");
    terminal.see("Syntax error at line 2 near command ':nonsense'. :help lists the commands.");
    terminal.line(2, ":reset");
    terminal.line(1, ":help");
    let shown = terminal.see("leaves.");
    let (_, help) = shown.split_once("GO [n]").unwrap();
    // The terminal has 60 columns, and breaks no line that fits.
    let widest = help.lines().map(|line| line.trim_end().chars().count()).max();
    assert!(widest.is_some_and(|columns| columns <= 60), "{help}");
    assert!(help.contains(":on error exit|ignore     what an error does"), "{help}");
    terminal.line(1, "exit(select 4)");
    assert_eq!(terminal.end(), 4);
}

#[test]
fn a_batch_of_several_lines_comes_back_in_the_next_session() {
    let server = Serving::new("history");
    let mut first = on(&server, "");
    first.line(1, "select 'first'");
    first.line(2, "+ ' session'");
    first.line(3, "GO");
    first.see("first session");
    first.line(1, "create login x with password = 'Not for 1 file'");
    first.line(2, "GO");
    first.line(1, "select 'last'");
    first.line(2, "GO");
    first.see("rows affected");
    first.see("1> ");
    first.press(CTRL_D);
    assert_eq!(first.end(), 0, "who sits there has seen the errors");

    let file = server.folder.0.join("state/vlflab/sql-history");
    let kept = std::fs::read_to_string(&file).unwrap();
    assert_eq!(kept, "select 'first'\\n+ ' session'\\nGO\nselect 'last'\\nGO\n");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);

    let mut second = on(&server, "");
    second.see("1> ");
    // Up from the last line of a batch of two goes to its first line; from there to the batch before.
    second.press(UP);
    second.press(UP);
    second.press(UP);
    second.see("session'");
    second.press("\r");
    second.see("-\r\nfirst session\r\n");
    second.line(1, "exit");
    assert_eq!(second.end(), 0);
}

#[test]
fn tab_completes_keywords_and_what_the_server_has() {
    let server = Serving::new("completion");
    let made = server.run(
        &[
            "-Q",
            "create table a_rather_long_name (id int, [a column] int); create database a_long_database",
        ],
        "",
    );
    assert_eq!(made.code, 0, "{}{}", made.out, made.err);
    let mut terminal = on(&server, "");
    terminal.see("1> ");
    terminal.press("SELE");
    terminal.press(TAB);
    terminal.see("SELECT");
    terminal.press(" count(*) from a_rat");
    complete(&mut terminal, "a_rather_long_name");
    terminal.press(" t where t.[a c");
    complete(&mut terminal, "[a column]");
    terminal.press(" is null\rGO\r");
    terminal.see("(1 rows affected)");
    terminal.see("1> ");
    terminal.press("use a_lo");
    complete(&mut terminal, "a_long_database");
    terminal.press("\rGO\r");
    terminal.see("Changed database context to 'a_long_database'.");
    terminal.see("1> ");
    terminal.press(":on error ig");
    complete(&mut terminal, ":on error ignore");
    terminal.press("\r");
    terminal.line(1, "quit");
    assert_eq!(terminal.end(), 0);
}

/// Presses Tab until the names have come: what is not known yet is not waited for.
fn complete(terminal: &mut Terminal, whole: &str) {
    let begin = Instant::now();
    let step = Duration::from_millis(500);
    loop {
        terminal.press(TAB);
        match terminal.see_within(whole, step) {
            Ok(_) => return,
            Err(shown) => assert!(begin.elapsed() < PATIENCE, "{whole} is not completed: {shown}"),
        }
    }
}

/// Runs a batch that waits for minutes; the server says when it has begun.
fn begin_to_wait(terminal: &mut Terminal, server: &Serving) {
    terminal.line(1, "waitfor delay '00:10:00'");
    terminal.line(2, "GO");
    let begin = Instant::now();
    while !server
        .run(&["-Q", "select command from sys.dm_exec_requests"], "")
        .out
        .contains("WAITFOR")
    {
        assert!(begin.elapsed() < PATIENCE, "the batch does not begin");
    }
}

#[test]
fn ctrl_c_stops_the_batch_and_the_session_goes_on() {
    let server = Serving::new("cancel");
    let mut terminal = on(&server, "");
    terminal.line(1, "create table #kept (a int)");
    terminal.line(2, "GO");
    terminal.see("Elapsed");
    begin_to_wait(&mut terminal, &server);
    terminal.press(CTRL_C);
    terminal.see("The batch was stopped.");
    // The same session: its table is still there.
    terminal.line(1, "select count(*) + 41 from #kept");
    terminal.line(2, "GO");
    terminal.see("41");
    // At the prompt it forgets what was typed.
    terminal.line(1, "select 'forgotten'");
    terminal.see("2> ");
    terminal.press(CTRL_C);
    terminal.line(1, "select 'remembered'");
    terminal.line(2, "GO");
    let shown = terminal.see("rows affected");
    assert!(!shown.contains("forgotten"), "{shown}");
    terminal.see("1> ");
    terminal.press(CTRL_C);
    terminal.see("Ctrl-C again");
    terminal.see("1> ");
    terminal.press(CTRL_C);
    assert_eq!(terminal.end(), 0);
}

/// A server that does not answer cannot keep anybody.
#[test]
fn a_second_ctrl_c_leaves() {
    let server = Serving::new("stuck");
    let mut terminal = on(&server, "--no-names");
    begin_to_wait(&mut terminal, &server);
    let id = server.child.id().to_string();
    let signal = |name: &str| assert!(Command::new("kill").args([name, &id]).status().unwrap().success());
    signal("-STOP");
    terminal.press(CTRL_C);
    terminal.see("^C");
    assert_eq!(terminal.end_by(CTRL_C), 130);
    signal("-CONT");
}

#[test]
fn a_broken_connection_is_said_and_the_batch_kept() {
    let mut server = Serving::new("broken");
    let mut terminal = on(&server, "--no-names");
    terminal.line(1, "select 'kept '");
    terminal.line(2, "+ 'batch'");
    terminal.see("3> ");
    server.restart();
    terminal.press("GO\r");
    terminal.see("the connection broke");
    terminal.see("The batch is kept");
    terminal.line(3, "GO");
    terminal.see("Not connected");
    terminal.line(3, &format!(":connect {} -U sa -P \"{PASSWORD}\"", server.address));
    terminal.see("Connected to ");
    terminal.line(3, "GO");
    terminal.see("kept batch\r\n");
    terminal.line(1, "quit");
    assert_eq!(terminal.end(), 0);
}

#[test]
fn the_editor_edits_the_last_batch() {
    let server = Serving::new("editor");
    let editor = server.folder.file("editor", "#!/bin/sh\nsed -i 's/old/new/' \"$1\"\n");
    std::fs::set_permissions(&editor, std::fs::Permissions::from_mode(0o700)).unwrap();
    let mut terminal = on(&server, "--no-names");
    terminal.line(1, "select 'old'");
    terminal.line(2, "GO");
    terminal.see("rows affected");
    terminal.line(1, ":ed");
    terminal.see("1> select 'new'\r\n");
    terminal.line(2, "GO");
    terminal.see("-\r\nnew\r\n");
    terminal.line(1, "quit");
    assert_eq!(terminal.end(), 0);
}

#[test]
fn a_folder_has_a_prompt_too() {
    let home = Folder::new("folder-prompt");
    let mut terminal = Terminal::open("--data data", &home);
    terminal.see("The instance in data, in this process: SQL Server 2022.");
    terminal.line(1, "create table some_table (a int)");
    terminal.line(2, "GO");
    terminal.see("Elapsed");
    terminal.see("1> ");
    terminal.press("select count(*) from some_t");
    complete(&mut terminal, "some_table");
    terminal.press("\rGO\r");
    terminal.see("(1 rows affected)");
    terminal.line(1, "raiserror('begun', 0, 1) with nowait");
    terminal.line(2, "waitfor delay '00:10:00'");
    terminal.line(3, "GO");
    terminal.see("begun\r\n");
    terminal.press(CTRL_C);
    terminal.see("The batch was stopped.");
    terminal.line(1, "quit");
    assert_eq!(terminal.end(), 0);
}
