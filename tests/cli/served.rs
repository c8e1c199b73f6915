//! Scenes that a server gives out, some of them not at all.

use crate::job::Job;
use crate::scene::Scene;
use crate::server::Server;

/// The pipeline over these addresses: NDVI of each, as COG.
pub(crate) fn pipeline(urls: &[String], resources: &str, stage: &str) -> String {
    let list = urls.iter().map(|url| format!("  \"{url}\",\n")).collect::<Vec<_>>().concat();
    format!(
        r#"
[resources]
{resources}

[stages.scenes]
list = {{ uris = [
{list}] }}

[stages.fetched]
from = "scenes"
{stage}
fetch = {{}}

[stages.bands]
from = "fetched"
{stage}
read = {{ bands = {{ red = 1, nir = 2 }} }}

[stages.ndvi]
from = "bands"
{stage}
calc = {{ bands = {{ ndvi = "(nir - red) / (nir + red)" }} }}

[stages.encoded]
from = "ndvi"
{stage}
encode = {{ format = "cog" }}

[stages.written]
from = "encoded"
{stage}
write = {{ path = "out/{{id}}.tif" }}
"#
    )
}

/// `s00` and so on.
pub(crate) fn names(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("s{number:02}")).collect()
}

/// A folder of meadows with these names, and a server for it.
pub(crate) fn serve(job: &Job, names: &[String]) -> Server {
    serve_scenes(job, names, &Scene::meadow())
}

/// A folder of copies of a scene with these names, and a server for it.
pub(crate) fn serve_scenes(job: &Job, names: &[String], scene: &Scene) -> Server {
    for name in names {
        scene.write(&job.path(&format!("served/{name}.tif")));
    }
    Server::start(&job.path("served")).unwrap()
}

/// The addresses of scenes.
pub(crate) fn urls(server: &Server, names: &[String]) -> Vec<String> {
    names.iter().map(|name| server.url(&format!("{name}.tif"))).collect()
}

#[test]
fn one_missing_scene_of_sixteen_fails_alone() {
    let names = names(16);
    let job = Job::new("");
    let there: Vec<String> = names.iter().filter(|name| *name != "s07").cloned().collect();
    let server = serve(&job, &there);
    job.rewrite(&pipeline(&urls(&server, &names), "", ""));

    let ended = job.run().expect_exit(1);

    let missing = server.url("s07.tif");
    ended.line_with(&["`s07`", "`fetched`", &missing, "404"]);
    assert_eq!(job.outputs(), there.iter().map(|name| format!("{name}.tif")).collect());
    assert_eq!(job.record().statuses().get(&404), Some(&1), "a missing file is asked for once");
}

#[test]
fn sixteen_scenes_that_are_there_all_come_out() {
    let names = names(16);
    let job = Job::new("");
    let server = serve(&job, &names);
    job.rewrite(&pipeline(&urls(&server, &names), "", ""));

    job.run().expect_exit(0);

    assert_eq!(job.outputs().len(), 16);
    let ndvi = crate::scene::pixels(&job.path("out/s00.tif"));
    assert!(ndvi.iter().all(|value| *value == 0.5), "(3000 - 1000) / (3000 + 1000) = 0.5");
}
