//! A figure with its source, and the three figures that a plan is made from.

/// A figure and where it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Granted {
    /// Cores, bytes or descriptors.
    pub value: u64,
    /// `cgroup memory.max /sys/fs/cgroup/job`, `affinity`, `SLURM_CPUS_PER_TASK`, `--machine`, …
    pub source: String,
}

impl Granted {
    /// A figure from a source.
    pub fn new(value: u64, source: impl Into<String>) -> Self {
        Self { value, source: source.into() }
    }
}

/// What this process may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Cores; at least 1.
    pub cores: Granted,
    /// Bytes of memory.
    pub memory: Granted,
    /// Open files, sockets included.
    pub descriptors: Granted,
    /// Processes that share the whole job; at least 1.
    pub shards: Granted,
}
