//! `sys.fn_dblog`, DBCC LOG, DBCC IND and DBCC PAGE: what log and pages hold, as scripts about them read it.
#![allow(clippy::unwrap_used)]

use crate::story;
use crate::support;

use disk::sim::SimDisk;
use engine::log::LogPolicy;
use engine::types::Value;
use story::{Again, Story};
use support::Machine;
use vlf::ServerVersion;

const DATABASE: &str = "create database d on (name = d, filename = 'd.mdf')
    log on (name = d_log, filename = 'd.ldf', size = 1MB, filegrowth = 1MB)";

/// A database with a heap and a clustered table, its log cleared as far as it goes.
fn story() -> Story {
    prepared(Story::begin())
}

fn classic() -> Story {
    prepared(Story::on(SimDisk::new(7), LogPolicy::classic()))
}

fn prepared(mut story: Story) -> Story {
    story.run(DATABASE);
    story.run("alter database d set recovery simple");
    story.run("use d create table heap (a int, b varchar(50)) create table tree (a int primary key, b varchar(50))");
    story.run("insert heap values (0, 'zero') insert tree values (0, 'zero') checkpoint");
    story
}

#[test]
fn each_kind_of_change_has_sql_servers_name_and_place() {
    let mut story = story();
    story.run("begin tran mine insert heap values (1, 'one') insert tree values (1, 'one')");
    story.run("update tree set b = 'eins' where a = 1 delete tree where a = 1 delete heap where a = 1 commit");
    let rows = story.rows(
        "select operation, context, allocunitname from fn_dblog(null, null)
         where [transaction id] in (select [transaction id] from ::fn_dblog(null, null) where [transaction name] = 'mine')
         order by [current lsn]",
    );
    let key = story
        .rows("select name from sys.indexes where object_id = object_id('tree')")
        .remove(0);
    let tree = format!("dbo.tree.{key}");
    assert_eq!(
        rows,
        [
            "LOP_BEGIN_XACT LCX_NULL NULL".to_owned(),
            "LOP_INSERT_ROWS LCX_HEAP dbo.heap".to_owned(),
            format!("LOP_INSERT_ROWS LCX_CLUSTERED {tree}"),
            format!("LOP_MODIFY_ROW LCX_CLUSTERED {tree}"),
            format!("LOP_DELETE_ROWS LCX_MARK_AS_GHOST {tree}"),
            format!("LOP_SET_BITS LCX_IAM {tree}"),
            "LOP_DELETE_ROWS LCX_MARK_AS_GHOST dbo.heap".to_owned(),
            "LOP_SET_BITS LCX_IAM dbo.heap".to_owned(),
            "LOP_COMMIT_XACT LCX_NULL NULL".to_owned(),
        ]
    );
}

#[test]
fn a_statement_of_its_own_names_its_transaction() {
    let mut story = story();
    story.run("insert heap values (1, 'one')");
    story.run("update heap set b = 'uno'");
    story.run("delete heap");
    story.run("create table other (a int)");
    story.run("truncate table other");
    story.run("drop table other");
    story.run("select 1 as x into third");
    story.run("begin tran insert heap values (2, 'two') commit");
    story.run("set implicit_transactions on insert heap values (3, 'three') commit set implicit_transactions off");
    let names = story.rows("select [transaction name] from sys.fn_dblog(null, null) where spid = @@spid");
    assert_eq!(
        names,
        [
            "INSERT",
            "UPDATE",
            "DELETE",
            "CREATE TABLE",
            "TRUNCATE TABLE",
            "DROPOBJ",
            "SELECT INTO",
            "user_transaction",
            "implicit_transaction"
        ]
    );
}

#[test]
fn a_rollback_writes_compensations_and_times_end_a_transaction() {
    let mut story = story();
    story.run("begin tran undone insert tree values (1, 'one') delete tree where a = 0 rollback");
    let rows = story.rows(
        "select operation, context, isnull(nullif(description, ''), '-') from fn_dblog(null, null)
         where operation <> 'LOP_SET_BITS' and [transaction id] = (select [transaction id] from fn_dblog(null, null) where [transaction name] = 'undone')",
    );
    assert_eq!(
        rows,
        [
            "LOP_BEGIN_XACT LCX_NULL undone;0x01",
            "LOP_INSERT_ROWS LCX_CLUSTERED -",
            "LOP_DELETE_ROWS LCX_MARK_AS_GHOST -",
            "LOP_INSERT_ROWS LCX_CLUSTERED COMPENSATION",
            "LOP_DELETE_ROWS LCX_CLUSTERED COMPENSATION",
            "LOP_ABORT_XACT LCX_NULL -",
        ]
    );
    let times = story.rows(
        "select count(*) from fn_dblog(null, null) b join fn_dblog(null, null) e on e.[transaction id] = b.[transaction id]
         where b.[transaction name] = 'undone' and e.operation = 'LOP_ABORT_XACT'
           and cast(b.[begin time] as datetime) <= cast(e.[end time] as datetime)
           and suser_sname(b.[transaction sid]) = 'sa'",
    );
    assert_eq!(times, ["1"]);
}

#[test]
fn a_transaction_is_a_chain_and_its_lengths_add_up_to_what_the_views_count() {
    let mut story = story();
    story.run("begin tran chained insert heap values (1, replicate('x', 40)) update heap set b = 'y' where a = 1");
    let used = story.rows(
        "select database_transaction_log_record_count, database_transaction_log_bytes_used
         from sys.dm_tran_database_transactions where database_id = db_id()",
    );
    let logged = story.rows(
        "select count(*), sum([log record length] + 2) from fn_dblog(null, null)
         where [transaction id] = (select [transaction id] from fn_dblog(null, null) where [transaction name] = 'chained')",
    );
    assert_eq!(used, logged);
    let broken = story.rows(
        ";with mine as (select [current lsn] l, [previous lsn] p, row_number() over (order by [current lsn]) n
             from fn_dblog(null, null) where [transaction id] =
                 (select [transaction id] from fn_dblog(null, null) where [transaction name] = 'chained'))
         select count(*) from mine a left join mine b on b.n = a.n - 1
         where a.p <> isnull(b.l, '00000000:00000000:0000')",
    );
    assert_eq!(broken, ["0"]);
    story.run("rollback");
}

#[test]
fn lsn_arguments_are_decimal_or_hexadecimal_and_anything_else_is_9005() {
    let mut story = story();
    story.run("insert heap values (1, 'one')");
    let lsn = story
        .rows("select [current lsn] from fn_dblog(null, null) where operation = 'LOP_COMMIT_XACT'")
        .remove(0);
    let parts: Vec<u32> = lsn
        .split(':')
        .map(|part| u32::from_str_radix(part, 16).unwrap())
        .collect();
    let decimal = format!("{:08}:{:08}:{:04}", parts[0], parts[1], parts[2]);
    for argument in [format!("0x{lsn}"), decimal] {
        let one = story.rows(&format!(
            "select [current lsn], operation from fn_dblog('{argument}', '{argument}')"
        ));
        assert_eq!(one, [format!("{lsn} LOP_COMMIT_XACT")]);
        let rest = story.rows(&format!(
            "select min([current lsn]) from fn_dblog(N'{argument}', default)"
        ));
        assert_eq!(rest, std::slice::from_ref(&lsn));
    }
    // Places that no record has.
    assert_eq!(
        story.rows("select count(*) from fn_dblog('4000000000:16:1', null)"),
        ["0"]
    );
    let between = format!("{}:{}:{}", parts[0], parts[1] + 1, 7);
    story.run(&format!(
        "declare @n int = (select count(*) from fn_dblog('{between}', null))"
    ));
    for wrong in ["abc", "1:2", "0x1:2:zz", ""] {
        assert_eq!(
            story.errors(&format!("select 1 from fn_dblog('{wrong}', null)")),
            [9005],
            "{wrong}"
        );
    }
    assert_eq!(story.errors("select 1 from fn_dblog(null)"), [313]);
}

#[test]
fn log_that_is_no_longer_needed_is_shown_under_a_trace_flag_alone() {
    let mut story = story();
    story.run("insert heap values (7, 'seven') checkpoint checkpoint");
    let begun = "select count(*) from fn_dblog(null, null) where [transaction name] = 'CREATE TABLE'";
    assert_eq!(story.rows(begun), ["0"]);
    for flag in [2536, 2537] {
        story.run(&format!("dbcc traceon ({flag}) with no_infomsgs"));
        assert_ne!(story.rows(begun), ["0"]);
        story.run(&format!("dbcc traceoff ({flag}) with no_infomsgs"));
        assert_eq!(story.rows(begun), ["0"]);
    }
}

#[test]
fn a_checkpoint_tells_when_it_began_and_ended() {
    let mut story = story();
    story.run("begin tran held insert heap values (1, 'one') checkpoint");
    let rows = story.rows(
        "select b.operation, x.operation, x.[num transactions], x.[oldest active lsn], e.operation
         from fn_dblog(null, null) e join fn_dblog(null, null) b on b.[current lsn] = e.[minimum lsn]
         join fn_dblog(null, null) x on x.[current lsn] > b.[current lsn] and x.operation = 'LOP_XACT_CKPT'
         where cast(b.[checkpoint begin] as datetime) <= cast(e.[checkpoint end] as datetime)",
    );
    let first = story
        .rows("select [current lsn] from fn_dblog(null, null) where [transaction name] = 'held'")
        .remove(0);
    assert_eq!(rows, [format!("LOP_BEGIN_CKPT LOP_XACT_CKPT 1 {first} LOP_END_CKPT")]);
    story.run("rollback");
}

#[test]
fn locks_are_shown_where_the_policy_logs_them() {
    let mut story = classic();
    story.run("insert heap values (5, 'five') insert tree values (5, 'five')");
    let locks = story.rows(
        "select [number of locks], [lock information] from fn_dblog(null, null)
         where operation = 'LOP_INSERT_ROWS' and [transaction id] in
             (select [transaction id] from fn_dblog(null, null) where [transaction name] = 'INSERT') order by [current lsn]",
    );
    let object = |table: &str| format!("select object_id('{table}')");
    let (heap, tree) = (
        story.rows(&object("heap")).remove(0),
        story.rows(&object("tree")).remove(0),
    );
    let database = story.rows("select db_id()").remove(0);
    assert!(locks[0].starts_with("2 HoBt "), "{locks:?}");
    assert!(locks[0].contains(&format!(
        ":ACQUIRE_LOCK_IX OBJECT: {database}:{heap}:0 ;ACQUIRE_LOCK_X RID: {database}:1:"
    )));
    assert!(locks[1].contains(&format!(
        ":ACQUIRE_LOCK_IX OBJECT: {database}:{tree}:0 ;ACQUIRE_LOCK_X KEY: {database}:"
    )));
}

#[test]
fn a_split_is_one_record_with_the_page_that_it_makes() {
    let mut story = story();
    story.run("create table wide (a int primary key, b char(3000)) insert wide values (1, ''), (3, '')");
    story.run("insert wide values (2, '')");
    let splits = story.rows(
        "select context, [new split page], [page operations] from fn_dblog(null, null) where operation = 'LOP_DELETE_SPLIT'",
    );
    assert_eq!(splits.len(), 1, "{splits:?}");
    assert!(
        splits[0].contains("LOP_FORMAT_PAGE 0001:") && splits[0].contains("; LOP_INSERT_ROWS 0001:"),
        "{splits:?}"
    );
}

/// An `INSERT ... SELECT` from the log of the database it writes to reads what was there when it began, and the log it reads is kept.
#[test]
fn a_statement_may_write_to_the_log_that_it_reads() {
    let mut story = story();
    story.run("create table copied (lsn nvarchar(23), bytes varbinary(8000))");
    let mut before = 0;
    for _ in 0..4 {
        story.run("insert copied select [current lsn], [log record] from fn_dblog(null, null)");
        let count: usize = story.rows("select count(*) from copied")[0].parse().unwrap();
        assert!(count > before);
        before = count;
    }
    assert_eq!(
        story.rows("select log_reuse_wait from sys.databases where name = 'd' and log_reuse_wait = 8"),
        [""; 0]
    );
}

#[test]
fn a_log_read_after_a_power_cut_has_the_former_records() {
    let mut story = story();
    story.run("begin tran lost insert heap values (9, 'nine')");
    story.run("declare @n int = (select count(*) from fn_dblog(null, null))");
    story.again(Again::Kill, "d");
    story.run("use d dbcc traceon (2537) with no_infomsgs");
    let ends = story.rows(
        "select operation from fn_dblog(null, null) where [transaction id] =
         (select [transaction id] from fn_dblog(null, null) where [transaction name] = 'lost') order by [current lsn]",
    );
    assert_eq!(
        ends,
        ["LOP_BEGIN_XACT", "LOP_INSERT_ROWS", "LOP_DELETE_ROWS", "LOP_ABORT_XACT"]
    );
}

#[test]
fn dbcc_log_shows_more_columns_at_each_level() {
    let mut story = story();
    story.run("insert heap values (1, 'one')");
    let columns = |story: &mut Story, level: &str| {
        let text = story.answer(&format!("set nocount on dbcc log (d{level}) with no_infomsgs"));
        assert!(text.contains("LOP_INSERT_ROWS | LCX_HEAP"), "{text}");
        text.lines().next().unwrap().split(" | ").count()
    };
    assert_eq!(columns(&mut story, ""), 5);
    let counts: Vec<usize> = [", 0", ", 1", ", 2", ", 3", ", 4", ", -1"]
        .map(|level| columns(&mut story, level))
        .to_vec();
    assert!(counts.windows(2).take(4).all(|pair| pair[0] < pair[1]), "{counts:?}");
    assert_eq!(counts[4], counts[5]);
    assert_eq!(story.errors("dbcc log (d, 5)"), [2560]);
    assert_eq!(story.errors("dbcc log (nowhere, 1)"), [2520]);
}

#[test]
fn the_pages_of_a_table_are_listed_and_each_can_be_shown() {
    let mut story = story();
    story.run("create table wide (a int primary key, b char(3000), c varchar(max))");
    story.run("insert wide values (1, 'one', null), (3, 'three', replicate(cast('z' as varchar(max)), 20000)), (2, 'two', null)");
    story.run(
        "create table #pages (PageFID tinyint, PagePID int, IAMFID tinyint, IAMPID int, ObjectID int, IndexID tinyint,
        PartitionNumber tinyint, PartitionID bigint, iam_chain_type varchar(30), PageType tinyint, IndexLevel tinyint,
        NextPageFID tinyint, NextPagePID int, PrevPageFID tinyint, PrevPagePID int)",
    );
    story.run("insert #pages exec ('dbcc ind (d, wide, -1) with no_infomsgs')");
    let kinds = story.rows("select distinct iam_chain_type, PageType from #pages order by 1, 2");
    assert_eq!(
        kinds,
        [
            "In-row data 1",
            "In-row data 2",
            "In-row data 10",
            "LOB data 3",
            "LOB data 10"
        ]
    );
    let counted = story.rows("select count(*) from #pages where PageType in (1, 2) and iam_chain_type = 'In-row data'");
    let used = story.rows(
        "select sum(page_count) from sys.dm_db_index_physical_stats(db_id(), object_id('wide'), null, null, 'DETAILED')
        where alloc_unit_type_desc = 'IN_ROW_DATA'",
    );
    assert_eq!(counted, used);
    let leaf = story
        .rows("select top 1 PagePID from #pages where PageType = 1 and PrevPagePID = 0")
        .remove(0);
    // Nothing is printed but where trace flag 3604 asks for it.
    assert_eq!(
        story
            .answer(&format!("dbcc page (d, 1, {leaf}, 3) with no_infomsgs"))
            .trim(),
        ""
    );
    story.run("dbcc traceon (3604) with no_infomsgs");
    let text = story.answer(&format!("dbcc page ('d', 1, {leaf}, 3) with no_infomsgs"));
    for part in [
        &format!("m_pageId = (1:{leaf})")[..],
        "PAGE HEADER:",
        "Slot 0 Column 1 Offset 0x",
        "a = 1",
        "GAM = ALLOCATED",
    ] {
        assert!(text.contains(part), "no {part} in {text}");
    }
    for level in 0..=2 {
        let text = story.answer(&format!("dbcc page (d, 1, {leaf}, {level}) with no_infomsgs"));
        assert_eq!(text.contains("0000000000000000:   "), level > 0, "{level}: {text}");
    }
    story.run(
        "create table #shown (ParentObject varchar(255), Object varchar(255), Field varchar(255), VALUE varchar(255))",
    );
    story.run(&format!(
        "insert #shown exec ('dbcc page (d, 1, {leaf}, 3) with tableresults, no_infomsgs')"
    ));
    let values = story.rows("select rtrim(VALUE) from #shown where Object like 'Slot % Column %' and Field in ('a', 'b', 'c') and Object like 'Slot 0%'");
    assert_eq!(values, ["1", "one", "[NULL]"]);
    let root = story.rows("select PagePID from #pages where PageType = 2").remove(0);
    let keys = story.answer(&format!("dbcc page (d, 1, {root}, 3) with no_infomsgs"));
    assert!(keys.contains("ChildPageId"), "{keys}");
    assert_eq!(story.errors("dbcc page (d, 1, 99999999, 3)"), [8968]);
    assert_eq!(story.errors("dbcc page (d, 1)"), [2583]);
    assert_eq!(story.errors("dbcc ind (d, nothing, 1)"), [2501]);
}

#[test]
fn a_log_backup_has_the_records_that_the_log_had() {
    let mut story = story();
    story.run("alter database d set recovery full backup database d to disk = 'd.bak'");
    story.run("insert heap values (1, 'one') insert tree values (1, 'one') delete tree where a = 1");
    let in_log = story.rows("select [current lsn], operation, context, allocunitname from fn_dblog(null, null)");
    story.run("backup log d to disk = 'd.trn' backup log d to disk = 'd.trn'");
    let call = |position: u32| {
        let rest = ", default".repeat(63);
        format!("fn_dump_dblog(null, null, N'DISK', {position}, N'd.trn'{rest})")
    };
    let in_backup = story.rows(&format!(
        "select [current lsn], operation, context, allocunitname from {}",
        call(1)
    ));
    let common: Vec<&String> = in_log.iter().filter(|row| in_backup.contains(row)).collect();
    assert!(
        in_log.last().is_some_and(|last| in_backup.contains(last)),
        "{in_backup:?}"
    );
    assert!(common.len() >= 12, "{in_log:?} {in_backup:?}");
    let next = story.rows(&format!("select min([current lsn]) from {}", call(2)));
    assert!(next[0] > in_log[0], "{next:?}");
    assert_eq!(
        story.errors(&format!("select 1 from {}", call(1).replace("DISK", "TAPE"))),
        [40517]
    );
    assert!(!story.errors(&format!("select 1 from {}", call(9))).is_empty());
    assert!(
        !story
            .errors(&format!("select 1 from {}", call(1).replace("d.trn", "none.trn")))
            .is_empty()
    );
    // Without a file it is the log of the database.
    let own = format!(
        "select count(*) from fn_dump_dblog(null, null, default, default{})",
        ", default".repeat(64)
    );
    assert_ne!(story.rows(&own), ["0"]);
}

/// `sys.dm_db_page_info` says of a page what DBCC PAGE and the catalog say of it.
#[test]
fn a_page_tells_whose_it_is_and_what_is_free_on_it() {
    let mut story = prepared(Story::as_version(ServerVersion::V2019));
    story.run("insert tree values (1, 'one') delete tree where a = 0");
    let page = "cross apply sys.fn_PhysLocCracker(%%physloc%%) l cross apply sys.dm_db_page_info(db_id(), l.file_id, l.page_id,";
    for (table, index) in [("heap", 0), ("tree", 1)] {
        let rows = story.rows(&format!(
            "select i.page_type, i.page_type_desc, i.index_id, iif(i.object_id = object_id('{table}'), 'own', 'foreign'), i.slot_count,
                    i.has_ghost_records, i.gam_page_id, i.gam_status_desc, i.is_iam_page, p.partition_id - i.partition_id
             from {table} {page} 'DETAILED') i join sys.partitions p on p.object_id = i.object_id and p.index_id = i.index_id"
        ));
        let (slots, ghosts) = if index == 1 { (2, "1") } else { (1, "0") };
        let expected = format!("1 DATA_PAGE {index} own {slots} {ghosts} 2 ALLOCATED 0 0");
        assert_eq!(rows, [expected], "{table}");
        let same = story.rows(&format!(
            "declare @f nvarchar(10), @p nvarchar(10)
             select @f = l.file_id, @p = l.page_id from {table} cross apply sys.fn_PhysLocCracker(%%physloc%%) l
             create table #p (parent nvarchar(300), object nvarchar(300), field nvarchar(300), value nvarchar(4000))
             insert #p exec ('declare @n nvarchar(100) = db_name() dbcc page (@n, ' + @f + ', ' + @p + ', 0) with tableresults')
             select count(*) from sys.dm_db_page_info(db_id(), @f, @p, default) i
             where exists (select 1 from #p where field = 'm_freeCnt' and value = cast(i.free_bytes as nvarchar(20)))
               and exists (select 1 from #p where field = 'm_freeData' and value = cast(i.free_bytes_offset as nvarchar(20)))
               and exists (select 1 from #p where field = 'm_slotCnt' and value = cast(i.slot_count as nvarchar(20)))
               and exists (select 1 from #p where field = 'm_tornBits' and value = cast(i.checksum as nvarchar(20)))
               and i.page_type_desc is null and i.diff_status is null"
        ));
        assert_eq!(same.last().map(String::as_str), Some("1"), "{table}");
        story.run("drop table #p");
    }
    let kinds = story.rows("select page_type_desc from sys.dm_db_page_info(db_id(), 1, 0, 'detailed')");
    assert_eq!(kinds, ["FILEHEADER_PAGE"]);
    for wrong in [
        "null, 1, 0",
        "db_id(), null, 0",
        "db_id(), 1, null",
        "99, 1, 0",
        "db_id(), 2, 0",
        "db_id(), 1, 9999999",
        "db_id(), 1, -1",
    ] {
        let text = format!("select 1 from sys.dm_db_page_info({wrong}, default)");
        assert_eq!(story.errors(&text), [2561], "{text}");
    }
    assert_eq!(
        story.errors("select 1 from sys.dm_db_page_info(db_id(), 1, 0, 'SAMPLED')"),
        [2561]
    );
}

/// `sys.dm_db_database_page_allocations` lists the pages that DBCC IND lists, with what `sys.dm_db_page_info` says of each.
#[test]
fn pages_of_tables_are_listed_as_dbcc_ind_lists_them() {
    let mut story = prepared(Story::as_version(ServerVersion::V2019));
    story.run("create table wide (a int primary key, b varchar(max), c char(900) index ic)");
    story.run("declare @i int = 1 while @i < 40 begin insert wide values (@i, replicate(cast('x' as varchar(max)), 20000), @i) set @i += 1 end");
    let id = story.rows("select object_id('wide')").remove(0);
    let mut listed = story.rows("dbcc ind (d, 'wide', -1) with no_infomsgs");
    let own = format!(
        "select cast(allocated_page_file_id as varchar) + ' ' + cast(allocated_page_page_id as varchar) + ' ' +
            isnull(cast(allocated_page_iam_file_id as varchar), 'NULL') + ' ' + isnull(cast(allocated_page_iam_page_id as varchar), 'NULL') + ' ' +
            cast(object_id as varchar) + ' ' + cast(index_id as varchar) + ' ' + cast(partition_id as varchar) + ' ' + cast(rowset_id as varchar) + ' ' +
            case allocation_unit_type_desc when 'IN_ROW_DATA' then 'In-row data' when 'LOB_DATA' then 'LOB data' else 'Row-overflow data' end
            + ' ' + cast(page_type as varchar) + ' ' + cast(page_level as varchar)
         from sys.dm_db_database_page_allocations(db_id(), {id}, null, null, 'DETAILED')"
    );
    let mut shown = story.rows(&own);
    // The neighbours, the last four columns of DBCC IND, are compared by the header below.
    listed.iter_mut().for_each(|row| {
        let words: Vec<&str> = row.split(' ').collect();
        *row = words[..words.len() - 4].join(" ");
    });
    listed.sort();
    shown.sort();
    assert_eq!(shown, listed);
    assert!(
        shown.iter().any(|row| row.contains("LOB data")) && shown.len() > 100,
        "{}",
        shown.len()
    );
    let differing = format!(
        "select count(*) from sys.dm_db_database_page_allocations(db_id(), {id}, null, null, 'DETAILED') a
         cross apply sys.dm_db_page_info(a.database_id, a.allocated_page_file_id, a.allocated_page_page_id, 'DETAILED') i
         where a.page_type <> i.page_type or a.page_type_desc <> i.page_type_desc or a.is_iam_page <> i.is_iam_page
            or a.extent_page_id <> a.allocated_page_page_id / 8 * 8 or a.allocation_unit_id <> i.alloc_unit_id
            or a.is_iam_page = 0 and (a.page_level <> i.page_level or isnull(a.next_page_page_id, 0) <> i.next_page_page_id
            or isnull(a.previous_page_page_id, 0) <> i.prev_page_page_id)"
    );
    assert_eq!(story.rows(&differing), ["0"]);
    // One index; what LIMITED leaves out; the whole database.
    let of_index = format!(
        "select distinct index_id, page_type, page_level from sys.dm_db_database_page_allocations(db_id(), {id}, 2, 1, default)"
    );
    assert_eq!(story.rows(&of_index), ["2 NULL NULL"]);
    let tables = "select count(distinct object_id) from sys.dm_db_database_page_allocations(db_id(), null, null, null, 'LIMITED') \
                  where object_id in (select object_id from sys.tables)";
    assert_eq!(story.rows(tables), story.rows("select count(*) from sys.tables"));
    for wrong in [
        "null, null, null, null, null",
        "99, null, null, null, null",
        "db_id(), null, null, null, 'SAMPLED'",
    ] {
        let text = format!("select 1 from sys.dm_db_database_page_allocations({wrong})");
        assert_eq!(story.errors(&text), [2561], "{text}");
    }
    assert!(
        story
            .rows("select 1 from sys.dm_db_database_page_allocations(db_id(), 12345, null, null, 'LIMITED')")
            .is_empty()
    );
}

/// What a rollback would take back first is the last record, and behind a rollback to a savepoint the one before it.
#[test]
fn a_transaction_tells_what_would_be_taken_back_next() {
    let mut story = story();
    story.run("begin tran mine insert heap values (1, 'one') save tran s");
    let last = "select database_transaction_last_lsn, database_transaction_next_undo_lsn from sys.dm_tran_database_transactions
                where database_id = db_id() and database_transaction_type = 1";
    let before = story.rows(last);
    let (first, next) = before[0].split_once(' ').unwrap();
    assert_eq!(first, next);
    story.run("insert heap values (2, 'two') rollback tran s");
    let after = story.rows(last);
    let (behind, left) = after[0].split_once(' ').unwrap();
    assert!(behind > first && left == first, "{before:?} {after:?}");
    story.run("rollback");
}

/// `sys.dm_tran_current_transaction`, with versions kept: a reader by a snapshot beside a writer that it does not see.
#[test]
fn the_current_transaction_tells_its_snapshot() {
    let mut story = story();
    let current = "select iif(transaction_id = current_transaction_id(), 'own', 'foreign'), transaction_is_snapshot, \
                   transaction_sequence_num, first_snapshot_sequence_num, last_transaction_sequence_num, first_useful_sequence_num \
                   from sys.dm_tran_current_transaction";
    let outside = story.rows(current);
    assert!(outside[0].starts_with("own 0 0 0 "), "{outside:?}");
    story.run("alter database d set allow_snapshot_isolation on");
    story.run("set transaction isolation level snapshot begin tran insert heap values (5, 'five')");
    let inside = story.rows(current);
    let numbers: Vec<u64> = inside[0].split(' ').skip(2).map(|word| word.parse().unwrap()).collect();
    let [own, first, last, useful] = numbers[..] else {
        panic!("{inside:?}")
    };
    assert!(inside[0].starts_with("own 1 ") && own > 0, "{inside:?}");
    assert_eq!((first, last, useful), (own, own, own));
    story.run("rollback set transaction isolation level read committed");
    let behind = story.rows(current);
    assert_eq!(behind, [format!("own 0 0 0 {own} {}", own + 1)]);
}

/// `sys.dm_db_page_info` is there from SQL Server 2019 on.
#[test]
fn page_info_is_there_from_2019_on() {
    let arguments = [Value::Int(1), Value::Int(1), Value::Int(0), Value::Null];
    let view = tsql::views::every()
        .find(|view| view.name == "dm_db_page_info")
        .unwrap();
    for (version, expected) in [(ServerVersion::V2017, Err(208)), (ServerVersion::V2019, Ok(1))] {
        let rows = Machine::start(version).with_context(|context| view.rows.all(context, &arguments));
        assert_eq!(rows.map(|rows| rows.len()).map_err(|error| error.number), expected);
    }
}
