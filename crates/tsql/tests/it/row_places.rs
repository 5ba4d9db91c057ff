//! `%%physloc%%` and its two functions: where rows are stored, told of heaps and trees, searched by, changed by.
#![allow(clippy::unwrap_used)]

use crate::transcript;

use transcript::{Transcript, Whole, instance, session};
use tsql::session::Session;

fn run(session: &mut Session, batch: &str) -> String {
    let mut transcript = Transcript::default();
    session.execute(batch, &mut transcript);
    transcript.text
}

/// The first column of the rows.
fn values(session: &mut Session, query: &str) -> Vec<String> {
    let mut whole = Whole::default();
    session.execute(query, &mut whole);
    whole.0
}

/// `t` with a clustered index and one more, `h` a heap: 300 rows each, several to a page.
fn started() -> Session {
    let mut one = session(&instance());
    run(&mut one, "create database d");
    run(
        &mut one,
        "use d create table t (a int not null primary key, b int not null index ib, c char(300) not null) \
         create table h (a int not null, b varchar(2000) not null)",
    );
    let filled = "set nocount on declare @i int = 0 while @i < 300 begin \
        insert t values (@i, @i % 7, '') insert h values (@i, replicate('x', 300)) set @i += 1 end";
    assert_eq!(run(&mut one, filled), "");
    one
}

/// Every way to a table's rows tells the same places, which are all different: a scan, a search in the clustered index, one in another
/// index that has all columns, a lookup, an order, a count in parallel.
#[test]
fn every_way_to_a_row_tells_its_place() {
    let mut one = started();
    for table in ["t", "h"] {
        let query = format!("select concat(a, ' ', sys.fn_PhysLocFormatter(%%physloc%%)) from {table} order by a");
        let places = values(&mut one, &query);
        assert_eq!(places.len(), 300);
        let pages = format!(
            "select concat(count(distinct %%physloc%%), ' ', count(distinct p.page_id), ' ', max(p.slot_id)) \
            from {table} cross apply sys.fn_PhysLocCracker(%%physloc%%) p"
        );
        let pages = values(&mut one, &pages);
        let numbers: Vec<u32> = pages[0].split(' ').map(|number| number.parse().unwrap()).collect();
        assert_eq!(
            (numbers[0], numbers[1] > 10, numbers[2] > 10),
            (300, true, true),
            "{pages:?}"
        );
        for condition in [
            "a = 250",
            "a between 250 and 250",
            "a > 249 and a < 251 and b is not null",
            "a + 0 = 250",
        ] {
            let found = format!(
                "select concat(a, ' ', sys.fn_PhysLocFormatter({table}.%%physloc%%)) from {table} where {condition}"
            );
            assert_eq!(values(&mut one, &found), [places[250].clone()], "{condition}");
        }
    }
    let places = values(
        &mut one,
        "select concat(a, ' ', sys.fn_PhysLocFormatter(%%physloc%%)) from t where b = 3 order by a",
    );
    for hint in [
        "index(ib)",
        "index(1)",
        "forcescan",
        "readpast, readcommittedlock",
        "updlock",
        "nolock",
    ] {
        let found = format!(
            "select concat(a, ' ', sys.fn_PhysLocFormatter(%%physloc%%)) from t with ({hint}) where b = 3 order by a"
        );
        assert_eq!(values(&mut one, &found), places, "{hint}");
    }
}

/// The bytes are page, file and slot, so the page that they name is the table's own.
#[test]
fn the_page_of_a_place_holds_the_row() {
    let mut one = started();
    let query = "set nocount on declare @p binary(8) = (select %%physloc%% from t where a = 123), @c nvarchar(200) \
        select @c = concat('dbcc page (d, ', file_id, ', ', page_id, ', 3) with tableresults, no_infomsgs') from sys.fn_PhysLocCracker(@p) \
        create table #page (parent varchar(200), object varchar(200), field varchar(200), value varchar(400)) \
        dbcc traceon (3604) with no_infomsgs insert #page exec (@c) \
        select concat(field, ' = ', value) from #page where field = 'a' and value = '123'";
    assert_eq!(values(&mut one, query), ["a = 123"]);
}

/// Conditions find by it and changes are made by it, as when one of two equal rows is to go.
#[test]
fn rows_are_changed_by_their_place() {
    let mut one = started();
    run(
        &mut one,
        "create table twice (a int not null) insert twice values (1), (1), (2)",
    );
    let delete = "delete from twice where %%physloc%% = (select max(%%physloc%%) from twice where a = 1) select concat(count(*), '') from twice";
    assert_eq!(values(&mut one, delete), ["2"]);
    let update = "update twice set a = 7 where %%PHYSLOC%% = (select %%physloc%% from twice where a = 2) \
        select concat(a, '') from twice order by a";
    assert_eq!(values(&mut one, update), ["1", "7"]);
    let merge = "merge twice as x using (values (9)) as s(a) on x.%%physloc%% is null when not matched then insert values (s.a); \
        select concat(a, '') from twice order by a";
    assert_eq!(values(&mut one, merge), ["1", "7", "9"]);
    let numbered = "with n as (select a, row_number() over (partition by b order by %%physloc%%) r from t) select concat(count(*), '') from n where r = 1";
    assert_eq!(values(&mut one, numbered), ["7"]);
    let joined = "select concat(count(*), '') from t x join t y on x.%%physloc%% = y.%%physloc%% where x.a = y.a";
    assert_eq!(values(&mut one, joined), ["300"]);
    let outer = "select concat(isnull(sys.fn_PhysLocFormatter(y.%%physloc%%), 'none'), '') from t x left join t y on y.a = -x.a where x.a = 5";
    assert_eq!(values(&mut one, outer), ["none"]);
}

/// What has no place is refused by name: views of the server, derived tables, two tables without a qualifier, no table at all.
#[test]
fn what_has_no_place_is_refused() {
    let mut one = started();
    for (query, number) in [
        ("select %%physloc%%", 207),
        ("select %%physloc%% from t x, t y", 209),
        ("select s.%%physloc%% from (select a from t) s", 207),
        ("select %%physloc%% from sys.dm_os_wait_stats", 207),
        ("declare @t table (a int) select %%physloc%% from @t", 207),
        ("select t.[%%physloc%%] from t", 207),
        ("select sys.fn_PhysLocFormatter(1)", 8116),
        ("create table bad (%%physloc%% int)", 102),
    ] {
        let answer = run(&mut one, query);
        assert!(answer.contains(&format!("Msg {number},")), "{query}: {answer}");
    }
    let formatted = "select concat(sys.fn_PhysLocFormatter(0x2000000001000300), sys.fn_PhysLocFormatter(0x20), \
        isnull(sys.fn_PhysLocFormatter(null), ' none'))";
    assert_eq!(values(&mut one, formatted), ["(1:32:3)(0:32:0) none"]);
}

/// OUTPUT shows columns of the target and of what is joined to it: where their rows are stored is not among them.
#[test]
fn output_does_not_know_places() {
    let mut one = started();
    run(&mut one, "create table u (a int not null) insert u values (1)");
    for statement in [
        "update x set b = 0 output u.%%physloc%% from t x join u on u.a = x.a",
        "delete x output deleted.%%physloc%% from t x join u on u.a = x.a",
        "insert u output inserted.%%physloc%% values (2)",
    ] {
        let answer = run(&mut one, statement);
        assert!(
            answer.contains("Msg 207,") || answer.contains("Msg 4104,"),
            "{statement}: {answer}"
        );
    }
    assert!(run(&mut one, "select fn_physlocformatter(0x00)").contains("Msg 195,"));
}
