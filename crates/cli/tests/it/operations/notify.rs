//! Notifications to a service manager, and that a server runs without one.

use crate::operations::support::{Folder, PATIENCE, Serving, serve};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Instant;

/// Receives until a datagram has a line that begins so; all lines until then.
fn lines_until(manager: &UnixDatagram, beginning: &str) -> Vec<String> {
    manager.set_read_timeout(Some(PATIENCE)).unwrap();
    let (mut lines, begin) = (Vec::new(), Instant::now());
    let mut buffer = [0; 8192];
    while begin.elapsed() < PATIENCE {
        let count = manager.recv(&mut buffer).expect("the server tells its manager");
        let text = String::from_utf8(buffer[..count].to_vec()).unwrap();
        lines.extend(text.lines().map(str::to_owned));
        if text.lines().any(|line| line.starts_with(beginning)) {
            return lines;
        }
    }
    panic!("no {beginning}: {lines:?}");
}

/// The way of a unit of Type=notify: started, ready, alive, stopped.
fn is_told_everything(manager: &UnixDatagram, socket: &str, name: &str) {
    let folder = Folder::new(name);
    let mut command = serve(&folder.0);
    command.env("NOTIFY_SOCKET", socket).env("WATCHDOG_USEC", "300000");
    let mut serving = Serving::start(&mut command);
    let start = lines_until(manager, "READY=1");
    assert_eq!(start[0], "STATUS=Starting", "{start:?}");
    let address = serving.address.replace(',', ":");
    let serves = format!("STATUS=Serving on {address}");
    assert_eq!(*start.last().unwrap(), serves, "{start:?}");
    assert_eq!(start.iter().filter(|line| *line == "READY=1").count(), 1);
    // It lives: its listener answers its own greeting, again and again, and nothing of that is in the error log.
    for _ in 0..3 {
        lines_until(manager, "WATCHDOG=1");
    }
    let log = std::fs::read_to_string(folder.0.join("log/ERRORLOG")).unwrap();
    assert!(!log.contains("Logon"), "{log}");
    serving.signal("TERM");
    let end = lines_until(manager, "STOPPING=1");
    assert!(
        end.iter().all(|line| !line.starts_with("EXTEND_TIMEOUT_USEC")),
        "it serves: {end:?}"
    );
    assert_eq!(*end.last().unwrap(), "STATUS=Stopping", "{end:?}");
    assert_eq!(serving.wait().code(), Some(0));
}

#[test]
fn a_manager_with_a_path_is_told_everything() {
    let folder = Folder::new("notify-socket");
    let path = folder.0.join("notify");
    let manager = UnixDatagram::bind(&path).unwrap();
    is_told_everything(&manager, path.to_str().unwrap(), "notify-path");
}

#[test]
fn a_manager_with_an_abstract_name_is_told_everything() {
    let name = format!("vlflab-test-{}", std::process::id());
    let manager = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    is_told_everything(&manager, &format!("@{name}"), "notify-abstract");
}

/// Its lines go to nobody, and it serves.
#[test]
fn a_manager_that_is_not_there_costs_a_warning() {
    let folder = Folder::new("notify-nobody");
    for (socket, words) in [
        ("/nonexistent/notify", "takes nothing"),
        ("relative", "NOTIFY_SOCKET=relative cannot be used"),
    ] {
        let mut serving = Serving::start(serve(&folder.0).env("NOTIFY_SOCKET", socket));
        let log = std::fs::read_to_string(folder.0.join("log/ERRORLOG")).unwrap();
        assert!(
            log.contains("the service manager is not notified") && log.contains(words),
            "{log}"
        );
        assert_eq!(serving.sql("set nocount on select 6 * 7").trim(), "42");
        serving.signal("TERM");
        assert_eq!(serving.wait().code(), Some(0));
    }
}
