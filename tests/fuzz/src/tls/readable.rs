//! What the server sends, as an eavesdropper without the key reads it.

use server::encryption::ServerEncryption;

const PACKET_HEADER_BYTES: usize = 8;
const RECORD_HEADER_BYTES: usize = 5;
const ANSWER: u8 = 0x04;
const PRELOGIN: u8 = 0x12;
/// What a server answers to PRELOGIN about encryption: the login alone; none. Anything else is everything.
const LOGIN_ALONE: u8 = 0;
const NONE: u8 = 2;
/// More than a record of TLS 1.2 has (RFC 5246, 6.2.3).
const RECORD_BYTES_MAX: usize = 0x4000 + 2_048;
/// Stands in every answer to a login, and an answer to a login is the first that is said.
const IN_EVERY_LOGIN: &str = "Microsoft SQL Server";
const FIRST_BYTES: usize = 8 << 10;

/// What can be read of a server's bytes, in words, that should not be. A record or packet that was cut off at the end is none.
pub fn leaked(demand: ServerEncryption, sent: &[u8]) -> Option<String> {
    let first = sent.first()?;
    if *first != ANSWER {
        return only_records(sent).or_else(|| words(sent));
    }
    let (payload, mut rest) = packet(sent)?;
    let is_forced = matches!(demand, ServerEncryption::Required | ServerEncryption::Strict);
    // An answer to PRELOGIN begins with the option of the version, an answer to LOGIN7 with a token.
    let answered = match payload {
        [0, ..] => encryption_of(payload)?,
        _ if is_forced => return Some("a login was answered in the clear".to_owned()),
        _ => return None,
    };
    match answered {
        NONE if is_forced => Some("a server that demands encryption does without".to_owned()),
        NONE => None,
        _ => {
            while rest.first() == Some(&PRELOGIN) {
                let (payload, behind) = packet(rest)?;
                if let Some(leak) = only_records(payload) {
                    return Some(leak);
                }
                rest = behind;
            }
            if answered == LOGIN_ALONE {
                return None;
            }
            only_records(rest).or_else(|| words(rest))
        }
    }
}

/// A packet's contents and what follows it.
fn packet(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let length = usize::from(u16::from_be_bytes([*bytes.get(2)?, *bytes.get(3)?]));
    let (packet, rest) = bytes.split_at_checked(length)?;
    Some((packet.get(PACKET_HEADER_BYTES..)?, rest))
}

/// The option of encryption in an answer to PRELOGIN.
fn encryption_of(payload: &[u8]) -> Option<u8> {
    let option = payload.chunks(5).find(|option| option.first() == Some(&1))?;
    let place = usize::from(u16::from_be_bytes([*option.get(1)?, *option.get(2)?]));
    payload.get(place).copied()
}

/// Names what is not a record.
fn only_records(bytes: &[u8]) -> Option<String> {
    let mut rest = bytes;
    while let [kind, version, _, high, low, ..] = rest {
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        if !(20..=23).contains(kind) || *version != 3 || length > RECORD_BYTES_MAX {
            return Some(format!("no record of TLS: {:02x?}", &rest[..rest.len().min(40)]));
        }
        rest = rest.get(RECORD_HEADER_BYTES + length..).unwrap_or_default();
    }
    None
}

/// Says whether an answer to a login can be read.
fn words(bytes: &[u8]) -> Option<String> {
    names_the_server(bytes).then(|| "the answer to a login can be read".to_owned())
}

/// Whether there is the answer to a login, in the clear.
pub fn names_the_server(bytes: &[u8]) -> bool {
    let units: Vec<u8> = IN_EVERY_LOGIN.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let bytes = &bytes[..bytes.len().min(FIRST_BYTES)];
    bytes.windows(units.len()).any(|window| window == units)
}

#[cfg(test)]
mod tests {
    use super::leaked;
    use crate::tls::edits::record;
    use crate::wire;
    use server::encryption::ServerEncryption::{On, Required};

    #[test]
    fn what_can_be_read_is_found() {
        let reply = |answer: u8| wire::packets(4, &wire::prelogin_wishing(answer), 4_088);
        let wrapped = wire::packets(0x12, &record(22, b"hello"), 4_088);
        let sealed = record(23, b"anything");
        let words: Vec<u8> = "Microsoft SQL Server"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        let token = wire::packets(4, &[0xE3], 4_088);
        let said = |demand, parts: &[&[u8]]| leaked(demand, &parts.concat()).is_some();
        for whole in [
            &[&reply(1)[..], &wrapped, &sealed][..],
            &[&reply(3), &wrapped, &sealed, &sealed[..6]],
            &[&reply(0), &wrapped, &token],
            &[&reply(2), &token],
            &[&token],
            &[&sealed, &sealed],
            &[],
        ] {
            assert!(!said(On, whole), "{whole:?}");
        }
        assert!(said(On, &[&reply(1), &wrapped, &token]));
        assert!(said(On, &[&reply(1), &wrapped, &sealed, &token]));
        assert!(said(On, &[&reply(0), &wire::packets(0x12, b"no record", 100)]));
        assert!(said(On, &[&sealed, &token]));
        assert!(said(On, &[&record(23, &words)]));
        assert!(said(On, &[&reply(3), &wrapped, &record(23, &words)]));
        assert!(said(Required, &[&reply(2), &token]));
        assert!(said(Required, &[&token]));
    }
}
