//! What a `run.jsonl` tells.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use gisrun::events::{Event, Record, read_records};
use gisrun::ids::StageName;

/// The events of one run, in order.
#[derive(Default)]
pub(crate) struct Run(Vec<Event>);

impl Run {
    pub(crate) fn read(path: &Path) -> Self {
        let records = read_records(File::open(path).unwrap());
        Self(records.map(|record: Result<Record, _>| record.unwrap().event).collect())
    }

    /// Adds one line of a record.
    pub(crate) fn add(&mut self, line: &str) {
        self.0.push(serde_json::from_str::<Record>(line).unwrap().event);
    }

    /// These events, and then those.
    pub(crate) fn and(mut self, rest: Self) -> Self {
        self.0.extend(rest.0);
        self
    }

    /// How many events are such.
    pub(crate) fn count(&self, is_such: fn(&Event) -> bool) -> usize {
        self.0.iter().filter(|event| is_such(event)).count()
    }

    /// What happened before the run was told to stop.
    pub(crate) fn until_stopping(self) -> Self {
        Self(self.0.into_iter().take_while(|event| !matches!(event, Event::Stopping { .. })).collect())
    }

    /// The ids of items that ended well, sorted.
    pub(crate) fn finished(&self) -> Vec<String> {
        self.items(|event| match event {
            Event::ItemFinished { item } => Some(item.to_string()),
            _ => None,
        })
    }

    /// The ids of items that were done before, sorted, each with the reason.
    pub(crate) fn skipped(&self) -> Vec<String> {
        self.items(|event| match event {
            Event::ItemSkipped { item, .. } => Some(item.to_string()),
            _ => None,
        })
    }

    fn items(&self, pick: impl FnMut(&Event) -> Option<String>) -> Vec<String> {
        let mut items: Vec<String> = self.0.iter().filter_map(pick).collect();
        items.sort();
        items
    }

    /// How often a stage gave its output.
    pub(crate) fn finished_in(&self, stage: &str) -> usize {
        self.0
            .iter()
            .filter(|event| matches!(event, Event::StageFinished { stage: at, .. } if at.as_str() == stage))
            .count()
    }

    /// The most items that were in a stage at once.
    pub(crate) fn most_at_once(&self, stage: &str) -> i64 {
        let is_one = |at: &StageName| at.as_str() == stage;
        self.highest(|event| match event {
            Event::StageStarted { stage, .. } if is_one(stage) => 1,
            Event::StageFinished { stage, .. }
            | Event::StageFailed { stage, .. }
            | Event::StageRetried { stage, .. }
            | Event::StageCancelled { stage, .. }
                if is_one(stage) =>
            {
                -1
            }
            _ => 0,
        })
    }

    /// The most items that had begun one stage and not yet the next.
    pub(crate) fn most_between(&self, before: &str, after: &str) -> i64 {
        self.highest(|event| match event {
            Event::StageStarted { stage, attempt: 1, .. } if stage.as_str() == before => 1,
            Event::StageStarted { stage, attempt: 1, .. } if stage.as_str() == after => -1,
            _ => 0,
        })
    }

    /// The highest sum of what the events up to any of them add.
    fn highest(&self, change: impl Fn(&Event) -> i64) -> i64 {
        let sums = self.0.iter().scan(0, |sum, event| {
            *sum += change(event);
            Some(*sum)
        });
        sums.max().unwrap_or(0)
    }

    /// The limit of a resource when it was sampled first.
    pub(crate) fn first_limit(&self, resource: &str) -> Option<f64> {
        self.0.iter().find_map(|event| match event {
            Event::Sample(sample) => {
                let of_name = sample.resources.iter().find(|sample| sample.name.as_str() == resource);
                of_name.map(|sample| sample.limit)
            }
            _ => None,
        })
    }

    /// How often each status was answered.
    pub(crate) fn statuses(&self) -> BTreeMap<u16, usize> {
        let mut statuses = BTreeMap::new();
        for event in &self.0 {
            if let Event::Request { status, .. } = event {
                *statuses.entry(*status).or_default() += 1;
            }
        }
        statuses
    }
}
