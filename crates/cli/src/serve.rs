//! `vlflab serve`: serves the instance over TDS, until SIGTERM, SIGINT or SHUTDOWN.

mod console;
mod exposition;
mod live_page;
mod metrics;
mod notify;
pub mod recovery;
mod restore;

use crate::arguments::{EncryptDemand, ServeOptions};
use crate::exit::Failure;
use crate::instance::{self, Choices, Modelled, Opened};
use crate::stopping::Stopper;
use console::{Console, Ready};
use device::parameter::Case;
use disk::Disk;
use disk::modelled::VirtualTime;
use engine::errorlog::FileLimits;
use engine::instance::Instance;
use lab::disks;
use live_page::LivePage;
use metrics::Metrics;
use notify::Notifier;
use server::credentials::{self, PasswordChecker};
use server::encryption::{self, Certificate, Encryption, EncryptionError, ServerEncryption};
use server::password_file::{SaPassword, SettleError};
use server::sql::SqlBackend;
use server::{Server, ServerOptions, listener, password_file};
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// SQL Server's words, which programs wait for.
const READY: &str =
    "SQL Server is now ready for client connections. This is an informational message; no user action is required.";

/// Runs the subcommand.
///
/// The port comes first: if it is taken, nothing has changed. Then the instance, then the password, which is stored once it
/// was shown; a new folder stays when the server is ready, and not before.
pub fn serve(options: &ServeOptions) -> Result<(), Failure> {
    let console = Console::new(options.log_format);
    console.ended(serve_until_stopped(options, console))
}

fn serve_until_stopped(options: &ServeOptions, console: Console) -> Result<(), Failure> {
    let demand = demand(options)?;
    let given = given_certificate(options)?;
    check_given_password(options)?;
    let listener = listen(SocketAddr::new(options.bind, options.port), "--port")?;
    let asked = |address: Option<SocketAddr>, option| address.map(|address| listen(address, option)).transpose();
    let (metrics, web) = (asked(options.metrics, "--metrics")?, asked(options.web, "--web")?);
    let stopper = Stopper::new()?;
    let modelled = modelled(options)?;
    let env = match &modelled {
        Some(modelled) => instance::virtual_environment(modelled),
        None => instance::environment(),
    };
    env.errorlog.set_file_limits(file_limits(options));
    let metrics = Metrics::start(metrics, &env.activity)?;
    let page = LivePage::start(web, options, &env)?;
    let (notifier, untold) = Notifier::start(&env.activity);
    if let Some(reason) = untold {
        env.errorlog.write("Server", format!("Warning: {reason}."));
        console.warn(&reason);
    }
    if options.verbose || options.log_format.is_some() {
        console.print_errorlog(&env.errorlog);
    }
    let passwords = Arc::<PasswordChecker>::default();
    let (opened, password) = instance::open(choices(options, &modelled), env, |disk, folder| {
        settle_password(options, disk, folder, &passwords)
    })?;
    let instance = Arc::clone(&opened.instance);
    withhold(options, &instance);
    stopper.set_instance(&instance);
    notifier.set_instance(&instance);
    metrics.set_instance(&instance);
    page.set_instance(&instance);
    let begun = begin(
        console,
        listener,
        (demand, given),
        (&opened, password, passwords),
        &stopper,
        (&metrics, page.url()),
        &options.restore,
    );
    let mut server = begun.inspect_err(|_| {
        // The reason is printed already, and the next start undoes what this leaves.
        let _ = instance.shutdown(false);
    })?;
    opened.folder.keep();
    notifier.ready(server.local_address());
    if options.until_stdin_closes {
        stopper.watch_input(modelled.map(|modelled| modelled.time));
    }
    let nowait = stopper.stop(&mut server, &instance, || {
        metrics.stopping();
        notifier.stopping();
        page.end();
    });
    let stopped = instance.shutdown(nowait);
    if instance.must_stop() {
        let text = "the log of a system database has failed; the error log says why, the next start recovers";
        return Err(Failure::Failed(text.to_string()));
    }
    stopped.map_err(|error| Failure::Failed(error.message))
}

/// What the command line chooses of the instance.
fn choices(options: &ServeOptions, modelled: &Option<Modelled>) -> Choices {
    Choices {
        folder: options.data.clone(),
        version: options.sql_version,
        policy: options.log_policy,
        memory_mb: options.max_server_memory,
        instant_file_initialization: options.instant_file_initialization,
        allowed_paths: options
            .allow_path
            .iter()
            .cloned()
            .chain(restore::folders(&options.restore))
            .collect(),
        modelled: modelled.clone(),
        in_memory: options.in_memory,
    }
}

/// Keeps back what a test wants to be kept back.
fn withhold(options: &ServeOptions, instance: &Instance) {
    for (name, number) in &options.withhold {
        tsql::views::withhold(instance, name, *number);
    }
}

/// The modelled disk that was asked for.
fn modelled(options: &ServeOptions) -> Result<Option<Modelled>, Failure> {
    let Some(name) = &options.disk else { return Ok(None) };
    let disk = disks::load(name).map_err(|error| Failure::Usage(error.to_string()))?;
    Ok(Some(Modelled {
        figures: disk.ranges.at(Case::Typical),
        seed: options.disk_seed,
        time: Arc::new(VirtualTime::new(!options.without_processor_time)),
    }))
}

/// What the error log may take.
fn file_limits(options: &ServeOptions) -> FileLimits {
    FileLimits {
        bytes: u64::from(options.error_log_size) << 20,
        former: usize::from(options.error_log_files),
    }
}

/// Whether the password that is given may be one, before anything is changed.
fn check_given_password(options: &ServeOptions) -> Result<(), Failure> {
    let judged = options.sa_password.as_deref().map_or(Ok(()), credentials::check_policy);
    judged.map_err(|weak| Failure::Usage(format!("MSSQL_SA_PASSWORD or --sa-password: {weak}")))
}

/// The password of sa for this start. A folder that has one keeps it, unless a reset is asked for.
fn settle_password(
    options: &ServeOptions,
    disk: &dyn Disk,
    folder: &Path,
    passwords: &PasswordChecker,
) -> Result<SaPassword, Failure> {
    let given = options.sa_password.as_deref();
    let settled = password_file::settle(disk, folder, given, options.reset_sa_password, passwords);
    settled.map_err(|error| {
        let shown = folder.display();
        Failure::Failed(match error {
            SettleError::Failed(error) => error.to_string(),
            SettleError::Different => format!(
                "MSSQL_SA_PASSWORD or --sa-password differs from the password of sa that {shown} has; give that one or none, or \
                 add --reset-sa-password to replace it"
            ),
            SettleError::Empty => format!(
                "the password of sa that {shown} has is empty; add --reset-sa-password to have one made, and MSSQL_SA_PASSWORD to \
                 choose it"
            ),
        })
    })
}

/// From an open instance to a server that is ready and has said so.
fn begin(
    console: Console,
    listener: TcpListener,
    (demand, given): (ServerEncryption, Option<Certificate>),
    (opened, password, passwords): (&Opened, SaPassword, Arc<PasswordChecker>),
    stopper: &Stopper,
    (metrics, page): (&Metrics, Option<&str>),
    restores: &[PathBuf],
) -> Result<Server, Failure> {
    let instance = &opened.instance;
    let disk = instance.env.disk.as_ref();
    if let Some(made_up) = &password.made_up {
        console.show_password(made_up)?;
    }
    let record = password
        .store(disk, instance.folder())
        .map_err(|error| Failure::Failed(error.to_string()))?;
    let address = listener.local_addr()?;
    let (encryption, certificate) = encryption(demand, given, instance, address)?;
    let on_fatal = stopper.shutdown_hook();
    instance.on_fatal(move || on_fatal(true));
    restore::restore(instance, restores, console)?;
    let backend = SqlBackend::new(Arc::clone(instance), record, stopper.shutdown_hook());
    let server = ServerOptions {
        encryption,
        passwords,
        ..ServerOptions::new(address)
    };
    let server = Server::start_on(listener, server, Arc::new(backend))?;
    opened.warnings.iter().for_each(|warning| console.warn(warning));
    if !address.ip().is_loopback()
        && let Some(warning) = unencrypted(demand, address)
    {
        instance.env.errorlog.write("Server", format!("Warning: {warning}."));
        console.warn(&warning);
    }
    instance.env.errorlog.write("Server", READY);
    // Who has read the line asks the address that it names.
    metrics.ready();
    console.ready(&Ready {
        address: server.local_address(),
        host_name: &instance.options.server_name,
        metrics: metrics.address(),
        page,
        demand,
        certificate: certificate.as_ref(),
        manner: &opened.manner,
    })?;
    Ok(server)
}

/// What encrypts, and the certificate it does it by: the given one, or that of the folder. The error log tells as SQL Server's does.
fn encryption(
    demand: ServerEncryption,
    given: Option<Certificate>,
    instance: &Instance,
    address: SocketAddr,
) -> Result<(Encryption, Option<Certificate>), Failure> {
    if demand == ServerEncryption::Off {
        return Ok((Encryption::off(), None));
    }
    let failed = |error: EncryptionError| Failure::Failed(error.to_string());
    let is_given = given.is_some();
    let certificate = match given {
        Some(certificate) => certificate,
        None => {
            let names = [instance.options.server_name.clone(), "localhost".to_owned()];
            let now = instance.env.clock.unix_micros() / 1_000_000;
            let disk = instance.env.disk.as_ref();
            encryption::settle(disk, instance.folder(), &names, address.ip(), now).map_err(failed)?
        }
    };
    let encryption = Encryption::new(demand, &certificate).map_err(failed)?;
    let fingerprint = certificate.fingerprint();
    instance.env.errorlog.write(
        "Server",
        match is_given {
            true => {
                format!("The certificate [Cert Hash(sha256) \"{fingerprint}\"] was successfully loaded for encryption.")
            }
            false => "A self-generated certificate was successfully loaded for encryption.".to_owned(),
        },
    );
    Ok((encryption, Some(certificate)))
}

/// The certificate and key that the command line names.
fn given_certificate(options: &ServeOptions) -> Result<Option<Certificate>, Failure> {
    let (Some(chain), Some(key)) = (&options.certificate, &options.key) else {
        return Ok(None);
    };
    let shown = format!("--certificate {} --key {}", chain.display(), key.display());
    let unusable = |reason: &dyn std::fmt::Display| Failure::Usage(format!("{shown}: {reason}"));
    let certificate = Certificate::from_pem(&read_pem(chain)?, &read_pem(key)?).map_err(|error| unusable(&error))?;
    // Whether they fit each other is found out before anything is changed.
    Encryption::new(ServerEncryption::On, &certificate).map_err(|error| unusable(&error))?;
    Ok(Some(certificate))
}

fn read_pem(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut contents = Vec::new();
    let read = File::open(path).and_then(|file| file.take(encryption::FILE_BYTES_MAX).read_to_end(&mut contents));
    read.map_err(|error| Failure::Usage(format!("{}: {error}", path.display())))?;
    Ok(contents)
}

/// What is left readable, by a demand that leaves something.
fn unencrypted(demand: ServerEncryption, address: SocketAddr) -> Option<String> {
    match demand {
        ServerEncryption::Required | ServerEncryption::Strict => None,
        ServerEncryption::On => Some(format!(
            "clients that do not ask for encryption connect to {address} without it: data, and passwords of some, can be read on the way"
        )),
        ServerEncryption::Off => Some(format!(
            "connections to {address} are not encrypted: passwords and data can be read on the way"
        )),
    }
}

/// What is demanded of clients. Where others can connect, what leaves something readable has to be asked for twice.
fn demand(options: &ServeOptions) -> Result<ServerEncryption, Failure> {
    let is_private = options.bind.is_loopback() || options.allow_unencrypted;
    let demand = match options.encrypt {
        Some(EncryptDemand::Required) => ServerEncryption::Required,
        Some(EncryptDemand::On) => ServerEncryption::On,
        Some(EncryptDemand::Strict) => ServerEncryption::Strict,
        Some(EncryptDemand::Off) => ServerEncryption::Off,
        None if is_private => ServerEncryption::On,
        None => ServerEncryption::Required,
    };
    match unencrypted(demand, SocketAddr::new(options.bind, options.port)) {
        Some(warning) if !is_private => Err(Failure::Usage(format!(
            "{warning}; add --allow-unencrypted where that is acceptable, or say --encrypt required"
        ))),
        _ => Ok(demand),
    }
}

/// Listens on an address that `option` can change.
fn listen(address: SocketAddr, option: &str) -> Result<TcpListener, Failure> {
    listener::bind(address).map_err(|error| cannot_listen(address, option, &error))
}

fn cannot_listen(address: SocketAddr, option: &str, error: &io::Error) -> Failure {
    let remedy = match error.kind() {
        ErrorKind::AddrInUse => format!("; another server is there, choose another port with {option}"),
        ErrorKind::PermissionDenied => format!("; ports below 1024 need privileges, choose another with {option}"),
        ErrorKind::AddrNotAvailable => "; this machine does not have that address".to_owned(),
        _ => String::new(),
    };
    Failure::Failed(format!("cannot listen on {address}: {error}{remedy}"))
}
