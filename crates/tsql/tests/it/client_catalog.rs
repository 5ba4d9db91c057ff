//! What clients and administrators' scripts ask of the catalog: views of features that are not there, the standard's views, the catalog
//! procedures, and the forms of T-SQL that those scripts begin with.
//!
//! Sources: sql-docs, "System catalog views", "System information schema views", "Catalog stored procedures"; ODBC's `sql.h`.
#![allow(clippy::unwrap_used, missing_docs)]

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
