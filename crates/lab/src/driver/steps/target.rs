//! Steps on an existing server: it is not stopped, and everything that the run created there is dropped again.

use super::{LabError, MAIN, OneRun, RETRY_INTERVAL, connection_named, is_still_recovering, is_stopped};
use crate::client::{ClientError, Connection};
use crate::results::ConfigurationResults;
use std::time::Instant;

impl OneRun<'_> {
    /// Goes on only when no database of the experiment's name is there.
    pub(super) fn begin_on_target(&mut self) -> Result<(), LabError> {
        let database = self.experiment.database.clone();
        let found = self.number(
            "look for the database",
            &format!("select count(*) from sys.databases where name = '{database}'"),
        )?;
        if found != 0.0 {
            return Err(LabError::Unexpected(format!(
                "a database named '{database}' already exists and is left alone; drop or rename it yourself to run this experiment"
            )));
        }
        self.owns_database = true;
        Ok(())
    }

    /// Takes the database away, if it is ours; after a failure, too.
    pub(super) fn clean_up_target(&mut self) -> Result<(), LabError> {
        self.connections.clear();
        if !std::mem::take(&mut self.owns_database) {
            return Ok(());
        }
        let database = &self.experiment.database;
        let batch = format!(
            "use master if db_id('{database}') is not null \
             begin alter database [{database}] set single_user with rollback immediate drop database [{database}] end"
        );
        let target = self.target(None)?;
        let dropped = Connection::open(&target).and_then(|mut connection| connection.rows(&batch));
        dropped.map(|_| ()).map_err(|error| LabError::Step {
            label: format!("drop the database {database}, which is still there"),
            error,
        })
    }

    /// Offline and online again: an orderly end and a start, measured as `restart_s`.
    pub(super) fn restart_on_target(&mut self, found: &mut ConfigurationResults) -> Result<(), LabError> {
        let label = "take the database offline and online again";
        self.connections.clear();
        let database = self.experiment.database.clone();
        let target = self.target(None)?;
        let failed = |error| LabError::Step {
            label: label.into(),
            error,
        };
        let connection = connection_named(&mut self.connections, MAIN, &target, label)?;
        connection
            .rows(&format!(
                "use master alter database [{database}] set offline with rollback immediate"
            ))
            .map_err(failed)?;
        let begin = Instant::now();
        connection
            .rows(&format!("alter database [{database}] set online"))
            .map_err(failed)?;
        loop {
            let connection = connection_named(&mut self.connections, MAIN, &target, label)?;
            match connection.rows(&format!("use [{database}] select 1")) {
                Ok(_) => break,
                Err(_) if is_stopped(self.options) => return Err(LabError::Interrupted),
                Err(ClientError::Server(message)) if is_still_recovering(&message) => {
                    std::thread::sleep(RETRY_INTERVAL);
                }
                Err(error) => return Err(failed(error)),
            }
        }
        self.measure(found, "restart_s", begin.elapsed().as_secs_f64());
        Ok(())
    }
}
