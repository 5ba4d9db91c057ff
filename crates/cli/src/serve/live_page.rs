//! `vlflab serve --web`: the live page of this server's logs ([`crate::web`]).

use crate::arguments::ServeOptions;
use crate::web::Web;
use crate::web::engine_source::{EngineSource, INTERVAL, greeting};
use crate::web::hub::Hub;
use crate::web::inside::Looking;
use advisor::live::{Greeting, Stand};
use engine::instance::Instance;
use engine::seams::Environment;
use std::io;
use std::net::TcpListener;
use std::sync::{Arc, OnceLock};

/// The page while the server runs, if it was asked for; it is there before the first database is opened.
pub struct LivePage(Option<Shown>);

struct Shown {
    web: Web,
    instance: Arc<OnceLock<Arc<Instance>>>,
}

impl LivePage {
    /// Answers from now on where `listener` listens.
    ///
    /// # Errors
    /// No thread could be started for it.
    pub fn start(listener: Option<TcpListener>, options: &ServeOptions, env: &Environment) -> io::Result<LivePage> {
        let Some(listener) = listener else {
            return Ok(LivePage(None));
        };
        let instance: Arc<OnceLock<Arc<Instance>>> = Arc::default();
        let (activity, clock) = (Arc::clone(&env.activity), Arc::clone(&env.clock));
        let source = EngineSource::new(activity, clock, Arc::clone(&instance));
        let folder = options.data.display();
        let stand = Stand {
            at: env.clock.unix_micros(),
            greeting: Greeting {
                looks_inside: true,
                ..greeting(format!("Logs of {folder}"), options.disk.is_some())
            },
            ..Stand::default()
        };
        let hub = Hub::start(stand, Box::new(source), INTERVAL, false)?;
        let web = Web::start(listener, hub, Some(Looking::new(Arc::clone(&instance))))?;
        Ok(LivePage(Some(Shown { web, instance })))
    }

    /// Where it is, with its token.
    pub fn url(&self) -> Option<&str> {
        self.0.as_ref().map(|shown| shown.web.url.as_str())
    }

    /// From now on its databases are shown.
    pub fn set_instance(&self, instance: &Arc<Instance>) {
        if let Some(shown) = &self.0 {
            // Set once.
            let _ = shown.instance.set(Arc::clone(instance));
        }
    }

    /// The server stops, and pages hear of it.
    pub fn end(&self) {
        if let Some(shown) = &self.0 {
            shown.web.hub.end();
        }
    }
}
