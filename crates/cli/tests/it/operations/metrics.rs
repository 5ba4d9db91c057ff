//! `vlflab serve --metrics`: the page that Prometheus reads, and that clients of this port cannot disturb the server.

use crate::operations::support::{Folder, PATIENCE, Serving, said, serve, serve_new};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};

/// The address in the line on readiness.
fn metrics_of(serving: &Serving) -> String {
    let line = serving.said.last().unwrap();
    let (_, rest) = line
        .split_once(", metrics http://")
        .expect("the line on readiness has it");
    rest.strip_suffix("/metrics").unwrap().to_owned()
}

/// Sends bytes as they are; all that comes back.
fn sent(address: &str, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    // A server that has heard enough may close before all is sent.
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(Shutdown::Write);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8(answer).unwrap()
}

/// The status and the body of what a path answers.
fn get(address: &str, path: &str) -> (u16, String) {
    let answer = sent(address, format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes());
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let length = format!("Content-Length: {}", body.len());
    assert!(head.lines().any(|line| line == length), "{head}");
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

/// The samples of a page by their name with labels. The page has to keep the format: each family once, with HELP and TYPE first,
/// its samples together, no sample twice, numbers.
fn samples(page: &str) -> BTreeMap<String, f64> {
    let (mut found, mut families) = (BTreeMap::new(), BTreeMap::new());
    let mut family = String::new();
    assert!(page.ends_with('\n'));
    for line in page.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').unwrap();
            assert!(!help.is_empty() && !families.contains_key(name), "{line}");
            family = name.to_owned();
            families.insert(family.clone(), String::new());
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert_eq!(name, family, "{line}");
            assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
            assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
            families.insert(family.clone(), kind.to_owned());
        } else {
            let (key, value) = line.rsplit_once(' ').unwrap();
            let name = key.split('{').next().unwrap();
            let endings: &[&str] = match families[&family].as_str() {
                "histogram" => &["_bucket", "_sum", "_count"],
                _ => &[""],
            };
            assert!(
                endings.iter().any(|end| format!("{family}{end}") == name),
                "{line} is not of {family}"
            );
            assert!(
                found.insert(key.to_owned(), value.parse().unwrap()).is_none(),
                "{line} twice"
            );
        }
    }
    found
}

#[test]
fn figures_rise_by_what_was_done() {
    let folder = Folder::new("metrics");
    let serving = Serving::start(serve(&folder.0).args(["--metrics", "0"]));
    let address = metrics_of(&serving);
    serving.sql("create database [a\"b] create database sales");
    let read = || {
        let (status, page) = get(&address, "/metrics");
        assert_eq!(status, 200, "{page}");
        samples(&page)
    };
    let before = read();
    assert!(before.contains_key("vlflab_commits_total{database=\"a\\\"b\"}"));
    serving.sql(
        "set nocount on use sales create table t (a int) declare @i int = 0 \
         while @i < 20 begin insert t values (@i) set @i += 1 end \
         begin tran insert t values (99) rollback \
         alter database sales modify file (name = sales_log, size = 20MB)",
    );
    let after = read();
    let rise = |name: &str| {
        let key = format!("{name}{{database=\"sales\"}}");
        after[&key] - before[&key]
    };
    assert!(rise("vlflab_commits_total") >= 21.0, "20 rows and a table");
    assert!(rise("vlflab_rollbacks_total") >= 1.0);
    assert!(rise("vlflab_log_growths_total") >= 1.0);
    assert!(rise("vlflab_log_flush_seconds_count") >= 20.0);
    assert!(rise("vlflab_log_flushed_bytes_total") >= 20.0 * 512.0);
    assert!(rise("vlflab_log_flush_seconds_sum") > 0.0);
    assert!(rise("vlflab_log_size_bytes") > 0.0);
    // A class holds those below it, and the last one all.
    let bucket = |bound: &str| after[&format!("vlflab_log_flush_seconds_bucket{{database=\"sales\",le=\"{bound}\"}}")];
    let bounds = [
        "0.00005", "0.0001", "0.00025", "0.0005", "0.001", "0.0025", "0.005", "0.01", "0.025", "0.05", "0.1", "1",
        "+Inf",
    ];
    assert!(bounds.windows(2).all(|pair| bucket(pair[0]) <= bucket(pair[1])));
    assert_eq!(
        bucket("+Inf"),
        after["vlflab_log_flush_seconds_count{database=\"sales\"}"]
    );
    assert_eq!(after["vlflab_databases{state=\"ONLINE\"}"], 6.0);
    // T-SQL counts the same.
    let counted = serving.sql(
        "set nocount on select rtrim(counter_name) + '=' + cast(cntr_value as varchar(20)) from sys.dm_os_performance_counters \
         where instance_name = 'sales' and counter_name in ('Log Growths', 'Log Flushes/sec')",
    );
    let growths = after["vlflab_log_growths_total{database=\"sales\"}"];
    assert!(
        counted.contains(&format!("Log Growths={growths}")),
        "{counted}, {growths}"
    );
    let flushes = after["vlflab_log_flush_seconds_count{database=\"sales\"}"];
    assert!(
        counted.contains(&format!("Log Flushes/sec={flushes}")),
        "{counted}, {flushes}"
    );
    let vlfs = serving.sql("set nocount on select count(*) from sys.dm_db_log_info(db_id('sales'))");
    let of_state = |state: &str| after[&format!("vlflab_log_vlfs{{database=\"sales\",state=\"{state}\"}}")];
    assert_eq!(
        vlfs.trim().parse::<f64>().unwrap(),
        of_state("active") + of_state("free")
    );
}

/// A server that opens databases for a long time is healthy and not ready. A manager that hears otherwise sends clients to a server that
/// refuses them.
#[test]
fn a_server_is_ready_when_it_takes_connections() {
    let folder = Folder::new("metrics-ready");
    let mut serving = Serving::start(serve(&folder.0).args(["--metrics", "127.0.0.1:0"]));
    let address = metrics_of(&serving);
    assert_eq!(get(&address, "/healthz"), (200, "healthy\n".to_owned()));
    assert_eq!(get(&address, "/readyz"), (200, "ready\n".to_owned()));
    // One that cannot be recovered does not keep it from being ready, and is named.
    serving.sql("create database lost alter database lost set offline");
    let name = ["data/lost_log.ldf", "lost_log.ldf"].map(|name| folder.0.join(name));
    let log = name
        .iter()
        .find(|path| path.is_file())
        .expect("the log is one of these");
    serving.signal("TERM");
    assert_eq!(serving.wait().code(), Some(0));
    let aside = folder.0.join("aside");
    std::fs::rename(log, &aside).unwrap();
    let serving = Serving::start(serve(&folder.0).args(["--metrics", "127.0.0.1:0"]));
    let address = metrics_of(&serving);
    assert!(
        !serving
            .sql_as(crate::operations::support::PASSWORD, "alter database lost set online")
            .status
            .success()
    );
    let (status, body) = get(&address, "/readyz");
    assert_eq!((status, body.as_str()), (200, "ready\nlost: recovery_pending\n"));
    let (_, page) = get(&address, "/metrics");
    let key = "vlflab_database_recovery_ratio{database=\"lost\",phase=\"recovery_pending\"}";
    assert!(samples(&page)[key].is_nan(), "{page}");
}

#[test]
fn what_is_no_request_is_refused_and_the_server_serves_on() {
    let folder = Folder::new("metrics-refused");
    let serving = Serving::start(serve(&folder.0).args(["--metrics", "0"]));
    let address = metrics_of(&serving);
    let long = format!("GET /metrics HTTP/1.1\r\nX: {}\r\n\r\n", "y".repeat(100_000));
    let table: [(&[u8], u16); 10] = [
        (b"GET /nowhere HTTP/1.1\r\n\r\n", 404),
        (b"GET /metrics?x=1 HTTP/1.0\r\n\r\n", 200),
        (b"POST /metrics HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", 405),
        (b"GET /metrics\r\n\r\n", 400),
        (b"GET  /metrics HTTP/1.1\r\n\r\n", 400),
        (b"\x12\x01\x00\x3a\x00\x00\x00\x00\r\n\r\n", 400),
        (b"\xff\xfe\r\n\r\n", 400),
        (b"GET /metrics HTTP/1.1\r\n", 400),
        (b"", 400),
        (long.as_bytes(), 431),
    ];
    for (request, status) in table {
        let answer = sent(&address, request);
        let wanted = format!("HTTP/1.1 {status} ");
        let shown = String::from_utf8_lossy(&request[..request.len().min(60)]).into_owned();
        assert!(answer.starts_with(&wanted), "{shown:?}: {answer}");
    }
    let head = sent(&address, b"HEAD /metrics HTTP/1.1\r\n\r\n");
    assert!(
        head.starts_with("HTTP/1.1 200 OK\r\n") && head.ends_with("\r\n\r\n"),
        "{head}"
    );
    assert_eq!(serving.sql("set nocount on select 6 * 7").trim(), "42");
}

/// Sixteen connections that said nothing made every health check fail, for as long as they liked.
#[test]
fn silent_connections_keep_nobody_from_an_answer() {
    let folder = Folder::new("metrics-silent");
    let serving = Serving::start(serve(&folder.0).args(["--metrics", "0"]));
    let address = metrics_of(&serving);
    let connect = || {
        let stream = TcpStream::connect(&address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    };
    let mut silent: Vec<TcpStream> = Vec::new();
    for round in 0..4 {
        silent.extend((0..100).map(|_| connect()));
        for path in ["/healthz", "/readyz", "/metrics"] {
            assert_eq!(get(&address, path).0, 200, "round {round}: {path}");
        }
    }
    // They were too many: the oldest made room. That is an end of the stream, without the answer 408 that comes after five seconds.
    let mut answer = Vec::new();
    // Cut off while its connection was being made, it may see a reset.
    let _ = silent[0].read_to_end(&mut answer);
    assert!(answer.is_empty(), "{}", String::from_utf8_lossy(&answer));
    assert_eq!(serving.sql("set nocount on select 6 * 7").trim(), "42");
}

#[test]
fn an_address_that_cannot_be_had_is_named_with_its_option() {
    let folder = Folder::new("metrics-address");
    let held = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = held.local_addr().unwrap().to_string();
    for (address, code, words) in [
        (taken.as_str(), 1, "choose another port with --metrics"),
        ("203.0.113.1:0", 1, "this machine does not have that address"),
        ("nowhere", 2, "neither a port nor an address with its port"),
    ] {
        let output = serve_new(&folder.0.join("data"))
            .args(["--metrics", address])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(code), "{address}: {}", said(&output));
        assert!(said(&output).contains(words), "{address}: {}", said(&output));
        assert!(!folder.0.join("data").exists(), "nothing was changed");
    }
}
