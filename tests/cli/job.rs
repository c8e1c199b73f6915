//! A pipeline in a folder of its own, and runs of the real program on it.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Lines, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::record::Run;

/// A temporary folder with a pipeline `job.toml`.
pub(crate) struct Job {
    folder: TempDir,
}

impl Job {
    /// A folder with this pipeline.
    pub(crate) fn new(pipeline: &str) -> Self {
        let job = Self { folder: tempfile::tempdir().unwrap() };
        job.rewrite(pipeline);
        job
    }

    /// Puts another pipeline in its place.
    pub(crate) fn rewrite(&self, pipeline: &str) {
        fs::write(self.path("job.toml"), format!("name = \"job\"\n{pipeline}")).unwrap();
    }

    /// A place in the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs the program with these arguments in the folder, and waits for its end.
    pub(crate) fn gisrun(&self, arguments: &[&str]) -> Ended {
        let output = self.command(arguments).output().unwrap();
        let text = |bytes: Vec<u8>| self.without_folder(&String::from_utf8(bytes).unwrap());
        Ended { exit: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// Runs the pipeline.
    pub(crate) fn run(&self) -> Ended {
        self.gisrun(&["job.toml"])
    }

    /// Starts the pipeline.
    pub(crate) fn start(&self) -> Running {
        self.start_gisrun(&["job.toml"])
    }

    /// Starts the program with these arguments.
    pub(crate) fn start_gisrun(&self, arguments: &[&str]) -> Running {
        let child = self.command(arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        Running { child }
    }

    /// Starts the pipeline so that its events can be followed.
    pub(crate) fn start_telling(&self) -> Telling {
        let mut command = self.command(&["job.toml", "--events", "/dev/stdout"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let events = BufReader::new(child.stdout.take().unwrap()).lines();
        Telling { run: Running { child }, events }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gisrun"));
        command.args(arguments).current_dir(self.folder.path()).stdin(Stdio::null());
        command
    }

    fn without_folder(&self, text: &str) -> String {
        text.replace(&self.folder.path().display().to_string(), "[folder]")
    }

    /// The names of the files below `out`, hidden ones included.
    pub(crate) fn outputs(&self) -> BTreeSet<String> {
        match fs::read_dir(self.path("out")) {
            Ok(entries) => entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect(),
            Err(_) => BTreeSet::new(),
        }
    }

    /// The record of the last run.
    pub(crate) fn record(&self) -> Run {
        Run::read(&self.path(".gisrun/job.run.jsonl"))
    }
}

/// A run that has ended.
pub(crate) struct Ended {
    pub(crate) exit: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    /// Fails with what the program said unless it ended so.
    #[track_caller]
    pub(crate) fn expect_exit(self, code: i32) -> Self {
        assert_eq!(self.exit, Some(code), "{}{}", self.stdout, self.stderr);
        self
    }

    /// The line of standard error that holds all of these.
    #[track_caller]
    pub(crate) fn line_with(&self, words: &[&str]) -> &str {
        let is_it = |line: &&str| words.iter().all(|word| line.contains(word));
        self.stderr.lines().find(is_it).unwrap_or_else(|| panic!("no line has {words:?}:\n{}", self.stderr))
    }
}

/// A run that goes on.
pub(crate) struct Running {
    child: Child,
}

impl Running {
    /// Sends SIGINT, and waits until the program says that it stops.
    pub(crate) fn interrupt(&mut self) {
        self.send_interrupt();
        self.wait_for_words("stopping (interrupted)");
    }

    /// Sends SIGINT again once the first has done its work; two at once would count as one.
    pub(crate) fn interrupt_twice(&mut self) {
        self.interrupt();
        self.send_interrupt();
    }

    pub(crate) fn send_interrupt(&self) {
        kill_process(Pid::from_child(&self.child), Signal::INT).unwrap();
    }

    /// Reads what the program says until a line has these words.
    #[track_caller]
    fn wait_for_words(&mut self, words: &str) {
        let said = BufReader::new(self.child.stderr.as_mut().unwrap()).lines();
        let mut before = Vec::new();
        for line in said.map(Result::unwrap) {
            if line.contains(words) {
                return;
            }
            before.push(line);
        }
        panic!("it never says `{words}`, but {before:?}");
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) -> Option<i32> {
        // Its last words are read so that it can say them.
        let mut rest = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut rest).unwrap();
        self.child.wait().unwrap().code()
    }
}

/// A run that goes on and tells its events.
pub(crate) struct Telling {
    run: Running,
    events: Lines<BufReader<ChildStdout>>,
}

impl Telling {
    /// Follows the events until they are as wanted.
    #[track_caller]
    pub(crate) fn events_until(&mut self, is_wanted: impl Fn(&Run) -> bool) -> Run {
        let mut seen = Run::default();
        while !is_wanted(&seen) {
            seen.add(&self.events.next().expect("the run goes on").unwrap());
        }
        seen
    }

    pub(crate) fn interrupt_twice(&mut self) {
        self.run.interrupt_twice();
    }

    /// Waits for its end; its last events.
    pub(crate) fn end_telling(mut self) -> (Option<i32>, Run) {
        let mut rest = Run::default();
        self.events.by_ref().for_each(|line| rest.add(&line.unwrap()));
        (self.run.end(), rest)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Only a run that a failed test left behind is still there.
        drop(self.child.kill());
    }
}

/// Copies a file of the sample of this repository.
pub(crate) fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/in").join(name)
}
