//! Names of keys, indexes and statistics of a table are unique; a duplicate is refused and the session lives on.
#![allow(clippy::unwrap_used)]

use crate::story;

use story::Story;

const TABLE: &str = "use d create table k (a int not null, b int not null constraint k_default default 1)
    create index k_index on k (a) create statistics k_statistics on k (b)
    alter table k add constraint k_key unique (b)";

fn with_table() -> Story {
    let mut story = Story::begin();
    story.run("create database d");
    story.run(TABLE);
    story
}

/// A key named as an index of its table ended in a failed assertion (3624), and the session with it: the new index was searched by
/// its name among those that were there.
#[test]
fn a_key_named_as_an_index_is_refused_and_the_session_goes_on() {
    let mut story = with_table();
    let answer = story.answer("alter table k add constraint k_index primary key (a)");
    let name_is_taken = "Msg 1913, Level 16, State 1, Line 1: The operation failed because an index or statistics with name 'k_index' already exists on table 'k'.";
    let not_made = "Msg 1750, Level 16, State 0, Line 1: Could not create constraint or index. See previous errors.";
    assert!(answer.contains(name_is_taken) && answer.contains(not_made), "{answer}");
    assert_eq!(story.rows("select count(*) from sys.key_constraints"), ["1"]);
    story.is_sound("d");
}

#[test]
fn every_pair_of_names_on_one_table() {
    let mut story = with_table();
    for (batch, expected) in [
        (
            "alter table k add constraint k_index primary key (a)",
            &[1913, 1750][..],
        ),
        ("alter table k add constraint K_INDEX unique (a)", &[1913, 1750]),
        (
            "alter table k add constraint k_index primary key clustered (a)",
            &[1913, 1750],
        ),
        (
            "alter table k add constraint k_statistics primary key (a)",
            &[1913, 1750],
        ),
        ("alter table k add constraint k_statistics unique (a)", &[1913, 1750]),
        ("alter table k add constraint k_key primary key (a)", &[2714, 1750]),
        ("alter table k add c int constraint k_index unique", &[1913, 1750]),
        (
            "alter table k add constraint one unique (a), constraint one unique (b)",
            &[2714, 1750],
        ),
        ("create index k_index on k (b)", &[1913]),
        ("create index k_statistics on k (b)", &[1913]),
        ("create index k_key on k (b)", &[1913]),
        ("create statistics k_index on k (b)", &[1927]),
        ("create statistics k_key on k (a)", &[1927]),
        ("create statistics k_statistics on k (a)", &[1927]),
        ("exec sp_rename 'k.k_index', 'k_key', 'INDEX'", &[15335]),
        ("exec sp_rename 'k.k_index', 'k_statistics', 'INDEX'", &[15335]),
        ("create table t (a int, index i (a), index I (a))", &[1913, 1750]),
        (
            "create table t (a int constraint i primary key, index i (a))",
            &[1913, 1750],
        ),
        (
            "create table t (a int, index i (a), constraint i unique (a))",
            &[1913, 1750],
        ),
        (
            "create table t (a int constraint i primary key, b int constraint i unique)",
            &[2714, 1750],
        ),
        ("declare @t table (a int, index i (a), index i (a))", &[1913]),
        (
            "create type t as table (a int, index i (a), index i (a))",
            &[1913, 1750],
        ),
    ] {
        assert_eq!(story.errors(batch), expected, "{batch}");
    }
    // Nothing of what was refused is left.
    assert_eq!(
        story.rows("select name from sys.indexes where object_id = object_id('k') and index_id > 0 order by name"),
        ["k_index", "k_key"]
    );
    assert_eq!(
        story.rows("select count(*) from sys.columns where object_id = object_id('k')"),
        ["2"]
    );
    assert_eq!(story.rows("select isnull(object_id('t'), 0)"), ["0"]);
    story.run("alter table k add constraint k_primary primary key (a)");
    story.is_sound("d");
}

/// What a table variable was declared with was dropped in silence: a second column of a name, unique indexes.
#[test]
fn a_table_variable_has_the_columns_and_unique_indexes_it_is_declared_with() {
    let mut story = with_table();
    for (batch, expected) in [
        ("declare @t table (a int, A int)", [2705]),
        ("declare @t table (a int, index i (b))", [207]),
        (
            "declare @t table (a int, index i unique (a)) insert @t values (1), (1)",
            [2627],
        ),
    ] {
        assert_eq!(story.errors(batch), expected, "{batch}");
    }
}
