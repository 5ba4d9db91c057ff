//! The sequence of queries: existing views decide which queries run, and a failed query does not end it.

use advisor::snapshot::query::QUERIES;
use advisor::snapshot::{Answer, Gathering, Request, Rows, Snapshot, Source};

use super::recorded::table;

/// Every request of a conversation, answered by `answer`.
fn conversation(answer: impl Fn(&Request) -> Answer) -> (Vec<Request>, Snapshot) {
    let mut gathering = Gathering::begin("db1:1433");
    let mut asked = Vec::new();
    while let Some(request) = gathering.next_request() {
        gathering.answer(&request, answer(&request));
        asked.push(request);
    }
    (asked, gathering.finish())
}

fn databases(names: &[&str]) -> Answer {
    let lines: Vec<String> = names
        .iter()
        .enumerate()
        .map(|(index, name)| format!("{}|{name}|ONLINE", index + 5))
        .collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    Answer::Rows(table("database_id|name|state_desc", &lines))
}

fn text_of(asked: &[Request], source: Source) -> Option<&str> {
    asked
        .iter()
        .find(|request| request.source == source)
        .map(|request| request.text.as_str())
}

#[test]
fn columns_and_views_that_do_not_exist_are_not_asked_for() {
    let catalog = table(
        "object_name|column_name",
        &[
            "databases|database_id",
            "databases|name",
            "databases|state_desc",
            "dm_exec_sessions|session_id",
        ],
    );
    let (asked, snapshot) = conversation(|request| match request.source {
        Source::Catalog => Answer::Rows(catalog.clone()),
        Source::Databases => databases(&["Sales"]),
        _ => Answer::Rows(Rows::default()),
    });
    let text = text_of(&asked, Source::Databases).unwrap();
    assert!(
        text.contains("state_desc") && !text.contains("is_cdc_enabled"),
        "{text}"
    );
    assert_eq!(text_of(&asked, Source::LogInfo), None);
    assert_eq!(text_of(&asked, Source::Replicas), None);
    // What has no view is asked by its command.
    assert_eq!(
        text_of(&asked, Source::LogInfoCommand),
        Some("DBCC LOGINFO (N'Sales') WITH NO_INFOMSGS")
    );
    assert_eq!(
        text_of(&asked, Source::LogSpace),
        Some("DBCC SQLPERF(LOGSPACE) WITH NO_INFOMSGS")
    );
    assert!(
        snapshot
            .not_read
            .iter()
            .any(|one| one.source == "sys.dm_hadr_database_replica_states" && one.is_absent())
    );
}

#[test]
fn names_with_quotes_and_braces_stay_what_they_are() {
    let name = "O'Brien {id} ]x";
    let (asked, _) = conversation(|request| match request.source {
        Source::Databases => databases(&[name]),
        _ => Answer::Rows(Rows::default()),
    });
    assert_eq!(
        text_of(&asked, Source::LogInfoCommand),
        Some("DBCC LOGINFO (N'O''Brien {id} ]x') WITH NO_INFOMSGS")
    );
    assert!(text_of(&asked, Source::LogInfo).is_none_or(|text| text.ends_with("sys.dm_db_log_info(5)")));
}

/// Nothing that is sent changes anything, and no `*` is asked for.
#[test]
fn every_text_reads_and_names_its_columns() {
    let (asked, _) = conversation(|request| match request.source {
        Source::Catalog => Answer::TimedOut(1),
        Source::Databases => databases(&["Sales"]),
        _ => Answer::Rows(Rows::default()),
    });
    assert!(asked.len() > QUERIES.len());
    for request in asked {
        let text = request.text.to_uppercase();
        let begins = [
            "SELECT ",
            "DBCC LOGINFO ",
            "DBCC SQLPERF(LOGSPACE)",
            "EXEC SP_READERRORLOG 0, 1, ",
        ];
        assert!(begins.iter().any(|begin| text.starts_with(begin)), "{text}");
        for word in [
            "INSERT",
            "UPDATE ",
            "DELETE",
            "ALTER ",
            "BACKUP LOG",
            "KILL",
            "SHRINK ",
            "SELECT *",
            "DM_DB_LOG_SPACE_USAGE",
        ] {
            assert!(!text.contains(word), "{word}: {text}");
        }
    }
}

#[test]
fn a_connection_that_cannot_be_had_again_leaves_the_rest_unread() {
    let mut gathering = Gathering::begin("db1:1433");
    let mut count = 0;
    while let Some(request) = gathering.next_request() {
        count += 1;
        let answer = match request.source {
            Source::Databases => databases(&["Sales"]),
            Source::Sessions => Answer::Lost("reset".to_owned()),
            _ => Answer::Rows(Rows::default()),
        };
        let lost = matches!(answer, Answer::Lost(_));
        gathering.answer(&request, answer);
        if lost {
            gathering.give_up("nobody listens there");
        }
    }
    let snapshot = gathering.finish();
    assert!(count < QUERIES.len());
    assert_eq!(snapshot.databases.len(), 1);
    let reason = |source: &str| {
        snapshot
            .not_read
            .iter()
            .find(|one| one.source == source)
            .unwrap()
            .reason
            .clone()
    };
    assert_eq!(reason("sys.dm_exec_sessions"), "the connection broke: reset");
    assert_eq!(reason("sys.dm_db_log_info"), "not asked: nobody listens there");
}

#[test]
fn a_snapshot_of_a_later_version_and_other_json_are_refused() {
    let (_, snapshot) = conversation(|_| Answer::Rows(Rows::default()));
    let later = snapshot
        .to_json()
        .replacen("\"snapshot_version\": 1", "\"snapshot_version\": 2", 1);
    assert!(
        Snapshot::from_json(&later)
            .unwrap_err()
            .contains("a snapshot of version 2")
    );
    assert!(Snapshot::from_json("{}").unwrap_err().contains("no snapshot"));
    assert!(!Snapshot::is_json_of_one("{\"vlfs\": []}"));
}
