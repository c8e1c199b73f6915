//! Order, ports, circles, groups and windows.

use super::*;
use crate::config::Severity;
use crate::contract::Port;

#[test]
fn stages_stand_in_topological_order_with_ties_by_declaration() {
    let plan = planned(
        "name = \"test\"\n[stages]\n\
         late = { from = \"second\", table = { path = \"b.csv\" } }\n\
         second = { from = \"scenes\", write = { path = \"out/{id}.jp2\" } }\n\
         first = { from = \"scenes\", fetch = {} }\n\
         scenes = { list = {} }\n\
         kept = { from = \"first\", write = { path = \"out/{id}.tif\" } }\n"
            .replace("from = \"scenes\", write", "from = \"first\", write")
            .as_str(),
    );
    let names: Vec<&str> = plan.stages.iter().map(|stage| stage.name.as_str()).collect();
    assert_eq!(names, ["scenes", "first", "second", "late", "kept"]);
    let first = stage(&plan, "first");
    assert_eq!((first.from.as_slice(), first.to.as_slice()), (&[0][..], &[2, 4][..]));
    assert_eq!((first.accepts, first.gives), (Some(Port::Asset), Port::Blob));
    assert_eq!(stage(&plan, "scenes").accepts, None);
}

#[test]
fn a_circle_is_told_as_its_chain() {
    let text = "name = \"test\"\n[stages]\n\
        scenes = { list = {} }\n\
        a = { from = [\"scenes\", \"c\"], filter = {} }\n\
        b = { from = \"a\", filter = {} }\n\
        c = { from = \"b\", filter = {} }\n";
    let fault = only_fault(text);
    assert_eq!(
        (fault.code, fault.message.as_str()),
        ("cycle", "stages take from each other: `a → b → c → a`")
    );
    assert_eq!(&text[fault.span], "\"c\"");
    let related: Vec<&str> = fault.related.iter().map(|(span, _)| &text[span.clone()]).collect();
    assert_eq!(related, ["b", "c"]);
}

#[test]
fn a_stage_that_takes_from_itself_is_a_circle() {
    let fault = only_fault("name = \"test\"\n[stages]\na = { from = \"a\", filter = {} }\n");
    assert_eq!(fault.message, "stages take from each other: `a → a`");
}

#[test]
fn a_misspelt_stage_is_told_with_the_nearest_name() {
    let text = pipeline("", "").replace("from = \"fetched\"", "from = \"fetchd\"");
    let fault = only_fault(&text);
    assert_eq!(&text[fault.span.clone()], "\"fetchd\"");
    assert_eq!(fault.help, "did you mean `fetched`?");
}

#[test]
fn a_source_takes_nothing_and_others_take_something() {
    let told = told(
        "name = \"test\"\n[stages]\n\
         scenes = { list = {} }\n\
         more = { from = \"scenes\", list = {} }\n\
         kept = { write = { path = \"out/{id}\" } }\n",
    );
    let places: Vec<_> = told.iter().map(|(code, place, _)| (*code, place.as_str())).collect();
    assert_eq!(places, [("source-with-from", "\"scenes\""), ("missing-from", "kept"),]);
}

#[test]
fn a_missing_stage_is_named_with_both_ends() {
    let text = pipeline("", "").replace("from = \"encoded\"", "from = \"bands\"");
    let (_, faults) = resolved_for(&machine(), &text);
    let fault = faults.iter().find(|fault| fault.code == "port-mismatch").expect("told");
    assert_eq!(fault.message, "`bands` gives `raster` and `written` accepts `encoded` or `blob` or `file`");
    assert_eq!(fault.help, "add an `encode` stage between `bands` and `written`");
    let related: Vec<&str> = fault.related.iter().map(|(span, _)| &text[span.clone()]).collect();
    assert_eq!(related, ["read", "write"]);
}

#[test]
fn the_missing_stage_depends_on_what_is_given() {
    let cases = [
        (
            "{ from = \"scenes\", encode = {} }",
            "add a `read` stage (with `fetch` before it for remote files)",
        ),
        ("{ from = \"scenes\", write = { path = \"o/{id}\" } }", "add a `fetch` stage"),
        ("{ from = \"bands\", table = { path = \"t.csv\" } }", "add a `stats` stage"),
        ("{ from = \"encoded\", table = { path = \"t.csv\" } }", "add a `write` stage"),
        ("{ from = \"encoded\", warp = {} }", "let `x` take from the stage above `encoded`"),
        ("{ from = \"fetched\", filter = {} }", "put `x` above `fetched`"),
    ];
    for (stage, help) in cases {
        let (_, faults) = resolved_for(&machine(), &format!("{}x = {stage}\n", pipeline("", "")));
        let fault = faults.iter().find(|fault| fault.code == "port-mismatch").expect(stage);
        assert!(fault.help.starts_with(help), "{stage}: {}", fault.help);
    }
}

#[test]
fn a_union_of_unequal_ports_is_refused_and_of_equal_ones_not() {
    let text = |from: &str| {
        format!("{}all = {{ from = {from}, write = {{ path = \"all/{{id}}\" }} }}\n", pipeline("", ""))
    };
    let (_, faults) = resolved_for(&machine(), &text("[\"encoded\", \"fetched\"]"));
    let messages: Vec<&str> = faults.iter().map(|fault| fault.message.as_str()).collect();
    assert_eq!(
        messages,
        ["`from` joins unequal ports: `encoded` gives `encoded` and `fetched` gives `blob`"]
    );
    planned(&text("[\"encoded\"]"));
}

#[test]
fn one_wrong_stage_does_not_hide_the_others() {
    let text = "name = \"test\"\n[stages]\n\
        scenes = { list = { wrong = 1 } }\n\
        bands = { from = \"scenes\", read = { bands = { red = \"red\" } } }\n\
        next = { from = \"bands\", read = {} }\n\
        last = { from = \"next\", warp = { bands = { x = \"blue\" } } }\n\
        kept = { from = \"last\", uses = [\"corse\"], write = { path = \"out/{id}\" } }\n";
    let codes: Vec<&str> = told(text).into_iter().map(|(code, ..)| code).collect();
    assert_eq!(
        codes,
        ["wrong-options", "port-mismatch", "unknown-band", "port-mismatch", "unknown-resource"]
    );
}

#[test]
fn a_stage_that_is_not_known_hides_no_window() {
    for broken in ["window = { wrong = 1 }", "filter = { wrong = 1 }"] {
        let text = windowed(&WINDOW.replace("window = {}", broken), "assemble = true");
        assert_eq!(only_fault(&text).code, "wrong-options", "{broken}");
    }
}

#[test]
fn names_of_bands_are_followed() {
    let warp = |band: &str| {
        pipeline("", "").replace(
            "encoded = { from = \"bands\"",
            &format!("w = {{ from = \"bands\", warp = {{ bands = {{ x = \"{band}\" }} }} }}\nencoded = {{ from = \"w\""),
        )
    };
    planned(&warp("red"));
    let text = warp("nir");
    let fault = only_fault(&text);
    assert_eq!((fault.code, &text[fault.span]), ("unknown-band", "\"nir\""));
}

/// A pipeline of a group, with these stages between `read` and `encode`.
fn grouped(between: &[&str]) -> String {
    let mut text = "name = \"test\"\n[stages]\n\
        scenes = { list = {} }\n\
        months = { from = \"scenes\", group = {} }\n\
        s0 = { from = \"months\", read = {} }\n"
        .to_owned();
    let stage = |(at, op): (usize, &&str)| format!("s{} = {{ from = \"s{at}\", {op} = {{}} }}\n", at + 1);
    text.extend(between.iter().enumerate().map(stage));
    text + &format!(
        "encoded = {{ from = \"s{}\", encode = {{}} }}\nkept = {{ from = \"encoded\", write = {{ path = \"o/{{id}}\" }} }}\n",
        between.len()
    )
}

#[test]
fn members_are_brought_onto_one_grid_and_put_together_before_they_are_encoded() {
    planned(&grouped(&["warp", "composite"]));
    let cases = [
        (
            &[][..],
            "`encode` works on one member, and `encoded` gets the members of a group, each on its own grid",
            "add a `warp` stage onto one grid and a `composite` stage before it",
        ),
        (
            &["warp"][..],
            "`encode` works on one member, and `encoded` gets the members of a group, on one grid",
            "add a `composite` stage before it",
        ),
        (
            &["composite"][..],
            "`composite` works on members on one grid, and `s1` gets the members of a group, each on its own grid",
            "add a `warp` stage onto one grid before it; without it, groups whose members differ fail",
        ),
    ];
    for (between, message, help) in cases {
        let fault = only_fault(&grouped(between));
        assert_eq!((fault.message.as_str(), fault.help.as_str()), (message, help));
        // Members may lie on one grid all the same; one file of several members cannot be.
        let severity = if between == ["composite"] { Severity::Warning } else { Severity::Error };
        assert_eq!(fault.severity, severity, "{message}");
    }
}

/// A pipeline with and without a `window` stage.
fn windowed(window: &str, encode: &str) -> String {
    format!(
        "name = \"test\"\n[stages]\nscenes = {{ list = {{}} }}\n{window}\
         bands = {{ from = \"{}\", read = {{}} }}\n\
         encoded = {{ from = \"bands\", encode = {{ {encode} }} }}\n\
         kept = {{ from = \"encoded\", write = {{ path = \"o/{{id}}\" }} }}\n",
        if window.is_empty() { "scenes" } else { "tiles" }
    )
}

const WINDOW: &str = "tiles = { from = \"scenes\", window = {} }\n";

#[test]
fn windows_may_be_assembled_or_written_each_and_whole_items_are_not_assembled() {
    planned(&windowed(WINDOW, "assemble = true"));
    planned(&windowed(WINDOW, "assemble = false"));
    planned(&windowed(WINDOW, ""));
    planned(&windowed("", ""));
    for assemble in ["assemble = true", "assemble = false"] {
        let text = windowed("", assemble);
        let fault = only_fault(&text);
        assert_eq!((fault.code, &text[fault.span]), ("nothing-to-assemble", "assemble"));
    }
}

#[test]
fn windows_are_not_made_of_windows() {
    let text = windowed(WINDOW, "").replace(
        "bands = { from = \"tiles\"",
        "again = { from = \"tiles\", window = {} }\nbands = { from = \"again\"",
    );
    let fault = only_fault(&text);
    assert_eq!(
        (fault.code, fault.message.as_str()),
        ("nested-windows", "`window` of `again` gets windows of `tiles`")
    );
}

#[test]
fn windows_and_whole_items_do_not_flow_together() {
    let text = windowed(WINDOW, "")
        .replace("bands = { from = \"tiles\"", "bands = { from = [\"tiles\", \"scenes\"]");
    let fault = only_fault(&text);
    assert_eq!(
        fault.message,
        "`bands` takes unequal items: `tiles` gives windows of `tiles` and `scenes` gives whole items"
    );
}

#[test]
fn the_manifest_names_the_op_and_its_options_alone() {
    let manifest = |uses: &str| stage(&planned(&pipeline("", uses)), "fetched").manifest.clone();
    assert_eq!(manifest(""), serde_json::json!({ "fetch": {} }));
    assert_eq!(manifest(""), manifest("uses = [{ connections = 2 }], retry = { tries = 9 }, queue = 3,"));
}
