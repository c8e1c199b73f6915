//! What this process and all that it started use now, as `/proc` tells (`proc_pid_stat(5)`, `proc_pid_statm(5)`,
//! `proc_pid_task(5)`; `schedstat` as the kernel's `Documentation/scheduler/sched-stats.rst` describes it).

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::process::cpu_seconds;

/// The most processes that are looked at; a program that starts more is told too small.
const MOST: usize = 4096;

/// One look at this process, its children and theirs; figures that the system does not tell are 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FamilyReading {
    /// Seconds of processor time of all of them, and of the children that have ended.
    pub cpu_seconds: f64,
    /// Processes that this one started and that run.
    pub programs: u64,
    /// Those of them that compute or wait for a processor, themselves or with what they started; the others wait for
    /// something else.
    pub runnable_programs: u64,
    /// Bytes of resident memory of these and of what they started.
    pub programs_resident: u64,
    /// The same of the largest one.
    pub largest_program: u64,
    /// Nanoseconds that each thread waited for a processor, by process and thread.
    starved: HashMap<(u32, u32), u64>,
}

/// One process.
#[derive(Default)]
struct Member {
    cpu: f64,
    resident: u64,
    is_runnable: bool,
    children: Vec<u32>,
}

impl FamilyReading {
    /// Looks at this process and all below it.
    pub fn now() -> Self {
        Self::under(Path::new("/"), std::process::id())
    }

    /// Seconds of processor time since an earlier look.
    pub fn cpu_since(&self, earlier: &Self) -> f64 {
        (self.cpu_seconds - earlier.cpu_seconds).max(0.0)
    }

    /// Seconds that threads waited for a processor since an earlier look; what threads waited that have ended
    /// meanwhile is not known.
    pub fn starved_since(&self, earlier: &Self) -> f64 {
        let since = |(thread, waited): (&(u32, u32), &u64)| {
            waited.saturating_sub(earlier.starved.get(thread).copied().unwrap_or(0))
        };
        self.starved.iter().map(since).sum::<u64>() as f64 / 1e9
    }

    fn under(root: &Path, own: u32) -> Self {
        let mut reading = Self::default();
        let member = reading.add(root, own);
        reading.programs = member.children.len() as u64;
        for child in member.children {
            let (resident, is_runnable) = reading.add_tree(root, child);
            reading.runnable_programs += u64::from(is_runnable);
            reading.programs_resident += resident;
            reading.largest_program = reading.largest_program.max(resident);
        }
        reading
    }

    /// Takes in a process with all below it; their resident memory, and whether any of them is runnable.
    fn add_tree(&mut self, root: &Path, first: u32) -> (u64, bool) {
        let (mut ahead, mut seen, mut resident, mut is_runnable) = (vec![first], 0, 0, false);
        while let Some(process) = ahead.pop().filter(|_| seen < MOST) {
            seen += 1;
            let member = self.add(root, process);
            resident += member.resident;
            is_runnable |= member.is_runnable;
            ahead.extend(member.children);
        }
        (resident, is_runnable)
    }

    fn add(&mut self, root: &Path, process: u32) -> Member {
        let folder = root.join(format!("proc/{process}"));
        let mut member = Member::read(&folder);
        for (thread, folder) in threads(&folder) {
            if let Some(waited) = waited(&folder) {
                self.starved.insert((process, thread), waited);
            }
            member.is_runnable |= is_runnable(&folder);
            member.children.extend(children(&folder));
        }
        self.cpu_seconds += member.cpu;
        member
    }
}

impl Member {
    fn read(folder: &Path) -> Self {
        let stat = fs::read_to_string(folder.join("stat")).unwrap_or_default();
        let statm = fs::read_to_string(folder.join("statm")).unwrap_or_default();
        let pages: Option<u64> = statm.split(' ').nth(1).and_then(|pages| pages.parse().ok());
        let resident = pages.unwrap_or(0).saturating_mul(rustix::param::page_size() as u64);
        Self { cpu: cpu_seconds(&stat).unwrap_or(0.0), resident, ..Self::default() }
    }
}

fn threads(process: &Path) -> impl Iterator<Item = (u32, PathBuf)> {
    let entries = fs::read_dir(process.join("task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path())))
}

/// Nanoseconds that a thread waited for a processor: the second figure of `schedstat`.
fn waited(thread: &Path) -> Option<u64> {
    fs::read_to_string(thread.join("schedstat")).ok()?.split(' ').nth(1)?.parse().ok()
}

/// Whether a thread computes or waits for a processor: state `R`, the third field of its `stat`.
fn is_runnable(thread: &Path) -> bool {
    let stat = fs::read_to_string(thread.join("stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, after_name)| after_name.starts_with('R'))
}

fn children(thread: &Path) -> Vec<u32> {
    let text = fs::read_to_string(thread.join("children")).unwrap_or_default();
    text.split_whitespace().filter_map(|process| process.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process with one thread: ticks of processor time, pages, nanoseconds waited, children.
    fn process(root: &Path, own: u32, ticks: u64, pages: u64, waited: u64, children: &str) {
        let folder = root.join(format!("proc/{own}"));
        let thread = folder.join(format!("task/{own}"));
        fs::create_dir_all(&thread).unwrap();
        fs::write(folder.join("stat"), format!("{own} (a) S 1 1 1 0 -1 0 0 0 0 0 {ticks} 0 0 0 20 0"))
            .unwrap();
        fs::write(folder.join("statm"), format!("900 {pages} 3 1 0 5 0")).unwrap();
        fs::write(thread.join("schedstat"), format!("5 {waited} 9\n")).unwrap();
        fs::write(thread.join("children"), children).unwrap();
        let state = if own == 13 { 'R' } else { 'S' };
        fs::write(thread.join("stat"), format!("{own} (a ) b) {state} 1 1 1")).unwrap();
    }

    #[test]
    fn all_below_a_process_is_added_up() {
        let root = tempfile::tempdir().unwrap();
        process(root.path(), 10, 100, 1, 1_000_000_000, "11 12 ");
        process(root.path(), 11, 50, 2, 0, "13 ");
        process(root.path(), 12, 0, 4, 500_000_000, "");
        process(root.path(), 13, 25, 8, 0, "");
        let page = rustix::param::page_size() as u64;
        let reading = FamilyReading::under(root.path(), 10);
        assert_eq!(reading.cpu_seconds, 1.75);
        assert_eq!((reading.programs, reading.programs_resident), (2, 14 * page));
        assert_eq!(reading.runnable_programs, 1, "11, since its child 13 computes");
        assert_eq!(reading.largest_program, 10 * page, "11 with its child 13");
        assert_eq!(reading.starved_since(&FamilyReading::default()), 1.5);
        process(root.path(), 10, 300, 1, 1_250_000_000, "11 ");
        let later = FamilyReading::under(root.path(), 10);
        assert_eq!(later.cpu_since(&reading), 2.0);
        assert_eq!(later.starved_since(&reading), 0.25, "12 has ended");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_program_that_runs_is_seen() {
        let mut program =
            std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
        let reading = FamilyReading::now();
        assert!(reading.programs >= 1 && reading.largest_program > 0);
        drop(program.stdin.take());
        program.wait().unwrap();
    }
}
