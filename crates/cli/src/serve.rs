//! `vlflab serve`: the instance behind the protocol, until SIGTERM, SIGINT or SHUTDOWN.

use crate::arguments::ServeOptions;
use crate::exit::Failure;
use crate::instance::{self, Choices};
use crate::stopping::Stopper;
use server::sql::SqlBackend;
use server::{Server, ServerOptions, password_file};
use std::io::{self, ErrorKind, Write};
use std::net::SocketAddr;
use std::sync::Arc;

/// Build number clients see behind the version, as of a release without updates.
const BUILD: u16 = 1000;

/// Runs the subcommand.
pub fn serve(options: &ServeOptions) -> Result<(), Failure> {
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
    };
    let instance = instance::open(choices, env)?;
    stopper.set_instance(&instance);
    let disk = instance.env.disk.as_ref();
    let password = password_file::settle(disk, instance.folder(), options.sa_password.as_deref())
        .map_err(|error| Failure::Failed(error.to_string()))?;
    if let Some(made_up) = &password.made_up {
        writeln!(io::stdout(), "password of sa, shown only now: {made_up}")?;
    }
    let backend = Arc::new(SqlBackend::new(
        Arc::clone(&instance),
        BUILD,
        password.record,
        stopper.shutdown_hook(),
    ));
    let address = SocketAddr::new(options.bind, options.port);
    let mut server =
        Server::start(ServerOptions::new(address), backend).map_err(|error| cannot_listen(address, &error))?;
    announce(server.local_address())?;
    if options.until_stdin_closes {
        stopper.watch_input();
    }
    let nowait = stopper.stop(&mut server, &instance);
    instance
        .shutdown(nowait)
        .map_err(|error| Failure::Failed(error.message))
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
