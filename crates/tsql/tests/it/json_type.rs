//! The type `json`: earlier versions do not have it, a database that has it says so in its boot record, and its values survive a stop, a
//! power cut, backup and restore, short and long, beside CHECKDB.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use disk::Disk;
use engine::page::{HEADER_BYTES, PAGE_BYTES};
use engine::store::BOOT_PAGES;
use vlf::ServerVersion;

use crate::story::{Again, Story};

/// The bit of the boot record, and where a page has it: behind its header and the head of its row.
const JSON: u32 = 536_870_912;
const AT_FEATURES: usize = HEADER_BYTES + 10 + 180;

/// Whether a copy of the boot record has the bit.
fn has_json(story: &Story) -> bool {
    let path = Path::new("/instance/data/shop.mdf");
    let file = story.disk.open(path, disk::Access::Buffered).unwrap();
    BOOT_PAGES.into_iter().any(|id| {
        let mut page = [0; PAGE_BYTES];
        file.read_at(id.file_offset(), &mut page).unwrap();
        u32::from_le_bytes(*page[AT_FEATURES..].first_chunk().unwrap()) & JSON != 0
    })
}

#[test]
fn earlier_versions_do_not_know_the_type() {
    let mut story = Story::as_version(ServerVersion::V2022);
    assert_eq!(story.errors("create table t (a json)"), [2715]);
    assert_eq!(story.errors("declare @a json"), [2715]);
    assert_eq!(story.errors("select cast('{}' as json)"), [243]);
    assert!(story.rows("select name from sys.types where name = 'json'").is_empty());
    // The name is free for a type of one's own.
    story.run("create type json from int");
    assert_eq!(story.rows("declare @a json = 7 select @a"), ["7"]);
}

#[test]
fn values_survive_stops_power_cuts_and_restores() {
    let mut story = Story::as_version(ServerVersion::V2025);
    story.run("create database shop");
    story.run("use shop create table plain (id int)");
    assert!(!has_json(&story));
    story.run("create table documents (id int not null primary key, d json null)");
    assert!(has_json(&story), "the bit is there before the column");
    story.run("insert documents values (1, '{ \"a\" : 1 }'), (2, null), (3, N'[\"\u{416}\"]')");
    story.run(
        "insert documents select 4, N'{\"long\":\"' + replicate(cast(N'\u{416}x' as nvarchar(max)), 300000) + N'\"}'",
    );
    let check = |story: &mut Story| {
        story.run("use shop");
        let short = "select id, cast(d as nvarchar(100)) from documents where id < 4 order by id";
        assert_eq!(story.rows(short), ["1 {\"a\":1}", "2 NULL", "3 [\"\u{416}\"]"]);
        let long =
            "select len(cast(d as nvarchar(max))), right(cast(d as nvarchar(max)), 4) from documents where id = 4";
        assert_eq!(story.rows(long), ["600011 \u{416}x\"}"]);
        story.is_sound("shop");
    };
    check(&mut story);
    for again in Again::ALL {
        story.again(again, "shop");
        check(&mut story);
    }
    story.run("backup database shop to disk = 'shop.bak'");
    story.run("use master drop database shop");
    story.run("restore database shop from disk = 'shop.bak'");
    check(&mut story);
    assert!(has_json(&story));
}

/// A cast to code page 1252 wrote other characters for those that it lacks, a quotation mark among them: another document. DISTINCT of COUNT
/// and the filter of an index compared documents.
#[test]
fn no_character_is_lost_and_no_document_is_compared() {
    let mut story = Story::as_version(ServerVersion::V2025);
    for foreign in ['Ж', '\u{FF02}'] {
        let cast = format!("declare @j json = N'[\"{foreign}\"]' select cast(@j as varchar(max))");
        assert_eq!(story.errors(&cast), [13640], "{foreign}");
    }
    let known = "declare @j json = N'[\"é\"]' select cast(@j as varchar(max))";
    assert_eq!(story.rows(known), ["[\"é\"]"]);
    story.run("create table t (id int, n int null, d json)");
    assert_eq!(story.errors("select count(distinct d) from t"), [8117]);
    assert_eq!(story.errors("select approx_count_distinct(d) from t"), [8117]);
    assert_eq!(story.errors("create index x on t (id) where d = '{}'"), [10735]);
    let long = "declare @j varchar(max) = '[\"' + replicate(cast('x' as varchar(max)), 100000) + '\"]'";
    story.run(&format!("{long} insert t values (1, null, @j) update t set n = 1"));
    assert_eq!(
        story.rows("select n, len(cast(d as varchar(max))) from t"),
        ["1 100004"]
    );
    let digits = "declare @j json = '[' + replicate(cast('1' as varchar(max)), 5000) + ']'";
    assert_eq!(story.errors(digits), [1007]);
}
