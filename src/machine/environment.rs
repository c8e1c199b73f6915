//! What a platform grants through environment variables: AWS Lambda, SLURM and Cloud Run jobs.

use super::Granted;

/// Memory in MB at which Lambda gives one full core:
/// <https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html>
const LAMBDA_MEGABYTES_PER_CORE: u64 = 1_769;

const LAMBDA_MEMORY: &str = "AWS_LAMBDA_FUNCTION_MEMORY_SIZE";
const SLURM_CORES: [&str; 2] = ["SLURM_CPUS_PER_TASK", "SLURM_CPUS_ON_NODE"];
/// The tasks of a SLURM array and of a Cloud Run job.
const SHARDS: [&str; 2] = ["SLURM_ARRAY_TASK_COUNT", "CLOUD_RUN_TASK_COUNT"];
const SLURM_MEMORY_OF_NODE: &str = "SLURM_MEM_PER_NODE";
const SLURM_MEMORY_OF_CORE: &str = "SLURM_MEM_PER_CPU";

type Variable<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Grants of cores; a part of a core counts as the whole ones below it, at least 1.
pub(super) fn cores(variable: Variable) -> Vec<Granted> {
    let lambda = number(variable, LAMBDA_MEMORY)
        .map(|megabytes| Granted::new((megabytes / LAMBDA_MEGABYTES_PER_CORE).max(1), LAMBDA_MEMORY));
    let slurm = SLURM_CORES.iter().filter_map(|name| Some(Granted::new(number(variable, name)?, *name)));
    lambda.into_iter().chain(slurm).collect()
}

/// Grants of memory in bytes. SLURM's and Lambda's MB are binary; SLURM's figure for a core is multiplied with the
/// cores of the task, else of the node, else with `cores`.
pub(super) fn memory(variable: Variable, cores: u64) -> Vec<Granted> {
    let whole = [LAMBDA_MEMORY, SLURM_MEMORY_OF_NODE]
        .into_iter()
        .filter_map(|name| Some(Granted::new(mebibytes(number(variable, name)?), name)));
    let of_cores = number(variable, SLURM_MEMORY_OF_CORE).map(|megabytes| {
        let cores = SLURM_CORES.iter().find_map(|name| number(variable, name)).unwrap_or(cores);
        let source = format!("{SLURM_MEMORY_OF_CORE} × {cores}");
        Granted::new(mebibytes(megabytes).saturating_mul(cores), source)
    });
    whole.chain(of_cores).collect()
}

/// How many processes share the whole job; `None` where nothing says so.
pub(super) fn shards(variable: Variable) -> Option<Granted> {
    SHARDS.iter().find_map(|name| Some(Granted::new(number(variable, name)?, *name)))
}

/// A positive whole number; SLURM writes 0 for "all there is", which is no limit.
fn number(variable: Variable, name: &str) -> Option<u64> {
    variable(name)?.trim().parse().ok().filter(|number| *number > 0)
}

fn mebibytes(count: u64) -> u64 {
    count.saturating_mul(1 << 20)
}
