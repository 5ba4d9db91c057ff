//! GRANT, DENY and REVOKE: what they leave, what they refuse, what views, functions and procedures show of it (sql-docs, "GRANT", "DENY",
//! "REVOKE" and the pages of their securables, "sys.database_permissions", "HAS_PERMS_BY_NAME"; what the pages do not tell is what the
//! SqlServerSimulator project has seen of SQL Server 2025).
#![allow(clippy::unwrap_used)]

use crate::answers::{answers, error, rows, run};
use crate::transcript;

use tsql::session::Session;

fn begun() -> Session {
    let mut session = transcript::session(&transcript::instance());
    run(
        &mut session,
        &[
            "create database d",
            "use d",
            "create role r create user u without login create user v without login create user o without login",
            "create schema s authorization o",
            "create table t (a int primary key, b int, c int) create table s.t (a int)",
            "create procedure p as select 1",
            "create function f () returns int as begin return 1 end",
            "create function g () returns table as return select a from t",
            "create sequence q create synonym y for t create type ty from int",
            "create xml schema collection x as '<schema xmlns=\"http://www.w3.org/2001/XMLSchema\"/>'",
            "create view w as select a, b from t",
        ],
    );
    session
}

/// The permissions of a grantee: object and column, name, state, grantor.
fn of(session: &mut Session, grantee: &str) -> String {
    let query = format!(
        "select concat(iif(class = 1, object_name(major_id), class_desc), iif(minor_id = 0, '', '.' + col_name(major_id, minor_id)), ' ', \
         permission_name, ' ', state, ' ', user_name(grantor_principal_id)) from sys.database_permissions \
         where grantee_principal_id = user_id('{grantee}') and type <> 'CO' order by 1"
    );
    rows(session, &query)
}

#[test]
fn one_entry_is_kept_of_a_permission() {
    let mut one = begun();
    run(&mut one, &["grant select, insert on t to u, v"]);
    assert_eq!(of(&mut one, "u"), "t INSERT G dbo|t SELECT G dbo");
    assert_eq!(of(&mut one, "v"), "t INSERT G dbo|t SELECT G dbo");
    run(&mut one, &["deny select on t to u"]);
    assert_eq!(of(&mut one, "u"), "t INSERT G dbo|t SELECT D dbo");
    run(&mut one, &["grant select on t to u with grant option"]);
    assert_eq!(of(&mut one, "u"), "t INSERT G dbo|t SELECT W dbo");
    run(&mut one, &["grant select on t to u"]);
    assert_eq!(of(&mut one, "u"), "t INSERT G dbo|t SELECT W dbo");
    for refused in [
        "deny select on t to u",
        "revoke select on t from u",
        "revoke grant option for select on t from u",
    ] {
        assert_eq!(error(&mut one, refused), 4611, "{refused}");
    }
    run(&mut one, &["revoke grant option for select on t from u cascade"]);
    assert_eq!(of(&mut one, "u"), "t INSERT G dbo|t SELECT G dbo");
    run(
        &mut one,
        &["revoke grant option for select on t to u revoke delete on t from u"],
    );
    assert_eq!(of(&mut one, "u"), "t INSERT G dbo|t SELECT G dbo");
    run(
        &mut one,
        &["revoke select, insert on t from u, v revoke select on t from u"],
    );
    assert_eq!(of(&mut one, "u"), "");
    assert_eq!(of(&mut one, "v"), "");
}

#[test]
fn columns_have_entries_that_the_whole_object_replaces() {
    let mut one = begun();
    run(
        &mut one,
        &["grant select (b, a), update (c) on t to u deny references on t (b) to u"],
    );
    assert_eq!(
        of(&mut one, "u"),
        "t.a SELECT G dbo|t.b REFERENCES D dbo|t.b SELECT G dbo|t.c UPDATE G dbo"
    );
    run(&mut one, &["grant select on t to u"]);
    assert_eq!(
        of(&mut one, "u"),
        "t SELECT G dbo|t.b REFERENCES D dbo|t.c UPDATE G dbo"
    );
    // A column is left out of what is granted of the table.
    run(
        &mut one,
        &["revoke select (b) on t from u revoke update (c) on t from u"],
    );
    assert_eq!(
        of(&mut one, "u"),
        "t SELECT G dbo|t.b REFERENCES D dbo|t.b SELECT R dbo"
    );
    run(&mut one, &["grant select (b) on t to u deny select (a) on t to u"]);
    assert_eq!(
        of(&mut one, "u"),
        "t SELECT G dbo|t.a SELECT D dbo|t.b REFERENCES D dbo|t.b SELECT G dbo"
    );
    run(&mut one, &["deny select on t to u revoke references on t from u"]);
    assert_eq!(of(&mut one, "u"), "t SELECT D dbo");
    run(&mut one, &["grant all on t (a) to v grant select on w (b) to v"]);
    assert_eq!(
        of(&mut one, "v"),
        "t.a REFERENCES G dbo|t.a SELECT G dbo|t.a UPDATE G dbo|w.b SELECT G dbo"
    );
    for (batch, number) in [
        ("grant select (a) on t (b) to u", 1019),
        ("grant insert (a) on t to u", 1020),
        ("grant execute on t (a) to u", 1020),
        ("grant select (a) on schema::s to u", 1020),
        ("grant select (a) on y to u", 1020),
        ("grant select (nothing) on t to u", 4615),
        ("grant select (a) on p to u", 4606),
    ] {
        assert_eq!(error(&mut one, batch), number, "{batch}");
    }
}

#[test]
fn the_grantor_is_the_owner_or_who_has_the_grant_option() {
    let mut one = begun();
    run(
        &mut one,
        &[
            "grant select on s.t to u grant impersonate on user::v to u grant control on role::r to u",
            "grant select on t to u with grant option",
            "grant select on t to v as u",
        ],
    );
    assert_eq!(
        of(&mut one, "u"),
        "DATABASE_PRINCIPAL CONTROL G dbo|DATABASE_PRINCIPAL IMPERSONATE G v|t SELECT G o|t SELECT W dbo"
    );
    assert_eq!(of(&mut one, "v"), "t SELECT G u");
    // Another grantor's entry stays.
    run(&mut one, &["grant select on t to v revoke select on t from v"]);
    assert_eq!(of(&mut one, "v"), "t SELECT G u");
    assert_eq!(error(&mut one, "drop user u"), 15284);
    run(
        &mut one,
        &[
            "grant select on t to v with grant option as u",
            "grant select on t to r as v",
        ],
    );
    assert_eq!(of(&mut one, "r"), "t SELECT G v");
    run(&mut one, &["deny select on t to u cascade"]);
    assert_eq!(
        of(&mut one, "u"),
        "DATABASE_PRINCIPAL CONTROL G dbo|DATABASE_PRINCIPAL IMPERSONATE G v|t SELECT D dbo|t SELECT G o"
    );
    assert_eq!((of(&mut one, "v"), of(&mut one, "r")), (String::new(), String::new()));
    // Members of db_owner and holders of CONTROL grant as the owner does.
    run(
        &mut one,
        &[
            "alter role db_owner add member r grant insert on t to v as r",
            "grant control on schema::dbo to o grant delete on t to v as o",
            "grant update on t to v as dbo",
        ],
    );
    assert_eq!(of(&mut one, "v"), "t DELETE G dbo|t INSERT G dbo|t UPDATE G dbo");
    for (batch, number) in [
        ("grant select on t to v as nobody", 15151),
        ("grant select on t to v as v", 15151),
        ("deny select on t to v as v", 15151),
        ("grant create table to v as v", 4613),
    ] {
        assert_eq!(error(&mut one, batch), number, "{batch}");
    }
}

/// Grants that go round in a circle go together.
#[test]
fn a_circle_of_grants_is_revoked() {
    let mut one = begun();
    run(
        &mut one,
        &[
            "grant select on t to u with grant option",
            "grant select on t to v with grant option as u",
            "grant select on t to u with grant option as v",
        ],
    );
    assert_eq!(of(&mut one, "u"), "t SELECT W dbo|t SELECT W v");
    run(&mut one, &["revoke select on t from v cascade as u"]);
    assert_eq!(
        (of(&mut one, "u"), of(&mut one, "v")),
        ("t SELECT W dbo".to_owned(), String::new())
    );
    run(&mut one, &["revoke select on t from u cascade drop user u drop user v"]);
}

#[test]
fn all_stands_for_what_it_always_did() {
    let mut one = begun();
    let told = |session: &mut Session, batch: &str| {
        let answers = answers(session, batch);
        assert!(answers.errors.is_empty(), "{batch}: {:?}", answers.errors);
        answers.rows.join("|")
    };
    let warning = "The ALL permission is deprecated and maintained only for compatibility. It DOES NOT imply ALL permissions defined on the entity.";
    assert_eq!(told(&mut one, "grant all privileges on t to u"), warning);
    assert_eq!(
        of(&mut one, "u"),
        "t DELETE G dbo|t INSERT G dbo|t REFERENCES G dbo|t SELECT G dbo|t UPDATE G dbo"
    );
    assert_eq!(
        told(
            &mut one,
            "revoke all on t from u grant all on p to u grant all on f to u"
        ),
        [warning; 3].join("|")
    );
    assert_eq!(of(&mut one, "u"), "f EXECUTE G dbo|f REFERENCES G dbo|p EXECUTE G dbo");
    assert_eq!(told(&mut one, "grant all to r"), warning);
    assert_eq!(
        of(&mut one, "r").replace("|DATABASE ", "|").replace(" G dbo", ""),
        "DATABASE BACKUP DATABASE|BACKUP LOG|CREATE DEFAULT|CREATE FUNCTION|CREATE PROCEDURE|CREATE RULE|CREATE TABLE|CREATE VIEW"
    );
    for class in [
        "schema::s",
        "type::ty",
        "role::r",
        "user::v",
        "xml schema collection::x",
    ] {
        assert_eq!(error(&mut one, &format!("grant all on {class} to u")), 4623, "{class}");
    }
    // Those who have every permission are passed over.
    let notice =
        "Cannot grant, deny, or revoke permissions to sa, dbo, entity owner, information_schema, sys, or yourself.";
    for grantee in ["dbo", "sa", "sys", "information_schema"] {
        assert_eq!(told(&mut one, &format!("grant select on t to {grantee}")), notice);
    }
    assert_eq!(told(&mut one, "deny select on s.t to o, v"), notice);
    assert_eq!(
        (of(&mut one, "o"), of(&mut one, "v")),
        (String::new(), "t SELECT D o".to_owned())
    );
}

#[test]
fn what_does_not_fit_is_refused_by_its_number() {
    let mut one = begun();
    for (batch, number) in [
        ("grant select on nothing to u", 15151),
        ("grant select on t to nobody", 15151),
        ("grant select on t to u, nobody", 15151),
        ("grant select on schema::nothing to u", 15151),
        ("grant control on role::nothing to u", 15151),
        ("grant control on role::u to u", 15151),
        ("grant control on user::r to u", 15151),
        ("grant control on role::db_owner to u", 15151),
        ("grant control on type::nothing to u", 15151),
        ("grant control on type::int to u", 15151),
        ("grant control on database::nothing to u", 15151),
        ("grant control on database::master to u", 4610),
        ("grant select on master.dbo.spt_values to u", 40517),
        ("grant select on t to db_datareader", 4617),
        ("grant connect to r", 4627),
        ("grant create database to u", 4619),
        ("grant view server state to u", 4621),
        ("grant control on login::sa to u", 4621),
        ("grant control, view server state to u", 4620),
        ("grant select on information_schema.tables to u", 4629),
        ("grant select on sys.objects to u", 40517),
        ("grant control on assembly::a to u", 40517),
        ("grant banana on t to u", 102),
        ("grant create table on schema::s to u", 102),
        ("grant create sequence to u", 102),
        ("grant connect on t to u", 102),
        ("grant select on user::nothing to u", 102),
        ("grant impersonate on role::r to u", 102),
        ("grant select on type::ty to u", 102),
        ("deny select on t from u", 156),
        ("grant select on t to u cascade", 156),
        ("deny select on t to u with grant option", 319),
        ("grant execute on t to u", 4606),
        ("grant receive on t to u", 4606),
        ("grant select on p to u", 4606),
        ("grant insert on q to u", 4606),
        ("grant references on y to u", 4606),
        ("grant select on f to u", 4606),
        ("grant execute on g to u", 4606),
    ] {
        assert_eq!(error(&mut one, batch), number, "{batch}");
        assert_eq!(of(&mut one, "u"), "", "{batch}");
    }
}

/// Each class has its permissions, and those of the server are for logins.
#[test]
fn what_fits_is_stored_for_each_class() {
    let mut one = begun();
    run(
        &mut one,
        &[
            "grant control on database::d to u grant select on g to u grant update on q to u grant execute on y to u",
            "grant exec on type::dbo.ty to u grant alter on xml schema collection::x to u grant create sequence on schema::s to u",
            "grant view change tracking, unmask on t to u grant alter any user to u",
        ],
    );
    assert_eq!(
        of(&mut one, "u"),
        "DATABASE ALTER ANY USER G dbo|DATABASE CONTROL G dbo|g SELECT G dbo|q UPDATE G dbo|SCHEMA CREATE SEQUENCE G o|t UNMASK G dbo|\
         t VIEW CHANGE TRACKING G dbo|TYPE EXECUTE G dbo|XML_SCHEMA_COLLECTION ALTER G dbo|y EXECUTE G dbo"
    );
    run(&mut one, &["use master"]);
    assert_eq!(
        rows(&mut one, "grant view server state to sa"),
        rows(&mut one, "deny shutdown to sa")
    );
    for (batch, number) in [
        ("grant view server state to nobody", 15151),
        ("grant view server state to sysadmin", 4617),
        ("grant view server state to public", 40517),
    ] {
        assert_eq!(error(&mut one, batch), number, "{batch}");
    }
}

/// A DENY protects nothing: every session is dbo, who has every permission on everything that is there.
#[test]
fn every_session_has_every_permission() {
    let mut one = begun();
    run(
        &mut one,
        &[
            "deny select, insert on t to public deny control to u",
            "insert t values (1, 2, 3)",
        ],
    );
    assert_eq!(rows(&mut one, "select a, b from t"), "1 2");
    let asked = "select has_perms_by_name('t', 'OBJECT', 'SELECT') a, has_perms_by_name('nothing', 'OBJECT', 'SELECT') b, has_perms_by_name('t', 'object', 'banana') c, \
        has_perms_by_name('t', 'BANANA', 'SELECT') d, has_perms_by_name(null, 'DATABASE', 'CREATE TABLE') e, has_perms_by_name('d', 'DATABASE', 'ANY') f, \
        has_perms_by_name('nothing', 'DATABASE', 'ANY') g, has_perms_by_name(null, null, 'VIEW SERVER STATE') h, has_perms_by_name(null, null, 'SELECT') i, \
        has_perms_by_name('s', 'SCHEMA', 'SELECT') j, has_perms_by_name('nothing', 'SCHEMA', 'SELECT') k, has_perms_by_name('t', 'OBJECT', null) l, \
        has_perms_by_name('t', 'OBJECT', 'SELECT', 'b', 'COLUMN') m, has_perms_by_name('t', 'OBJECT', 'SELECT', 'x', 'COLUMN') n, \
        has_perms_by_name('u', 'USER', 'IMPERSONATE') o, has_perms_by_name('r', 'ROLE', 'ALTER') p, has_perms_by_name('sa', 'LOGIN', 'ALTER') q, \
        has_perms_by_name(null, 'OBJECT', 'SELECT') r, has_perms_by_name('ty', 'TYPE', 'CONTROL') s";
    assert_eq!(
        rows(&mut one, asked),
        "1 0 NULL NULL 1 1 0 1 NULL 1 0 NULL 1 0 1 1 1 NULL 1"
    );
    assert_eq!(
        rows(
            &mut one,
            "select user_id('u'), user_name(6), user_id('nobody'), user_name(99), user_name(16384), database_principal_id('r'), user_name()"
        ),
        "6 u NULL NULL db_owner 5 dbo"
    );
}

#[test]
fn older_views_and_the_standards_show_them() {
    let mut one = begun();
    run(
        &mut one,
        &[
            "grant select on t to u with grant option grant select on t to v as u grant update (b) on w to u deny insert on t to u",
            "grant execute on p to u grant create table to r grant control on t to r",
        ],
    );
    assert_eq!(
        rows(
            &mut one,
            "select grantor, grantee, table_schema, table_name, privilege_type, is_grantable from information_schema.table_privileges order by 2"
        ),
        "dbo u dbo t SELECT YES"
    );
    assert_eq!(
        rows(
            &mut one,
            "select grantor, grantee, table_catalog, table_name, column_name, privilege_type, is_grantable from information_schema.column_privileges"
        ),
        "dbo u d w b UPDATE NO"
    );
    assert_eq!(
        rows(
            &mut one,
            "select concat(object_name(id), ' ', user_name(uid), ' ', action, ' ', protecttype, ' ', convert(varchar(8), columns, 2), ' ', user_name(grantor)) from sysprotects order by id, uid, action"
        )
        .split('|')
        .map(str::to_owned)
        .collect::<std::collections::BTreeSet<_>>(),
        [" r 198 205  dbo", "t u 193 204 01 dbo", "t u 195 206  dbo", "t v 193 205 01 u", "w u 197 205 04 dbo", "p u 224 205  dbo"]
            .map(str::to_owned)
            .into()
    );
    assert_eq!(rows(&mut one, "select count(*) from syspermissions"), "5");
    assert_eq!(
        rows(&mut one, "exec sp_helprotect 't'"),
        "dbo t r dbo Grant      CONTROL .|dbo t u dbo Deny       Insert .|dbo t u dbo Grant_WGO  Select (All+New)|dbo t v u Grant      Select (All+New)"
    );
    assert_eq!(
        rows(
            &mut one,
            "exec sp_helprotect null, 'r', null, 's' exec sp_helprotect 'create table' exec sp_helprotect 'w'"
        ),
        ". . r dbo Grant      Create Table .|. . r dbo Grant      Create Table .|dbo w u dbo Grant      Update b"
    );
    assert_eq!(error(&mut one, "exec sp_helprotect 's.t'"), 15330);
    assert_eq!(
        rows(
            &mut one,
            "declare @p table (a sysname, b sysname, c sysname, grantor sysname, grantee sysname, p varchar(32), g varchar(3)) \
            insert @p exec sp_table_privileges 't', 'dbo' select concat(grantor, grantee, p, g) from @p where grantee <> 'dbo' order by 1 \
            declare @c table (a sysname, b sysname, c sysname, d sysname, grantor sysname, grantee sysname, p varchar(32), g varchar(3)) \
            insert @c exec sp_column_privileges 'w' select concat(d, grantor, grantee, p, g) from @c where grantee <> 'dbo'"
        ),
        "dbouSELECTYES|uvSELECTNO|bdbouUPDATENO"
    );
}

/// Elements of CREATE SCHEMA may be permissions on what it makes.
#[test]
fn a_schema_is_made_with_permissions() {
    let mut one = begun();
    run(
        &mut one,
        &[
            "create schema n authorization u create table made (a int) grant select on made to v deny insert on n.made to r",
        ],
    );
    assert_eq!(of(&mut one, "v"), "made SELECT G u");
    assert_eq!(of(&mut one, "r"), "made INSERT D u");
    assert_eq!(
        rows(
            &mut one,
            "select schema_name(schema_id) from sys.tables where name = 'made'"
        ),
        "n"
    );
}
