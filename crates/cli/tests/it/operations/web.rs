//! `vlflab serve --web`: the live page, its stream and what is inside a VLF against what the server's own views say, and clients that mean harm.

use crate::operations::support::{Folder, PASSWORD, PATIENCE, PROGRAM, Serving, said, serve, vlflab};
use advisor::live::recording::Recording;
use advisor::live::{EventKind, Frame, Stand};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// The page of a server: its address, and the token.
struct Page {
    address: String,
    token: String,
}

impl Page {
    fn of(serving: &Serving) -> Page {
        Page::in_line(serving.said.last().unwrap())
    }

    fn in_line(line: &str) -> Page {
        let (_, url) = line.split_once("live page http://").expect("the line has it");
        let (address, token) = url.split_once("/?token=").unwrap();
        Page {
            address: address.to_owned(),
            token: token.trim_end().to_owned(),
        }
    }

    fn request(&self, path: &str) -> String {
        let Page { address, token } = self;
        let separator = if path.contains('?') { '&' } else { '?' };
        format!("GET {path}{separator}token={token} HTTP/1.1\r\nHost: {address}\r\n\r\n")
    }

    /// Sends bytes as they are; all that comes back.
    fn sent(&self, bytes: &[u8]) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        // A server that has heard enough may close before all is sent.
        let _ = stream.write_all(bytes);
        let _ = stream.shutdown(Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8(answer).unwrap()
    }

    /// The status and the body of what a path answers.
    fn get(&self, path: &str) -> (u16, String) {
        split(&self.sent(self.request(path).as_bytes()))
    }

    fn stand(&self) -> Stand {
        let (status, body) = self.get("/stand");
        assert_eq!(status, 200, "{body}");
        serde_json::from_str(&body).unwrap()
    }

    /// What a question about the inside is answered with.
    fn ask(&self, path: &str) -> serde_json::Value {
        let (status, body) = self.get(path);
        assert_eq!(status, 200, "{path}: {body}");
        serde_json::from_str(&body).unwrap()
    }

    fn listen(&self) -> Stream {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(self.request("/events").as_bytes()).unwrap();
        Stream(BufReader::new(stream))
    }
}

fn split(answer: &str) -> (u16, String) {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((answer, ""));
    (head.split(' ').nth(1).unwrap_or("0").parse().unwrap(), body.to_owned())
}

/// A stream of server-sent events.
struct Stream(BufReader<TcpStream>);

impl Stream {
    /// The next message: its name and its data.
    fn next(&mut self) -> (String, String) {
        let (mut name, mut data) = (String::new(), String::new());
        let begin = Instant::now();
        loop {
            let mut line = String::new();
            assert!(begin.elapsed() < PATIENCE, "there are signs of life alone");
            assert!(self.0.read_line(&mut line).unwrap() > 0, "the stream goes on");
            if let Some(text) = line.strip_prefix("event: ") {
                name = text.trim_end().to_owned();
            } else if let Some(text) = line.strip_prefix("data: ") {
                data = text.trim_end().to_owned();
            } else if line == "\n" && !name.is_empty() {
                return (name, data);
            }
        }
    }

    fn stand(&mut self) -> Stand {
        let (name, data) = self.next();
        assert_eq!(name, "stand");
        serde_json::from_str(&data).unwrap()
    }

    /// Takes frames in until `is_enough`; answers them.
    fn follow(&mut self, stand: &mut Stand, is_enough: impl Fn(&Stand) -> bool) -> Vec<Frame> {
        let mut frames = Vec::new();
        while !is_enough(stand) {
            let (name, data) = self.next();
            assert_eq!(name, "frame", "{data}");
            let frame: Frame = serde_json::from_str(&data).unwrap();
            assert_eq!(frame.frame, stand.frame + 1, "no frame is lost");
            stand.take(&frame);
            frames.push(frame);
        }
        frames
    }
}

/// A log that grows, is backed up, comes round and is shrunk. The checkpoint is its own: an automatic one comes when it is due by time,
/// and on a slow machine the log would grow instead of coming round.
const SCRIPT: &str = "set nocount on create database sales on (name = sales, filename = 'sales.mdf') \
     log on (name = sales_log, filename = 'sales_log.ldf', size = 2MB, filegrowth = 1MB) \
     alter database sales set recovery full backup database sales to disk = 'NUL'";
const WORK: &str = "set nocount on use sales create table t (a int identity, b char(4000) default 'x') \
     declare @i int = 0 while @i < 400 begin insert t default values set @i += 1 end \
     backup log sales to disk = 'NUL' checkpoint \
     while @i < 800 begin insert t default values set @i += 1 end \
     dbcc shrinkfile(sales_log, 1) with no_infomsgs create table last_one (a int)";

#[test]
fn the_stream_tells_every_event_once_and_in_order_and_ends_where_the_views_are() {
    let folder = Folder::new("web");
    let serving = Serving::start(serve(&folder.0).arg("--web"));
    let page = Page::of(&serving);
    let mut stream = page.listen();
    let mut stand = stream.stand();
    assert!(stand.greeting.tells_itself && stand.heads.iter().any(|head| head.database == "tempdb"));
    let before = stand.events.last().map_or(0, |event| event.number);
    serving.sql(SCRIPT);
    serving.sql(WORK);
    let is_shrink = |stand: &Stand| stand.events.iter().any(|event| event.kind == EventKind::Shrink);
    let frames = stream.follow(&mut stand, is_shrink);
    let told: Vec<_> = frames.iter().flat_map(|frame| &frame.events).collect();
    let numbers: Vec<u64> = told.iter().map(|event| event.number).collect();
    let expected: Vec<u64> = (before + 1..=before + numbers.len() as u64).collect();
    assert_eq!(numbers, expected);
    assert!(told.windows(2).all(|pair| pair[0].at <= pair[1].at), "times rise");
    let count = |kind| {
        told.iter()
            .filter(|event| event.kind == kind && event.database == "sales")
            .count()
    };
    assert!(count(EventKind::Growth) >= 1 && count(EventKind::Switch) >= 4 && count(EventKind::Backup) == 2);
    assert!(told.iter().any(|event| event.text.contains("came round")), "{told:?}");
    assert!(told.iter().all(|event| !event.text.is_empty()));

    // What the page has by its frames is what is read anew, and what T-SQL says.
    let rows = serving.sql(
        "set nocount on select concat(file_id, ',', vlf_begin_offset, ',', vlf_sequence_number, ',', vlf_status) \
         from sys.dm_db_log_info(db_id('sales')) order by file_id, vlf_begin_offset",
    );
    let views: Vec<&str> = rows.lines().filter(|line| line.contains(',')).collect();
    let sales = stand.maps.iter().find(|map| map.database == "sales").unwrap();
    let (first, last) = stand
        .heads
        .iter()
        .find(|head| head.database == "sales")
        .unwrap()
        .active
        .unwrap();
    let status = |sequence: u32| match sequence {
        0 => 1,
        sequence if (first..=last).contains(&sequence) => 2,
        _ => 0,
    };
    let shown: Vec<String> = sales
        .vlfs()
        .map(|(file, offset, _, sequence)| format!("{file},{offset},{sequence},{}", status(sequence)))
        .collect();
    assert_eq!(shown, views);
    let anew = page.stand();
    assert_eq!(anew.maps.iter().find(|map| map.database == "sales"), Some(sales));
}

#[test]
fn the_oldest_transaction_is_shown_with_its_session_and_a_dropped_database_goes() {
    let folder = Folder::new("web-transaction");
    let serving = Serving::start(serve(&folder.0).arg("--web"));
    let page = Page::of(&serving);
    serving.sql("create database sales");
    let head = |stand: &Stand| stand.heads.iter().find(|head| head.database == "sales").cloned();
    assert!(head(&page.stand()).unwrap().oldest.is_none());
    let mut stream = page.listen();
    let mut stand = stream.stand();
    // The session waits inside its transaction for as long as it is looked at.
    std::thread::scope(|scope| {
        let address = serving.address.clone();
        let waiting = scope.spawn(move || {
            let batch = "use sales create table t (a int) create table seen (a int) begin tran insert t values (1) \
                 while not exists (select 1 from seen with (nolock)) waitfor delay '00:00:00.050' rollback";
            vlflab(&["sql", "-S", &address, "-P", PASSWORD, "-b", "-Q", batch])
        });
        // The statements before it are transactions of their own, with names of their own.
        let is_open = |stand: &Stand| {
            let oldest = head(stand).and_then(|head| head.oldest);
            oldest.is_some_and(|oldest| oldest.session > 50 && oldest.name == "user_transaction")
        };
        stream.follow(&mut stand, is_open);
        let oldest = head(&stand).unwrap().oldest.unwrap();
        assert!(
            oldest.name == "user_transaction" && oldest.first.is_some() && oldest.begun <= stand.at,
            "{oldest:?}"
        );
        serving.sql("use sales insert seen values (1)");
        let output = waiting.join().unwrap();
        assert!(output.status.success(), "{}", said(&output));
    });
    stream.follow(&mut stand, |stand| {
        head(stand).is_some_and(|head| head.oldest.is_none())
    });
    serving.sql("drop database sales");
    stream.follow(&mut stand, |stand| head(stand).is_none());
    assert!(stand.maps.iter().all(|map| map.database != "sales"));
}

/// LSNs as `fn_dblog` writes them, with the operation, the length and the transaction.
fn rows_of(found: &serde_json::Value) -> Vec<String> {
    let row = |record: &serde_json::Value| {
        let part = |at: usize| record["lsn"][at].as_u64().unwrap();
        let transaction = record["transaction"].as_u64().unwrap();
        let lsn = format!("{:08x}:{:08x}:{:04x}", part(0), part(1), part(2));
        let (operation, bytes) = (record["operation"].as_str().unwrap(), &record["bytes"]);
        format!(
            "{lsn},{operation},{bytes},{:04x}:{:08x}",
            transaction >> 32,
            transaction as u32
        )
    };
    found["records"].as_array().unwrap().iter().map(row).collect()
}

/// The LSN of such a row in decimal numbers.
fn decimal(row: &str) -> String {
    let parts = row.split([':', ',']).take(3);
    let numbers = parts.map(|part| u32::from_str_radix(part, 16).unwrap().to_string());
    numbers.collect::<Vec<_>>().join(":")
}

/// A server whose database has a name that an address has to escape, and a log of several VLFs: a transaction `t1` that was rolled back, and
/// one that was committed.
struct Story {
    serving: Serving,
    page: Page,
    _folder: Folder,
}

const DATABASE: &str = "database=s%C3%A4l%C3%A8s%20%26%20co";

impl Story {
    fn begin(name: &str) -> Story {
        let folder = Folder::new(name);
        let serving = Serving::start(serve(&folder.0).arg("--web"));
        let page = Page::of(&serving);
        serving.sql(SCRIPT);
        serving.sql("alter database sales modify name = [sälès & co]");
        serving.sql(
            "set nocount on use [sälès & co] create table t (a int identity primary key, b char(2000) default 'x') \
             begin tran t1 declare @i int = 0 while @i < 300 begin insert t default values set @i += 1 end rollback \
             begin tran while @i < 700 begin insert t default values set @i += 1 end commit",
        );
        Story {
            serving,
            page,
            _folder: folder,
        }
    }

    /// The same of `fn_dblog`.
    fn dblog(&self, condition: &str) -> Vec<String> {
        let rows = self.serving.sql(&format!(
            "set nocount on use [sälès & co] select concat([Current LSN], ',', Operation, ',', [Log Record Length], ',', \
             [Transaction ID]) from fn_dblog(null, null) where {condition} order by [Current LSN]"
        ));
        let lines = rows.lines().filter(|line| line.contains(",LOP_"));
        lines.map(|line| line.trim().to_owned()).collect()
    }
}

#[test]
fn the_way_of_a_transaction_is_the_same_from_each_of_its_records() {
    let story = Story::begin("web-way");
    let begun = story.dblog("[Transaction Name] = 't1'");
    let shown = begun[0].rsplit(',').next().unwrap();
    let id = u64::from_str_radix(&shown.replace(':', ""), 16).unwrap();
    let its = story.dblog(&format!("[Transaction ID] = '{shown}'"));
    assert!(
        its.len() > 600 && its.last().unwrap().contains("LOP_ABORT_XACT"),
        "{}",
        its.len()
    );
    assert_ne!(its[0][..8], its.last().unwrap()[..8], "it goes through several VLFs");
    for near in [&its[0], &its[its.len() / 2], its.last().unwrap()] {
        let found = story
            .page
            .ask(&format!("/transaction?{DATABASE}&id={id}&near={}", decimal(near)));
        assert_eq!(rows_of(&found), its);
        let records = found["records"].as_array().unwrap();
        assert_eq!(
            (&found["cut_before"], &found["cut_behind"]),
            (&false.into(), &false.into())
        );
        assert_eq!(records[0]["name"], "t1");
        let takes_back = |record: &serde_json::Value| record["compensation"] == true && !record["undo_next"].is_null();
        assert!(records.iter().any(takes_back));
    }
}

#[test]
fn a_vlf_has_the_records_of_fn_dblog_piece_by_piece() {
    let story = Story::begin("web-vlf");
    let first = story.dblog("[Transaction Name] = 't1'").remove(0);
    let sequence = u32::from_str_radix(&first[..8], 16).unwrap();
    let whole = story.dblog(&format!("[Current LSN] like '{sequence:08x}:%'"));
    let ask = |after: String| story.page.ask(&format!("/vlf?{DATABASE}&sequence={sequence}{after}"));
    let mut found = ask(String::new());
    let mut rows = rows_of(&found);
    while found["cut_behind"] == true {
        found = ask(format!("&after={}", decimal(rows.last().unwrap())));
        assert!(!rows_of(&found).is_empty());
        rows.extend(rows_of(&found));
    }
    // The page shows what is not needed any more as well.
    assert!(rows.ends_with(&whole) && !whole.is_empty());
    let later = story.page.ask(&format!("/vlf?{DATABASE}&sequence=4000000000"));
    assert!(rows_of(&later).is_empty());
}

#[test]
fn a_page_stands_beside_the_records_that_changed_it() {
    let story = Story::begin("web-page");
    let inserted = story.serving.sql(
        "set nocount on use [sälès & co] select top (1) concat('page ', [Page ID]) from fn_dblog(null, null) where \
         Operation = 'LOP_INSERT_ROWS' and Context = 'LCX_CLUSTERED' and AllocUnitName like 'dbo.t.%' order by [Current LSN] desc",
    );
    let mut lines = inserted.lines();
    let shown = lines.find_map(|line| line.trim().strip_prefix("page ")).unwrap();
    let part = |text: &str| u32::from_str_radix(text, 16).unwrap();
    let (file, number) = shown.split_once(':').unwrap();
    let id = format!("{}:{}", part(file), part(number));
    let page = story.page.ask(&format!("/page?{DATABASE}&page={id}"));
    assert!(page["unit"].as_str().unwrap().starts_with("dbo.t."), "{page}");
    let changes = page["changes"]["records"].as_array().unwrap();
    assert_eq!(changes.last().unwrap()["lsn"], page["lsn"]);
    let is_its = |record: &serde_json::Value| record["pages"].as_array().unwrap().contains(&id.as_str().into());
    assert!(changes.iter().all(is_its));
    let rows = page["rows"].as_array().unwrap();
    let lies_within = |row: &serde_json::Value| row[1].as_u64().unwrap() >= 96 && row[2].as_u64().unwrap() > 2000;
    assert!(!rows.is_empty() && rows.iter().all(lies_within), "{page}");
}

#[test]
fn questions_that_make_no_sense_are_answered_by_their_status() {
    let folder = Folder::new("web-questions");
    let serving = Serving::start(serve(&folder.0).arg("--web"));
    let page = Page::of(&serving);
    for (question, status) in [
        ("/vlf?database=nothing&sequence=1", 404),
        ("/vlf?database=master&sequence=x", 400),
        ("/vlf?database=master&sequence=1&after=1", 400),
        ("/page?database=master&page=1:99999999", 404),
        ("/page?database=master&page=1", 400),
        ("/page?database=master&page=9:1", 404),
        ("/transaction?database=master&id=1", 400),
        ("/transaction?database=master&id=-1&near=1:1:1", 400),
        ("/vlf?sequence=1", 404),
    ] {
        assert_eq!(page.get(question).0, status, "{question}");
    }
}

#[test]
fn who_has_no_token_or_comes_by_another_name_gets_nothing() {
    let folder = Folder::new("web-refused");
    let serving = Serving::start(
        serve(&folder.0)
            .args(["--web", "0", "--log-format", "json"])
            .env_remove("X"),
    );
    let line: serde_json::Value = serde_json::from_str(serving.said.last().unwrap()).unwrap();
    let url = line["live_page"].as_str().unwrap();
    let (address, token) = url.strip_prefix("http://").unwrap().split_once("/?token=").unwrap();
    let page = Page {
        address: address.to_owned(),
        token: token.to_owned(),
    };
    let port = address.rsplit_once(':').unwrap().1;
    let status = |request: &str| split(&page.sent(request.as_bytes())).0;
    let asked = |path: &str, host: &str| status(&format!("GET {path} HTTP/1.1\r\n{host}\r\n"));
    let (good, right) = (format!("/?token={token}"), format!("Host: localhost:{port}\r\n"));
    assert_eq!(asked(&good, &right), 200);
    for path in [
        "/",
        "/?token=",
        "/?token=0",
        &good[..good.len() - 1],
        "/stand",
        "/events",
        "/vlf",
        "/nothing",
    ] {
        assert_eq!(asked(path, &right), 403, "{path}");
    }
    assert_eq!(asked(&format!("/nothing?token={token}"), &right), 404);
    for host in [
        "",
        "Host: evil.example\r\n",
        &format!("Host: localhost:{port}\r\n{right}"),
    ] {
        assert_eq!(asked(&good, host), 403, "{host}");
    }
    assert_eq!(status(&format!("POST {good} HTTP/1.1\r\n{right}\r\n")), 405);
    assert_eq!(
        status(&format!(
            "GET {good} HTTP/1.1\r\n{right}X: {}\r\n\r\n",
            "x".repeat(9_000)
        )),
        431
    );
    let whole = page.sent(page.request("/").as_bytes());
    let (head, body) = whole.split_once("\r\n\r\n").unwrap();
    assert!(head.contains("Content-Security-Policy: default-src 'none'"), "{head}");
    let links = ["http://", "https://", "@import", "src="];
    assert!(
        links.iter().all(|link| !body.contains(link)),
        "the page asks for nothing from elsewhere"
    );
    assert!(!body.contains(token), "the token is in the address alone");
}

#[test]
fn clients_that_are_silent_or_never_read_hold_up_nobody() {
    let folder = Folder::new("web-hostile");
    let serving = Serving::start(serve(&folder.0).arg("--web"));
    let page = Page::of(&serving);
    // More than there are places say nothing, and others ask for the stream and never read it.
    let silent: Vec<TcpStream> = (0..80).map(|_| TcpStream::connect(&page.address).unwrap()).collect();
    let asleep: Vec<TcpStream> = (0..8)
        .map(|_| {
            let mut stream = TcpStream::connect(&page.address).unwrap();
            stream.write_all(page.request("/events").as_bytes()).unwrap();
            stream
        })
        .collect();
    let mut stream = page.listen();
    let mut stand = stream.stand();
    serving.sql(SCRIPT);
    serving.sql(WORK);
    stream.follow(&mut stand, |stand| {
        stand.events.iter().any(|event| event.kind == EventKind::Shrink)
    });
    // Streams are bounded; the next is refused, and places are free again when pages close.
    let mut more: Vec<Stream> = Vec::new();
    let refused = loop {
        let mut stream = page.listen();
        let mut line = String::new();
        stream.0.read_line(&mut line).unwrap();
        if line.contains(" 503 ") {
            break more.len();
        }
        assert!(line.contains(" 200 "), "{line}");
        more.push(stream);
    };
    assert_eq!(refused + asleep.len() + 1, 16);
    drop((silent, asleep, more));
    assert_eq!(page.get("/stand").0, 200);
    assert_eq!(serving.sql("set nocount on select 40 + 2").trim(), "42");
}

#[test]
fn pages_are_told_that_the_server_stops() {
    let folder = Folder::new("web-stop");
    let mut serving = Serving::start(serve(&folder.0).arg("--web"));
    let mut stream = Page::of(&serving).listen();
    stream.stand();
    serving.signal("TERM");
    let names = std::iter::from_fn(|| Some(stream.next().0));
    assert_eq!(
        names
            .take_while(|name| name != "bye")
            .filter(|name| name != "frame")
            .count(),
        0
    );
    assert!(serving.wait().success());
}

/// `vlflab watch`, ended when dropped.
struct Watching(std::process::Child);

impl Watching {
    fn start(serving: &Serving, file: &Path) -> (Watching, Page) {
        let mut command = Command::new(PROGRAM);
        command.args([
            "watch",
            "-S",
            &serving.address,
            "-U",
            "sa",
            "-C",
            "--interval",
            "1",
            "--record",
        ]);
        command.arg(file).env("MSSQL_PASSWORD", PASSWORD);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap())
            .read_line(&mut line)
            .unwrap();
        (Watching(child), Page::in_line(&line))
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_watched_server_tells_by_differences_and_the_recording_replays_in_a_terminal() {
    let folder = Folder::new("watch");
    let serving = Serving::start(&mut serve(&folder.0));
    serving.sql(SCRIPT);
    let file = folder.0.join("watched.html");
    let (mut watching, page) = Watching::start(&serving, &file);
    let mut stream = page.listen();
    let mut stand = stream.stand();
    assert!(!stand.greeting.tells_itself, "it is read, and says so");
    let sales = |stand: &Stand| {
        stand
            .maps
            .iter()
            .find(|map| map.database == "sales")
            .unwrap()
            .vlfs()
            .count()
    };
    let before = sales(&stand);
    serving.sql(WORK);
    let has = |stand: &Stand, kind| {
        stand
            .events
            .iter()
            .any(|event| event.kind == kind && event.database == "sales")
    };
    stream.follow(&mut stand, |stand| {
        [EventKind::Growth, EventKind::Switch, EventKind::Truncation]
            .iter()
            .all(|kind| has(stand, *kind))
            && sales(stand) > before
    });
    let of_sales = stand.events.iter().filter(|event| event.database == "sales");
    assert!(
        of_sales.clone().count() > 0
            && of_sales
                .clone()
                .all(|event| event.since.is_some_and(|since| since < event.at))
    );

    let id = watching.0.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    assert!(watching.0.wait().unwrap().success());
    let text = std::fs::read_to_string(&file).unwrap();
    let recording = Recording::from_html(&text).unwrap();
    let mut played = recording.first.clone();
    recording.frames.iter().for_each(|frame| played.take(frame));
    assert_eq!(played.maps, stand.maps);
    assert!(!text.contains(PASSWORD));

    replays(&file, &folder);
}

/// The recording of the test above in a terminal; another file is refused.
fn replays(file: &Path, folder: &Folder) {
    let replayed = vlflab(&["replay", file.to_str().unwrap(), "--database", "sales"]);
    let lines = String::from_utf8(replayed.stdout).unwrap();
    assert!(
        replayed.status.success() && lines.contains("The log grew from "),
        "{lines}"
    );
    assert!(
        lines.contains("VLFs active, ") && !lines.contains("  tempdb  "),
        "{lines}"
    );
    let wrong = vlflab(&["replay", folder.0.join("data/master.mdf").to_str().unwrap()]);
    assert_eq!(wrong.status.code(), Some(2), "{}", said(&wrong));
}
