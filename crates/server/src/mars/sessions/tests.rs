//! The windows, turns and ends of MARS sessions, byte by byte.
#![allow(clippy::unwrap_used)]

use super::*;

const BATCH: u8 = 0x01;
const ATTENTION: u8 = 0x06;

/// A client's side of the connection.
struct Client {
    sessions: Sessions,
    signals: Signals,
}

fn header(kind: Kind, session: u16, sequence: u32, window: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let header = Header {
        kind,
        session,
        data_bytes: 0,
        sequence,
        window,
    };
    header.write(&mut bytes);
    bytes
}

/// A whole TDS message of `kind` as DATA.
fn message(session: u16, sequence: u32, kind: u8, body: &[u8]) -> Vec<u8> {
    let packet = [
        &[kind, 1],
        (body.len() as u16 + 8).to_be_bytes().as_slice(),
        &[0; 4],
        body,
    ]
    .concat();
    data(session, sequence, &packet)
}

fn data(session: u16, sequence: u32, bytes: &[u8]) -> Vec<u8> {
    let mut framed = Vec::new();
    let header = Header {
        kind: Kind::Data,
        session,
        data_bytes: bytes.len() as u32,
        sequence,
        window: WINDOW,
    };
    header.write(&mut framed);
    framed.extend_from_slice(bytes);
    framed
}

impl Client {
    fn new() -> Client {
        Client {
            sessions: Sessions::new(1 << 20, Room::default()),
            signals: Signals::default(),
        }
    }

    fn opened(sessions: &[u16]) -> Client {
        let mut client = Client::new();
        for session in sessions {
            client.send(&header(Kind::Syn, *session, 0, WINDOW)).unwrap();
        }
        client
    }

    fn send(&mut self, bytes: &[u8]) -> Result<(), PacketError> {
        self.sessions.take(bytes, &self.signals)
    }

    /// Whose message is served next, and its payload.
    fn next(&mut self) -> Option<(u16, Vec<u8>)> {
        match self.sessions.serve_next(&self.signals)? {
            (session, Inbound::Message(received)) => Some((session, received.message.payload)),
            (_, Inbound::Broken(error)) => panic!("{error}"),
        }
    }

    /// What is owed: kind, session, window.
    fn owed(&mut self) -> Vec<(Kind, u16, u32)> {
        let mut bytes = Vec::new();
        self.sessions.write_owed(&mut bytes);
        let (mut reader, mut input, mut found) = (SmpReader::default(), bytes.as_slice(), Vec::new());
        while let Some(Piece::Header(header)) = reader.next(&mut input).unwrap() {
            found.push((header.kind, header.session, header.window));
        }
        found
    }

    fn sequence_of_next(&mut self, session: u16) -> Option<u32> {
        match self.sessions.claim(session, 10) {
            Passage::Open(header) => Some(header.sequence),
            Passage::Full | Passage::Gone => None,
        }
    }
}

#[test]
fn messages_are_served_in_the_order_in_which_they_are_whole() {
    let mut client = Client::opened(&[0, 7]);
    let whole = message(0, 1, BATCH, b"first");
    let [head, tail] = [&whole[16..20], &whole[20..]];
    client.send(&data(0, 1, head)).unwrap();
    client.send(&message(7, 1, BATCH, b"second")).unwrap();
    client.send(&data(0, 2, tail)).unwrap();
    assert_eq!(client.next(), Some((7, b"second".to_vec())));
    client.sessions.served(Vec::new());
    assert_eq!(client.next(), Some((0, b"first".to_vec())));
    client.sessions.served(Vec::new());
    assert_eq!(client.next(), None);
}

/// A session whose request waits is given no window beyond the four packets it may send at once: so memory is bounded.
#[test]
fn who_waits_may_send_four_packets_and_no_more() {
    let mut client = Client::opened(&[3]);
    for sequence in 1..=4 {
        client.send(&message(3, sequence, BATCH, b"x")).unwrap();
    }
    assert_eq!(client.owed(), [], "nothing was served");
    assert_eq!(
        client.send(&message(3, 5, BATCH, b"x")),
        Err(SmpError::Sequence(5).into())
    );
    let mut client = Client::opened(&[3]);
    for sequence in 1..=4 {
        client.send(&message(3, sequence, BATCH, b"x")).unwrap();
    }
    for left in (0..4).rev() {
        assert!(client.next().is_some());
        client.sessions.served(Vec::new());
        let owed: &[_] = if left == 0 { &[(Kind::Ack, 3, 8)] } else { &[] };
        assert_eq!(client.owed(), owed, "{left} left");
    }
    // A long message of one session is received piece by piece.
    for sequence in 5..1000 {
        client
            .send(&data(3, sequence, &[BATCH, 0, 0, 9, 0, 0, 0, 0, b'x']))
            .unwrap();
        let owed = client.owed();
        let told = owed
            .iter()
            .all(|(kind, _, window)| *kind == Kind::Ack && *window == sequence + 4);
        assert!(told, "{owed:?} after {sequence}");
    }
}

#[test]
fn data_goes_out_as_far_as_the_clients_window() {
    let mut client = Client::opened(&[0, 1]);
    let sent: Vec<_> = (0..6).map(|_| client.sequence_of_next(0)).collect();
    assert_eq!(sent, [Some(1), Some(2), Some(3), Some(4), None, None]);
    assert!(!client.sessions.has_room(0) && client.sessions.has_room(1));
    client.send(&header(Kind::Ack, 0, 0, 5)).unwrap();
    assert_eq!(
        [client.sequence_of_next(0), client.sequence_of_next(0)],
        [Some(5), None]
    );
    client.send(&header(Kind::Ack, 0, 0, 3)).unwrap();
    assert_eq!(client.sequence_of_next(0), None, "a window does not shrink");
    client.send(&message(0, 1, BATCH, b"x")).unwrap();
    assert_eq!(client.sequence_of_next(0), None, "DATA told an old window");
}

#[test]
fn numbers_begin_again_at_0() {
    assert!(is_behind(u32::MAX, 0) && is_behind(u32::MAX - 1, 2) && is_behind(0, 1));
    assert!(!is_behind(0, u32::MAX) && !is_behind(1, 1) && !is_behind(2, 1));
}

#[test]
fn an_attention_is_of_its_session_alone() {
    let mut client = Client::opened(&[0, 1]);
    client.send(&message(0, 1, BATCH, b"runs")).unwrap();
    assert!(client.next().is_some());
    assert_eq!(client.signals.attentions(), 0);
    client.send(&message(1, 1, BATCH, b"waits")).unwrap();
    client.send(&message(1, 2, ATTENTION, b"")).unwrap();
    assert_eq!(client.signals.attentions(), 0, "it is another's");
    client.send(&message(0, 2, ATTENTION, b"")).unwrap();
    assert_eq!(client.signals.attentions(), 1);
    client.sessions.served(Vec::new());
    assert_eq!(client.next(), Some((1, b"waits".to_vec())));
    assert_eq!(client.signals.attentions(), 1, "cancelled before it was served");
}

#[test]
fn a_session_that_ends_is_answered_once_it_is_served_no_more() {
    let mut client = Client::opened(&[0, 1]);
    client.send(&message(1, 1, BATCH, b"runs")).unwrap();
    client.send(&message(1, 2, BATCH, b"waits")).unwrap();
    assert!(client.next().is_some());
    client.send(&header(Kind::Fin, 1, 2, 4)).unwrap();
    assert_eq!(client.owed(), []);
    assert_eq!(client.sessions.claim(1, 10), Passage::Gone, "nobody reads the answer");
    assert!(client.sessions.has_room(1), "so nobody waits for room");
    client.sessions.served(Vec::new());
    assert_eq!(client.next(), None, "nor wants what it sent ahead");
    let owed = client.owed();
    assert!(matches!(owed.as_slice(), [(Kind::Fin, 1, _)]), "{owed:?}");
    client.send(&header(Kind::Ack, 1, 2, 9)).unwrap();
    assert_eq!(
        client.send(&message(1, 3, BATCH, b"x")),
        Err(SmpError::NotOpen(1).into())
    );
    let mut client = Client::opened(&[1]);
    client.send(&header(Kind::Fin, 1, 0, 4)).unwrap();
    assert!(matches!(client.owed().as_slice(), [(Kind::Fin, 1, _)]));
    client.send(&header(Kind::Syn, 1, 0, 4)).unwrap();
    assert_eq!(client.sequence_of_next(1), Some(1), "its number is free again");
}

#[test]
fn what_no_client_sends_is_refused() {
    let mut client = Client::opened(&[0]);
    assert_eq!(
        client.send(&header(Kind::Syn, 0, 0, 4)),
        Err(SmpError::Opened(0).into())
    );
    assert_eq!(
        client.send(&header(Kind::Fin, 9, 0, 4)),
        Err(SmpError::NotOpen(9).into())
    );
    assert_eq!(
        client.send(&message(0, 2, BATCH, b"")),
        Err(SmpError::Sequence(2).into())
    );
    // A connection ends with its first error; this is another one.
    let mut client = Client::opened(&[0]);
    assert_eq!(client.send(&data(0, 1, b"\xff")), Err(PacketError::UnknownType(0xFF)));
    let mut client = Client::new();
    for session in 0..SESSIONS_MAX as u16 {
        client.send(&header(Kind::Syn, session, 0, 4)).unwrap();
    }
    let more = SESSIONS_MAX as u16;
    assert_eq!(
        client.send(&header(Kind::Syn, more, 0, 4)),
        Err(SmpError::Opened(more).into())
    );
}
