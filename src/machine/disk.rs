//! Free disk of a folder, and whether it is disk at all.

use std::path::Path;

use rustix::fs::statvfs;

/// Bytes that this user may still write in a folder, or in the nearest folder above it that exists.
pub fn free_disk(folder: &Path) -> Option<u64> {
    let disk = statvfs(nearest_existing(folder)?).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Whether what is written in a folder stays in memory: a tmpfs or a ramfs.
#[cfg(target_os = "linux")]
pub fn is_in_memory(folder: &Path) -> bool {
    /// `TMPFS_MAGIC` and `RAMFS_MAGIC` of `statfs(2)`.
    const IN_MEMORY: [u64; 2] = [0x0102_1994, 0x8584_58f6];
    nearest_existing(folder)
        .and_then(|folder| rustix::fs::statfs(folder).ok())
        .is_some_and(|disk| IN_MEMORY.contains(&(disk.f_type as u64)))
}

/// Whether what is written in a folder stays in memory; not known here.
#[cfg(not(target_os = "linux"))]
pub fn is_in_memory(_folder: &Path) -> bool {
    false
}

fn nearest_existing(folder: &Path) -> Option<&Path> {
    folder.ancestors().find(|ancestor| ancestor.exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_does_not_exist_yet_has_the_free_disk_of_the_one_above() {
        let folder = tempfile::tempdir().unwrap();
        assert!(free_disk(&folder.path().join("not/yet")).is_some_and(|free| free > 0));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn tells_memory_from_disk() {
        assert!(!is_in_memory(Path::new("/proc")));
        let shared = Path::new("/dev/shm");
        let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
        let is_mounted = mounts.lines().any(|line| line.starts_with("tmpfs /dev/shm "));
        assert!(!is_mounted || is_in_memory(shared));
    }
}
