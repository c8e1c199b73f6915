//! A folder in which a case is run, and what its output is held against.

use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde::Deserialize;
use tempfile::TempDir;

/// A temporary folder with the data of all cases under `in`.
pub(crate) struct Bench {
    folder: TempDir,
}

impl Bench {
    /// A folder with this pipeline.
    pub(crate) fn new(pipeline: &str) -> Self {
        let bench = Self { folder: tempfile::tempdir().unwrap() };
        symlink(data(), bench.path("in")).unwrap();
        bench.rewrite(pipeline);
        bench
    }

    /// Puts another pipeline in its place.
    pub(crate) fn rewrite(&self, pipeline: &str) {
        fs::write(self.path("case.toml"), format!("name = \"case\"\n{pipeline}")).unwrap();
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The program, about to run the pipeline.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(program());
        command.arg("case.toml").current_dir(self.folder.path()).stdin(Stdio::null());
        command
    }

    /// Runs the pipeline to its end.
    pub(crate) fn run(&self) -> Ended {
        Ended::of(&self.command().output().unwrap())
    }

    /// Runs the pipeline, which must succeed, and holds an output against what the case expects.
    #[track_caller]
    pub(crate) fn gives(&self, case: &str, output: &str) {
        self.run().expect_exit(0);
        self.check(case, output);
    }

    /// Holds an output against what the case expects.
    #[track_caller]
    pub(crate) fn check(&self, case: &str, output: &str) {
        let mut check = Command::new(python());
        check.arg(shared().join("cases/check_case.py")).arg(case).arg(self.path(output));
        let told = check.output().unwrap();
        assert!(told.status.success(), "{}{}", text(&told.stdout), text(&told.stderr));
    }

    /// Runs the pipeline, whose only item must fail with these words and leave no output.
    #[track_caller]
    pub(crate) fn fails(&self, words: &[&str]) -> Ended {
        let ended = self.run().expect_exit(1);
        for word in words {
            assert!(ended.said.contains(word), "it does not name `{word}`: {}", ended.said);
        }
        assert_eq!(self.outputs(), Vec::<String>::new());
        ended
    }

    /// The last line of the last run's record.
    pub(crate) fn last_run(&self) -> Run {
        let record = fs::read_to_string(self.path(".gisrun/case.run.jsonl")).unwrap();
        serde_json::from_str(record.lines().last().unwrap()).unwrap()
    }

    /// The names of all files in `out`, hidden ones included, sorted.
    pub(crate) fn outputs(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path("out")) else { return Vec::new() };
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// What the record of a run ends with.
#[derive(Deserialize)]
pub(crate) struct Run {
    /// The most bytes of memory that the process had.
    pub(crate) peak_resident: u64,
}

/// A run that has ended, with all that it said.
pub(crate) struct Ended {
    pub(crate) exit: Option<i32>,
    pub(crate) said: String,
}

impl Ended {
    pub(crate) fn of(output: &Output) -> Self {
        Self { exit: output.status.code(), said: format!("{}{}", text(&output.stdout), text(&output.stderr)) }
    }

    #[track_caller]
    pub(crate) fn expect_exit(self, code: i32) -> Self {
        assert_eq!(self.exit, Some(code), "{}", self.said);
        self
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The folder with the cases.
pub(crate) fn shared() -> PathBuf {
    env::var_os("GISRUN_SHARED").expect("GISRUN_SHARED names the folder that holds `cases`").into()
}

/// The files that cases are about.
pub(crate) fn data() -> PathBuf {
    shared().join("cases/data").canonicalize().unwrap()
}

pub(crate) fn python() -> PathBuf {
    env::var_os("GISRUN_PYTHON").expect("GISRUN_PYTHON names a Python with rasterio").into()
}

pub(crate) fn program() -> PathBuf {
    env::var_os("GISRUN_PROGRAM").unwrap_or_else(|| env!("CARGO_BIN_EXE_gisrun").into()).into()
}

/// A copy of one of the files, writable.
pub(crate) fn copy(name: &str, to: &Path) {
    let bytes = fs::read(data().join(name)).unwrap();
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    fs::write(to, bytes).unwrap();
}
