//! A walk over the tables of words (`syntax::grammar`): every word that may stand as an option has its effect, with a proof,
//! or is refused by a number that names it.
//!
//! The walk goes over the tables that the server itself asks (`syntax::grammar::PLACES`). A word that is added there without a
//! proof here fails the test, and so does a statement whose table is not asked, for it then takes words that do not exist.
#![allow(clippy::unwrap_used)]

use crate::grammar_proofs;
use crate::transcript;

use disk::Access;
use grammar_proofs::{FILE_PROOFS, KEPT_PROOFS, PROOFS, Proof};
use transcript::{Transcript, instance, session};
use tsql::grammar::{Fate, PLACES, Place, Unknown, Word};
use tsql::session::Session;

fn run(session: &mut Session, batch: &str) -> String {
    let mut transcript = Transcript::default();
    session.execute(batch, &mut transcript);
    transcript.text
}

/// What the statements below are about.
const SETUP: &str = "set nocount on create table t (a int not null primary key, b varchar(20)) insert t values (1, 'one'), (2, 'two') \
                     create table c (a int not null constraint ck check (a > 0)) create index ib on t (b)";

/// A format file of one field.
const ONE_FIELD: &str = "14.0\n1\n1 SQLCHAR 0 9 \"\\n\" 1 a \"\"\n";

/// A place, and a statement with an option in it.
const STATEMENTS: [(&str, &str); 35] = [
    ("SET", "set {}"),
    ("SET with a value", "set {}"),
    ("SET STATISTICS", "set statistics {}"),
    ("SET OFFSETS", "set offsets {}"),
    ("CREATE STATISTICS WITH", "create statistics s on t (b) with {}"),
    ("UPDATE STATISTICS WITH", "update statistics t with {}"),
    ("OPTION", "select a from t order by a option ({})"),
    ("USE HINT", "select a from t order by a option (use hint ('{}'))"),
    ("WITH of a table", "select a from t with ({}) order by a"),
    ("CREATE INDEX WITH", "create index i on t (b) with ({})"),
    ("ALTER INDEX SET", "alter index ib on t set ({})"),
    ("CREATE TABLE WITH", "create table n (a int) with ({})"),
    (
        "SYSTEM_VERSIONING = ON",
        "create table n (a int primary key, f datetime2 generated always as row start, u datetime2 generated always as row end, \
         period for system_time (f, u)) with (system_versioning = on ({}))",
    ),
    ("ALTER TABLE SET", "alter table t set ({})"),
    (
        "ALTER COLUMN WITH",
        "alter table t alter column b varchar(20) with ({})",
    ),
    ("DROP INDEX WITH", "drop index ib on t with ({})"),
    ("REORGANIZE WITH", "alter index ib on t reorganize with ({})"),
    ("REBUILD WITH", "alter index all on t rebuild with ({})"),
    (
        "REBUILD PARTITION = number WITH",
        "create partition function pf (int) as range for values (5) create partition scheme ps as partition pf all to ([primary]) \
         create table pt (a int primary key) on ps (a) alter index all on pt rebuild partition = 1 with ({})",
    ),
    ("CREATE DATABASE WITH", "create database n with {}"),
    ("ALTER DATABASE SET", "alter database x set {}"),
    (
        "ALTER DATABASE SCOPED CONFIGURATION",
        "alter database scoped configuration set {}",
    ),
    ("BACKUP WITH", "backup database x to disk = 'n.bak' with {}"),
    (
        "RESTORE WITH",
        "restore database x from disk = 'x.bak' with replace, {}",
    ),
    ("DBCC", "dbcc {}"),
    ("DBCC WITH", "dbcc checkdb (x) with {}"),
    ("DBCC TRACEON", "dbcc traceon ({})"),
    ("DECLARE CURSOR", "declare k cursor {} for select a from t order by a"),
    (
        "CREATE PROCEDURE WITH",
        "create procedure p with {} as select a from t order by a",
    ),
    (
        "CREATE FUNCTION WITH",
        "create function f () returns int with {} as begin return 1 end",
    ),
    ("CREATE VIEW WITH", "create view v with {} as select a from dbo.t"),
    (
        "CREATE TRIGGER WITH",
        "create trigger r on t with {} after insert as return",
    ),
    ("INSERT BULK", "insert bulk t (a int, b varchar(20)) with ({})"),
    ("BULK INSERT WITH", "bulk insert t from 'empty.txt' with ({})"),
    (
        "OPENROWSET(BULK ...)",
        "select * from openrowset(bulk 'empty.txt', formatfile = 'one.fmt', {}) x",
    ),
];

/// How an option is written where its name alone is not enough.
const WRITTEN: [(&str, &str, &str); 40] = [
    ("UPDATE STATISTICS WITH", "ROWCOUNT", "rowcount = 1000"),
    ("UPDATE STATISTICS WITH", "PAGECOUNT", "pagecount = 1000"),
    ("INSERT BULK", "ORDER", "order (a)"),
    ("INSERT BULK", "ROWS_PER_BATCH", "rows_per_batch = 100"),
    ("BULK INSERT WITH", "ROWS_PER_BATCH", "rows_per_batch = 100"),
    ("BULK INSERT WITH", "KILOBYTES_PER_BATCH", "kilobytes_per_batch = 8"),
    ("OPENROWSET(BULK ...)", "ROWS_PER_BATCH", "rows_per_batch = 100"),
    ("INSERT BULK", "KILOBYTES_PER_BATCH", "kilobytes_per_batch = 8"),
    ("ALTER DATABASE SET", "ENABLE_BROKER", "enable_broker"),
    (
        "ALTER DATABASE SET",
        "ERROR_BROKER_CONVERSATIONS",
        "error_broker_conversations",
    ),
    ("ALTER DATABASE SET", "NEW_BROKER", "new_broker"),
    ("CREATE FUNCTION WITH", "INLINE", "inline = on"),
    ("OPTION", "MAX_GRANT_PERCENT", "max_grant_percent = 10"),
    ("OPTION", "MIN_GRANT_PERCENT", "min_grant_percent = 10"),
    ("OPTION", "QUERYTRACEON", "querytraceon 4199"),
    ("OPTION", "TABLE HINT", "table hint (t, nolock)"),
    ("OPTION", "USE PLAN", "use plan N'<x/>'"),
    ("SET", "FORCEPLAN", "forceplan on"),
    ("CREATE INDEX WITH", "MAXDOP", "maxdop = 2"),
    ("DROP INDEX WITH", "MAXDOP", "maxdop = 2"),
    ("DROP INDEX WITH", "MOVE", "move to [primary]"),
    (
        "DROP INDEX WITH",
        "WAIT_AT_LOW_PRIORITY",
        "wait_at_low_priority (max_duration = 1 minutes, abort_after_wait = self)",
    ),
    ("CREATE INDEX WITH", "MAX_DURATION", "max_duration = 2"),
    ("REBUILD WITH", "MAXDOP", "maxdop = 2"),
    ("REBUILD PARTITION = number WITH", "MAXDOP", "maxdop = 2"),
    ("ALTER DATABASE SET", "PARTNER", "partner off"),
    ("ALTER DATABASE SET", "WITNESS", "witness off"),
    ("ALTER DATABASE SET", "DEFAULT_LANGUAGE", "default_language = 1033"),
    (
        "ALTER DATABASE SET",
        "DEFAULT_FULLTEXT_LANGUAGE",
        "default_fulltext_language = 1033",
    ),
    ("ALTER DATABASE SET", "NESTED_TRIGGERS", "nested_triggers = off"),
    (
        "ALTER DATABASE SET",
        "TRANSFORM_NOISE_WORDS",
        "transform_noise_words = off",
    ),
    (
        "ALTER DATABASE SET",
        "TWO_DIGIT_YEAR_CUTOFF",
        "two_digit_year_cutoff = 2049",
    ),
    ("ALTER DATABASE SET", "AUTOMATIC_TUNING", "automatic_tuning = auto"),
    ("BACKUP WITH", "BLOCKSIZE", "blocksize = 4096"),
    ("BACKUP WITH", "BUFFERCOUNT", "buffercount = 4"),
    ("BACKUP WITH", "MAXTRANSFERSIZE", "maxtransfersize = 65536"),
    ("RESTORE WITH", "BLOCKSIZE", "blocksize = 4096"),
    ("RESTORE WITH", "BUFFERCOUNT", "buffercount = 4"),
    ("RESTORE WITH", "MAXTRANSFERSIZE", "maxtransfersize = 65536"),
    ("DBCC WITH", "MAXDOP", "maxdop = 2"),
];

/// Places whose words take ON or OFF unless something else is written above.
const SWITCHED: [&str; 8] = [
    "ALTER INDEX SET",
    "CREATE INDEX WITH",
    "CREATE TABLE WITH",
    "ALTER TABLE SET",
    "REBUILD WITH",
    "REBUILD PARTITION = number WITH",
    "ALTER DATABASE SET",
    "SET OFFSETS",
];

/// A value other than the ones that say what is so.
fn another(word: &Word, value: &str) -> &'static str {
    match value {
        "OFF" if word.name == "FIPS_FLAGGER" => "'full'",
        "ON" | "TABLE" => "OFF",
        "OFF" => "ON",
        "NONE" => "PARTIAL",
        "0" => "77",
        "GLOBAL" => "LOCAL",
        "DISABLED" => "FORCED",
        "CHECKSUM" => "NONE",
        "SIMPLE" => "FORCED",
        "CALLER" => "LOGIN",
        "CSV" => "'PARQUET'",
        "ACP" => "'OEM'",
        "SCHEMA_AND_DATA" => "SCHEMA_ONLY",
        "(NON_TRANSACTED_ACCESS = OFF)" => "(NON_TRANSACTED_ACCESS = FULL)",
        other => panic!("what else is there but {other}?"),
    }
}

/// The sources that hold the tests named as proofs.
const SOURCES: [(&str, &str); 31] = [
    ("log_marks", include_str!("log_marks.rs")),
    ("filegroups", include_str!("filegroups.rs")),
    ("cursors", include_str!("cursors.rs")),
    ("temporal", include_str!("temporal.rs")),
    ("clones", include_str!("clones.rs")),
    ("backup_history", include_str!("backup_history.rs")),
    ("log_records", include_str!("log_records.rs")),
    ("index_options", include_str!("index_options.rs")),
    ("bulk_load", include_str!("bulk_load.rs")),
    ("bulk_insert", include_str!("bulk_insert.rs")),
    ("triggers", include_str!("triggers.rs")),
    ("parameterization", include_str!("parameterization.rs")),
    ("plan_trees", include_str!("plan_trees.rs")),
    ("figures", include_str!("figures.rs")),
    ("plan_cache", include_str!("plan_cache.rs")),
    ("rules", include_str!("rules.rs")),
    ("statistics", include_str!("statistics.rs")),
    ("user_functions", include_str!("user_functions.rs")),
    ("bulk", include_str!("bulk.rs")),
    ("hints", include_str!("hints.rs")),
    ("indexed_views", include_str!("indexed_views.rs")),
    ("versions", include_str!("versions.rs")),
    ("join_hints", include_str!("join_hints.rs")),
    ("stream_groups", include_str!("stream_groups.rs")),
    ("given_once", include_str!("given_once.rs")),
    ("good_checks", include_str!("good_checks.rs")),
    ("ignored_duplicates", include_str!("ignored_duplicates.rs")),
    ("set_options", include_str!("set_options.rs")),
    ("system_statements", include_str!("system_statements.rs")),
    ("statements", include_str!("statements.rs")),
    ("transcripts", include_str!("transcripts.rs")),
];

fn statement(place: &Place, option: &str) -> String {
    let (_, template) = STATEMENTS
        .iter()
        .find(|(name, _)| *name == place.name)
        .unwrap_or_else(|| panic!("no statement shows {}", place.name));
    let template = match option {
        "clear procedure_cache" => "alter database scoped configuration {}",
        _ => template,
    };
    template.replace("{}", option)
}

/// A word with one value.
fn with_value(place: &Place, word: &Word, value: &str) -> String {
    let name = word.name.to_lowercase();
    match value {
        "" => name,
        _ if value.starts_with('(') => format!("{name} {value}"),
        _ => format!("{name}{}{value}", place.joint),
    }
}

/// A word as it is written in a statement.
fn written(place: &Place, word: &Word) -> String {
    let found = WRITTEN
        .iter()
        .find(|(name, wanted, _)| *name == place.name && *wanted == word.name);
    match found {
        Some((_, _, written)) => (*written).to_owned(),
        None if SWITCHED.contains(&place.name) => with_value(place, word, "ON"),
        None => word.name.to_lowercase(),
    }
}

/// The answer of a statement in a database of its own, where files and backups are at hand.
fn answer_of(place: &Place, batch: &str) -> String {
    let instance = instance();
    let mut one = session(&instance);
    if ["ALTER DATABASE SET", "BACKUP WITH", "RESTORE WITH", "DBCC WITH"].contains(&place.name) {
        run(&mut one, "create database x");
        run(&mut one, "backup database x to disk = 'x.bak'");
    }
    for (name, content) in [("empty.txt", ""), ("one.fmt", ONE_FIELD)] {
        let disk = &instance.env.disk;
        let path = instance.folder().join("data").join(name);
        disk.create(&path, Access::Buffered)
            .unwrap()
            .write_at(0, content.as_bytes())
            .unwrap();
    }
    assert_eq!(run(&mut one, SETUP), "");
    run(&mut one, batch)
}

fn numbers(answer: &str) -> Vec<i32> {
    let errors = answer.split("Msg ").skip(1);
    let serious = errors.filter(|text| !text.contains("Level 10,") && !text.contains("Level 0,"));
    serious
        .filter_map(|text| text.split(',').next()?.parse().ok())
        .collect()
}

/// 40517 that names the word.
fn is_refused(answer: &str, word: &str) -> bool {
    numbers(answer) == [40517] && answer.to_uppercase().contains(word)
}

/// Whether the number that a word refuses other values by, when it is run, has its proof.
fn is_proved_to_refuse(place: &Place, word: &Word) -> bool {
    let Fate::OnlyWhenRun(_, number) = word.fate else {
        return true;
    };
    PROOFS.iter().any(|(name, wanted, proof)| {
        let Proof::Answers(_, answer) = proof else { return false };
        *name == place.name && *wanted == word.name && *answer == format!("Msg {number}")
    })
}

fn every_proof() -> impl Iterator<Item = &'static (&'static str, &'static str, Proof)> {
    PROOFS.iter().chain(KEPT_PROOFS).chain(FILE_PROOFS)
}

fn faults_of(place: &Place, word: &Word, faults: &mut Vec<String>) {
    let mut fault = |what: String| faults.push(format!("{}: {}: {what}", place.name, word.name));
    match word.fate {
        Fate::Refused => {
            let batch = statement(place, &written(place, word));
            let answer = answer_of(place, &batch);
            if !is_refused(&answer, word.name) {
                fault(format!("{batch} is not refused by name: {answer}"));
            }
        }
        Fate::Only(values) => {
            for value in values {
                let batch = statement(place, &with_value(place, word, value));
                let found = numbers(&answer_of(place, &batch));
                if !found.is_empty() {
                    fault(format!("{batch} is refused: {found:?}"));
                }
            }
            if values != [""] {
                let batch = statement(place, &with_value(place, word, another(word, values[0])));
                let answer = answer_of(place, &batch);
                let named = if place.name == "SET OFFSETS" {
                    "OFFSETS"
                } else {
                    word.name
                };
                if !is_refused(&answer, named) {
                    fault(format!("{batch} is not refused by name: {answer}"));
                }
            }
        }
        Fate::Advice => {
            let batch = statement(place, &written(place, word));
            let found = numbers(&answer_of(place, &batch));
            if !found.is_empty() {
                fault(format!("{batch} is refused: {found:?}"));
            }
        }
        Fate::Obeyed | Fate::OnlyWhenRun(..) => {
            if !is_proved_to_refuse(place, word) {
                fault("no proof that other values are refused by its number".to_owned());
            }
            let proofs: Vec<&Proof> = every_proof()
                .filter(|(name, wanted, _)| *name == place.name && *wanted == word.name)
                .map(|(_, _, proof)| proof)
                .collect();
            if proofs.is_empty() {
                fault("no proof of its effect".to_owned());
            }
            for proof in proofs {
                match proof {
                    Proof::Answers(batch, wanted) => {
                        let answer = answer_of(place, batch);
                        if !answer.contains(wanted) {
                            fault(format!("{batch} answers {answer}"));
                        }
                    }
                    Proof::Test(file, name) => {
                        let source = SOURCES.iter().find(|(source, _)| source == file);
                        let (_, source) = source.unwrap_or_else(|| panic!("no source {file}"));
                        if !source.contains(&format!("fn {name}()")) || !source.to_uppercase().contains(word.name) {
                            fault(format!("no test {name} in {file} that names it"));
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn every_word_of_the_grammar_is_obeyed_or_refused_by_name() {
    let mut faults = Vec::new();
    let mut count = 0;
    for place in PLACES {
        for word in place.words {
            count += 1;
            faults_of(place, word, &mut faults);
        }
    }
    assert!(count > 300, "{count} words");
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

/// Every proof is of a word that there is, and obeyed.
#[test]
fn no_proof_is_of_nothing() {
    for (name, wanted, _) in every_proof() {
        let place = PLACES.iter().find(|place| place.name == *name);
        let place = place.unwrap_or_else(|| panic!("no place {name}"));
        let word = place
            .word(wanted)
            .unwrap_or_else(|| panic!("no word {wanted} at {name}"));
        let is_proved = matches!(word.fate, Fate::Obeyed | Fate::OnlyWhenRun(..));
        assert!(is_proved, "{name}: {wanted}");
    }
}

/// Words that do not exist: each place refuses them by SQL Server's number for it.
#[test]
fn words_that_there_are_not_are_refused() {
    for place in PLACES {
        let number = match place.unknown {
            Unknown::Option(_) => 155,
            Unknown::SetOption => 195,
            Unknown::Syntax => 102,
            Unknown::TableHint => 321,
            Unknown::Dbcc => 2526,
            Unknown::UseHint => 10715,
            Unknown::TraceFlag => 40517,
        };
        let option = match place.name {
            "DBCC TRACEON" => "4711".to_owned(),
            "SET with a value" => "banana 5".to_owned(),
            "SET" | "SET STATISTICS" | "SET OFFSETS" => "banana on".to_owned(),
            _ if SWITCHED.contains(&place.name) => format!("banana{}on", place.joint),
            _ => "banana".to_owned(),
        };
        let batch = statement(place, &option);
        let answer = answer_of(place, &batch);
        assert_eq!(numbers(&answer), [number], "{batch}: {answer}");
    }
}

/// Clauses that are no words of a list: the statement, and what it is refused by.
const CLAUSES: [(&str, i32, &str); 10] = [
    ("declare @x xml set @x.other('delete /a')", 40517, "method other"),
    ("create login l with password = 'x'", 40517, "LOGIN"),
    ("grant select (a) on t (a) to public", 1019, "GRANT/REVOKE"),
    ("create index i on t (a) where a > 1 or a < 0", 156, "'or'"),
    ("create table n (a int, index i (a) where a like 1)", 156, "'like'"),
    ("create table n (a int sparse)", 40517, "SPARSE"),
    ("bulk insert t from 'x.csv' with (order)", 102, "'ORDER'"),
    ("bulk insert t from 'x.csv' with (tablock = 1)", 102, "'TABLOCK'"),
    (
        "bulk insert t from 'x.csv' with (codepage = 'OEM')",
        40517,
        "CODEPAGE = OEM",
    ),
    (
        "create procedure p as begin if 1 = 0 grant insert (a) on t to public end",
        1020,
        "Sub-entity",
    ),
];

#[test]
fn clauses_that_are_not_done_are_refused_before_anything_runs() {
    for (clause, number, named) in CLAUSES {
        let mut one = session(&instance());
        run(&mut one, SETUP);
        let batch = if clause.starts_with("create view")
            || clause.starts_with("create proc")
            || clause.starts_with("create schema")
        {
            clause.to_owned()
        } else {
            format!("delete t {clause}")
        };
        let answer = run(&mut one, &batch);
        assert_eq!(numbers(&answer), [number], "{clause}: {answer}");
        assert!(answer.contains(named), "{clause}: {answer}");
        assert!(
            run(&mut one, "select count(*) from t").contains("\n  2\n"),
            "after {clause}"
        );
    }
}

/// ALTER INDEX REBUILD makes an index again: deleted rows leave it, and it keeps its id, its place and its use.
#[test]
fn a_rebuilt_index_is_made_anew_and_stays_what_it_was() {
    for rebuild in ["alter index ib on r rebuild", "alter index all on r rebuild"] {
        for clustered in ["primary key", "unique nonclustered"] {
            let mut one = session(&instance());
            run(
                &mut one,
                &format!(
                    "set nocount on create table r (a int not null {clustered}, b char(200), c int) create unique index ic on r (c) create index ib on r (b)"
                ),
            );
            run(
                &mut one,
                "declare @i int = 0 while @i < 900 begin insert r values (@i, str(@i), @i) set @i += 1 end delete r where a >= 10",
            );
            let indexes = "select string_agg(concat(index_id, name), ' ') from sys.indexes where object_id = object_id('r') and name in ('ib', 'ic')";
            // Ids of storage are never given twice: new ones say that there are new pages.
            let storage = "select max(hobt_id) from sys.partitions where object_id = object_id('r')";
            let before = (run(&mut one, indexes), run(&mut one, storage));
            let answer = run(&mut one, rebuild);
            assert_eq!(answer, "", "{rebuild} {clustered}");
            assert_eq!(run(&mut one, indexes), before.0, "{rebuild} {clustered}");
            assert_ne!(run(&mut one, storage), before.1, "{rebuild} {clustered}");
            let found = run(&mut one, "select count(*) from r with (index(ib)) where b < 'a'");
            assert!(found.contains("\n  10\n"), "{rebuild} {clustered}: {found}");
            assert!(
                run(&mut one, "insert r values (99, 'x', 3)").contains("Msg 2601"),
                "still unique"
            );
            assert_eq!(
                run(&mut one, "dbcc checkdb with no_infomsgs"),
                "",
                "{rebuild} {clustered}"
            );
        }
    }
    let mut one = session(&instance());
    run(&mut one, SETUP);
    assert!(run(&mut one, "alter index nope on t rebuild").contains("Msg 2727, Level 11, State 1"));
    assert!(run(&mut one, "alter table c check constraint nope").contains("Msg 4917"));
    assert_eq!(run(&mut one, "alter table c nocheck constraint ck"), "");
    assert_eq!(run(&mut one, "alter table c with check check constraint ck"), "");
}
