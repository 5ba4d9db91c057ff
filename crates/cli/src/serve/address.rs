//! Where a server tells of itself.

use server::listener;
use std::net::{Ipv4Addr, SocketAddr};
use std::str::FromStr;

/// `ADDRESS:PORT`, or `PORT` of this machine's own address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MonitorAddress(pub SocketAddr);

impl FromStr for MonitorAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<MonitorAddress, String> {
        if let Ok(port) = text.parse() {
            return Ok(MonitorAddress(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port)));
        }
        let address = text.parse().map(MonitorAddress);
        address.map_err(|_| "write PORT, ADDRESS:PORT or [IPV6-ADDRESS]:PORT, such as 127.0.0.1:9399".to_owned())
    }
}

impl MonitorAddress {
    /// Where who listens at this address is reached from this machine.
    pub fn reachable(self) -> SocketAddr {
        listener::reachable(self.0)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_port_alone_is_this_machines_own() {
        for (text, address, reached) in [
            ("9399", "127.0.0.1:9399", "127.0.0.1:9399"),
            ("0.0.0.0:9399", "0.0.0.0:9399", "127.0.0.1:9399"),
            ("[::]:1", "[::]:1", "[::1]:1"),
            ("192.0.2.1:80", "192.0.2.1:80", "192.0.2.1:80"),
        ] {
            let parsed: MonitorAddress = text.parse().unwrap();
            assert_eq!(
                (parsed.0.to_string(), parsed.reachable().to_string()),
                (address.into(), reached.into())
            );
        }
        for wrong in ["", "localhost", "127.0.0.1", "65536", "1:2:3", "127.0.0.1:-1"] {
            assert!(wrong.parse::<MonitorAddress>().is_err(), "{wrong}");
        }
    }
}
