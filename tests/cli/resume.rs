//! A second run does what is missing, and nothing else.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;

use crate::job::Job;
use crate::scene::Scene;

fn pipeline(formula: &str, output: &str) -> String {
    format!(
        r#"
[stages.scenes]
glob = {{ paths = ["in/*.tif"] }}

[stages.bands]
from = "scenes"
read = {{ bands = {{ red = 1, nir = 2 }} }}

[stages.made]
from = "bands"
calc = {{ bands = {{ made = "{formula}" }} }}

[stages.encoded]
from = "made"
encode = {{ format = "cog" }}

[stages.written]
from = "encoded"
write = {{ path = "{output}" }}
"#
    )
}

/// Two scenes.
fn job() -> Job {
    let job = Job::new(&pipeline("nir - red", "out/{id}.tif"));
    Scene::meadow().write(&job.path("in/a.tif"));
    Scene::meadow().write(&job.path("in/b.tif"));
    job
}

/// Two scenes, made once.
fn done() -> Job {
    let job = job();
    job.run().expect_exit(0);
    assert_eq!(job.record().finished(), ["a", "b"]);
    job
}

fn ids(items: &[&str]) -> Vec<String> {
    items.iter().map(|&id| id.to_owned()).collect()
}

#[test]
fn what_is_done_is_skipped() {
    let job = done();
    job.run().expect_exit(0);
    assert_eq!((job.record().finished(), job.record().skipped()), (ids(&[]), ids(&["a", "b"])));
}

#[test]
fn a_changed_option_makes_every_output_stale() {
    let job = done();
    job.rewrite(&pipeline("nir + red", "out/{id}.tif"));
    job.run().expect_exit(0);
    assert_eq!(job.record().finished(), ids(&["a", "b"]));
    assert_eq!(crate::scene::pixels(&job.path("out/a.tif"))[0], 4000.0);
}

#[test]
fn a_changed_limit_makes_nothing_stale() {
    let job = done();
    let limited = format!("[resources]\ncores.slots = 1\n{}", pipeline("nir - red", "out/{id}.tif"));
    job.rewrite(&limited);
    job.run().expect_exit(0);
    assert_eq!(job.record().skipped(), ids(&["a", "b"]));
}

#[test]
fn a_changed_input_is_done_again() {
    let job = done();
    let mut other = Scene::meadow();
    other.bands[1].fill(5000);
    other.bands.push(other.bands[0].clone());
    other.write(&job.path("in/a.tif"));
    job.run().expect_exit(0);
    assert_eq!((job.record().finished(), job.record().skipped()), (ids(&["a"]), ids(&["b"])));
    assert_eq!(crate::scene::pixels(&job.path("out/a.tif"))[0], 4000.0);
}

#[test]
fn a_deleted_output_is_made_again() {
    let job = done();
    fs::remove_file(job.path("out/b.tif")).unwrap();
    job.run().expect_exit(0);
    assert_eq!((job.record().finished(), job.record().skipped()), (ids(&["b"]), ids(&["a"])));
    assert_eq!(job.outputs(), BTreeSet::from(["a.tif".to_owned(), "b.tif".to_owned()]));
}

#[test]
fn a_damaged_output_is_made_again() {
    let job = done();
    fs::write(job.path("out/b.tif"), b"II*\0\0\0\0\0").unwrap();
    job.run().expect_exit(0);
    assert_eq!((job.record().finished(), job.record().skipped()), (ids(&["b"]), ids(&["a"])));
    assert_eq!(crate::scene::pixels(&job.path("out/b.tif")), crate::scene::pixels(&job.path("out/a.tif")));
}

#[test]
fn a_touched_input_is_named_with_both_times() {
    let job = done();
    let touched = fs::File::options().write(true).open(job.path("in/a.tif")).unwrap();
    touched.set_modified(std::time::UNIX_EPOCH).unwrap();
    let plan = job.gisrun(&["plan", "job.toml"]).expect_exit(0);
    let line = plan.stdout.lines().find(|line| line.contains("its input was")).unwrap();
    assert!(line.contains("and is `…version=mtime:1970-01-01T00:00:00.000000000Z`"), "{line}");
}

#[test]
fn a_broken_link_among_the_inputs_fails_as_an_item() {
    let job = job();
    symlink("nowhere", job.path("in/c.tif")).unwrap();
    job.run().expect_exit(1).line_with(&["failed: `c`", "in/c.tif"]);
}

#[test]
fn an_id_that_no_item_has_is_bad_usage() {
    let job = done();
    let ended = job.gisrun(&["job.toml", "--only", "c", "--only", "a"]).expect_exit(2);
    ended.line_with(&["error: `--only c`: no item has this id"]);
    assert_eq!(job.record().finished(), ids(&["a"]));
}

#[test]
fn fresh_forgets() {
    let job = done();
    job.gisrun(&["job.toml", "--fresh"]).expect_exit(0);
    assert_eq!(job.record().finished(), ids(&["a", "b"]));
}

/// `a` is done, `b` is no raster yet.
fn half_done() -> Job {
    let job = job();
    std::fs::write(job.path("in/b.tif"), "not yet").unwrap();
    job.run().expect_exit(1);
    assert_eq!(job.record().finished(), ids(&["a"]));
    Scene::meadow().write(&job.path("in/b.tif"));
    job
}

#[test]
fn retry_failed_runs_what_failed_before_and_nothing_else() {
    let job = half_done();
    Scene::meadow().write(&job.path("in/new.tif"));
    std::fs::remove_file(job.path("out/a.tif")).unwrap();
    job.gisrun(&["job.toml", "--retry-failed"]).expect_exit(0);
    assert_eq!((job.record().finished(), job.record().skipped()), (ids(&["b"]), ids(&["a", "new"])));
    job.run().expect_exit(0);
    assert_eq!((job.record().finished(), job.record().skipped()), (ids(&["a", "new"]), ids(&["b"])));
}

#[test]
fn only_runs_the_named_items_done_or_not() {
    let job = half_done();
    job.gisrun(&["job.toml", "--only", "a"]).expect_exit(0);
    assert_eq!((job.record().finished(), job.record().skipped()), (ids(&["a"]), ids(&["b"])));
}

#[test]
fn the_plan_tells_why_and_writes_nothing() {
    let job = done();
    fs::remove_file(job.path("out/b.tif")).unwrap();
    let before = fs::metadata(job.path(".gisrun/job.sqlite")).unwrap().modified().unwrap();
    job.gisrun(&["plan", "job.toml"]).expect_exit(0);
    assert_eq!(fs::metadata(job.path(".gisrun/job.sqlite")).unwrap().modified().unwrap(), before);
    assert_eq!(job.outputs(), BTreeSet::from(["a.tif".to_owned()]));
}

#[test]
fn a_file_that_nobody_here_wrote_is_left_alone() {
    let job = job();
    fs::create_dir(job.path("out")).unwrap();
    fs::write(job.path("out/a.tif"), "mine").unwrap();
    let ended = job.run().expect_exit(1);
    ended.line_with(&["`a`", "out/a.tif", "existing"]);
    assert_eq!(fs::read(job.path("out/a.tif")).unwrap(), b"mine");
    assert!(job.path("out/b.tif").exists());
}

#[test]
fn a_file_that_nobody_here_wrote_is_replaced_when_asked() {
    let job = job();
    fs::create_dir(job.path("out")).unwrap();
    fs::write(job.path("out/a.tif"), "mine").unwrap();
    job.rewrite(
        &pipeline("nir - red", "out/{id}.tif").replace("{id}.tif\"", "{id}.tif\", existing = \"replace\""),
    );
    job.run().expect_exit(0);
    assert_eq!(crate::scene::pixels(&job.path("out/a.tif"))[0], 2000.0);
}

#[test]
fn the_input_is_never_the_output() {
    let job = job();
    job.rewrite(&pipeline("nir - red", "in/{id}.tif"));
    assert_inputs_stay(&job, "in/a.tif");
}

#[test]
fn the_input_is_not_the_output_through_a_symbolic_link() {
    let job = job();
    symlink("in", job.path("out")).unwrap();
    assert_inputs_stay(&job, "out/a.tif");
}

#[test]
fn the_input_is_not_the_output_through_a_hard_link() {
    let job = job();
    fs::create_dir(job.path("out")).unwrap();
    for name in ["a.tif", "b.tif"] {
        fs::hard_link(job.path("in").join(name), job.path("out").join(name)).unwrap();
    }
    assert_inputs_stay(&job, "out/a.tif");
}

/// Even when files may be replaced.
#[track_caller]
fn assert_inputs_stay(job: &Job, output: &str) {
    let text = fs::read_to_string(job.path("job.toml")).unwrap();
    fs::write(job.path("job.toml"), text.replace("{id}.tif\"", "{id}.tif\", existing = \"replace\""))
        .unwrap();
    let before = fs::read(job.path("in/a.tif")).unwrap();
    let ended = job.run();
    assert!(matches!(ended.exit, Some(1 | 2)), "{:?}: {}", ended.exit, ended.stderr);
    ended.line_with(&["input", output]);
    assert_eq!(fs::read(job.path("in/a.tif")).unwrap(), before);
}
