//! Users, roles, memberships, owners: what their statements do and refuse, what the catalog shows, and that it is kept (sql-docs, "CREATE ROLE",
//! "ALTER ROLE", "DROP ROLE", "CREATE USER", "ALTER USER", "DROP USER", "ALTER AUTHORIZATION"; numbers that the pages do not tell are those
//! that the SqlServerSimulator project has seen of SQL Server 2025).
#![allow(clippy::unwrap_used)]

use crate::answers::{error, rows, run};
use crate::story::{Again, Story, cut_everywhere};
use crate::transcript;

use disk::sim::SimDisk;
use engine::log::LogPolicy;
use tsql::session::Session;

fn begun() -> Session {
    let mut session = transcript::session(&transcript::instance());
    run(
        &mut session,
        &[
            "create database d",
            "use d",
            "create role reading create role writing authorization reading",
            "create user ann without login with default_schema = shop",
            "create user ben without login",
            "create schema shop authorization ann",
            "create table shop.t (a int primary key, b int, c int)",
            "create table t (a int)",
        ],
    );
    session
}

/// Own principals in the order of ids.
const OWN: &str = "select concat(name, ' ', principal_id, ' ', type, ' ', default_schema_name, ' ', user_name(owning_principal_id), ' ', is_fixed_role, ' ', \
    authentication_type_desc) from sys.database_principals where principal_id between 5 and 16383 order by principal_id";
const MEMBERS: &str = "select concat(user_name(role_principal_id), ' ', user_name(member_principal_id)) from sys.database_role_members \
    order by 1";

#[test]
fn roles_and_users_are_listed_renamed_and_dropped() {
    let mut one = begun();
    assert_eq!(
        rows(&mut one, OWN),
        "reading 5 R  dbo 0 NONE|writing 6 R  reading 0 NONE|ann 7 S shop  0 NONE|ben 8 S dbo  0 NONE"
    );
    run(
        &mut one,
        &[
            "alter role reading with name = readers",
            "alter user ann with name = anna, default_schema = dbo, allow_encrypted_value_modifications = on",
            "alter user anna with name = ANNA",
        ],
    );
    assert_eq!(
        rows(&mut one, OWN),
        "readers 5 R  dbo 0 NONE|writing 6 R  readers 0 NONE|ANNA 7 S dbo  0 NONE|ben 8 S dbo  0 NONE"
    );
    assert_eq!(
        rows(
            &mut one,
            "select name from sys.database_principals where allow_encrypted_value_modifications = 1"
        ),
        "ANNA"
    );
    let sids = "select count(*), count(distinct sid), min(datalength(sid)), max(datalength(sid)) from sys.database_principals where principal_id > 4";
    assert_eq!(rows(&mut one, sids), "13 13 28 28");
    run(
        &mut one,
        &["drop user ben", "drop user if exists ben", "drop role if exists nobody"],
    );
    assert_eq!(
        rows(
            &mut one,
            "select count(*) from sys.database_principals where name = 'ben'"
        ),
        "0"
    );
    // Every user may connect.
    assert_eq!(
        rows(
            &mut one,
            "select concat(user_name(grantee_principal_id), ' ', permission_name, ' ', state_desc) from sys.database_permissions where class = 0 order by 1"
        ),
        "ANNA CONNECT GRANT|dbo CONNECT GRANT"
    );
}

#[test]
fn members_come_and_go_and_make_no_circle() {
    let mut one = begun();
    run(
        &mut one,
        &[
            "alter role reading add member ann alter role reading add member ann",
            "alter role reading add member writing",
            "alter role writing add member ben",
            "alter role db_datareader add member reading",
            "alter role db_owner add member guest",
        ],
    );
    assert_eq!(
        rows(&mut one, MEMBERS),
        "db_datareader reading|db_owner dbo|db_owner guest|reading ann|reading writing|writing ben"
    );
    let within = "select is_rolemember('db_datareader', 'ben') a, is_rolemember('writing', 'ann') b, is_rolemember('reading', 'reading') c, \
        is_rolemember('nobody', 'ann') d, is_rolemember('reading', 'nobody') e, is_member('reading') f, is_member('db_ddladmin') g, \
        is_member('db_denydatareader') h, is_rolemember('public', 'ben') i";
    assert_eq!(rows(&mut one, within), "1 0 1 NULL NULL 0 1 0 1");
    for (batch, number) in [
        ("alter role writing add member reading", 15413),
        ("alter role writing add member writing", 15413),
        ("alter role nobody add member ann", 15151),
        ("alter role ann add member ben", 15151),
        ("alter role reading add member nobody", 15151),
        ("alter role reading drop member nobody", 15151),
        ("alter role reading add member dbo", 15405),
        ("alter role db_owner drop member dbo", 15405),
        ("alter role reading add member db_owner", 15405),
        ("alter role [public] add member ann", 15081),
        ("drop role reading", 15144),
    ] {
        assert_eq!(error(&mut one, batch), number, "{batch}");
    }
    run(
        &mut one,
        &[
            "alter role reading drop member ann alter role reading drop member ann",
            "drop user ben",
        ],
    );
    assert_eq!(
        rows(&mut one, MEMBERS),
        "db_datareader reading|db_owner dbo|db_owner guest|reading writing"
    );
    run(
        &mut one,
        &["alter role reading drop member writing drop role writing drop role reading"],
    );
    assert_eq!(rows(&mut one, MEMBERS), "db_owner dbo|db_owner guest");
}

#[test]
fn what_cannot_be_is_refused_by_its_number() {
    let mut one = begun();
    for (batch, number) in [
        ("create role ann", 15023),
        ("create role READING", 15023),
        ("create user dbo without login", 15023),
        ("create role [a\\b]", 15006),
        ("create role n authorization nobody", 15151),
        ("create role n authorization sys", 15151),
        ("create user n for login nobody", 15007),
        ("create user n", 15007),
        ("create user n for login sa", 15063),
        ("create user ann for login sa", 15023),
        ("create user sa", 15063),
        ("create user n with password = 'Qw3rty-uiop'", 33233),
        ("create user n from external provider", 40517),
        ("create user n for certificate c", 40517),
        ("create user n without login with sid = 0x01", 40517),
        ("create user n without login with name = m", 102),
        ("create user n without login with banana = 1", 102),
        ("create login l with password = 'Qw3rty-uiop'", 40517),
        ("create application role a with password = 'Qw3rty-uiop'", 40517),
        ("alter role db_owner with name = n", 15150),
        ("alter role [public] with name = n", 15150),
        ("alter role nobody with name = n", 15151),
        ("alter role reading with name = ann", 15023),
        ("alter user guest with default_schema = shop", 15150),
        ("alter user nobody with default_schema = shop", 15151),
        ("alter user reading with default_schema = shop", 15151),
        ("alter user ben with name = reading", 15023),
        ("alter user ben with login = nobody", 15007),
        ("alter user ben with login = sa", 33016),
        ("alter user ben with password = 'Qw3rty-uiop'", 40517),
        ("drop role nobody", 15151),
        ("drop role ann", 15151),
        ("drop user reading", 15151),
        ("drop role db_owner", 15150),
        ("drop role [public]", 15150),
        ("drop user dbo", 15150),
        ("drop user sys", 15150),
        ("drop user guest", 15539),
        ("drop user ann", 15138),
        ("drop role reading", 15421),
        ("execute as user = 'ann'", 40517),
        ("execute as user = 'reading'", 15517),
    ] {
        assert_eq!(error(&mut one, batch), number, "{batch}");
    }
    // Nothing of them is left.
    assert_eq!(
        rows(
            &mut one,
            "select count(*) from sys.database_principals where name in ('n', 'l', 'a', 'sa')"
        ),
        "0"
    );
}

#[test]
fn owners_are_given_shown_and_taken_back() {
    let mut one = begun();
    run(
        &mut one,
        &[
            "create procedure p as select 1",
            "create type ty from int",
            "create sequence sq",
            "create xml schema collection xc as '<schema xmlns=\"http://www.w3.org/2001/XMLSchema\"/>'",
            "create trigger tr on t after insert as select 1",
        ],
    );
    let owners = "select concat(isnull((select user_name(principal_id) from sys.schemas where name = 'shop'), '-'), ' ', \
        isnull((select user_name(principal_id) from sys.objects where name = 't' and schema_id = 1), '-'), ' ', \
        isnull((select user_name(principal_id) from sys.procedures where name = 'p'), '-'), ' ', \
        isnull((select user_name(principal_id) from sys.types where name = 'ty'), '-'), ' ', \
        isnull((select user_name(principal_id) from sys.sequences where name = 'sq'), '-'), ' ', \
        isnull((select user_name(principal_id) from sys.xml_schema_collections where name = 'xc'), '-'))";
    assert_eq!(rows(&mut one, owners), "ann - - - - -");
    assert_eq!(
        rows(
            &mut one,
            "select schema_owner from information_schema.schemata where schema_name = 'shop'"
        ),
        "ann"
    );
    run(
        &mut one,
        &[
            "alter authorization on schema::shop to ben",
            "alter authorization on t to reading",
            "alter authorization on object::p to ann",
            "alter authorization on type::ty to ann",
            "alter authorization on sq to dbo",
            "alter authorization on xml schema collection::xc to ben",
            "alter authorization on role::reading to reading",
            "alter authorization on database::d to sa",
        ],
    );
    assert_eq!(rows(&mut one, owners), "ben reading ann ann dbo ben");
    let effective = "select concat(user_name(objectproperty(object_id('shop.t'), 'ownerid')), ' ', user_name(objectproperty(object_id('t'), 'ownerid')), ' ', \
        user_name(objectproperty(object_id('tr'), 'ownerid')))";
    assert_eq!(rows(&mut one, effective), "ben reading reading");
    for (batch, number) in [
        ("drop user ann", 15183),
        ("alter authorization on p to schema owner drop user ann", 15184),
        ("drop user ben", 15138),
        ("drop role reading", 15183),
        ("alter authorization on t to schema owner drop role reading", 15421),
        ("alter authorization on schema::shop to dbo drop user ben", 15138),
    ] {
        assert_eq!(error(&mut one, batch), number, "{batch}");
    }
    run(
        &mut one,
        &[
            "alter authorization on type::ty to schema owner",
            "alter authorization on xml schema collection::xc to schema owner",
            "alter authorization on role::reading to dbo",
            "drop role writing drop role reading drop user ann drop user ben",
        ],
    );
    assert_eq!(rows(&mut one, owners), "dbo - - - dbo -");
}

#[test]
fn what_has_no_owner_to_change_is_refused_by_its_number() {
    let mut one = begun();
    run(
        &mut one,
        &[
            "create trigger tr on t after insert as select 1",
            "create type ty from int",
        ],
    );
    for (batch, number) in [
        ("alter authorization on nothing to ann", 15151),
        ("alter authorization on t to nobody", 15151),
        ("alter authorization on t to sys", 15151),
        ("alter authorization on tr to ann", 15346),
        ("alter authorization on sys.objects to ann", 15151),
        ("alter authorization on user::ann to ben", 15344),
        ("alter authorization on application role::a to ann", 15344),
        ("alter authorization on schema::dbo to ann", 15150),
        ("alter authorization on schema::shop to schema owner", 15151),
        ("alter authorization on type::int to ann", 15247),
        ("alter authorization on type::nothing to ann", 15151),
        ("alter authorization on role::ann to dbo", 15151),
        ("alter authorization on role::db_owner to ann", 15150),
        ("alter authorization on database::nothing to sa", 15151),
        ("alter authorization on database::master to sa", 15109),
        ("alter authorization on database::d to sysadmin", 15353),
        ("alter authorization on database::d to ann", 15151),
        ("alter authorization on assembly::a to ann", 40517),
        ("create schema s authorization nobody", 15151),
    ] {
        assert_eq!(error(&mut one, batch), number, "{batch}");
    }
}

/// No module runs as a user other than dbo.
#[test]
fn a_module_that_runs_as_its_owner_is_dbos() {
    let mut one = begun();
    assert_eq!(
        error(&mut one, "create procedure shop.p with execute as owner as select 1"),
        40517
    );
    run(
        &mut one,
        &[
            "create procedure p with execute as owner as select user_name()",
            "create procedure shop.q as select user_name()",
            "create schema other",
        ],
    );
    assert_eq!(error(&mut one, "alter authorization on p to ann"), 40517);
    assert_eq!(error(&mut one, "alter schema shop transfer dbo.p"), 40517);
    run(&mut one, &["alter schema other transfer dbo.p"]);
    assert_eq!(error(&mut one, "alter authorization on schema::other to ann"), 40517);
    assert_eq!(rows(&mut one, "exec other.p exec shop.q"), "dbo|dbo");
}

/// A role by default is its maker's, who is dbo, and what is rolled back was not there.
#[test]
fn a_rollback_leaves_nothing() {
    let mut one = begun();
    let all = format!(
        "{OWN} {MEMBERS} select count(*) from sys.database_permissions select concat(name, principal_id) from sys.schemas where schema_id > 4"
    );
    let before = rows(&mut one, &all);
    run(
        &mut one,
        &[
            "begin tran create role r create user u without login alter role r add member u \
             grant select on t to r with grant option alter authorization on schema::shop to u \
             exec ('create schema s authorization r') alter role reading with name = x drop user ben rollback",
            "begin tran save tran s create role r grant select on t to r rollback tran s commit",
            "begin try begin tran create role r create role r end try begin catch rollback end catch",
        ],
    );
    assert_eq!(rows(&mut one, &all), before);
}

/// Principals, members, permissions and owners are as they were over every way of opening a database again, in backups, copies, snapshots and
/// clones.
#[test]
fn they_are_kept() {
    const SEEN: &str = "select concat(name, ' ', principal_id, ' ', type, ' ', default_schema_name, ' ', owning_principal_id, ' ', convert(varchar(60), sid, 2)) \
        from sys.database_principals where principal_id > 4 \
        select concat(role_principal_id, ' ', member_principal_id) from sys.database_role_members order by 1 \
        select concat(class, ' ', object_name(major_id), ' ', minor_id, ' ', grantee_principal_id, ' ', grantor_principal_id, ' ', type, state) \
        from sys.database_permissions order by 1 \
        select concat(name, ' ', principal_id) from sys.schemas select concat(name, ' ', principal_id) from sys.tables";
    for again in Again::ALL {
        let mut story = Story::begin();
        story.run("create database d");
        story.run("use d");
        story.run(
            "create role r create user u without login with default_schema = s alter role r add member u alter role db_owner add member r \
             create table t (a int, b int) create table t2 (a int) alter authorization on t2 to r \
             grant select on t to r with grant option deny update (b) on t to u grant create table to u grant control on role::r to u",
        );
        story.run("create schema s authorization u");
        let seen = story.rows(SEEN);
        assert!(seen.iter().any(|row| row == "1 t 2 6 1 UP  D"), "{seen:?}");
        story.run("backup database d to disk = 'd.bak' with init");
        story.again(again, "d");
        story.run("use d");
        assert_eq!(story.rows(SEEN), seen, "{again:?}");
        story.run("use master create database k as copy of d");
        story.run("dbcc clonedatabase (d, c) with no_infomsgs");
        story.run("create database n on (name = d, filename = 'c:\\n.ss') as snapshot of d");
        story.run("use d");
        story.run("drop table t2 revoke select on t from r cascade alter role r drop member u");
        assert_ne!(story.rows(SEEN), seen);
        for other in ["k", "c", "n"] {
            story.run(&format!("use {other}"));
            assert_eq!(story.rows(SEEN), seen, "{other}");
        }
        story.run("use master drop database n drop database k restore database d from disk = 'd.bak' with replace");
        story.run("use d");
        assert_eq!(story.rows(SEEN), seen, "{again:?}");
        story.is_sound("d");
    }
}

/// What is dropped takes along what was said of it.
#[test]
fn permissions_go_with_what_they_are_on() {
    let mut one = begun();
    run(
        &mut one,
        &[
            "create type ty from int",
            "create view v as select a from t",
            "grant select on shop.t to ben grant update (b, c) on shop.t to ben grant select on v to ben grant references on type::ty to ben",
            "grant select on schema::shop to ben grant alter on role::writing to ben grant impersonate on user::ann to ben",
            "alter table shop.t drop column b",
        ],
    );
    let left = "select concat(class_desc, ' ', object_name(major_id), ' ', col_name(major_id, minor_id), ' ', permission_name) \
        from sys.database_permissions where grantee_principal_id = user_id('ben') and class > 0 order by 1";
    assert_eq!(
        rows(&mut one, left),
        "DATABASE_PRINCIPAL   ALTER|DATABASE_PRINCIPAL   IMPERSONATE|OBJECT_OR_COLUMN t  SELECT|OBJECT_OR_COLUMN t c UPDATE|\
         OBJECT_OR_COLUMN v  SELECT|SCHEMA   SELECT|TYPE   REFERENCES"
    );
    run(
        &mut one,
        &["drop type ty drop view v drop table shop.t drop role writing"],
    );
    assert_eq!(rows(&mut one, left), "DATABASE_PRINCIPAL   IMPERSONATE|SCHEMA   SELECT");
    run(&mut one, &["drop schema shop drop user ann"]);
    assert_eq!(rows(&mut one, left), "");
    run(&mut one, &["drop user ben"]);
    assert_eq!(rows(&mut one, "select count(*) from sys.database_permissions"), "1");
}

/// ALTER SCHEMA TRANSFER and a change of owner drop permissions; a renamed or altered object keeps them.
#[test]
fn permissions_stay_where_they_should() {
    let mut one = begun();
    let left = "select count(*) from sys.database_permissions where class = 1";
    run(
        &mut one,
        &[
            "create procedure p as select 1",
            "grant execute on p to ben grant select on t to ben",
            "alter procedure p as select 2",
        ],
    );
    run(
        &mut one,
        &[
            "exec sp_rename 't', 't2'",
            "alter table t2 add z int",
            "truncate table t2",
        ],
    );
    assert_eq!(rows(&mut one, left), "2");
    run(&mut one, &["alter authorization on t2 to dbo"]);
    assert_eq!(rows(&mut one, left), "2");
    run(&mut one, &["alter authorization on t2 to ann"]);
    assert_eq!(rows(&mut one, left), "1");
    run(&mut one, &["alter schema shop transfer dbo.p"]);
    assert_eq!(rows(&mut one, left), "0");
}

/// A query for what an event says besides what every event does.
fn document_of(number: u32) -> String {
    format!(
        "declare @x xml = (select x from seen where n = {number}) set @x.modify('delete (/EVENT_INSTANCE/PostTime, /EVENT_INSTANCE/SPID, \
         /EVENT_INSTANCE/ServerName, /EVENT_INSTANCE/LoginName, /EVENT_INSTANCE/UserName, /EVENT_INSTANCE/DatabaseName, \
         /EVENT_INSTANCE/EventType, /EVENT_INSTANCE/TSQLCommand)') select cast(@x.query('/EVENT_INSTANCE/*') as nvarchar(max))"
    )
}

/// The events of principals and permissions fire triggers of the database, with their documents.
#[test]
fn triggers_of_the_database_see_them() {
    let mut one = begun();
    run(
        &mut one,
        &[
            "create table seen (n int identity, x xml)",
            "create trigger tr on database for ddl_database_security_events as insert seen (x) values (eventdata())",
            "create role r authorization ann",
            "alter role r add member ben",
            "alter role r drop member ben",
            "alter role r with name = r2",
            "drop role r2",
            "create user u without login with default_schema = shop",
            "alter user u with default_schema = dbo",
            "drop user u",
            "drop user if exists u",
            "grant select, Update on shop.t to ben, reading with grant option",
            "deny create view to ben",
            "revoke select on shop.t from ben cascade",
            "alter authorization on shop.t to ben",
            "exec sp_addrole 'q'",
        ],
    );
    let events = "select x.value('(/EVENT_INSTANCE/EventType)[1]', 'sysname') from seen order by n";
    assert_eq!(
        rows(&mut one, events),
        "CREATE_ROLE|ADD_ROLE_MEMBER|DROP_ROLE_MEMBER|ALTER_ROLE|DROP_ROLE|CREATE_USER|ALTER_USER|DROP_USER|GRANT_DATABASE|DENY_DATABASE|\
         REVOKE_DATABASE|ALTER_AUTHORIZATION_DATABASE|CREATE_ROLE"
    );
    assert_eq!(
        rows(&mut one, &document_of(1)),
        "<ObjectName>r</ObjectName><ObjectType>ROLE</ObjectType><OwnerName>ann</OwnerName>"
    );
    assert_eq!(
        rows(&mut one, &document_of(2)),
        "<ObjectName>ben</ObjectName><ObjectType>SQL USER</ObjectType><RoleName>r</RoleName>"
    );
    assert_eq!(
        rows(&mut one, &document_of(6)),
        "<ObjectName>u</ObjectName><ObjectType>SQL USER</ObjectType><DefaultSchema>shop</DefaultSchema>"
    );
    assert_eq!(
        rows(&mut one, &document_of(9)),
        "<SchemaName>shop</SchemaName><ObjectName>t</ObjectName><ObjectType>TABLE</ObjectType><Grantor>ann</Grantor>\
         <Permissions><Permission>select</Permission><Permission>update</Permission></Permissions>\
         <Grantees><Grantee>ben</Grantee><Grantee>reading</Grantee></Grantees><AsGrantor/><GrantOption>1</GrantOption><CascadeOption>0</CascadeOption>"
    );
    assert_eq!(
        rows(&mut one, &document_of(10)),
        "<SchemaName/><ObjectName>d</ObjectName><ObjectType>DATABASE</ObjectType><Grantor>dbo</Grantor>\
         <Permissions><Permission>create view</Permission></Permissions><Grantees><Grantee>ben</Grantee></Grantees><AsGrantor/>\
         <GrantOption>0</GrantOption><CascadeOption>0</CascadeOption>"
    );
    assert_eq!(
        rows(&mut one, &document_of(12)),
        "<SchemaName>shop</SchemaName><ObjectName>t</ObjectName><ObjectType>TABLE</ObjectType><OwnerName>ben</OwnerName>"
    );
}

#[test]
fn a_trigger_that_rolls_back_leaves_nothing_of_the_statement() {
    let mut one = begun();
    run(
        &mut one,
        &["create trigger tr2 on database for create_role, grant_database as rollback"],
    );
    assert_eq!(error(&mut one, "create role gone"), 3609);
    assert_eq!(error(&mut one, "grant select on t to ben"), 3609);
    assert_eq!(
        rows(
            &mut one,
            "select count(*) from sys.database_principals where name = 'gone' select count(*) from sys.database_permissions where major_id = object_id('t')"
        ),
        "0|0"
    );
}

/// The procedures that came before the statements.
#[test]
fn procedures_make_and_show_them() {
    let mut one = begun();
    run(
        &mut one,
        &[
            "exec sp_addrole 'r', 'ann'",
            "exec sp_addrolemember 'r', 'ben' exec sp_addrolemember 'r', 'ann' exec sp_droprolemember 'r', 'ann'",
            "exec sp_changedbowner 'sa'",
        ],
    );
    assert_eq!(rows(&mut one, "exec sp_helprole 'r'"), "r 9 0");
    assert_eq!(
        rows(
            &mut one,
            "declare @m table (a sysname, b sysname, c varbinary(85)) insert @m exec sp_helprolemember select concat(a, ' ', b) from @m order by 1"
        ),
        "db_owner dbo|r ben"
    );
    assert_eq!(rows(&mut one, "exec sp_helpuser 'r'"), "r 9 ben 8");
    let users = "declare @u table (u sysname, r sysname, l sysname null, d sysname null, s sysname null, i smallint, x varbinary(85)) insert @u exec sp_helpuser \
        select concat(u, ' ', r, ' ', l, ' ', d, ' ', s, ' ', i) from @u order by i";
    assert_eq!(
        rows(&mut one, users),
        "dbo db_owner sa master dbo 1|guest public   guest 2|INFORMATION_SCHEMA public    3|sys public    4|ann public   shop 7|ben r   dbo 8"
    );
    assert_eq!(
        rows(&mut one, "exec sp_helpdbfixedrole 'db_ddladmin'"),
        "db_ddladmin DB DDL Administrators"
    );
    for (batch, number) in [
        ("exec sp_addrole 'ann'", 15023),
        ("exec sp_addrolemember 'r', 'nobody'", 15410),
        ("exec sp_droprole 'nobody'", 15014),
        ("exec sp_droprole 'r'", 15144),
        ("exec sp_dropuser 'nobody'", 15008),
        ("exec sp_adduser 'nobody'", 15007),
        ("exec sp_grantdbaccess 'sa', 'x'", 15063),
        ("exec sp_helprole 'ann'", 15409),
        ("exec sp_helprolemember 'ann'", 15409),
        ("exec sp_helpuser 'nobody'", 15198),
        ("exec sp_helpdbfixedrole 'r'", 15412),
        ("exec sp_addapprole 'a', 'b'", 40517),
    ] {
        assert_eq!(error(&mut one, batch), number, "{batch}");
    }
    run(
        &mut one,
        &["exec sp_droprolemember 'r', 'ben' exec sp_revokedbaccess 'ben' exec sp_droprole 'r'"],
    );
    assert_eq!(
        rows(&mut one, "select count(*) from sysusers where name in ('r', 'ben')"),
        "0"
    );
    assert_eq!(
        rows(
            &mut one,
            "select name, uid, gid, hasdbaccess, islogin, issqlrole from sysusers where uid in (5, 7) order by uid"
        ),
        "reading 5 5 0 0 1|ann 7 0 1 1 0"
    );
}

/// Changes of principals, of which a power cut leaves each whole or not at all.
const CHANGES: [&str; 20] = [
    "use d create role r3 authorization r",
    "use d create user u3 without login",
    "use d alter role r3 add member u3",
    "use d alter role r3 add member r",
    "use d grant select, update (b) on t to u3 with grant option",
    "use d grant select on t to r as u3",
    "use d deny control on schema::s to u3",
    "use d alter authorization on t2 to u3",
    "use d alter authorization on schema::s to r3",
    "use d revoke select on t from u3 cascade",
    "use d alter table t drop column b",
    "use d alter role r with name = r9",
    "use d alter user u with default_schema = s",
    "use d alter authorization on t2 to schema owner",
    "use d alter authorization on schema::s to dbo",
    "use d alter role r3 drop member u3",
    "use d drop user u3",
    "use d drop table t",
    "use d alter role r3 drop member r9",
    "use d drop role r3",
];

fn begin_changes(policy: LogPolicy) -> Story {
    let mut story = Story::on(SimDisk::new(7), policy);
    story.run("create database d");
    story.run("use d");
    story.run(
        "create role r create user u without login alter role r add member u create table t (a int, b int, c int) create table t2 (a int) \
         grant select on t to u, r",
    );
    story.run("create schema s");
    story.run("checkpoint");
    story
}

/// What the statements change.
fn principals_of(story: &mut Story) -> Vec<String> {
    let queries = [
        "select name, principal_id, default_schema_name, owning_principal_id from d.sys.database_principals where principal_id > 4 order by 2",
        "select role_principal_id, member_principal_id from d.sys.database_role_members order by 1, 2",
        "select class, major_id, minor_id, grantee_principal_id, grantor_principal_id, type, state from d.sys.database_permissions order by 1, 2, 3, 4, 5, 6",
        "select name, principal_id from d.sys.schemas where schema_id > 4",
        "select name, principal_id from d.sys.tables order by 1",
    ];
    queries.map(|query| story.rows(query).join("; ")).to_vec()
}

fn cut_principals(policy: LogPolicy) {
    let sample = workbench::sample("operations of statements of principals with a power cut", 19);
    cut_everywhere(
        &CHANGES,
        sample,
        || begin_changes(policy),
        principals_of,
        |story, _| {
            story.run("use d create user probe without login grant insert on t2 to probe drop user probe");
        },
    );
}

#[test]
fn a_power_cut_leaves_principals_whole_by_the_native_policy() {
    cut_principals(LogPolicy::native());
}

#[test]
fn a_power_cut_leaves_principals_whole_by_the_classic_policy() {
    cut_principals(LogPolicy::classic());
}

/// A database says in its boot record that it has such entries, so that a build that knows none refuses it; a fixed principal alone is none.
#[test]
fn the_boot_record_says_that_there_are_principals() {
    for batch in [
        "create role r",
        "create user u without login",
        "grant connect to guest",
        "alter role db_owner add member guest",
        "alter authorization on t to guest",
    ] {
        let mut story = Story::begin();
        story.run("create database d");
        story.run("use d");
        story.run("create table t (a int)");
        let has = |story: &Story| story.instance.database("d").unwrap().has_principals();
        assert!(!has(&story));
        story.run("alter role db_owner drop member guest revoke select on t from public");
        assert!(!has(&story));
        story.run(batch);
        assert!(has(&story), "{batch}");
    }
}
