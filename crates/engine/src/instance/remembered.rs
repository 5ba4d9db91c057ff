//! Settings of the last start, kept in master's boot record: the emulated version and the log policy.
//!
//! Both decide how files are laid out. So a folder created as 2005 with the classic policy keeps both when it is started without these
//! options. A folder of format 2 has no such settings until it is started again.

use super::Instance;
use super::paths::DEFAULT_FOLDER;
use crate::error::Result;
use crate::log::LogPolicy;
use crate::recovery::BootRecord;
use crate::store::BootPage;
use disk::{Access, Disk};
use std::path::Path;
use vlf::ServerVersion;

/// How an instance was last started, as far as its folder says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Remembered {
    /// The version it spoke as.
    pub version: Option<ServerVersion>,
    /// How its log did its work.
    pub policy: Option<LogPolicy>,
}

impl Remembered {
    /// What the folder of an instance says; nothing if there is no instance, or if master cannot be read: then its opening says
    /// why.
    pub fn of_folder(disk: &dyn Disk, folder: &Path) -> Remembered {
        let primary = folder.join(DEFAULT_FOLDER).join("master.mdf");
        let file = disk.open(&primary, Access::Buffered).ok();
        let payload = file.and_then(|file| BootPage::peek(file.as_ref()));
        let boot = payload.and_then(|payload| BootRecord::decode(&payload, "master").ok());
        boot.map_or(Remembered::default(), |boot| Remembered {
            version: version_of(boot.server_version),
            policy: LogPolicy::from_code(boot.log_policy),
        })
    }
}

/// Product version, the major part in the high byte; never 0.
fn version_code(version: ServerVersion) -> u16 {
    let (major, minor) = version.product_version();
    u16::from_be_bytes([major, minor])
}

fn version_of(code: u16) -> Option<ServerVersion> {
    ServerVersion::ALL
        .into_iter()
        .find(|version| version_code(*version) == code)
}

impl Instance {
    /// Has master remember how this start was asked for.
    ///
    /// # Errors
    /// 823 when the boot record cannot be written.
    pub(super) fn remember(&self) -> Result<()> {
        let (version, policy) = (version_code(self.options.version), self.policy().code());
        let master = self.master()?;
        let boot = master.boot();
        if (boot.server_version, boot.log_policy) == (version, policy) {
            return Ok(());
        }
        master.change_boot(|boot| (boot.server_version, boot.log_policy) = (version, policy))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_version_has_a_code_of_its_own() {
        for version in ServerVersion::ALL {
            assert_eq!(version_of(version_code(version)), Some(version));
        }
        assert_eq!(version_of(0), None);
    }
}
