//! The operating system that this process runs on, as it describes itself in os-release(5).

use std::sync::OnceLock;

/// Where the description is, the first that there is.
const FILES: [&str; 2] = ["/etc/os-release", "/usr/lib/os-release"];

/// A distribution with its release; both are empty where the system does not tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Host {
    /// `Ubuntu`, `Debian GNU/Linux`
    pub distribution: String,
    /// `24.04`, `12`
    pub release: String,
}

/// This machine's, read once.
pub fn host() -> &'static Host {
    static HOST: OnceLock<Host> = OnceLock::new();
    HOST.get_or_init(|| {
        let described = FILES.iter().find_map(|path| std::fs::read_to_string(path).ok());
        described.map_or_else(Host::default, |text| described_by(&text))
    })
}

fn described_by(text: &str) -> Host {
    let value_of = |key: &str| {
        let value = text
            .lines()
            .find_map(|line| line.trim().strip_prefix(key)?.strip_prefix('='));
        value.unwrap_or_default().trim_matches(['"', '\'']).to_owned()
    };
    Host {
        distribution: value_of("NAME"),
        release: value_of("VERSION_ID"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_and_release_are_read_with_quotes_and_without() {
        let host = |distribution: &str, release: &str| Host {
            distribution: distribution.to_owned(),
            release: release.to_owned(),
        };
        for (text, expected) in [
            (
                "PRETTY_NAME=\"x\"\nNAME=\"Ubuntu\"\nVERSION_ID=\"24.04\"\nVERSION=\"24.04 LTS\"",
                host("Ubuntu", "24.04"),
            ),
            ("NAME=Fedora\nVERSION_ID=41\n", host("Fedora", "41")),
            ("NAME='Arch Linux'", host("Arch Linux", "")),
            ("", Host::default()),
        ] {
            assert_eq!(described_by(text), expected, "{text}");
        }
    }
}
