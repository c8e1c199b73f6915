//! `gisrun sweep` on the real program.

use serde_json::Value as Json;

use crate::job::Job;
use crate::scene::Scene;

fn job(scenes: usize, path: &str) -> Job {
    let job = Job::new(&format!(
        r#"
[stages]
scenes = {{ glob = {{ paths = ["in/*.tif"] }} }}
bands = {{ from = "scenes", read = {{ bands = {{ red = 1, nir = 2 }} }} }}
encoded = {{ from = "bands", encode = {{ format = "cog" }} }}
written = {{ from = "encoded", write = {{ path = "{path}" }} }}
"#
    ));
    for number in 0..scenes {
        Scene::meadow().write(&job.path(&format!("in/s{number:02}.tif")));
    }
    job
}

#[test]
fn each_size_is_run_afresh_and_what_is_there_stays_as_it_is() {
    let job = job(4, "out/{id}.tif");
    job.run().expect_exit(0);
    std::fs::write(job.path("out/s00.tif"), "mine").unwrap();
    let record = std::fs::read(job.path(".gisrun/job.run.jsonl")).unwrap();
    let arguments = ["sweep", "job.toml", "--resource", "cores", "--values", "1,2", "--repeats", "2"];
    let told =
        job.gisrun(&[&arguments[..], &["--format", "json", "--chart", "sweep.svg"]].concat()).expect_exit(0);
    let sweep: Json = serde_json::from_str(&told.stdout).unwrap();
    let points = sweep["points"].as_array().unwrap();
    assert_eq!((points.len(), points[0]["runs"].as_array().unwrap().len()), (2, 2));
    for run in points.iter().flat_map(|point| point["runs"].as_array().unwrap()) {
        assert!(run["items-per-second"].as_f64().unwrap() > 0.0, "all items are run each time: {run}");
        assert!(run["peak-resident"].as_u64().unwrap() > 1 << 20);
    }
    assert!(["1", "2"].contains(&sweep["knee"].as_str().unwrap()));
    assert_eq!(sweep["edit"], format!("cores.slots = {}", sweep["knee"].as_str().unwrap()));
    assert!(std::fs::read_to_string(job.path("sweep.svg")).unwrap().starts_with("<svg"));
    assert_eq!(std::fs::read_to_string(job.path("out/s00.tif")).unwrap(), "mine");
    assert_eq!(std::fs::read(job.path(".gisrun/job.run.jsonl")).unwrap(), record);
    assert!(!job.path(".gisrun/job.sweep").exists(), "the folder of the trials is gone");
}

#[test]
fn a_ledger_and_scratch_beside_the_pipeline_are_left_alone() {
    let job = job(3, "out/{id}.tif");
    let text = std::fs::read_to_string(job.path("job.toml")).unwrap();
    let run = "[run]\nledger = \"state.sqlite\"\nscratch = \"tmp\"\n[stages]";
    std::fs::write(job.path("job.toml"), text.replace("[stages]", run)).unwrap();
    job.run().expect_exit(0);
    std::fs::write(job.path("tmp/kept"), "of a run that goes on").unwrap();
    let ledger = std::fs::read(job.path("state.sqlite")).unwrap();
    let arguments = ["sweep", "job.toml", "--resource", "cores", "--values", "1", "--format", "json"];
    let sweep: Json = serde_json::from_str(&job.gisrun(&arguments).expect_exit(0).stdout).unwrap();
    assert!(sweep["points"][0]["runs"][0]["items-per-second"].as_f64().unwrap() > 0.0, "{sweep:#}");
    assert!(job.path("tmp/kept").exists());
    assert_eq!(std::fs::read(job.path("state.sqlite")).unwrap(), ledger);
}

#[test]
fn an_interrupt_ends_the_trial_and_its_folder_goes() {
    let job = Job::new(
        r#"
[stages]
scenes = { glob = { paths = ["in/*.tif"] } }
made = { from = "scenes", exec = { command = ["sh", "-c", "touch begun; sleep 600", "{output}"], outputs = { made = "out/{id}.tif" } } }
"#,
    );
    Scene::meadow().write(&job.path("in/a.tif"));
    let sweep = job.start_gisrun(&["sweep", "job.toml", "--resource", "cores", "--values", "1,2"]);
    let trials = job.path(".gisrun/job.sweep");
    let begun = trials.join(job.path("begun").strip_prefix("/").unwrap());
    while !begun.exists() {
        std::thread::yield_now();
    }
    sweep.send_interrupt();
    assert_eq!(sweep.end(), Some(130));
    assert!(!trials.exists(), "nothing of the trial stays");
}

#[test]
fn the_table_has_a_row_for_each_size() {
    let job = job(2, "out/{id}.tif");
    let arguments =
        ["sweep", "job.toml", "--resource", "memory", "--values", "64 MiB,1 GiB", "--warm-up", "0"];
    let told = job.gisrun(&arguments).expect_exit(0).stdout;
    assert!(told.starts_with("memory "), "{told}");
    assert!(told.lines().any(|line| line.starts_with("64 MiB ")), "{told}");
    assert!(told.contains("the knee is at `memory` = "), "{told}");
    assert!(!job.path("out").exists());
}

#[test]
fn what_cannot_be_swept_is_refused_before_anything_runs() {
    let sweep = |job: &Job, resource: &str, values: &str| {
        job.gisrun(&["sweep", "job.toml", "--resource", resource, "--values", values]).expect_exit(2)
    };
    let sound = job(1, "out/{id}.tif");
    sweep(&sound, "coers", "1,2").line_with(&["no resource is called `coers`"]);
    sweep(&sound, "cores", "1,many").line_with(&["`many` is no size"]);
    sweep(&sound, "cores", "1 GiB").line_with(&["`cores` is a resource of `slots`"]);
    let elsewhere = job(1, "/somewhere/{id}.tif");
    sweep(&elsewhere, "cores", "1,2").line_with(&["`written` writes to `/somewhere/{id}.tif`"]);
}

#[test]
fn a_run_that_does_not_come_to_work_ends_the_sweep_with_its_words() {
    let job = job(0, "out/{id}.tif");
    std::fs::create_dir(job.path("in")).unwrap();
    let ended = job.gisrun(&["sweep", "job.toml", "--resource", "cores", "--values", "1,2"]).expect_exit(2);
    ended.line_with(&["the run with `cores = 1` ended with"]);
    assert!(!job.path(".gisrun/job.sweep").exists());
}
