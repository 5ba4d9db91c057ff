//! Several sessions change the files, the name and the options of one database at once.
#![allow(clippy::unwrap_used)]

use crate::transcript;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Barrier};

use disk::sim::{CutPolicy, SimDisk};
use engine::errorlog::ErrorLog;
use engine::instance::{Instance, InstanceOptions};
use engine::log::LogPolicy;
use engine::seams::{Background, Environment, SystemClock};
use engine::waits::WaitStatistics;
use transcript::{Transcript, session};
use tsql::session::Session;
use vlf::ServerVersion;

fn start(disk: &SimDisk) -> Arc<Instance> {
    let clock = Arc::new(SystemClock::new());
    let env = Environment {
        disk: Arc::new(disk.clone()),
        clock: clock.clone(),
        background: Background::Inline,
        waits: Arc::new(WaitStatistics::new()),
        errorlog: Arc::new(ErrorLog::new(clock)),
        activity: Arc::default(),
    };
    let options = InstanceOptions {
        folder: PathBuf::from("/instance"),
        server_name: "VLFLAB".to_owned(),
        version: ServerVersion::V2022,
        policy: LogPolicy::native(),
        max_server_memory_bytes: 16 << 20,
        instant_file_initialization: true,
    };
    Instance::start(options, env).unwrap()
}

/// Runs a batch that must complete without an error.
fn must(session: &mut Session, batch: &str) -> String {
    let mut transcript = Transcript::default();
    session.execute(batch, &mut transcript);
    let is_error = |line: &str| line.contains("Msg ") && !line.contains("Level 10");
    assert!(!transcript.text.lines().any(is_error), "{batch}: {}", transcript.text);
    transcript.text
}

/// Runs every batch in a session of its own, all at once.
fn at_once(instance: &Arc<Instance>, batches: &[String]) {
    let barrier = Barrier::new(batches.len());
    std::thread::scope(|threads| {
        for batch in batches {
            let barrier = &barrier;
            threads.spawn(move || {
                let mut own = session(instance);
                barrier.wait();
                must(&mut own, batch);
            });
        }
    });
}

fn files(instance: &Arc<Instance>, name: &str) -> Vec<(u16, String)> {
    let entry = instance.database(name).unwrap().entry();
    entry.files.into_iter().map(|file| (file.file_id, file.name)).collect()
}

/// MODIFY FILE copied the entry of the database, changed a file of the copy and stored it: a file that ADD FILE had put into the
/// entry meanwhile, and acknowledged, was gone, and the next got its id. Two ADD FILEs chose one id and one of them failed: 1828.
#[test]
fn files_added_beside_other_changes_of_the_entry_all_stay_and_have_ids_of_their_own() {
    const ROUNDS: usize = 25;
    let disk = SimDisk::new(11);
    let instance = start(&disk);
    must(
        &mut session(&instance),
        "create database d on (name = d, filename = 'c:\\d.mdf', size = 2MB) log on (name = d_log, filename = 'c:\\d.ldf', size = 1MB)",
    );
    let mut expected = BTreeSet::from(["d".to_string(), "d_log".to_string()]);
    for round in 0..ROUNDS {
        let add = |letter| {
            format!(
                "alter database d add file (name = {letter}{round}, filename = 'c:\\d_{letter}{round}.ndf', size = 512KB)"
            )
        };
        let limit = 10 + round;
        at_once(
            &instance,
            &[
                add('a'),
                format!("alter database d modify file (name = d, maxsize = {limit}MB)"),
                add('b'),
                format!("alter database d modify file (name = d_log, maxsize = {limit}MB)"),
                "alter database d set recovery simple alter database d set recovery full".to_string(),
            ],
        );
        expected.extend([format!("a{round}"), format!("b{round}")]);
        let found = files(&instance, "d");
        let ids: BTreeSet<u16> = found.iter().map(|(id, _)| *id).collect();
        assert_eq!(ids.len(), found.len(), "two files of one id: {found:?}");
        let names: BTreeSet<String> = found.into_iter().map(|(_, name)| name).collect();
        assert_eq!(names, expected, "after round {round}");
        let entry = instance.database("d").unwrap().entry();
        let limits: Vec<Option<u64>> = entry.files[..2].iter().map(|file| file.max_bytes).collect();
        assert_eq!(limits, [Some((limit as u64) << 20); 2]);
    }
    let before = files(&instance, "d");
    drop(instance);
    let again = start(&disk.after_power_cut(CutPolicy::AllLost, 1));
    assert_eq!(files(&again, "d"), before);
    must(&mut session(&again), "dbcc checkdb ('d') with no_infomsgs");
}

/// A name belongs to one database, whichever session comes first.
#[test]
fn sessions_that_give_one_name_to_several_databases_leave_it_to_one() {
    let disk = SimDisk::new(12);
    let instance = start(&disk);
    for name in ["a", "b", "c"] {
        must(&mut session(&instance), &format!("create database {name}"));
    }
    for _ in 0..20 {
        let barrier = Barrier::new(3);
        std::thread::scope(|threads| {
            for name in ["a", "b", "c"] {
                let (instance, barrier) = (&instance, &barrier);
                threads.spawn(move || {
                    let mut own = session(instance);
                    barrier.wait();
                    own.execute(
                        &format!("alter database {name} modify name = same"),
                        &mut Transcript::default(),
                    );
                });
            }
        });
        let names: Vec<String> = instance.slots().iter().map(|slot| slot.entry().name).collect();
        let same = names.iter().filter(|name| *name == "same").count();
        assert_eq!(same, 1, "{names:?}");
        let free = ["a", "b", "c"]
            .into_iter()
            .find(|name| !names.iter().any(|other| other == name));
        must(
            &mut session(&instance),
            &format!("alter database same modify name = {}", free.unwrap()),
        );
    }
}
