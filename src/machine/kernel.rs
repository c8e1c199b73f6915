//! Limits that the kernel keeps for this process: processor affinity, address space, open files.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// More open files than any run has use for; stands for an unlimited or absurd limit.
const MOST_DESCRIPTORS: u64 = 1 << 20;

/// What the kernel itself says of this process.
#[derive(Clone, Debug, Default)]
pub(super) struct KernelLimits {
    /// Cores it may be scheduled on; `None` where the system does not tell.
    pub(super) affinity: Option<u64>,
    /// Bytes of address space; `None` for unlimited.
    pub(super) address_space: Option<u64>,
    /// Open files.
    pub(super) descriptors: u64,
}

impl KernelLimits {
    /// Asks the kernel.
    pub(super) fn ask() -> Self {
        Self {
            affinity: affinity(),
            address_space: getrlimit(Resource::As).current,
            descriptors: bounded(getrlimit(Resource::Nofile).current),
        }
    }
}

/// Raises the soft limit of open files to the hard one and returns the limit that holds then.
///
/// # Errors
/// The kernel refuses; the old limit stands.
pub fn raise_descriptor_limit() -> io::Result<u64> {
    let hard = getrlimit(Resource::Nofile).maximum;
    let raised = bounded(hard).max(bounded(getrlimit(Resource::Nofile).current));
    setrlimit(Resource::Nofile, Rlimit { current: Some(raised), maximum: hard })?;
    Ok(raised)
}

fn bounded(limit: Option<u64>) -> u64 {
    limit.unwrap_or(MOST_DESCRIPTORS).min(MOST_DESCRIPTORS)
}

#[cfg(target_os = "linux")]
fn affinity() -> Option<u64> {
    rustix::thread::sched_getaffinity(None).ok().map(|cores| u64::from(cores.count()))
}

#[cfg(not(target_os = "linux"))]
fn affinity() -> Option<u64> {
    std::thread::available_parallelism().ok().map(|cores| cores.get() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raises_the_soft_limit_to_the_hard_one() {
        let raised = raise_descriptor_limit().expect("a soft limit may always be raised to the hard one");
        let now = getrlimit(Resource::Nofile);
        assert_eq!(now.current, Some(raised));
        assert_eq!(raised, now.maximum.map_or(MOST_DESCRIPTORS, |hard| hard.min(MOST_DESCRIPTORS)));
    }

    #[test]
    fn an_unlimited_number_of_descriptors_becomes_a_number() {
        assert_eq!(bounded(None), 1_048_576);
        assert_eq!(bounded(Some(256)), 256);
    }

    #[test]
    fn this_process_may_run_on_a_core() {
        assert!(KernelLimits::ask().affinity.is_none_or(|cores| cores >= 1));
    }
}
