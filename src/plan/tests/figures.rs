//! Sizes and their arithmetic, shares of stages, queues, memory.

use std::time::Duration;

use super::*;
use crate::plan::{Limit, MemoryDemand};

fn derivations(head: &str) -> Vec<(String, String)> {
    let plan = planned(&pipeline(head, ""));
    plan.resources.iter().map(|it| (it.name.to_string(), it.derivation.clone())).collect()
}

fn derivation(plan: &Plan, name: &str) -> String {
    plan.resource(name).expect("a resource").derivation.clone()
}

/// The figure of one declared resource that `fetched` uses, as `limit: derivation`.
fn sized(form: &str) -> (Limit, String) {
    let plan = planned(&pipeline(&format!("[resources]\nx.{form}\n"), "uses = [\"x\"],"));
    let resource = plan.resource("x").expect("declared");
    (resource.limit, resource.derivation.clone())
}

#[test]
fn defaults_are_derived_from_the_machine() {
    // 60 % of 16 GiB; (1024 − 64 − 16 − (8 × 2 + 4)) ÷ 4 = 924 ÷ 4
    let expected = [
        ("descriptors", "floor((1024 [RLIMIT_NOFILE] − 64 base − 16 connections − 20 handles) ÷ 4) = 231"),
        ("connections", "16"),
        ("cores", "8 [affinity]"),
        ("writers", "4"),
        ("memory", "60% × 16 GiB [physical] = 9.6 GiB"),
        ("scratch", "50% × 100 GiB [free disk] = 50 GiB"),
    ];
    let expected = expected.map(|(name, text)| (name.to_owned(), text.to_owned()));
    assert_eq!(derivations(""), expected);
}

#[test]
fn counts_are_derived_with_their_arithmetic() {
    let cases = [
        ("slots = 32", 32, "32"),
        ("slots = \"cores\"", 8, "8 [affinity]"),
        ("slots = \"cores - 1\"", 7, "8 [affinity] − 1 = 7"),
        ("slots = \"cores - 8\"", 1, "max(1, 8 [affinity] − 8) = 1"),
        ("slots = \"cores * 2\"", 16, "8 [affinity] × 2 = 16"),
        ("slots = \"cores / 3\"", 2, "floor(8 [affinity] ÷ 3) = 2"),
        ("slots = \"cores / 9\"", 1, "max(1, floor(8 [affinity] ÷ 9)) = 1"),
        (
            "slots = { memory = \"40%\", working-set = \"2 GiB\" }",
            3,
            "floor(40% × 16 GiB [physical] ÷ 2 GiB) = 3",
        ),
        ("slots = { memory = \"12 GiB\", working-set = \"5 GiB\" }", 2, "floor(12 GiB ÷ 5 GiB) = 2"),
        (
            "slots = { memory = \"40%\", working-set = \"2 GiB\", at-most = 2 }",
            2,
            "floor(40% × 16 GiB [physical] ÷ 2 GiB) = 3, at most 2",
        ),
        (
            "slots = { memory = \"40%\", working-set = \"2 GiB\", at-least = 5 }",
            5,
            "floor(40% × 16 GiB [physical] ÷ 2 GiB) = 3, at least 5",
        ),
        ("slots = { descriptors = \"50%\", each = 3 }", 170, "floor(50% × 1024 [RLIMIT_NOFILE] ÷ 3) = 170"),
    ];
    for (form, count, text) in cases {
        assert_eq!(sized(form), (Limit::Slots(count), text.to_owned()), "{form}");
    }
}

#[test]
fn an_adaptive_count_has_two_bounds() {
    let (limit, text) = sized("slots = { adaptive = { from = 4, to = 64 } }");
    assert_eq!((limit, text.as_str()), (Limit::Adaptive { from: 4, to: 64 }, "adaptive from 4 to 64"));
    let (limit, text) = sized("slots = { adaptive = { from = 4, to = 64 }, at-least = 8, at-most = 32 }");
    let expected = "adaptive from 4 to 64, at least 8, at most 32";
    assert_eq!((limit, text.as_str()), (Limit::Adaptive { from: 8, to: 32 }, expected));
}

#[test]
fn rates_have_a_burst_of_one_request_or_one_second_of_bytes() {
    let rate =
        |per_second, burst, counts_bytes| Limit::Rate { per_second, burst, counts_bytes, per_host: false };
    assert_eq!(sized("rate = { limit = \"5/s\" }"), (rate(5.0, 1, false), "5/s, burst 1".to_owned()));
    assert_eq!(
        sized("rate = { limit = \"5/s\", burst = 9 }"),
        (rate(5.0, 9, false), "5/s, burst 9".to_owned())
    );
    let (per_host, _) = sized("rate = { limit = \"5/s\", per-host = true }");
    assert_eq!(per_host, Limit::Rate { per_second: 5.0, burst: 1, counts_bytes: false, per_host: true });
    let bytes = sized("rate = { limit = \"50 MiB/s\" }");
    assert_eq!(bytes, (rate(52_428_800.0, 52_428_800, true), "50 MiB/s, burst 50 MiB".to_owned()));
}

#[test]
fn a_figure_of_the_whole_job_is_shared_by_its_processes() {
    let shards = Machine { shards: Granted::new(8, "SLURM_ARRAY_TASK_COUNT"), ..machine() };
    let text = pipeline("[resources]\nconnections = { slots = 32, scope = \"cluster\" }\n", "");
    let (plan, _) = resolved_for(&shards, &text);
    let shared = plan.expect("a plan").resource("connections").cloned().expect("declared");
    assert_eq!(shared.limit, Limit::Slots(4));
    assert_eq!(shared.derivation, "(32) ÷ 8 [SLURM_ARRAY_TASK_COUNT] = 4");
    assert_eq!(derivation(&planned(&text), "connections"), "32");
}

#[test]
fn resources_stand_run_wide_first_then_by_declaration_then_defaults() {
    let head = "[run]\nuses = [\"units\"]\n[resources]\nwriters.slots = 2\nslow.rate = { limit = \"1/s\" }\nunits.slots = 9\n";
    let names: Vec<String> = derivations(head).into_iter().map(|(name, _)| name).collect();
    assert_eq!(
        names,
        ["units", "writers", "slow", "connections", "cores", "memory", "scratch", "descriptors"]
    );
}

#[test]
fn a_stage_takes_what_its_op_takes_and_its_uses_in_canonical_order() {
    let head = "[resources]\nprovider.rate = { limit = \"5/s\" }\nlicences.slots = 3\n";
    let plan = planned(&pipeline(head, "uses = [\"provider\", { licences = 2 }, \"connections\"],"));
    let fetched = stage(&plan, "fetched");
    assert_eq!(slots(fetched), [("licences", 2), ("connections", 1)]);
    assert_eq!(fetched.rates, ["provider".into()]);
    assert_eq!(slots(stage(&plan, "bands")), [("cores", 1)]);
    assert_eq!(slots(stage(&plan, "written")), [("writers", 1)]);
}

#[test]
fn an_amount_replaces_the_ops_own_and_zero_removes_it() {
    let plan = planned(&pipeline("", "uses = [{ connections = 4 }, { memory = \"2 GiB\" }],"));
    let fetched = stage(&plan, "fetched");
    assert_eq!(slots(fetched), [("connections", 4)]);
    assert_eq!(fetched.memory, MemoryDemand::Declared(2 * GIB));

    let plan = planned(&pipeline("", "uses = [{ connections = 0 }, \"memory\"],"));
    assert_eq!(slots(stage(&plan, "fetched")), []);
    assert_eq!(stage(&plan, "fetched").memory, MemoryDemand::Measured);
}

#[test]
fn parallelism_is_the_smallest_of_capacity_by_amount() {
    let head = "[resources]\nlicences.slots = 7\n";
    // connections 16 ÷ 1, licences 7 ÷ 2 = 3; memory 9.6 GiB ÷ 4 GiB = 2
    let cases = [
        ("", 16, Some("connections")),
        ("uses = [{ licences = 2 }],", 3, Some("licences")),
        ("uses = [{ licences = 2 }, { memory = \"4 GiB\" }],", 2, Some("memory")),
        ("uses = [{ connections = 0 }],", 8, None),
    ];
    for (uses, items, bound_by) in cases {
        let plan = planned(&pipeline(head, uses));
        let fetched = stage(&plan, "fetched");
        assert_eq!(fetched.parallelism, items, "{uses}");
        assert_eq!(fetched.bound_by.as_ref().map(crate::ids::ResourceName::as_str), bound_by, "{uses}");
    }
}

#[test]
fn an_adaptive_limit_counts_with_its_upper_bound() {
    let plan =
        planned(&pipeline("[resources]\nconnections.slots = { adaptive = { from = 4, to = 64 } }\n", ""));
    assert_eq!(stage(&plan, "fetched").parallelism, 64);
    // 1024 − 64 − 64 − 20 = 876; ÷ 4
    assert_eq!(plan.items_in_flight(), Some(219));
}

#[test]
fn a_queue_has_the_summed_parallelism_of_its_feeders() {
    let plan = planned(
        "name = \"test\"\n[stages]\n\
         a = { list = {} }\n\
         b = { list = {} }\n\
         near = { from = \"a\", filter = {} }\n\
         all = { from = [\"near\", \"b\"], fetch = {} }\n\
         written = { from = \"all\", write = { path = \"out/{id}\" } }\n",
    );
    // `near` takes nothing, so it works on 8 items, one for each core; `b` is one stream
    let all = stage(&plan, "all");
    assert_eq!((all.queue, all.queue_derivation.as_str()), (9, "8 (near) + 1 (b) = 9"));
    let written = stage(&plan, "written");
    assert_eq!((written.queue, written.queue_derivation.as_str()), (16, "16 (all)"));
    assert_eq!(stage(&plan, "a").queue, 0);
}

#[test]
fn a_smaller_declared_queue_says_whom_it_caps() {
    let queue = |places: u64| {
        let text = pipeline("", "")
            .replace("from = \"fetched\",", &format!("from = \"fetched\", queue = {places},"));
        let plan = planned(&text);
        let bands = stage(&plan, "bands");
        (bands.queue, bands.queue_derivation.clone())
    };
    assert_eq!(queue(4), (4, "4 declared, caps its feeders at 4 of 16".to_owned()));
    assert_eq!(queue(16), (16, "16 declared".to_owned()));
}

#[test]
fn requests_are_tried_again_and_timed_other_work_is_not() {
    let plan = planned(&pipeline("", ""));
    let (fetched, bands) = (stage(&plan, "fetched"), stage(&plan, "bands"));
    assert!(fetched.is_per_request && !bands.is_per_request);
    assert_eq!((fetched.retry.tries, bands.retry.tries), (5, 1));
    assert_eq!((fetched.timeout, bands.timeout), (Some(Duration::from_mins(1)), None));
    assert_eq!(fetched.retry.first_delay, Duration::from_millis(500));
    assert_eq!(fetched.retry.max_delay, Duration::from_secs(30));
    assert_eq!(fetched.retry.total, Duration::from_mins(5));
}

#[test]
fn what_the_pipeline_says_of_retries_holds() {
    let plan = planned(&pipeline("", "retry = { tries = 2, max-delay = \"2m\" }, timeout = \"5s\","));
    let fetched = stage(&plan, "fetched");
    assert_eq!((fetched.retry.tries, fetched.retry.max_delay), (2, Duration::from_mins(2)));
    assert_eq!(fetched.timeout, Some(Duration::from_secs(5)));
}

#[test]
fn headers_take_what_the_fetch_below_takes() {
    let plan = planned(
        "name = \"test\"\n[resources]\nprovider.rate = { limit = \"5/s\" }\n[stages]\n\
         scenes = { list = {} }\n\
         tiles = { from = \"scenes\", window = {} }\n\
         fetched = { from = \"tiles\", uses = [\"provider\"], timeout = \"9s\", fetch = {} }\n\
         written = { from = \"fetched\", write = { path = \"out/{id}\" } }\n",
    );
    let tiles = stage(&plan, "tiles");
    assert_eq!(slots(tiles), [("connections", 1)]);
    assert_eq!(tiles.rates, ["provider".into()]);
    assert_eq!((tiles.is_per_request, tiles.timeout), (true, Some(Duration::from_secs(9))));
    assert_eq!(tiles.parallelism, 2);
}

#[test]
fn the_total_of_memory_counts_budgets_cache_programs_and_process() {
    let plan = planned(
        "name = \"test\"\n[resources]\n\
         scripts.slots = { memory = \"50%\", working-set = \"3 GiB\" }\nmemory.bytes = \"10%\"\n[stages]\n\
         tiles = { list = {} }\n\
         segments = { from = \"tiles\", uses = [\"scripts\", { memory = 0 }], exec = { outputs = { a = \"out/{id}.tif\" } } }\n",
    );
    // floor(8 GiB ÷ 3 GiB) = 2 programs of 3 GiB
    let parts: Vec<_> = plan.memory.parts.iter().map(|part| (part.name.as_str(), part.bytes)).collect();
    let tenth = (16 * GIB) / 10;
    let twentieth = (16 * GIB) / 20;
    let expected = [
        ("memory", tenth),
        ("GDAL cache", twentieth),
        ("programs of segments", 6 * GIB),
        ("process", 100 << 20),
    ];
    assert_eq!(parts, expected);
    assert_eq!(plan.memory.total, tenth + twentieth + 6 * GIB + (100 << 20));
}

#[test]
fn places_of_a_run_lie_beside_the_pipeline_or_where_it_says() {
    let plan = planned(&pipeline("", ""));
    assert_eq!(plan.run.ledger, Path::new("/jobs/.gisrun/test.sqlite"));
    assert_eq!(plan.run.scratch, Path::new("/jobs/.gisrun/test.scratch"));

    let cases = [
        ("state/nightly.sqlite", "/jobs/state/nightly.sqlite", "/jobs/state/nightly.scratch"),
        ("state", "/jobs/state/test.sqlite", "/jobs/state/test.scratch"),
        ("/var/runs", "/var/runs/test.sqlite", "/var/runs/test.scratch"),
    ];
    for (written, ledger, scratch) in cases {
        let plan = planned(&pipeline(&format!("[run]\nledger = \"{written}\"\n"), ""));
        assert_eq!(
            (plan.run.ledger.as_path(), plan.run.scratch.as_path()),
            (Path::new(ledger), Path::new(scratch))
        );
    }
}

#[test]
fn gdals_cache_is_a_share_but_never_tiny() {
    assert_eq!(planned(&pipeline("", "")).run.gdal_cache.1, "5% × 16 GiB [physical] = 819.2 MiB");
    let small = Machine { memory: Granted::new(128 << 20, "cgroup"), ..machine() };
    let (plan, _) = resolved_for(&small, &pipeline("[resources]\nmemory.bytes = \"5 MiB\"\n", ""));
    assert_eq!(plan.expect("a plan").run.gdal_cache.0, 16 << 20);
    let declared = planned(&pipeline("[run]\ngdal = { cache = \"1 GiB\" }\n", ""));
    assert_eq!(declared.run.gdal_cache, (GIB, "1 GiB".to_owned()));
}

#[test]
fn the_unit_is_one_of_descriptors_unless_the_pipeline_says_otherwise() {
    let unit = |head: &str| {
        let plan = planned(&pipeline(head, ""));
        (plan.run.unit.clone(), plan.items_in_flight())
    };
    assert_eq!(unit(""), (vec![("descriptors".into(), 1)], Some(231)));
    assert_eq!(unit("[run]\nuses = []\n"), (vec![], None));
    let own = "[run]\nuses = [{ units = 2 }]\n[resources]\nunits.slots = 9\n";
    assert_eq!(unit(own), (vec![("units".into(), 2)], Some(4)));
}

#[test]
fn the_outline_names_every_limit() {
    let outline = planned(&pipeline("", "")).outline();
    assert_eq!(outline.memory_granted, (16 * GIB, "physical".to_owned()));
    let fetched = outline.stages.iter().find(|stage| stage.name.as_str() == "fetched").expect("a stage");
    assert_eq!(
        (fetched.queue, fetched.parallelism, fetched.from.as_slice()),
        (1, 16, &["scenes".into()][..])
    );
    assert!(
        outline
            .resources
            .iter()
            .any(|it| it.name.as_str() == "writers" && it.kind == "slots" && it.limit == 4.0)
    );
}
