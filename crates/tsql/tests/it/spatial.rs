//! The types `geometry` and `geography`: a database that has them says so in its boot record, and their values survive a stop, a power cut, backup
//! and restore, short and long, beside CHECKDB; in variables, parameters, table types, procedures, indexes' included columns.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use disk::Disk;
use engine::page::{HEADER_BYTES, PAGE_BYTES, seal};
use engine::store::BOOT_PAGES;
use vlf::ServerVersion;

use crate::story::{Again, Story};

/// The bit of the boot record's further features, and where a page has them: behind its header and the head of its row.
const SPATIAL: u32 = 8;
const AT_FURTHER_FEATURES: usize = HEADER_BYTES + 10 + 232;

/// Whether a copy of the boot record has the bit.
fn has_spatial(story: &Story) -> bool {
    let path = Path::new("/instance/data/shop.mdf");
    let file = story.disk.open(path, disk::Access::Buffered).unwrap();
    BOOT_PAGES.into_iter().any(|id| {
        let mut page = [0; PAGE_BYTES];
        file.read_at(id.file_offset(), &mut page).unwrap();
        u32::from_le_bytes(*page[AT_FURTHER_FEATURES..].first_chunk().unwrap()) & SPATIAL != 0
    })
}

/// A line of 3,000 points: 48,047 bytes, which lie outside of the row.
const LONG_LINE: &str = "declare @t nvarchar(max) = N'LINESTRING(0 0', @i int = 1
while @i < 3000 begin set @t += concat(N',', @i % 90, N' ', @i / 100.0) set @i += 1 end
insert places (id, spot, area) values (4, geography::Parse(@t + N')'), geometry::Parse(@t + N')'))";

#[test]
fn values_survive_stops_power_cuts_and_restores() {
    let mut story = Story::as_version(ServerVersion::V2022);
    story.run("create database shop");
    story.run("use shop create table plain (id int)");
    assert!(!has_spatial(&story));
    story.run("create table places (id int not null primary key, spot geography null, area geometry null)");
    assert!(has_spatial(&story), "the bit is there before the column");
    story.run("insert places values (1, geography::Point(47.65, -122.35, 4326), 'POINT(1 2)'), (2, null, null)");
    story.run("insert places (id, area) values (3, 'COMPOUNDCURVE((0 0, 1 0), CIRCULARSTRING(1 0, 2 1, 3 0))')");
    story.run(LONG_LINE);
    let check = |story: &mut Story| {
        story.run("use shop");
        let short =
            "select concat(id, '|', spot.ToString(), '|', area.ToString()) from places where id < 4 order by id";
        assert_eq!(
            story.rows(short),
            [
                "1|POINT (-122.35 47.65)|POINT (1 2)",
                "2||",
                "3||COMPOUNDCURVE ((0 0, 1 0), CIRCULARSTRING (1 0, 2 1, 3 0))"
            ]
        );
        let long = "select datalength(spot), area.STNumPoints(), area.STPointN(2999).ToString(), spot.STEndPoint().Lat from places where id = 4";
        assert_eq!(story.rows(long), ["48032 3000 POINT (28 29.98) 29.99"]);
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
    assert!(has_spatial(&story));
    // A change of another column leaves the long value where it is, and a change of its own takes its place.
    story.run("alter table places add note varchar(10)");
    story.run("update places set note = 'x'");
    assert_eq!(
        story.rows("select datalength(area) from places where id = 4"),
        ["48032"]
    );
    story.run("update places set area = area.STPointN(5) where id = 4");
    assert_eq!(
        story.rows("select area.ToString() from places where id = 4"),
        ["POINT (4 0.04)"]
    );
    story.is_sound("shop");
}

#[test]
fn a_view_and_a_table_type_set_the_bit() {
    for made in [
        "create type spots as table (spot geography)",
        "create view shapes as select geometry::Point(1, 2, 0) as shape",
    ] {
        let mut story = Story::as_version(ServerVersion::V2022);
        story.run("create database shop");
        story.run("use shop");
        assert!(!has_spatial(&story));
        story.run(made);
        assert!(has_spatial(&story), "{made}");
    }
}

#[test]
fn values_go_through_modules_table_types_and_included_columns() {
    let mut story = Story::as_version(ServerVersion::V2022);
    story.run("create table places (id int primary key, spot geography, name varchar(10))");
    story.run("create type spots as table (id int, spot geography)");
    story.run("create function north(@spot geography) returns float as begin return @spot.Lat end");
    story.run("create function moved(@spot geography) returns geography as begin return geography::Point(@spot.Lat + 1, @spot.Long, 4326) end");
    story.run("create procedure add_places @new spots readonly as insert places (id, spot) select id, spot from @new");
    story.run("create index names on places (name) include (spot)");
    story.run("declare @s spots insert @s values (1, 'POINT(2 3)'), (2, null) exec add_places @s");
    let rows = "select concat(id, ' ', dbo.north(spot), ' ', dbo.moved(spot).ToString()) from places where id <= ";
    assert_eq!(story.rows(&format!("{rows} 1")), ["1 3 POINT (2 4)"]);
    // The latitude of NULL is NULL, which Point does not take.
    assert_eq!(story.errors(&format!("{rows} 2")), [6569]);
    story.run("update places set name = 'a' where id = 1");
    let named = "select spot.Long from places with (index (names)) where name = 'a'";
    assert_eq!(story.rows(named), ["2"]);
    let held = "declare @g geography select top (1) @g = spot from places where id = 1 select @g.ToString()";
    assert_eq!(story.rows(held), ["POINT (2 3)"]);
    let told = "exec sp_executesql N'select @g.Lat', N'@g geography', @g = 'POINT(5 6)'";
    assert_eq!(story.rows(told), ["6"]);
}

/// Each has a meaning that is not known here, and must not be accepted as if it were.
#[test]
fn what_is_computed_of_shapes_is_refused_by_name() {
    let mut story = Story::as_version(ServerVersion::V2022);
    story.run("create table places (id int primary key, spot geography, area geometry)");
    for member in [
        "STDistance('POINT(1 1)')",
        "STIntersects('POINT(1 1)')",
        "STBuffer(1)",
        "STArea()",
        "MakeValid()",
    ] {
        for column in ["spot", "area"] {
            let batch = format!("select {column}.{member} from places");
            assert_eq!(story.errors(&batch), [40517], "{batch}");
        }
    }
    assert_eq!(story.errors("create spatial index near on places (spot)"), [40517]);
    assert_eq!(story.errors("create type point from geometry"), [40517]);
    assert_eq!(
        story.errors("declare @g geometry = 'POINT(1 2)' select @g.STX.STY"),
        [258]
    );
    assert_eq!(story.errors("select id.STX from places"), [4104]);
    assert_eq!(story.errors("select spot.Latitude from places"), [6592]);
}

/// The column of that name wins over the property, as SQL Server reads a name of two parts.
#[test]
fn a_column_named_like_a_property_is_the_column() {
    let mut story = Story::as_version(ServerVersion::V2022);
    story.run("create table spot (Lat int, spot geography)");
    story.run("insert spot values (7, geography::Point(1, 2, 4326))");
    assert_eq!(story.rows("select spot.Lat from spot"), ["7"]);
    assert_eq!(story.rows("select spot.spot.Lat from spot"), ["1"]);
}

/// A value on a page whose checksum fits says bytes that are no value: CHECKDB reads them, in a heap, a tree and a partition, in the row and beside.
#[test]
fn bytes_that_are_no_value_are_found_by_checkdb() {
    let parted = [
        "create partition function by_id (int) as range for values (1)",
        "create partition scheme on_primary as partition by_id all to ([primary])",
        "create table places (id int, spot geography, note char(10)) on on_primary (id)",
    ];
    let cases: [&[&str]; 3] = [
        &["create table places (id int, spot geography, note char(10))"],
        &["create table places (id int primary key, spot geography, note char(10))"],
        &parted,
    ];
    for made in cases {
        for is_long in [false, true] {
            let mut story = Story::as_version(ServerVersion::V2022);
            story.run("create database shop");
            story.run("use shop");
            made.iter().for_each(|batch| story.run(batch));
            story.run("insert places (id, spot) values (1, geography::Point(11.5, 12.25, 4326)), (2, null)");
            story.run(match is_long {
                false => "insert places (id, spot) values (3, geography::Point(13.5, 14, 4326))",
                true => {
                    "declare @t nvarchar(max) = replicate(cast(N'1 1, 2 2, ' as nvarchar(max)), 2000)
                     insert places (id, spot) values (3, 'LINESTRING(' + @t + '14 13.5)')"
                }
            });
            story.is_sound("shop");
            story.run("use master alter database shop set offline");
            let changed = overwrite(&story, &13.5f64.to_le_bytes(), &91f64.to_le_bytes());
            assert_eq!(changed, 1, "{made:?}");
            story.run("alter database shop set online");
            let found = story.answer("dbcc checkdb (shop) with no_infomsgs");
            let wanted = "Column \"spot\" value is out of range for data type \"geography\" in 1 rows";
            assert!(found.contains("Msg 2570, Level 16"), "{made:?}: {found}");
            assert!(found.contains(wanted), "{made:?}: {found}");
            let found = story.answer("use shop dbcc checktable (places)");
            assert!(found.contains("Msg 2570"), "{made:?}: {found}");
            let read = "select spot.STNumPoints() from places where id = 3";
            assert_eq!(story.errors(read), [6522], "{made:?}");
        }
    }
}

/// Writes other bytes over those on the pages of the database, whose checksums it makes again; how many there were.
fn overwrite(story: &Story, old: &[u8], new: &[u8]) -> usize {
    let path = Path::new("/instance/data/shop.mdf");
    let file = story.disk.open(path, disk::Access::Buffered).unwrap();
    let mut changed = 0;
    let mut page = [0; PAGE_BYTES];
    for at in (0..file.len().unwrap()).step_by(PAGE_BYTES) {
        file.read_at(at, &mut page).unwrap();
        let found = page.windows(old.len()).position(|window| window == old);
        if let Some(found) = found {
            page[found..found + new.len()].copy_from_slice(new);
            seal(&mut page);
            file.write_at(at, &page).unwrap();
            changed += 1;
        }
    }
    file.sync().unwrap();
    changed
}
