//! Exit codes of `vlflab sql`, and which messages go to standard error.

use super::support::{Folder, Serving, ran, tool};
use std::fs;

#[test]
fn exit_codes_of_every_ending() {
    let server = Serving::new("endings");
    let script = "select * from nowhere\nGO\nselect 'went on'\nGO\n";
    let severe = "raiserror('severe', 17, 1)\nGO\nselect 'went on'\nGO\n";
    for (arguments, script, code, goes_on) in [
        (&[][..], script, 1, true),
        (&["-b"], script, 1, false),
        (&["-V", "17"], script, 0, true),
        (&["-V", "17"], severe, 17, true),
        (&["-V", "17", "-b"], severe, 17, false),
        (&["-V", "17", "-b"], script, 0, true),
        (
            &[],
            ":on error exit\nselect * from nowhere\nGO\nselect 'went on'\nGO\n",
            1,
            false,
        ),
        (
            &["-b"],
            ":on error ignore\nselect * from nowhere\nGO\nselect 'went on'\nGO\n",
            0,
            true,
        ),
        (
            &[],
            "raiserror('last word', 16, 127)\nGO\nselect 'went on'\nGO\n",
            80,
            false,
        ),
        (
            &[],
            "raiserror('last word', 1, 127)\nGO\nselect 'went on'\nGO\n",
            80,
            false,
        ),
        (&[], "exit(select 7)\nselect 'went on'\nGO\n", 7, false),
        (&[], ":exit(select 1 select 300)\nselect 'went on'\nGO\n", 44, false),
        (&[], "select 'before'\nexit(select 5)\n", 5, false),
        (&[], "select 9\nexit()\nselect 'went on'\nGO\n", 0, false),
        (&[], "exit(select 1 where 1 = 0)\n", 155, false),
        (&[], "exit(select 'seven')\n", 154, false),
        (&[], "exit(select * from nowhere)\n", 156, false),
        (&[], "select * from nowhere\nexit\nGO\n", 0, false),
        (&["-Q", "exit(select 3)"], "", 3, false),
    ] {
        let ran = server.run(arguments, script);
        assert_eq!(ran.code, code, "{arguments:?} {script}: {}{}", ran.out, ran.err);
        assert_eq!(
            ran.out.contains("went on"),
            goes_on,
            "{arguments:?} {script}: {}",
            ran.out
        );
    }
}

#[test]
fn several_files_are_read_in_order_until_one_fails() {
    let server = Serving::new("files");
    for (name, text) in [
        ("1.sql", "select 'one'"),
        ("2.sql", ":nonsense\n"),
        ("3.sql", "select 'three'"),
    ] {
        server.folder.file(name, text);
    }
    let ran = server.run(&["-i", "1.sql", "-i", "2.sql", "-i", "3.sql"], "");
    assert_eq!(ran.code, 1);
    assert!(ran.out.contains("one") && !ran.out.contains("three"), "{}", ran.out);
    // One that is missing is found before anything is run.
    let ran = server.run(&["-i", "1.sql", "-i", "missing.sql"], "");
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    assert!(ran.err.contains("missing.sql"), "{}", ran.err);
}

#[test]
fn messages_go_where_they_were_sent() {
    let server = Serving::new("messages");
    let query = "print 'a print' select * from nowhere";
    for (arguments, print, error) in [
        (&[][..], "out", "out"),
        (&["-r"], "out", "err"),
        (&["-r0"], "out", "err"),
        (&["-r1"], "err", "err"),
        (&["-m", "17"], "", ""),
        (&["-m", "1"], "", "out"),
        (&["--format", "csv"], "err", "err"),
    ] {
        let ran = server.run(&[arguments, &["-Q", query]].concat(), "");
        for (text, place) in [("a print", print), ("Msg 208", error)] {
            let found = (ran.out.contains(text), ran.err.contains(text));
            assert_eq!(found, (place == "out", place == "err"), "{arguments:?} {text}");
        }
        assert_eq!(ran.code, 1, "{arguments:?}");
    }
    let all = server.run(&["-m-1", "-Q", "print 'a print'"], "");
    assert!(all.out.contains("Msg 0, Level 0"), "{}", all.out);
    // With -o, -r has no effect, and -u makes the file UTF-16.
    let file = server.folder.path("out.txt");
    let ran = server.run(&["-r1", "-u", "-o", &file, "-Q", "print 'é' select * from nowhere"], "");
    assert_eq!((ran.out.as_str(), ran.err.as_str(), ran.code), ("", "", 1));
    let bytes = fs::read(&file).unwrap();
    assert_eq!(bytes[..4], [0xFF, 0xFE, 0xE9, 0x00]);
    let units: Vec<u16> = bytes[2..]
        .chunks(2)
        .map(|unit| u16::from_le_bytes([unit[0], unit[1]]))
        .collect();
    assert!(String::from_utf16(&units).unwrap().contains("Msg 208"));
}

#[test]
fn a_batch_may_take_only_so_long() {
    let server = Serving::new("timeout");
    let ran = server.run(&["-t", "1"], "waitfor delay '00:01:00'\nGO\nselect 'went on'\nGO\n");
    assert_eq!(ran.code, 1);
    assert!(
        ran.err.contains("Timeout expired") && ran.out.contains("went on"),
        "{}{}",
        ran.out,
        ran.err
    );
}

#[test]
fn what_there_is_not_is_refused_with_a_remedy() {
    let folder = Folder::new("refused");
    let data = folder.path("data");
    for (arguments, code, remedy) in [
        (&["-S", "x", "-E", "-U", "sa"][..], 2, "cannot be used with"),
        (&["-S", "x", "-D"], 2, "name the server itself with -S"),
        (
            &["-S", "x", "-G"],
            2,
            "Entra logins (-G) are not supported; log in with -U",
        ),
        (&["-S", "x", "-z", "new"], 2, "(-z); the password of sa is"),
        (&["-S", "x", "-Znew"], 2, "(-Z); the password of sa is"),
        (&["-S", "x", "-A"], 2, "(-A); leave it out"),
        (&["-S", "x", "-K", "ReadOnly"], 2, "(-K)"),
        (&["-L"], 2, "(-L); name one with -S"),
        (&["-Lc"], 2, "(-L); name one with -S"),
        (&["-M", "-S", "x"], 2, "(-M)"),
        (&["-R"], 2, "(-R); write them with CONVERT"),
        (&["-f", "i:65001,o:1252"], 2, "(-f)"),
        (&["-f65001"], 2, "take -u for UTF-16"),
        (&["-g"], 2, "(-g); leave it out"),
        (&["-j"], 2, "take -m-1"),
        (&["--data", &data, "--format", "xls"], 2, "formats are auto"),
        (&["--data", &data, "-w", "5"], 2, "9.."),
        (&["--data", &data, "-v", "SQLCMDHEADERS=many"], 2, "SQLCMDHEADERS is -1"),
        (&["--data", &data, "-U", "me"], 2, "name it with -S"),
        (&["--data", &data, "--vertical", "--ascii"], 2, "cannot be used with"),
    ] {
        let ran = ran(&mut tool(arguments), "");
        assert_eq!(ran.code, code, "{arguments:?}: {}", ran.err);
        assert!(ran.err.contains(remedy), "{arguments:?}: {}", ran.err);
    }
}
