//! Restoring a log with many VLFs that it never entered.
#![allow(clippy::unwrap_used)]

use crate::support;

use disk::Disk;
use disk::sim::SimDisk;
use engine::backup::{AfterRestore, BackupKind, BackupRequest, RestoreKind, RestoreRequest};
use engine::instance::Instance;
use engine::log::{LogPolicy, VlfHeaders, VlfInfo, directory_path};
use engine::session::Session;
use std::sync::Arc;
use support::*;

const MEDIA: &str = "c:\\vlf.bak";

fn backup(instance: &Instance, session: &Session, kind: BackupKind) {
    let request = BackupRequest {
        kind,
        path: MEDIA.into(),
        user: "sa".into(),
        ..BackupRequest::default()
    };
    instance.backup("vlf", &request, session, &mut |_| Ok(())).unwrap();
}

fn restore(instance: &Instance, session: &Session, kind: RestoreKind, file: u32, after: AfterRestore) {
    let request = RestoreRequest {
        kind,
        path: Some(MEDIA.into()),
        file,
        after,
        replace: kind == RestoreKind::Database,
        ..RestoreRequest::default()
    };
    instance.restore("vlf", &request, session, &mut |_| Ok(())).unwrap();
}

/// A database with a log of 160 VLFs, of which a few are in use, a full backup, a commit and a log backup.
fn backed_up(disk: &SimDisk, policy: LogPolicy) -> (Arc<Instance>, Session, Vec<VlfInfo>) {
    let instance = start(disk, policy);
    let database = instance.create_database(&statement("vlf", 1 << 20, 2 << 30)).unwrap();
    database
        .set_recovery_model(engine::recovery::RecoveryModel::Full)
        .unwrap();
    let mut session = instance.open_session().unwrap();
    let table = create_table(&mut session, &database, "t");
    insert(&mut session, &table, 1, 5);
    session.commit().unwrap();
    for megabytes in 2..=40 {
        database.storage.log.grow_file(2, megabytes << 20).unwrap();
    }
    backup(&instance, &session, BackupKind::Database);
    insert(&mut session, &table, 2, 6);
    session.commit().unwrap();
    backup(&instance, &session, BackupKind::Log);
    let vlfs = database.storage.log.vlfs();
    (instance, session, vlfs)
}

/// VLFs without a header, by what is at their places in the file; and how many VLFs were never entered.
fn without_header(instance: &Instance, vlfs: &[VlfInfo]) -> (usize, usize) {
    let database = instance.database("vlf").unwrap();
    let path = &database.storage.log.files()[0].path;
    let file = instance.env.disk.open(path, disk::Access::Buffered).unwrap();
    let lacks_header = |vlf: &&VlfInfo| {
        let mut sector = [1; 512];
        file.read_at(vlf.offset, &mut sector).unwrap();
        sector == [0; 512]
    };
    let never_entered = vlfs.iter().filter(|vlf| vlf.parity == 0);
    (vlfs.iter().filter(lacks_header).count(), never_entered.count())
}

fn content(instance: &Instance) -> Vec<(i32, i32)> {
    let session = instance.open_session().unwrap();
    let mut found = rows(&session, &open_table(&instance.database("vlf").unwrap(), "t"));
    found.sort_unstable();
    found
}

/// No header is written for them, they keep their sizes and the LSNs of their growths, and the next start finds all that in the
/// directory that the restore has written, reading as few headers as with a handful of VLFs.
#[test]
fn a_restore_writes_nothing_for_vlfs_never_entered() {
    let disk = SimDisk::new(21);
    let (instance, session, source) = backed_up(&disk, LogPolicy::native());
    assert_eq!(source.len(), 160);
    let shape =
        |vlfs: &[VlfInfo]| -> Vec<_> { vlfs.iter().map(|vlf| (vlf.offset, vlf.bytes, vlf.create_lsn)).collect() };
    for (file, after) in [(0, AfterRestore::Recovery), (2, AfterRestore::NoRecovery)] {
        restore(&instance, &session, RestoreKind::Database, 1, after);
        if file > 0 {
            restore(&instance, &session, RestoreKind::Log, file, AfterRestore::Recovery);
            assert_eq!(content(&instance), [(1, 5), (2, 6)]);
        } else {
            assert_eq!(content(&instance), [(1, 5)]);
        }
        let database = instance.database("vlf").unwrap();
        let restored = database.storage.log.vlfs();
        assert_eq!(shape(&restored), shape(&source));
        let (lacking, never_entered) = without_header(&instance, &restored);
        assert!(
            lacking == never_entered && lacking > 150,
            "{lacking} of {never_entered}"
        );
        let log = database.storage.log.files()[0].path.clone();
        assert!(Disk::len(&disk, &directory_path(&log)).unwrap().is_some());
    }
    drop((instance, session));
    let again = start(&disk, LogPolicy::native());
    assert_eq!(
        shape(&again.database("vlf").unwrap().storage.log.vlfs()),
        shape(&source)
    );
    assert_eq!(content(&again), [(1, 5), (2, 6)]);
}

/// Under a policy that gives VLFs headers when they are made, a restore gives them headers.
#[test]
fn a_restore_writes_headers_where_the_policy_wants_them() {
    let policy = LogPolicy {
        vlf_headers: VlfHeaders::WhenCreated,
        ..LogPolicy::native()
    };
    let disk = SimDisk::new(22);
    let (instance, session, source) = backed_up(&disk, policy);
    restore(&instance, &session, RestoreKind::Database, 1, AfterRestore::NoRecovery);
    restore(&instance, &session, RestoreKind::Log, 2, AfterRestore::Recovery);
    assert_eq!(content(&instance), [(1, 5), (2, 6)]);
    let restored = instance.database("vlf").unwrap().storage.log.vlfs();
    assert_eq!(restored.len(), source.len());
    let (lacking, never_entered) = without_header(&instance, &restored);
    assert!(lacking == 0 && never_entered > 150, "{lacking} of {never_entered}");
}
