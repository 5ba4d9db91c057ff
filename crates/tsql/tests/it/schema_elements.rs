//! CREATE SCHEMA with tables, views and foreign keys in it, in any order, all of them or none.
//!
//! Source: SQL Server docs, CREATE SCHEMA.
#![allow(clippy::unwrap_used)]

use crate::answers;
use crate::transcript;

use answers::{error, rows, run};
use transcript::{instance, session};

const OBJECTS: &str =
    "select name from sys.objects where schema_id = schema_id('shop') and name not like '%[_][_]%' order by type, name";

#[test]
fn what_is_made_in_a_schema_may_refer_to_what_follows() {
    let instance = instance();
    let mut one = session(&instance);
    run(
        &mut one,
        &["create table dbo.currency (code char(3) primary key) insert dbo.currency values ('EUR')"],
    );
    run(
        &mut one,
        &["create schema shop authorization dbo\n\
         create view big as select n, c.code from orders o join currency c on c.code = o.code where o.n > 1\n\
         create table orders (n int primary key, item int not null references items (n) on delete cascade,\n\
         code char(3) references dbo.currency, partner int)\n\
         create table shop.items (n int primary key, parent int null, newest int null,\n\
         constraint fk_parent foreign key (parent) references items (n), constraint fk_newest foreign key (newest) references orders (n))\n\
         create view all_big as select n from big"],
    );
    assert_eq!(rows(&mut one, OBJECTS), "fk_newest|fk_parent|items|orders|all_big|big");
    let keys = "select count(*), sum(iif(is_not_trusted = 0 and is_disabled = 0, 1, 0)) from sys.foreign_keys where schema_id = schema_id('shop')";
    assert_eq!(rows(&mut one, keys), "4 4");
    run(
        &mut one,
        &["insert shop.items (n) values (1), (2) insert shop.orders values (1, 1, 'EUR', 0), (2, 2, 'EUR', 0)"],
    );
    assert_eq!(rows(&mut one, "select * from shop.big"), "2 EUR");
    assert_eq!(rows(&mut one, "select * from shop.all_big"), "2");
    assert_eq!(error(&mut one, "insert shop.orders values (3, 9, 'EUR', 0)"), 547);
    assert_eq!(error(&mut one, "update shop.items set newest = 9 where n = 1"), 547);
    run(&mut one, &["delete shop.items where n = 2"]);
    assert_eq!(rows(&mut one, "select count(*) from shop.orders"), "1");
    // A view's text is its own statement.
    assert_eq!(
        rows(
            &mut one,
            "select definition from sys.sql_modules where object_id = object_id('shop.all_big')"
        ),
        "create view all_big as select n from big"
    );
    run(&mut one, &["exec sp_refreshview 'shop.big'"]);
}

#[test]
fn a_schema_is_made_with_all_that_is_in_it_or_not_at_all() {
    let instance = instance();
    let mut one = session(&instance);
    for (batch, number) in [
        ("create schema shop create table t (a int) create table t (a int)", 2714),
        (
            "create schema shop create table t (a int) create view v as select b from t",
            207,
        ),
        (
            "create schema shop create view v as select a from nowhere create table t (a int)",
            208,
        ),
        (
            "create schema shop create table t (a int references u (b)) create table u (b int)",
            1776,
        ),
        ("create schema shop create table nowhere.t (a int)", 2760),
        (
            "create schema shop create table t (a int) grant execute on t to public",
            4606,
        ),
        ("create schema shop create procedure p as select 1", 156),
        ("create schema shop authorization nobody create table t (a int)", 15151),
    ] {
        assert_eq!(error(&mut one, batch), number, "{batch}");
        assert_eq!(rows(&mut one, "select isnull(schema_id('shop'), -1)"), "-1", "{batch}");
    }
    run(&mut one, &["begin tran"]);
    run(
        &mut one,
        &["create schema shop create table t (a int) create view v as select a from t"],
    );
    assert_eq!(rows(&mut one, "select count(*) from shop.v"), "0");
    run(&mut one, &["rollback"]);
    assert_eq!(
        rows(
            &mut one,
            "select isnull(schema_id('shop'), -1), isnull(object_id('shop.t'), -1)"
        ),
        "-1 -1"
    );
}
