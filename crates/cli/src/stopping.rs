//! How `serve` ends.
//!
//! | requested by | sessions | the rest |
//! |---|---|---|
//! | a signal | have a moment to finish, then are stopped | the process ends within 2 s: it writes pages as long as there is time, and the next startup recovers the rest |
//! | a second signal | | the process ends at once |
//! | SHUTDOWN | finish by themselves; a signal stops them | checkpoints; a signal cuts them short |
//! | SHUTDOWN WITH NOWAIT | stopped | nothing is written; within 2 s |
//! | standard input closed | have [`STOP_GRACE`] to finish, then are stopped | checkpoints |

use disk::modelled::{TimeParts, VirtualTime};
use engine::instance::Instance;
use lab::server_process::CLOCK_MARK;
use server::Server;
use signal_hook::consts::{SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;
use std::io::{self, Read, Write};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

/// Running requests may finish for so long once standard input is closed.
const STOP_GRACE: Duration = Duration::from_secs(5);
/// After a signal they may for so long; also, SHUTDOWN's own session still gets its answer before its connection is closed.
const MOMENT: Duration = Duration::from_millis(200);
/// From then on pages may be written for so long.
const WRITE_MAX: Duration = Duration::from_millis(1_100);
/// And then the process ends whatever is still going on.
const END_AFTER_WRITING: Duration = Duration::from_millis(400);
/// How long sessions may take to see that they are stopped.
const ABANDONED_MAX: Duration = Duration::from_millis(500);
/// How often a wait without end looks for a signal.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Exit status of a process that was interrupted before it had anything to finish.
const INTERRUPTED: i32 = 130;

/// Why the server is to stop.
enum Stop {
    Signal,
    InputClosed,
    /// SHUTDOWN; true with NOWAIT.
    Shutdown(bool),
}

/// Waits for reasons to stop.
pub struct Stopper {
    sender: Sender<Stop>,
    receiver: Receiver<Stop>,
    instance: Arc<OnceLock<Arc<Instance>>>,
}

impl Stopper {
    /// Listens to signals from now on. Until there is an instance, one ends the process: recovery can be cut off anywhere.
    pub fn new() -> io::Result<Stopper> {
        let (sender, receiver) = mpsc::channel();
        let instance: Arc<OnceLock<Arc<Instance>>> = Arc::default();
        // A file that may not grow further (ulimit -f) is an error of the write, not the end of the process.
        signal_hook::flag::register(SIGXFSZ, Arc::default())?;
        let mut signals = Signals::new([SIGINT, SIGTERM])?;
        let (told, open) = (sender.clone(), Arc::clone(&instance));
        thread::Builder::new().name("signals".into()).spawn(move || {
            for (index, _) in signals.forever().enumerate() {
                match open.get() {
                    // Nobody receives when another reason stops the server already; the time is running all the same.
                    Some(instance) if index == 0 => {
                        end_in_time(instance);
                        let _ = told.send(Stop::Signal);
                    }
                    _ => std::process::exit(INTERRUPTED),
                }
            }
        })?;
        Ok(Stopper {
            sender,
            receiver,
            instance,
        })
    }

    /// From now on a signal stops `instance` in good order.
    pub fn set_instance(&self, instance: &Arc<Instance>) {
        // Set once.
        let _ = self.instance.set(Arc::clone(instance));
    }

    /// What SHUTDOWN calls; true with NOWAIT.
    pub fn shutdown_hook(&self) -> server::sql::ShutdownHook {
        let sender = self.sender.clone();
        Arc::new(move |nowait| {
            // Nobody receives once another reason has stopped the server.
            let _ = sender.send(Stop::Shutdown(nowait));
        })
    }

    /// The end of standard input stops the server as well. Where there is a virtual time, each byte that is read asks for it.
    pub fn watch_input(&self, time: Option<Arc<VirtualTime>>) {
        let sender = self.sender.clone();
        thread::spawn(move || {
            let mut asked = [0; 1];
            while matches!(io::stdin().read(&mut asked), Ok(read) if read > 0) {
                if let Some(time) = &time {
                    let TimeParts {
                        device_ns,
                        processor_ns,
                    } = time.counted();
                    // A caller that asked and does not listen is about to end this process.
                    let _ = writeln!(io::stdout(), "{CLOCK_MARK}{device_ns} {processor_ns}");
                }
            }
            // Nobody receives once another reason has stopped the server.
            let _ = sender.send(Stop::InputClosed);
        });
    }

    /// Waits for a reason, says that there is one and ends what the server does; true when nothing more may be written.
    pub fn stop(&self, server: &mut Server, instance: &Arc<Instance>, say: impl FnOnce()) -> bool {
        let reason = self.receiver.recv();
        say();
        match reason {
            Ok(Stop::InputClosed) | Err(_) => {
                server.stop(STOP_GRACE);
                false
            }
            Ok(Stop::Signal | Stop::Shutdown(false)) => {
                server.begin_stop();
                while !server.wait_until_ended(LOOK_EVERY) {
                    if instance.is_stopping() {
                        server.abandon(ABANDONED_MAX);
                        break;
                    }
                }
                false
            }
            Ok(Stop::Shutdown(true)) => {
                server.begin_stop();
                end_in_time(instance);
                server.wait_until_ended(MOMENT);
                server.abandon(ABANDONED_MAX);
                true
            }
        }
    }
}

/// Has everything that runs stop in a moment, and the process end soon after that, come what may: a disk that hangs must not
/// keep it.
fn end_in_time(instance: &Arc<Instance>) {
    let instance = Arc::clone(instance);
    let end = move || {
        thread::sleep(MOMENT);
        let now = instance.env.clock.now_micros();
        instance.stop_work(now + WRITE_MAX.as_micros() as u64);
        thread::sleep(WRITE_MAX);
        let errorlog = instance.env.errorlog.clone();
        thread::spawn(move || {
            let text =
                "The server ends now. What was not finished in the time that was left is recovered at the next start.";
            errorlog.write("Server", text);
        });
        thread::sleep(END_AFTER_WRITING);
        std::process::exit(0);
    };
    if thread::Builder::new().name("end in time".into()).spawn(end).is_err() {
        // Without a thread the deadline cannot be kept.
        std::process::exit(INTERRUPTED);
    }
}
