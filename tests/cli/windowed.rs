//! Windows of files that a server gives out: which bytes move.

use std::ops::Range;

use crate::job::Job;
use crate::scene::Scene;
use crate::served::{serve_scenes, urls};
use crate::server::Server;

/// The ranges of bytes that were served, one a request.
fn served(server: &Server, size: usize) -> Vec<Range<usize>> {
    server.requests().iter().map(|request| request.range(size).unwrap_or(0..size)).collect()
}

/// How many different bytes ranges hold.
fn distinct(ranges: &[Range<usize>]) -> usize {
    let mut sorted = ranges.to_vec();
    sorted.sort_by_key(|range| range.start);
    let mut end = 0;
    sorted.iter().fold(0, |sum, range| {
        let new = range.end.saturating_sub(end.max(range.start));
        end = end.max(range.end);
        sum + new
    })
}

/// The tiles of a grid in another system: their edges cut across the blocks of the file, and neighbours need the same.
#[test]
fn blocks_under_the_tiles_of_another_grid_move_once() {
    let names = vec!["scene".to_owned()];
    let job = Job::new("");
    let server = serve_scenes(&job, &names, &Scene::meadow_of(520));
    let url = &urls(&server, &names)[0];
    job.rewrite(&format!(
        r#"
[grids.web]
crs = "EPSG:3857"
resolution = 10
tile = 128

[stages]
scenes  = {{ list = {{ uris = ["{url}"] }} }}
tiles   = {{ from = "scenes", window = {{ grid = "web" }} }}
fetched = {{ from = "tiles", fetch = {{}} }}
bands   = {{ from = "fetched", read = {{ bands = {{ red = 1 }} }} }}
warped  = {{ from = "bands", warp = {{ grid = "web", resampling = "bilinear" }} }}
rows    = {{ from = "warped", stats = {{ statistics = ["count", "min", "max"], per = "item" }} }}
table   = {{ from = "rows", table = {{ path = "out/rows.jsonl" }} }}
"#
    ));

    job.run().expect_exit(0);

    let size = std::fs::metadata(job.path("served/scene.tif")).unwrap().len() as usize;
    let ranges = served(&server, size);
    let (all, different) = (ranges.iter().map(Range::len).sum::<usize>(), distinct(&ranges));
    assert!(ranges.len() > 20, "many tiles ask for ranges: {}", ranges.len());
    assert!(all as f64 <= 1.1 * different as f64, "{all} bytes were served, {different} of them different");
    let rows = std::fs::read_to_string(job.path("out/rows.jsonl")).unwrap();
    assert!(rows.contains(r#""min":1000"#) && rows.contains(r#""max":1000"#), "{rows}");
}

#[test]
fn a_small_cog_takes_at_most_three_requests() {
    let names = vec!["scene".to_owned()];
    let job = Job::new("");
    Scene::meadow_of(300).write(&job.path("in/scene.tif"));
    job.rewrite(
        r#"
[stages]
files   = { glob = { paths = ["in/*.tif"] } }
bands   = { from = "files", read = {} }
encoded = { from = "bands", encode = { format = "cog", compress = "none", blocksize = 128 } }
written = { from = "encoded", write = { path = "served/{id}.tif" } }
"#,
    );
    job.run().expect_exit(0);

    let server = Server::start(&job.path("served")).unwrap();
    let url = &urls(&server, &names)[0];
    job.rewrite(&format!(
        r#"
[stages]
files   = {{ list = {{ uris = ["{url}"] }} }}
fetched = {{ from = "files", fetch = {{}} }}
bands   = {{ from = "fetched", read = {{}} }}
encoded = {{ from = "bands", encode = {{ format = "gtiff" }} }}
written = {{ from = "encoded", write = {{ path = "out/{{id}}.tif" }} }}
"#
    ));
    job.gisrun(&["job.toml", "--fresh"]).expect_exit(0);

    assert!(server.requests().len() <= 3, "{:?}", server.requests());
    assert!(crate::scene::pixels(&job.path("out/scene.tif")).iter().all(|value| *value == 1000.0));
}
