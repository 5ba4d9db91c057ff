//! `vlflab watch`: the logs of a server live, read as `vlflab advise` reads them.

use crate::exit::Failure;
use crate::reach::ReachOptions;
use crate::web::hub::Hub;
use crate::web::server_source::ServerSource;
use crate::web::{Web, own_address};
use clap::Args;
use lab::collect::Watch;
use server::listener;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Shown under `vlflab watch --help`.
pub const WATCH_EXAMPLES: &str = "Examples:
  MSSQL_PASSWORD=... vlflab watch -S db1 -U reader
  vlflab watch -S db1 --interval 10 --record friday.html --seconds 3600

Prints the address of a page, which is for this machine only. Only reads, with the rights and the queries of vlflab advise. What it tells is
the difference of two readings, said with both times. Ctrl-C ends it.";

/// Options of `vlflab watch`.
#[derive(Debug, Args)]
pub struct WatchOptions {
    #[command(flatten)]
    pub reach: ReachOptions,
    /// Port of this machine for the page; 0 picks a free one.
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = own_address, default_value = "0")]
    pub web: SocketAddr,
    /// Seconds between two readings.
    #[arg(long, value_name = "SECONDS", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..))]
    pub interval: u16,
    /// Write what was watched as one HTML file that plays without a server; names of logins, hosts and programs are in it.
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// End after so many seconds instead of by Ctrl-C.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..))]
    pub seconds: Option<u32>,
}

/// Runs `vlflab watch`.
pub fn watch(options: &WatchOptions) -> Result<(), Failure> {
    let Some(server) = &options.reach.server else {
        return Err(Failure::Usage("which server? Write -S HOST[,PORT]".to_owned()));
    };
    let listener = listener::bind(options.web)
        .map_err(|error| Failure::Failed(format!("cannot listen on {}: {error}", options.web)))?;
    let watch = Watch::new(options.reach.target_of(server)?, options.reach.query_limit());
    let interval = Duration::from_secs(options.interval.into());
    let (source, stand) = ServerSource::begin(watch, interval.as_millis() as u64)?;
    let ended = ended_by_signal()?;
    let hub = Hub::start(stand, Box::new(source), interval, options.record.is_some())?;
    let web = Web::start(listener, hub, None)?;
    let mut out = std::io::stdout();
    writeln!(out, "live page {}", web.url)?;
    out.flush()?;
    // Both ends of the wait are ends of the watch: a signal, or the time that was given.
    let _ = match options.seconds {
        Some(seconds) => ended.recv_timeout(Duration::from_secs(seconds.into())).is_ok(),
        None => ended.recv().is_ok(),
    };
    web.hub.end();
    if let (Some(path), Some(recording)) = (&options.record, web.hub.take_recording()) {
        std::fs::write(path, recording.to_html())
            .map_err(|error| Failure::Failed(format!("{}: {error}", path.display())))?;
        writeln!(out, "recorded {}", path.display())?;
    }
    Ok(())
}

/// Tells when the first signal to end comes. The second one ends the process.
fn ended_by_signal() -> Result<mpsc::Receiver<()>, Failure> {
    const INTERRUPTED: i32 = 130;
    let (tell, told) = mpsc::channel();
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    thread::Builder::new().name("signals".into()).spawn(move || {
        for (index, _) in signals.forever().enumerate() {
            // Nobody waits once the time was over: the process is about to end.
            let is_heard = tell.send(()).is_ok();
            if index > 0 || !is_heard {
                std::process::exit(INTERRUPTED);
            }
        }
    })?;
    Ok(told)
}
