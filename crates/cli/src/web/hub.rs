//! The shared content of all open pages.
//!
//! ```text
//! Source --Frame--> hub: the stand, and the last frames as text --> a thread for each page, at its own pace
//! ```
//! A page takes frames from here when it can. It blocks no one, and nothing is kept for it: a page that is more than [`FRAMES_KEPT_MAX`]
//! frames or [`BYTES_KEPT_MAX`] bytes behind gets the full state (the *stand*) again, with the number of frames that it missed.
//!
//! While no page is open and nothing is being recorded, the source is not read.

use super::STREAMS_MAX;
use crate::http::status_line;
use advisor::live::recording::{Recorder, Recording, to_json};
use advisor::live::{Frame, Stand};
use std::collections::VecDeque;
use std::io::{self, Write};
use std::net::TcpStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

const FRAMES_KEPT_MAX: usize = 256;
const BYTES_KEPT_MAX: usize = 4 << 20;
/// A page that takes nothing for so long is given up.
const WRITE_MAX: Duration = Duration::from_secs(20);
/// A sign of life, by which a page that has gone is noticed.
const BEAT: Duration = Duration::from_secs(5);
/// How long the end waits for pages.
const GOODBYE_MAX: Duration = Duration::from_secs(1);

/// Where frames come from.
pub trait Source: Send {
    /// What has changed since it was asked last. The hub numbers frames.
    fn observe(&mut self) -> Frame;

    /// Whether reading it at any time is free of side effects.
    fn is_at_hand(&self) -> bool {
        false
    }
}

pub struct Hub {
    state: Mutex<State>,
    news: Condvar,
    source: Mutex<Box<dyn Source>>,
    /// It is read while no page is open, too: what it shows is recorded.
    is_recorded: bool,
}

struct State {
    stand: Stand,
    frames: VecDeque<(u64, Arc<str>)>,
    bytes: usize,
    streams: usize,
    is_over: bool,
    recorder: Option<Recorder>,
}

fn hold<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Hub {
    /// Begins with a stand, and reads `source` every `interval` while a page is open, or all the time where it is recorded.
    ///
    /// # Errors
    /// No thread could be started for it.
    pub fn start(stand: Stand, source: Box<dyn Source>, interval: Duration, is_recorded: bool) -> io::Result<Arc<Hub>> {
        let hub = Arc::new(Hub::new(stand, source, is_recorded));
        let reading = Arc::clone(&hub);
        thread::Builder::new().name("web-source".to_owned()).spawn(move || {
            while reading.wait_for_readers() {
                reading.observe();
                thread::sleep(interval);
            }
        })?;
        Ok(hub)
    }

    fn new(stand: Stand, source: Box<dyn Source>, is_recorded: bool) -> Hub {
        Hub {
            state: Mutex::new(State {
                recorder: is_recorded.then(|| Recorder::new(stand.clone())),
                stand,
                frames: VecDeque::new(),
                bytes: 0,
                streams: 0,
                is_over: false,
            }),
            news: Condvar::new(),
            source: Mutex::new(source),
            is_recorded,
        }
    }

    /// Waits until a page is open; false when it is over.
    fn wait_for_readers(&self) -> bool {
        let mut state = hold(&self.state);
        while state.streams == 0 && !self.is_recorded && !state.is_over {
            state = self.news.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        !state.is_over
    }

    /// Reads the source and takes in what has changed.
    fn observe(&self) {
        let mut source = hold(&self.source);
        let mut frame = source.observe();
        if frame.is_empty() {
            return;
        }
        // The source is held until its frame is in: another reader's frame comes behind it.
        let mut state = hold(&self.state);
        frame.frame = state.stand.frame + 1;
        state.stand.take(&frame);
        let text: Arc<str> = Arc::from(format!("event: frame\ndata: {}\n\n", to_json(&frame)));
        state.bytes += text.len();
        state.frames.push_back((frame.frame, text));
        while state.frames.len() > FRAMES_KEPT_MAX || state.bytes > BYTES_KEPT_MAX {
            let Some((_, gone)) = state.frames.pop_front() else {
                break;
            };
            state.bytes -= gone.len();
        }
        if let Some(recorder) = &mut state.recorder {
            recorder.take(frame);
        }
        drop(state);
        self.news.notify_all();
    }

    /// What was recorded, if anything was; the recording is over with that.
    pub fn take_recording(&self) -> Option<Recording> {
        hold(&self.state).recorder.take().map(Recorder::finish)
    }

    /// The full state, read now unless it is being read anyway.
    pub fn stand_now(&self) -> Stand {
        let streams = hold(&self.state).streams;
        if streams == 0 && !self.is_recorded || hold(&self.source).is_at_hand() {
            self.observe();
        }
        hold(&self.state).stand.clone()
    }

    /// There will be no more: pages hear of it, and their streams end. Waits for that, at most [`GOODBYE_MAX`], since the process may end behind
    /// it, and its streams with it.
    pub fn end(&self) {
        self.end_within(GOODBYE_MAX);
    }

    fn end_within(&self, patience: Duration) {
        self.close();
        let has_streams = |state: &mut State| state.streams > 0;
        drop(self.news.wait_timeout_while(hold(&self.state), patience, has_streams));
    }

    fn close(&self) {
        hold(&self.state).is_over = true;
        self.news.notify_all();
    }

    /// A place for one more page; `None` while all are taken.
    pub fn enter(hub: &Arc<Hub>) -> Option<Reader> {
        let mut state = hold(&hub.state);
        if state.streams >= STREAMS_MAX {
            return None;
        }
        state.streams += 1;
        drop(state);
        hub.news.notify_all();
        Some(Reader { hub: Arc::clone(hub) })
    }
}

/// A page's place; free again when this is dropped.
pub struct Reader {
    hub: Arc<Hub>,
}

impl Drop for Reader {
    fn drop(&mut self) {
        hold(&self.hub.state).streams -= 1;
        self.hub.news.notify_all();
    }
}

/// What a page gets next.
enum Next {
    Frames(u64, Vec<Arc<str>>),
    /// It has missed frames.
    Stand(Stand),
    Nothing,
    Over,
}

impl Reader {
    /// Writes until the page has gone, or there is no more.
    pub fn write_to(self, mut stream: &TcpStream) -> io::Result<()> {
        stream.set_write_timeout(Some(WRITE_MAX))?;
        let head = status_line(200, "text/event-stream");
        stream.write_all(format!("{head}{}\r\n", super::HEADERS).as_bytes())?;
        // A page that comes first shows how it is now, not how it was when the last one left.
        let mut last = {
            let stand = self.first_stand();
            stream.write_all(stand_text(&stand).as_bytes())?;
            stand.frame
        };
        loop {
            match self.next(last) {
                Next::Frames(newest, frames) => {
                    for frame in frames {
                        stream.write_all(frame.as_bytes())?;
                    }
                    last = newest;
                }
                Next::Stand(mut stand) => {
                    stand.missed = stand.frame.saturating_sub(last);
                    stream.write_all(stand_text(&stand).as_bytes())?;
                    last = stand.frame;
                }
                Next::Nothing => stream.write_all(b": still here\n\n")?,
                Next::Over => return stream.write_all(b"event: bye\ndata: {}\n\n"),
            }
        }
    }

    fn first_stand(&self) -> Stand {
        let streams = hold(&self.hub.state).streams;
        if streams == 1 && !self.hub.is_recorded {
            self.hub.observe();
        }
        hold(&self.hub.state).stand.clone()
    }

    fn next(&self, last: u64) -> Next {
        let state = hold(&self.hub.state);
        let waits = |state: &mut State| state.stand.frame <= last && !state.is_over;
        let waited = self.hub.news.wait_timeout_while(state, BEAT, waits);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if state.stand.frame <= last {
            return if state.is_over { Next::Over } else { Next::Nothing };
        }
        match state.frames.front() {
            Some((first, _)) if *first <= last + 1 => {
                let behind = state.frames.iter().filter(|(number, _)| *number > last);
                Next::Frames(state.stand.frame, behind.map(|(_, text)| Arc::clone(text)).collect())
            }
            _ => Next::Stand(state.stand.clone()),
        }
    }
}

fn stand_text(stand: &Stand) -> String {
    format!("event: stand\ndata: {}\n\n", to_json(stand))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::TcpListener;

    /// A frame for every question.
    struct Counting(u64);

    impl Source for Counting {
        fn observe(&mut self) -> Frame {
            self.0 += 1;
            Frame {
                at: self.0,
                skipped: 1,
                ..Frame::default()
            }
        }
    }

    /// Without a thread: frames come when the test asks for them.
    fn hub() -> Arc<Hub> {
        Arc::new(Hub::new(Stand::default(), Box::new(Counting(0)), false))
    }

    #[test]
    fn a_page_that_fell_behind_gets_the_stand_and_how_much_it_missed() {
        let hub = hub();
        let reader = Hub::enter(&hub).unwrap();
        (0..10).for_each(|_| hub.observe());
        let now = hold(&hub.state).stand.frame;
        assert!(matches!(reader.next(now - 3), Next::Frames(newest, frames) if newest == now && frames.len() == 3));
        (0..FRAMES_KEPT_MAX).for_each(|_| hub.observe());
        let later = hold(&hub.state).stand.frame;
        assert!(matches!(reader.next(now - 3), Next::Stand(stand) if stand.frame == later));
        assert_eq!(hold(&hub.state).frames.len(), FRAMES_KEPT_MAX);
        hub.close();
        assert!(matches!(reader.next(later), Next::Over));
    }

    #[test]
    fn places_are_bounded_and_a_stream_ends_with_a_word() {
        let hub = hub();
        let readers: Vec<Reader> = (0..STREAMS_MAX).map(|_| Hub::enter(&hub).unwrap()).collect();
        assert!(Hub::enter(&hub).is_none());
        drop(readers);
        let reader = Hub::enter(&hub).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut page = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (stream, _) = listener.accept().unwrap();
        hub.close();
        reader.write_to(&stream).unwrap();
        drop(stream);
        let mut told = String::new();
        page.read_to_string(&mut told).unwrap();
        assert!(
            told.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"),
            "{told}"
        );
        assert!(
            told.contains("event: stand\ndata: {") && told.ends_with("event: bye\ndata: {}\n\n"),
            "{told}"
        );
    }

    /// The process of a server that was stopped could end before a page had its last word.
    #[test]
    fn the_end_waits_for_the_last_word_of_each_page() {
        let hub = hub();
        let reader = Hub::enter(&hub).unwrap();
        let (ended, ends) = std::sync::mpsc::channel();
        let ending = Arc::clone(&hub);
        let thread = thread::spawn(move || {
            ending.end_within(Duration::from_secs(3_600));
            ended.send(hold(&ending.state).streams).unwrap();
        });
        assert!(matches!(reader.next(0), Next::Over));
        let early = ends.recv_timeout(Duration::from_millis(50));
        assert!(early.is_err(), "the page has not gone yet");
        drop(reader);
        assert_eq!(ends.recv().unwrap(), 0);
        thread.join().unwrap();
    }
}
