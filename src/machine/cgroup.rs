//! Limits of control groups, versions 1 and 2, at every level from this process's group up to the mounted root.
//!
//! Format: `cgroups(7)`, `proc_pid_mountinfo(5)` and the kernel's `Documentation/admin-guide/cgroup-v2.rst`.

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::Granted;

/// Version 1 writes "no limit" as the largest multiple of a page below 2⁶³.
const UNLIMITED: u64 = 1 << 60;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// One group's folder, as the process sees it.
#[derive(Debug)]
struct Level {
    version: Version,
    folder: PathBuf,
}

/// Where a hierarchy of groups is mounted.
struct Mount {
    version: Version,
    /// The controllers of a version 1 hierarchy.
    controllers: Vec<String>,
    /// The group that is the top of what is mounted.
    top: PathBuf,
    point: PathBuf,
}

/// Grants of cores: quota ÷ period, whole cores only, at least 1 (a quota of 1.5 cores grants 1: a second worker
/// would be stopped for half of every period).
pub(super) fn cores(root: &Path) -> Vec<Granted> {
    levels(root, "cpu")
        .iter()
        .filter_map(|level| {
            let (file, quota, period) = match level.version {
                Version::Two => quota_of_v2(root, level)?,
                Version::One => quota_of_v1(root, level)?,
            };
            Some(granted((quota / period).max(1), file, level))
        })
        .collect()
}

/// Grants of memory in bytes. `memory.high` counts too: above it the kernel throttles the group.
pub(super) fn memory(root: &Path) -> Vec<Granted> {
    levels(root, "memory")
        .iter()
        .flat_map(|level| {
            let files: &[&'static str] = match level.version {
                Version::Two => &["memory.max", "memory.high"],
                Version::One => &["memory.limit_in_bytes"],
            };
            files.iter().filter_map(|file| Some(granted(number(root, level, file)?, file, level)))
        })
        .filter(|granted| granted.value < UNLIMITED)
        .collect()
}

fn granted(value: u64, file: &str, level: &Level) -> Granted {
    Granted::new(value, format!("cgroup {file} {}", level.folder.display()))
}

fn quota_of_v2(root: &Path, level: &Level) -> Option<(&'static str, u64, u64)> {
    let text = content(root, level, "cpu.max")?;
    let (quota, period) = text.split_once(' ')?;
    Some(("cpu.max", quota.parse().ok()?, positive(period)?))
}

fn quota_of_v1(root: &Path, level: &Level) -> Option<(&'static str, u64, u64)> {
    let quota = number(root, level, "cpu.cfs_quota_us")?;
    let period = positive(&content(root, level, "cpu.cfs_period_us")?)?;
    Some(("cpu.cfs_quota_us", quota, period))
}

fn positive(text: &str) -> Option<u64> {
    text.trim().parse().ok().filter(|number| *number > 0)
}

/// The number in a group's file; `None` for `max`, `-1` and a file that is not there.
fn number(root: &Path, level: &Level, file: &str) -> Option<u64> {
    content(root, level, file)?.parse().ok()
}

fn content(root: &Path, level: &Level, file: &str) -> Option<String> {
    let text = fs::read_to_string(under(root, &level.folder).join(file)).ok()?;
    Some(text.trim().to_owned())
}

/// The groups that bound this process for one controller, innermost first.
fn levels(root: &Path, controller: &str) -> Vec<Level> {
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let mounts = fs::read_to_string(root.join("proc/self/mountinfo")).unwrap_or_default();
    mounts
        .lines()
        .filter_map(Mount::parse)
        .filter(|mount| mount.has(controller))
        .flat_map(|mount| mount.levels(&groups, controller))
        .collect()
}

impl Mount {
    /// Reads a line of `mountinfo`; `None` for what is no hierarchy of groups.
    fn parse(line: &str) -> Option<Self> {
        let (place, kind) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(3);
        let (top, point) = (unescaped(place.next()?), unescaped(place.next()?));
        let mut kind = kind.split(' ');
        let version = match kind.next()? {
            "cgroup" => Version::One,
            "cgroup2" => Version::Two,
            _ => return None,
        };
        let controllers = kind.nth(1).unwrap_or_default().split(',').map(str::to_owned).collect();
        Some(Self { version, controllers, top: top.into(), point: point.into() })
    }

    fn has(&self, controller: &str) -> bool {
        self.version == Version::Two || self.controllers.iter().any(|name| name == controller)
    }

    fn levels(&self, groups: &str, controller: &str) -> Vec<Level> {
        let Some(group) = self.group(groups, controller) else { return Vec::new() };
        let below = self.below_top(group);
        let innermost: PathBuf = self.point.components().chain(below.components()).collect();
        innermost
            .ancestors()
            .take_while(|folder| folder.starts_with(&self.point))
            .map(|folder| Level { version: self.version, folder: folder.to_owned() })
            .collect()
    }

    /// The path of this process's group, from its line `hierarchy:controllers:path`.
    fn group<'a>(&self, groups: &'a str, controller: &str) -> Option<&'a str> {
        groups.lines().find_map(|line| {
            let mut fields = line.splitn(3, ':').skip(1);
            let (controllers, path) = (fields.next()?, fields.next()?);
            let is_ours = match self.version {
                Version::Two => controllers.is_empty(),
                Version::One => controllers.split(',').any(|name| name == controller),
            };
            is_ours.then_some(path)
        })
    }

    /// The group relative to the mounted top. What lies outside of it (a container sees its host's path, or `/../…`)
    /// is the top itself, as far as this process can see.
    fn below_top(&self, group: &str) -> PathBuf {
        let below = Path::new(group).strip_prefix(&self.top).unwrap_or(Path::new(""));
        let is_plain = below.components().all(|part| matches!(part, Component::Normal(_)));
        if is_plain { below.to_owned() } else { PathBuf::new() }
    }
}

/// `mountinfo` writes a space, tab, newline and backslash as three octal digits.
fn unescaped(field: &str) -> String {
    let escapes = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")];
    escapes.iter().fold(field.to_owned(), |text, (escaped, plain)| text.replace(escaped, plain))
}

/// An absolute path as seen by the process, below the root that is looked at.
fn under(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}
