//! PRELOGIN: the negotiation before the login.
//!
//! ```text
//! options: token u8 | offset u16 BE | length u16 BE, ... , FF; then the options' data at their offsets
//! 0 version (6 bytes) · 1 encryption (1) · 2 instance name · 3 thread id · 4 MARS (1) · 5 trace id · 6 federated
//! ```
//!
//! The reply travels in a packet of type 04; with 12 most drivers refuse it.

use crate::cursor::{Cursor, DecodeError};

/// What a side says about encryption (MS-TDS 2.2.6.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encryption {
    /// Encrypt the login only.
    Off,
    /// Encrypt everything.
    On,
    /// This side does not encrypt.
    NotSupported,
    /// Encrypt everything or give up.
    Required,
    /// TLS came first, and this is said within it (TDS 8.0).
    Strict,
}

/// What a server has and demands, as SQL Server's "Force Encryption" and "Force Strict Encryption" say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerEncryption {
    /// It has none.
    Off,
    /// The client chooses.
    On,
    /// All of every connection is encrypted.
    Required,
    /// And TLS comes before TDS.
    Strict,
}

/// What is encrypted after the negotiation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// All travels readable.
    Nothing,
    /// The TLS handshake comes, LOGIN7 is encrypted, and what follows is not.
    Login,
    /// The TLS handshake comes, and all that follows is encrypted.
    Everything,
    /// The client cannot do what the server demands; the connection ends.
    Refused,
}

impl Encryption {
    pub fn from_byte(byte: u8) -> Option<Self> {
        // 0x20 and up carry the client-certificate bit besides the level.
        match byte & 0x1F {
            0 => Some(Self::Off),
            1 => Some(Self::On),
            2 => Some(Self::NotSupported),
            3 => Some(Self::Required),
            4 => Some(Self::Strict),
            _ => None,
        }
    }

    pub fn to_byte(self) -> u8 {
        match self {
            Self::Off => 0,
            Self::On => 1,
            Self::NotSupported => 2,
            Self::Required => 3,
            Self::Strict => 4,
        }
    }

    /// What a server answers to a client of TDS 7 that said `self`, and what is encrypted then (MS-TDS 2.2.6.5, the tables of client
    /// and server). A server that is strict answers as one that requires encryption: it tells who has logged in encrypted what is
    /// demanded.
    pub fn negotiate(self, server: ServerEncryption) -> (Self, Scope) {
        use ServerEncryption as Server;
        match (server, self) {
            (Server::Off, _) => (Self::NotSupported, Scope::Nothing),
            (Server::On, Self::NotSupported) => (Self::NotSupported, Scope::Nothing),
            (Server::On, Self::Off) => (Self::Off, Scope::Login),
            (Server::Required | Server::Strict, Self::NotSupported) => (Self::Required, Scope::Refused),
            (Server::Required | Server::Strict, Self::Off) => (Self::Required, Scope::Everything),
            (_, Self::On | Self::Required | Self::Strict) => (Self::On, Scope::Everything),
        }
    }
}

/// What the client proposes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreLogin {
    /// The driver's version: major, minor, build.
    pub client_version: (u8, u8, u16),
    /// Its wish about encryption.
    pub encryption: Encryption,
    /// The instance it means, empty for the default one.
    pub instance: String,
    /// It asks for several active result sets on one connection.
    pub mars: bool,
    /// It speaks of federated authentication.
    pub federated: Option<u8>,
}

impl PreLogin {
    /// Parses the payload of a PRELOGIN message.
    pub fn parse(payload: &[u8]) -> Result<Self, DecodeError> {
        let mut parsed = Self {
            client_version: (0, 0, 0),
            encryption: Encryption::NotSupported,
            instance: String::new(),
            mars: false,
            federated: None,
        };
        let mut options = Cursor::new(payload);
        loop {
            let option = options.u8("PRELOGIN options")?;
            if option == 0xFF {
                return Ok(parsed);
            }
            let offset = u16::from_be_bytes(options.array("PRELOGIN option")?);
            let length = u16::from_be_bytes(options.array("PRELOGIN option")?);
            let start = usize::from(offset);
            let data = payload
                .get(start..start + usize::from(length))
                .ok_or(DecodeError::Truncated("PRELOGIN option"))?;
            parsed.take_option(option, data)?;
        }
    }

    fn take_option(&mut self, option: u8, data: &[u8]) -> Result<(), DecodeError> {
        match (option, data) {
            (0, &[major, minor, high, low, ..]) => {
                self.client_version = (major, minor, u16::from_be_bytes([high, low]));
            }
            (1, &[level, ..]) => {
                self.encryption = Encryption::from_byte(level)
                    .ok_or(DecodeError::Invalid("PRELOGIN encryption level", u64::from(level)))?;
            }
            (2, name) => {
                let end = name.iter().position(|&b| b == 0).unwrap_or(name.len());
                self.instance = String::from_utf8_lossy(&name[..end]).into_owned();
            }
            (4, &[mars, ..]) => self.mars = mars == 1,
            (6, &[federated, ..]) => self.federated = Some(federated),
            _ => {}
        }
        Ok(())
    }
}

/// What the server answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PreLoginReply {
    /// The server's version: major, minor, build.
    pub server_version: (u8, u8, u16),
    /// The decision about encryption.
    pub encryption: Encryption,
    /// The client asked for several sessions on its connection, and has them ([`crate::smp`]).
    pub mars: bool,
}

impl PreLoginReply {
    /// Appends the reply's payload to `out`.
    pub fn write(&self, out: &mut Vec<u8>) {
        let (major, minor, build) = self.server_version;
        let [high, low] = build.to_be_bytes();
        let version = [major, minor, high, low, 0, 0];
        let encryption = [self.encryption.to_byte()];
        let mars = [u8::from(self.mars)];
        let options: [(u8, &[u8]); 5] = [(0, &version), (1, &encryption), (2, &[0]), (3, &[]), (4, &mars)];
        let mut offset = u16::try_from(options.len() * 5 + 1).unwrap_or(0);
        for (option, data) in options {
            let length = u16::try_from(data.len()).unwrap_or(0);
            out.push(option);
            out.extend_from_slice(&offset.to_be_bytes());
            out.extend_from_slice(&length.to_be_bytes());
            offset += length;
        }
        out.push(0xFF);
        for (_, data) in options {
            out.extend_from_slice(data);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use tds_protocol::{EncryptionLevel, PreLogin as Peer};

    #[test]
    fn a_drivers_prelogin_is_understood() {
        let bytes = Peer::new()
            .with_encryption(EncryptionLevel::On)
            .with_instance("SQL1")
            .with_mars(true)
            .encode();
        let parsed = PreLogin::parse(&bytes).unwrap();
        assert_eq!(parsed.encryption, Encryption::On);
        assert_eq!(parsed.instance, "SQL1");
        assert!(parsed.mars);
    }

    #[test]
    fn the_reply_is_understood_by_a_driver() {
        for mars in [false, true] {
            let mut out = Vec::new();
            PreLoginReply {
                server_version: (16, 0, 1000),
                encryption: Encryption::NotSupported,
                mars,
            }
            .write(&mut out);
            let peer = Peer::decode(out.as_slice()).unwrap();
            assert_eq!((peer.encryption, peer.mars), (EncryptionLevel::NotSupported, mars));
        }
    }

    #[test]
    fn every_client_with_every_server() {
        use Encryption::{NotSupported, Off, On, Required, Strict};
        use Scope::{Everything, Login, Nothing, Refused};
        let servers = [
            ServerEncryption::Off,
            ServerEncryption::On,
            ServerEncryption::Required,
            ServerEncryption::Strict,
        ];
        let none = (NotSupported, Nothing);
        let table = [
            (
                Off,
                [none, (Off, Login), (Required, Everything), (Required, Everything)],
            ),
            (On, [none, (On, Everything), (On, Everything), (On, Everything)]),
            (NotSupported, [none, none, (Required, Refused), (Required, Refused)]),
            (Required, [none, (On, Everything), (On, Everything), (On, Everything)]),
            (Strict, [none, (On, Everything), (On, Everything), (On, Everything)]),
        ];
        for (client, answers) in table {
            assert_eq!(Encryption::from_byte(client.to_byte()), Some(client));
            assert_eq!(servers.map(|server| client.negotiate(server)), answers, "{client:?}");
        }
    }

    #[test]
    fn options_that_point_outside_are_refused() {
        let bytes = [1, 0, 200, 0, 1, 0xFF];
        assert!(matches!(PreLogin::parse(&bytes), Err(DecodeError::Truncated(_))));
        assert!(PreLogin::parse(&[]).is_err());
    }
}
