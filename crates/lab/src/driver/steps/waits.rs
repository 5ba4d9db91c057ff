//! What the server waited for between two steps.

use super::{LabError, MAIN, OneRun, connection_named};
use crate::results::{ConfigurationResults, Wait};

/// Waits of background tasks that have nothing to do, and of sessions that chose to wait. Glenn Berry's diagnostic queries
/// leave them out of the wait statistics; the last six came after his test.
const HARMLESS: [&str; 32] = [
    "BROKER_EVENTHANDLER",
    "BROKER_TASK_STOP",
    "BROKER_TO_FLUSH",
    "CHECKPOINT_QUEUE",
    "CLR_AUTO_EVENT",
    "CLR_MANUAL_EVENT",
    "CLR_SEMAPHORE",
    "DIRTY_PAGE_POLL",
    "DISPATCHER_QUEUE_SEMAPHORE",
    "FT_IFTS_SCHEDULER_IDLE_WAIT",
    "HADR_FILESTREAM_IOMGR_IOCOMPLETION",
    "LAZYWRITER_SLEEP",
    "LOGMGR_QUEUE",
    "ONDEMAND_TASK_QUEUE",
    "REQUEST_FOR_DEADLOCK_SEARCH",
    "RESOURCE_QUEUE",
    "SLEEP_BPOOL_FLUSH",
    "SLEEP_DBSTARTUP",
    "SLEEP_SYSTEMTASK",
    "SLEEP_TASK",
    "SP_SERVER_DIAGNOSTICS_SLEEP",
    "SQLTRACE_BUFFER_FLUSH",
    "SQLTRACE_INCREMENTAL_FLUSH_SLEEP",
    "WAITFOR",
    "XE_DISPATCHER_JOIN",
    "XE_DISPATCHER_WAIT",
    "XE_TIMER_EVENT",
    "PREEMPTIVE_XE_DISPATCHER",
    "PWAIT_DIRECTLOGCONSUMER_GETNEXT",
    "QDS_PERSIST_TASK_MAIN_LOOP_SLEEP",
    "QDS_ASYNC_QUEUE",
    "SOS_WORK_DISPATCHER",
];

impl OneRun<'_> {
    pub(super) fn clear_waits(&mut self) -> Result<(), LabError> {
        self.wait_rows("clear the waits", "dbcc sqlperf('sys.dm_os_wait_stats', clear)")
            .map(|_| ())
    }

    pub(super) fn read_waits(&mut self, found: &mut ConfigurationResults) -> Result<(), LabError> {
        let query = "select wait_type, waiting_tasks_count, wait_time_ms, max_wait_time_ms, signal_wait_time_ms \
                     from sys.dm_os_wait_stats where wait_time_ms > 0 order by wait_time_ms desc";
        let rows = self.wait_rows("read the waits", query)?;
        found.waits = rows.iter().filter_map(|row| wait(row)).filter(is_telling).collect();
        Ok(())
    }

    fn wait_rows(&mut self, label: &str, batch: &str) -> Result<Vec<Vec<Option<String>>>, LabError> {
        let target = self.target(None)?;
        let connection = connection_named(&mut self.connections, MAIN, &target, label)?;
        connection.rows(batch).map_err(|error| LabError::Step {
            label: label.into(),
            error,
        })
    }
}

fn wait(row: &[Option<String>]) -> Option<Wait> {
    let number = |index: usize| -> Option<u64> { row.get(index)?.as_deref()?.parse().ok() };
    Some(Wait {
        wait_type: row.first()?.clone()?,
        waiting_tasks_count: number(1)?,
        wait_time_ms: number(2)?,
        max_wait_time_ms: number(3)?,
        signal_wait_time_ms: number(4)?,
    })
}

fn is_telling(wait: &Wait) -> bool {
    !HARMLESS.contains(&wait.wait_type.as_str())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn rows_become_waits_and_idle_tasks_are_left_out() {
        let row = |name: &str| ["x", "3", "40", "20", "1"].map(|text| Some(text.replace('x', name)));
        let writelog = wait(&row("WRITELOG")).unwrap();
        assert_eq!((writelog.waiting_tasks_count, writelog.wait_time_ms), (3, 40));
        assert!(is_telling(&writelog));
        assert!(!is_telling(&wait(&row("LOGMGR_QUEUE")).unwrap()));
        assert_eq!(wait(&[Some("WRITELOG".into()), None]), None);
    }
}
