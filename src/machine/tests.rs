//! What is granted, over trees of files made for each case.

use std::fs;

use tempfile::TempDir;

use super::*;

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// A machine of 64 cores and 256 GiB, without limits.
fn large() -> KernelLimits {
    KernelLimits { affinity: Some(64), address_space: None, descriptors: 1024 }
}

fn tree(files: &[(&str, &str)]) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    let physical = ("proc/meminfo", "MemTotal:       268435456 kB\nMemFree: 1 kB\n");
    for (path, text) in [physical].iter().chain(files) {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    root
}

fn machine(kernel: &KernelLimits, variables: &[(&str, &str)], files: &[(&str, &str)]) -> Machine {
    let find =
        |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
    Machine::from_limits(kernel, &find, tree(files).path())
}

const V2: (&str, &str) = (
    "proc/self/mountinfo",
    "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n",
);
const V1: (&str, &str) = (
    "proc/self/mountinfo",
    "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
     32 31 0:29 /docker/abc /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
     35 31 0:32 /docker/abc /sys/fs/cgroup/memory rw master:1 - cgroup cgroup rw,memory\n",
);

#[test]
fn without_limits_the_host_is_granted() {
    let machine = machine(&large(), &[], &[]);
    assert_eq!(machine.cores, Granted::new(64, "affinity"));
    assert_eq!(machine.memory, Granted::new(256 * GIB, "physical"));
    assert_eq!(machine.descriptors, Granted::new(1024, "RLIMIT_NOFILE"));
}

#[test]
fn the_smallest_level_of_a_version_2_hierarchy_counts() {
    let machine = machine(
        &large(),
        &[],
        &[
            V2,
            ("proc/self/cgroup", "0::/jobs/one\n"),
            ("sys/fs/cgroup/cpu.max", "max 100000\n"),
            ("sys/fs/cgroup/jobs/cpu.max", "400000 100000\n"),
            ("sys/fs/cgroup/jobs/one/cpu.max", "800000 100000\n"),
            ("sys/fs/cgroup/jobs/memory.max", "max\n"),
            ("sys/fs/cgroup/jobs/one/memory.max", "2147483648\n"),
            ("sys/fs/cgroup/jobs/one/memory.high", "max\n"),
        ],
    );
    assert_eq!(machine.cores, Granted::new(4, "cgroup cpu.max /sys/fs/cgroup/jobs"));
    assert_eq!(machine.memory, Granted::new(2 * GIB, "cgroup memory.max /sys/fs/cgroup/jobs/one"));
}

#[test]
fn a_soft_limit_of_memory_counts_when_it_is_smaller() {
    let files = [
        V2,
        ("proc/self/cgroup", "0::/\n"),
        ("sys/fs/cgroup/memory.max", "2147483648\n"),
        ("sys/fs/cgroup/memory.high", "1073741824\n"),
    ];
    assert_eq!(machine(&large(), &[], &files).memory, Granted::new(GIB, "cgroup memory.high /sys/fs/cgroup"));
}

#[test]
fn a_quota_is_rounded_down_to_whole_cores_and_up_to_one() {
    for (quota, cores) in [("50000", 1), ("150000", 1), ("200000", 2), ("299999", 2)] {
        let limit = format!("{quota} 100000\n");
        let files = [V2, ("proc/self/cgroup", "0::/\n"), ("sys/fs/cgroup/cpu.max", &limit)];
        assert_eq!(machine(&large(), &[], &files).cores.value, cores, "quota {quota}");
    }
}

#[test]
fn a_container_of_version_1_is_bounded_by_its_own_group() {
    let machine = machine(
        &large(),
        &[],
        &[
            V1,
            (
                "proc/self/cgroup",
                "9:name=systemd:/\n4:memory:/docker/abc\n2:cpu,cpuacct:/docker/abc/inner\n0::/\n",
            ),
            ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "300000\n"),
            ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"),
            ("sys/fs/cgroup/cpu,cpuacct/inner/cpu.cfs_quota_us", "-1\n"),
            ("sys/fs/cgroup/cpu,cpuacct/inner/cpu.cfs_period_us", "100000\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "536870912\n"),
        ],
    );
    assert_eq!(machine.cores, Granted::new(3, "cgroup cpu.cfs_quota_us /sys/fs/cgroup/cpu,cpuacct"));
    assert_eq!(machine.memory, Granted::new(512 * MIB, "cgroup memory.limit_in_bytes /sys/fs/cgroup/memory"));
}

#[test]
fn the_unlimited_value_of_version_1_is_no_limit() {
    let files = [
        V1,
        ("proc/self/cgroup", "4:memory:/docker/abc\n"),
        ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
    ];
    assert_eq!(machine(&large(), &[], &files).memory.source, "physical");
}

#[test]
fn a_group_outside_of_what_is_mounted_is_bounded_by_the_mounted_top() {
    let files = [V2, ("proc/self/cgroup", "0::/../other\n"), ("sys/fs/cgroup/cpu.max", "200000 100000\n")];
    assert_eq!(machine(&large(), &[], &files).cores, Granted::new(2, "cgroup cpu.max /sys/fs/cgroup"));
}

#[test]
fn lambda_grants_cores_by_memory() {
    for (megabytes, cores) in [("128", 1), ("1769", 1), ("3537", 1), ("3538", 2), ("10240", 5)] {
        let machine = machine(&large(), &[("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", megabytes)], &[]);
        assert_eq!(machine.cores, Granted::new(cores, "AWS_LAMBDA_FUNCTION_MEMORY_SIZE"), "{megabytes} MB");
        assert_eq!(machine.memory.value, megabytes.parse::<u64>().unwrap() * MIB);
    }
}

#[test]
fn slurm_grants_cores_and_memory() {
    let task = [("SLURM_CPUS_PER_TASK", "8"), ("SLURM_CPUS_ON_NODE", "32"), ("SLURM_MEM_PER_NODE", "16384")];
    let by_node = machine(&large(), &task, &[]);
    assert_eq!(by_node.cores, Granted::new(8, "SLURM_CPUS_PER_TASK"));
    assert_eq!(by_node.memory, Granted::new(16 * GIB, "SLURM_MEM_PER_NODE"));

    let by_core = machine(&large(), &[("SLURM_CPUS_PER_TASK", "4"), ("SLURM_MEM_PER_CPU", "2048")], &[]);
    assert_eq!(by_core.memory, Granted::new(8 * GIB, "SLURM_MEM_PER_CPU × 4"));
}

#[test]
fn all_memory_of_a_slurm_node_is_no_limit() {
    assert_eq!(machine(&large(), &[("SLURM_MEM_PER_NODE", "0")], &[]).memory.source, "physical");
}

#[test]
fn a_variable_larger_than_the_affinity_grants_nothing_more() {
    let kernel = KernelLimits { affinity: Some(2), ..large() };
    assert_eq!(machine(&kernel, &[("SLURM_CPUS_PER_TASK", "8")], &[]).cores, Granted::new(2, "affinity"));
}

#[test]
fn an_address_space_below_the_physical_memory_counts() {
    let kernel = KernelLimits { address_space: Some(4 * GIB), ..large() };
    assert_eq!(machine(&kernel, &[], &[]).memory, Granted::new(4 * GIB, "RLIMIT_AS"));
}

#[test]
fn the_tasks_of_an_array_share_the_job() {
    assert_eq!(machine(&large(), &[], &[]).shards, Granted::new(1, "one process"));
    let array = machine(&large(), &[("SLURM_ARRAY_TASK_COUNT", "8")], &[]);
    assert_eq!(array.shards, Granted::new(8, "SLURM_ARRAY_TASK_COUNT"));
}

#[test]
fn figures_of_another_machine_replace_the_detected_ones() {
    let detected = machine(&large(), &[], &[]);
    let planned = "cores=8, memory=16GiB".parse::<Overrides>().unwrap().over(&detected);
    assert_eq!(planned.cores, Granted::new(8, "--machine"));
    assert_eq!(planned.memory, Granted::new(16 * GIB, "--machine"));
    assert_eq!(planned.descriptors, detected.descriptors);
}

#[test]
fn a_text_that_names_no_machine_is_refused_with_what_was_found() {
    let cases = [
        ("cpus=4", "expected `cores=`, `memory=`, `descriptors=` or `shards=`, found `cpus=4`"),
        ("cores", "expected `cores=`, `memory=`, `descriptors=` or `shards=`, found `cores`"),
        ("cores=0", "`cores` expects a whole number of at least 1, found `0`"),
        ("memory=lots", "`memory` expects a size such as `256GiB`, found `lots`"),
        ("cores=1,cores=2", "`cores` is named twice"),
    ];
    for (text, message) in cases {
        assert_eq!(text.parse::<Overrides>().unwrap_err().to_string(), message);
    }
}
