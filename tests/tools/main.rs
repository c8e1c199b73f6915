//! What the program writes, looked at with other tools: `jq`, Prometheus' `promtool` and a browser.
//!
//! Needs `jq`, `prometheus` and `chromium` of Debian; `.ci/run` installs them and runs this by name. `cargo test --test
//! tools` runs it where they are there.

#![allow(clippy::unwrap_used, reason = "a test stops at what cannot be")]

mod browser;
#[allow(dead_code, reason = "shared with the tests of the command line, which use more of it")]
#[path = "../cli/job.rs"]
mod job;
mod jq;
mod prometheus;
#[allow(dead_code, reason = "shared with the tests of the command line, which use more of it")]
#[path = "../cli/record.rs"]
mod record;
#[allow(dead_code, reason = "shared with the tests of the command line, which use more of it")]
#[path = "../cli/scene.rs"]
mod scene;

use job::Job;
use scene::Scene;

/// NDVI of so many small scenes in the folder.
pub(crate) fn meadows(scenes: usize) -> Job {
    let job = Job::new(
        r#"
[stages]
scenes = { glob = { paths = ["in/*.tif"] } }
bands = { from = "scenes", read = { bands = { red = 1, nir = 2 } } }
ndvi = { from = "bands", calc = { bands = { ndvi = "(nir - red) / (nir + red)" }, dtype = "float32" } }
encoded = { from = "ndvi", encode = { format = "cog" } }
written = { from = "encoded", write = { path = "out/{id}.tif" } }
"#,
    );
    for number in 0..scenes {
        Scene::meadow().write(&job.path(&format!("in/s{number:02}.tif")));
    }
    job
}
