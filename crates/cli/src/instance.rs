//! Opens the engine on a folder, for the server and for embedded use.

use crate::exit::Failure;
use crate::folder::Folder;
use crate::memory;
use device::parameter::Figures;
use disk::modelled::{ModelledDisk, VirtualTime};
use disk::{ConfinedDisk, Disk, MemoryDisk, OsDisk};
use engine::errorlog::ErrorLog;
use engine::instance::{Instance, InstanceOptions, Remembered};
use engine::log::LogPolicy;
use engine::seams::{Background, Clock, Environment, SystemClock, VirtualClock};
use engine::waits::WaitStatistics;
use std::path::{Component, Path, PathBuf};
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
    /// Folders beside the instance's in which statements may name files.
    pub allowed_paths: Vec<PathBuf>,
    /// The disk whose time counts, when it is not this machine's.
    pub modelled: Option<Modelled>,
    /// Whether the folder is in memory.
    pub in_memory: bool,
}

/// A disk that is a model, and its time.
#[derive(Clone)]
pub struct Modelled {
    /// What the device is computed from.
    pub figures: Figures,
    /// What decides the angles at which seeks end.
    pub seed: u64,
    /// Device time and processor time.
    pub time: Arc<VirtualTime>,
}

/// An instance that was opened, and what its user should know of how.
pub struct Opened {
    pub instance: Arc<Instance>,
    /// The folder: until it is kept, a new one goes again with its content.
    pub folder: Folder,
    /// As what it speaks, and why.
    pub manner: String,
    /// What is not as it was, or not as it should be.
    pub warnings: Vec<String>,
}

const MEGABYTE: u64 = 1 << 20;
/// Where databases in memory say they are; nothing of the machine's has to be there.
const FOLDER_IN_MEMORY: &str = "/vlflab-in-memory";
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

/// An environment whose time is that of a modelled disk. All work is done by the thread that asks for it.
pub fn virtual_environment(modelled: &Modelled) -> Environment {
    let begin = SystemClock::new().unix_micros();
    let clock = Arc::new(VirtualClock::new(Arc::clone(&modelled.time), begin));
    Environment {
        clock: clock.clone(),
        background: Background::Inline,
        errorlog: Arc::new(ErrorLog::new(clock)),
        ..environment()
    }
}

/// Opens the instance, once `before` agrees with what the folder holds; the recovery of its databases is over, or goes on in the background,
/// when this returns.
///
/// # Errors
/// Those of `before`; the folder is in use, not writable, or not an instance's; an allowed one is not there; the memory is not available;
/// or master cannot be opened. A folder that was made for it is gone then.
pub fn open<Before>(
    choices: Choices,
    mut env: Environment,
    before: impl FnOnce(&dyn Disk, &Path) -> Result<Before, Failure>,
) -> Result<(Opened, Before), Failure> {
    let folder = match choices.in_memory {
        true => Folder::in_memory(Path::new(FOLDER_IN_MEMORY)),
        false => Folder::look(&folder_without_dots(&choices.folder)?)?,
    };
    // First, for `before` needs memory itself, and its complaint would not name the remedy.
    let (memory_mb, note) = memory::settle(choices.memory_mb)?;
    env.disk = Arc::new(confined_disk(folder.path(), &choices.allowed_paths)?);
    if choices.in_memory {
        let folder = folder.path().to_path_buf();
        env.disk = Arc::new(MemoryDisk::new(folder, env.disk, memory::bytes_for_files()));
    }
    if let Some(Modelled { figures, seed, time }) = &choices.modelled {
        let disk = ModelledDisk::new(env.disk, folder.path(), figures, *seed, Arc::clone(time));
        env.disk = Arc::new(disk.map_err(|error| Failure::Failed(error.to_string()))?);
    }
    let before = before(env.disk.as_ref(), folder.path())?;
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
    let mut now = manner(options.version, options.policy);
    let former = remembered
        .version
        .zip(remembered.policy)
        .map(|(version, policy)| manner(version, policy));
    let change = former
        .filter(|former| *former != now)
        .map(|former| format!("this folder was {former}; from now on it is {now}, as the command line says"));
    let volatile = choices.in_memory.then(|| {
        now.push_str(", in memory");
        "the databases are in memory: nothing is kept when the server ends".to_owned()
    });
    let instance = Instance::start(options, env).map_err(|error| Failure::Failed(error.message))?;
    let warnings: Vec<String> = folder
        .warning()
        .into_iter()
        .chain(note)
        .chain(change)
        .chain(volatile)
        .collect();
    for warning in &warnings {
        instance.env.errorlog.write("Server", format!("Warning: {warning}."));
    }
    let opened = Opened {
        instance,
        folder,
        manner: now,
        warnings,
    };
    Ok((opened, before))
}

/// Opens the instance for this process alone. Warnings go to standard error.
///
/// # Errors
/// As [`open`].
pub fn open_embedded(choices: Choices) -> Result<Arc<Instance>, Failure> {
    let (opened, ()) = open(choices, environment(), |_, _| Ok(()))?;
    opened
        .warnings
        .iter()
        .for_each(|warning| eprintln!("warning: {warning}"));
    opened.folder.keep();
    Ok(opened.instance)
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

/// The instance folder as an absolute path without `..`, which means what it means to the system: where what is there leads.
fn folder_without_dots(path: &Path) -> Result<PathBuf, Failure> {
    let has_dots = |path: &Path| path.components().any(|part| part == Component::ParentDir);
    let path = std::path::absolute(path)?;
    if !has_dots(&path) {
        return Ok(path);
    }
    let there = path
        .ancestors()
        .find(|folder| folder.exists())
        .unwrap_or(Path::new("/"));
    let missing = path.strip_prefix(there).unwrap_or(Path::new(""));
    if has_dots(missing) {
        let text = format!(
            "{} leads through a folder that is not there; make it first",
            path.display()
        );
        return Err(Failure::Usage(text));
    }
    Ok(std::fs::canonicalize(there)?.join(missing))
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
