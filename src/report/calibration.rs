//! The working set of an item as it was observed, against the one that the pipeline declares.

use serde::Serialize;

use super::digest::{Digest, Fullest};
use crate::events::{OutlineResource, OutlineStage};
use crate::units::ByteSize;

/// What is added to an observed working set before it is proposed: a quarter, since the next item may be larger.
const HEADROOM: f64 = 1.25;
/// What a process grows by whatever it works on: its code, its runtime and coordinate systems, loaded when first used.
const OWN: u64 = 100 << 20;
/// A declared size up to this multiple of the observed one fits.
const GENEROUS: f64 = 2.0;

/// One declared figure and what was seen.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Calibration {
    /// The resource or stage.
    pub subject: String,
    /// Bytes that the pipeline declares, or that the program estimated.
    pub declared: u64,
    /// Bytes that were observed.
    pub observed: u64,
    /// How they were observed.
    pub observation: String,
    /// The edit to the pipeline, unless the figure fits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edit: Option<String>,
}

/// Every declared working set that something was seen of, and the estimates of items as a whole.
pub(super) fn calibrate(digest: &Digest) -> Vec<Calibration> {
    let resources = digest.outline.resources.iter().filter_map(|it| of_resource(digest, it));
    let stages = digest.outline.stages.iter().filter_map(|it| of_stage(digest, it));
    resources.chain(stages).chain(of_items(digest)).collect()
}

/// A count that was derived from memory and a working set.
fn of_resource(digest: &Digest, resource: &OutlineResource) -> Option<Calibration> {
    let declared = resource.working_set?;
    let takers =
        digest.outline.stages.iter().filter(|stage| stage.takes.iter().any(|(it, _)| *it == resource.name));
    let runs_programs = takers.into_iter().any(is_program);
    let (observed, observation) = observe(digest, runs_programs)?;
    let edit = edit_of(declared, observed)
        .map(|size| format!("in `{}.slots` write `working-set = \"{}\"`", resource.name, size.exact()));
    Some(Calibration { subject: resource.name.to_string(), declared, observed, observation, edit })
}

/// An amount of memory that a stage names for each item.
fn of_stage(digest: &Digest, stage: &OutlineStage) -> Option<Calibration> {
    let declared = stage.memory.filter(|bytes| *bytes > 0)?;
    let (observed, observation) = observe(digest, is_program(stage))?;
    let edit = edit_of(declared, observed)
        .map(|size| format!("in the `uses` of `{}` write `{{ memory = \"{}\" }}`", stage.name, size.exact()));
    Some(Calibration { subject: stage.name.to_string(), declared, observed, observation, edit })
}

fn is_program(stage: &OutlineStage) -> bool {
    stage.op == "exec"
}

fn observe(digest: &Digest, runs_programs: bool) -> Option<(u64, String)> {
    if !runs_programs {
        return resident_an_item(digest);
    }
    let largest = digest.usage.programs.largest;
    (largest > 0).then(|| (largest, "the largest program at the moments of the samples".to_owned()))
}

/// What the process grew by, from the first sample to the one with most items in flight, divided by these.
fn resident_an_item(digest: &Digest) -> Option<(u64, String)> {
    let Fullest { items, resident, .. } = digest.usage.fullest;
    let grown = resident.checked_sub(digest.usage.resident_at_first?)?;
    let each = grown.checked_div(items).filter(|each| *each > 0)?;
    let observation =
        format!("{} more resident than at the start, with {items} items in flight at once", ByteSize(grown));
    Some((each, observation))
}

/// What the program reserved for its items, against what it grew by: too small an estimate is what fills a machine.
fn of_items(digest: &Digest) -> Option<Calibration> {
    let Fullest { items, reserved, resident } = digest.usage.fullest;
    let declared = reserved.checked_div(items).filter(|each| *each > 0)?;
    let (observed, observation) = resident_an_item(digest)?;
    let budget = digest.outline.resource("memory")?.limit;
    let grown = resident.saturating_sub(digest.usage.resident_at_first?);
    let edit = (grown > reserved + OWN).then(|| {
        let fitting = ByteSize(rounded(budget * declared as f64 / observed as f64, f64::floor));
        format!(
            "under `[resources]` write `memory.bytes = \"{}\"`, so that as much as was granted is resident",
            fitting.exact()
        )
    });
    Some(Calibration { subject: "an item on its whole way".into(), declared, observed, observation, edit })
}

/// The size to declare instead, unless the declared one fits.
fn edit_of(declared: u64, observed: u64) -> Option<ByteSize> {
    let fits = observed <= declared && (declared as f64) <= GENEROUS * observed as f64;
    (!fits).then(|| ByteSize(rounded(HEADROOM * observed as f64, f64::ceil)))
}

/// To whole 16 MiB, above 1 GiB to whole 256 MiB, and at least one of them.
fn rounded(bytes: f64, round: fn(f64) -> f64) -> u64 {
    let step = f64::from(if bytes < (1_u32 << 30) as f64 { 16_u32 << 20 } else { 256 << 20 });
    (round(bytes / step).max(1.0) * step) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::{Event, Outline, ProgramsSample, Record, ResourceSample, Sample};

    const MIB: u64 = 1 << 20;

    fn digest(outline: Outline, samples: Vec<Sample>) -> Digest {
        let mut digest = Digest::default();
        let (version, text) = (2, String::new());
        let begin =
            Event::RunStarted { version, program: text.clone(), pipeline: text.clone(), run: text, outline };
        let events = std::iter::once(begin).chain(samples.into_iter().map(Event::Sample));
        for (second, event) in events.enumerate() {
            digest.add(&Record { ts: second as f64, event });
        }
        digest
    }

    fn scripts(working_set: u64) -> Outline {
        let resource = OutlineResource {
            name: "scripts".into(),
            kind: "slots".into(),
            limit: 3.0,
            working_set: Some(working_set),
            ..OutlineResource::default()
        };
        let stage = OutlineStage {
            name: "segments".into(),
            op: "exec".into(),
            takes: vec![("scripts".into(), 1)],
            ..OutlineStage::default()
        };
        Outline { stages: vec![stage], resources: vec![resource], ..Outline::default() }
    }

    fn programs(largest: u64) -> Sample {
        Sample {
            programs: ProgramsSample { running: 2, runnable: 2, resident: 2 * largest, largest },
            ..Sample::default()
        }
    }

    #[test]
    fn a_program_smaller_than_declared_lets_more_of_them_run() {
        let found = calibrate(&digest(scripts(2048 * MIB), vec![programs(300 * MIB), programs(200 * MIB)]));
        assert_eq!((found[0].declared, found[0].observed), (2048 * MIB, 300 * MIB));
        // 300 MiB and a quarter are 375 MiB: 24 × 16 MiB.
        assert_eq!(found[0].edit.as_deref(), Some("in `scripts.slots` write `working-set = \"384 MiB\"`"));
    }

    #[test]
    fn a_figure_that_fits_is_left_alone() {
        let found = calibrate(&digest(scripts(400 * MIB), vec![programs(300 * MIB)]));
        assert_eq!((found[0].observed, &found[0].edit), (300 * MIB, &None));
    }

    #[test]
    fn a_program_that_was_never_seen_is_not_judged() {
        assert_eq!(calibrate(&digest(scripts(400 * MIB), vec![Sample::default()])), []);
    }

    /// A run with 4 items in flight, for which 400 MiB were reserved while the process grew from 50 MiB to so many.
    fn items(resident: u64) -> Vec<Calibration> {
        let memory = OutlineResource {
            name: "memory".into(),
            kind: "bytes".into(),
            limit: (1024 * MIB) as f64,
            ..OutlineResource::default()
        };
        let sample = |items, used: u64, resident| Sample {
            items,
            resident,
            resources: vec![ResourceSample {
                name: "memory".into(),
                used: used as f64,
                limit: (1024 * MIB) as f64,
                waiting: 0,
                holders: Vec::new(),
            }],
            ..Sample::default()
        };
        let outline = Outline { resources: vec![memory], ..Outline::default() };
        calibrate(&digest(outline, vec![sample(0, 0, 50 * MIB), sample(4, 400 * MIB, resident)]))
    }

    #[test]
    fn items_that_take_more_than_was_reserved_lower_the_budget() {
        let found = items(850 * MIB);
        assert_eq!((found[0].declared, found[0].observed), (100 * MIB, 200 * MIB));
        assert!(found[0].edit.as_deref().unwrap().contains("`memory.bytes = \"512 MiB\"`"), "{found:?}");
    }

    #[test]
    fn what_a_process_takes_for_itself_is_no_fault_of_the_items() {
        // 90 MiB more than was reserved.
        let found = items(540 * MIB);
        assert_eq!((found[0].declared, &found[0].edit), (100 * MIB, &None));
    }
}
