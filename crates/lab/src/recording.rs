//! Records the logs of a run: the data stream of its server's live page, saved during the run.
//!
//! ```text
//! server, a child --events--> a thread for each server --> one recorder --> one file for the whole run
//!                 --stand---> before it ends: changes that were not in a frame yet
//! ```
//! A restarted server continues the recording of its predecessor: its first full state becomes a frame. Its events are numbered from 1
//! again, so events are identified by server and number.

use advisor::live::recording::{Recorder, Recording};
use advisor::live::{Event, Frame, Stand};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A server shows signs of life more often.
const PATIENCE: Duration = Duration::from_secs(30);
/// A stand of 126,399 VLFs takes some hundred bytes; one of a log of any sizes some megabytes.
const STAND_BYTES_MAX: u64 = 64 << 20;

/// A recording under way.
pub struct LogRecording {
    title: String,
    state: Arc<Mutex<State>>,
    address: Option<Address>,
}

/// Where a live page is.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Address {
    host: String,
    token: String,
}

#[derive(Default)]
struct State {
    /// None before the first stand.
    recorder: Option<Recorder>,
    stand: Stand,
    /// Counts servers: what an earlier one still sends is not taken.
    server: u64,
    /// The last event of this server that was taken.
    last_event: u64,
}

fn hold(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl LogRecording {
    /// Nothing is recorded yet.
    pub fn new(title: String) -> LogRecording {
        LogRecording {
            title,
            state: Arc::default(),
            address: None,
        }
    }

    /// Records the server whose live page is at `url` from now on, until it ends.
    ///
    /// # Errors
    /// It does not answer there.
    pub fn listen(&mut self, url: &str) -> io::Result<()> {
        let address =
            Address::parse(url).ok_or_else(|| io::Error::other(format!("no address of a live page: {url}")))?;
        let stand = address.stand()?;
        let stream = address.ask("/events")?;
        let server = {
            let mut state = hold(&self.state);
            state.server += 1;
            state.last_event = 0;
            state.take_stand(stand, &self.title);
            state.server
        };
        self.address = Some(address);
        let (state, title) = (Arc::clone(&self.state), self.title.clone());
        std::thread::Builder::new()
            .name("recording".to_owned())
            .spawn(move || {
                // A stream that breaks off is that of a server that was killed.
                let _ = follow(stream, |name, data| {
                    let mut state = hold(&state);
                    if state.server != server {
                        return;
                    }
                    match name {
                        "frame" => serde_json::from_str(data)
                            .map(|frame| state.take(frame))
                            .unwrap_or_default(),
                        "stand" => serde_json::from_str(data)
                            .map(|stand| state.take_stand(stand, &title))
                            .unwrap_or_default(),
                        _ => {}
                    }
                });
            })?;
        Ok(())
    }

    /// A sentence of the run at this place.
    pub fn say(&self, text: &str) {
        let mut state = hold(&self.state);
        let at = state.stand.at;
        state.take(Frame {
            at,
            events: vec![Event::step(text, at)],
            ..Frame::default()
        });
    }

    /// Takes down what the server has not told yet, before it ends. One that has ended already has told what it could.
    pub fn catch_up(&mut self) {
        let stand = self.address.take().and_then(|address| address.stand().ok());
        if let Some(stand) = stand {
            hold(&self.state).take_stand(stand, &self.title);
        }
    }

    /// All of it; `None` where no server told anything.
    pub fn finish(mut self) -> Option<Recording> {
        self.catch_up();
        let mut state = hold(&self.state);
        // What its server still sends is not waited for.
        state.server += 1;
        state.recorder.take().map(Recorder::finish)
    }
}

impl State {
    fn take_stand(&mut self, mut stand: Stand, title: &str) {
        let Some(recorder) = &mut self.recorder else {
            stand.greeting.title = title.to_owned();
            stand.greeting.looks_inside = false;
            self.last_event = stand.events.last().map_or(0, |event| event.number);
            self.recorder = Some(Recorder::new(stand.clone()));
            self.stand = stand;
            return;
        };
        if recorder.is_empty() && self.stand == stand {
            return;
        }
        let is_gone = |name: &&String| !stand.heads.iter().any(|head| head.database == **name);
        let known = self.stand.heads.iter().map(|head| &head.database);
        let gone = known.filter(is_gone).cloned().collect();
        self.take(Frame {
            at: stand.at,
            maps: stand.maps,
            heads: stand.heads,
            events: stand.events,
            progress: Some(stand.progress),
            gone,
            ..Frame::default()
        });
    }

    fn take(&mut self, mut frame: Frame) {
        // A sentence of the run has no number.
        let last = self.last_event;
        frame.events.retain(|event| event.number == 0 || event.number > last);
        self.last_event = frame.events.last().map_or(last, |event| last.max(event.number));
        let unchanged = |map: &advisor::live::LogMap| self.stand.maps.contains(map);
        frame.maps.retain(|map| !unchanged(map));
        frame.heads.retain(|head| !self.stand.heads.contains(head));
        frame.progress = frame.progress.filter(|progress| *progress != self.stand.progress);
        if frame.is_empty() {
            return;
        }
        frame.frame = self.stand.frame + 1;
        self.stand.take(&frame);
        if let Some(recorder) = &mut self.recorder {
            recorder.take(frame);
        }
    }
}

impl Address {
    fn parse(url: &str) -> Option<Address> {
        let (host, token) = url.strip_prefix("http://")?.split_once("/?token=")?;
        Some(Address {
            host: host.to_owned(),
            token: token.trim().to_owned(),
        })
    }

    /// The answer to a request, at its body.
    fn ask(&self, path: &str) -> io::Result<BufReader<TcpStream>> {
        let Address { host, token } = self;
        let mut stream = TcpStream::connect(host)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        write!(stream, "GET {path}?token={token} HTTP/1.1\r\nHost: {host}\r\n\r\n")?;
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line)?;
        if !line.starts_with("HTTP/1.1 200 ") {
            return Err(io::Error::other(format!("the live page answers {}", line.trim())));
        }
        while line.trim() != "" {
            line.clear();
            if reader.read_line(&mut line)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(reader)
    }

    fn stand(&self) -> io::Result<Stand> {
        let mut body = String::new();
        self.ask("/stand")?.take(STAND_BYTES_MAX).read_to_string(&mut body)?;
        serde_json::from_str(&body).map_err(io::Error::other)
    }
}

/// The messages of a stream (WHATWG HTML, "Server-sent events"): each has one line of data here.
fn follow(mut stream: BufReader<TcpStream>, mut take: impl FnMut(&str, &str)) -> io::Result<()> {
    let (mut line, mut name) = (String::new(), String::new());
    while stream.read_line(&mut line)? > 0 {
        if let Some(text) = line.strip_prefix("event: ") {
            text.trim_end().clone_into(&mut name);
        } else if let Some(data) = line.strip_prefix("data: ") {
            take(&name, data.trim_end());
        }
        line.clear();
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use advisor::live::{EventKind, Head, Weight};

    fn stand(at: u64, names: &[&str], events: &[u64]) -> Stand {
        let head = |name: &&str| Head {
            database: (*name).to_owned(),
            used_bytes: at,
            ..Head::default()
        };
        let event = |number: &u64| Event {
            number: *number,
            at,
            since: None,
            database: "sales".to_owned(),
            kind: EventKind::Switch,
            weight: Weight::Ordinary,
            text: format!("{at}"),
            why: String::new(),
            sequence: None,
            micros: None,
            span: None,
        };
        Stand {
            at,
            heads: names.iter().map(head).collect(),
            events: events.iter().map(event).collect(),
            ..Stand::default()
        }
    }

    #[test]
    fn an_address_has_its_token() {
        let address = Address::parse("http://127.0.0.1:99/?token=ab\n").unwrap();
        assert_eq!((address.host.as_str(), address.token.as_str()), ("127.0.0.1:99", "ab"));
        assert_eq!(Address::parse("http://127.0.0.1:99/"), None);
    }

    #[test]
    fn a_second_server_goes_on_where_the_first_was_and_no_event_is_taken_twice() {
        let recording = LogRecording::new("run".to_owned());
        let mut state = hold(&recording.state);
        state.take_stand(stand(1, &["master", "sales"], &[1, 2]), "run");
        state.take(Frame {
            at: 2,
            events: stand(2, &[], &[3, 4]).events,
            ..Frame::default()
        });
        // The same again, as it is read before the end.
        state.take_stand(stand(3, &["master", "sales"], &[1, 2, 3, 4, 5]), "run");
        (state.server, state.last_event) = (2, 0);
        state.take_stand(stand(9, &["master"], &[1]), "run");
        drop(state);
        recording.say("and now");
        let recording = recording.finish().unwrap();
        assert_eq!(recording.first.greeting.title, "run");
        let told: Vec<(u64, u64)> = recording
            .frames
            .iter()
            .flat_map(|frame| frame.events.iter().map(|event| (event.at, event.number)))
            .collect();
        assert_eq!(told, [(2, 3), (2, 4), (3, 5), (9, 1), (9, 0)]);
        let mut played = recording.first.clone();
        recording.frames.iter().for_each(|frame| played.take(frame));
        let names: Vec<&str> = played.heads.iter().map(|head| head.database.as_str()).collect();
        assert_eq!((names, played.at), (vec!["master"], 9));
        assert_eq!(played.frame, recording.frames.len() as u64);
    }
}
