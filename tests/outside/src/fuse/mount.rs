//! A volume as a mounted file system whose power can go at any change.
//!
//! ```text
//!   Running ---- change number n of the trap ----> Hanging ---- power_off ----> Off
//!      requests are answered        changes are taken and not answered:      everything is EIO
//!                                   they are on their way
//! ```
//!
//! Invariant: nothing that was not durable when the trap sprang is ever answered as done. While the file system hangs,
//! other threads of the server send on what they have; so several writes are on their way when the power goes. The server
//! is killed before the first EIO is sent, so it never sees one.
//!
//! The mount serves one thread of requests; it lives in a mount namespace of the harness's own, and a process that dies
//! with it takes it along.

use super::serve;
use super::wire::{Answer, Call, Request, WRITE_BYTES_MAX};
use crate::volume::{Durability, Volume};
use parking_lot::{Condvar, Mutex};
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags};
use std::ffi::CString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A request of the largest write and its headers.
const BUFFER_BYTES: usize = WRITE_BYTES_MAX as usize + 4096;

/// When the file system stops to answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trap {
    /// Number of the change at which it springs.
    pub at_change: u64,
    /// Whether that change is still taken; one that is not never reached the file system.
    pub takes_it: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Running,
    Hanging,
    Off,
}

struct State {
    volume: Volume,
    phase: Phase,
    trap: Option<Trap>,
    /// Requests that were taken and not answered.
    held: Vec<u64>,
}

struct Shared {
    device: OwnedFd,
    state: Mutex<State>,
    sprung: Condvar,
}

pub struct Mounted {
    folder: PathBuf,
    shared: Arc<Shared>,
    server: Option<JoinHandle<()>>,
}

impl Mounted {
    /// Mounts `volume` over `folder`.
    ///
    /// # Errors
    /// FUSE is missing, or this process may not mount.
    pub fn new(folder: &Path, volume: Volume) -> io::Result<Mounted> {
        let device = rustix::fs::open("/dev/fuse", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
        let options = format!("fd={},rootmode=40000,user_id=0,group_id=0", device.as_raw_fd());
        let options = CString::new(options)?;
        let flags = MountFlags::NODEV | MountFlags::NOSUID;
        rustix::mount::mount("vlflab-outside", folder, "fuse", flags, options.as_c_str())?;
        let state = State {
            volume,
            phase: Phase::Running,
            trap: None,
            held: Vec::new(),
        };
        let shared = Arc::new(Shared {
            device,
            state: Mutex::new(state),
            sprung: Condvar::new(),
        });
        let serving = Arc::clone(&shared);
        let server = std::thread::spawn(move || serving.serve());
        Ok(Mounted {
            folder: folder.to_path_buf(),
            shared,
            server: Some(server),
        })
    }

    /// Does something with the volume while nothing else happens to it.
    pub fn with_volume<T>(&self, work: impl FnOnce(&mut Volume) -> T) -> T {
        work(&mut self.shared.state.lock().volume)
    }

    /// Sets the trap `changes_ahead` changes from here, at least 1.
    pub fn set_trap(&self, changes_ahead: u64, takes_it: bool) -> Trap {
        let mut state = self.shared.state.lock();
        let trap = Trap {
            at_change: state.volume.changes() + changes_ahead.max(1),
            takes_it,
        };
        state.trap = Some(trap);
        trap
    }

    /// Takes the trap away; false when it has sprung.
    pub fn disarm(&self) -> bool {
        let mut state = self.shared.state.lock();
        state.trap = None;
        state.phase == Phase::Running
    }

    /// Springs the trap at once, wherever the file system stands.
    pub fn spring(&self) {
        self.shared.state.lock().phase = Phase::Hanging;
        self.shared.sprung.notify_all();
    }

    /// Waits until the trap springs; false when it has not within `patience`.
    pub fn wait_until_sprung(&self, patience: Duration) -> bool {
        let end = Instant::now() + patience;
        let mut state = self.shared.state.lock();
        while state.phase == Phase::Running {
            if self.shared.sprung.wait_until(&mut state, end).timed_out() {
                return state.phase != Phase::Running;
            }
        }
        true
    }

    /// Answers everything with EIO from here on. The server must have got its SIGKILL.
    pub fn power_off(&self) {
        let mut state = self.shared.state.lock();
        state.phase = Phase::Off;
        for unique in std::mem::take(&mut state.held) {
            self.shared.send(&Answer::error(unique, Errno::IO).finish());
        }
    }

    /// Unmounts and hands the volume back. Nobody may use the file system any more.
    ///
    /// # Errors
    /// The system does not unmount it.
    pub fn unmount(mut self) -> io::Result<Volume> {
        self.end()?;
        let state = self.shared.state.lock();
        Ok(state.volume.clone())
    }

    fn end(&mut self) -> io::Result<()> {
        if let Some(server) = self.server.take() {
            rustix::mount::unmount(&self.folder, UnmountFlags::FORCE | UnmountFlags::DETACH)?;
            server
                .join()
                .map_err(|_| io::Error::other("the file system's thread panicked"))?;
        }
        Ok(())
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        self.power_off();
        // The namespace goes with the process, and the mount with it.
        let _ = self.end();
    }
}

impl Shared {
    /// Reads and answers requests until the file system is unmounted.
    fn serve(&self) {
        let mut buffer = vec![0; BUFFER_BYTES];
        loop {
            match rustix::io::read(&self.device, &mut buffer) {
                Ok(count) => self.handle(&buffer[..count]),
                // ENOENT: the request was withdrawn before it was read.
                Err(Errno::INTR | Errno::AGAIN | Errno::NOENT) => {}
                // ENODEV and ECONNABORTED: unmounted.
                Err(_) => return,
            }
        }
    }

    fn handle(&self, bytes: &[u8]) {
        let Some(request) = Request::parse(bytes) else {
            return;
        };
        let mut state = self.state.lock();
        let state = &mut *state;
        let change = serve::is_change(&request.call);
        match state.phase {
            Phase::Off if matches!(request.call, Call::Forget | Call::Interrupt) => {}
            Phase::Off => self.send(&Answer::error(request.unique, Errno::IO).finish()),
            Phase::Hanging if change => {
                serve::answer(&mut state.volume, &request, Durability::InFlight);
                state.held.push(request.unique);
            }
            Phase::Running if change && state.is_due() => {
                if state.trap.is_some_and(|trap| trap.takes_it) {
                    serve::answer(&mut state.volume, &request, Durability::InFlight);
                }
                state.held.push(request.unique);
                state.phase = Phase::Hanging;
                self.sprung.notify_all();
            }
            Phase::Running | Phase::Hanging => {
                if let Some(answer) = serve::answer(&mut state.volume, &request, Durability::AsAsked) {
                    self.send(&answer);
                }
            }
        }
    }

    fn send(&self, answer: &[u8]) {
        // Fails when the request was interrupted or the file system is being unmounted: nobody waits then.
        let _ = rustix::io::write(&self.device, answer);
    }
}

impl State {
    fn is_due(&self) -> bool {
        self.trap
            .is_some_and(|trap| self.volume.changes() + 1 >= trap.at_change)
    }
}
