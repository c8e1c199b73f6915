//! Whatever the text, the loader answers, and every place that it names lies in the text.

#![allow(clippy::unwrap_used, unreachable_pub, reason = "a test stops at what cannot be")]

use std::path::Path;

use gisrun::cli::render::{Format, render};
use gisrun::config::{self, Inputs, Loaded, Schema, Span, codes};
use proptest::prelude::*;

#[path = "language/fake_ops.rs"]
mod fake_ops;

const SOUND: &str = include_str!("language/sound/everything.toml");

thread_local! {
    static SCHEMA: Schema = fake_ops::schema();
}

fn load(text: &str) -> Loaded {
    SCHEMA.with(|schema| config::load(Path::new("x.toml"), text, &Inputs::NONE, schema))
}

fn assert_places_lie_inside(text: &str) {
    let loaded = load(text);
    for fault in &loaded.faults {
        let related = fault.related.iter().map(|(span, _)| span);
        for Span { start, end } in std::iter::once(&fault.span).chain(related) {
            assert!(text.get(*start..*end).is_some(), "{fault:?}");
        }
    }
    for format in [Format::Human, Format::Json, Format::Github] {
        render(format, Path::new("x.toml"), text, &loaded.faults, false);
    }
}

/// Pieces of pipelines, so that random texts get past the first line.
fn fragment() -> impl Strategy<Value = String> {
    let pieces = [
        "name = \"x\"",
        "[stages.a]",
        "[[stages]]",
        "[stages.a.glob]",
        "[resources]",
        "[params]",
        "[run]",
        "[grids.g]",
        "glob = { paths = [\"${a}\"] }",
        "from = ",
        "\"${a",
        "$${",
        "${ü}",
        "a.slots = ",
        "{ memory = \"5%\" }",
        "=",
        ".",
        "{",
        "}",
        "[",
        "]",
        "\"",
        "'''",
        "\\u00e9",
        "\\x41",
        "\r\n",
        "\n",
        "#",
        "ü",
        "\u{feff}",
        "1e999",
        "nan",
        "2024-06-01",
        "07:32",
        "a = { default = 1 }",
        "uses = [{ a = 1 }, {}]",
        "retry.tries = -1",
        ",",
        " ",
        "\t",
        "\u{0}",
        "99999999999999999999",
    ];
    proptest::sample::select(pieces.to_vec()).prop_map(str::to_owned)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_text_is_answered(text in any::<String>()) {
        assert_places_lie_inside(&text);
    }

    #[test]
    fn any_patchwork_of_pipelines_is_answered(pieces in prop::collection::vec(fragment(), 0..40)) {
        assert_places_lie_inside(&pieces.concat());
        assert_places_lie_inside(&pieces.join("\n"));
    }

    #[test]
    fn a_sound_pipeline_with_one_wound_is_answered(at in 0..SOUND.len(), length in 0..20usize, piece in fragment()) {
        let whole = |mut at: usize| { while !SOUND.is_char_boundary(at) { at += 1; } at };
        let (start, end) = (whole(at), whole((at + length).min(SOUND.len())));
        assert_places_lie_inside(&format!("{}{piece}{}", &SOUND[..start], &SOUND[end..]));
    }
}

#[test]
fn deep_nesting_is_refused_without_a_panic() {
    for (open, close) in [("[", "]"), ("{ a = ", "}")] {
        let text = format!("a = {}1{}", open.repeat(10_000), close.repeat(10_000));
        assert_places_lie_inside(&text);
        assert!(load(&text).errors() > 0);
    }
}

/// Loads with `--set` and an environment of one variable, `TOKEN`.
fn load_with(text: &str, sets: &[(&str, &str)], token: Option<&str>) -> Loaded {
    let sets: Vec<_> = sets.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let environment = |name: &str| token.filter(|_| name == "TOKEN").map(str::to_owned);
    let inputs = Inputs { sets: &sets, environment: &environment };
    SCHEMA.with(|schema| config::load(Path::new("x.toml"), text, &inputs, schema))
}

const PARAMETERS: &str = r#"
name = "x"
[params]
folder = { default = "in" }
size = { default = 4 }
bands = { default = [1] }
token = { env = true }
[stages.a]
queue = "${size}"
glob = { paths = ["${folder}/${size}.tif", "${token}"] }
"#;

fn paths(loaded: &Loaded) -> Vec<&str> {
    let pipeline = loaded.pipeline.as_ref().expect("it is sound");
    let config::ValueKind::Array(paths) = &pipeline.stages[0].options.get("paths").unwrap().kind else {
        panic!()
    };
    paths.iter().filter_map(config::Value::as_str).collect()
}

#[test]
fn set_values_take_the_type_of_the_default() {
    let loaded = load_with(PARAMETERS, &[("size", "8"), ("folder", "2024")], Some("secret"));
    assert_eq!(loaded.faults, []);
    assert_eq!(paths(&loaded), ["2024/8.tif", "secret"]);
    assert_eq!(loaded.pipeline.as_ref().unwrap().stages[0].queue.as_ref().map(|queue| queue.value), Some(8));
}

#[test]
fn a_set_value_is_not_expanded_again() {
    let loaded = load_with(PARAMETERS, &[("folder", "${size}")], Some("s"));
    assert_eq!(paths(&loaded)[0], "${size}/4.tif");
}

#[test]
fn a_set_value_of_another_type_and_an_unknown_name_are_told() {
    let loaded = load_with(PARAMETERS, &[("size", "many"), ("sise", "1")], Some("s"));
    let found: Vec<_> = loaded.faults.iter().map(|fault| (fault.code, fault.message.as_str())).collect();
    assert_eq!(
        found,
        [
            (codes::UNKNOWN_PARAMETER, "`--set sise`: there is no parameter `sise`"),
            (codes::PARAMETER_TYPE, "`--set size` gives `many`, and `size` is a number"),
        ]
    );
    assert_eq!(loaded.faults[0].help, "did you mean `size`?");
}

#[test]
fn a_secret_without_a_value_is_no_fault_until_the_run() {
    let mut loaded = load_with(PARAMETERS, &[], None);
    assert_eq!(loaded.faults, []);
    assert!(loaded.pipeline.is_some());
    loaded.require_values();
    assert_eq!(loaded.faults.len(), 1);
    assert_eq!(loaded.faults[0].code, codes::UNSET_PARAMETER);
    assert_eq!(loaded.faults[0].help, "set the environment variable `TOKEN`, or give `--set token=…`");
}

#[test]
fn a_secret_never_stands_in_a_message() {
    let text = PARAMETERS.replace("queue = \"${size}\"", "timeout = \"${token}\"");
    let loaded = load_with(&text, &[], Some("hunter2"));
    assert_eq!(loaded.faults.len(), 1, "{:?}", loaded.faults);
    assert_eq!(loaded.faults[0].message, "`timeout` is `***`");
    assert!(!format!("{:?}", loaded.faults).contains("hunter2"));
    assert!(!format!("{:?}", loaded.secrets).contains("hunter2"));
}

#[test]
fn what_an_op_says_of_options_that_the_schema_refused_is_not_told_again() {
    let text = "name = 'x'\n[stages.a]\nglob = {}\n[stages.b]\nfrom = 'a'\nwarp = {}\n";
    let mut loaded = load(text);
    assert_eq!(loaded.errors(), 1);
    let at = |word: &str, code| {
        let start = text.find(word).unwrap() + word.len() - 2;
        config::Fault::error(code, start..start + 2, "told by the op")
    };
    loaded.add(vec![at("glob = {}", codes::MISSING_KEY), at("warp = {}", codes::MISSING_KEY)]);
    loaded.add(vec![at("glob = {}", "of-its-own")]);
    let found: Vec<_> = loaded.faults.iter().map(|fault| (fault.code, &text[fault.span.clone()])).collect();
    assert_eq!(found, [(codes::MISSING_KEY, "glob"), ("of-its-own", "{}"), (codes::MISSING_KEY, "{}")]);
}
