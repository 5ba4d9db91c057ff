//! `vlflab lesson`: runs a lesson on a separate instance, and shows it.
//!
//! The instance is created in a temporary folder. Its clock is that of a modelled disk, starting on a fixed day, and each thread does all
//! its work itself. So a lesson has the same numbers on every machine.

use crate::exit::Failure;
use crate::instance::{self, Choices, Modelled};
use crate::replay;
use crate::run;
use crate::web::engine_source::{EngineSource, greeting};
use crate::web::hub::Source;
use advisor::live::recording::{Question, Recorder, Recording};
use advisor::live::{Event, Frame, Place, Stand};
use clap::Args;
use device::parameter::Case;
use disk::modelled::VirtualTime;
use engine::errorlog::ErrorLog;
use engine::instance::{DatabaseState, Instance};
use engine::seams::{Environment, VirtualClock};
use engine::types::Value;
use lab::disks;
use lab::lesson::{LESSONS, Lesson, Shows, Step};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};
use tsql::session::{DoneKind, Login, Message, ResultColumn, ResultSink, Session, SinkClosed};
use vlf::ServerVersion;

/// Shown under `vlflab lesson --help`.
pub const LESSON_EXAMPLES: &str = "Examples:
  vlflab lesson                              lists the lessons
  vlflab lesson shrink                       in the terminal
  vlflab lesson shrink --out shrink.html     as a page that plays by itself, with the ring
  vlflab lesson my-lesson.toml --out my.html your own lesson; docs/live.md explains the file";

/// When every lesson begins: 2026-01-01, microseconds since 1970.
const BEGIN_MICROS: u64 = 1_767_225_600_000_000;
/// Memory for pages and queries, MB.
const MEMORY_MB: u32 = 64;

/// Options of `vlflab lesson`.
#[derive(Debug, Args)]
pub struct LessonOptions {
    /// A built-in lesson, or a file of your own ending in .toml. Without one, the lessons are listed.
    #[arg(value_name = "LESSON")]
    pub lesson: Option<String>,
    /// Write the lesson as one HTML file that plays by itself, instead of showing it here.
    #[arg(long, value_name = "FILE", requires = "lesson")]
    pub out: Option<PathBuf>,
}

/// Runs `vlflab lesson`.
pub fn lesson(options: &LessonOptions) -> Result<(), Failure> {
    let Some(name) = &options.lesson else {
        return list();
    };
    let lesson = find(name)?;
    let recording = record(&lesson, name)?;
    match &options.out {
        Some(path) => {
            std::fs::write(path, recording.to_html())
                .map_err(|error| Failure::Failed(format!("{}: {error}", path.display())))?;
            writeln!(std::io::stdout(), "{}: open it in a browser", path.display())?;
            Ok(())
        }
        None => replay::show(&recording, None, u16::from(std::io::stdout().is_terminal())),
    }
}

fn list() -> Result<(), Failure> {
    let mut out = std::io::stdout();
    for (name, text) in LESSONS {
        let lesson = Lesson::parse(text).map_err(Failure::Failed)?;
        writeln!(out, "{name:<12} {}", lesson.title)?;
    }
    Ok(())
}

fn find(name: &str) -> Result<Lesson, Failure> {
    if name.ends_with(".toml") {
        let text = std::fs::read_to_string(name).map_err(|error| Failure::Usage(format!("{name}: {error}")))?;
        return Lesson::parse(&text).map_err(|error| Failure::Usage(format!("{name}: {error}")));
    }
    let built_in = LESSONS.iter().find(|(own, _)| *own == name);
    let (_, text) = built_in.ok_or_else(|| {
        let names: Vec<&str> = LESSONS.iter().map(|(name, _)| *name).collect();
        Failure::Usage(format!(
            "there is no lesson {name}; the lessons are {}",
            names.join(", ")
        ))
    })?;
    Lesson::parse(text).map_err(Failure::Failed)
}

/// Runs a lesson on an instance of its own.
fn record(lesson: &Lesson, name: &str) -> Result<Recording, Failure> {
    let folder = std::env::temp_dir().join(format!("vlflab-lesson-{}", std::process::id()));
    let usage = |error: String| Failure::Usage(format!("{name}: {error}"));
    let disk = disks::load(&lesson.disk).map_err(|error| usage(error.to_string()))?;
    let modelled = Modelled {
        figures: disk.ranges.at(Case::Typical),
        seed: 1,
        time: Arc::new(VirtualTime::new(false)),
    };
    let env = environment(&modelled);
    let start = Arc::new(Mutex::new(()));
    remove_at_signals(folder.clone(), start.clone())?;
    let choices = Choices {
        folder,
        version: Some(
            lesson
                .sql_version
                .parse()
                .map_err(|_| usage("an unknown version".to_owned()))?,
        ),
        policy: Some(
            lesson
                .log_policy
                .parse()
                .map_err(|_| usage("an unknown log policy".to_owned()))?,
        ),
        memory_mb: Some(MEMORY_MB),
        instant_file_initialization: true,
        in_memory: false,
        allowed_paths: Vec::new(),
        modelled: Some(modelled),
    };
    // The folder goes with what it holds when `opened` is dropped: it is not kept.
    let starting = start.lock();
    let (opened, ()) = instance::open(choices, env, |_, _| Ok(()))?;
    drop(starting);
    let mut class = Class::new(&opened.instance, lesson);
    let taught = lesson.steps.iter().try_for_each(|step| class.teach(step));
    let Class {
        sessions,
        recorder,
        stand,
        ..
    } = class;
    drop(sessions);
    // Nothing of it is kept, so what fails here loses nothing.
    let _ = opened.instance.shutdown(true);
    taught.map_err(|error| Failure::Failed(format!("{name}: {error}")))?;
    let mut recording = recorder.finish();
    recording.question = lesson.question.as_ref().map(|question| Question {
        text: question.text.clone(),
        answer: question.answer.clone(),
        sequence: question.shows.and_then(|shows| shown(shows, &stand)),
    });
    Ok(recording)
}

/// A signal ends the program, whether the lesson is being made or shown, and takes the instance's folder away. Nothing of it is needed again, so
/// the instance is not asked; but while it starts it makes folders, and one could come behind the removal.
fn remove_at_signals(folder: PathBuf, start: Arc<Mutex<()>>) -> std::io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        if let Some(signal) = signals.forever().next() {
            let _started = start.lock();
            run::remove_whatever_is_written(&folder);
            std::process::exit(SIGNALLED + signal);
        }
    })?;
    Ok(())
}

/// What shells add to a signal's number where it has ended a program.
const SIGNALLED: i32 = 128;

/// As that of any modelled disk, from the day on which lessons begin.
fn environment(modelled: &Modelled) -> Environment {
    let clock = Arc::new(VirtualClock::new(Arc::clone(&modelled.time), BEGIN_MICROS));
    Environment {
        clock: clock.clone(),
        errorlog: Arc::new(ErrorLog::new(clock)),
        ..instance::virtual_environment(modelled)
    }
}

/// The sequence of the VLF in which an answer is seen, in the first database that the lesson has made.
fn shown(shows: Shows, stand: &Stand) -> Option<u32> {
    let system = ["master", "model", "msdb", "tempdb"];
    let head = stand
        .heads
        .iter()
        .find(|head| !system.contains(&head.database.as_str()))?;
    let place: Place = match shows {
        Shows::Head => head.end?,
        Shows::Needed => head.needed_from?,
    };
    Some(place.0)
}

/// A lesson under way.
struct Class<'i> {
    instance: &'i Arc<Instance>,
    sessions: BTreeMap<String, Session>,
    source: EngineSource,
    stand: Stand,
    recorder: Recorder,
}

impl<'i> Class<'i> {
    fn new(instance: &'i Arc<Instance>, lesson: &Lesson) -> Class<'i> {
        let env = &instance.env;
        let shared: Arc<OnceLock<Arc<Instance>>> = Arc::default();
        // Set once.
        let _ = shared.set(Arc::clone(instance));
        let mut source = EngineSource::new(Arc::clone(&env.activity), Arc::clone(&env.clock), shared);
        let mut stand = Stand {
            greeting: greeting(lesson.title.clone(), true),
            ..Stand::default()
        };
        stand.take(&source.observe());
        // What the start of the instance tells does not belong to the lesson.
        stand.events.clear();
        Class {
            instance,
            sessions: BTreeMap::new(),
            recorder: Recorder::new(stand.clone()),
            source,
            stand,
        }
    }

    fn teach(&mut self, step: &Step) -> Result<(), String> {
        if let Some(rules) = &step.rules {
            self.follow_rules(rules);
        }
        let at = self.instance.env.clock.unix_micros();
        self.take(Frame {
            at,
            events: vec![Event::step(&step.say, at)],
            ..Frame::default()
        });
        for _ in 0..step.times {
            let ended_in = self.run(&step.session, &step.sql)?;
            match (ended_in, step.error) {
                (None, None) => {}
                (Some((number, _)), Some(expected)) if number == expected => {}
                (Some((number, text)), _) => return Err(format!("{}: error {number}: {text}", step.sql.trim())),
                (None, Some(expected)) => return Err(format!("{}: no error {expected}", step.sql.trim())),
            }
            let frame = self.source.observe();
            self.take(frame);
        }
        Ok(())
    }

    /// Growths follow the rules of another version from here on.
    fn follow_rules(&self, version: &str) {
        let Ok(version) = version.parse::<ServerVersion>() else {
            return;
        };
        for slot in self.instance.slots() {
            if let DatabaseState::Online(database) = slot.state() {
                database.storage.log.set_version(version);
            }
        }
    }

    fn take(&mut self, mut frame: Frame) {
        if frame.is_empty() {
            return;
        }
        frame.frame = self.stand.frame + 1;
        self.stand.take(&frame);
        self.recorder.take(frame);
    }

    /// The first error that the batch ended in.
    fn run(&mut self, name: &str, batch: &str) -> Result<Option<(i32, String)>, String> {
        if !self.sessions.contains_key(name) {
            let login = Login {
                login: "sa".into(),
                host: "lesson".into(),
                application: "vlflab lesson".into(),
                ..Login::default()
            };
            let session = Session::new(Arc::clone(self.instance), login).map_err(|error| error.message)?;
            self.sessions.insert(name.to_owned(), session);
        }
        let mut errors = Errors::default();
        if let Some(session) = self.sessions.get_mut(name) {
            session.execute(batch, &mut errors);
        }
        Ok(errors.first)
    }
}

/// Of all that a batch answers, its first error.
#[derive(Default)]
struct Errors {
    first: Option<(i32, String)>,
}

impl ResultSink for Errors {
    fn columns(&mut self, _: &[ResultColumn]) -> Result<(), SinkClosed> {
        Ok(())
    }

    fn row(&mut self, _: &[Value]) -> Result<(), SinkClosed> {
        Ok(())
    }

    fn done(&mut self, _: Option<u64>, _: DoneKind) -> Result<(), SinkClosed> {
        Ok(())
    }

    fn message(&mut self, message: &Message) -> Result<(), SinkClosed> {
        if message.severity > 10 && self.first.is_none() {
            self.first = Some((message.number, message.text.clone()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lesson_is_found_by_its_name_or_its_file() {
        assert!(find("shrink").is_ok_and(|lesson| lesson.title.contains("shrink")));
        assert!(matches!(find("nothing"), Err(Failure::Usage(text)) if text.contains("the lessons are fill, wrap")));
        assert!(matches!(find("missing.toml"), Err(Failure::Usage(text)) if text.starts_with("missing.toml")));
    }
}
