//! sqlcmd's commands in scripts.

use super::support::{Folder, PASSWORD, Serving, ran, tool};
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

/// Without headings and blanks, so that an answer is its values.
const BARE: [&str; 3] = ["-h", "-1", "-W"];

fn values(out: &str) -> Vec<&str> {
    let is_value = |line: &&str| !line.is_empty() && !line.ends_with("rows affected)");
    out.lines().filter(is_value).collect()
}

/// Every command once, and what reads what they set.
const SCRIPT: &str = "\
:setvar name \"a b\"
:setvar times 2
select '$(name)' -- $(none)
GO
select 'twice'
go $(times)
:r inner.sql
+ '!'
GO
:r \"whole.sql\"
GO
select 'forgotten'
:reset
select 'listed'
:list
:RESET
:setvar name
:listvar
!! echo from the shell
:out rows.txt
select 'to a file'
GO
!! echo from the shell, too
:out stdout
:error errors.txt
select * from nowhere
GO
:error stdout
:format csv
select 1 as a, null as b
GO
:vertical
select 1 as a
GO
:quit
select 'never'
GO
";

#[test]
fn a_script_with_every_command_runs_alike_in_a_file_and_through_a_pipe() {
    let server = Serving::new("commands");
    let folder = &server.folder;
    folder.file("inner.sql", "select 'inner $(name)'\n");
    folder.file("whole.sql", "select 'whole'\nGO\nselect 'rest'\n");
    let file = folder.file("script.sql", SCRIPT);
    let arguments = [&BARE[..], &["-i", &file]].concat();
    let (by_file, by_pipe) = (server.run(&arguments, ""), server.run(&BARE, SCRIPT));
    assert_eq!(by_file.out, by_pipe.out);
    assert_eq!(
        (by_file.code, by_pipe.code),
        (1, 1),
        "an error of T-SQL counts: {}",
        by_file.err
    );
    assert_eq!(by_file.err, "");
    let (before, after) = by_file.out.split_once("SQLCMDCOLSEP").unwrap();
    let expected = [
        "a b",
        "twice",
        "twice",
        "inner a b!",
        "whole",
        "rest",
        "select 'listed'",
    ];
    assert_eq!(values(before), expected);
    assert!(
        !after.contains("\nNAME =") && after.contains("TIMES = \"2\""),
        "{after}"
    );
    let (_, after) = after.split_once("TIMES = \"2\"\n").unwrap();
    assert_eq!(values(after), ["from the shell", "1,", "1"]);
    assert_eq!(values(&folder.read("rows.txt")), ["to a file", "from the shell, too"]);
    assert!(
        folder
            .read("errors.txt")
            .starts_with("Msg 208, Level 16, State 1, Server")
    );
}

#[test]
fn what_is_written_wrong_ends_a_script_and_says_where() {
    let server = Serving::new("wrong");
    for (script, complaint) in [
        (
            "select 1\n:frobnicate\nGO\n",
            "Syntax error at line 2 near command ':frobnicate'.",
        ),
        ("select 1\nGO many\n", "Syntax error at line 2 near command 'GO'."),
        ("select 1\nGO 0\n", "Syntax error at line 2 near command 'GO'."),
        ("select $(none)\nGO\n", "'none' scripting variable not defined."),
        (":r nowhere.sql\n", "file nowhere.sql (Reason: No such file"),
        (":setvar 1a b\n", "Invalid variable identifier 1a"),
        (
            ":setvar SQLCMDSERVER b\n",
            "The scripting variable: 'SQLCMDSERVER' is read-only",
        ),
        (":serverlist\n", "does not search the network"),
        (":perftrace stdout\n", ":perftrace is not there"),
        (":out /nowhere/at/all\n", "/nowhere/at/all (Reason: No such file"),
        (":format xls\n", "\"xls\" is not a format"),
        (":connect\t-Z\n", "near command ':connect'"),
    ] {
        let ran = server.run(&BARE, &format!("{script}select 'went on'\nGO\n"));
        assert_eq!(ran.code, 1, "{script}: {}", ran.err);
        assert!(
            ran.err.starts_with("Sqlcmd: Error: ") && ran.err.contains(complaint),
            "{script}: {}",
            ran.err
        );
        assert_eq!(ran.out, "", "{script}");
    }
}

/// The line is the one in the file at hand: neither those of a file that it reads, nor of one that is read before, count.
#[test]
fn the_line_of_a_mistake_is_the_one_of_its_file() {
    let server = Serving::new("line-of-file");
    let folder = &server.folder;
    folder.file("four.sql", "select 1\n\n\nGO\n");
    folder.file("wrong.sql", "select 2\n:foo\n");
    let outer = folder.file("outer.sql", ":r four.sql\n:r four.sql\n:foo\n");
    let nested = folder.file("nested.sql", "\n\n:r wrong.sql\n");
    for (arguments, input, complaint) in [
        (
            vec!["-i", &outer],
            "",
            format!("line 3 near command ':foo' in file '{outer}'."),
        ),
        (
            vec!["-i", &nested],
            "",
            "line 2 near command ':foo' in file 'wrong.sql'.".into(),
        ),
        (
            vec!["-i", "four.sql", "-i", &outer],
            "",
            format!("line 3 near command ':foo' in file '{outer}'."),
        ),
        (vec![], ":r four.sql\n:foo\n", "line 2 near command ':foo'.".into()),
        (
            vec!["-q", "select 1\nGO\n"],
            "select 2\n:foo\n",
            "line 2 near command ':foo'.".into(),
        ),
        (vec!["-Q", "select 1\n\n:foo"], "", "line 3 near command ':foo'.".into()),
    ] {
        let ran = server.run(&arguments, input);
        let expected = format!("Sqlcmd: Error: Syntax error at {complaint}\n");
        assert_eq!((ran.code, ran.err), (1, expected), "{arguments:?} {input:?}");
    }
    // A startup script stands before all of them.
    let mut command = server.tool(&[]);
    let ran = ran(command.env("SQLCMDINI", folder.path("four.sql")), "\n:foo\n");
    assert_eq!(ran.err, "Sqlcmd: Error: Syntax error at line 2 near command ':foo'.\n");
}

/// After `]]` in a name a quote is the name's: the GO behind it ends the batch.
#[test]
fn a_bracket_in_a_name_does_not_swallow_go() {
    let folder = Folder::new("bracket");
    let data = folder.path("data");
    let script = "select 1 as [a]]b'c]\ngo\nselect 2\ngo\n";
    let ran = ran(&mut tool(&[&BARE[..], &["--data", &data]].concat()), script);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert_eq!(values(&ran.out), ["1", "2"]);
}

/// Files that read each other would be read until memory or stack is used up.
#[test]
fn a_file_that_reads_itself_is_refused() {
    let server = Serving::new("circle");
    let folder = &server.folder;
    folder.file("a.sql", "select 'once'\nGO\n:r b.sql\n");
    folder.file("b.sql", ":r ./a.sql\n");
    let ran = server.run(&["-i", "a.sql", "-h", "-1"], "");
    assert_eq!(ran.code, 1);
    assert!(
        ran.err.contains("it would read itself: a.sql -> b.sql -> ./a.sql"),
        "{}",
        ran.err
    );
    assert_eq!(ran.out.matches("once").count(), 1);
    // The same file twice, one after the other, is not a circle.
    folder.file("c.sql", "select 'c'\nGO\n");
    let twice = server.run(&BARE, ":r c.sql\n:r c.sql\n");
    assert_eq!((values(&twice.out), twice.code), (vec!["c", "c"], 0), "{}", twice.err);
}

#[test]
fn strings_and_comments_hold_no_commands() {
    let server = Serving::new("quoted");
    let script = "select '\nquit\nGO\n$(x)' as [a\n:reset\n]\n/*\nGO\n:exit\n$(none)\n*/\nGO\n";
    let ran = server.run(&["-W", "-v", "x=put in"], script);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("quit\nGO\nput in"), "{}", ran.out);
    let plain = server.run(&["-x", "-h", "-1", "-W", "-Q", "select '$(x)'"], "");
    assert_eq!(values(&plain.out), ["$(x)"]);
    let other = server.run(&["-c", "run", "-h", "-1", "-W"], "select 'go'\nrun 2\n");
    assert_eq!(values(&other.out), ["go", "go"]);
}

#[test]
fn connecting_elsewhere_runs_what_follows_there() {
    let (one, two) = (Serving::new("here"), Serving::new("there"));
    let ask = "select db_id('only_there')\nGO\n";
    let made = two.run(&["-Q", "create database only_there"], "");
    assert_eq!(made.code, 0, "{}{}", made.out, made.err);
    let script = format!(
        "{ask}:setvar server \"{}\"\n:connect $(server) -U sa -P \"{PASSWORD}\" -d only_there\nselect db_name()\nGO\n{ask}\
         select '$(SQLCMDSERVER) $(SQLCMDDBNAME)'\nGO\n",
        two.address
    );
    let ran = one.run(&BARE, &script);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let found = values(&ran.out);
    assert_eq!((found[0], found[1]), ("NULL", "only_there"));
    assert_eq!(found[3], format!("{} only_there", two.address));
}

/// What was meant for one server must not be run on the one that was connected before.
#[test]
fn a_connect_that_fails_ends_the_script() {
    let server = Serving::new("unreachable");
    let script = ":connect 127.0.0.1,9 -U sa -P x\ncreate database wrong_place\nGO\n";
    let ran = server.run(&BARE, script);
    assert_eq!((ran.code, ran.out.as_str()), (3, ""), "{}", ran.err);
    assert!(ran.err.contains("cannot connect to 127.0.0.1:9"), "{}", ran.err);
    let ran = server.run(&[&BARE[..], &["-Q", "select db_id('wrong_place')"]].concat(), "");
    assert_eq!(values(&ran.out), ["NULL"]);
}

#[test]
fn commands_that_reach_out_can_be_disabled() {
    let folder = Folder::new("disabled");
    let data = folder.path("data");
    let arguments = |letter| vec!["--data", &data, "-h", "-1", "-W", letter];
    let script = "!! echo reached\n:ed\nselect 'went on'\nGO\n";
    let warned = ran(&mut tool(&arguments("-X")), script);
    assert_eq!((warned.code, values(&warned.out)), (0, vec!["went on"]));
    assert_eq!(warned.err.matches("are disabled").count(), 2, "{}", warned.err);
    let ended = ran(&mut tool(&arguments("-X1")), script);
    assert_eq!((ended.code, ended.out.as_str()), (1, ""));
    // Nothing of the environment is there, and no startup script is run.
    let startup = folder.file("startup.sql", "select 'startup'\n");
    let script = "select '$(SQL_TOOL_TEST)'\nGO\n";
    let with_environment = |arguments: &[&str]| {
        let mut command = tool(arguments);
        ran(
            command.env("SQL_TOOL_TEST", "outside").env("SQLCMDINI", &startup),
            script,
        )
    };
    let open = with_environment(&["--data", &data, "-h", "-1", "-W"]);
    assert_eq!(values(&open.out), ["startup", "outside"], "{}", open.err);
    let closed = with_environment(&arguments("-X"));
    assert_eq!((closed.code, closed.out.as_str()), (1, ""));
    assert!(closed.err.contains("'SQL_TOOL_TEST' scripting variable not defined."));
}

/// A program at the other end of a pipe waits for its answer before it asks on.
#[test]
fn what_comes_through_a_pipe_is_answered_as_it_comes() {
    let server = Serving::new("pipe");
    let mut command = server.tool(&BARE);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    for number in 1..=3 {
        writeln!(input, "select {number}\nGO").unwrap();
        let mut line = String::new();
        while line.trim() != number.to_string() {
            line.clear();
            assert!(output.read_line(&mut line).unwrap() > 0, "no answer to {number}");
        }
    }
    drop(input);
    assert!(child.wait().unwrap().success());
}
