//! What this process was granted: cores, memory and descriptors, each with where the figure came from;
//! and what it uses of them now.
//!
//! The smallest of all grants counts, never the host's figure when something smaller is granted.

mod cgroup;
mod disk;
mod environment;
mod family;
mod granted;
mod kernel;
mod overrides;
mod process;

use std::path::Path;

pub use disk::{free_disk, is_in_memory};
pub use family::FamilyReading;
pub use granted::{Granted, Machine};
pub use kernel::raise_descriptor_limit;
pub use overrides::{OverrideError, Overrides};
pub use process::ProcessReading;

use kernel::KernelLimits;

impl Machine {
    /// Asks the kernel, the control groups under `root` and the environment variables that `variable` reads.
    ///
    /// `root` is `/`, or a folder with a `proc` and a `sys` of its own. Descriptors are the soft limit of this
    /// moment: call [`raise_descriptor_limit`] before.
    pub fn detect(variable: impl Fn(&str) -> Option<String>, root: &Path) -> Self {
        Self::from_limits(&KernelLimits::ask(), &variable, root)
    }

    fn from_limits(kernel: &KernelLimits, variable: &dyn Fn(&str) -> Option<String>, root: &Path) -> Self {
        let cores = cores(kernel, variable, root);
        let memory = memory(kernel, variable, root, cores.value);
        let descriptors = Granted::new(kernel.descriptors, "RLIMIT_NOFILE");
        let shards = environment::shards(variable).unwrap_or_else(|| Granted::new(1, "one process"));
        Self { cores, memory, descriptors, shards }
    }
}

fn cores(kernel: &KernelLimits, variable: &dyn Fn(&str) -> Option<String>, root: &Path) -> Granted {
    let affinity = kernel.affinity.map(|count| Granted::new(count, "affinity"));
    let grants = affinity.into_iter().chain(environment::cores(variable)).chain(cgroup::cores(root));
    let granted = smallest(grants).unwrap_or_else(|| Granted::new(1, "assumed"));
    Granted { value: granted.value.max(1), ..granted }
}

fn memory(
    kernel: &KernelLimits,
    variable: &dyn Fn(&str) -> Option<String>,
    root: &Path,
    cores: u64,
) -> Granted {
    let address_space = kernel.address_space.map(|bytes| Granted::new(bytes, "RLIMIT_AS"));
    let grants = environment::memory(variable, cores)
        .into_iter()
        .chain(cgroup::memory(root))
        .chain(address_space)
        .chain(process::physical_memory(root).map(|bytes| Granted::new(bytes, "physical")));
    smallest(grants).unwrap_or_else(|| Granted::new(ASSUMED_MEMORY, "assumed"))
}

/// Bytes of memory where nothing tells how much there is.
const ASSUMED_MEMORY: u64 = 2 << 30;

/// The smallest grant; of equal ones the first.
fn smallest(grants: impl IntoIterator<Item = Granted>) -> Option<Granted> {
    grants.into_iter().min_by_key(|granted| granted.value)
}

#[cfg(test)]
mod tests;
