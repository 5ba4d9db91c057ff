//! The very first start of an instance, cut off at each of its changes: the next start makes a whole instance of what is left.

use crate::check::states_after_recovery;
use crate::client::rows;
use crate::machine::{Machine, Setting, Site, StartFailure, cut_power, draw_name_model};
use crate::power_cuts::{Counts, Failure, error_log};
use crate::random::Random;
use crate::volume::Volume;
use crate::volume::names::NameModel;

/// Cuts off the first start at every change, or at `points_max` of them; the first failure with its evidence.
pub fn run(site: &Site, seed: u64, points_max: u64) -> (Counts, Option<Failure>) {
    let mut random = Random::new(seed);
    let mut counts = Counts::default();
    let mut failure = None;
    let count = match Machine::start(site, Setting::draw(&mut random), Volume::new(NameModel::Journal), None) {
        Ok(machine) => machine.disk().with_volume(|volume| volume.changes()),
        Err(_) => 0,
    };
    let step = count.div_ceil(points_max.max(1)).max(1);
    for change in (1 + random.below(step)..=count).step_by(step as usize) {
        let model = draw_name_model(&mut random);
        let trap = Some((change, random.percent(50)));
        let left = match Machine::start(site, Setting::draw(&mut random), Volume::new(model), trap) {
            Err(StartFailure::Sprung(volume)) if random.percent(50) => cut_power(&volume, &mut random).0,
            Err(StartFailure::Sprung(volume)) => volume.after_kill(),
            // The start was over with fewer changes this time.
            Ok(_) => continue,
            Err(StartFailure::Server(said, volume)) => {
                failure.get_or_insert_with(|| failure_of(change, format!("uncut: {said}"), *volume));
                continue;
            }
            Err(StartFailure::Io(error)) => {
                failure.get_or_insert_with(|| failure_of(change, error.to_string(), Volume::new(model)));
                continue;
            }
        };
        counts.ends += 1;
        counts.ends_in_recovery += 1;
        if let Err(what) = start_again(site, Setting::draw(&mut random), left.clone()) {
            failure.get_or_insert_with(|| failure_of(change, what, left));
        }
        counts.checks += 1;
    }
    (counts, failure)
}

/// A start on what is left: every system database is online and sound.
fn start_again(site: &Site, setting: Setting, left: Volume) -> Result<(), String> {
    let machine = Machine::start(site, setting, left, None).map_err(|failure| match failure {
        StartFailure::Server(said, _) => format!("the server does not start: {said}"),
        StartFailure::Io(error) => error.to_string(),
        StartFailure::Sprung(_) => "a trap that nobody set".into(),
    })?;
    let mut connection = machine.server().connect().map_err(|error| error.to_string())?;
    for (name, state) in states_after_recovery(&mut connection)? {
        if state != "ONLINE" {
            return Err(format!("database {name} is {state}"));
        }
        rows(&mut connection, &format!("dbcc checkdb ('{name}') with no_infomsgs"))?;
    }
    rows(&mut connection, "create database whole").map(|_| ())
}

fn failure_of(change: u64, what: String, after: Volume) -> Failure {
    Failure {
        what: format!("first start, change {change}: {what}"),
        cycle: change,
        before: None,
        error_log: error_log(&after),
        after: Some(after),
        server_output: String::new(),
        ledger: String::new(),
    }
}
