//! The last good check of a database: DBCC CHECKDB writes its time to the boot record, DBCC DBINFO and DATABASEPROPERTYEX show it, and it
//! survives restarts (sql-docs, "DATABASEPROPERTYEX"; published outputs of DBCC DBINFO).
#![allow(clippy::unwrap_used)]

use crate::story::{Again, Story};

const TOLD: &str = "select convert(varchar(30), databasepropertyex('d', 'LastGoodCheckDbTime'), 121)";

fn shown(story: &mut Story, field: &str) -> String {
    let lines = story.rows("dbcc dbinfo ('d') with tableresults, no_infomsgs");
    let line = lines.iter().find(|line| line.contains(&format!(" {field} ")));
    let line = line.unwrap_or_else(|| panic!("no {field} in {lines:?}"));
    line.split_once(&format!(" {field} ")).unwrap().1.trim().to_owned()
}

/// The time is that of the check's begin, the same in both answers; 1900-01-01 where there was none.
#[test]
fn a_database_remembers_its_last_good_check() {
    for again in Again::ALL {
        let mut story = Story::begin();
        story.run("create database d");
        assert_eq!(story.rows(TOLD), ["1900-01-01 00:00:00.000"]);
        assert_eq!(shown(&mut story, "dbi_dbccLastKnownGood"), "1900-01-01 00:00:00.000");
        assert_eq!(shown(&mut story, "dbi_dbname"), "d");
        let before = story.rows("select convert(varchar(30), getdate(), 121)");
        story.run("dbcc checkdb (d) with no_infomsgs");
        let checked = story.rows(TOLD);
        assert!(checked[0] >= before[0], "{checked:?} {before:?}");
        story.again(again, "d");
        assert_eq!(story.rows(TOLD), checked, "{again:?}");
        assert_eq!(shown(&mut story, "dbi_dbccLastKnownGood"), checked[0]);
        // A database that is only read remembers nothing new.
        story.run("alter database d set read_only dbcc checkdb (d) with no_infomsgs");
        assert_eq!(story.rows(TOLD), checked);
    }
}
