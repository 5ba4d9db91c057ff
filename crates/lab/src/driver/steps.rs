//! One run of one configuration: its server, its connections, and the steps.

mod clients;
mod log;
mod stopwatch;
mod target;
mod waits;

use self::log::LogWatcher;
use self::stopwatch::Elapsed;
use super::{LabError, Ledger, Observer, Place, RunOptions, is_stopped};
use crate::client::{ClientError, Connection, Event, Security, ServerMessage, Target};
use crate::error_log::{self, RecoveryPhases};
use crate::experiment::{Experiment, Step};
use crate::plan::{self, Setup};
use crate::recording::LogRecording;
use crate::results::{ConfigurationResults, GrowthEvent};
use crate::server_process::{ERROR_LOG, Launch, ServerProcess, StartError};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use syntax::batches;

/// For a login at the server that a run has started itself: it is there, and answers even when the machine has much else to do.
const OWN_SERVER_TIMEOUT: Duration = Duration::from_secs(120);
/// Between two looks at a server that is still recovering.
const RETRY_INTERVAL: Duration = Duration::from_millis(2);
/// After the first query was answered, undo may still be going on.
const UNDO_TIMEOUT: Duration = Duration::from_secs(600);
/// For an orderly end: the checkpoint of everything in memory.
const STOP_TIMEOUT: Duration = Duration::from_secs(600);
const MAIN: &str = "main";
/// Measurements of a recovery, in the order of its phases; the last is all of them.
const PHASES: [&str; 5] = ["discovery_s", "analysis_s", "redo_s", "undo_s", "recovery_s"];

pub(super) struct OneRun<'a> {
    experiment: &'a Experiment,
    setup: &'a Setup,
    options: &'a RunOptions,
    data: PathBuf,
    password: String,
    place: Place,
    server: Option<ServerProcess>,
    /// On a server that is not ours: whether the database there is of this run's making.
    owns_database: bool,
    connections: HashMap<String, Connection>,
    /// What this run measured so far.
    values: BTreeMap<String, f64>,
    recording: Option<LogRecording>,
}

impl<'a> OneRun<'a> {
    pub(super) fn new(
        experiment: &'a Experiment,
        setup: &'a Setup,
        options: &'a RunOptions,
        data: &Path,
        place: Place,
    ) -> OneRun<'a> {
        let is_recorded = options.records && options.target.is_none() && place.run == 1;
        OneRun {
            recording: is_recorded.then(|| LogRecording::new(format!("{}: {}", experiment.name, setup.name))),
            experiment,
            setup,
            options,
            data: data.to_path_buf(),
            password: random_password(),
            place,
            server: None,
            owns_database: false,
            connections: HashMap::new(),
            values: BTreeMap::new(),
        }
    }

    /// Runs every step; what it finds goes to the ledger, saved after each step.
    pub(super) fn run(mut self, ledger: &mut Ledger<'_>, observer: &mut dyn Observer) -> Result<(), LabError> {
        let outcome = self.run_steps(ledger, observer);
        let cleaned_up = self.clean_up_target();
        outcome.and(cleaned_up).and(self.write_recording(ledger))
    }

    fn write_recording(&mut self, ledger: &mut Ledger<'_>) -> Result<(), LabError> {
        let Some(recording) = self.recording.take().and_then(LogRecording::finish) else {
            return Ok(());
        };
        let name = recording_name(&self.experiment.name, &self.setup.name);
        let path = self.options.out.join(&name);
        std::fs::write(&path, recording.to_html()).map_err(|error| LabError::Io(path, error))?;
        if let Some(found) = ledger.configuration(self.place.configuration) {
            found.recording = Some(name);
        }
        ledger.save()
    }

    /// What the server tells of its logs is recorded from now on, if that was asked for.
    fn record(&mut self) -> Result<(), LabError> {
        let page = self.server.as_ref().and_then(ServerProcess::page);
        match (&mut self.recording, page) {
            (Some(recording), Some(page)) => recording
                .listen(page)
                .map_err(|error| LabError::Unexpected(format!("the logs cannot be recorded: {error}"))),
            _ => Ok(()),
        }
    }

    /// Before the server ends.
    fn catch_up(&mut self) {
        if let Some(recording) = &mut self.recording {
            recording.catch_up();
        }
    }

    fn run_steps(&mut self, ledger: &mut Ledger<'_>, observer: &mut dyn Observer) -> Result<(), LabError> {
        let steps: Vec<&Step> = self
            .experiment
            .step
            .iter()
            .filter(|step| step.is_for(&self.setup.base))
            .collect();
        if let Some(found) = ledger.configuration(self.place.configuration) {
            found.growth_events.clear();
        }
        let mut was_started = false;
        let weights: u64 = steps.iter().map(|step| step.weight()).sum();
        let mut weights_before = 0;
        for step in steps {
            if is_stopped(self.options) {
                return Err(LabError::Interrupted);
            }
            observer.step(&self.setup.name, self.place.run, step.label());
            if !was_started && !matches!(step, Step::Sample { .. }) {
                self.begin()?;
                was_started = true;
            }
            if let Some(recording) = &self.recording {
                recording.say(&format!("Step: {}.", step.label()));
            }
            let units_at = |weight: u64| self.place.units_before + self.place.units * weight / weights;
            let from = units_at(weights_before);
            weights_before += step.weight();
            let to = units_at(weights_before);
            let Some(found) = ledger.configuration(self.place.configuration) else {
                break;
            };
            self.step(step, found, &mut |fraction| {
                observer.advance(from + ((to - from) as f64 * fraction) as u64);
            })?;
            observer.advance(to);
            ledger.save()?;
        }
        if let Some(found) = ledger.configuration(self.place.configuration) {
            self.derive(found);
        }
        ledger.save()
    }

    fn begin(&mut self) -> Result<(), LabError> {
        if self.options.target.is_some() {
            return self.begin_on_target();
        }
        self.server = Some(self.start_server()?);
        self.record()
    }

    /// Reckons the measurements that follow from those of this run.
    fn derive(&mut self, found: &mut ConfigurationResults) {
        for each in &self.experiment.derived {
            let total = |names: &[String]| -> Option<f64> { names.iter().map(|name| self.values.get(name)).sum() };
            if let (Some(sum), Some(less)) = (total(&each.sum), total(&each.less)) {
                self.measure(found, &each.measure, sum - less);
            }
        }
    }

    fn step(
        &mut self,
        step: &Step,
        found: &mut ConfigurationResults,
        progress: &mut dyn FnMut(f64),
    ) -> Result<(), LabError> {
        match step {
            Step::Sql { .. } => self.sql(step, found, progress),
            Step::Query {
                label, sql, measure, ..
            } => {
                let value = self.number(label, sql)?;
                self.measure(found, measure, value);
                Ok(())
            }
            Step::GrowLog { measure } => self.grow_log(found, measure.as_deref(), progress),
            Step::Clients { .. } => self.clients(step, found),
            Step::ClearWaits {} => self.clear_waits(),
            Step::ReadWaits {} => self.read_waits(found),
            Step::CountVlfs {} => self.count_vlfs(found),
            Step::Sample { name, arguments, .. } => self.sample(name, arguments),
            Step::Kill {} | Step::Stop {} if self.options.target.is_some() => Ok(()),
            Step::Kill {} => self.kill(),
            Step::Stop {} => self.stop(),
            Step::Restart {} if self.options.target.is_some() => self.restart_on_target(found),
            Step::Restart {} => self.restart(found),
            Step::Check { label, sql, equals, .. } => self.check(found, label, sql, equals),
        }
    }

    fn measure(&mut self, found: &mut ConfigurationResults, name: &str, value: f64) {
        self.values.insert(name.to_string(), value);
        found.measure(name, value);
    }

    fn sql(
        &mut self,
        step: &Step,
        found: &mut ConfigurationResults,
        progress: &mut dyn FnMut(f64),
    ) -> Result<(), LabError> {
        let Step::Sql {
            label,
            connection,
            file,
            until_error,
            measure,
            watch_log,
            ..
        } = step
        else {
            return Ok(());
        };
        let script = self.script(file)?;
        let mut watcher = if *watch_log && !self.is_modelled() {
            self.log_watcher()
        } else {
            None
        };
        let stop = || is_stopped(self.options);
        let mut watch = || {
            if let Some(share) = watcher.as_mut().and_then(LogWatcher::share) {
                progress(share);
            }
            !stop()
        };
        let target = self.target(None)?;
        connection_named(&mut self.connections, connection, &target, label)?;
        // A step may be over before the first look from inside the wait for its answer: sizes before and after always count.
        watch();
        let begin = self.begin_timing()?;
        let connection = connection_named(&mut self.connections, connection, &target, label)?;
        let ended_with = run_script(connection, &script, *until_error, &mut watch).map_err(|error| LabError::Step {
            label: label.clone(),
            error,
        })?;
        let elapsed = self.elapsed(begin)?;
        watch();
        if let Some(expected) = until_error {
            let detail = ended_with
                .as_ref()
                .map_or("it ended without an error".into(), ToString::to_string);
            found.check(
                &format!("'{label}' ends with error {expected}"),
                ended_with.is_some(),
                detail,
            );
            if ended_with.is_none() {
                return Err(LabError::Unexpected(format!(
                    "step '{label}' ended without error {expected}"
                )));
            }
        }
        if let Some(name) = measure {
            self.measure_elapsed(found, name, elapsed);
        }
        // A step of the same run goes on where the one before it ended.
        let from_s = found.growth_events.last().map_or(0.0, |event| event.at_s);
        let events = watcher.map(LogWatcher::into_events).unwrap_or_default();
        found.growth_events.extend(events.into_iter().map(|event| GrowthEvent {
            at_s: from_s + event.at_s,
            ..event
        }));
        Ok(())
    }

    fn script(&self, file: &str) -> Result<String, LabError> {
        let script = self.experiment.scripts.read(file).map_err(LabError::Unexpected)?;
        self.text(&script)
    }

    /// The text with the configuration's values in place of variables.
    fn text(&self, text: &str) -> Result<String, LabError> {
        let text = plan::substitute(text, &self.setup.variables).map_err(LabError::Experiment)?;
        Ok(match &self.options.target {
            Some(target) => target.with_folder(&text),
            None => text,
        })
    }

    fn sample(&self, name: &str, arguments: &[String]) -> Result<(), LabError> {
        let mut command = std::process::Command::new(&self.options.program);
        command.arg("sample").arg(name).arg("--data").arg(&self.data);
        for argument in arguments {
            command.arg(self.text(argument)?);
        }
        let output = command.stdin(std::process::Stdio::null()).output();
        let output = output.map_err(|error| LabError::Io(self.options.program.clone(), error))?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(LabError::Unexpected(format!("vlflab sample {name}: {}", said.trim())))
    }

    fn stop(&mut self) -> Result<(), LabError> {
        self.catch_up();
        self.connections.clear();
        let server = self.server.take();
        let server = server.ok_or_else(|| LabError::Unexpected("the server is not running".into()))?;
        server
            .stop(STOP_TIMEOUT)
            .map_err(|error| LabError::Io(self.data.clone(), error))
    }

    fn kill(&mut self) -> Result<(), LabError> {
        self.catch_up();
        let server = self
            .server
            .take()
            .ok_or_else(|| LabError::Unexpected("the server is not running".into()))?;
        server.kill().map_err(|error| LabError::Io(self.data.clone(), error))?;
        self.connections.clear();
        Ok(())
    }

    fn restart(&mut self, found: &mut ConfigurationResults) -> Result<(), LabError> {
        let begin = self.begin_with_server();
        self.server = Some(self.start_server()?);
        self.wait_until_usable()?;
        let restart = self.elapsed(begin)?;
        let (phases, lines) = self.wait_for_phases()?;
        found.error_log = lines;
        for (name, elapsed) in PHASES.into_iter().zip(times_of(&phases)) {
            self.measure_elapsed(found, name, elapsed);
        }
        self.measure_elapsed(found, "restart_s", restart);
        self.measure(found, "rolled_forward", phases.rolled_forward as f64);
        // Behind the measuring: the server keeps what it told meanwhile.
        self.record()
    }

    fn check(
        &mut self,
        found: &mut ConfigurationResults,
        label: &str,
        sql: &str,
        equals: &str,
    ) -> Result<(), LabError> {
        let equals = self.text(equals)?;
        let expected = self
            .values
            .get(&equals)
            .copied()
            .or_else(|| equals.parse().ok())
            .ok_or_else(|| {
                LabError::Unexpected(format!(
                    "check '{label}': {equals:?} is neither a number nor measured before"
                ))
            })?;
        let seen = self.number(label, sql)?;
        found.check(label, seen == expected, format!("expected {expected}, found {seen}"));
        Ok(())
    }

    fn number(&mut self, label: &str, sql: &str) -> Result<f64, LabError> {
        let sql = self.text(sql)?;
        let target = self.target(None)?;
        let connection = connection_named(&mut self.connections, MAIN, &target, label)?;
        connection.number(&sql).map_err(|error| LabError::Step {
            label: label.to_string(),
            error,
        })
    }

    fn start_server(&self) -> Result<ServerProcess, LabError> {
        let launch = Launch {
            program: self.options.program.clone(),
            data: self.data.clone(),
            sql_version: self.setup.version.to_string().replace(' ', ""),
            log_policy: self.setup.log_policy.clone(),
            max_server_memory_mb: self.setup.max_server_memory_mb,
            instant_file_initialization: self.setup.instant_file_initialization,
            password: self.password.clone(),
            disk: self.setup.disk.as_ref().map(|disk| disk.asked_for.clone()),
            without_processor_time: self.options.without_processor_time && self.is_modelled(),
            has_page: self.recording.is_some(),
        };
        ServerProcess::start(&launch, &|| !is_stopped(self.options)).map_err(LabError::Server)
    }

    fn target(&self, database: Option<&str>) -> Result<Target, LabError> {
        if let Some(there) = &self.options.target {
            let mut login = there.login.clone();
            login.database = database.map(str::to_string).or(login.database);
            return Ok(login);
        }
        let server = self
            .server
            .as_ref()
            .ok_or_else(|| LabError::Unexpected("the server is not running".into()))?;
        Ok(Target {
            host: "127.0.0.1".into(),
            port: server.port(),
            user: "sa".into(),
            password: self.password.clone(),
            database: database.map(str::to_string),
            access_token: None,
            kerberos: None,
            timeout: OWN_SERVER_TIMEOUT,
            security: Security::none(),
        })
    }

    /// Waits until a query against the database is answered.
    fn wait_until_usable(&mut self) -> Result<(), LabError> {
        let target = self.target(None)?;
        let query = format!("use [{}] select 1", self.experiment.database);
        loop {
            let answered = Connection::open(&target).and_then(|mut connection| connection.number(&query));
            match answered {
                Ok(_) => return Ok(()),
                Err(_) if is_stopped(self.options) => return Err(LabError::Interrupted),
                Err(error) if self.server_ended() => {
                    return Err(LabError::Server(StartError::Ended(error.to_string())));
                }
                Err(ClientError::Server(message)) if !is_still_recovering(&message) => {
                    return Err(LabError::Step {
                        label: "restart".into(),
                        error: ClientError::Server(message),
                    });
                }
                Err(_) => std::thread::sleep(RETRY_INTERVAL),
            }
        }
    }

    fn server_ended(&mut self) -> bool {
        self.server.as_mut().is_none_or(ServerProcess::has_ended)
    }

    fn wait_for_phases(&mut self) -> Result<(RecoveryPhases, Vec<String>), LabError> {
        let path = self.data.join(ERROR_LOG);
        let begin = Instant::now();
        loop {
            let log = std::fs::read(&path).map_err(|error| LabError::Io(path.clone(), error))?;
            let log = String::from_utf8_lossy(&log);
            if let Some(found) = error_log::last_recovery(&log, &self.experiment.database) {
                return Ok(found);
            }
            if is_stopped(self.options) {
                return Err(LabError::Interrupted);
            }
            if begin.elapsed() > UNDO_TIMEOUT || self.server_ended() {
                let message = format!("{} does not show the end of the recovery", path.display());
                return Err(LabError::Unexpected(message));
            }
            std::thread::sleep(RETRY_INTERVAL);
        }
    }
}

impl Step {
    /// Share of a run's time, roughly: what the time left is reckoned by.
    fn weight(&self) -> u64 {
        match self {
            Step::Sql { watch_log: true, .. } => 80,
            Step::Clients { .. } => 40,
            Step::GrowLog { .. } => 20,
            Step::Restart {} => 8,
            Step::Sql { .. } => 4,
            _ => 1,
        }
    }
}

/// The phases of a recovery, and all of them together. The error log tells them in whole milliseconds, and what a modelled device took
/// more finely.
fn times_of(phases: &RecoveryPhases) -> [Elapsed; 5] {
    let wholes = [phases.discovery, phases.analysis, phases.redo, phases.undo].map(|time| time.as_secs_f64());
    let devices = phases.device.map(|times| times.map(|time| time.as_secs_f64()));
    let each = |index: usize| {
        let (whole, device_s) = (wholes[index], devices.map(|devices| devices[index]));
        Elapsed {
            seconds: device_s.map_or(whole, |device| whole.max(device)),
            device_s,
        }
    };
    let parts = [0, 1, 2, 3].map(each);
    let all = Elapsed {
        seconds: parts.iter().map(|part| part.seconds).sum(),
        device_s: parts.iter().map(|part| part.device_s).sum(),
    };
    let [discovery, analysis, redo, undo] = parts;
    [discovery, analysis, redo, undo, all]
}

/// Error 922: the database is being recovered; 921: it has not been recovered yet.
fn is_still_recovering(message: &ServerMessage) -> bool {
    [921, 922].contains(&message.number)
}

fn connection_named<'c>(
    connections: &'c mut HashMap<String, Connection>,
    name: &str,
    target: &Target,
    label: &str,
) -> Result<&'c mut Connection, LabError> {
    use std::collections::hash_map::Entry;
    match connections.entry(name.to_string()) {
        Entry::Occupied(entry) => Ok(entry.into_mut()),
        Entry::Vacant(entry) => {
            let opened = Connection::open(target);
            Ok(entry.insert(opened.map_err(|error| LabError::Step {
                label: label.to_string(),
                error,
            })?))
        }
    }
}

/// Runs the batches of a script. Answers the expected error once it came; any other error fails.
fn run_script(
    connection: &mut Connection,
    script: &str,
    until_error: Option<i32>,
    watch: &mut dyn FnMut() -> bool,
) -> Result<Option<ServerMessage>, ClientError> {
    for batch in batches::split(script) {
        for _ in 0..batch.repeat {
            let mut failure: Option<ServerMessage> = None;
            connection.run_watched(&batch.text, watch, &mut |event| {
                if let Event::Error(message) = event {
                    failure.get_or_insert_with(|| message.clone());
                }
            })?;
            match failure {
                Some(message) if Some(message.number) == until_error => return Ok(Some(message)),
                Some(message) => return Err(ClientError::Server(message)),
                None => {}
            }
        }
    }
    Ok(None)
}

/// `recording-restart-bad-classic.html`; characters that names of files should not have are their numbers there, `~20~`, so that no two setups have one
/// file.
fn recording_name(experiment: &str, setup: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.');
    let mut name = "recording-".to_owned();
    for character in experiment.chars().chain(['-']).chain(setup.chars()) {
        match is_plain(character) {
            true => name.push(character),
            false => name += &format!("~{:x}~", u32::from(character)),
        }
    }
    name + ".html"
}

/// A password for a server that lives for one run on this machine: unguessable, and of the classes that policies ask for.
fn random_password() -> String {
    use std::hash::{BuildHasher, Hasher};
    let random = || std::collections::hash_map::RandomState::new().build_hasher().finish();
    format!("Lab-{:016x}{:016x}", random(), random())
}
