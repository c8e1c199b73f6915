//! The items of a plan: how many are run, which outputs are stale, what is done, each with the reason.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value as Json, json};

use crate::contract::Location;
use crate::engine::{Fate, Foreseen, Prospect};

/// So many items are named for each reason; programs read them all.
const NAMED: usize = 3;

/// The rows of the section, and the line that sums them up. Files that go whole are told where a stage `moves_parts`.
pub(super) fn rows(foreseen: &Foreseen, moves_parts: bool) -> Vec<Vec<String>> {
    let mut rows = vec![vec![summary(foreseen)]];
    for ((verb, reason), items) in by_reason(&foreseen.items) {
        rows.push(vec![format!("{:>6} {verb}", items.len()), reason.to_owned(), named(&items)]);
    }
    if moves_parts {
        rows.extend(wholes(&foreseen.items));
    }
    if let Some(reason) = &foreseen.stopped {
        rows.push(vec![format!("the list ends early: {reason}")]);
    }
    rows
}

/// Remote files that go whole whatever their header says, by the suffix that tells.
fn wholes(items: &[Prospect]) -> impl Iterator<Item = Vec<String>> {
    let mut counts: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    let is_run = |item: &&Prospect| matches!(item.fate, Fate::Run(_) | Fate::Stale(_));
    for input in items.iter().filter(is_run).flat_map(|item| item.inputs.iter()) {
        if let Some(suffix) = untiled(input) {
            counts.entry(suffix).or_default().insert(input.to_string());
        }
    }
    counts.into_iter().map(|(suffix, files)| {
        let (count, files) = (files.len(), if files.len() == 1 { "file goes" } else { "files go" });
        vec![format!(
            "{count} `{suffix}` {files} whole: the format has no tiles that can be read by themselves"
        )]
    })
}

/// The suffix of a remote file, if that of a format without tiles.
fn untiled(input: &Location) -> Option<&'static str> {
    const SUFFIXES: [&str; 8] = [".jp2", ".j2k", ".jpx", ".png", ".jpg", ".jpeg", ".webp", ".asc"];
    let Location::Remote(url) = input else { return None };
    let path = url.path().to_ascii_lowercase();
    SUFFIXES.into_iter().find(|suffix| path.ends_with(suffix))
}

/// Items with the same fate for the same reason, in the order: run, stale, fail, skip.
fn by_reason(items: &[Prospect]) -> impl Iterator<Item = ((&'static str, &str), Vec<&Prospect>)> {
    let mut groups: BTreeMap<(usize, &str), Vec<&Prospect>> = BTreeMap::new();
    for item in items {
        let (rank, _, reason) = words(&item.fate);
        groups.entry((rank, reason)).or_default().push(item);
    }
    groups.into_iter().map(|((_, reason), items)| ((words(&items[0].fate).1, reason), items))
}

/// Rank, verb and reason.
fn words(fate: &Fate) -> (usize, &'static str, &str) {
    match fate {
        Fate::Run(reason) => (0, "run", reason),
        Fate::Stale(reason) => (1, "stale", reason),
        Fate::Fail(_, message) => (2, "fail", message),
        Fate::Skip(reason) => (3, "skip", reason),
    }
}

fn named(items: &[&Prospect]) -> String {
    let names: Vec<&str> = items.iter().take(NAMED).map(|item| item.item.as_str()).collect();
    let more = items.len() - names.len();
    if more == 0 { names.join(", ") } else { format!("{}, and {more} more", names.join(", ")) }
}

fn summary(foreseen: &Foreseen) -> String {
    let Counts { run, stale, skip, fail } = Counts::of(&foreseen.items);
    let listed = foreseen.items.len();
    let fails = if fail == 0 { String::new() } else { format!(", {fail} to fail") };
    format!("{listed} listed: {run} to run, {stale} stale to run again, {skip} to skip{fails}")
}

#[derive(Default)]
struct Counts {
    run: usize,
    stale: usize,
    skip: usize,
    fail: usize,
}

impl Counts {
    fn of(items: &[Prospect]) -> Self {
        let mut counts = Self::default();
        for item in items {
            *match item.fate {
                Fate::Run(_) => &mut counts.run,
                Fate::Stale(_) => &mut counts.stale,
                Fate::Skip(_) => &mut counts.skip,
                Fate::Fail(..) => &mut counts.fail,
            } += 1;
        }
        counts
    }
}

/// All items, for programs.
pub(super) fn to_json(foreseen: &Foreseen) -> Json {
    let Counts { run, stale, skip, fail } = Counts::of(&foreseen.items);
    json!({
        "run": run,
        "stale": stale,
        "skip": skip,
        "fail": fail,
        "complete": foreseen.stopped.is_none(),
        "ended-by": foreseen.stopped.as_ref().map(ToString::to_string),
        "list": foreseen.items.iter().map(item).collect::<Json>(),
    })
}

fn item(prospect: &Prospect) -> Json {
    let (_, verdict, reason) = words(&prospect.fate);
    let stage = match &prospect.fate {
        Fate::Fail(stage, _) => Some(stage),
        _ => None,
    };
    let outputs =
        prospect.outputs.iter().map(|(stage, file)| json!({ "stage": stage, "file": file.to_string() }));
    json!({
        "item": prospect.item,
        "verdict": verdict,
        "reason": reason,
        "stage": stage,
        "outputs": outputs.collect::<Json>(),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::engine::StopReason;

    fn prospect(item: &str, fate: Fate) -> Prospect {
        Prospect { item: item.into(), fate, outputs: Vec::new(), inputs: Arc::default() }
    }

    #[test]
    fn remote_files_whose_format_has_no_tiles_are_told_where_parts_would_move() {
        let input = |text: &str| match text.contains("://") {
            true => Location::Remote(text.parse().unwrap()),
            false => Location::Local(text.into()),
        };
        let of = |fate, inputs: &[&str]| Prospect {
            inputs: inputs.iter().map(|text| input(text)).collect(),
            ..prospect("a", fate)
        };
        let items = vec![
            of(Fate::Run(String::new()), &["https://h.example/a.JP2?x", "https://h.example/a.tif", "a.jp2"]),
            of(Fate::Stale(String::new()), &["s3://b/c.jp2", "https://h.example/a.JP2?x", "s3://b/c.png"]),
            of(Fate::Skip(String::new()), &["s3://b/d.jp2"]),
        ];
        let foreseen = Foreseen { items, stopped: None };
        let told = |moves_parts| {
            let rows = rows(&foreseen, moves_parts).into_iter().map(|row| row.join(" "));
            rows.filter(|row| row.contains("whole")).collect::<Vec<_>>()
        };
        let reason = "whole: the format has no tiles that can be read by themselves";
        let expected = [format!("2 `.jp2` files go {reason}"), format!("1 `.png` file goes {reason}")];
        assert_eq!(told(true), expected);
        assert_eq!(told(false), Vec::<String>::new());
    }

    fn five() -> Foreseen {
        let new = || Fate::Run("it was not run before".into());
        let mut items: Vec<Prospect> = ["a", "b", "c", "d"].map(|id| prospect(id, new())).into();
        items.push(prospect("e", Fate::Stale("`warp.resampling` was `nearest` and is `cubic`".into())));
        items.push(prospect("f", Fate::Skip("it is done".into())));
        items.push(prospect("g", Fate::Fail("days".into(), "`g` has no time".into())));
        Foreseen { items, stopped: Some(StopReason::Aborted("stage `scenes`: 503".into())) }
    }

    #[test]
    fn items_of_one_reason_are_one_row() {
        let rows: Vec<String> = rows(&five(), true).iter().map(|row| row.join(" | ")).collect();
        assert_eq!(
            rows,
            [
                "7 listed: 4 to run, 1 stale to run again, 1 to skip, 1 to fail",
                "     4 run | it was not run before | a, b, c, and 1 more",
                "     1 stale | `warp.resampling` was `nearest` and is `cubic` | e",
                "     1 fail | `g` has no time | g",
                "     1 skip | it is done | f",
                "the list ends early: stage `scenes`: 503",
            ]
        );
    }

    #[test]
    fn programs_get_every_item() {
        let json = to_json(&five());
        assert_eq!((&json["run"], &json["fail"], &json["complete"]), (&4.into(), &1.into(), &false.into()));
        assert_eq!(json["list"][6]["stage"], "days");
        assert_eq!(json["list"].as_array().map(Vec::len), Some(7));
    }
}
