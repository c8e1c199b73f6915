//! What is said of a pipeline with mistakes.

use crate::job::Job;

const FIVE_FAULTS: &str = r#"
[stages.scenes]
glob = { paths = ["in/*.tif"] }

[stages.bands]
from = "scense"
read = { bands = { red = 3, nir = 4 } }

[stages.ndvi]
from = "bands"
uses = ["gpu"]
calc = { bands = { ndvi = "(nir - red) / (nir + red" }, dtype = "uint8" }

[stages.encoded]
from = "ndvi"
encode = { format = "cog" }

[stages.written]
from = "encoded"
write = { path = "out/{idd}.tif" }
"#;

#[test]
fn five_faults_are_told_at_once_each_with_its_place() {
    let job = Job::new(FIVE_FAULTS);
    let checked = job.gisrun(&["check", "job.toml"]).expect_exit(2);
    insta::assert_snapshot!("five_faults", checked.stdout);
    assert_eq!(checked.stderr, "5 errors\n");
}

#[test]
fn a_run_of_a_faulty_pipeline_tells_the_same_and_does_nothing() {
    let job = Job::new(FIVE_FAULTS);
    let checked = job.gisrun(&["check", "job.toml"]);
    let ran = job.run().expect_exit(2);
    assert!(ran.stderr.contains(checked.stdout.trim_end()), "{}", ran.stderr);
    let left: Vec<_> =
        std::fs::read_dir(job.path("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["job.toml"]);
}

#[test]
fn a_pipeline_without_faults_passes() {
    let mended = FIVE_FAULTS
        .replace("scense", "scenes")
        .replace("uses = [\"gpu\"]\n", "")
        .replace("red\" }, dtype = \"uint8\"", "red)\" }")
        .replace("{idd}", "{id}");
    let checked = Job::new(&mended).gisrun(&["check", "--deny-warnings", "job.toml"]).expect_exit(0);
    assert_eq!((checked.stdout.as_str(), checked.stderr.as_str()), ("", "1 file without faults\n"));
}

#[test]
fn what_is_no_pipeline_is_named() {
    let job = Job::new("");
    let ran = job.gisrun(&["nowhere.toml"]).expect_exit(2);
    ran.line_with(&["nowhere.toml"]);
    assert_eq!(job.gisrun(&["--no-such-flag"]).exit, Some(2));
}
