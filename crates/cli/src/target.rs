//! `vlflab run --target`: the login, the first check of the server, and the user's consent.

use crate::arguments::RunOptions;
use crate::exit::Failure;
use crate::login;
use lab::experiment::Experiment;
use lab::target::{self, TargetRun};
use std::io::{self, BufRead, IsTerminal, Write};
use std::time::Duration;

/// Where the password may be, first come first served.
const PASSWORD_VARIABLES: [&str; 2] = ["MSSQL_PASSWORD", "SQLCMDPASSWORD"];

/// Logs in at the address, says what the run will do there, and has it agreed to.
pub fn agree(address: &str, options: &RunOptions, experiments: &[Experiment]) -> Result<TargetRun, Failure> {
    let wrong = |reason: String| Failure::Usage(format!("--target {address}: {reason}"));
    let parsed = match options.ticket.is_given() {
        true => target::parse_place(address),
        false => target::parse(address),
    };
    let mut login = parsed.map_err(wrong)?;
    login.timeout = Duration::from_secs(options.login_timeout.into());
    login.security = options.security.security(&login.host)?;
    if !options.ticket.log_in(&mut login).map_err(wrong)? {
        login.password = login::password(&login.user, &login.host, &PASSWORD_VARIABLES)?;
    }
    let target = TargetRun::probe(login)?;
    let mut err = io::stderr().lock();
    for line in target.warning(experiments, &options.scale) {
        writeln!(err, "{line}")?;
    }
    if options.yes {
        return Ok(target);
    }
    if !io::stdin().is_terminal() {
        return Err(Failure::Usage("say --yes to agree to that".into()));
    }
    write!(err, "Go on? (yes/no) ")?;
    err.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    match answer.trim().to_lowercase().as_str() {
        "y" | "yes" => Ok(target),
        _ => Err(Failure::Interrupted("nothing was done".into())),
    }
}
