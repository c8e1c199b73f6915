//! A difference as text: for people, for a comment on a pull request, for programs.

use std::fmt::Write as _;

use serde_json::json;

use super::Difference;
use super::outputs::Outputs;
use crate::cli::render::counted;

/// So many items are named.
const NAMED: usize = 5;

/// Sections of sentences.
pub(super) fn human(difference: &Difference) -> String {
    let mut text = format!("{} → {}\n", difference.old, difference.new);
    for (title, changes) in all(difference) {
        _ = write!(text, "\n{title}\n");
        for change in changes {
            _ = writeln!(text, "  {change}");
        }
    }
    text
}

/// A comment on a pull request.
pub(super) fn markdown(difference: &Difference) -> String {
    let mut text = format!("### Plan: `{}` → `{}`\n", difference.old, difference.new);
    for (title, changes) in all(difference) {
        _ = write!(text, "\n**{title}**\n\n");
        for change in changes {
            _ = writeln!(text, "- {change}");
        }
    }
    text
}

/// One object: the sections by title, and `outputs`.
pub(super) fn json(difference: &Difference) -> String {
    let sections: serde_json::Map<_, _> =
        difference.sections.iter().map(|(title, changes)| ((*title).to_owned(), json!(changes))).collect();
    let object = json!({
        "old": difference.old,
        "new": difference.new,
        "changes": sections,
        "outputs": difference.outputs.to_json(),
    });
    format!("{object:#}\n")
}

fn all(difference: &Difference) -> Vec<(&'static str, Vec<String>)> {
    let mut sections = difference.sections.clone();
    if sections.is_empty() {
        sections.push(("plan", vec!["nothing changes".into()]));
    }
    sections.push(("outputs", outputs(&difference.outputs)));
    sections
}

fn outputs(outputs: &Outputs) -> Vec<String> {
    let mut sentences = Vec::new();
    if let Some((old, new)) = &outputs.moved {
        sentences.push(format!(
            "the ledger is `{new}` and no longer `{old}`: what `{old}` knows to be done is run again"
        ));
    }
    match outputs.reasons.as_slice() {
        [] if outputs.moved.is_none() => sentences.push("no output becomes stale".into()),
        [] => {}
        reasons => {
            sentences.push("every output becomes stale".into());
            sentences.extend(reasons.iter().map(|reason| format!("because {reason}")));
        }
    }
    if outputs.has_ledger {
        sentences.push(done(outputs));
    }
    sentences
        .extend(outputs.left.iter().map(|path| format!("`{path}` is written no more; files there stay")));
    sentences
}

fn done(outputs: &Outputs) -> String {
    let (done, stale) = (counted(outputs.done, "item"), outputs.stale.len());
    if stale == 0 {
        return format!("{done} done in the ledger here, none of them stale");
    }
    let named: Vec<String> = outputs.stale.iter().take(NAMED).map(|item| format!("`{item}`")).collect();
    let more = if stale > NAMED { ", …" } else { "" };
    let already = if outputs.reasons.is_empty() { "stale before this change" } else { "stale" };
    format!("{done} done in the ledger here, {stale} of them {already}: {}{more}", named.join(", "))
}
