//! A recorded session as one file: the page with its data, which plays without a server.
//!
//! The file is smaller than [`RECORDING_BYTES_MAX`]. If a session has more, adjacent frames are merged, so its steps become longer. If
//! there are too many events, ordinary ones are dropped first. The recording mentions both.

use super::page;
use super::{Frame, LIVE_VERSION, Stand, Weight};
use serde::{Deserialize, Serialize};

/// A recording's file is shorter.
pub const RECORDING_BYTES_MAX: usize = 2_000_000;
/// What of it the page itself may take.
const PAGE_BYTES_MAX: usize = 200_000;
/// Frames are not put together below this count.
const FRAMES_MIN: usize = 100;
/// What the data begins with in the file, and ends with.
const DATA_BEGIN: &str = "<script type=\"application/json\" id=\"recording\">";
const DATA_END: &str = "</script>";

/// What was watched: where it began, and what changed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Recording {
    /// [`LIVE_VERSION`].
    pub version: u32,
    pub first: Stand,
    pub frames: Vec<Frame>,
    /// A question at the end of a lesson.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<Question>,
}

/// What a lesson asks, and the answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    pub text: String,
    pub answer: String,
    /// The VLF in which the answer is seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequence: Option<u32>,
}

/// Takes frames, and keeps them within the size of a recording.
#[derive(Debug)]
pub struct Recorder {
    recording: Recording,
    bytes: usize,
}

impl Recorder {
    /// Begins where a session stands.
    pub fn new(first: Stand) -> Recorder {
        Recorder {
            bytes: json_bytes(&first),
            recording: Recording {
                version: LIVE_VERSION,
                first,
                ..Recording::default()
            },
        }
    }

    /// Takes the next frame.
    pub fn take(&mut self, frame: Frame) {
        self.bytes += json_bytes(&frame) + 1;
        self.recording.frames.push(frame);
        while self.bytes > RECORDING_BYTES_MAX - PAGE_BYTES_MAX && self.make_shorter() {}
    }

    pub fn is_empty(&self) -> bool {
        self.recording.frames.is_empty()
    }

    pub fn finish(self) -> Recording {
        self.recording
    }

    /// False when nothing more can go.
    fn make_shorter(&mut self) -> bool {
        let before = self.bytes;
        let frames = std::mem::take(&mut self.recording.frames);
        self.recording.frames = match frames.len() > FRAMES_MIN {
            true => in_pairs(frames),
            false => frames.into_iter().map(without_ordinary_events).collect(),
        };
        let of_frames = self.recording.frames.iter().map(|frame| json_bytes(frame) + 1);
        self.bytes = json_bytes(&self.recording.first) + of_frames.sum::<usize>();
        self.bytes < before
    }
}

fn in_pairs(frames: Vec<Frame>) -> Vec<Frame> {
    let mut joined = Vec::with_capacity(frames.len() / 2 + 1);
    let mut rest = frames.into_iter();
    while let Some(mut first) = rest.next() {
        if let Some(second) = rest.next() {
            first.join(second);
        }
        joined.push(first);
    }
    joined
}

fn without_ordinary_events(mut frame: Frame) -> Frame {
    let before = frame.events.len();
    frame.events.retain(|event| event.weight > Weight::Ordinary);
    frame.skipped += (before - frame.events.len()) as u64;
    frame
}

impl Frame {
    /// Puts the frame behind this one into it: what comes of both is the same.
    pub fn join(&mut self, next: Frame) {
        self.frame = next.frame;
        self.at = next.at;
        for name in &next.gone {
            self.maps.retain(|map| map.database != *name);
            self.heads.retain(|head| head.database != *name);
            self.entered.retain(|entered| entered.database != *name);
        }
        for map in next.maps {
            // A map has all that was entered before it.
            self.entered.retain(|entered| entered.database != map.database);
            self.maps.retain(|own| own.database != map.database);
            self.maps.push(map);
        }
        for head in next.heads {
            self.heads.retain(|own| own.database != head.database);
            self.heads.push(head);
        }
        self.entered.extend(next.entered);
        self.events.extend(next.events);
        self.skipped += next.skipped;
        // One that was made again is there.
        self.gone
            .retain(|name| !self.heads.iter().any(|head| head.database == *name));
        self.gone.extend(next.gone);
        self.progress = next.progress.or(self.progress.take());
    }
}

impl Recording {
    /// The file.
    pub fn to_html(&self) -> String {
        let data = to_json(self).replace('<', "\\u003c");
        page::page(&format!("{DATA_BEGIN}{data}{DATA_END}"), "")
    }

    /// Reads a file.
    ///
    /// # Errors
    /// It holds none, is damaged, or of a later version.
    pub fn from_html(text: &str) -> Result<Recording, String> {
        #[derive(Deserialize)]
        struct Version {
            version: u32,
        }
        let data = text
            .split_once(DATA_BEGIN)
            .and_then(|(_, rest)| rest.split_once(DATA_END));
        let (data, _) = data.ok_or("it is not a recording of vlflab")?;
        let version: Version = serde_json::from_str(data).map_err(|error| format!("a damaged recording: {error}"))?;
        match version.version {
            1..=LIVE_VERSION => serde_json::from_str(data).map_err(|error| format!("a damaged recording: {error}")),
            other => Err(format!(
                "a recording of version {other}; this program reads versions up to {LIVE_VERSION}"
            )),
        }
    }
}

/// As JSON, in one line.
pub fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value)
        .expect("what is watched has no map with keys that are no text, and no number that is not finite")
}

fn json_bytes(value: &impl Serialize) -> usize {
    to_json(value).len()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::{Event, EventKind, Head};
    use super::*;

    fn frame(number: u64, weight: Weight) -> Frame {
        Frame {
            frame: number,
            at: number * 1_000,
            heads: vec![Head {
                database: "sales".to_owned(),
                used_bytes: number,
                ..Head::default()
            }],
            events: vec![Event {
                number,
                at: number * 1_000,
                since: None,
                database: "sales".to_owned(),
                kind: EventKind::Switch,
                weight,
                text: format!("</script><b>& {number}"),
                why: String::new(),
                sequence: None,
                micros: None,
                span: None,
            }],
            ..Frame::default()
        }
    }

    #[test]
    fn a_file_has_what_was_recorded_and_nothing_in_it_ends_the_data() {
        let mut recorder = Recorder::new(Stand::default());
        (1..=5).for_each(|number| recorder.take(frame(number, Weight::Ordinary)));
        let recording = recorder.finish();
        let html = recording.to_html();
        assert_eq!(Recording::from_html(&html).unwrap(), recording);
        assert!(!html.contains("<b>&"));
        assert!(
            !html.contains("http://") && !html.contains("https://"),
            "it asks nothing of the network"
        );
        assert!(Recording::from_html("<p>no").is_err());
        let later = html.replace("{\"version\":1,", "{\"version\":9,");
        assert!(Recording::from_html(&later).unwrap_err().contains("version 9"));
    }

    #[test]
    fn a_long_session_keeps_its_end_and_its_notable_events_within_the_size() {
        let mut recorder = Recorder::new(Stand::default());
        let (mut whole, count) = (Stand::default(), 12_000);
        for number in 1..=count {
            let weight = if number % 1_000 == 0 {
                Weight::Warning
            } else {
                Weight::Ordinary
            };
            let frame = frame(number, weight);
            whole.take(&frame);
            recorder.take(frame);
        }
        let recording = recorder.finish();
        assert!(recording.to_html().len() < RECORDING_BYTES_MAX);
        let mut played = recording.first.clone();
        recording.frames.iter().for_each(|frame| played.take(frame));
        assert_eq!((played.at, &played.heads), (whole.at, &whole.heads));
        let events = recording.frames.iter().flat_map(|frame| &frame.events);
        let kept = events.clone().filter(|event| event.weight == Weight::Warning).count();
        let skipped: u64 = recording.frames.iter().map(|frame| frame.skipped).sum();
        assert_eq!(kept, 12);
        assert_eq!(events.count() as u64 + skipped, count);
    }
}
