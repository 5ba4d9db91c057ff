//! An instance on a simulated disk that T-SQL is sent to, and that stops, is killed, and starts again.
#![allow(clippy::unwrap_used, dead_code)]

pub mod cuts;

use crate::transcript;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use cuts::Run;
use disk::Disk;
use disk::sim::{CutPolicy, SimDisk};
use engine::catalog::ObjectDefinition;
use engine::errorlog::ErrorLog;
use engine::instance::{Instance, InstanceOptions};
use engine::log::LogPolicy;
use engine::page::{HEADER_BYTES, PAGE_BYTES, seal};
use engine::seams::{Background, Environment, ManualClock};
use engine::store::BOOT_PAGES;
use engine::waits::WaitStatistics;
use transcript::{Transcript, session};
use tsql::session::Session;
use vlf::ServerVersion;

pub struct Story {
    pub disk: SimDisk,
    pub clock: Arc<ManualClock>,
    pub instance: Arc<Instance>,
    kind: (LogPolicy, ServerVersion),
    session: Session,
}

/// How a database comes to be opened again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Again {
    OfflineOnline,
    StopStart,
    Kill,
}

impl Again {
    pub const ALL: [Again; 3] = [Again::OfflineOnline, Again::StopStart, Again::Kill];
}

/// Every id that a database shows: of allocation units, of objects, of constraints.
pub type Ids = BTreeSet<(&'static str, u32)>;

fn start(
    disk: &SimDisk,
    clock: &Arc<ManualClock>,
    kind: (LogPolicy, ServerVersion),
) -> engine::error::Result<Arc<Instance>> {
    let (policy, version) = kind;
    let env = Environment {
        disk: Arc::new(disk.clone()),
        clock: clock.clone(),
        background: Background::Inline,
        waits: Arc::new(WaitStatistics::new()),
        activity: Arc::default(),
        errorlog: Arc::new(ErrorLog::new(clock.clone())),
    };
    let options = InstanceOptions {
        folder: PathBuf::from("/instance"),
        server_name: "VLFLAB".to_owned(),
        version,
        policy,
        max_server_memory_bytes: 16 << 20,
        instant_file_initialization: true,
    };
    Instance::start(options, env)
}

/// Changes the payload of both copies of a database's boot page.
pub fn change_boot_pages(disk: &SimDisk, file: &str, change: impl Fn(&mut [u8])) {
    const PAYLOAD_AT: usize = HEADER_BYTES + 10;
    let file = disk
        .open(&PathBuf::from("/instance/data").join(file), disk::Access::Buffered)
        .unwrap();
    for id in BOOT_PAGES {
        let mut page = [0; PAGE_BYTES];
        file.read_at(id.file_offset(), &mut page).unwrap();
        change(&mut page[PAYLOAD_AT..]);
        seal(&mut page);
        file.write_at(id.file_offset(), &page).unwrap();
    }
    file.sync().unwrap();
}

/// The numbers of the errors in an answer.
pub fn numbers(text: &str) -> Vec<i32> {
    let messages = text.split("Msg ").skip(1);
    let errors = messages.filter(|message| !message.contains(", Level 10,"));
    errors
        .map(|message| message.split(',').next().unwrap().parse().unwrap())
        .collect()
}

/// What a session answers.
pub fn told(session: &mut Session, batch: &str) -> String {
    let mut transcript = Transcript::default();
    session.execute(batch, &mut transcript);
    transcript.text
}

/// A power cut at an operation of statements: every statement has happened or has not, and those that were answered have. `begin` makes what they
/// change, `seen` says what they have changed, `check` judges the database `d` besides; its text names the cut.
pub fn cut_everywhere(
    statements: &[&str],
    sample: workbench::Sample,
    begin: impl Fn() -> Story,
    seen: impl Fn(&mut Story) -> Vec<String>,
    check: impl Fn(&mut Story, &str),
) {
    let mut story = begin();
    let mut states = vec![seen(&mut story)];
    for batch in statements {
        story.run(batch);
        let changed = seen(&mut story);
        assert_ne!(states.last(), Some(&changed), "{batch}");
        states.push(changed);
    }
    let run = |run: &mut Run<'_>| {
        for batch in statements {
            run.story.answer(batch);
            run.is_answered();
        }
    };
    let (mut story, cuts) = cuts::cuts(sample.one_in, || (begin(), None), run);
    let count = cuts.len();
    for cut in cuts {
        let (number, answered) = (cut.number, cut.answered);
        story.start_on(cut.found());
        story.is_sound("d");
        let found = seen(&mut story);
        let possible = &states[answered..(answered + 2).min(states.len())];
        assert!(
            possible.contains(&found),
            "cut at {number}, {answered} answered: {found:?}, not one of {possible:?}"
        );
        check(&mut story, &format!("cut at {number}"));
        story.is_sound("d");
    }
    println!("{count} cuts");
    assert!(count > 1, "{count}");
    sample.count(count as u64);
}

impl Story {
    pub fn begin() -> Story {
        Story::on(SimDisk::new(7), LogPolicy::native())
    }

    pub fn on(disk: SimDisk, policy: LogPolicy) -> Story {
        Story::of(disk, (policy, ServerVersion::V2012))
    }

    /// As [`Story::begin`], as the server of another version.
    pub fn as_version(version: ServerVersion) -> Story {
        Story::of(SimDisk::new(7), (LogPolicy::native(), version))
    }

    fn of(disk: SimDisk, kind: (LogPolicy, ServerVersion)) -> Story {
        let clock = Arc::new(ManualClock::starting_at(1_800_000_000_000_000));
        let instance = start(&disk, &clock, kind).unwrap();
        let session = session(&instance);
        Story {
            disk,
            clock,
            instance,
            kind,
            session,
        }
    }

    /// As [`Story::on`]; `None` when the instance does not start.
    pub fn try_on(disk: SimDisk, policy: LogPolicy) -> Option<()> {
        let clock = Arc::new(ManualClock::starting_at(1_800_000_000_000_000));
        start(&disk, &clock, (policy, ServerVersion::V2012))
            .ok()
            .map(std::mem::forget)
    }

    /// A disk with the files of an archive (`tests/format_2/make.sh`) in the instance's folder.
    pub fn unpacked(archive: &[u8], disk: &SimDisk) {
        let bytes = zstd::stream::decode_all(archive).unwrap();
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let mut line = || {
                let end = rest.iter().position(|byte| *byte == b'\n').unwrap();
                let text = std::str::from_utf8(&rest[..end]).unwrap();
                rest = &rest[end + 1..];
                text
            };
            let (name, length) = (line(), line().parse::<usize>().unwrap());
            let path = PathBuf::from("/instance").join(name);
            disk.create_directories(path.parent().unwrap()).unwrap();
            let file = disk.create(&path, disk::Access::Buffered).unwrap();
            file.write_at(0, &rest[..length]).unwrap();
            file.sync().unwrap();
            rest = &rest[length..];
        }
    }

    pub fn answer(&mut self, batch: &str) -> String {
        self.clock.advance(50_000);
        let mut transcript = Transcript::default();
        self.session.execute(batch, &mut transcript);
        transcript.text
    }

    /// The numbers of the errors that a batch fails with.
    pub fn errors(&mut self, batch: &str) -> Vec<i32> {
        numbers(&self.answer(batch))
    }

    pub fn run(&mut self, batch: &str) {
        let text = self.answer(batch);
        assert!(numbers(&text).is_empty(), "{batch}: {text}");
    }

    pub fn beside(&self) -> Session {
        session(&self.instance)
    }

    /// The rows of a query, as text, the values of a row parted by blanks.
    pub fn rows(&mut self, query: &str) -> Vec<String> {
        let text = self.answer(&format!("set nocount on {query}"));
        assert!(numbers(&text).is_empty(), "{query}: {text}");
        let rows = text.lines().skip(1).filter(|line| !line.trim().starts_with('('));
        rows.map(|row| row.trim().replace(" | ", " ")).collect()
    }

    pub fn is_sound(&mut self, database: &str) {
        self.run(&format!("dbcc checkdb ({database}) with no_infomsgs"));
    }

    pub fn again(&mut self, how: Again, database: &str) {
        match how {
            Again::OfflineOnline => {
                self.run(&format!("use master alter database {database} set offline"));
                self.run(&format!("alter database {database} set online"));
            }
            Again::StopStart => {
                self.instance.shutdown(false).unwrap();
                self.start_on(self.disk.snapshot());
            }
            Again::Kill => self.start_on(self.disk.after_power_cut(CutPolicy::AllKept, 1)),
        }
    }

    pub fn start_on(&mut self, disk: SimDisk) {
        let instance = start(&disk, &self.clock, self.kind).unwrap();
        let session = session(&instance);
        // What is left of the former instance meets a disk of its own.
        std::mem::forget(std::mem::replace(&mut self.session, session));
        std::mem::forget(std::mem::replace(&mut self.instance, instance));
        self.disk = disk;
    }

    pub fn ids(&self, database: &str) -> Ids {
        let database = self.instance.database(database).unwrap();
        let mut ids = Ids::new();
        for root in database.catalog.storage_roots() {
            ids.insert(("unit", root.unit));
        }
        for object in database.catalog.objects(self.session.id()) {
            assert!(ids.insert(("object", object.definition.object_id())));
            if let ObjectDefinition::Table(table) = &object.definition {
                for id in table.clone().constraint_ids_mut() {
                    assert!(*id != 0 && ids.insert(("object", *id)), "{table:?}");
                }
            }
        }
        ids
    }

    /// What the error log says since the last start.
    pub fn error_log(&self) -> Vec<String> {
        self.instance
            .env
            .errorlog
            .lines()
            .iter()
            .map(|line| format!("{line:?}"))
            .collect()
    }
}
