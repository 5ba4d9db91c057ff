//! `vlflab serve`: the instance behind the protocol, until SIGTERM, SIGINT or SHUTDOWN.

use crate::arguments::ServeOptions;
use crate::exit::Failure;
use crate::instance::{self, Choices, Opened};
use crate::stopping::Stopper;
use server::credentials::CredentialError;
use server::sql::SqlBackend;
use server::{Server, ServerOptions, password_file};
use std::io::{self, ErrorKind, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

/// Build number clients see behind the version, as of a release without updates.
const BUILD: u16 = 1000;

/// Runs the subcommand.
///
/// The port comes first: whoever cannot have it has changed nothing. Then the instance, then the password, which is stored once it
/// was shown; a new folder stays when the server is ready, and not before.
pub fn serve(options: &ServeOptions) -> Result<(), Failure> {
    refuse_to_be_overheard(options)?;
    let listener = listen(SocketAddr::new(options.bind, options.port))?;
    let stopper = Stopper::new()?;
    let env = instance::environment();
    if options.verbose {
        env.errorlog.add_sink(Box::new(|line| {
            // A console that is gone is no reason to stop serving.
            let _ = writeln!(io::stdout(), "{}", line.file_text());
        }));
    }
    let choices = Choices {
        folder: options.data.clone(),
        version: options.sql_version,
        policy: options.log_policy,
        memory_mb: options.max_server_memory,
        instant_file_initialization: options.instant_file_initialization,
        allowed_paths: options.allow_path.clone(),
    };
    let opened = instance::open(choices, env)?;
    let instance = Arc::clone(&opened.instance);
    stopper.set_instance(&instance);
    let begun = begin(options, listener, &opened, &stopper);
    let mut server = begun.inspect_err(|_| {
        // The reason is told already, and what this could fail of is undone by the next start.
        let _ = instance.shutdown(false);
    })?;
    opened.folder.keep();
    if options.until_stdin_closes {
        stopper.watch_input();
    }
    let nowait = stopper.stop(&mut server, &instance);
    let stopped = instance.shutdown(nowait);
    if instance.must_stop() {
        let text = "the log of a system database has failed; the error log says why, the next start recovers";
        return Err(Failure::Failed(text.to_string()));
    }
    stopped.map_err(|error| Failure::Failed(error.message))
}

/// From an open instance to a server that is ready and has said so.
fn begin(options: &ServeOptions, listener: TcpListener, opened: &Opened, stopper: &Stopper) -> Result<Server, Failure> {
    let instance = &opened.instance;
    let disk = instance.env.disk.as_ref();
    let failed = |error: CredentialError| Failure::Failed(error.to_string());
    let password = password_file::settle(disk, instance.folder(), options.sa_password.as_deref()).map_err(failed)?;
    if let Some(made_up) = &password.made_up {
        show_password(made_up)?;
    }
    let record = password.store(disk, instance.folder()).map_err(failed)?;
    let on_fatal = stopper.shutdown_hook();
    instance.on_fatal(move || on_fatal(true));
    let backend = SqlBackend::new(Arc::clone(instance), BUILD, record, stopper.shutdown_hook());
    let backend = Arc::new(backend);
    let address = listener.local_addr()?;
    let server = Server::start_on(listener, ServerOptions::new(address), backend)?;
    opened
        .warnings
        .iter()
        .for_each(|warning| eprintln!("warning: {warning}"));
    if !address.ip().is_loopback() {
        let warning = unencrypted(address);
        instance.env.errorlog.write("Server", format!("Warning: {warning}."));
        eprintln!("warning: {warning}");
    }
    announce(server.local_address(), &opened.manner).map_err(|error| cannot_tell("that it is ready", &error))?;
    Ok(server)
}

fn unencrypted(address: SocketAddr) -> String {
    format!("connections to {address} are not encrypted: passwords and data travel readable for whoever listens")
}

/// An address that others can reach has to be asked for twice, for as long as there is no encryption.
fn refuse_to_be_overheard(options: &ServeOptions) -> Result<(), Failure> {
    if options.bind.is_loopback() || options.allow_unencrypted {
        return Ok(());
    }
    let warning = unencrypted(SocketAddr::new(options.bind, options.port));
    Err(Failure::Usage(format!(
        "{warning}; add --allow-unencrypted where that is acceptable, or serve on 127.0.0.1 and let others in by a tunnel (ssh -L)"
    )))
}

fn listen(address: SocketAddr) -> Result<TcpListener, Failure> {
    TcpListener::bind(address).map_err(|error| cannot_listen(address, &error))
}

/// Shows the password that was made up, before it counts.
fn show_password(made_up: &str) -> Result<(), Failure> {
    let remedy = "; give one by MSSQL_SA_PASSWORD or --sa-password";
    if is_null_device(io::stdout().as_fd()) {
        let text = "a password of sa would be made up, and standard output, where it is shown, is closed or /dev/null";
        return Err(Failure::Failed(format!("{text}{remedy}")));
    }
    let mut out = io::stdout().lock();
    let shown = writeln!(out, "password of sa, shown only now: {made_up}").and_then(|()| out.flush());
    shown.map_err(|error| cannot_tell(&format!("the password that was made up{remedy}"), &error))
}

/// A standard output that was closed is the null device by the time a Rust program begins.
fn is_null_device(file: BorrowedFd<'_>) -> bool {
    let same = |file: rustix::fs::Stat, null: rustix::fs::Stat| file.st_rdev == null.st_rdev && file.st_rdev != 0;
    match (rustix::fs::fstat(file), rustix::fs::stat("/dev/null")) {
        (Ok(file), Ok(null)) => same(file, null),
        _ => false,
    }
}

fn cannot_tell(what: &str, error: &io::Error) -> Failure {
    Failure::Failed(format!("standard output does not take {what}: {error}"))
}

/// The one line that programs wait for, and people copy from.
fn announce(address: SocketAddr, manner: &str) -> io::Result<()> {
    let (host, port) = (address.ip(), address.port());
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "ready: Server={host},{port};User Id=sa;Encrypt=false   (sqlcmd -S {host},{port} -U sa), speaking as {manner}"
    )?;
    out.flush()
}

fn cannot_listen(address: SocketAddr, error: &io::Error) -> Failure {
    let remedy = match error.kind() {
        ErrorKind::AddrInUse => "; another server is there, choose another port with --port",
        ErrorKind::PermissionDenied => "; ports below 1024 need privileges, choose another with --port",
        _ => "",
    };
    Failure::Failed(format!("cannot listen on {address}: {error}{remedy}"))
}
