//! Queries larger than their memory: the same rows as with plenty of it, spill files that are used and deleted, and 701
//! where nothing else helps, after which the session is as before.
#![allow(clippy::unwrap_used)]

use crate::transcript;

use std::path::Path;
use std::sync::Arc;

use engine::instance::Instance;
use transcript::{Transcript, instance, session};
use tsql::session::Session;

/// 16,384 rows, some 1.5 MB, in no order of anything but `id`; `grp` and `name` repeat and are NULL at times.
const TABLE: &str = "
set nocount on
create table t (id int not null, grp int null, name varchar(60) null, amount decimal(12, 2) not null, at datetime2 null)
insert t values (0, 0, 'zero', 0, '2024-01-01')
declare @n int = 1
while @n < 16384
begin
    insert t
    select id + @n, nullif((id + @n) * 311 % 1009, 7),
           case when (id + @n) % 97 = 0 then null else concat('name of the row no. ', (id + @n) * 48 % 8191) end,
           ((id + @n) * 40503 % 65537 - 30000) / 7.0, dateadd(minute, (id + @n) * 77 % 10007, '2024-01-01')
    from t
    set @n = @n * 2
end";

struct Server {
    instance: Arc<Instance>,
    session: Session,
}

impl Server {
    fn new() -> Server {
        let instance = instance();
        let mut server = Server {
            session: session(&instance),
            instance,
        };
        server.run(TABLE);
        server
    }

    fn run(&mut self, batch: &str) -> String {
        let mut transcript = Transcript::default();
        self.session.execute(batch, &mut transcript);
        transcript.text
    }

    /// Runs a batch while others have all of the workspace, so that an operator has no more than what it has without asking.
    fn run_starved(&mut self, batch: &str) -> String {
        self.run_with(batch, 0)
    }

    /// Runs a batch while others have left so many bytes of the workspace.
    fn run_with(&mut self, batch: &str, left: u64) -> String {
        let workspace = self.instance.workspace.clone();
        let all = workspace.limit_bytes() - workspace.used_bytes() - left;
        assert!(workspace.take(all));
        let text = self.run(batch);
        workspace.give_back(all);
        text
    }

    /// A query's answer, which must be the same with little memory as with much; `spills` says whether it needs much.
    fn assert_same(&mut self, query: &str, spills: bool) {
        let query = format!("set nocount on {query}");
        let spilled_before = self.instance.workspace.spilled_bytes();
        let roomy = self.run(&query);
        assert!(!roomy.contains("Msg "), "{query}: {roomy:.300}");
        assert_eq!(self.instance.workspace.spilled_bytes(), spilled_before, "{query}");
        // What operators that can spill leave to long strings is there.
        let left = self.instance.workspace.reserve_bytes();
        let starved = self.run_with(&query, left);
        let has_spilled = self.instance.workspace.spilled_bytes() > spilled_before;
        assert_eq!(has_spilled, spills, "{query}: {starved:.600}");
        assert!(roomy == starved, "{query}: {roomy:.600} and {starved:.600}");
        assert_eq!(self.instance.workspace.used_bytes(), 0, "{query}");
        let left = self.instance.env.disk.list(Path::new("/instance/data/spill"));
        assert_eq!(left.unwrap_or_default(), Vec::<std::path::PathBuf>::new(), "{query}");
    }
}

#[test]
fn sorts_beyond_memory_are_sorts() {
    let mut server = Server::new();
    for query in [
        "select * from t order by amount, id",
        "select * from t order by name desc, at, id desc",
        // Rows of equal keys come in the order in which they were read, as long as one thread reads.
        "select id, grp from t order by grp desc",
        "select name, amount from t order by 1, 2 desc offset 3000 rows fetch next 50 rows only",
        "select top (4000) with ties grp, id, name from t order by grp",
        "select top (4000) * from t order by name, id",
        "select top (12) percent id, name, at from t order by at, id",
    ] {
        server.assert_same(query, true);
    }
    // Of the first rows alone no more is kept than there is room for.
    for query in [
        "select top 20 * from t where id < 300 order by amount, id",
        "select top 100 * from t order by name desc, id",
        "select top 20 with ties id, at from t order by id",
    ] {
        server.assert_same(query, false);
    }
}

/// A sort by groups needs memory for one of them.
#[test]
fn groups_that_are_sorted_by_themselves_spill_alone() {
    let mut server = Server::new();
    server.run(
        "create table g (few int not null, many int not null, id int not null, name varchar(60) null, amount decimal(12, 2) not null)
         create clustered index g_few on g (few, many)
         insert g select id / 8000, id / 100, id, name, amount from t",
    );
    for (query, spills) in [
        ("select few, id, name, amount from g order by few, name, id", true),
        (
            "select top (12000) few, id, name, amount from g order by few, name, id",
            true,
        ),
        ("select * from g order by few, many, name, id", false),
        (
            "select top (9000) with ties few, many, name from g order by few, many desc, name",
            true,
        ),
        (
            "select top (9000) with ties few, many, name from g order by few, many, name",
            false,
        ),
        // A partition is all that is kept.
        (
            "select *, row_number() over (partition by few, many order by name, id) from g order by few, many, name, id",
            false,
        ),
        (
            "select *, sum(id) over (partition by many, few order by id), lag(name) over (partition by few, many order by id) from g order by few, many, id",
            false,
        ),
        (
            "select few, many, rank() over (order by few, many) from g order by few, many",
            false,
        ),
        (
            "select few, many, name, id, row_number() over (partition by few order by name, id) n from g order by few, n",
            true,
        ),
    ] {
        server.assert_same(query, spills);
    }
}

#[test]
fn rows_that_several_places_read_are_kept_beyond_memory() {
    let mut server = Server::new();
    let common = "with c as (select id, name, grp, count(*) as n from t group by id, name, grp)";
    for query in [
        "select x.id, x.name, y.grp, y.n from c x join c y on y.id = x.id + x.n order by x.id",
        "select count(*), (select max(name) from c), (select sum(id) from c) from c x where x.n = (select max(n) from c)",
    ] {
        server.assert_same(&format!("; {common} {query}"), true);
    }
}

#[test]
fn sorts_that_merge_many_runs_at_a_time_are_sorts() {
    let mut server = Server::new();
    let query = "set nocount on select id, k, name from t cross join (values (1), (2), (3), (4), (5), (6)) as v(k)
        order by name desc, k, amount, id offset 40000 rows fetch next 9000 rows only";
    let roomy = server.run(query);
    for left_kib in [0, 1_500] {
        let spilled_before = server.instance.workspace.spilled_bytes();
        let starved = server.run_with(query, left_kib << 10);
        assert!(roomy == starved, "{left_kib} KiB: {starved:.600}");
        assert!(
            server.instance.workspace.spilled_bytes() > spilled_before,
            "{left_kib} KiB"
        );
    }
}

#[test]
fn a_row_larger_than_a_buffer_is_sorted() {
    let mut server = Server::new();
    let query = "select id, len(big), right(big, 9) from
        (select id, cast(replicate(cast('x' as varchar(max)), 60000 + id) as varchar(max)) + cast(id as varchar(9)) as big
         from t where id between 20 and 40) as wide order by big desc";
    server.assert_same(query, true);
}

#[test]
fn groups_and_distinct_values_beyond_memory_are_the_same() {
    let mut server = Server::new();
    for query in [
        "select name, count(*), sum(amount), min(at), max(grp) from t group by name order by name",
        "select id, count(*), avg(amount) from t group by id order by id desc",
        "select count(distinct id), count(distinct name), sum(distinct amount), count(*), count(grp) from t",
        "select grp, count(distinct name), count(distinct at) from t group by grp order by grp",
        "select id / 2, name, count(*), grouping_id(id / 2, name) from t group by cube (id / 2, name) order by 1, 2, 4",
        "select distinct name, at from t order by name, at",
        "select distinct id / 3, amount, name from t order by 1, 2, 3",
        "select id, name from t where id < 9000 union select id, name from t where id > 7000 order by id",
        // Strings that are equal and of different lengths: where the long one finds no room and is put aside, a short one that comes
        // later might, and there would be two groups.
        "select count(*), sum(c), max(c) from
            (select count(*) as c from t group by cast(id / 8 as varchar(20)) + replicate(' ', 420 - id % 8 * 60)) x",
        "select count(distinct cast(id / 2 as varchar(20)) + replicate(' ', 420 - id % 2 * 60)), count(*) from t",
    ] {
        server.assert_same(query, true);
    }
    server.assert_same(
        "select grp, count(*), sum(amount) from t where id < 300 group by grp order by grp",
        false,
    );
}

#[test]
fn joins_beyond_memory_are_the_same() {
    let mut server = Server::new();
    for query in [
        "select a.id, b.id, b.name from t as a join t as b on a.id = b.id + 5 order by a.id",
        "select a.id, b.name, b.at from t as a left join t as b on a.id = b.id * 2 and b.amount > a.amount order by a.id",
        "select a.id, b.id, b.grp from t as a full join t as b on a.grp = b.id and b.grp > 200 order by a.id, b.id",
        "select count(*), sum(b.amount) from t as a join t as b on a.name = b.name",
        "select count(*) from t as a full join t as b on a.grp = b.grp and a.id = b.id",
        "select a.id, c.name from t as a join t as b on a.id = b.id join t as c on c.id = b.id + a.id order by a.id",
        "select a.id, b.id, b.name from t as a join t as b on a.id = b.id + 5 order by a.id option (merge join)",
        // Groups of a key that outgrow their memory are read again from a file.
        "select count(*), sum(b.amount), max(b.name) from t as a join t as b on a.id / 5000 = b.id / 5000
             where a.id % 600 = 7 option (merge join, force order)",
        "select count(*), sum(b.amount), count(a.id) from (select id from t where id % 900 = 7) as a
             full join t as b on a.id / 5000 = b.id / 5000 and b.grp % 3 = 1 option (merge join, force order)",
    ] {
        server.assert_same(query, true);
    }
}

#[test]
fn ranks_beyond_memory_are_the_same() {
    let mut server = Server::new();
    for query in [
        "select id, row_number() over (order by amount desc, id) from t order by id",
        "select id, rank() over (partition by grp order by name), dense_rank() over (partition by name order by grp desc),
                row_number() over (order by at, id desc) from t order by id",
        // A join writes the columns of its left side once for all rows of its right side: also where memory ends between them.
        "select sum(cast(id as bigint)), sum(cast(n as bigint) * id), sum(k) from
            (select id, k, row_number() over (order by amount, id, k) as n from t cross join (values (1), (2)) as v(k)) x",
        "select id, k, n from (select t.id, u.id as k, dense_rank() over (order by t.name, u.id) as n
            from (select id, name from t where id % 4 = 1) as t left join t as u on u.id / 4 = t.id / 4 and u.id between t.id and t.id + 2 and t.id < 4000) x where id % 512 < 3 order by id, k",
    ] {
        server.assert_same(query, true);
    }
}

/// Nothing but the ranks could spill here.
#[test]
fn ranks_that_spill_alone_are_the_same() {
    let mut server = Server::new();
    for query in [
        "select count(*), max(n), sum(cast(n as bigint) * id) from
            (select id, row_number() over (order by amount desc, id) as n from t) as numbered",
        "select count(*), max(n), sum(cast(n as bigint) * id) from
            (select id, rank() over (partition by grp order by name) + dense_rank() over (order by at) as n from t) as ranked",
        "select count(*), max(n), sum(cast(n as bigint)), sum(cast(r as bigint) * id) from
            (select id, row_number() over (order by grp) as n, rank() over (order by grp) as r from t) as ranked",
    ] {
        server.assert_same(query, true);
    }
}

#[test]
fn without_a_way_on_701_is_raised_and_nothing_is_lost() {
    let mut server = Server::new();
    for query in [
        "select id, sum(amount) over (order by id) from t",
        "select string_agg(cast(name as varchar(max)), ',') from t",
        "select id, name, amount from t except select id, name, amount from t where id = 3",
        "select count(*) from t where id < 0 or name in (select name from t where amount > 0)",
        "declare @rows table (id int, name varchar(60)) insert @rows select id, name from t",
        "insert t select id + 100000, grp, name, amount, at from t order by amount",
    ] {
        let answer = server.run_starved(query);
        let is_refused = answer.contains("Msg 701, Level 17, State 123");
        assert!(is_refused || query.starts_with("insert t"), "{query}: {answer:.300}");
        assert_eq!(server.instance.workspace.used_bytes(), 0, "{query}");
        let roomy = server.run(query);
        assert!(!roomy.contains("Msg "), "{query}: {roomy:.300}");
    }
    let rows = server.run("set nocount on select count(*), count(distinct id) from t");
    assert!(rows.contains("49152"), "{rows}");
}

#[test]
fn max_server_memory_is_for_pages_and_queries_and_takes_effect_with_reconfigure() {
    let mut server = Server::new();
    let show = "set nocount on exec sp_configure 'show advanced options', 1 reconfigure ";
    let limits = |server: &Server| {
        (
            server.instance.pool.frame_limit(),
            server.instance.workspace.limit_bytes() >> 20,
        )
    };
    // Made for 64 MB: as for SQL Server, 128 MB is the least that can be configured, and the workspace is never sized for less.
    assert_eq!(limits(&server), (8_192, 96));
    server.run(&format!("{show} exec sp_configure 'max server memory', 128"));
    server.run("reconfigure");
    assert_eq!(limits(&server), (8_192, 96), "no more than it was made for");
    let refused = server.run(&format!("{show} exec sp_configure 'max server memory', 127"));
    assert!(refused.contains("Msg 15129"), "{refused}");
    server.instance.workspace.take(40 << 20);
    assert_eq!(limits(&server), (3_072, 96), "a query's memory is the pool's");
    let target = server.run("set nocount on select committed_target_kb from sys.dm_os_sys_info");
    assert!(target.contains("65536"), "{target}");
    server.instance.workspace.give_back(40 << 20);
}

/// Plans that can be made again held the memory that a statement was refused.
#[test]
fn kept_plans_are_given_up_before_a_statement_is_refused_memory() {
    let mut server = Server::new();
    let asks = "set nocount on select len(replicate(cast('x' as varchar(max)), 500000))";
    let answer = server.run_with(asks, 0);
    assert!(answer.contains("Msg 701"), "nothing is there to be given up: {answer}");
    for number in 0..60 {
        let sum = vec![number.to_string(); 300].join(" + ");
        server.run(&format!("select {sum}"));
    }
    let kept = server.instance.workspace.used_bytes();
    assert!(kept >= 1 << 20, "{kept} bytes of plans");
    let answer = server.run_with(asks, 0);
    assert!(answer.contains("500000"), "{answer}");
    assert!(server.instance.workspace.used_bytes() < kept);
    assert!(server.run("select 0 + 0").contains("  0\n"), "and plans are made again");
}

/// Each round makes the plan of the SELECT out of date and binds it again. The memory of the plan before is the new one's.
#[test]
fn a_plan_that_is_bound_again_and_again_takes_the_memory_of_one() {
    let instance = instance();
    let mut server = Server {
        session: session(&instance),
        instance,
    };
    let columns: Vec<String> = (0..200).map(|n| format!("@n + {n}")).collect();
    let rounds = format!(
        "set nocount on declare @n int = 0, @sum int
         while @n < 400
         begin
           set @n += 1
           create table #x (a int)
           select @sum = {} from #x
           drop table #x
         end
         select @n",
        columns.join(" + ")
    );
    let before = server.instance.workspace.used_bytes();
    assert!(server.run(&rounds).contains("\n  400\n"));
    let taken = server.instance.workspace.used_bytes() - before;
    assert!(taken <= 4 << 20, "{taken} bytes for one plan");
}

/// A merge of more than two runs asks the lower levels of its heap: with room for some of the buffers, from the first row to the last.
#[test]
fn the_least_of_many_runs_comes_first() {
    let mut server = Server::new();
    let query = "set nocount on select id, k, name from t cross join (values (1), (2), (3), (4), (5), (6)) as v(k)
        order by name desc, k, amount, id offset 4 rows fetch next 90000 rows only";
    let roomy = server.run(query);
    let reserve = server.instance.workspace.reserve_bytes();
    let mut spilled_bytes = Vec::new();
    for left_kib in [0, 1_500, 2_100, 3_100] {
        let spilled_before = server.instance.workspace.spilled_bytes();
        let starved = server.run_with(query, reserve + (left_kib << 10));
        assert!(roomy == starved, "{left_kib} KiB beyond the reserve: {starved:.600}");
        spilled_bytes.push(server.instance.workspace.spilled_bytes() - spilled_before);
    }
    // Two at a time write every row again and again; eight and more at a time write it twice at most.
    assert!(
        spilled_bytes[1..]
            .iter()
            .all(|&wide| wide > 0 && wide < spilled_bytes[0] / 3),
        "{spilled_bytes:?}"
    );
}

/// What an operator keeps is what it asks for: with the least memory that a query runs in without spilling, nothing is forgotten
/// (the least would be less) and nothing is counted twice.
#[test]
fn what_is_asked_of_the_workspace_is_what_is_kept() {
    let mut server = Server::new();
    server.run(
        "create function f (@n int) returns @r table (id int, name varchar(60)) as
         begin insert @r select id, name from t where id < @n return end",
    );
    // Each with its least, in MiB, and half a MiB more or less.
    for (query, expected_mib) in [
        (
            "select count(*) from (select id, count(*) c, sum(amount) s from t group by id) x",
            16.0,
        ),
        ("select count(*), sum(id) from f(10000)", 4.0),
        (
            "declare @s varchar(max) = replicate(cast('x' as varchar(max)), 3000000) select len(upper(@s))",
            5.75,
        ),
    ] {
        let query = format!("set nocount on {query}");
        let right = server.run(&query);
        let (mut too_little, mut enough) = (0, 40 << 20);
        while enough - too_little > 64 << 10 {
            let middle = (too_little + enough) / 2;
            let spilled_before = server.instance.workspace.spilled_bytes();
            let is_enough =
                server.run_with(&query, middle) == right && server.instance.workspace.spilled_bytes() == spilled_before;
            *(if is_enough { &mut enough } else { &mut too_little }) = middle;
        }
        let mib = enough as f64 / f64::from(1 << 20);
        assert!((mib - expected_mib).abs() <= 0.5, "{mib} MiB: {query}");
    }
}

/// DATALENGTH and SUBSTRING of a stored value of 6 MB read what they need of it; what asks for all of the value has no room for it.
#[test]
fn parts_of_a_long_value_take_no_memory_for_the_whole() {
    let mut server = Server::new();
    server.run(
        "create table big (id int primary key, b varbinary(max), n nvarchar(max), v varchar(max))
         declare @v varchar(max) = replicate(cast('0123456789' as varchar(max)), 600000) + 'end'
         insert big values (1, cast(@v as varbinary(max)), @v, @v)",
    );
    let parts = "set nocount on select id, datalength(b), datalength(n), datalength(v), substring(b, 4000000, 3),
        substring(n, 6000000, 4) + '|', upper(substring(v, 5999999, 90)), substring(v, -5, 7), substring(v, 7000000, 5) from big where id = 1";
    let answer = server.run(parts);
    assert!(answer.contains("6000003") && answer.contains("12000006"), "{answer}");
    assert!(
        answer.contains("0x393031") && answer.contains("9end|") && answer.contains("89END"),
        "{answer}"
    );
    assert_eq!(server.run_with(parts, 4 << 20), answer);
    for whole in [
        "upper(v)",
        "v + 'x'",
        "left(n, 5) + n",
        "b",
        "case when id = 1 then v end",
    ] {
        let query = format!("set nocount on select datalength({whole}) from big");
        let told = server.run_with(&query, 4 << 20);
        assert_eq!(told.contains("Msg 701"), whole != "b", "{query}: {told:.300}");
    }
}
