//! One machine: a volume, and the server on it while the power is on.
//!
//! ```text
//!   off (volume) -- start --> on (volume mounted, server) -- power cut, kill or clean stop --> off (volume as left)
//! ```

use crate::fuse::Mounted;
use crate::random::Random;
use crate::server::{Launch, Server, Wait};
use crate::volume::Volume;
use crate::volume::fate::{Draws, Fate};
use crate::volume::names::NameModel;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a server may take to be ready. Recovery of the small databases here takes a fraction of a second.
const READY_PATIENCE: Duration = Duration::from_secs(60);
const STOP_PATIENCE: Duration = Duration::from_secs(30);
/// The instance folder below the mount.
pub const INSTANCE: &str = "instance";
const POLICIES: [&str; 2] = ["native", "classic"];
const VERSIONS: [&str; 5] = ["2008", "2012", "2014", "2019", "2022"];

/// Where the program is, and a folder for the mount and for what servers say.
#[derive(Debug, Clone)]
pub struct Site {
    /// The `vlflab` program.
    pub program: PathBuf,
    /// A folder of this run alone.
    pub folder: PathBuf,
}

impl Site {
    /// Makes the folders.
    ///
    /// # Errors
    /// They cannot be made.
    pub fn new(program: &Path, folder: &Path) -> io::Result<Site> {
        std::fs::create_dir_all(folder.join("mount"))?;
        Ok(Site {
            program: program.canonicalize()?,
            folder: folder.canonicalize()?,
        })
    }

    /// What the last server printed to standard error.
    pub fn server_output(&self) -> PathBuf {
        self.folder.join("server-output.txt")
    }

    fn mount_point(&self) -> PathBuf {
        self.folder.join("mount")
    }
}

/// The settings a server starts with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// Version whose layout rules it follows.
    pub sql_version: &'static str,
    /// `native` or `classic`.
    pub log_policy: &'static str,
    /// Its memory, MB: little, so that pages of uncommitted changes are written out.
    pub max_server_memory_mb: u32,
}

impl Setting {
    pub fn draw(random: &mut Random) -> Setting {
        Setting {
            sql_version: random.choose::<&str>(&VERSIONS),
            log_policy: random.choose::<&str>(&POLICIES),
            max_server_memory_mb: *random.choose(&[64, 128]),
        }
    }
}

/// Draws a model of names.
pub fn draw_name_model(random: &mut Random) -> NameModel {
    *random.choose(&[NameModel::Journal, NameModel::Weakest])
}

/// A machine whose power is on.
pub struct Machine {
    mounted: Mounted,
    server: Server,
}

/// Why a machine did not come up.
#[derive(Debug)]
pub enum StartFailure {
    /// The trap sprang first: here is the volume with the server killed, before anything is drawn.
    Sprung(Box<Volume>),
    /// The server ended by itself, or hung; with what it said and the volume.
    Server(String, Box<Volume>),
    /// The harness itself failed.
    Io(io::Error),
}

impl From<io::Error> for StartFailure {
    fn from(error: io::Error) -> StartFailure {
        StartFailure::Io(error)
    }
}

impl Machine {
    /// Mounts the volume and starts the server, with a trap during its start when one is given: the number of changes
    /// ahead, and whether the last of them is taken.
    ///
    /// # Errors
    /// See [`StartFailure`].
    pub fn start(
        site: &Site,
        setting: Setting,
        volume: Volume,
        trap: Option<(u64, bool)>,
    ) -> Result<Machine, StartFailure> {
        let mounted = Mounted::new(&site.mount_point(), volume)?;
        if let Some((changes_ahead, takes_it)) = trap {
            mounted.set_trap(changes_ahead, takes_it);
        }
        let launch = Launch {
            program: site.program.clone(),
            data: site.mount_point().join(INSTANCE),
            output: site.server_output(),
            sql_version: setting.sql_version,
            log_policy: setting.log_policy,
            max_server_memory_mb: setting.max_server_memory_mb,
        };
        let server = Server::spawn(&launch)?;
        let mut machine = Machine { mounted, server };
        let poll = Duration::from_millis(2);
        let mut waited = Duration::ZERO;
        let failure = loop {
            match machine.server.wait_until_ready(poll) {
                Wait::Ready => return Ok(machine),
                Wait::Ended(said) => break said,
                Wait::TimedOut if machine.mounted.wait_until_sprung(Duration::ZERO) => {
                    return Err(StartFailure::Sprung(Box::new(machine.end_abruptly()?)));
                }
                Wait::TimedOut if waited > READY_PATIENCE => break format!("not ready after {READY_PATIENCE:?}"),
                Wait::TimedOut => waited += poll,
            }
        };
        Err(StartFailure::Server(failure, Box::new(machine.end_abruptly()?)))
    }

    pub fn disk(&self) -> &Mounted {
        &self.mounted
    }

    pub fn server(&self) -> &Server {
        &self.server
    }

    /// Whether the server runs.
    pub fn server_is_up(&mut self) -> bool {
        self.server.is_up()
    }

    /// Kills the server wherever it is; nothing reaches the volume from then on.
    pub fn kill(&mut self) {
        self.mounted.spring();
        self.server.send_kill();
        self.mounted.power_off();
        self.server.reap();
    }

    /// Kills the server wherever it is and hands over the volume, with everything that was on its way in it.
    ///
    /// # Errors
    /// The system does not unmount.
    pub fn end_abruptly(mut self) -> io::Result<Volume> {
        self.kill();
        self.mounted.unmount()
    }

    /// Ends the server cleanly. The volume as it is then, or, when the trap sprang meanwhile, as an abrupt end leaves it;
    /// true in the first case.
    ///
    /// # Errors
    /// The server does not end, or the system does not unmount.
    pub fn stop(mut self) -> io::Result<(Volume, bool)> {
        let begin = std::time::Instant::now();
        let mut stopped = self.server.stop(Duration::ZERO);
        while !stopped && !self.mounted.wait_until_sprung(Duration::ZERO) {
            if begin.elapsed() > STOP_PATIENCE {
                return Err(io::Error::other(format!(
                    "the server does not stop within {STOP_PATIENCE:?}"
                )));
            }
            stopped = self.server.stop(Duration::from_millis(5));
        }
        let sprung = self.mounted.wait_until_sprung(Duration::ZERO);
        Ok((self.end_abruptly()?, !sprung))
    }
}

/// What a power cut does to a volume, by draws of `random`; with the kind of loss.
pub fn cut_power(volume: &Volume, random: &mut Random) -> (Volume, Fate) {
    let (first, last) = volume.unsynced_changes();
    let mut draws = Draws::new(random.fork(), first, last);
    let fate = draws.fate();
    let model = draw_name_model(random);
    (volume.after_power_cut(&mut draws, model), fate)
}
