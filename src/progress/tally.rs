//! How far a run is: a fold over its events.

use std::collections::HashMap;

use super::gauge::Gauge;
use crate::events::{Event, Outline, QueueSample, Record, ResourceSample, Sample};
use crate::ids::StageName;

/// How far a run is.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Tally {
    pub(super) stages: Vec<StageTally>,
    /// Items that sources gave.
    pub(super) listed: u64,
    pub(super) done: u64,
    pub(super) failed: u64,
    pub(super) skipped: u64,
    /// The resources as they were sampled last.
    pub(super) gauges: Vec<Gauge>,
    outline: Outline,
    open_sources: usize,
    places: HashMap<StageName, usize>,
}

/// How far one stage is.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct StageTally {
    pub(super) name: String,
    /// The stages that it takes from.
    from: Vec<usize>,
    /// Items that it began on.
    begun: u64,
    /// Items that it works on now.
    pub(super) running: u64,
    pub(super) finished: u64,
    pub(super) failed: u64,
    /// Items that it sent on: many for a parent that is cut, none for a window that is joined with others.
    given: u64,
    /// Items that stood in its queue when that was sampled last.
    depth: u64,
}

impl Tally {
    pub(super) fn add(&mut self, record: &Record) {
        match &record.event {
            Event::RunStarted { outline, .. } => self.begin(outline),
            Event::ItemListed { stage, .. } => {
                self.listed += 1;
                self.stage(stage, |stage| {
                    stage.finished += 1;
                    stage.given += 1;
                });
            }
            Event::SourceEnded { .. } => self.open_sources = self.open_sources.saturating_sub(1),
            Event::ItemSkipped { .. } => self.skipped += 1,
            Event::ItemFinished { .. } => self.done += 1,
            Event::ItemFailed { .. } => self.failed += 1,
            Event::StageStarted { stage, attempt, .. } => self.stage(stage, |stage| {
                stage.running += 1;
                stage.begun += u64::from(*attempt <= 1);
            }),
            Event::StageFinished { stage, outputs, .. } => self.ended(stage, |stage| {
                stage.finished += 1;
                stage.given += outputs;
            }),
            Event::StageFailed { stage, .. } => self.ended(stage, |stage| stage.failed += 1),
            Event::StageRetried { stage, .. } | Event::StageCancelled { stage, .. } => {
                self.ended(stage, |_| {});
            }
            Event::Sample(Sample { queues, resources, .. }) => self.sampled(queues, resources),
            _ => {}
        }
    }

    fn begin(&mut self, outline: &Outline) {
        let places = outline.stages.iter().enumerate().map(|(at, stage)| (stage.name.clone(), at));
        *self = Self { places: places.collect(), outline: outline.clone(), ..Self::default() };
        for stage in &outline.stages {
            let from = stage.from.iter().filter_map(|name| self.places.get(name).copied()).collect();
            let name = stage.name.to_string();
            self.stages.push(StageTally { name, from, ..StageTally::default() });
        }
        self.open_sources = outline.stages.iter().filter(|stage| stage.from.is_empty()).count();
    }

    fn stage(&mut self, name: &StageName, change: impl FnOnce(&mut StageTally)) {
        if let Some(at) = self.places.get(name) {
            change(&mut self.stages[*at]);
        }
    }

    fn ended(&mut self, name: &StageName, change: impl FnOnce(&mut StageTally)) {
        self.stage(name, |stage| {
            stage.running = stage.running.saturating_sub(1);
            change(stage);
        });
    }

    fn sampled(&mut self, queues: &[QueueSample], resources: &[ResourceSample]) {
        self.gauges = resources.iter().map(|resource| Gauge::of(resource, &self.outline)).collect();
        for queue in queues {
            self.stage(&queue.stage, |stage| stage.depth = queue.depth);
        }
    }

    /// Whether sources may give more items.
    pub(super) fn is_listing(&self) -> bool {
        self.open_sources > 0
    }

    /// Items that came to an end.
    pub(super) fn ended_items(&self) -> u64 {
        self.done + self.failed + self.skipped
    }

    /// Items that a stage was given so far: what the stages before it gave, or what it began on where one item
    /// becomes many.
    pub(super) fn arrived(&self, stage: &StageTally) -> u64 {
        let given: u64 = stage.from.iter().map(|at| self.given(&self.stages[*at])).sum();
        given.max(stage.begun + stage.depth)
    }

    /// What a stage gave; items that are skipped leave their source and go nowhere.
    fn given(&self, stage: &StageTally) -> u64 {
        if stage.from.is_empty() { stage.given.saturating_sub(self.skipped) } else { stage.given }
    }

    /// Items that were given to a stage and that it has not begun on.
    pub(super) fn waiting(&self, stage: &StageTally) -> u64 {
        self.arrived(stage) - stage.begun
    }
}

impl StageTally {
    /// Whether it lists items rather than working on them.
    pub(super) fn is_source(&self) -> bool {
        self.from.is_empty()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::events::read_records;

    /// The tally after these events, each a JSON object without its time.
    pub(in crate::progress) fn tally(events: &str) -> Tally {
        let mut tally = Tally::default();
        for line in events.trim().lines() {
            let line = format!("{{\"ts\":0,{}\n", &line.trim()[1..]);
            let record = read_records(line.as_bytes()).next().expect("one event a line");
            tally.add(&record.unwrap());
        }
        tally
    }

    pub(in crate::progress) const BEGIN: &str = r#"
        {"event":"run_started","version":1,"program":"","pipeline":"ndvi.toml","run":"","outline":{"stages":[
        {"name":"scenes","op":"glob","from":[],"queue":0,"parallelism":1,"takes":[]},
        {"name":"bands","op":"read","from":["scenes"],"queue":4,"parallelism":4,"takes":[]}],
        "resources":[],"gdal_cache":0,"memory_granted":[0,""],"cores_granted":[4,""]}}"#;

    /// [`BEGIN`] on one line, then `events`.
    pub(in crate::progress) fn after_begin(events: &str) -> Tally {
        let begin: String = BEGIN.lines().map(str::trim).collect();
        tally(&format!("{begin}\n{}", events.trim()))
    }

    const WORK: &str = r#"
        {"event":"item_listed","stage":"scenes","item":"a"}
        {"event":"item_listed","stage":"scenes","item":"b"}
        {"event":"item_listed","stage":"scenes","item":"c"}
        {"event":"item_listed","stage":"scenes","item":"d"}
        {"event":"item_skipped","item":"d","reason":"done"}
        {"event":"stage_started","stage":"bands","item":"a","attempt":1,"waited":{"queue":0,"places":0}}
        {"event":"stage_started","stage":"bands","item":"b","attempt":1,"waited":{"queue":0,"places":0}}
        {"event":"stage_retried","stage":"bands","item":"b","attempt":1,"delay":1,"message":"503"}
        {"event":"stage_finished","stage":"bands","item":"a","attempt":1,"worked":1,"bytes_in":1,"bytes_out":1}
        {"event":"item_finished","item":"a"}"#;

    #[test]
    fn items_and_stages_are_counted() {
        let tally = after_begin(WORK);
        let bands = &tally.stages[1];
        assert_eq!((tally.listed, tally.ended_items(), tally.is_listing()), (4, 2, true));
        assert_eq!((bands.finished, bands.running, tally.arrived(bands), tally.waiting(bands)), (1, 0, 3, 1));
    }

    #[test]
    fn a_retry_runs_again_and_begins_nothing_new() {
        let again = r#"
            {"event":"stage_started","stage":"bands","item":"b","attempt":2,"waited":{"queue":0,"places":0}}
            {"event":"source_ended","stage":"scenes","items":4}"#;
        let tally = after_begin(&format!("{WORK}{again}"));
        let bands = &tally.stages[1];
        assert_eq!((bands.running, tally.waiting(bands), tally.is_listing()), (1, 1, false));
    }

    #[test]
    fn windows_that_wait_in_a_queue_are_seen_by_its_depth() {
        let sample = r#"
            {"event":"sample","resources":[],"queues":[{"stage":"bands","depth":9,"places":16}],"descriptors":0,"threads":0,"resident":0,"cpu":0}"#;
        let tally = after_begin(&format!("{WORK}{sample}"));
        assert_eq!(tally.waiting(&tally.stages[1]), 9);
    }

    #[test]
    fn windows_before_a_join_do_not_wait_after_it() {
        let begin = r#"{"event":"run_started","version":2,"program":"","pipeline":"","run":"","outline":{"stages":[
            {"name":"tiles","op":"window","from":[],"queue":0,"parallelism":1,"takes":[]},
            {"name":"encoded","op":"encode","from":["tiles"],"queue":4,"parallelism":4,"takes":[]},
            {"name":"written","op":"write","from":["encoded"],"queue":4,"parallelism":4,"takes":[]}],
            "resources":[],"gdal_cache":0,"memory_granted":[0,""],"cores_granted":[4,""]}}"#;
        let window = r#"
            {"event":"stage_started","stage":"encoded","item":"a/0","attempt":1,"waited":{"queue":0,"places":0}}
            {"event":"stage_finished","stage":"encoded","item":"a/0","attempt":1,"worked":1,"bytes_in":1,"bytes_out":1,"outputs":0}"#;
        let parent = window.replace(",\"outputs\":0", "");
        let begin: String = begin.lines().map(str::trim).collect();
        let tally = tally(&format!("{begin}{window}{window}{parent}"));
        assert_eq!(tally.waiting(&tally.stages[2]), 1, "the parent that two windows were joined into");
    }
}
