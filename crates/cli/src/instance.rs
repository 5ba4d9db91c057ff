//! Opens the engine on a folder, for the server and for embedded use.

use crate::exit::Failure;
use disk::{ConfinedDisk, OsDisk};
use engine::errorlog::ErrorLog;
use engine::instance::{Instance, InstanceOptions};
use engine::log::LogPolicy;
use engine::seams::{Background, Environment, SystemClock};
use engine::waits::WaitStatistics;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use vlf::ServerVersion;

/// What both subcommands let the user choose.
pub struct Choices {
    /// Instance folder.
    pub folder: PathBuf,
    /// Version whose rules apply.
    pub version: ServerVersion,
    /// How the log does its work.
    pub policy: LogPolicy,
    /// Memory for pages, MB.
    pub memory_mb: Option<u32>,
    /// Whether data files grow without zeros being written.
    pub instant_file_initialization: bool,
    /// Folders beside the instance's in which statements may name files.
    pub allowed_paths: Vec<PathBuf>,
}

const MEGABYTE: u64 = 1 << 20;
const SERVER_NAME_UNKNOWN: &str = "VLFLAB";

/// An environment of this machine: its disk, its clock, threads allowed.
pub fn environment() -> Environment {
    let clock = Arc::new(SystemClock::new());
    Environment {
        disk: Arc::new(OsDisk),
        clock: clock.clone(),
        background: Background::Threads,
        waits: Arc::new(WaitStatistics::new()),
        activity: Arc::default(),
        errorlog: Arc::new(ErrorLog::new(clock)),
    }
}

/// Opens the instance; recovery of its databases is over when this returns.
///
/// # Errors
/// The folder is in use or not writable, or master cannot be opened.
pub fn open(choices: Choices, mut env: Environment) -> Result<Arc<Instance>, Failure> {
    let folder = folder_without_dots(&choices.folder)?;
    env.disk = Arc::new(confined_disk(&folder, &choices.allowed_paths)?);
    let options = InstanceOptions {
        folder,
        server_name: server_name(),
        version: choices.version,
        policy: choices.policy,
        max_server_memory_bytes: u64::from(choices.memory_mb.unwrap_or_else(default_memory_mb)) * MEGABYTE,
        instant_file_initialization: choices.instant_file_initialization,
    };
    Instance::start(options, env).map_err(|error| Failure::Failed(error.message))
}

/// The instance's folder and those allowed beside it, and nothing else of the machine.
fn confined_disk(folder: &Path, allowed: &[PathBuf]) -> Result<ConfinedDisk, Failure> {
    let mut folders = vec![folder.to_path_buf()];
    for path in allowed {
        if !path.is_dir() {
            let text = format!("--allow-path {}: there is no such folder", path.display());
            return Err(Failure::Usage(text));
        }
        // As it was named, and as the system knows it.
        let named = std::path::absolute(path)?;
        let real = std::fs::canonicalize(path)?;
        let has_dots = named.components().any(|part| part == Component::ParentDir);
        folders.extend((!has_dots && named != real).then_some(named));
        folders.push(real);
    }
    Ok(ConfinedDisk::new(folders))
}

/// The instance folder as an absolute path. One with `..` is made if need be, because only what is there says where it leads.
fn folder_without_dots(path: &Path) -> Result<PathBuf, Failure> {
    let path = std::path::absolute(path)?;
    if path.components().all(|part| part != Component::ParentDir) {
        return Ok(path);
    }
    std::fs::create_dir_all(&path)?;
    Ok(std::fs::canonicalize(path)?)
}

/// The machine's name in capitals, as Windows has it.
fn server_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.trim().to_uppercase();
    if name.is_empty() {
        SERVER_NAME_UNKNOWN.to_string()
    } else {
        name
    }
}

/// A quarter of the machine's memory, at most 4 GB.
fn default_memory_mb() -> u32 {
    const SHARE: u64 = 4;
    const MB_MAX: u64 = 4096;
    const MB_UNKNOWN: u64 = 256;
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total_kb = text.lines().find_map(|line| {
        line.strip_prefix("MemTotal:")?
            .trim()
            .split(' ')
            .next()?
            .parse::<u64>()
            .ok()
    });
    let share = total_kb.map_or(MB_UNKNOWN, |kilobytes| kilobytes / 1024 / SHARE);
    share.clamp(64, MB_MAX) as u32
}
