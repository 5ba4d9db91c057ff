//! The answers, as JSON.

use crate::question::{Disk, FileNamed, PlanForm, Question, format_of, version_of};
use crate::reading::{Read, read_files, read_text};
use advisor::advice::{Advice, advise, verdict_of_layout};
use advisor::html::inspection_tables_html;
use advisor::live::polled::Polled;
use advisor::live::{FileMap, Head, LogMap, Runs, place};
use advisor::pasted::{Choice, PASTE_HINT, PASTE_SCRIPT, layout_from_text, layout_of_vlfs};
use advisor::planning::{PlanQuestion, identifier, layout_of_log};
use advisor::price::PricedDisk;
use advisor::render::{
    AdviceFormat, AdviceText, advice_text, backup_sets_text, database_json, database_table, inspection_csv,
    inspection_facts, inspection_json, inspection_table, plan_sections_html, plan_table,
};
use advisor::size::MB;
use advisor::snapshot::{Snapshot, of_inspection};
use advisor::{Format, Inspection, Start};
use genuine::container::BackupSet;
use serde::Serialize;
use std::io;
use vlf::{LogLayout, ReadAt, SECTOR_BYTES, ServerVersion};

/// Opens the file of a number, which has so many bytes.
pub type Open<'o> = dyn Fn(usize, u64) -> Box<dyn ReadAt + Sync> + 'o;

/// Damaged VLFs that are marked in the ring.
const DAMAGED_MARKED_MAX: usize = 100;
/// What a log is created with where nothing is said, as on the command line.
const INITIAL_BYTES: u64 = 8 * MB;

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Answer {
    Choices {
        product: String,
        versions: Vec<&'static str>,
        version: &'static str,
        paste_hint: &'static str,
        paste_script: &'static str,
    },
    Log {
        name: String,
        /// What `vlflab inspect --map` prints.
        text: String,
        /// What `vlflab advise` prints.
        advice_text: String,
        facts: Vec<(&'static str, String)>,
        verdict: String,
        damage_count: u64,
        tables_html: String,
        advice: Advice,
        rings: Vec<Ring>,
    },
    Database {
        name: String,
        text: String,
        damage_count: u64,
        rings: Vec<Ring>,
    },
    Rows {
        name: String,
        text: String,
        advice: Advice,
        rings: Vec<Ring>,
    },
    Recording {
        name: String,
        /// A page of its own, made anew of what was recorded.
        page: String,
    },
    Plan {
        title: String,
        text: String,
        sections_html: String,
        verdict: String,
        tsql: Option<String>,
        rings: Vec<Ring>,
    },
    Export {
        name: String,
        text: String,
    },
}

/// What a ring is drawn of.
#[derive(Serialize)]
struct Ring {
    map: LogMap,
    head: Head,
    /// VLFs with damage, from 0.
    damaged: Vec<usize>,
    /// Of a plan: VLFs from here on are new, and each belongs to the growth of this number.
    added_from: Option<usize>,
    growths: Runs,
}

/// Answers a question; both are JSON.
pub fn answer(question: &[u8], open: &Open<'_>) -> Vec<u8> {
    #[derive(Serialize)]
    struct Refused {
        error: String,
    }
    let answered = serde_json::from_slice(question)
        .map_err(|error| format!("no question of this page: {error}"))
        .and_then(|question| answered(question, open));
    let text = match answered {
        Ok(answer) => serde_json::to_vec(&answer),
        Err(error) => serde_json::to_vec(&Refused { error }),
    };
    text.expect("an answer has no map with keys that are no text")
}

fn answered(question: Question, open: &Open<'_>) -> Result<Answer, String> {
    match question {
        Question::Choices => Ok(Answer::Choices {
            product: format!("vlflab {}", env!("CARGO_PKG_VERSION")),
            versions: ServerVersion::ALL.iter().map(|version| version.name()).collect(),
            version: ServerVersion::V2022.name(),
            paste_hint: PASTE_HINT,
            paste_script: PASTE_SCRIPT,
        }),
        Question::Open { files, version, disk } => {
            let asked = Asked::of(&version, &disk)?;
            asked.answer(&shown_name(&files), read_files(&files, open, asked.version)?)
        }
        Question::Paste { text, version, disk } => {
            let asked = Asked::of(&version, &disk)?;
            asked.answer("pasted rows", read_text(&text, "pasted rows", asked.version)?)
        }
        Question::Plan(form) => plan(&form, open),
        Question::Export { files, format } => export(&files, format_of(&format)?, open),
    }
}

/// The files' names, one behind the other.
fn shown_name(files: &[FileNamed]) -> String {
    files
        .iter()
        .map(|file| file.name.as_str())
        .collect::<Vec<_>>()
        .join(", ")
}

/// What every answer about a log depends on.
struct Asked {
    version: ServerVersion,
    disk: PricedDisk,
}

impl Asked {
    fn of(version: &str, disk: &Disk) -> Result<Asked, String> {
        Ok(Asked {
            version: version_of(version)?,
            disk: disk.priced()?,
        })
    }

    fn answer(&self, name: &str, read: Read) -> Result<Answer, String> {
        Ok(match read {
            Read::Log(inspection) => self.log(name, &inspection),
            Read::Rows(snapshot) => self.rows(name, &snapshot),
            Read::Recording(recording) => Answer::Recording {
                name: recording.first.greeting.title.clone(),
                page: recording.to_html(),
            },
            Read::Database { found, logs } => {
                let mut text = database_table(&found, name);
                let mut rings = Vec::new();
                for (file, log) in &logs {
                    let title = format!("log file {file}, as far as the backup has it");
                    text += &format!("\n{}", inspection_table(log, &title, false));
                    rings.extend(self.ring_of(&title, log));
                }
                let of_logs: u64 = logs.iter().map(|(_, log)| log.damage_count).sum();
                Answer::Database {
                    name: name.to_owned(),
                    text,
                    damage_count: found.damage().1 + of_logs,
                    rings,
                }
            }
            Read::LogSet { sets, logs } => self.log_set(name, &sets, &logs),
        })
    }

    fn log(&self, name: &str, inspection: &Inspection) -> Answer {
        let verdict = self.verdict(inspection);
        let mut text = inspection_table(inspection, name, true);
        if !verdict.is_empty() {
            text += &format!("\n{verdict}\n");
        }
        let advice = advise(&of_inspection(inspection, name, Some(self.version)), &self.disk);
        Answer::Log {
            name: name.to_owned(),
            text,
            advice_text: table_of(&advice),
            facts: inspection_facts(inspection),
            verdict,
            damage_count: inspection.damage_count,
            tables_html: inspection_tables_html(inspection),
            advice,
            rings: self.ring_of(name, inspection).into_iter().collect(),
        }
    }

    /// A backup that holds only log.
    fn log_set(&self, name: &str, sets: &[BackupSet], logs: &[(u32, Inspection)]) -> Answer {
        let first = sets.first().map(|set| backup_sets_text(sets, set, name, false));
        let titled = |file: &u32| format!("{name}: log file {file}, as far as the backup has it");
        let texts = logs
            .iter()
            .map(|(file, log)| inspection_table(log, &titled(file), true));
        Answer::Database {
            name: name.to_owned(),
            text: first.into_iter().chain(texts).collect::<Vec<_>>().join("\n"),
            damage_count: logs.iter().map(|(_, log)| log.damage_count).sum(),
            rings: logs
                .iter()
                .filter_map(|(file, log)| self.ring_of(&titled(file), log))
                .collect(),
        }
    }

    /// The VLFs in seconds; nothing where they do not follow one another.
    fn verdict(&self, inspection: &Inspection) -> String {
        layout_of_vlfs(inspection.spans(), self.version).map_or_else(
            |_| String::new(),
            |layout| verdict_of_layout(&layout, self.version, &self.disk),
        )
    }

    fn rows(&self, name: &str, snapshot: &Snapshot) -> Answer {
        let advice = advise(snapshot, &self.disk);
        Answer::Rows {
            name: name.to_owned(),
            text: table_of(&advice),
            advice,
            rings: rings_of(snapshot),
        }
    }

    fn ring_of(&self, name: &str, inspection: &Inspection) -> Option<Ring> {
        let mut ring = rings_of(&of_inspection(inspection, name, Some(self.version))).pop()?;
        let file = ring.map.files.first_mut()?;
        let headers = inspection.vlfs.iter().map(|vlf| &vlf.header);
        file.parities = headers.map(|header| u64::from(header.parity.byte())).collect();
        // Damage in front of a VLF moves it: the ring draws what the headers say, without a gap.
        ring.head.checkpoint = inspection.last_checkpoint.and_then(place);
        ring.head.end = inspection.log_end.zip(inspection.tail()).map(|(end, tail)| {
            let inside = end.offset.saturating_sub(tail.header.start_offset);
            let sector = u32::try_from(inside / SECTOR_BYTES as u64).unwrap_or(u32::MAX);
            (tail.header.sequence.0, sector, 0)
        });
        let damaged = inspection.vlfs.iter().enumerate().filter(|(_, vlf)| vlf.damaged);
        ring.damaged = damaged.map(|(index, _)| index).take(DAMAGED_MARKED_MAX).collect();
        Some(ring)
    }
}

/// As a terminal shows it.
fn table_of(advice: &Advice) -> String {
    let text = AdviceText {
        servers: std::slice::from_ref(advice),
        unreached: &[],
        all: false,
    };
    advice_text(text, AdviceFormat::Table)
}

/// The logs of a snapshot whose VLFs are known.
fn rings_of(snapshot: &Snapshot) -> Vec<Ring> {
    let stand = Polled::default().begin(snapshot, 0, 0);
    let with_head = stand.maps.into_iter().filter_map(|map| {
        let head = stand.heads.iter().find(|head| head.database == map.database)?;
        Some((map, head.clone()))
    });
    with_head
        .map(|(map, head)| Ring {
            map,
            head,
            damaged: Vec::new(),
            added_from: None,
            growths: Runs::default(),
        })
        .collect()
}

/// The log that a plan ends with.
fn ring_of_plan(layout: &LogLayout, title: &str, existing_vlfs: usize) -> Ring {
    let vlfs = layout.vlfs();
    let map = LogMap {
        database: title.to_owned(),
        files: vec![FileMap {
            id: 2,
            name: title.to_owned(),
            start: vlfs.first().map_or(0, |vlf| vlf.span.offset),
            sizes: vlfs.iter().map(|vlf| vlf.span.bytes).collect(),
            sequences: vlfs.iter().map(|_| 0).collect(),
            states: vlfs.iter().map(|_| 1).collect(),
            ..FileMap::default()
        }],
    };
    let head = Head {
        database: title.to_owned(),
        state: "ONLINE".to_owned(),
        total_bytes: layout.file_bytes(),
        vlf_count: layout.vlf_count() as u64,
        ..Head::default()
    };
    Ring {
        map,
        head,
        damaged: Vec::new(),
        added_from: Some(existing_vlfs),
        growths: vlfs.iter().map(|vlf| u64::from(vlf.growth_step)).collect(),
    }
}

/// The layout of one of several logs of a text: of the ring of that number, from 1.
fn layout_of_ring(text: &str, number: usize, version: ServerVersion) -> Result<LogLayout, String> {
    let Read::Rows(snapshot) = read_text(text, "pasted rows", version)? else {
        return Err("a recording has no log to plan from".to_owned());
    };
    let databases = snapshot.databases.iter();
    let mut with_vlfs = databases.filter_map(|database| database.log_files.iter().find(|file| !file.vlfs.is_empty()));
    let file = with_vlfs.nth(number.saturating_sub(1));
    let file = file.ok_or_else(|| format!("the text has no log {number}"))?;
    file.layout(version)
        .ok_or_else(|| "the VLFs of this log do not follow one another".to_owned())
}

fn plan(form: &PlanForm, open: &Open<'_>) -> Result<Answer, String> {
    let fields = form.fields()?;
    let version = version_of(&form.version)?;
    let named = |text: &str| match text.trim() {
        "" => Ok(None),
        name => identifier(name).map(Some),
    };
    let start = match (form.files.first(), form.text.as_str()) {
        (Some(file), _) => {
            let layout = layout_of_log(open(0, file.bytes).as_ref(), version);
            Start::Existing(layout.map_err(|reason| format!("{}: {reason}", file.name))?)
        }
        (None, "") => Start::Create(fields.initial_bytes.unwrap_or(INITIAL_BYTES)),
        (None, text) if form.log > 0 || Snapshot::is_json_of_one(text) => {
            Start::Existing(layout_of_ring(text, form.log.max(1), version)?)
        }
        (None, text) => {
            let layout = layout_from_text(text, version, Choice::default());
            Start::Existing(layout.map_err(|error| error.to_string())?)
        }
    };
    let question = PlanQuestion {
        version,
        start,
        growths: fields.growths,
        autogrowth: fields.autogrowth,
        to_bytes: fields.to_bytes,
        target_vlfs: fields.target_vlfs,
        target_file_bytes: fields.target_file_bytes,
        database: named(&form.database)?,
        log_name: named(&form.log_name)?,
        disk: form.disk.priced()?,
    };
    let answer = question.answer().map_err(|error| error.to_string())?;
    let verdict = answer.verdict();
    let plan = &answer.plan;
    let title = format!("SQL Server {}, as planned", plan.version);
    let first_vlfs = plan.steps.first().map_or(0, |step| step.vlfs_added as usize);
    Ok(Answer::Plan {
        rings: vec![ring_of_plan(&plan.layout, &title, first_vlfs)],
        title,
        text: format!("{}\n{verdict}\n", plan_table(answer.text())),
        sections_html: plan_sections_html(answer.text()),
        verdict,
        tsql: answer.tsql.clone(),
    })
}

fn export(files: &[FileNamed], format: Format, open: &Open<'_>) -> Result<Answer, String> {
    let mut text = Vec::new();
    let written = match read_files(files, open, ServerVersion::V2022)? {
        Read::Log(inspection) if format == Format::Json => inspection_json(&inspection, &mut text),
        Read::Log(inspection) => inspection_csv(&inspection, &mut text),
        Read::Database { found, .. } if format == Format::Json => database_json(&found, &mut text),
        Read::Database { .. } | Read::LogSet { .. } | Read::Rows(_) | Read::Recording(_) => {
            return Err("only a log file is saved, or as json a database".to_owned());
        }
    };
    let text = written.and_then(|()| String::from_utf8(text).map_err(io::Error::other));
    let extension = if format == Format::Json { "json" } else { "csv" };
    Ok(Answer::Export {
        name: format!("{}.{extension}", shown_name(files)),
        text: text.map_err(|error| error.to_string())?,
    })
}
