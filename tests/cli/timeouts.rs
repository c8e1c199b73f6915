//! Work that takes too long.

use std::time::{Duration, Instant};

use crate::job::Job;
use crate::scene::Scene;

/// Two scenes that are warped by one core.
fn job(size: u32, stage: &str) -> Job {
    let job = Job::new(&format!(
        "[resources]\ncores.slots = 1\n[stages]\n\
         scenes = {{ glob = {{ paths = [\"in/*.tif\"] }} }}\n\
         bands = {{ from = \"scenes\", read = {{ bands = {{ red = 1 }} }} }}\n\
         warped = {{ from = \"bands\", {stage}warp = {{ crs = \"EPSG:3857\", size = [{size}, {size}], resampling = \"lanczos\" }} }}\n\
         encoded = {{ from = \"warped\", encode = {{ format = \"cog\" }} }}\n\
         written = {{ from = \"encoded\", write = {{ path = \"out/{{id}}.tif\" }} }}\n"
    ));
    Scene::meadow_of(420).write(&job.path("in/a.tif"));
    Scene::meadow_of(420).write(&job.path("in/b.tif"));
    job
}

/// GDAL gives the core back when it is asked to stop: else the second warp would wait for the end of the first, and the end
/// of the run for both.
#[test]
fn a_timeout_interrupts_a_warp_in_the_middle() {
    let job = job(16_000, "timeout = \"300ms\", ");
    let begun = Instant::now();
    let ended = job.run().expect_exit(1);
    for item in ["`a`", "`b`"] {
        ended.line_with(&[item, "`warped`", "took longer than its timeout of 300ms"]);
    }
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    assert!(job.outputs().is_empty());
}

#[test]
fn a_warp_that_ends_in_time_is_not_interrupted() {
    let job = job(500, "timeout = \"10m\", ");
    job.run().expect_exit(0);
    assert_eq!(job.outputs().len(), 2);
}
