//! Which paths a statement may touch: every combination of the decision table, and every statement on the machine's own disk
//! against files that are not its own, by every spelling.
#![allow(clippy::unwrap_used)]

use crate::support;

use disk::ConfinedDisk;
use disk::sim::SimDisk;
use engine::backup::{BackupRequest, RestoreRequest};
use engine::error::Error;
use engine::instance::{
    CreateDatabase, FileSpec, Holder, Instance, InstanceOptions, Place, Presence, Purpose, Refusal, Verdict, decide,
};
use engine::log::LogPolicy;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use support::*;

const PURPOSES: [Purpose; 9] = [
    Purpose::NewFile,
    Purpose::RestoredFile { replace: false },
    Purpose::RestoredFile { replace: true },
    Purpose::Backup,
    Purpose::FormattedBackup,
    Purpose::ReadBackup,
    Purpose::UndoFile,
    Purpose::ReadForeign,
    Purpose::ReadRows,
];
const PLACES: [Place; 3] = [Place::Instance, Place::Allowed, Place::Outside];
const HOLDERS: [Holder; 6] = [
    Holder::Nobody,
    Holder::System,
    Holder::Database,
    Holder::RestoredDatabase,
    Holder::Writer,
    Holder::Readers,
];
const PRESENCES: [Presence; 7] = [
    Presence::Nothing,
    Presence::NoFile,
    Presence::Empty,
    Presence::Backup,
    Presence::DatabaseFile,
    Presence::UndoFile,
    Presence::Other,
];

/// The table of the module, row by row: the first that fits counts. `*` is anything, `file` anything but nothing and no file.
const TABLE: &str = "
    outside | *          | *         | outside | outside | outside | outside  | outside | outside  | outside | outside | outside
    *       | system     | *         | system  | system  | system  | system   | system  | system   | system | system | system
    *       | *          | no file   | no file | no file | no file | no file  | no file | no file  | no file | no file | no file
    *       | database   | *         | in use  | in use  | in use  | in use   | in use  | in use   | in use | in use | in use
    *       | restored   | nothing   | in use  | make    | make    | in use   | in use  | in use   | in use | in use | in use
    *       | restored   | file      | in use  | replace | replace | in use   | in use  | in use   | in use | in use | in use
    *       | writer     | *         | in use  | in use  | in use  | in use   | in use  | in use   | in use | in use | in use
    *       | readers    | nothing   | in use  | in use  | in use  | in use   | in use  | missing  | in use | missing | missing
    *       | readers    | backup    | in use  | in use  | in use  | in use   | in use  | use      | in use | not ours | use
    *       | readers    | other     | in use  | in use  | in use  | in use   | in use  | not ours | in use | use | use
    *       | readers    | empty     | in use  | in use  | in use  | in use   | in use  | not ours | in use | not ours | use
    *       | readers    | *         | in use  | in use  | in use  | in use   | in use  | not ours | in use | not ours | not ours
    *       | nobody     | nothing   | make    | make    | make    | make     | make    | missing  | make | missing | missing
    *       | nobody     | empty     | exists  | exists  | exists  | not ours | replace | not ours | exists | not ours | use
    *       | nobody     | backup    | exists  | exists  | exists  | use      | replace | use      | exists | not ours | use
    *       | nobody     | database  | exists  | exists  | replace | not ours | exists  | not ours | exists | not ours | not ours
    *       | nobody     | undo file | exists  | exists  | exists  | not ours | exists  | not ours | replace | not ours | not ours
    *       | nobody     | other     | exists  | exists  | exists  | not ours | exists  | not ours | exists | use | use
";

fn place_name(place: Place) -> &'static str {
    match place {
        Place::Instance | Place::Allowed => "inside",
        Place::Outside => "outside",
    }
}

fn holder_name(holder: Holder) -> &'static str {
    match holder {
        Holder::Nobody => "nobody",
        Holder::System => "system",
        Holder::Database => "database",
        Holder::RestoredDatabase => "restored",
        Holder::Writer => "writer",
        Holder::Readers => "readers",
    }
}

fn presence_name(presence: Presence) -> &'static str {
    match presence {
        Presence::Nothing => "nothing",
        Presence::NoFile => "no file",
        Presence::Empty => "empty",
        Presence::Backup => "backup",
        Presence::DatabaseFile => "database",
        Presence::UndoFile => "undo file",
        Presence::Other => "other",
    }
}

fn verdict_name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Make => "make",
        Verdict::Use => "use",
        Verdict::Replace => "replace",
        Verdict::Refuse(Refusal::Outside) => "outside",
        Verdict::Refuse(Refusal::System) => "system",
        Verdict::Refuse(Refusal::NoFile) => "no file",
        Verdict::Refuse(Refusal::InUse) => "in use",
        Verdict::Refuse(Refusal::Exists) => "exists",
        Verdict::Refuse(Refusal::NotOurs) => "not ours",
        Verdict::Refuse(Refusal::Missing) => "missing",
        Verdict::Refuse(Refusal::Invalid | Refusal::Failed) => "never decided",
    }
}

#[test]
fn every_combination_is_decided_as_the_table_says() {
    let rows: Vec<Vec<&str>> = TABLE
        .lines()
        .filter(|line| line.contains('|'))
        .map(|line| line.split('|').map(str::trim).collect())
        .collect();
    let fits = |pattern: &str, name: &str| {
        pattern == "*" || pattern == name || pattern == "file" && !["nothing", "no file"].contains(&name)
    };
    let (mut combinations, mut used) = (0, vec![0; rows.len()]);
    for place in PLACES {
        for holder in HOLDERS {
            for presence in PRESENCES {
                let names = [place_name(place), holder_name(holder), presence_name(presence)];
                let row = rows
                    .iter()
                    .position(|row| row.iter().zip(names).all(|(pattern, name)| fits(pattern, name)));
                let row = row.unwrap_or_else(|| panic!("no row for {names:?}"));
                used[row] += 1;
                for (purpose, expected) in PURPOSES.into_iter().zip(&rows[row][3..]) {
                    let verdict = decide(purpose, place, holder, presence);
                    assert_eq!(
                        verdict_name(verdict),
                        *expected,
                        "{purpose:?} {place:?} {holder:?} {presence:?}"
                    );
                    combinations += 1;
                }
            }
        }
    }
    assert_eq!(combinations, 9 * 3 * 6 * 7);
    assert!(used.iter().all(|count| *count > 0), "a row fits nothing: {used:?}");
}

/// A machine's folder with an instance in `in`, a folder `also` that is allowed, and a folder `out` that is not.
struct Machine {
    base: PathBuf,
    instance: Arc<Instance>,
}

impl Machine {
    fn new() -> Machine {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let base = std::env::temp_dir().join(format!("vlflab-paths-{}-{number}", std::process::id()));
        for folder in ["in", "also", "out"] {
            fs::create_dir_all(base.join(folder)).unwrap();
        }
        let instance = Machine::start(&base).unwrap();
        let machine = Machine { base, instance };
        machine
            .instance
            .create_database(&statement("vlf", 1 << 20, 2 << 20))
            .unwrap();
        machine
    }

    fn start(base: &Path) -> Result<Arc<Instance>, Error> {
        let folders = vec![base.join("in"), base.join("also"), PathBuf::from("/dev")];
        let mut environment = environment(&SimDisk::new(1));
        environment.disk = Arc::new(ConfinedDisk::new(folders));
        let options = InstanceOptions {
            folder: base.join("in"),
            ..options(LogPolicy::native())
        };
        Instance::start(options, environment)
    }

    fn path(&self, name: &str) -> String {
        self.base.join(name).display().to_string()
    }

    /// Runs a statement of every purpose on a path. Answers the numbers of their errors, 0 where there was none.
    fn try_all(&self, path: &str) -> BTreeMap<&'static str, i32> {
        let replaced = |replace: bool| {
            let request = RestoreRequest {
                path: Some("c:\\good.bak".into()),
                file: 1,
                moves: vec![("vlf".into(), path.into()), ("vlf_log".into(), "c:\\copy_log".into())],
                replace,
                ..RestoreRequest::default()
            };
            self.restored("copy", &request)
        };
        let read = |path: &str| number(self.instance.backup_headers(&[path.to_owned()]));
        let standby = RestoreRequest {
            path: Some("c:\\good.bak".into()),
            file: 1,
            moves: vec![("vlf".into(), "c:\\s".into()), ("vlf_log".into(), "c:\\s_log".into())],
            standby: Some(path.into()),
            ..RestoreRequest::default()
        };
        let outcomes = [
            ("new", self.created(path)),
            ("backup", self.backed_up(path, |_| {})),
            ("init", self.backed_up(path, |request| request.init = true)),
            ("format", self.backed_up(path, |request| request.format = true)),
            ("restore", replaced(false)),
            ("replace", replaced(true)),
            ("read", read(path)),
            ("standby", self.restored("standby", &standby)),
        ];
        outcomes.into_iter().collect()
    }

    fn created(&self, path: &str) -> i32 {
        let spec = |path: &str| FileSpec {
            filename: Some(path.into()),
            ..FileSpec::default()
        };
        let create = CreateDatabase {
            name: "made".into(),
            data: vec![spec(path)],
            log: vec![spec("c:\\made_log")],
            ..CreateDatabase::default()
        };
        let created = self.instance.create_database(&create);
        let number = created.as_ref().map_or_else(|error| error.number, |_| 0);
        drop(created);
        self.dropped("made");
        number
    }

    fn backed_up(&self, path: &str, change: fn(&mut BackupRequest)) -> i32 {
        let mut request = BackupRequest {
            path: path.into(),
            ..BackupRequest::default()
        };
        change(&mut request);
        let session = self.instance.open_session().unwrap();
        number(self.instance.backup("vlf", &request, &session, &mut |_| Ok(())))
    }

    fn restored(&self, name: &str, request: &RestoreRequest) -> i32 {
        let session = self.instance.open_session().unwrap();
        let number = number(self.instance.restore(name, request, &session, &mut |_| Ok(())));
        self.dropped(name);
        number
    }

    fn dropped(&self, name: &str) {
        let session = self.instance.open_session().unwrap();
        self.instance.drop_database(name, &session).ok();
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.base);
    }
}

fn number<T>(outcome: Result<T, Vec<Error>>) -> i32 {
    outcome.map_or_else(|errors| errors[0].number, |_| 0)
}

/// Every file of the machine but those that change by themselves, with what it holds.
fn contents(folder: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            contents(&entry.path(), found);
        } else if kind.is_file() {
            found.insert(entry.path(), fs::read(entry.path()).unwrap());
        }
    }
}

/// What no statement may touch, by many spellings.
fn forbidden(machine: &Machine) -> Vec<String> {
    vec![
        machine.path("in/.lock"),
        "c:\\lock".into(),
        machine.path("in/sa.password"),
        machine.path("in/SA.PASSWORD"),
        machine.path("in/sa.password.new"),
        machine.path("in/server.certificate.pem"),
        machine.path("in/server.key.pem"),
        machine.path("in/Server.Key.PEM.new"),
        "c:\\key".into(),
        machine.path("in/log/ERRORLOG"),
        machine.path("in/log/ERRORLOG.3"),
        machine.path("in/data/spill/1"),
        machine.path("in/data/master.mdf"),
        "master.mdf".into(),
        "MASTER.MDF".into(),
        "c:\\vlf.mdf".into(),
        "C:\\VLF.MDF".into(),
        "c:\\.\\vlf.mdf".into(),
        "c:\\link_in\\vlf.mdf".into(),
        machine.path("in/c/./vlf.mdf"),
        machine.path("also/vlf_by_another_name"),
        "c:\\vlf_log.ldf".into(),
        "c:\\vlf_log.ldf.vlfs".into(),
        "c:\\vlf.mdf.dwb".into(),
        "c:\\any.making".into(),
        "c:\\text".into(),
        "c:\\link_text".into(),
        "c:\\link_out\\text".into(),
        "c:\\link_out\\new".into(),
        "c:\\..\\..\\out\\new".into(),
        machine.path("in/../out/new"),
        machine.path("out/text"),
        machine.path("out/new"),
        "/etc/passwd".into(),
        "/dev/null".into(),
        "c:\\folder".into(),
        "c:\\fifo".into(),
        "c:\\socket".into(),
        machine.path("in"),
        "c:\\a\nb".into(),
    ]
}

/// Targets that every statement must refuse, by every spelling, and that must be as before afterwards.
#[test]
fn no_statement_touches_what_is_not_its_own_by_any_spelling() {
    let machine = Machine::new();
    assert_eq!(machine.backed_up("c:\\good.bak", |_| {}), 0);
    let file = |name: &str| machine.base.join(name);
    fs::write(file("in/sa.password"), "$argon2").unwrap();
    fs::write(file("in/c/text"), "a text of somebody").unwrap();
    fs::write(file("out/text"), "outside").unwrap();
    fs::create_dir(file("in/c/folder")).unwrap();
    symlink(file("out"), file("in/c/link_out")).unwrap();
    symlink(file("in/c"), file("in/c/link_in")).unwrap();
    symlink(file("in/c/text"), file("in/c/link_text")).unwrap();
    fs::hard_link(file("in/.lock"), file("in/c/lock")).unwrap();
    fs::write(file("in/server.key.pem"), "a key").unwrap();
    fs::hard_link(file("in/server.key.pem"), file("in/c/key")).unwrap();
    fs::hard_link(file("in/c/vlf.mdf"), file("also/vlf_by_another_name")).unwrap();
    rustix_fifo(&file("in/c/fifo"));
    let socket = std::os::unix::net::UnixListener::bind(file("in/c/socket")).unwrap();
    let targets = forbidden(&machine);
    let snapshot = || {
        let mut found = BTreeMap::new();
        contents(&machine.base, &mut found);
        found.retain(|path, _| !path.ends_with("good.bak") && path.file_name().unwrap() != "ERRORLOG");
        // Master's own files and its companions change with each statement.
        found.retain(|path, _| {
            !["master", "mastlog", "vlf", "templog", "tempdb"]
                .iter()
                .any(|own| path.file_name().unwrap().to_string_lossy().starts_with(own))
        });
        found
    };
    let before = snapshot();
    for target in &targets {
        for (purpose, number) in machine.try_all(target) {
            let expected: &[i32] = match purpose {
                "new" => &[5105, 5123, 5133, 5170],
                "restore" | "replace" => &[1834, 3156, 5105, 5123, 5133],
                "standby" => &[1834, 5105, 5123, 5133, 5170],
                _ => &[3201, 3241],
            };
            assert!(expected.contains(&number), "{purpose} on {target}: {number}");
        }
        assert_eq!(snapshot(), before, "{target}");
    }
    assert!(machine.instance.database("vlf").unwrap().check().unwrap().is_empty());
    assert!(
        Machine::start(&machine.base).is_err(),
        "a second server started on the live folder"
    );
    drop(socket);
}

fn rustix_fifo(path: &Path) {
    let made = std::process::Command::new("mkfifo").arg(path).status().unwrap();
    assert!(made.success());
}

/// The folders that are allowed are used like the instance's own, and a missing file is named as such.
#[test]
fn folders_that_are_allowed_can_be_used() {
    let machine = Machine::new();
    let backup = machine.path("also/sub/vlf.bak");
    assert_eq!(
        machine
            .instance
            .backup_headers(std::slice::from_ref(&backup))
            .unwrap_err()[0]
            .number,
        3201
    );
    for _ in 0..2 {
        assert_eq!(machine.backed_up(&backup, |_| {}), 0);
    }
    assert_eq!(
        machine
            .instance
            .backup_headers(std::slice::from_ref(&backup))
            .unwrap()
            .len(),
        2
    );
    assert_eq!(machine.created(&machine.path("also/made.mdf")), 0);
    symlink(machine.base.join("also/sub"), machine.base.join("in/c/link")).unwrap();
    assert_eq!(
        machine
            .instance
            .backup_headers(&["c:\\link\\VLF.BAK".to_owned()])
            .unwrap()
            .len(),
        2
    );
    let formatted = machine.backed_up(&backup, |request| request.format = true);
    assert_eq!(
        (
            formatted,
            machine
                .instance
                .backup_headers(std::slice::from_ref(&backup))
                .unwrap()
                .len()
        ),
        (0, 1)
    );
    fs::write(machine.base.join("also/empty"), "").unwrap();
    let empty = machine.path("also/empty");
    assert_eq!(machine.backed_up(&empty, |request| request.init = true), 3241);
    assert_eq!(machine.backed_up(&empty, |request| request.format = true), 0);
}

/// RESTORE may not overwrite the backup that it reads, by whatever name, nor DROP DATABASE delete it then.
#[test]
fn the_backup_being_read_is_not_overwritten() {
    let machine = Machine::new();
    assert_eq!(machine.backed_up("c:\\vlf.bak", |_| {}), 0);
    fs::hard_link(machine.base.join("in/c/vlf.bak"), machine.base.join("in/c/other")).unwrap();
    let former = fs::read(machine.base.join("in/c/vlf.bak")).unwrap();
    for target in ["c:\\vlf.bak", "C:\\VLF.bak", "c:\\other"] {
        let request = RestoreRequest {
            path: Some("c:\\vlf.bak".into()),
            file: 1,
            moves: vec![("vlf".into(), target.into()), ("vlf_log".into(), "c:\\l".into())],
            replace: true,
            ..RestoreRequest::default()
        };
        assert_eq!(machine.restored("copy", &request), 5123, "{target}");
        assert_eq!(fs::read(machine.base.join("in/c/vlf.bak")).unwrap(), former);
    }
}

/// The default files of a database lie in the folder for them, whatever its name is.
#[test]
fn a_database_of_any_name_has_its_files_in_the_folder() {
    let machine = Machine::new();
    let data = machine.base.join("in/data");
    let long = "\u{20ac}".repeat(123);
    for name in ["../../evil", "..\\..\\evil", "..", ".", "a\nb", "c:evil", "nul", &long] {
        let create = CreateDatabase {
            name: name.into(),
            ..CreateDatabase::default()
        };
        let database = machine.instance.create_database(&create).unwrap();
        for file in database.entry().files {
            assert_eq!(Path::new(&file.physical_name).parent(), Some(data.as_path()), "{name}");
            assert!(Path::new(&file.physical_name).is_file(), "{name}");
        }
        drop(database);
        machine.dropped(name);
    }
    let mut found = BTreeMap::new();
    contents(&machine.base, &mut found);
    assert!(
        found.keys().all(|path| !path.display().to_string().contains("evil")),
        "{:?}",
        found.keys()
    );
}
