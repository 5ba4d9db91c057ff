//! Ways to a server that does not answer at the address it is known by: routing by ENVCHANGE 20, SQL Server Browser. The other side is a small
//! server of the test that speaks the documented bytes.

use lab::client::{ClientError, Connection, Security, Target, instance_port};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::thread::{self, JoinHandle};
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(20);

fn target(host: &str, port: u16) -> Target {
    Target {
        host: host.to_owned(),
        port,
        user: "reader".to_owned(),
        password: "secret".to_owned(),
        access_token: None,
        kerberos: None,
        database: None,
        timeout: LIMIT,
        security: Security::none(),
    }
}

/// One packet's payload ([MS-TDS] 2.2.3: eight bytes of header, the length big-endian in bytes 2 and 3).
fn packet(stream: &mut TcpStream) -> Vec<u8> {
    let mut header = [0; 8];
    stream.read_exact(&mut header).unwrap();
    let mut payload = vec![0; usize::from(u16::from_be_bytes([header[2], header[3]])) - 8];
    stream.read_exact(&mut payload).unwrap();
    payload
}

fn answer(stream: &mut TcpStream, payload: &[u8]) {
    let length = (payload.len() as u16 + 8).to_be_bytes();
    let mut bytes = vec![4, 1, length[0], length[1], 0, 0, 1, 0];
    bytes.extend_from_slice(payload);
    stream.write_all(&bytes).unwrap();
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// PRELOGIN's answer: version 12.0, no encryption ([MS-TDS] 2.2.6.5).
const PRELOGIN: [u8; 18] = [0, 0, 11, 0, 6, 1, 0, 17, 0, 1, 0xFF, 12, 0, 0, 200, 0, 0, 2];

/// LOGINACK of TDS 7.4 by "Microsoft SQL Server" ([MS-TDS] 2.2.7.14).
fn login_acknowledged() -> Vec<u8> {
    let name = utf16("Microsoft SQL Server");
    let mut data = vec![1, 0x74, 0, 0, 4, (name.len() / 2) as u8];
    data.extend_from_slice(&name);
    data.extend_from_slice(&[12, 0, 0, 200]);
    let mut token = vec![0xAD];
    token.extend_from_slice(&(data.len() as u16).to_le_bytes());
    token.extend_from_slice(&data);
    token
}

/// ENVCHANGE 20: protocol 0 (TCP), the port, the server ([MS-TDS] 2.2.7.9).
fn routed_to(host: &str, port: u16) -> Vec<u8> {
    let name = utf16(host);
    let mut route = vec![0];
    route.extend_from_slice(&port.to_le_bytes());
    route.extend_from_slice(&((name.len() / 2) as u16).to_le_bytes());
    route.extend_from_slice(&name);
    let mut data = vec![20];
    data.extend_from_slice(&(route.len() as u16).to_le_bytes());
    data.extend_from_slice(&route);
    data.extend_from_slice(&[0, 0]);
    let mut token = vec![0xE3];
    token.extend_from_slice(&(data.len() as u16).to_le_bytes());
    token.extend_from_slice(&data);
    token
}

const DONE: [u8; 13] = [0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// Answers so many logins with these tokens; then their server names.
fn logins(listener: TcpListener, count: usize, tokens: Vec<u8>) -> JoinHandle<Vec<String>> {
    thread::spawn(move || {
        let mut names = Vec::new();
        for _ in 0..count {
            let (mut stream, _) = listener.accept().unwrap();
            packet(&mut stream);
            answer(&mut stream, &PRELOGIN);
            let login = packet(&mut stream);
            // ibServerName and cchServerName ([MS-TDS] 2.2.6.4).
            let at = |place: usize| usize::from(u16::from_le_bytes([login[place], login[place + 1]]));
            let name = &login[at(52)..at(52) + 2 * at(54)];
            let units: Vec<u16> = name
                .chunks_exact(2)
                .map(|pair| u16::from_le_bytes([pair[0], pair[1]]))
                .collect();
            names.push(String::from_utf16(&units).unwrap());
            answer(&mut stream, &tokens);
        }
        names
    })
}

fn listen() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

#[test]
fn a_login_is_sent_on_to_where_the_server_says() {
    let ((gateway, gateway_port), (worker, worker_port)) = (listen(), listen());
    let tokens = [login_acknowledged(), routed_to("127.0.0.1", worker_port), DONE.to_vec()].concat();
    let sends_on = logins(gateway, 1, tokens);
    let takes = logins(worker, 1, [login_acknowledged(), DONE.to_vec()].concat());
    let connection = Connection::open(&target("localhost", gateway_port)).unwrap();
    assert_eq!(connection.info().program, "Microsoft SQL Server");
    assert_eq!(sends_on.join().unwrap(), ["localhost"]);
    assert_eq!(takes.join().unwrap(), ["127.0.0.1"]);
}

#[test]
fn a_circle_of_routes_ends() {
    let (listener, port) = listen();
    let tokens = [login_acknowledged(), routed_to("127.0.0.1", port), DONE.to_vec()].concat();
    let circle = logins(listener, 10, tokens);
    let refused = Connection::open(&target("127.0.0.1", port)).err().unwrap();
    assert!(refused.to_string().contains("routed on and on"), "{refused}");
    assert_eq!(circle.join().unwrap().len(), 10);
}

/// A Browser that drops the first question, as datagrams are, and answers the second.
fn browser(answer: &'static [u8]) -> (u16, JoinHandle<Vec<u8>>) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = socket.local_addr().unwrap().port();
    let thread = thread::spawn(move || {
        let mut question = [0; 64];
        socket.recv_from(&mut question).unwrap();
        let (count, from) = socket.recv_from(&mut question).unwrap();
        socket.send_to(answer, from).unwrap();
        question[..count].to_vec()
    });
    (port, thread)
}

#[test]
fn the_browser_of_a_host_tells_the_port_of_an_instance() {
    let (port, asked) = browser(
        b"\x05\x4c\x00ServerName;DB1;InstanceName;SALES;IsClustered;No;Version;15.0.2000.5;tcp;49171;np;\\\\DB1\\pipe\\sql;;",
    );
    assert_eq!(instance_port("127.0.0.1", "Sales", port, LIMIT), Ok(49171));
    assert_eq!(asked.join().unwrap(), b"\x04Sales\0");
    let (port, _) = browser(b"\x05\x30\x00ServerName;DB1;InstanceName;SALES;IsClustered;No;Version;9.0;np;x;;");
    assert!(
        instance_port("127.0.0.1", "SALES", port, LIMIT)
            .unwrap_err()
            .contains("does not listen on TCP")
    );
    let (port, _) = browser(b"\x05");
    assert!(
        instance_port("127.0.0.1", "SALES", port, LIMIT)
            .unwrap_err()
            .contains("is none")
    );
    // Nobody is there: the host says so at once, or nothing comes.
    let closed = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let refused = instance_port("127.0.0.1", "SALES", closed, Duration::from_millis(50)).unwrap_err();
    assert!(refused.contains("127.0.0.1,PORT"), "{refused}");
    assert!(instance_port("127.0.0.1", "", closed, LIMIT).is_err());
}

/// It would be readable on the way.
#[test]
fn a_token_is_not_sent_to_a_server_without_encryption() {
    let (listener, port) = listen();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let question = packet(&mut stream);
        answer(&mut stream, &PRELOGIN);
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).unwrap();
        (question, rest)
    });
    let with_token = Target {
        access_token: Some("eyJ0.secret".to_owned()),
        ..target("127.0.0.1", port)
    };
    let refused = Connection::open(&with_token).err().unwrap();
    assert!(matches!(refused, ClientError::Unreachable { .. }), "{refused}");
    assert!(refused.to_string().contains("encrypted connection only"), "{refused}");
    let (question, rest) = server.join().unwrap();
    assert!(rest.is_empty(), "{rest:?}");
    // FEDAUTHREQUIRED is option 6 of PRELOGIN, of one byte, 1.
    let option = question
        .chunks_exact(5)
        .take_while(|option| option[0] != 0xFF)
        .find(|option| option[0] == 6);
    let option = option.expect("PRELOGIN says that a token comes");
    assert_eq!(question[usize::from(u16::from_be_bytes([option[1], option[2]]))], 1);
}
