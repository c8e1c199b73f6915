//! Inputs that are not what they claim: a sentence each, and the run goes on.

use std::fs;

use crate::job::Job;
use crate::scene::Scene;

fn pipeline(op: &str) -> String {
    format!(
        r#"
[stages.scenes]
glob = {{ paths = ["in/*.tif"] }}

[stages.bands]
from = "scenes"
read = {{ bands = {{ red = 1, nir = 2 }} }}

[stages.made]
from = "bands"
{op}

[stages.encoded]
from = "made"
encode = {{ format = "cog" }}

[stages.written]
from = "encoded"
write = {{ path = "out/{{id}}.tif" }}
"#
    )
}

const CALC: &str = r#"calc = { bands = { ndvi = "(nir - red) / (nir + red)" } }"#;
const WARP: &str = r#"warp = { crs = "EPSG:3857", resampling = "bilinear" }"#;

/// Runs on a sound scene and a bad one; the line about the bad one has these words, and the sound one comes out.
#[track_caller]
fn assert_told(op: &str, make: impl FnOnce(&Job), words: &[&str]) {
    let job = Job::new(&pipeline(op));
    Scene::meadow().write(&job.path("in/good.tif"));
    make(&job);
    let ended = job.run().expect_exit(1);
    ended.line_with(&[&["`bad`", "in/bad.tif"], words].concat());
    assert_eq!(job.outputs().into_iter().collect::<Vec<_>>(), ["good.tif"]);
}

#[test]
fn an_html_page_is_called_one() {
    let page = "<!DOCTYPE html><html><head><title>Sign in</title></head><body>Please log in</body></html>";
    assert_told(CALC, |job| fs::write(job.path("in/bad.tif"), page).unwrap(), &["`bands`", "HTML page"]);
}

#[test]
fn an_empty_file_is_called_empty() {
    assert_told(CALC, |job| fs::write(job.path("in/bad.tif"), "").unwrap(), &["`bands`", "empty"]);
}

#[test]
fn a_file_that_is_cut_names_the_band_that_cannot_be_read() {
    let cut = |job: &Job| {
        Scene::meadow().write(&job.path("in/bad.tif"));
        let whole = fs::read(job.path("in/bad.tif")).unwrap();
        fs::write(job.path("in/bad.tif"), &whole[..whole.len() - 1500]).unwrap();
    };
    assert_told(CALC, cut, &["`bands`", "cannot be read", "band"]);
}

#[test]
fn a_raster_without_crs_is_not_guessed_one() {
    let make = |job: &Job| Scene { epsg: None, ..Scene::meadow() }.write(&job.path("in/bad.tif"));
    assert_told(WARP, make, &["`made`", "CRS"]);
}

#[test]
fn a_band_that_is_not_there_is_named() {
    let make = |job: &Job| {
        let meadow = Scene::meadow();
        Scene { bands: meadow.bands[..1].to_vec(), ..meadow }.write(&job.path("in/bad.tif"));
    };
    assert_told(CALC, make, &["`bands`", "`nir`", "no band 2"]);
}

/// Runs a pipeline whose source is at fault: nothing is done, these words are told, and the exit code says that the
/// pipeline is wrong.
#[track_caller]
fn assert_refused(source: &str, words: &[&str]) {
    let job = Job::new(&pipeline(CALC).replace(r#"glob = { paths = ["in/*.tif"] }"#, source));
    Scene::meadow().write(&job.path("in/1/a.tif"));
    Scene::meadow().write(&job.path("in/2/a.tif"));
    fs::write(job.path("none.txt"), "# nothing yet\n").unwrap();
    let ended = job.run().expect_exit(2);
    ended.line_with(words);
    assert!(job.outputs().is_empty());
}

#[test]
fn a_list_of_nothing_is_the_pipelines_fault() {
    assert_refused("list = { uris = [] }", &["`scenes`", "`uris` has no entry"]);
    assert_refused(r#"list = { file = "none.txt" }"#, &["`scenes`", "none.txt", "no entry"]);
    assert_refused(r#"glob = { paths = ["in/*.jp2"] }"#, &["`scenes`", "no file matches", "in/*.jp2"]);
}

#[test]
fn two_local_items_with_one_id_are_refused_before_any_work() {
    let words = ["`scenes`", "two items have the id `a`", "in/1/a.tif", "in/2/a.tif"];
    assert_refused(r#"glob = { paths = ["in/*/a.tif"] }"#, &words);
}
