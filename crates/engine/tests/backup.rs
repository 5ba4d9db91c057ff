//! Backup and restore of whole databases on a simulated disk.
#![allow(clippy::unwrap_used, missing_docs)]

mod support;

use disk::sim::SimDisk;
use engine::backup::{BackupEvent, BackupKind, BackupRequest};
use engine::error::Error;
use engine::instance::Instance;
use engine::log::LogPolicy;
use engine::recovery::RecoveryModel;
use engine::session::Session;
use support::*;

const MEDIA: &str = "c:\\vlf.bak";

fn request(kind: BackupKind) -> BackupRequest {
    BackupRequest {
        kind,
        path: MEDIA.into(),
        user: "sa".into(),
        ..BackupRequest::default()
    }
}

fn backup(instance: &Instance, session: &Session, request: &BackupRequest) -> Result<Vec<String>, Vec<i32>> {
    let mut lines = Vec::new();
    let done = instance.backup("vlf", request, session, &mut |event| {
        if let BackupEvent::Message(message) = event {
            lines.push(message.message);
        }
        Ok(())
    });
    done.map(|_| lines).map_err(|errors| numbers(&errors))
}

fn numbers(errors: &[Error]) -> Vec<i32> {
    errors.iter().map(|error| error.number).collect()
}

#[test]
fn backups_tell_what_sql_server_tells_and_move_the_chain_on() {
    for policy in [LogPolicy::classic(), LogPolicy::native()] {
        let disk = SimDisk::new(3);
        let instance = start(&disk, policy);
        let database = instance.create_database(&statement("vlf", 1 << 20, 64 << 20)).unwrap();
        let mut session = instance.open_session().unwrap();
        let control = instance.open_session().unwrap();
        let table = create_table(&mut session, &database, "t");
        insert(&mut session, &table, 1, 0);
        session.commit().unwrap();
        assert_eq!(
            backup(&instance, &control, &request(BackupKind::Log)),
            Err(vec![4214, 3013])
        );
        let lines = backup(&instance, &control, &request(BackupKind::Database)).unwrap();
        let stats = |line: &&String| line.ends_with("percent processed.");
        assert_eq!(lines.iter().rfind(stats).unwrap(), "100 percent processed.");
        let told: Vec<&str> = lines.iter().filter(|line| !stats(line)).map(String::as_str).collect();
        assert!(
            told[0].starts_with("Processed ") && told[0].ends_with(" pages for database 'vlf', file 'vlf' on file 1.")
        );
        assert!(
            told[1].ends_with(" pages for database 'vlf', file 'vlf_log' on file 1."),
            "{told:?}"
        );
        assert!(
            told[2].starts_with("BACKUP DATABASE successfully processed "),
            "{told:?}"
        );
        for round in 0..60 {
            update(&mut session, &table, if round % 2 == 0 { "a" } else { "b" }, round).unwrap();
            session.commit().unwrap();
        }
        database.checkpoint().unwrap();
        let active = database.storage.log.space().active_vlfs;
        assert_eq!(database.reuse_wait().name(), "LOG_BACKUP");
        backup(&instance, &control, &request(BackupKind::Log)).unwrap();
        assert!(database.storage.log.space().active_vlfs < active);
        let sets = instance.backup_headers(MEDIA).unwrap();
        assert_eq!(
            sets.iter()
                .map(|set| (set.position, set.kind.number()))
                .collect::<Vec<_>>(),
            [(1, 1), (2, 2)]
        );
        assert_eq!(sets[1].first_lsn, sets[0].last_lsn);
        assert_eq!(sets[1].database_backup_lsn, sets[0].checkpoint_lsn);
        for file in [1, 2] {
            instance.verify_backup(MEDIA, Some(file), &mut |_| Ok(())).unwrap();
        }
        database.set_recovery_model(RecoveryModel::Simple).unwrap();
        assert_eq!(
            backup(&instance, &control, &request(BackupKind::Log)),
            Err(vec![4208, 3013])
        );
    }
}
