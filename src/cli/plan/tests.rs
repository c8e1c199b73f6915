//! Both forms of one plan, whole.

use super::{render, to_json};
use crate::plan::tests::planned;

const PIPELINE: &str = r#"name = "ndvi"
[run]
max-failures = "5%"
[resources]
provider.rate = { limit = "5/s", burst = 2 }
memory.bytes = "50%"
[stages]
scenes = { list = {} }
fetched = { from = "scenes", uses = ["provider", { memory = "1 GiB" }], fetch = {} }
bands = { from = "fetched", queue = 4, read = {} }
rows = { from = "bands", on-error = "stop", stats = {} }
table = { from = "rows", table = { path = "out.csv" } }
"#;

#[test]
fn people_read_every_figure_with_its_arithmetic() {
    insta::assert_snapshot!(render(&planned(PIPELINE)), @r"
    plan of ndvi (/jobs/test.toml)

    machine
      cores        8       affinity
      memory       16 GiB  physical
      descriptors  1024    RLIMIT_NOFILE

    resources
      descriptors  slots  default   = floor((1024 [RLIMIT_NOFILE] − 64 base − 16 connections − 20 handles) ÷ 4) = 231
      provider     rate   declared  = 5/s, burst 2
      memory       bytes  declared  = 50% × 16 GiB [physical] = 8 GiB
      connections  slots  default   = 16
      cores        slots  default   = 8 [affinity]
      writers      slots  default   = 4
      scratch      bytes  default   = 50% × 100 GiB [free disk] = 50 GiB

    stages
      scenes   list   → asset        1 at once
      fetched  fetch  asset → blob   8 at once, bound by memory
      bands    read   blob → raster  8 at once, bound by cores
      rows     stats  raster → rows  8 at once, bound by cores
      table    table  rows → file    1 at once

    queues
      fetched  1 (scenes)
      bands    4 declared, caps its feeders at 4 of 8
      rows     8 (bands)
      table    8 (rows)

    takes
      scenes   connections for each request                                     up to 5 tries, each at most 1m
      fetched  connections, a token of provider for each request; memory 1 GiB  up to 5 tries, each at most 1m
      bands    cores; memory as measured
      rows     cores; memory as measured                                        a failure stops the run
      table    writers

    memory
      memory      8 GiB      50% × 16 GiB [physical] = 8 GiB
      GDAL cache  819.2 MiB  5% × 16 GiB [physical] = 819.2 MiB
      process     100 MiB    code, runtime, coordinate systems
      total       8.9 GiB    56% of 16 GiB [physical]

    items too large for memory
      fetched  are refused: rows needs them whole

    run
      unit      1 of descriptors: at most 231 items in flight
      gives up  when 5% of the finished items failed, judged from 100 on and at the end
      grace     as long as they take for running items after the first signal
      scratch   .gisrun/ndvi.scratch
      ledger    .gisrun/ndvi.sqlite
    ");
}

#[test]
fn programs_read_the_same_figures() {
    let json = to_json(&planned(PIPELINE));
    let fetched = serde_json::json!({
        "name": "fetched",
        "op": "fetch",
        "accepts": "asset",
        "gives": "blob",
        "from": ["scenes"],
        "to": ["bands"],
        "takes": {
            "slots": { "connections": 1 },
            "rates": ["provider"],
            "memory": 1_073_741_824_u64,
            "per-request": true,
        },
        "queue": { "places": 1, "derivation": "1 (scenes)" },
        "moves": null,
        "parallelism": 8,
        "bound-by": "memory",
        "timeout": 60.0,
        "retry": { "tries": 5, "first-delay": 0.5, "max-delay": 30.0, "total": 300.0 },
        "on-error": "fail",
        "isolation": "thread",
    });
    assert_eq!(json["stages"][1], fetched);
    let memory = &json["resources"][2];
    assert_eq!(
        (&memory["name"], &memory["limit"], &memory["default"]),
        (&"memory".into(), &8_589_934_592_u64.into(), &false.into())
    );
    let too_large = serde_json::json!([{ "stage": "fetched", "what": { "needed-whole-by": "rows" } }]);
    assert_eq!(json["too-large"], too_large);
    assert_eq!(json["run"]["max-failures"], "5%");
    assert_eq!(json["run"]["items-in-flight"], 231);
    assert_eq!(json["run"]["ledger"], ".gisrun/ndvi.sqlite");
}
