//! What a start after a crash has to do, and what keeps it short.
#![allow(clippy::unwrap_used, missing_docs)]

mod support;

use disk::sim::SimDisk;
use engine::log::LogPolicy;
use support::*;

/// A page that is changed all the time stays dirty; indirect checkpoints write it all the same, so that redo starts at the
/// checkpoint before the last. Without a budget for pages, redo stays where the page was first changed.
#[test]
fn indirect_checkpoints_keep_the_start_of_redo_close_to_the_end_of_the_log() {
    for (pages_max, is_close) in [(8, true), (0, false)] {
        let instance = start(&SimDisk::new(3), LogPolicy::native());
        let database = instance.create_database(&statement("vlf", 8 << 20, 64 << 20)).unwrap();
        let mut session = instance.open_session().unwrap();
        let table = create_table(&mut session, &database, "t");
        insert(&mut session, &table, 1, 0);
        session.commit().unwrap();
        database.checkpoint().unwrap();
        let first = database.boot();
        let mut before = first.checkpoint;
        for round in 1..=6 {
            update(&mut session, &table, if round % 2 == 0 { "a" } else { "b" }, round).unwrap();
            session.commit().unwrap();
            database.indirect_checkpoint(pages_max).unwrap();
            let boot = database.boot();
            assert!(boot.checkpoint > before, "analysis starts at the newest checkpoint");
            assert!(boot.redo_start >= first.checkpoint);
            assert!(boot.redo_start <= boot.checkpoint);
            assert_eq!(
                boot.redo_start >= before,
                is_close || round == 1,
                "round {round}, budget {pages_max}: redo starts at {}, the checkpoint before was at {before}",
                boot.redo_start
            );
            before = boot.checkpoint;
        }
    }
}
