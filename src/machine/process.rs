//! What this process uses now, and the physical memory below it, as `/proc` tells (`proc_pid_status(5)`,
//! `proc_pid_stat(5)`, `proc_meminfo(5)`).

use std::fs;
use std::path::Path;

/// Ticks of `/proc/self/stat` in a second: `USER_HZ`, a constant of the kernel's interface.
const TICKS_PER_SECOND: f64 = 100.0;

/// One look at this process; figures that the system does not tell are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ProcessReading {
    /// Bytes of resident memory.
    pub resident: u64,
    /// The most bytes of resident memory so far.
    pub peak_resident: u64,
    /// Threads.
    pub threads: u64,
    /// Open descriptors.
    pub descriptors: u64,
    /// Processor time of this process and of its finished children, in seconds.
    pub cpu_seconds: f64,
}

impl ProcessReading {
    /// Looks at this process.
    pub fn now() -> Self {
        Self::under(Path::new("/"))
    }

    fn under(root: &Path) -> Self {
        let folder = root.join("proc/self");
        let status = fs::read_to_string(folder.join("status")).unwrap_or_default();
        let stat = fs::read_to_string(folder.join("stat")).unwrap_or_default();
        Self {
            resident: kibibytes(&status, "VmRSS:").unwrap_or(0),
            peak_resident: kibibytes(&status, "VmHWM:").unwrap_or(0),
            threads: field(&status, "Threads:").unwrap_or(0),
            descriptors: open_descriptors(&folder),
            cpu_seconds: cpu_seconds(&stat).unwrap_or(0.0),
        }
    }
}

/// Bytes of memory of the machine.
pub(super) fn physical_memory(root: &Path) -> Option<u64> {
    kibibytes(&fs::read_to_string(root.join("proc/meminfo")).ok()?, "MemTotal:")
}

/// Entries of `fd`; reading the folder opens one more, which does not count.
fn open_descriptors(folder: &Path) -> u64 {
    fs::read_dir(folder.join("fd")).map_or(0, |entries| (entries.count() as u64).saturating_sub(1))
}

/// utime, stime, cutime and cstime: fields 14 to 17. The second field, the program's name, may hold spaces and ends
/// with the last `)`; field 3 follows.
pub(super) fn cpu_seconds(stat: &str) -> Option<f64> {
    let (_, after_name) = stat.rsplit_once(") ")?;
    let ticks: Vec<u64> =
        after_name.split(' ').skip(11).take(4).map(str::parse).collect::<Result<_, _>>().ok()?;
    (ticks.len() == 4).then(|| ticks.iter().sum::<u64>() as f64 / TICKS_PER_SECOND)
}

fn kibibytes(text: &str, key: &str) -> Option<u64> {
    field(text, key).map(|count| count.saturating_mul(1024))
}

/// The number after a key at the beginning of a line.
fn field(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_files_of_a_process() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("proc/self");
        fs::create_dir_all(folder.join("fd")).unwrap();
        for name in ["0", "1", "2", "7"] {
            fs::write(folder.join("fd").join(name), "").unwrap();
        }
        fs::write(
            folder.join("status"),
            "Name:\tgisrun\nVmHWM:\t    2048 kB\nVmRSS:\t 1024 kB\nThreads:\t5\n",
        )
        .unwrap();
        let stat = "42 (a ) b) S 1 42 42 0 -1 4194304 10 20 0 0 150 50 25 75 20 0 5 0 1 2 3";
        fs::write(folder.join("stat"), stat).unwrap();

        let expected = ProcessReading {
            resident: 1 << 20,
            peak_resident: 2 << 20,
            threads: 5,
            descriptors: 3,
            cpu_seconds: 3.0,
        };
        assert_eq!(ProcessReading::under(root.path()), expected);
    }

    #[test]
    fn a_system_without_proc_reads_as_nothing() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(ProcessReading::under(root.path()), ProcessReading::default());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn an_open_file_is_counted() {
        let files: Vec<_> = (0..50).map(|_| tempfile::tempfile().unwrap()).collect();
        let reading = ProcessReading::now();
        assert!(reading.descriptors >= files.len() as u64);
        assert!(reading.resident > 0 && reading.peak_resident >= reading.resident && reading.threads >= 1);
    }
}
