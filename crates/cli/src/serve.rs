//! `vlflab serve`: the instance behind the protocol, until SIGTERM, SIGINT or SHUTDOWN.

use crate::arguments::ServeOptions;
use crate::exit::Failure;
use crate::instance::{self, Choices};
use server::sql::SqlBackend;
use server::{Server, ServerOptions, password_file};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

/// Build number clients see behind the version, as of a release without updates.
const BUILD: u16 = 1000;
/// Running requests may finish for so long once the server is to stop.
const STOP_GRACE: Duration = Duration::from_secs(5);
/// SHUTDOWN's own session still gets its answer before its connection is closed.
const ANSWER_GRACE: Duration = Duration::from_millis(200);

/// Why the server is to stop.
enum Stop {
    /// A signal, or standard input was closed.
    Asked,
    /// SHUTDOWN; true with NOWAIT.
    Shutdown(bool),
}

/// Runs the subcommand.
pub fn serve(options: &ServeOptions) -> Result<(), Failure> {
    let (stop_sender, stop) = mpsc::channel();
    watch_signals(&stop_sender)?;
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
    let instance = instance::open(choices, env)?;
    let disk = instance.env.disk.as_ref();
    let password = password_file::settle(disk, instance.folder(), options.sa_password.as_deref())
        .map_err(|error| Failure::Failed(error.to_string()))?;
    if let Some(made_up) = &password.made_up {
        writeln!(io::stdout(), "password of sa, shown only now: {made_up}")?;
    }
    let hook_sender = stop_sender.clone();
    let on_shutdown = Arc::new(move |nowait| {
        // Nobody receives once another reason has stopped the server.
        let _ = hook_sender.send(Stop::Shutdown(nowait));
    });
    let backend = Arc::new(SqlBackend::new(
        Arc::clone(&instance),
        BUILD,
        password.record,
        on_shutdown,
    ));
    let address = SocketAddr::new(options.bind, options.port);
    let mut server =
        Server::start(ServerOptions::new(address), backend).map_err(|error| cannot_listen(address, &error))?;
    announce(server.local_address())?;
    if options.until_stdin_closes {
        watch_stdin(stop_sender);
    }
    let nowait = wait(&stop);
    server.stop(if nowait { ANSWER_GRACE } else { STOP_GRACE });
    instance
        .shutdown(nowait)
        .map_err(|error| Failure::Failed(error.message))
}

/// Waits for a reason to stop; true when nothing more may be written.
fn wait(stop: &Receiver<Stop>) -> bool {
    match stop.recv() {
        Ok(Stop::Shutdown(nowait)) => nowait,
        Ok(Stop::Asked) | Err(_) => false,
    }
}

/// The one line that programs wait for, and people copy from.
fn announce(address: SocketAddr) -> io::Result<()> {
    let (host, port) = (address.ip(), address.port());
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "ready: Server={host},{port};User Id=sa;Encrypt=false   (sqlcmd -S {host},{port} -U sa)"
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

/// The first signal stops the server, the second one ends the process as it stands.
fn watch_signals(stop: &Sender<Stop>) -> io::Result<()> {
    const INTERRUPTED: i32 = 130;
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    let stop = stop.clone();
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        for (index, _) in signals.forever().enumerate() {
            if index > 0 || stop.send(Stop::Asked).is_err() {
                std::process::exit(INTERRUPTED);
            }
        }
    })?;
    Ok(())
}

fn watch_stdin(stop: Sender<Stop>) {
    std::thread::spawn(move || {
        let mut ignored = [0; 256];
        while matches!(io::stdin().read(&mut ignored), Ok(read) if read > 0) {}
        // Nobody receives once another reason has stopped the server.
        let _ = stop.send(Stop::Asked);
    });
}
