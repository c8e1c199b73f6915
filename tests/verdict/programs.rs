//! Runs of the real program.

use std::time::Duration;

use crate::job::Job;
use crate::scene::Scene;
use crate::server::Server;
use crate::{alone, expect_only, findings};

/// What is done with each scene.
const NDVI: &str = r#"
bands = { from = "fetched", read = { bands = { red = 1, nir = 2 } } }
ndvi = { from = "bands", calc = { bands = { ndvi = "(nir - red) / (nir + red)" }, dtype = "float32" } }
encoded = { from = "ndvi", encode = { format = "cog" } }
written = { from = "encoded", write = { path = "out/{id}.tif" } }
"#;
const COPY: &str = r#"written = { from = "fetched", write = { path = "out/{id}.tif" } }"#;

/// So many small scenes that a server 50 ms away gives out.
fn far_scenes(scenes: usize, resources: &str, work: &str) -> (Job, Server) {
    let job = Job::new("");
    for number in 0..scenes {
        Scene::meadow_of(64).write(&job.path(&format!("served/s{number:03}.tif")));
    }
    let server = Server::start(&job.path("served")).unwrap();
    server.move_away(Duration::from_millis(50));
    let addresses = (0..scenes).map(|number| format!("\"{}\",\n", server.url(&format!("s{number:03}.tif"))));
    let list = addresses.collect::<Vec<_>>().concat();
    job.rewrite(&format!(
        r#"
[resources]
{resources}
[stages]
scenes = {{ list = {{ uris = [{list}] }} }}
fetched = {{ from = "scenes", fetch = {{}} }}
{work}
"#
    ));
    (job, server)
}

#[test]
fn two_connections_to_a_far_server_are_the_bottleneck() {
    let _alone = alone();
    let (job, _server) = far_scenes(120, "connections.slots = 2", NDVI);
    job.run().expect_exit(0);
    let finding = expect_only(&job, "job.toml", "pinned", "connections");
    assert!(finding["gain"].as_f64().unwrap() > 1.25, "{finding:#}");
    assert!(finding["advice"].as_str().unwrap().contains("connections.slots = 4"), "{finding:#}");
}

#[test]
fn a_server_that_asks_for_less_throttles() {
    let _alone = alone();
    let (job, server) = far_scenes(60, "connections.slots = 4", NDVI);
    server.refuse(|request| request.nth == 1 && request.path.ends_with("0.tif"));
    job.run().expect_exit(0);
    let finding = expect_only(&job, "job.toml", "throttled", "fetched");
    assert!(finding["because"][0].as_str().unwrap().contains("6 × 429"), "{finding:#}");
}

#[test]
fn a_budget_for_one_item_at_a_time_is_the_bottleneck() {
    let _alone = alone();
    let (job, _server) = far_scenes(60, "memory.bytes = \"8 MiB\"", NDVI);
    job.run().expect_exit(0);
    expect_only(&job, "job.toml", "memory-bound", "memory");
}

#[test]
fn scenes_that_keep_the_cores_busy_are_as_fast_as_the_machine() {
    let _alone = alone();
    let job = Job::new("");
    for number in 0..12 {
        Scene::meadow_of(768).write(&job.path(&format!("in/s{number:02}.tif")));
    }
    job.rewrite(
        r#"
[stages]
scenes = { glob = { paths = ["in/*.tif"] } }
bands = { from = "scenes", read = { bands = { red = 1, nir = 2 } } }
ndvi = { from = "bands", calc = { bands = { ndvi = "(nir - red) / (nir + red)" }, dtype = "float32" } }
warped = { from = "ndvi", warp = { crs = "EPSG:3857", resampling = "bilinear" } }
encoded = { from = "warped", encode = { format = "cog" } }
written = { from = "encoded", write = { path = "out/{id}.tif" } }
"#,
    );
    job.run().expect_exit(0);
    let (found, report) = findings(&job, "job.toml");
    assert_eq!(found, [], "{report:#}");
}

#[test]
fn a_sweep_of_connections_ends_where_the_service_throttles() {
    let _alone = alone();
    let (job, server) = far_scenes(60, "", COPY);
    server.refuse_above(4);
    let arguments =
        ["sweep", "job.toml", "--resource", "connections", "--values", "1..64", "--format", "json"];
    let told = job.gisrun(&arguments).expect_exit(0).stdout;
    let sweep: serde_json::Value = serde_json::from_str(&told).unwrap();
    let sizes: Vec<_> =
        sweep["points"].as_array().unwrap().iter().map(|point| point["value"].as_str().unwrap()).collect();
    assert_eq!(sizes, ["1", "2", "4", "8"], "{sweep:#}");
    assert_eq!((&sweep["knee"], &sweep["edit"]), (&"4".into(), &"connections.slots = 4".into()), "{sweep:#}");
}

/// Forty files, each worked on by a program in this shell's words.
fn programs(work: &str) -> Job {
    let job = Job::new(&format!(
        r#"
[resources]
cores.slots = 4
[stages]
files = {{ glob = {{ paths = ["in/*.txt"] }} }}
made = {{ from = "files", exec = {{ command = ["sh", "-c", "{work}; cp $0 $1", "{{input}}", "{{output}}"], outputs = {{ made = "out/{{id}}.txt" }} }} }}
"#
    ));
    std::fs::create_dir(job.path("in")).unwrap();
    for number in 0..40 {
        std::fs::write(job.path(&format!("in/f{number:02}.txt")), "words").unwrap();
    }
    job
}

#[test]
fn programs_that_wait_for_one_lock_are_held_up_by_something_outside_the_limits() {
    let _alone = alone();
    let job = programs("flock lock sleep 0.15");
    job.run().expect_exit(0);
    expect_only(&job, "job.toml", "serialised", "made");
}

#[test]
fn programs_that_compute_are_not() {
    let _alone = alone();
    let job = programs("i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done");
    job.run().expect_exit(0);
    let (found, report) = findings(&job, "job.toml");
    assert!(found.iter().all(|(kind, _)| kind != "serialised"), "{report:#}");
}
