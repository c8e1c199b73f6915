//! What this process was granted: cores, memory and descriptors, each with where the figure came from.

/// A figure and where it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Granted {
    /// Cores, bytes or descriptors.
    pub value: u64,
    /// `cgroup memory.max`, `affinity`, `SLURM_CPUS_PER_TASK`, `--machine`, …
    pub source: String,
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
}
