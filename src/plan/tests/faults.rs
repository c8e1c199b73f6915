//! Limits, amounts and queues that make no sense; what nothing uses.

use super::*;

/// The only fault of a pipeline with this head and this at `fetched`: code, marked text, message.
fn fault(head: &str, fetched: &str) -> (&'static str, String, String) {
    let told = told(&pipeline(head, fetched));
    assert_eq!(told.len(), 1, "{told:#?}");
    told.into_iter().next().expect("one fault")
}

fn check(cases: &[(&str, &str, &str, &str)]) {
    for (head, fetched, code, place) in cases {
        let found = fault(head, fetched);
        assert_eq!((found.0, found.1.as_str()), (*code, *place), "{head} {fetched}: {}", found.2);
    }
}

#[test]
fn limits_that_grant_nothing_are_refused() {
    let uses = "uses = [{ x = \"1 B\" }],";
    check(&[("[resources]\nx.bytes = \"0 B\"\n", uses, "zero-limit", "\"0 B\"")]);
}

#[test]
fn a_working_set_above_its_budget_is_told_with_both_edits() {
    let text =
        pipeline("[resources]\nx.slots = { memory = \"5%\", working-set = \"2 GiB\" }\n", "uses = [\"x\"],");
    let fault = only_fault(&text);
    assert_eq!(
        fault.message,
        "`working-set` of `x` is `2 GiB` and its budget is `5% × 16 GiB [physical]` = `819.2 MiB`"
    );
    assert_eq!(
        fault.help,
        "raise the budget to at least `2 GiB`, or lower `working-set` to at most `819.2 MiB`"
    );
}

#[test]
fn a_default_resource_keeps_its_kind() {
    let found = fault("[resources]\nconnections.rate = { limit = \"5/s\" }\n", "");
    assert_eq!(found.0, "wrong-resource-kind");
    assert_eq!(found.2, "`connections` is a resource of `slots`, found `rate`");
}

#[test]
fn a_demand_above_capacity_is_refused_with_the_arithmetic() {
    let text = pipeline("", "uses = [{ cores = 9 }],");
    let fault = only_fault(&text);
    assert_eq!((fault.code, &text[fault.span]), ("demand-above-capacity", "9"));
    assert_eq!(
        fault.message,
        "`fetched` takes `9` of `cores`, which has `8` (8 [affinity]): it would wait forever"
    );
    assert_eq!(fault.help, "lower the amount to at most `8`, or raise `cores` to at least `9`");
    planned(&pipeline("", "uses = [{ cores = 8 }],"));
}

#[test]
fn a_demand_on_an_adaptive_limit_must_fit_its_lowest() {
    let head = "[resources]\nx.slots = { adaptive = { from = 2, to = 64 } }\n";
    assert_eq!(fault(head, "uses = [{ x = 3 }],").0, "demand-above-capacity");
    planned(&pipeline(head, "uses = [{ x = 2 }],"));
}

#[test]
fn amounts_are_of_the_kind_that_the_resource_counts() {
    let head = "[resources]\nr.rate = { limit = \"5/s\" }\nb.bytes = \"1 GiB\"\n";
    let cases = [
        ("{ cores = \"2 B\" }", "\"2 B\"", "`cores` of `fetched` counts slots, found a size"),
        ("{ memory = 2 }", "2", "`memory` of `fetched` counts bytes, found a number without unit"),
        ("{ r = 2 }", "2", "`r` of `fetched` is a rate, of which each request takes one token"),
        (
            "{ scratch = \"1 GiB\" }",
            "\"1 GiB\"",
            "`scratch` of `fetched` is reserved by estimate and takes no amount",
        ),
        ("\"b\"", "\"b\"", "`b` of `fetched` is not measured and needs an amount"),
    ];
    for (entry, place, message) in cases {
        let is_named = |name: &str| entry.contains(&format!("{name} =")) || entry == format!("\"{name}\"");
        let others: Vec<&str> = [("r", ", { r = 0 }"), ("b", ", { b = 0 }")]
            .into_iter()
            .filter_map(|(name, unused)| (!is_named(name)).then_some(unused))
            .collect();
        let others = others.concat();
        let found = fault(head, &format!("uses = [{entry}{others}],"));
        assert_eq!((found.0, found.1.as_str(), found.2.as_str()), ("wrong-amount", place, message));
    }
    planned(&pipeline(head, "uses = [\"r\", { b = \"1 MiB\" }, { cores = 2 }, { memory = \"1 GiB\" }],"));
}

#[test]
fn a_budget_of_ones_own_is_held_like_slots() {
    let head = "[resources]\ngpu.bytes = \"8 GiB\"\n";
    let plan = planned(&pipeline(head, "uses = [{ gpu = \"3 GiB\" }],"));
    let fetched = stage(&plan, "fetched");
    assert_eq!(slots(fetched), [("gpu", 3 * GIB), ("connections", 1)]);
    assert_eq!((fetched.parallelism, fetched.bound_by.clone()), (2, Some("gpu".into())));
}

#[test]
fn uses_name_known_resources_once() {
    let found = fault("[resources]\nprovider.rate = { limit = \"5/s\" }\n", "uses = [\"provdier\"],");
    assert_eq!((found.0, found.1.as_str()), ("unknown-resource", "\"provdier\""));
    check(&[("", "uses = [\"cores\", { cores = 2 }],", "duplicate-use", "cores")]);
}

#[test]
fn what_items_hold_all_the_way_is_not_taken_by_a_stage() {
    check(&[
        ("", "uses = [\"descriptors\"],", "unit-in-stage", "\"descriptors\""),
        ("[run]\nuses = [\"memory\"]\n", "", "wrong-amount", "\"memory\""),
        ("[run]\nuses = [\"nothing\"]\n", "", "unknown-resource", "\"nothing\""),
        ("[run]\nuses = [{ descriptors = 9999 }]\n", "", "demand-above-capacity", "9999"),
    ]);
    let found = fault("[run]\nuses = [\"writers\"]\n", "");
    assert_eq!(
        found.2,
        "every item holds `writers` all the way, and `write` of `written` takes it by itself"
    );
}

#[test]
fn queues_have_places_and_sources_have_none() {
    let text = pipeline("", "").replace("scenes = { list", "scenes = { queue = 3, list");
    let found = only_fault(&text);
    assert_eq!((found.code, &text[found.span]), ("queue-of-source", "3"));
}

#[test]
fn two_stages_do_not_write_to_one_path() {
    let second = |path: &str| {
        format!("{}copy = {{ from = \"fetched\", write = {{ path = \"{path}\" }} }}\n", pipeline("", ""))
    };
    let text = second("out/{id}.tif");
    let found = only_fault(&text);
    assert_eq!(
        (found.code, found.message.as_str()),
        ("same-output", "`written` and `copy` both write to `out/{id}.tif`")
    );
    assert!(found.span.start > found.related[0].0.start);
    planned(&second("out/{id}.jp2"));
}

#[test]
fn what_nothing_uses_is_a_warning() {
    let head = "[params]\nsince = { default = \"x\" }\n[grids.g]\ncrs = \"EPSG:3035\"\nresolution = 10\n[resources]\nspare.slots = 2\n";
    let text = pipeline(head, "") + "rows = { from = \"bands\", stats = {} }\n";
    let told = told(&text);
    let places: Vec<_> = told.iter().map(|(code, place, _)| (*code, place.as_str())).collect();
    assert_eq!(
        places,
        [
            ("unused-parameter", "since"),
            ("unused-grid", "g"),
            ("unused-resource", "spare"),
            ("unused-stage", "rows")
        ]
    );
    let (plan, _) = resolved_for(&machine(), &text);
    assert!(plan.is_some(), "warnings keep nothing from running");
}

#[test]
fn what_is_used_is_no_warning() {
    let head = "[params]\nsince = { default = \"x\" }\n[grids.g]\ncrs = \"EPSG:3035\"\nresolution = 10\n[resources]\nspare.slots = 2\n";
    let text = pipeline(head, "uses = [\"spare\"],")
        .replace("list = {}", "list = { since = \"${since}\" }")
        .replace("encode = {}", "encode = { grid = \"g\" }");
    assert_eq!(told(&text), []);
}

#[test]
fn more_memory_or_cores_than_granted_is_a_warning() {
    let found = fault("[resources]\nmemory.bytes = \"20 GiB\"\n", "");
    assert_eq!(found.0, "memory-above-machine");
    // 20 GiB + 819.2 MiB + 100 MiB = 20.9 GiB
    assert_eq!(found.2, "up to `20.9 GiB` may be in memory, and the machine grants `16 GiB` [physical]");
    let found = fault("[resources]\ncores.slots = 9\n", "");
    assert_eq!(
        found.2,
        "`cores` shares out `9` cores and the machine grants 9 [affinity]".replace("grants 9", "grants 8")
    );
}

#[test]
fn isolation_without_native_code_is_a_warning() {
    assert_eq!(fault("", "isolation = \"process\",").0, "idle-isolation");
    let native =
        pipeline("", "").replace("from = \"fetched\",", "from = \"fetched\", isolation = \"process\",");
    assert_eq!(told(&native), []);
}

#[test]
fn what_puts_items_together_cannot_be_isolated() {
    let text = pipeline("", "")
        .replace("fetched =", "cut = { from = \"scenes\", window = {} }\nfetched =")
        .replace("from = \"scenes\",  fetch", "from = \"cut\", fetch")
        .replace(
            "from = \"bands\", encode = {}",
            "from = \"bands\", isolation = \"process\", encode = { assemble = true }",
        );
    let fault = only_fault(&text);
    assert_eq!(
        (fault.code, &text[fault.span], fault.severity),
        ("idle-isolation", "encode", Severity::Error)
    );
    assert_eq!(fault.message, "`encode` puts many items together in the run's own process");
    planned(&text.replace("isolation = \"process\", ", ""));
}

#[test]
fn the_codes_are_unique_and_explained() {
    let mut codes: Vec<&str> = crate::plan::codes::ALL.iter().map(|(code, _)| *code).collect();
    codes.sort_unstable();
    codes.dedup();
    assert_eq!(codes.len(), crate::plan::codes::ALL.len());
    assert!(crate::plan::codes::ALL.iter().all(|(_, meaning)| meaning.ends_with('.')));
}
