//! Opens the engine on a folder, for the server and for embedded use.

use crate::exit::Failure;
use crate::folder::Folder;
use crate::memory;
use disk::OsDisk;
use engine::errorlog::ErrorLog;
use engine::instance::{Instance, InstanceOptions, Remembered};
use engine::log::LogPolicy;
use engine::seams::{Background, Environment, SystemClock};
use engine::waits::WaitStatistics;
use std::path::PathBuf;
use std::sync::Arc;
use vlf::ServerVersion;

/// What the subcommands let the user choose.
pub struct Choices {
    /// Instance folder.
    pub folder: PathBuf,
    /// Version whose rules apply; what the folder remembers when not given.
    pub version: Option<ServerVersion>,
    /// How the log does its work; the same.
    pub policy: Option<LogPolicy>,
    /// Memory for pages and queries, MB.
    pub memory_mb: Option<u32>,
    /// Whether data files grow without zeros being written.
    pub instant_file_initialization: bool,
}

/// An instance that was opened, and what its user should know of how.
pub struct Opened {
    /// The instance.
    pub instance: Arc<Instance>,
    /// The folder: until it is kept, a new one goes again with its content.
    pub folder: Folder,
    /// As what it speaks, and why.
    pub manner: String,
    /// What is not as it was, or not as it should be.
    pub warnings: Vec<String>,
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

/// Opens the instance; the recovery of its databases is over, or goes on in the background, when this returns.
///
/// # Errors
/// The folder is in use, not writable, or not an instance's; the memory is not to be had; or master cannot be opened. A folder that
/// was made for it is gone then.
pub fn open(choices: Choices, env: Environment) -> Result<Opened, Failure> {
    let folder = Folder::look(&choices.folder)?;
    let (memory_mb, note) = memory::settle(choices.memory_mb)?;
    let remembered = Remembered::of_folder(env.disk.as_ref(), folder.path());
    let options = InstanceOptions {
        folder: folder.path().to_path_buf(),
        server_name: server_name(),
        version: choices.version.or(remembered.version).unwrap_or(ServerVersion::V2022),
        policy: choices.policy.or(remembered.policy).unwrap_or(LogPolicy::native()),
        max_server_memory_bytes: u64::from(memory_mb) * MEGABYTE,
        instant_file_initialization: choices.instant_file_initialization,
    };
    let manner =
        |version: ServerVersion, policy: LogPolicy| format!("SQL Server {}, log policy {policy}", version.name());
    let now = manner(options.version, options.policy);
    let former = remembered
        .version
        .zip(remembered.policy)
        .map(|(version, policy)| manner(version, policy));
    let change = former
        .filter(|former| *former != now)
        .map(|former| format!("this folder was {former}; from now on it is {now}, as the command line says"));
    let instance = Instance::start(options, env).map_err(|error| Failure::Failed(error.message))?;
    let warnings: Vec<String> = folder.warning().into_iter().chain(note).chain(change).collect();
    for warning in &warnings {
        instance.env.errorlog.write("Server", format!("Warning: {warning}."));
    }
    Ok(Opened {
        instance,
        folder,
        manner: now,
        warnings,
    })
}

/// Opens the instance for this process alone. Warnings go to standard error.
///
/// # Errors
/// As [`open`].
pub fn open_embedded(choices: Choices) -> Result<Arc<Instance>, Failure> {
    let opened = open(choices, environment())?;
    opened
        .warnings
        .iter()
        .for_each(|warning| eprintln!("warning: {warning}"));
    opened.folder.keep();
    Ok(opened.instance)
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
