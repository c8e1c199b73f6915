//! What a plan, a difference and a check say of items, without running one.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::SystemTime;

use serde_json::Value as Json;

use crate::job::Job;
use crate::scene::Scene;
use crate::served::{names, pipeline as served_pipeline, serve, urls};

fn pipeline(formula: &str, output: &str) -> String {
    format!(
        r#"
[stages]
scenes  = {{ glob = {{ paths = ["in/*.tif"] }} }}
bands   = {{ from = "scenes", read = {{ bands = {{ red = 1, nir = 2 }} }} }}
made    = {{ from = "bands", calc = {{ bands = {{ made = "{formula}" }} }} }}
encoded = {{ from = "made", encode = {{ format = "cog" }} }}
written = {{ from = "encoded", write = {{ path = "{output}" }} }}
"#
    )
}

/// Two scenes, made once, and a third that came after.
fn job() -> Job {
    let job = Job::new(&pipeline("nir - red", "out/{id}.tif"));
    Scene::meadow().write(&job.path("in/a.tif"));
    Scene::meadow().write(&job.path("in/b.tif"));
    job.run().expect_exit(0);
    Scene::meadow().write(&job.path("in/c.tif"));
    job
}

/// The verdict and reason of each item.
fn verdicts(job: &Job) -> Vec<(String, String, String)> {
    let plan = job.gisrun(&["plan", "--format", "json", "job.toml"]).expect_exit(0);
    let plan: Json = serde_json::from_str(&plan.stdout).unwrap();
    let text = |item: &Json, key: &str| item[key].as_str().unwrap().to_owned();
    let items = plan["items"]["list"].as_array().unwrap();
    items.iter().map(|item| (text(item, "item"), text(item, "verdict"), text(item, "reason"))).collect()
}

fn verdict(item: &str, verdict: &str, reason: &str) -> (String, String, String) {
    (item.to_owned(), verdict.to_owned(), reason.to_owned())
}

/// Every file below a folder, with its length and when it was written.
fn state(folder: &Path) -> BTreeMap<String, (u64, SystemTime)> {
    let mut state = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let (path, metadata) = (entry.path(), entry.metadata().unwrap());
        if metadata.is_dir() {
            state.extend(self::state(&path));
        }
        state.insert(path.display().to_string(), (metadata.len(), metadata.modified().unwrap()));
    }
    state
}

#[test]
fn a_plan_says_of_each_item_what_would_be_done_and_why() {
    let job = job();
    let new = verdict("c", "run", "it was not run before");
    let done = |item| verdict(item, "skip", "it is done");
    assert_eq!(verdicts(&job), [done("a"), done("b"), new.clone()]);

    fs::remove_file(job.path("out/b.tif")).unwrap();
    let missing = verdict("b", "run", "`[folder]/out/b.tif` is missing");
    assert_eq!(verdicts(&job), [done("a"), missing, new.clone()]);

    job.rewrite(&pipeline("nir + red", "out/{id}.tif"));
    let stale = |item| verdict(item, "stale", "`made.calc.bands.made` was `nir - red` and is `nir + red`");
    assert_eq!(verdicts(&job), [stale("a"), stale("b"), new]);
}

#[test]
fn a_plan_writes_nothing() {
    let job = job();
    let before = state(&job.path(""));
    job.gisrun(&["plan", "job.toml"]).expect_exit(0);
    job.gisrun(&["diff", "job.toml", "job.toml"]).expect_exit(0);
    job.gisrun(&["check", "job.toml"]).expect_exit(0);
    assert_eq!(state(&job.path("")), before);
}

#[test]
fn a_plan_sums_its_items_up() {
    let plan = job().gisrun(&["plan", "job.toml"]).expect_exit(0).stdout;
    let items = plan.split("\nitems\n").nth(1).unwrap();
    let expected = "  3 listed: 1 to run, 0 stale to run again, 2 to skip\n       1 run   it was not run before  c\n       2 skip  it is done             a, b\n";
    assert_eq!(items, expected);
}

#[test]
fn a_plan_of_remote_scenes_fetches_none_of_them() {
    let job = Job::new("");
    let names = names(3);
    let server = serve(&job, &names);
    job.rewrite(&served_pipeline(&urls(&server, &names), "", ""));
    let found: Vec<_> = verdicts(&job).into_iter().map(|(item, verdict, _)| (item, verdict)).collect();
    let expected: Vec<_> = names.iter().map(|name| (name.clone(), "run".to_owned())).collect();
    assert_eq!(found, expected);
    assert_eq!(server.requests().len(), 0);
}

/// A catalogue is asked for its items, unless the plan is to be made without.
#[test]
fn an_offline_plan_says_that_a_catalogue_was_not_asked() {
    let job = Job::new(
        r#"
[params]
token = { env = true }
[access."http://127.0.0.1:9"]
headers = { Authorization = "Bearer ${token}" }
[stages]
scenes  = { retry = { tries = 1 }, stac = { url = "http://127.0.0.1:9/stac", collections = ["x"] } }
fetched = { from = "scenes", fetch = {} }
bands   = { from = "fetched", read = { bands = { red = "red" } } }
encoded = { from = "bands", encode = { format = "cog" } }
written = { from = "encoded", write = { path = "out/{id}.tif" } }
"#,
    );
    let plan = job.gisrun(&["plan", "--offline", "job.toml"]).expect_exit(0).stdout;
    assert!(plan.contains("0 listed") && plan.contains("the list ends early: stage `scenes`"), "{plan}");
    let asking = job.gisrun(&["plan", "job.toml"]).expect_exit(2);
    asking.line_with(&["error[unset-parameter]", "`token`"]);
}

#[test]
fn a_run_refuses_two_items_with_one_path_and_outputs_over_inputs_before_any_work() {
    let job = job();
    for (output, words) in [
        ("out/all.tif", "the items `a` and `b` both write to `out/all.tif`"),
        ("in/{id}.tif", "the output `in/a.tif` of `a` is the input `in/a.tif`"),
    ] {
        job.rewrite(&pipeline("nir - red", output));
        let before = state(&job.path("in"));
        job.run().expect_exit(2).line_with(&[words]);
        assert_eq!(state(&job.path("in")), before);
    }
}

/// An item of a catalogue on this machine names a local file, which is an input as any other.
#[test]
fn the_local_file_of_a_stac_item_is_never_written_over() {
    let job = Job::new(
        r#"
[stages]
scenes  = { stac = { file = "items.json" } }
bands   = { from = "scenes", read = { bands = { red = { asset = "data", band = 1 } } } }
encoded = { from = "bands", encode = { format = "gtiff" } }
written = { from = "encoded", write = { path = "in/{id}.tif", existing = "replace" } }
"#,
    );
    Scene::meadow().write(&job.path("in/a.tif"));
    let item = serde_json::json!({
        "type": "Feature", "stac_version": "1.0.0", "id": "a", "geometry": null, "links": [],
        "properties": { "datetime": "2024-06-01T00:00:00Z" },
        "assets": { "data": { "href": "in/a.tif" } },
    });
    fs::write(job.path("items.json"), item.to_string()).unwrap();
    let before = fs::read(job.path("in/a.tif")).unwrap();
    let ran = job.run();
    assert!(ran.exit == Some(2) || ran.exit == Some(1), "{}", ran.stderr);
    ran.line_with(&["is the input"]);
    assert!(fs::read(job.path("in/a.tif")).unwrap() == before);
}

#[test]
fn a_difference_tells_stages_sizes_and_stale_outputs() {
    let job = job();
    let changed = pipeline("nir + red", "out/{id}_sum.tif")
        .replace("[stages]", "[resources]\ncores.slots = 1\n[stages]");
    fs::write(job.path("new.toml"), format!("name = \"job\"\n{changed}")).unwrap();
    let machine = "cores=4,memory=16GiB,descriptors=1024";
    let told = job.gisrun(&["diff", "--machine", machine, "job.toml", "new.toml"]).expect_exit(0).stdout;
    insta::assert_snapshot!("difference", told);
    let json = job.gisrun(&["diff", "--format", "json", "job.toml", "new.toml"]).expect_exit(0).stdout;
    let json: Json = serde_json::from_str(&json).unwrap();
    assert_eq!(
        (&json["outputs"]["stale"], &json["outputs"]["done"]),
        (&serde_json::json!(["a", "b"]), &2.into())
    );
    let markdown =
        job.gisrun(&["diff", "--format", "markdown", "job.toml", "new.toml"]).expect_exit(0).stdout;
    assert!(markdown.starts_with("### Plan: `job.toml` → `new.toml`\n"), "{markdown}");
}

#[test]
fn a_difference_of_nothing_says_so() {
    let told = job().gisrun(&["diff", "job.toml", "job.toml"]).expect_exit(0).stdout;
    let expected = "job.toml → job.toml\n\nplan\n  nothing changes\n\noutputs\n  no output becomes stale\n  2 items done in the ledger here, none of them stale\n";
    assert_eq!(told, expected);
}

#[test]
fn the_old_side_of_a_difference_may_be_a_git_revision() {
    let job = job();
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false"]);
        let output = git.args(arguments).current_dir(job.path("")).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    git(&["init", "--quiet"]);
    git(&["add", "job.toml"]);
    git(&["commit", "--quiet", "--message", "a job"]);
    job.rewrite(&pipeline("nir + red", "out/{id}.tif"));
    for old in ["HEAD", "HEAD:job.toml"] {
        let told = job.gisrun(&["diff", old, "job.toml"]).expect_exit(0).stdout;
        assert!(told.starts_with("HEAD:job.toml → job.toml\n"), "{told}");
        assert!(told.contains("`made`: `calc.bands.made` was `nir - red` and is `nir + red`"), "{told}");
    }
    let unknown = job.gisrun(&["diff", "no-such-branch", "job.toml"]).expect_exit(2);
    unknown.line_with(&["`no-such-branch` is neither a file nor a git revision"]);
    job.gisrun(&["diff", "--", "--output=x", "job.toml"]).expect_exit(2);
}

#[test]
fn only_plans_can_be_compared() {
    let job = job();
    fs::write(job.path("broken.toml"), "name = \"job\"\n[stages]\n").unwrap();
    let told = job.gisrun(&["diff", "job.toml", "broken.toml"]).expect_exit(2);
    told.line_with(&["`broken.toml` has errors, and only plans can be compared"]);
    told.line_with(&["error[no-source]"]);
}

#[test]
fn a_graph_is_drawn_in_four_ways() {
    let job = job();
    let begins =
        [("text", "scenes"), ("mermaid", "flowchart TD\n"), ("dot", "digraph \"job\" {"), ("svg", "<svg ")];
    for (format, begin) in begins {
        let drawn = job.gisrun(&["graph", "--format", format, "job.toml"]).expect_exit(0).stdout;
        assert!(drawn.starts_with(begin), "{drawn}");
        assert!(drawn.contains("written"), "{drawn}");
    }
}
