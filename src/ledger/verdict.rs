//! Whether what an item made still stands, and if not, why it is made again.
//!
//! Done = committed as done with an equal fingerprint, and every file there with its size. A file that was only
//! intended counts if it has the inode of the temporary: then the run died after the rename and before it could say
//! so. (An object in a store has no inode; it counts if its metadata carries the fingerprint.)

use std::path::Path;

use serde_json::Value as Json;

use super::{Entry, Manifest, Output, State, first_difference};

/// What stands at a location now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Nothing.
    Absent,
    /// A file of this machine.
    File {
        /// Bytes.
        size: u64,
        /// Its inode.
        inode: u64,
    },
    /// An object in a store.
    Object {
        /// Bytes.
        size: u64,
        /// The fingerprint in its metadata.
        fingerprint: Option<String>,
    },
    /// Nobody asked: a committed output is believed, an intended one is not.
    Unasked,
}

/// What is to be done for an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing.
    Done,
    /// Nothing but to tell the ledger, which the run before could not: [`super::Ledger::adopt`].
    Adopt,
    /// It is run.
    Redo {
        /// Why, as a fragment: the first option or input that differs, the file that is missing.
        reason: String,
        /// Whether outputs of other inputs or options stand.
        is_stale: bool,
    },
}

impl Verdict {
    /// That of an item of which nothing is known.
    pub fn first() -> Self {
        redo("it was not run before")
    }
}

/// What is to be done for an item that now has this fingerprint and manifest; `probe` looks at a location.
pub fn verdict(
    entry: &Entry,
    fingerprint: &str,
    manifest: &Manifest,
    probe: impl Fn(&str) -> Standing,
) -> Verdict {
    if &*entry.fingerprint != fingerprint {
        let reason = difference(&entry.manifest, manifest);
        return Verdict::Redo { reason, is_stale: entry.outputs.iter().any(|output| output.is_committed) };
    }
    if let Some(failure) = &entry.failure {
        return redo(format!("it failed in `{}`: {}", failure.stage, failure.message));
    }
    let outputs = current_outputs(entry, fingerprint);
    if let Some(reason) = outputs.iter().find_map(|output| fault(output, &probe(&output.location))) {
        return redo(reason);
    }
    let is_complete = entry.expects.is_some_and(|expects| expects > 0 && outputs.len() == expects as usize);
    match entry.state {
        State::Done if outputs.iter().all(|output| output.is_committed) => Verdict::Done,
        State::Done => Verdict::Adopt,
        State::Running if is_complete => Verdict::Adopt,
        State::Running | State::Failed => redo("it was interrupted"),
    }
}

/// What stands at a path of this machine.
pub fn standing_of_file(path: &Path) -> Standing {
    use std::os::unix::fs::MetadataExt;
    match std::fs::metadata(path) {
        Ok(file) if file.is_file() => Standing::File { size: file.len(), inode: file.ino() },
        _ => Standing::Absent,
    }
}

fn redo(reason: impl Into<String>) -> Verdict {
    Verdict::Redo { reason: reason.into(), is_stale: false }
}

/// The outputs of this fingerprint; of two at one place the intended one, which is the later.
fn current_outputs<'a>(entry: &'a Entry, fingerprint: &str) -> Vec<&'a Output> {
    let mut outputs: Vec<&Output> = Vec::new();
    for output in entry.outputs.iter().filter(|output| &*output.fingerprint == fingerprint) {
        match outputs.last_mut().filter(|last| last.location == output.location) {
            Some(last) if !output.is_committed => *last = output,
            Some(_) => {}
            None => outputs.push(output),
        }
    }
    outputs
}

/// Why an output does not stand as it was written.
fn fault(output: &Output, standing: &Standing) -> Option<String> {
    let location = &output.location;
    if !output.is_committed && !is_the_intended(output, standing) {
        return Some(format!("the run ended before `{location}` was in place"));
    }
    let found = match standing {
        Standing::Absent => return Some(format!("`{location}` is missing")),
        Standing::Unasked => return None,
        Standing::File { size, .. } | Standing::Object { size, .. } => *size,
    };
    (found != output.size)
        .then(|| format!("`{location}` has {found} bytes and was written with {}", output.size))
}

fn is_the_intended(output: &Output, standing: &Standing) -> bool {
    match standing {
        Standing::File { inode, .. } => output.inode == Some(*inode),
        Standing::Object { fingerprint, .. } => fingerprint.as_deref() == Some(&output.fingerprint),
        Standing::Absent | Standing::Unasked => false,
    }
}

/// The first difference of two manifests: inputs before options.
fn difference(old: &Manifest, new: &Manifest) -> String {
    let parse = |text: &str| serde_json::from_str::<Json>(text).unwrap_or(Json::Null);
    first_difference(&parse(&old.inputs), &parse(&new.inputs))
        .map(|difference| match difference.strip_prefix("it ") {
            Some(changed) => format!("its input {changed}"),
            None => format!("input {difference}"),
        })
        .or_else(|| first_difference(&parse(&old.options), &parse(&new.options)))
        .unwrap_or_else(|| "its fingerprint is made in another way".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::FailureClass;
    use crate::ledger::PastFailure;

    const HERE: Standing = Standing::File { size: 20, inode: 7 };

    fn output(location: &str, is_committed: bool) -> Output {
        Output {
            stage: "written".into(),
            location: location.into(),
            fingerprint: "f1".into(),
            size: 20,
            inode: Some(7),
            is_committed,
        }
    }

    fn entry(state: State, expects: Option<u32>, outputs: Vec<Output>) -> Entry {
        Entry {
            state,
            fingerprint: "f1".into(),
            manifest: manifest("\"etag-1\"", "{\"warp\":{\"resampling\":\"nearest\"}}"),
            expects,
            attempts: 1,
            failure: None,
            outputs,
        }
    }

    fn manifest(inputs: &str, options: &str) -> Manifest {
        Manifest { inputs: inputs.into(), options: options.into() }
    }

    fn reason(verdict: Verdict) -> String {
        match verdict {
            Verdict::Redo { reason, .. } => reason,
            other => format!("{other:?}"),
        }
    }

    /// The reason for `entry` when every location holds `standing`.
    fn with(entry: &Entry, standing: &Standing) -> String {
        reason(verdict(entry, "f1", &entry.manifest, |_| standing.clone()))
    }

    #[test]
    fn every_crash_point_of_a_write_is_told_apart() {
        let old = Standing::File { size: 20, inode: 3 };
        let begun = entry(State::Running, Some(1), vec![]);
        let intended = entry(State::Running, Some(1), vec![output("a", false)]);
        let committed = entry(State::Running, Some(1), vec![output("a", true)]);
        let done = entry(State::Done, Some(1), vec![output("a", true)]);
        let unfinished = "the run ended before `a` was in place";
        let cases = [
            ("the temporary is written", &begun, &Standing::Absent, "it was interrupted"),
            ("the temporary is written, an old file stands", &begun, &old, "it was interrupted"),
            ("intended", &intended, &Standing::Absent, unfinished),
            ("intended, an old file of that size stands", &intended, &old, unfinished),
            ("renamed", &intended, &HERE, "Adopt"),
            ("committed", &committed, &HERE, "Adopt"),
            ("done", &done, &HERE, "Done"),
        ];
        for (moment, entry, standing, expected) in cases {
            assert_eq!(with(entry, standing), expected, "{moment}");
        }
    }

    #[test]
    fn a_file_that_is_gone_or_of_another_size_is_made_again() {
        let done = entry(State::Done, Some(1), vec![output("a", true)]);
        assert_eq!(with(&done, &Standing::Absent), "`a` is missing");
        let cut = Standing::File { size: 19, inode: 7 };
        assert_eq!(with(&done, &cut), "`a` has 19 bytes and was written with 20");
        let copied = Standing::File { size: 20, inode: 99 };
        assert_eq!(with(&done, &copied), "Done", "a committed file may be copied");
        assert_eq!(with(&done, &Standing::Unasked), "Done");
    }

    #[test]
    fn an_interrupted_item_is_done_only_when_all_its_files_stand() {
        let both = vec![output("a", true), output("b", false)];
        assert_eq!(with(&entry(State::Running, Some(2), both.clone()), &HERE), "Adopt");
        assert_eq!(with(&entry(State::Running, Some(3), both.clone()), &HERE), "it was interrupted");
        assert_eq!(with(&entry(State::Running, None, both), &HERE), "it was interrupted");
        assert_eq!(with(&entry(State::Running, Some(0), vec![]), &HERE), "it was interrupted");
        assert_eq!(with(&entry(State::Done, None, vec![]), &HERE), "Done", "an item without files");
    }

    #[test]
    fn an_intent_over_a_committed_file_of_the_same_place_decides() {
        let mut newer = output("a", false);
        newer.inode = Some(8);
        let entry = entry(State::Running, Some(1), vec![output("a", true), newer]);
        assert_eq!(with(&entry, &HERE), "the run ended before `a` was in place");
        assert_eq!(with(&entry, &Standing::File { size: 20, inode: 8 }), "Adopt");
    }

    #[test]
    fn an_object_counts_by_the_fingerprint_in_its_metadata() {
        let object = |fingerprint: Option<&str>| Standing::Object {
            size: 20,
            fingerprint: fingerprint.map(str::to_owned),
        };
        let mut output = output("s3://bucket/a", false);
        output.inode = None;
        let entry = entry(State::Running, Some(1), vec![output]);
        assert_eq!(with(&entry, &object(Some("f1"))), "Adopt");
        for other in [object(Some("f0")), object(None), Standing::Unasked] {
            assert_eq!(with(&entry, &other), "the run ended before `s3://bucket/a` was in place");
        }
    }

    #[test]
    fn another_fingerprint_names_the_first_difference() {
        let done = entry(State::Done, Some(1), vec![output("a", true)]);
        let options = "{\"warp\":{\"resampling\":\"cubic\"}}";
        let cases = [
            (manifest("\"etag-2\"", options), "its input was `etag-1` and is `etag-2`"),
            (manifest("\"etag-1\"", options), "`warp.resampling` was `nearest` and is `cubic`"),
            (done.manifest.clone(), "its fingerprint is made in another way"),
        ];
        for (manifest, reason) in cases {
            let expected = Verdict::Redo { reason: reason.into(), is_stale: true };
            assert_eq!(verdict(&done, "f2", &manifest, |_| HERE), expected);
        }
        let unwritten = entry(State::Running, Some(1), vec![output("a", false)]);
        assert!(matches!(
            verdict(&unwritten, "f2", &unwritten.manifest, |_| HERE),
            Verdict::Redo { is_stale: false, .. }
        ));
    }

    #[test]
    fn new_and_failed_items_are_run() {
        assert_eq!(reason(Verdict::first()), "it was not run before");
        let mut failed = entry(State::Failed, Some(1), vec![]);
        failed.failure =
            Some(PastFailure { stage: "warp".into(), class: FailureClass::Item, message: "no CRS".into() });
        assert_eq!(with(&failed, &HERE), "it failed in `warp`: no CRS");
    }
}
