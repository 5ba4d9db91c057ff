//! A small tmpfs that fills up. Mounting it takes root; tests say why they are skipped elsewhere.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) const DISK_BYTES: u64 = 24 << 20;
pub(crate) const BALLAST_BYTES: usize = 8 << 20;

/// A mounted file system, unmounted when dropped.
pub(crate) struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts it there, as a rule at an instance's drive `F:`, or says why not.
    pub(crate) fn mount(path: &Path) -> Option<SmallDisk> {
        fs::create_dir_all(path).unwrap();
        let size = format!("size={DISK_BYTES}");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &size, "tmpfs"])
            .arg(path)
            .output();
        match mounted {
            Ok(output) if output.status.success() => Some(SmallDisk(path.to_owned())),
            Ok(output) => {
                println!("skipped: full disk: {}", String::from_utf8_lossy(&output.stderr).trim());
                None
            }
            Err(error) => {
                println!("skipped: full disk: mount: {error}");
                None
            }
        }
    }

    /// Takes space that is given back later.
    pub(crate) fn add_ballast(&self) {
        fs::write(self.0.join("ballast"), vec![1; BALLAST_BYTES]).unwrap();
    }

    pub(crate) fn remove_ballast(&self) {
        fs::remove_file(self.0.join("ballast")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg("--lazy").arg(&self.0).status();
        assert!(
            unmounted.is_ok_and(|status| status.success()),
            "{} stays mounted",
            self.0.display()
        );
    }
}
