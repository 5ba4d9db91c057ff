//! Formats of result sets, from a server and from an instance in the process.

use super::support::{Folder, Serving, ran, tool};

const QUERY: &str = "select 1 as id, cast('a,b' as varchar(10)) as name, cast(null as int) as none, cast(-0.5 as decimal(5,2)) as d, \
                     cast(1 as bit) as b, replicate(cast('x' as varchar(max)), 300) as long";

#[test]
fn a_server_and_a_folder_answer_alike_in_every_form() {
    let server = Serving::new("forms");
    let folder = Folder::new("forms-embedded");
    let data = folder.path("data");
    for form in [
        &[][..],
        &["-W", "-s", "|"],
        &["-y", "20", "-Y", "2"],
        &["-y", "0"],
        &["-w", "40"],
        &["--vertical"],
        &["--ascii", "-w", "60"],
        &["--format", "fit", "-w", "60"],
        &["--format", "json"],
        &["--format", "csv"],
        &["--format", "md"],
        &["-h", "-1", "-k"],
    ] {
        let query = [form, &["-Q", QUERY]].concat();
        let remote = server.run(&query, "");
        let embedded = ran(&mut tool(&[&["--data", &data], &query[..]].concat()), "");
        assert_eq!(remote.out, embedded.out, "{form:?}");
        assert_eq!(
            (remote.code, embedded.code),
            (0, 0),
            "{form:?}: {}{}",
            remote.err,
            embedded.err
        );
        assert!(!remote.out.is_empty());
    }
}

#[test]
fn json_is_json_and_csv_is_csv() {
    let folder = Folder::new("documents");
    let data = folder.path("data");
    let run = |form: &str| ran(&mut tool(&["--data", &data, "--format", form, "-Q", QUERY]), "").out;
    let json: serde_json::Value = serde_json::from_str(&run("json")).unwrap();
    let row = &json[0];
    assert_eq!(row["id"], 1);
    assert_eq!(row["name"], "a,b");
    assert!(row["none"].is_null());
    assert_eq!((row["d"].as_f64(), row["b"].as_u64()), (Some(-0.5), Some(1)));
    assert_eq!(row["long"].as_str().unwrap().len(), 300, "nothing is cut");
    let csv = run("csv");
    let expected = format!("id,name,none,d,b,long\n1,\"a,b\",,-.50,1,{}\n", "x".repeat(300));
    assert_eq!(csv.trim_end(), expected.trim_end());
}

#[test]
fn wide_rows_fit_where_they_are_shown() {
    let folder = Folder::new("wide");
    let data = folder.path("data");
    let run = |form: &[&str]| ran(&mut tool(&[&["--data", &data], form, &["-Q", QUERY]].concat()), "").out;
    let fit = run(&["--format", "fit", "-w", "60"]);
    assert!(
        fit.lines()
            .all(|line| line.chars().count() <= 60 || line.starts_with('(')),
        "{fit}"
    );
    assert!(fit.contains('…') && fit.contains("cut to the screen"), "{fit}");
    let vertical = run(&["--vertical"]);
    assert!(
        vertical.contains("\nname a,b\n") && vertical.contains(&"x".repeat(300)),
        "{vertical}"
    );
    // Too narrow for columns.
    let records = run(&["--format", "fit", "-w", "20"]);
    assert!(records.starts_with("id   1\n"), "{records}");
}

#[test]
fn xml_comes_in_one_piece() {
    let folder = Folder::new("xml");
    let data = folder.path("data");
    let script = ":xml on\nselect replicate('a', 10) union all select 'b'\nGO\n:xml off\nselect 1\nGO\n";
    let ran = ran(&mut tool(&["--data", &data, "-h", "-1", "-W"]), script);
    assert!(ran.out.starts_with("aaaaaaaaaab\n"), "{}", ran.out);
    assert!(ran.out.contains("(1 rows affected)"), "{}", ran.out);
}

#[test]
fn statistics_and_echo() {
    let folder = Folder::new("statistics");
    let data = folder.path("data");
    let out = ran(&mut tool(&["--data", &data, "-p", "-e", "-Q", "select 1"]), "").out;
    assert!(
        out.starts_with("select 1\n") && out.contains("Network packet size (bytes): 4096\n1 xact[s]:\n"),
        "{out}"
    );
    let out = ran(&mut tool(&["--data", &data, "-p1", "-Q", "select 1"]), "").out;
    assert!(out.contains("\n4096:1:"), "{out}");
}
