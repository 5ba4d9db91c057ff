//! `vlflab serve --metrics`: the pages of a running server for a monitoring system, over HTTP/1.1 ([`crate::http`]).
//!
//! | path | 200 | 503 |
//! |---|---|---|
//! | `/metrics` | the page of [`super::exposition`] | |
//! | `/healthz` | the process answers | |
//! | `/readyz` | the server accepts connections; a line for each database that is not recovered | it starts, with the progress of each recovery, or it stops |
//!
//! It answers even before the first database is opened. Any other path is 404.
//!
//! There is no login: anyone who can reach the port can read names of databases and counts, but no rows or statements. A request takes no
//! lock that a waiting statement holds.

use super::exposition;
use super::recovery::unrecovered;
use crate::http::{self, Answer, Reply, Request, Site};
use engine::activity::Activity;
use engine::instance::Instance;
use std::fmt::Write as _;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Where the server is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Starting,
    Serving,
    Stopping,
}

struct Life {
    activity: Arc<Activity>,
    instance: OnceLock<Arc<Instance>>,
    stage: Mutex<Stage>,
}

/// Answers, if it was asked for.
pub struct Metrics(Option<(SocketAddr, Arc<Life>)>);

impl Metrics {
    /// Answers from now on where `listener` listens.
    ///
    /// # Errors
    /// No thread could be started for it.
    pub fn start(listener: Option<TcpListener>, activity: &Arc<Activity>) -> io::Result<Metrics> {
        let Some(listener) = listener else {
            return Ok(Metrics(None));
        };
        let address = listener.local_addr()?;
        let life = Arc::new(Life {
            activity: Arc::clone(activity),
            instance: OnceLock::new(),
            stage: Mutex::new(Stage::Starting),
        });
        http::start(listener, "metrics", Arc::clone(&life) as Arc<dyn Site>)?;
        Ok(Metrics(Some((address, life))))
    }

    pub fn address(&self) -> Option<SocketAddr> {
        self.0.as_ref().map(|(address, _)| *address)
    }

    /// From now on its databases can be asked for.
    pub fn set_instance(&self, instance: &Arc<Instance>) {
        if let Some((_, life)) = &self.0 {
            // Set once.
            let _ = life.instance.set(Arc::clone(instance));
        }
    }

    /// The server takes connections.
    pub fn ready(&self) {
        self.enter(Stage::Serving);
    }

    /// The server has a reason to stop.
    pub fn stopping(&self) {
        self.enter(Stage::Stopping);
    }

    fn enter(&self, stage: Stage) {
        if let Some((_, life)) = &self.0 {
            *life.stage.lock().unwrap_or_else(PoisonError::into_inner) = stage;
        }
    }
}

impl Site for Life {
    fn reply(&self, request: &Request<'_>) -> Reply {
        Reply::Whole(match request.path {
            "/metrics" => Answer {
                kind: exposition::KIND,
                ..Answer::text(
                    200,
                    exposition::page(&self.activity, self.instance.get().map(Arc::as_ref)),
                )
            },
            "/healthz" => Answer::text(200, "healthy\n"),
            "/readyz" => readiness(self),
            "/" => Answer::text(200, "/metrics /healthz /readyz\n"),
            _ => Answer::text(404, "there are /metrics, /healthz and /readyz\n"),
        })
    }
}

/// Whether clients are taken, and what is not recovered.
fn readiness(life: &Life) -> Answer {
    let stage = *life.stage.lock().unwrap_or_else(PoisonError::into_inner);
    let (status, mut body) = match stage {
        Stage::Starting => (503, "starting\n".to_owned()),
        Stage::Serving => (200, "ready\n".to_owned()),
        Stage::Stopping => (503, "stopping\n".to_owned()),
    };
    for each in unrecovered(&life.activity, life.instance.get().map(Arc::as_ref)) {
        // A String takes whatever is written.
        let _ = writeln!(body, "{each}");
    }
    Answer::text(status, body)
}
