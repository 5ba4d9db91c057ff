//! 500 idle sessions are logged in and take less than 300 MB.

use crate::outer::support::{Folder, Served, ask, run, value};
use lab::client::{Connection, Target};

const SESSIONS: usize = 500;
/// All of the server with that many idle sessions, MB.
const MEMORY_MB_MAX: u64 = 300;
const ROUNDS: usize = 5;

#[test]
fn five_hundred_idle_sessions_need_little_memory() {
    let mut served = Served::unstarted(Folder::new("logins"));
    served.launch.max_server_memory_mb = Some(64);
    served.start();
    let mut sessions: Vec<Connection> = (0..SESSIONS).map(|_| served.connect()).collect();
    // Each has done something: a session that never asked anything has nothing to keep.
    for session in &mut sessions {
        assert_eq!(value(session, "select db_name()"), "master");
    }
    let resident_mb = served.status_kb("VmRSS:") / 1_024;
    println!("{SESSIONS} idle sessions: {resident_mb} MB resident");
    let count = "select count(*) from sys.dm_exec_sessions where is_user_process = 1";
    let logged_in: usize = value(&mut sessions[0], count).parse().unwrap();
    assert!(logged_in >= SESSIONS, "{logged_in}");
    assert!(resident_mb < MEMORY_MB_MAX, "{resident_mb} MB");
    run(&mut sessions[SESSIONS - 1], "select 1");
    drop(sessions);
    // Logins after logins, wrong ones among them, add nothing.
    for _ in 0..ROUNDS {
        let wrong = Target {
            password: "wrong".into(),
            ..served.target()
        };
        assert!(Connection::open(&wrong).is_err());
        assert!(ask(&mut served.connect(), "select 1").errors.is_empty());
    }
    assert!(served.status_kb("VmRSS:") / 1_024 < MEMORY_MB_MAX);
}
