//! Options with their faults, calls as they are made of items, and programs that do not want to end.

use std::path::Path;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::program::Surroundings;
use super::recipe::Call;
use super::{ENTRY, options};
use crate::contract::{Environment, Failure};
use crate::events::FailureClass;
use crate::ops::testing::{compile, faults, option};

#[test]
fn faults_of_options_have_their_places() {
    let outputs = |text: &str| format!("{{ command = [\"p\", \"{{output}}\"], outputs = {text} }}");
    for (options, marked, code) in [
        (r#"{ command = [], outputs = { a = ".tif" } }"#.to_owned(), "[]", "out-of-range"),
        (r#"{ command = ["p"], outputs = {} }"#.to_owned(), "{}", "out-of-range"),
        (r#"{ command = ["p"], outputs = { a = ".tif" } }"#.to_owned(), "a", "untold-output"),
        (outputs(r#"{ "a b" = ".tif" }"#), "\"a b\"", "bad-name"),
        (outputs(r#"{ a = "x.tif", b = ".tif" }"#), "{output}", "unknown-placeholder"),
        (outputs(r#"{ a = "{idd}.tif" }"#), "{idd}", "unknown-placeholder"),
        (outputs(r#"{ a = "s3://b/{id}.tif" }"#), "\"s3://b/{id}.tif\"", "bad-location"),
        (
            r#"{ command = ["p", "{output}"], outputs = { a = ".tif" }, depends = ["absent"] }"#.to_owned(),
            "\"absent\"",
            "unreadable-file",
        ),
        (
            r#"{ command = ["{output.a}", "{output.b}"], outputs = { a = "x", b = "x" } }"#.to_owned(),
            "\"x\"",
            "conflicting-options",
        ),
    ] {
        let found = faults(&ENTRY, &options);
        assert!(
            found.iter().any(|(place, fault)| place == marked && fault.code == code),
            "{options}: {found:?}"
        );
    }
    compile(&ENTRY, r#"{ command = ["p"], outputs = { a = ".tif" }, env = { OUT = "{output}" } }"#);
    compile(&ENTRY, ENTRY.example);
}

#[test]
fn what_a_result_depends_on_is_in_the_manifest_by_content() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("script"), "abc").expect("written");
    let environment = Environment { folder: folder.path().to_owned(), ..Environment::default() };
    let text = r#"{ command = ["p", "{output}"], outputs = { a = "x/{id}.tif", }, depends = ["script"] }"#;
    let text = text.replace(", }", " }");
    let recipe = options::compile(&option(&text).0, &environment).expect("sound");
    // The SHA-256 of `abc`, FIPS 180-2, appendix B.1.
    let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(recipe.manifest()["depends"]["script"], expected);
    assert_eq!(recipe.manifest()["outputs"]["a"], "x/{id}.tif");
}

#[test]
fn only_named_files_are_asked_for_unless_any_is_meant() {
    let asked = |command: &str| {
        let text = format!("{{ command = [{command}], outputs = {{ a = \".tif\" }} }}");
        compile(&ENTRY, &text).reads_assets()
    };
    assert_eq!(
        asked(r#""p", "{input.red}", "-x={input.nir}", "{output}""#),
        Some(vec!["red".to_owned(), "nir".to_owned()])
    );
    assert_eq!(asked(r#""p", "{input.red}", "{input}", "{output}""#), None);
    assert_eq!(asked(r#""p", "{output}""#), Some(vec![]));
}

fn shell(script: &str) -> Call {
    let arguments = ["-c", script].map(Into::into).to_vec();
    Call { program: "sh".into(), is_fixed: true, arguments, variables: Vec::new() }
}

async fn run(call: &Call, cancel: &CancellationToken) -> Result<(), Failure> {
    let around = Surroundings { folder: Path::new("/"), cores: 3, gdal_cache: (70 << 20) + 5 };
    super::program::run(call, &around, cancel).await
}

#[tokio::test]
async fn a_failure_has_the_code_or_signal_and_the_last_words() {
    let cancel = CancellationToken::new();
    run(&shell("exit 0"), &cancel).await.expect("it ends well");
    for (script, message) in [
        ("echo said; echo 'bad luck' >&2; exit 7", "`sh` ended with exit code `7`: bad luck"),
        ("echo only said; exit 1", "`sh` ended with exit code `1`: only said"),
        ("kill -ABRT $$", "`sh` was killed by signal 6 (SIGABRT) and said nothing"),
    ] {
        let failure = run(&shell(script), &cancel).await.expect_err(script);
        assert_eq!((failure.class, failure.message.as_str()), (FailureClass::Transient, message));
    }
}

#[tokio::test]
async fn a_program_knows_its_cores_its_cache_and_no_input() {
    let script =
        r#"[ "$GDAL_NUM_THREADS$OMP_NUM_THREADS$GDAL_CACHEMAX" = 3370 ] && [ "$PWD" = / ] && ! read line"#;
    run(&shell(script), &CancellationToken::new()).await.expect("all is as the script expects");
}

#[tokio::test]
async fn a_program_that_is_not_there_stops_the_run() {
    let absent = Call { program: "no-such-program".into(), ..shell("") };
    let failure = run(&absent, &CancellationToken::new()).await.expect_err("absent");
    assert_eq!(failure.class, FailureClass::Fatal);
    assert!(failure.message.starts_with("cannot start `no-such-program`"), "{}", failure.message);
    let failure = run(&Call { is_fixed: false, ..absent }, &CancellationToken::new()).await;
    assert_eq!(failure.expect_err("absent").class, FailureClass::Item);
}

/// Starts `script`, which writes the number of a process of its own to the file `$0`, and waits for that.
async fn with_descendant(
    script: &str,
    cancel: &CancellationToken,
) -> (tokio::task::JoinHandle<bool>, Process) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("number");
    let mut call = shell(script);
    call.arguments.push(path.clone().into());
    let cancel = cancel.clone();
    let ended = tokio::spawn(async move { run(&call, &cancel).await.is_ok() });
    loop {
        if let Ok(text) = std::fs::read_to_string(&path)
            && let Some(number) = text.strip_suffix('\n')
        {
            return (ended, Process(number.parse().expect("a number")));
        }
        tokio::task::yield_now().await;
    }
}

struct Process(u32);

impl Process {
    /// A process that was killed may be a zombie for a while, until its foster parent looks.
    fn is_running(&self) -> bool {
        let state = std::fs::read_to_string(format!("/proc/{}/stat", self.0));
        state.is_ok_and(|text| !text.rsplit(')').next().is_some_and(|rest| rest.starts_with(" Z")))
    }

    async fn end(&self) {
        while self.is_running() {
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn cancelling_ends_the_whole_group() {
    let cancel = CancellationToken::new();
    let script = "sleep 600 & echo $! > $0; wait";
    let (ended, descendant) = with_descendant(script, &cancel).await;
    assert!(descendant.is_running());
    cancel.cancel();
    assert!(!ended.await.expect("no panic"));
    descendant.end().await;
}

#[tokio::test]
async fn who_does_not_listen_is_killed_after_two_seconds() {
    let cancel = CancellationToken::new();
    let script = "trap '' TERM; (trap '' TERM; while :; do sleep 1; done) & echo $! > $0; wait; wait";
    let (ended, descendant) = with_descendant(script, &cancel).await;
    cancel.cancel();
    let begun = std::time::Instant::now();
    assert!(!ended.await.expect("no panic"));
    assert!((Duration::from_secs(2)..Duration::from_secs(10)).contains(&begun.elapsed()));
    descendant.end().await;
}

#[tokio::test]
async fn dropping_the_work_kills_the_whole_group_at_once() {
    let (ended, descendant) =
        with_descendant("sleep 600 & echo $! > $0; wait", &CancellationToken::new()).await;
    ended.abort();
    descendant.end().await;
}

#[tokio::test]
async fn what_a_program_leaves_behind_ends_with_it() {
    let (ended, descendant) = with_descendant("sleep 600 & echo $! > $0", &CancellationToken::new()).await;
    assert!(ended.await.expect("no panic"), "it ended well");
    descendant.end().await;
}
