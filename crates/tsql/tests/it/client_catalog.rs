//! The catalog as clients and administrators' scripts query it: views of missing features, INFORMATION_SCHEMA, catalog
//! procedures, and the T-SQL that such scripts begin with.
//!
//! Sources: sql-docs, "System catalog views", "System information schema views", "Catalog stored procedures"; ODBC's `sql.h`.
#![allow(clippy::unwrap_used)]

use crate::answers;
use crate::transcript;

use answers::{error, rows, run};
use transcript::{instance, session};

/// Scripts ask these before anything else; a SQL Server that does not use the feature answers with no rows.
#[test]
fn views_of_features_that_are_not_there_are_empty_and_those_of_the_machine_are_not() {
    let instance = instance();
    let mut one = session(&instance);
    for view in [
        "sys.availability_groups",
        "sys.sequences",
        "sys.triggers",
        "sys.fulltext_indexes",
        "sys.dm_hadr_cluster",
        "sys.dm_db_missing_index_details",
        "INFORMATION_SCHEMA.SEQUENCES",
        "msdb.dbo.backupmediafamily",
        "msdb.dbo.sysjobsteps",
    ] {
        assert_eq!(rows(&mut one, &format!("select * from {view}")), "", "{view}");
    }
    assert_eq!(error(&mut one, "select * from dbo.sysjobsteps"), 208);
    let counted = "select (select count(*) from sys.dm_os_host_info), (select count(*) from sys.dm_os_sys_memory),
        (select count(*) from sys.dm_os_process_memory), (select count(*) from sys.dm_os_nodes),
        (select count(*) from sys.dm_server_services), (select count(*) from sys.dm_os_enumerate_fixed_drives),
        (select count(*) from sys.dm_os_waiting_tasks)";
    assert_eq!(rows(&mut one, counted), "1 1 1 1 1 1 0");
}

/// Ola Hallengren's procedures are made empty first, and his checks ask without FROM (sql-docs, "CREATE PROCEDURE", "EXISTS").
#[test]
fn a_procedure_may_be_empty_and_a_star_of_exists_may_have_no_source() {
    let instance = instance();
    let mut one = session(&instance);
    run(
        &mut one,
        &[
            "create procedure dbo.nothing as",
            "create procedure dbo.still_nothing @a int = 1 as",
        ],
    );
    assert_eq!(
        rows(
            &mut one,
            "declare @r int exec @r = dbo.nothing select @r exec dbo.still_nothing 2"
        ),
        "0"
    );
    run(&mut one, &["alter procedure dbo.nothing as select 'something'"]);
    assert_eq!(rows(&mut one, "exec dbo.nothing"), "something");
    for (batch, expected) in [
        ("if exists (select * where 1 = 1) select 'yes' else select 'no'", "yes"),
        (
            "if not exists (select * where 1 = 0) select 'yes' else select 'no'",
            "yes",
        ),
        ("select 1 where exists (select *, 2 where 1 = 1)", "1"),
    ] {
        assert_eq!(rows(&mut one, batch), expected, "{batch}");
    }
    for batch in [
        "select *",
        "select 1 where exists (select (select *) where 1 = 1)",
        "select 1 where exists (select a.*)",
    ] {
        assert_eq!(error(&mut one, batch), 263, "{batch}");
    }
}

#[test]
fn what_clients_ask_of_schemas_constraints_procedures_and_types_is_answered() {
    let instance = instance();
    let mut one = session(&instance);
    run(
        &mut one,
        &[
            "create schema sales",
            "create table sales.t (id int not null constraint pk primary key, n int constraint positive check (n > 0))",
            "create view sales.w as select id from sales.t where id > 1 with check option",
            "create procedure sales.p @a int, @b nvarchar(20) output as select @a",
        ],
    );
    for (batch, expected) in [
        (
            "select schema_owner from information_schema.schemata where schema_name = 'sales'",
            "dbo",
        ),
        (
            "select table_name, check_option, is_updatable from information_schema.views",
            "w CASCADE NO",
        ),
        (
            "select constraint_name from information_schema.check_constraints",
            "positive",
        ),
        (
            "select constraint_name, column_name from information_schema.constraint_column_usage order by 1",
            "pk id|positive n",
        ),
        (
            "select count(*) from information_schema.constraint_table_usage where table_name = 't'",
            "2",
        ),
        ("exec sp_special_columns 't', 'sales'", "1 id 4 int 10 4 0 1"),
        ("exec sp_help int", "int int 4 10 0 yes none none NULL"),
    ] {
        assert_eq!(rows(&mut one, batch), expected, "{batch}");
    }
    let listed = rows(&mut one, "exec sp_stored_procedures 'p', 'sales'");
    assert!(listed.contains("sales p;1 -1 -1 -1"), "{listed}");
    let parameters = rows(&mut one, "exec sp_sproc_columns 'p', 'sales'");
    for part in ["@RETURN_VALUE 5 4 int", "@a 1 4 int", "@b 2 -9 nvarchar 20 40"] {
        assert!(parameters.contains(part), "{part}: {parameters}");
    }
}

/// mssql-jdbc, and Hibernate through it, inserts the answer into a table of these 29 columns (`SQLServerDatabaseMetaData.getColumns`). There
/// were 19: 213.
#[test]
fn drivers_copy_the_columns_of_sp_columns_100_into_a_table_of_their_own() {
    let instance = instance();
    let mut one = session(&instance);
    run(
        &mut one,
        &["create table dbo.kinds (id int identity not null, n nvarchar(20) null, twice int null)"],
    );
    let head = "TABLE_QUALIFIER sysname, TABLE_OWNER sysname, TABLE_NAME sysname, COLUMN_NAME sysname, DATA_TYPE smallint,
        TYPE_NAME sysname, PRECISION int, LENGTH int, SCALE smallint, RADIX smallint, NULLABLE smallint, REMARKS varchar(254),
        COLUMN_DEF nvarchar(4000), SQL_DATA_TYPE smallint, SQL_DATETIME_SUB smallint, CHAR_OCTET_LENGTH int, ORDINAL_POSITION int,
        IS_NULLABLE varchar(254)";
    let since_2008 =
        "SS_IS_SPARSE smallint, SS_IS_COLUMN_SET smallint, SS_IS_COMPUTED smallint, SS_IS_IDENTITY smallint";
    let since_2005 =
        "SS_UDT_CATALOG_NAME nvarchar(128), SS_UDT_SCHEMA_NAME nvarchar(128), SS_UDT_ASSEMBLY_TYPE_NAME nvarchar(max),
        SS_XML_SCHEMACOLLECTION_CATALOG_NAME nvarchar(128), SS_XML_SCHEMACOLLECTION_SCHEMA_NAME nvarchar(128),
        SS_XML_SCHEMACOLLECTION_NAME nvarchar(128)";
    let copied = |columns: &str, procedure: &str, asked: &str| {
        format!(
            "declare @c table ({columns}, SS_DATA_TYPE tinyint) insert @c exec {procedure} N'kinds', N'dbo', null, N'%', null, 3
             select COLUMN_NAME, TYPE_NAME, ORDINAL_POSITION, {asked}, SS_DATA_TYPE from @c order by ORDINAL_POSITION"
        )
    };
    let told = rows(
        &mut one,
        &copied(
            &format!("{head}, {since_2008}, {since_2005}"),
            "sp_columns_100",
            "SS_IS_SPARSE, SS_IS_COLUMN_SET, SS_IS_COMPUTED, SS_IS_IDENTITY, SS_UDT_CATALOG_NAME, SS_XML_SCHEMACOLLECTION_NAME",
        ),
    );
    assert_eq!(
        told,
        "id int identity 1 0 0 0 1 NULL NULL 56|n nvarchar 2 0 0 0 0 NULL NULL 39|twice int 3 0 0 0 0 NULL NULL 38"
    );
    let of_2005 = copied(&format!("{head}, {since_2005}"), "sp_columns_90", "SS_UDT_SCHEMA_NAME");
    assert_eq!(rows(&mut one, &of_2005).split('|').count(), 3);
    let of_2000 = copied(head, "sp_columns", "IS_NULLABLE");
    assert_eq!(rows(&mut one, &of_2000).split('|').count(), 3);
}

/// sql-docs, "sp_table_privileges" and "sp_column_privileges": the owner has every privilege, and may grant it.
#[test]
fn the_owner_has_the_privileges_of_tables_and_columns() {
    let instance = instance();
    let mut one = session(&instance);
    run(
        &mut one,
        &[
            "create table dbo.safe (b int, a int)",
            "create table dbo.other (a int)",
            "create view dbo.seen as select a from dbo.safe",
        ],
    );
    let of = |privilege: &str| format!("master dbo safe dbo dbo {privilege} YES");
    let all = ["DELETE", "INSERT", "REFERENCES", "SELECT", "UPDATE"].map(of).join("|");
    assert_eq!(rows(&mut one, "exec sp_table_privileges 'safe'"), all);
    assert_eq!(rows(&mut one, "exec sp_table_privileges 'sa%', 'dbo'"), all);
    assert_eq!(rows(&mut one, "exec sp_table_privileges 'sa%', null, null, 0"), "");
    assert_eq!(rows(&mut one, "exec sp_table_privileges 'seen'").split('|').count(), 5);
    let columns = rows(&mut one, "exec sp_column_privileges 'safe'");
    let expected: Vec<String> = ["a", "b"]
        .iter()
        .flat_map(|column| {
            ["INSERT", "REFERENCES", "SELECT", "UPDATE"]
                .map(|privilege| format!("master dbo safe {column} dbo dbo {privilege} YES"))
        })
        .collect();
    assert_eq!(columns, expected.join("|"));
    let one_column = "exec sp_column_privileges @table_name = 'safe', @column_name = 'b%'";
    assert_eq!(rows(&mut one, one_column).split('|').count(), 4);
    assert_eq!(
        rows(&mut one, "exec sp_column_privileges 'sa%'"),
        "",
        "a table is no pattern"
    );
    assert_eq!(error(&mut one, "exec sp_column_privileges"), 201);
}

/// sql-docs, "sp_prepare", "sp_execute", "sp_prepexec" and "sp_unprepare": the examples, from T-SQL. They were 2812.
#[test]
fn texts_are_prepared_and_executed_by_handle_from_t_sql() {
    let instance = instance();
    let mut one = session(&instance);
    let prepare = "declare @h int exec sp_prepare @h output, N'@a int, @b nvarchar(20)', N'select @a + 1, @b' ";
    assert_eq!(
        rows(
            &mut one,
            &format!("{prepare} exec sp_execute @h, 1, N'x' exec sp_execute @h, 41, N'y'")
        ),
        "2 x|42 y"
    );
    let unprepared = format!("{prepare} exec sp_unprepare @h exec sp_execute @h, 1, N'x'");
    assert_eq!(error(&mut one, &unprepared), 8179);
    assert_eq!(error(&mut one, "exec sp_unprepare 12345"), 8179);
    assert_eq!(error(&mut one, "exec sp_execute 12345"), 8179);
    let at_once = "declare @h int, @out int
        exec sp_prepexec @h output, N'@a int, @double int output', N'set @double = @a * 2', 21, @out output
        select @out exec sp_execute @h, 5, @out output select @out";
    assert_eq!(rows(&mut one, at_once), "42|10");
    let across = "declare @h int exec sp_prepare @h output, null, N'select 7' select @h";
    let handle = rows(&mut one, across);
    assert_eq!(
        rows(&mut one, &format!("exec sp_execute {handle}")),
        "7",
        "handles outlive batches"
    );
    assert_eq!(
        error(
            &mut one,
            "declare @h int exec sp_prepare @h output, null, N'select from'"
        ),
        156
    );
    assert_eq!(error(&mut one, "declare @h int exec sp_prepare @h output, null"), 214);
    assert_eq!(error(&mut one, &format!("{prepare} exec sp_execute @h, 1")), 8178);
    let described =
        "declare @h int exec sp_prepare @h output, N'@a int', N'select @a as n into #x select 1', 1 select @h";
    assert_eq!(error(&mut one, &described.replace(", 1 select", ", 2 select")), 214);
    let returned = "declare @h int, @r int exec @r = sp_prepare @h output, null, N'select 1' select @r, sign(@h)";
    assert_eq!(rows(&mut one, returned), "0 1");
}
