//! `vlflab sample credit`: the backup it writes, the database it restores to, and what it refuses.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        let path = std::env::temp_dir().join(format!("vlflab-sample-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn vlflab(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vlflab"));
    command.args(arguments).arg("--data").arg(folder).output().unwrap()
}

fn sql(folder: &Path, query: &str) -> String {
    let output = vlflab(
        folder,
        &[
            "sql",
            "--sql-version",
            "2012",
            "-W",
            "-s",
            "|",
            "-h",
            "-1",
            "-b",
            "-Q",
            query,
        ],
    );
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success(),
        "{query}: {text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    text
}

const RESTORE: &str = r"SET NOCOUNT ON
RESTORE DATABASE Credit FROM DISK = N'C:\SQLBackups\CreditBackup100.bak' WITH FILE = 1,
MOVE N'CreditData' TO N'C:\SQLData\CreditData.mdf', MOVE N'CreditLog' TO N'L:\SQLLogs\CreditLog.ldf', NOUNLOAD";

const QUESTIONS: &str = "SET NOCOUNT ON
SELECT (SELECT count(*) FROM charge), (SELECT min(charge_no) FROM charge), (SELECT max(charge_no) FROM charge),
(SELECT count(*) FROM statement), (SELECT count(*) FROM payment), (SELECT count(*) FROM member), (SELECT count(*) FROM member2)
SELECT count(*) FROM sys.columns AS c JOIN sys.tables AS t ON t.object_id = c.object_id
SELECT name FROM sys.types WHERE is_user_defined = 1 ORDER BY name
SELECT parent.name, referenced.name FROM sys.foreign_keys AS k JOIN sys.tables AS parent ON parent.object_id = k.parent_object_id
JOIN sys.tables AS referenced ON referenced.object_id = k.referenced_object_id ORDER BY parent.name, referenced.name
SELECT o.name, i.name, c.name FROM sys.indexes AS i JOIN sys.tables AS o ON o.object_id = i.object_id
JOIN sys.index_columns AS x ON x.object_id = i.object_id AND x.index_id = i.index_id
JOIN sys.columns AS c ON c.object_id = x.object_id AND c.column_id = x.column_id WHERE i.index_id > 1 ORDER BY o.name, i.name
SELECT count(*), sum(CAST(is_not_trusted AS int)) FROM sys.check_constraints
SELECT count(*) FROM sys.default_constraints
SELECT count(*) FROM charge AS c LEFT JOIN member AS m ON m.member_no = c.member_no WHERE m.member_no IS NULL
SELECT name, size, growth, is_percent_growth FROM sys.database_files ORDER BY file_id
SELECT recovery_model_desc FROM sys.databases WHERE name = 'Credit'
INSERT charge (member_no, provider_no, category_no, charge_dt, charge_amt) SELECT member_no, provider_no, category_no, charge_dt, charge_amt
FROM charge WHERE charge_no = 1
SELECT max(charge_no) FROM charge";

/// What the questions are answered, line by line.
const ANSWERS: [&str; 38] = [
    "16000|1|416000|20000|15554|10000|10000",
    "93",
    "countrycode",
    "letter",
    "mailcode",
    "normstring",
    "numeric_id",
    "phonenumber",
    "shortstring",
    "statecode",
    "status_code",
    "charge|category",
    "charge|member",
    "charge|provider",
    "corporation|region",
    "member|corporation",
    "member|region",
    "payment|member",
    "provider|region",
    "statement|member",
    "charge|charge_category_link|category_no",
    "charge|charge_provider_link|provider_no",
    "charge|charge_statement_link|statement_no",
    "corporation|corporation_region_link|region_no",
    "member|member_corporation_link|corp_no",
    "member|member_region_link|region_no",
    "member2|member2CorpFK|corp_no",
    "member2|member2RegionFK|region_no",
    "payment|payment_member_link|member_no",
    "provider|provider_region_link|region_no",
    "statement|statement_member_link|member_no",
    "2|0",
    "16",
    "0",
    "CreditData|128000|10|1",
    "CreditLog|51200|10|1",
    "SIMPLE",
    "416001",
];

#[test]
fn the_sample_restores_to_the_published_shape_and_replaces_nothing_unasked() {
    let folder = Folder::new();
    let made = vlflab(&folder.0, &["sample", "credit", "--charge-rows", "16000"]);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    assert!(folder.0.join("c/SQLBackups/CreditBackup100.bak").exists());
    assert!(!folder.0.join("c/Credit").exists(), "the database was to be dropped");
    sql(&folder.0, RESTORE);
    let vlfs = sql(&folder.0, "SET NOCOUNT ON USE Credit DBCC LOGINFO");
    assert_eq!(vlfs.lines().filter(|line| line.contains('|')).count(), 15, "{vlfs}");
    let answers = sql(&folder.0, &format!("USE Credit\n{QUESTIONS}"));
    let lines: Vec<&str> = answers
        .lines()
        .filter(|line| !line.is_empty() && !line.contains("context"))
        .collect();
    assert_eq!(lines, ANSWERS, "{answers}");
    let again = vlflab(&folder.0, &["sample", "credit", "--charge-rows", "16"]);
    assert_eq!(again.status.code(), Some(2));
    let reason = String::from_utf8_lossy(&again.stderr).into_owned();
    assert!(reason.contains("--replace"), "{reason}");
    assert_eq!(
        sql(&folder.0, "SET NOCOUNT ON SELECT count(*) FROM Credit..charge").trim(),
        "16001"
    );
    let replaced = vlflab(
        &folder.0,
        &["sample", "credit", "--charge-rows", "16", "--replace", "--keep"],
    );
    assert!(
        replaced.status.success(),
        "{}",
        String::from_utf8_lossy(&replaced.stderr)
    );
    assert_eq!(
        sql(&folder.0, "SET NOCOUNT ON SELECT count(*) FROM Credit..charge").trim(),
        "16"
    );
}
