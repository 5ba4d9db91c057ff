//! Gets the port of a named instance from SQL Server Browser on its host ([MC-SQLR], the SQL Server Resolution Protocol, by UDP 1434).
//!
//! ```text
//! CLNT_UCAST_INST  04 instance 00                     (2.2.3)
//! SVR_RESP         05 length(2) ServerName;DB1;InstanceName;SALES;IsClustered;No;Version;15.0.2000.5;tcp;49171;;   (2.2.5)
//! ```

use std::net::{ToSocketAddrs, UdpSocket};
use std::time::{Duration, Instant};

/// Where SQL Server Browser listens.
pub const BROWSER_PORT: u16 = 1434;
/// How long one question waits for its answer. Datagrams get lost, so it is asked again.
const ANSWER_LIMIT: Duration = Duration::from_millis(1_000);
/// Longer names are no instance's ([MC-SQLR] 2.2.3: 32 bytes).
const INSTANCE_BYTES_MAX: usize = 32;
const SVR_RESP: u8 = 5;

/// The TCP port of an instance, from the Browser of its host; `browser_port` is [`BROWSER_PORT`] but for tests.
///
/// # Errors
/// A sentence: no answer, no such instance, or one without TCP.
pub fn instance_port(host: &str, instance: &str, browser_port: u16, limit: Duration) -> Result<u16, String> {
    if instance.is_empty() || instance.len() > INSTANCE_BYTES_MAX || instance.contains('\0') {
        return Err(format!("'{instance}' is not the name of an instance"));
    }
    let begin = Instant::now();
    let resolved = (host, browser_port).to_socket_addrs();
    let address = resolved
        .map_err(|error| format!("the name cannot be resolved ({error})"))?
        .next()
        .ok_or("the name has no address")?;
    let own = if address.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    let failed = |error: std::io::Error| format!("SQL Server Browser of {host} (UDP {browser_port}): {error}");
    let socket = UdpSocket::bind(own).map_err(failed)?;
    socket.connect(address).map_err(failed)?;
    let mut question = vec![4];
    question.extend_from_slice(instance.as_bytes());
    question.push(0);
    let mut answer = [0; 4096];
    while begin.elapsed() < limit {
        let left = limit.saturating_sub(begin.elapsed()).max(Duration::from_millis(1));
        socket.set_read_timeout(Some(left.min(ANSWER_LIMIT))).map_err(failed)?;
        // The refusal of one question comes with the next call.
        let count = socket.send(&question).and_then(|_| socket.recv(&mut answer));
        match count {
            Ok(count) => return port_of(answer.get(..count).unwrap_or_default(), instance),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
                return Err(format!(
                    "SQL Server Browser does not run on {host} (UDP {browser_port} is closed); write {host},PORT"
                ));
            }
            Err(_) => {}
        }
    }
    Err(format!(
        "SQL Server Browser of {host} does not answer for instance {instance} (UDP {browser_port}; it answers nothing for an instance that \
         is not there); write {host},PORT"
    ))
}

/// The port in an answer.
fn port_of(answer: &[u8], instance: &str) -> Result<u16, String> {
    let (Some(&SVR_RESP), Some(text)) = (answer.first(), answer.get(3..)) else {
        return Err("what answers on the port of SQL Server Browser is none".to_owned());
    };
    let text = String::from_utf8_lossy(text);
    let mut words = text.split(';');
    let mut is_wanted = false;
    while let (Some(key), Some(value)) = (words.next(), words.next()) {
        match key {
            "InstanceName" => is_wanted = value.eq_ignore_ascii_case(instance),
            "tcp" if is_wanted => {
                return value
                    .parse()
                    .map_err(|_| format!("SQL Server Browser names '{value}' as the port of {instance}"));
            }
            _ => {}
        }
    }
    Err(format!(
        "instance {instance} does not listen on TCP, by its SQL Server Browser"
    ))
}
