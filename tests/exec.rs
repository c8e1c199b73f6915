//! `exec` in pipelines that the real binary runs.

#![allow(clippy::unwrap_used, reason = "a test stops at what cannot be")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use gdal::DriverManager;
use gdal::raster::Buffer;
use rustix::process::{Pid, Signal, kill_process};

/// A folder with a pipeline, its name with a space in it.
struct Job {
    folder: tempfile::TempDir,
}

impl Job {
    /// Two inputs that are no rasters, `a` and `b`, and a pipeline of `exec` with these options.
    fn new(exec: &str, stage: &str) -> Self {
        let job = Self { folder: tempfile::tempdir().unwrap() };
        for (name, text) in [("a", "one"), ("b", "two")] {
            job.write(&format!("in/{name}.txt"), text);
        }
        job.write("job.toml", &pipeline(exec, stage));
        job
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("my job")
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// Runs from the folder above.
    fn run(&self, arguments: &[&str]) -> Run {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gisrun"));
        let output = command.current_dir(self.folder.path()).arg("my job/job.toml").args(arguments).output();
        Run(output.unwrap())
    }

    /// All files of the output folder, hidden ones too.
    fn outputs(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.root().join("out")) else { return Vec::new() };
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    fn left_on_scratch(&self) -> usize {
        fs::read_dir(self.root().join(".gisrun/job.scratch")).unwrap().count()
    }
}

fn pipeline(exec: &str, stage: &str) -> String {
    format!(
        "name = \"job\"\n\n[stages.files]\nglob = {{ paths = [\"in/*.txt\"] }}\n\n\
         [stages.made]\nfrom = \"files\"\n{stage}\nexec = {exec}\n"
    )
}

struct Run(Output);

impl Run {
    fn code(&self) -> i32 {
        self.0.status.code().unwrap_or(-1)
    }

    fn said(&self) -> String {
        String::from_utf8_lossy(&self.0.stderr).into_owned()
    }

    #[track_caller]
    fn ends_with(&self, code: i32) -> &Self {
        assert_eq!(self.code(), code, "{}", self.said());
        self
    }
}

#[test]
fn named_outputs_stay_under_their_paths() {
    let exec = r#"{ command = ["./both.sh", "{input}", "{output.copy}", "{output.note}", "{id}"], outputs = { copy = "out/{id} copy.txt", note = "out/notes/{stem}" } }"#;
    let job = Job::new(exec, "");
    job.write("both.sh", "#!/bin/sh\ncp \"$1\" \"$2\" && pwd > \"$3\" && printf %s \"$4\" >> \"$3\"\n");
    fs::set_permissions(job.root().join("both.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    job.run(&[]).ends_with(0);
    assert_eq!((job.read("out/a copy.txt"), job.read("out/b copy.txt")), ("one".into(), "two".into()));
    let root = job.root().canonicalize().unwrap();
    assert_eq!(job.read("out/notes/a"), format!("{}\na", root.display()));
    assert_eq!(job.outputs(), ["a copy.txt", "b copy.txt", "notes"]);
    let again = job.run(&[]);
    assert!(again.ends_with(0).said().contains("2 done before"), "{}", again.said());
}

#[test]
fn one_failure_is_told_in_the_words_of_the_program_and_the_others_go_on() {
    let exec = r#"{ command = ["sh", "-c", "cat < \"$0\" > \"$1\"; [ $2 = a ] || {{ echo no luck with $2 >&2; exit 3; }}", "{input}", "{output}", "{id}"], outputs = { made = "out/{id}.txt" } }"#;
    let job = Job::new(exec, "");
    let run = job.run(&[]);
    let told = "`b` in `made`: `sh` ended with exit code `3`: no luck with b";
    assert!(run.ends_with(1).said().contains(told), "{}", run.said());
    assert_eq!(job.outputs(), ["a.txt"], "no partial file stays");
}

#[test]
fn an_old_output_stands_until_the_new_is_complete() {
    let exec = r#"{ command = ["sh", "script", "{input}", "{output}"], outputs = { made = "out/{id}.txt" }, depends = ["script"] }"#;
    let job = Job::new(exec, "");
    job.write("script", "cat \"$1\" > \"$2\"");
    job.run(&[]).ends_with(0);
    job.write("script", "printf half > \"$2\"; exit 1");
    job.run(&[]).ends_with(1);
    assert_eq!((job.read("out/a.txt"), job.outputs().len()), ("one".into(), 2));
    job.write("script", "printf new > \"$2\"");
    job.run(&[]).ends_with(0);
    assert_eq!(job.read("out/a.txt"), "new");
}

#[test]
fn outputs_that_are_lacking_or_empty_fail_the_item() {
    for (script, told) in
        [("true", "is not there"), (": > \"$0\"", "is empty"), ("mkdir \"$0\"", "is no file")]
    {
        let script = script.replace('"', "\\\"");
        let exec = format!(
            r#"{{ command = ["sh", "-c", "{script}", "{{output}}"], outputs = {{ made = "out/{{id}}.txt" }} }}"#
        );
        let run = Job::new(&exec, "").run(&[]);
        let said = run.ends_with(1).said();
        assert!(said.contains("output `made`") && said.contains(told), "{said}");
    }
}

#[test]
fn a_program_that_is_not_there_stops_the_run() {
    let exec = r#"{ command = ["no-such-program", "{output}"], outputs = { made = "out/{id}.txt" } }"#;
    let run = Job::new(exec, "").run(&[]);
    assert!(run.ends_with(3).said().contains("cannot start `no-such-program`"), "{}", run.said());
}

#[test]
fn threads_and_cache_follow_what_the_stage_takes() {
    let exec = r#"{ command = ["sh", "-c", "echo $OMP_NUM_THREADS $GDAL_NUM_THREADS $GDAL_CACHEMAX > \"$0\"", "{output}"], outputs = { made = "out/{id}.txt" } }"#;
    let job = Job::new(exec, "uses = [{ cores = 2 }]");
    job.run(&["--machine", "cores=4,memory=10GiB"]).ends_with(0);
    // Four cores are two programs of two; with the run itself they share 5 % of 10 GiB: 512 MiB / 3.
    assert_eq!(job.read("out/a.txt"), "2 2 170\n");
}

#[test]
fn a_timeout_is_told_and_another_try_is_made() {
    let exec = r#"{ command = ["sh", "-c", "[ -e tried-$1 ] && exec cp tried-$1 \"$0\"; echo $$ > tried-$1; sleep 600 & echo $! >> tried-$1; wait", "{output}", "{id}"], outputs = { made = "out/{id}.txt" } }"#;
    let job = Job::new(exec, "timeout = \"1s\"\nretry = { tries = 2, first-delay = \"1ms\" }");
    job.run(&[]).ends_with(0);
    for process in job.read("out/a.txt").lines().chain(job.read("out/b.txt").lines()) {
        assert!(!is_alive(process), "{process} still runs");
    }
    let record = job.read(".gisrun/job.run.jsonl");
    let told = |line: &&str| line.contains("stage_retried") && line.contains("longer than its timeout of 1s");
    assert_eq!(record.lines().filter(told).count(), 2, "{record}");
}

/// The program and what it started itself are in one group.
#[test]
fn programs_end_with_a_run_that_is_killed() {
    let exec = r#"{ command = ["sh", "-c", "sleep 600 & echo $$ $! > begun; wait", "{output}"], outputs = { made = "out/{id}.txt" } }"#;
    let job = Job::new(exec, "");
    let mut run = Command::new(env!("CARGO_BIN_EXE_gisrun"))
        .current_dir(job.root())
        .args(["job.toml", "--machine", "cores=1,memory=1GiB"])
        .spawn()
        .unwrap();
    let begun = || fs::read_to_string(job.root().join("begun")).unwrap_or_default();
    wait_until("the program has begun", || begun().ends_with('\n'));
    run.kill().unwrap();
    run.wait().unwrap();
    for process in begun().split_whitespace() {
        wait_until("the program has ended", || !is_alive(process));
    }
}

/// A program that does not end when it is asked to holds the second step up; the third does not wait for it.
#[test]
fn the_third_interrupt_waits_for_nobody() {
    let exec = r#"{ command = ["sh", "-c", "trap 'echo > asked' TERM; echo $$ > begun; while :; do sleep 600 & wait; done", "{output}"], outputs = { made = "out/{id}.txt" } }"#;
    let job = Job::new(exec, "");
    let mut run = Command::new(env!("CARGO_BIN_EXE_gisrun"))
        .current_dir(job.root())
        .args(["job.toml", "--machine", "cores=1,memory=1GiB"])
        .spawn()
        .unwrap();
    let interrupt = || kill_process(Pid::from_child(&run), Signal::INT).unwrap();
    let has = |path: &str| fs::exists(job.root().join(path)).unwrap();
    let record = || job.read(".gisrun/job.run.jsonl");
    wait_until("the program has begun", || has("begun"));
    interrupt();
    wait_until("the run stops", || record().contains("\"stopping\""));
    interrupt();
    wait_until("the program is asked to end", || has("asked"));
    interrupt();
    assert_eq!(run.wait().unwrap().code(), Some(130));
    assert!(!record().contains("\"run_finished\""), "the run ends in its tracks");
    wait_until("the program has ended", || !is_alive(job.read("begun").trim()));
}

fn is_alive(process: &str) -> bool {
    fs::read_to_string(format!("/proc/{process}/stat")).is_ok_and(|state| !state.contains(") Z"))
}

/// Looks again and again; a condition that never comes to be ends the test.
fn wait_until(condition: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_mins(1), "in vain: {condition}");
        std::thread::yield_now();
    }
}

#[test]
fn a_file_that_nobody_made_is_refused_kept_or_replaced() {
    for (existing, code, left) in [("refuse", 1, "old"), ("keep", 0, "old"), ("replace", 0, "one")] {
        let exec = format!(
            r#"{{ command = ["cp", "{{input}}", "{{output}}"], outputs = {{ made = "out/{{id}}.txt" }}, existing = "{existing}" }}"#
        );
        let job = Job::new(&exec, "");
        job.write("out/a.txt", "old");
        job.run(&[]).ends_with(code);
        assert_eq!((job.read("out/a.txt").as_str(), job.read("out/b.txt").as_str()), (left, "two"));
    }
}

#[test]
fn the_input_is_never_the_output() {
    let exec = r#"{ command = ["cp", "{input}", "{output}"], outputs = { made = "in/{id}.txt" }, existing = "replace" }"#;
    let job = Job::new(exec, "");
    let run = job.run(&[]);
    assert!(run.ends_with(2).said().contains("is the input"), "{}", run.said());
    assert_eq!(job.read("in/a.txt"), "one");
}

/// One read, a program with two temporary results, a read of those.
#[test]
fn a_raster_goes_to_a_program_and_its_files_come_back_as_one() {
    let exec = r#"{ command = ["sh", "-c", "cp \"$0\" \"$1\"; cp \"$0\" \"$2\"", "{input}", "{output.one}", "{output.two}"], outputs = { one = ".tif", two = ".tif" } }"#;
    let job = Job::new(exec, "");
    let before = "\n[stages.heights]\nfrom = \"files\"\nread = { bands = { height = 1 } }\n";
    let after = "\n[stages.back]\nfrom = \"made\"\nread = { bands = { a = \"one\", b = \"two\" } }\n\n\
                 [stages.sum]\nfrom = \"back\"\ncalc = { bands = { sum = \"a + b\" }, dtype = \"float32\" }\n\n\
                 [stages.encoded]\nfrom = \"sum\"\nencode = {}\n\n\
                 [stages.written]\nfrom = \"encoded\"\nwrite = { path = \"out/{id}.tif\" }\n";
    let text = pipeline(exec, "").replace("*.txt", "*.tif").replace("from = \"files\"", "from = \"heights\"");
    job.write("job.toml", &(text + before + after));
    raster(&job.root().join("in/x.tif"), &[1.0, 2.0, 3.0, 4.0, 5.0, -9.0]);
    job.run(&[]).ends_with(0);
    let sum = gdal::Dataset::open(job.root().join("out/x.tif")).unwrap();
    assert_eq!(sum.geo_transform().unwrap(), [100.0, 10.0, 0.0, 200.0, 0.0, -10.0]);
    let values: Buffer<f32> = sum.rasterband(1).unwrap().read_band_as().unwrap();
    assert_eq!(&values.data()[..5], [2.0, 4.0, 6.0, 8.0, 10.0]);
    assert!(values.data()[5].is_nan(), "the nodata pixel stays one");
    assert_eq!(job.left_on_scratch(), 0);
}

/// 3 × 2 pixels with -9 for nodata.
fn raster(path: &Path, values: &[f32; 6]) {
    let driver = DriverManager::get_driver_by_name("GTiff").unwrap();
    let mut file = driver.create_with_band_type::<f32, _>(path, 3, 2, 1).unwrap();
    file.set_geo_transform(&[100.0, 10.0, 0.0, 200.0, 0.0, -10.0]).unwrap();
    let mut band = file.rasterband(1).unwrap();
    band.set_no_data_value(Some(-9.0)).unwrap();
    band.write((0, 0), (3, 2), &mut Buffer::new((3, 2), values.to_vec())).unwrap();
}

/// Windows of two columns: the program is given a column more on each side where there is one, and the image is whole again.
#[test]
fn what_a_program_makes_of_windows_lies_where_they_lie() {
    let exec = r#"{ command = ["sh", "-c", "cp \"$0\" \"$1\"; cp \"$0\" \"$2\"", "{input}", "{output.made}", "{output.seen}"], outputs = { made = ".tif", seen = "seen/{row}-{col}.tif" } }"#;
    let job = Job::new(exec, "");
    let before = "\n[stages.windows]\nfrom = \"files\"\nwindow = { size = 2, overlap = 1 }\n\n\
                  [stages.heights]\nfrom = \"windows\"\nread = { bands = { height = 1 } }\n";
    let after = "\n[stages.back]\nfrom = \"made\"\nread = { bands = { height = \"made\" } }\n\n\
                 [stages.encoded]\nfrom = \"back\"\nencode = { assemble = true }\n\n\
                 [stages.written]\nfrom = \"encoded\"\nwrite = { path = \"out/{id}.tif\" }\n";
    let text = pipeline(exec, "").replace("*.txt", "*.tif").replace("from = \"files\"", "from = \"heights\"");
    job.write("job.toml", &(text + before + after));
    raster(&job.root().join("in/x.tif"), &[1.0, 2.0, 3.0, 4.0, 5.0, -9.0]);
    job.run(&[]).ends_with(0);
    let seen = |name: &str| {
        let file = gdal::Dataset::open(job.root().join("seen").join(name)).unwrap();
        (file.raster_size(), file.geo_transform().unwrap()[0])
    };
    assert_eq!((seen("0-0.tif"), seen("0-1.tif")), (((3, 2), 100.0), ((2, 2), 110.0)));
    let whole = gdal::Dataset::open(job.root().join("out/x.tif")).unwrap();
    assert_eq!(whole.geo_transform().unwrap(), [100.0, 10.0, 0.0, 200.0, 0.0, -10.0]);
    let values: Buffer<f32> = whole.rasterband(1).unwrap().read_band_as().unwrap();
    assert_eq!((values.shape(), values.data()), ((3, 2), &[1.0, 2.0, 3.0, 4.0, 5.0, -9.0][..]));
}

#[test]
fn a_program_that_changes_the_size_of_windows_is_told() {
    let exec =
        r#"{ command = ["sh", "-c", "cp small.tif \"$0\"", "{output}"], outputs = { made = ".tif" } }"#;
    let job = Job::new(exec, "");
    let before = "\n[stages.windows]\nfrom = \"files\"\nwindow = { size = 2 }\n\n\
                  [stages.heights]\nfrom = \"windows\"\nread = {}\n";
    let after = "\n[stages.back]\nfrom = \"made\"\nread = {}\n\n\
                 [stages.encoded]\nfrom = \"back\"\nencode = { assemble = true }\n\n\
                 [stages.written]\nfrom = \"encoded\"\nwrite = { path = \"out/{id}.tif\" }\n";
    let text = pipeline(exec, "").replace("*.txt", "*.tif").replace("from = \"files\"", "from = \"heights\"");
    job.write("job.toml", &(text + before + after));
    raster(&job.root().join("in/x.tif"), &[1.0; 6]);
    raster(&job.root().join("small.tif"), &[1.0; 6]);
    let run = job.run(&[]);
    run.ends_with(1);
    let said = run.said();
    let is_told =
        |window: &str| said.contains(&format!("has 3×2 pixels and was made of the window {window}:"));
    assert!(is_told("2×2 at column 0, row 0") || is_told("1×2 at column 2, row 0"), "{said}");
}
