//! `gisrun report` on runs of the real program.

use serde_json::Value as Json;

use crate::job::Job;
use crate::scene::Scene;

/// NDVI of so many scenes, and of files that are none.
fn job(scenes: usize, broken: &[&str]) -> Job {
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
    for name in broken {
        std::fs::write(job.path(&format!("in/{name}.tif")), "<html>not found</html>").unwrap();
    }
    job
}

fn json(job: &Job, runs: &[&str]) -> Json {
    let arguments: Vec<&str> = ["report", "--format", "json"].iter().chain(runs).copied().collect();
    serde_json::from_str(&job.gisrun(&arguments).expect_exit(0).stdout).unwrap()
}

#[test]
fn a_run_is_told_by_its_pipeline_or_by_its_record() {
    let job = job(3, &["x y", "z"]);
    job.run().expect_exit(1);
    let report = json(&job, &["job.toml"]);
    assert_eq!(report, json(&job, &[".gisrun/job.run.jsonl"]));
    assert_eq!((&report["items"]["done"], &report["items"]["failed"]), (&3.into(), &2.into()));
    let stage = |name: &str| {
        report["stages"].as_array().unwrap().iter().find(|stage| stage["name"] == name).unwrap().clone()
    };
    assert_eq!((&stage("scenes")["finished"], &stage("written")["finished"]), (&5.into(), &3.into()));
    assert_eq!(report["failures"].as_array().unwrap().len(), 1, "two items, one cause: {report:#}");
    assert_eq!(report["failures"][0]["count"], 2);
}

#[test]
fn the_command_that_tries_a_failure_again_does_so() {
    let job = job(1, &["x y"]);
    job.run().expect_exit(1);
    let report = json(&job, &["job.toml"]);
    assert_eq!(report["failures"][0]["retry"], "gisrun job.toml --only 'x y'");
    Scene::meadow().write(&job.path("in/x y.tif"));
    job.gisrun(&["job.toml", "--only", "x y"]).expect_exit(0);
    assert!(job.outputs().contains("x y.tif"));
}

#[test]
fn several_records_are_taken_together() {
    let (one, other) = (job(2, &[]), job(3, &["x"]));
    one.run().expect_exit(0);
    other.run().expect_exit(1);
    let second = other.path(".gisrun/job.run.jsonl");
    let report = json(&one, &["job.toml", second.to_str().unwrap()]);
    assert_eq!((&report["items"]["done"], &report["items"]["failed"]), (&5.into(), &1.into()));
    assert_eq!(report["runs"].as_array().unwrap().len(), 2);
    assert!(report["runs"][1]["verdict"]["says"].is_string());
}

#[test]
fn a_run_that_goes_on_is_told_as_far_as_it_is() {
    let job = job(2, &[]);
    job.run().expect_exit(0);
    let record = std::fs::read_to_string(job.path(".gisrun/job.run.jsonl")).unwrap();
    // Up to the middle of a line, as a run that writes has it.
    let cut = record.find("\"run_finished\"").unwrap();
    std::fs::write(job.path("live.jsonl"), &record[..cut]).unwrap();
    let told = job.gisrun(&["report", "live.jsonl"]).expect_exit(0).stdout;
    assert!(told.contains("still goes on or was killed"), "{told}");
    assert!(told.contains("2 of 2 items done"), "{told}");
}

#[test]
fn a_trace_has_a_span_for_every_try() {
    let job = job(3, &[]);
    job.run().expect_exit(0);
    job.gisrun(&["report", "job.toml", "--trace", "trace.json"]).expect_exit(0);
    let trace: Vec<Json> = serde_json::from_slice(&std::fs::read(job.path("trace.json")).unwrap()).unwrap();
    let spans = trace.iter().filter(|event| event["ph"] == "X" && event["cat"] == "ndvi").count();
    assert_eq!(spans, 3);
    assert!(trace.iter().any(|event| event["ph"] == "C" && event["name"] == "resource cores"));
}

#[test]
fn what_is_no_record_is_refused() {
    let job = job(1, &[]);
    let never = job.gisrun(&["report", "job.toml"]).expect_exit(2);
    never.line_with(&["no run of `job.toml` has left a record", "--events"]);
    std::fs::write(job.path("notes.txt"), "hello\n").unwrap();
    job.gisrun(&["report", "notes.txt"]).expect_exit(2).line_with(&["`notes.txt`", "line 1"]);
    job.gisrun(&["report", "nothing.jsonl"]).expect_exit(2).line_with(&["`nothing.jsonl`"]);
    job.run().expect_exit(0);
    let two = job.gisrun(&["report", "job.toml", "job.toml", "--trace", "t.json"]).expect_exit(2);
    two.line_with(&["`--trace` shows one run"]);
}

#[test]
fn a_resource_may_have_another_size_for_one_run() {
    let job = job(6, &[]);
    job.gisrun(&["job.toml", "--limit", "cores=1", "--limit", "memory=1GiB"]).expect_exit(0);
    let report = json(&job, &["job.toml"]);
    let limit = |name: &str| {
        let resources = report["resources"].as_array().unwrap();
        resources.iter().find(|it| it["name"] == name).unwrap()["limit"].clone()
    };
    assert_eq!((limit("cores"), limit("memory")), (1.0.into(), (f64::from(1 << 30)).into()));
    job.gisrun(&["job.toml", "--limit", "coers=1"])
        .expect_exit(2)
        .line_with(&["no resource is called `coers`", "`cores`"]);
    job.gisrun(&["job.toml", "--limit", "cores=1GiB"])
        .expect_exit(2)
        .line_with(&["`cores` is a resource of `slots`"]);
    job.gisrun(&["job.toml", "--limit", "cores=many"])
        .expect_exit(2)
        .line_with(&["`many` is no size of `cores`"]);
}
