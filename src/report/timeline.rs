//! A run over time, in a fixed number of steps: what the charts of the page draw.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::events::{Event, Outline, Record, Sample};

/// Steps that a run is cut into.
const STEPS: usize = 600;
/// The most marks that are kept.
const MARKS: usize = 200;

/// A run over time. Every series has one figure a step; `null` where nothing is known.
#[derive(Debug, Serialize)]
pub struct Timeline {
    /// When it begins, in seconds since 1970-01-01T00:00:00Z.
    begin: f64,
    /// Seconds of a step.
    step: f64,
    steps: usize,
    /// Items in each stage, on average over the step.
    busy: BTreeMap<String, Vec<f64>>,
    /// Items done and failed, requests, answers that throttle, and bytes received, in the step.
    done: Vec<f64>,
    failed: Vec<f64>,
    requests: Vec<f64>,
    throttled: Vec<f64>,
    received: Vec<f64>,
    /// Each resource: used and limit, the highest of the step.
    used: BTreeMap<String, Vec<Option<f64>>>,
    limit: BTreeMap<String, Vec<Option<f64>>>,
    /// Items in each queue, the most of the step.
    queues: BTreeMap<String, Vec<Option<f64>>>,
    resident: Vec<Option<f64>>,
    programs: Vec<Option<f64>>,
    descriptors: Vec<Option<f64>>,
    threads: Vec<Option<f64>>,
    cpu: Vec<Option<f64>>,
    starved: Vec<Option<f64>>,
    items: Vec<Option<f64>>,
    marks: Vec<Mark>,
    #[serde(skip)]
    outline: Outline,
    #[serde(skip)]
    last_sample: Option<f64>,
}

/// Something that happened at a moment.
#[derive(Debug, Serialize)]
struct Mark {
    /// Seconds from the beginning.
    at: f64,
    what: String,
}

impl Timeline {
    /// An empty one from `begin` to `end`, in seconds since 1970.
    pub fn new(begin: f64, end: f64) -> Self {
        let (numbers, gauges) = (vec![0.0; STEPS], vec![None; STEPS]);
        Self {
            begin,
            step: ((end - begin) / STEPS as f64).max(1e-3),
            steps: STEPS,
            busy: BTreeMap::new(),
            done: numbers.clone(),
            failed: numbers.clone(),
            requests: numbers.clone(),
            throttled: numbers.clone(),
            received: numbers,
            used: BTreeMap::new(),
            limit: BTreeMap::new(),
            queues: BTreeMap::new(),
            resident: gauges.clone(),
            programs: gauges.clone(),
            descriptors: gauges.clone(),
            threads: gauges.clone(),
            cpu: gauges.clone(),
            starved: gauges.clone(),
            items: gauges,
            marks: Vec::new(),
            outline: Outline::default(),
            last_sample: None,
        }
    }

    /// Takes one event in.
    pub fn add(&mut self, record: &Record) {
        let at = record.ts;
        let step = self.step_of(at);
        match &record.event {
            Event::RunStarted { outline, .. } => {
                self.outline = outline.clone();
                self.last_sample = None;
            }
            Event::StageFinished { stage, worked, .. }
            | Event::StageFailed { stage, worked, .. }
            | Event::StageRetried { stage, worked, .. }
            | Event::StageCancelled { stage, worked, .. } => self.worked(stage.as_str(), at, *worked),
            Event::ItemFinished { .. } => self.done[step] += 1.0,
            Event::ItemFailed { .. } => self.failed[step] += 1.0,
            Event::Request { status, bytes, .. } => {
                self.requests[step] += 1.0;
                self.received[step] += *bytes as f64;
                self.throttled[step] += f64::from(u8::from(matches!(status, 429 | 503)));
            }
            Event::Sample(sample) => self.sampled(at, step, sample),
            Event::LimitChanged { resource, from, to, reason } => {
                self.mark(at, format!("{resource} from {from} to {to}: {reason}"));
            }
            Event::Stalled { seconds, .. } => self.mark(at, format!("nothing moved for {seconds} s")),
            Event::Stopping { reason, .. } => self.mark(at, format!("stopping: {reason}")),
            _ => {}
        }
    }

    fn step_of(&self, at: f64) -> usize {
        let step = ((at - self.begin) / self.step).max(0.0) as usize;
        step.min(self.steps - 1)
    }

    /// Spreads the time of one try over the steps that it lay in.
    fn worked(&mut self, stage: &str, end: f64, worked: f64) {
        let (first, last) = (self.step_of(end - worked), self.step_of(end));
        let (begin, step) = (self.begin, self.step);
        if !self.busy.contains_key(stage) {
            self.busy.insert(stage.to_owned(), vec![0.0; STEPS]);
        }
        let Some(busy) = self.busy.get_mut(stage) else { return };
        for (at, value) in busy.iter_mut().enumerate().take(last + 1).skip(first) {
            let from = begin + at as f64 * step;
            let within = (end.min(from + step) - (end - worked).max(from)).max(0.0);
            *value += within / step;
        }
    }

    fn sampled(&mut self, at: f64, step: usize, sample: &Sample) {
        let since = self.last_sample.map_or(1.0, |last| at - last).max(1e-3);
        self.last_sample = Some(at);
        raise(&mut self.resident[step], sample.resident as f64);
        raise(&mut self.programs[step], sample.programs.resident as f64);
        raise(&mut self.descriptors[step], sample.descriptors as f64);
        raise(&mut self.threads[step], sample.threads as f64);
        raise(&mut self.cpu[step], sample.cpu);
        raise(&mut self.starved[step], sample.starved);
        raise(&mut self.items[step], sample.items as f64);
        for resource in &sample.resources {
            let name = resource.name.as_str();
            let is_rate = self.outline.resource(name).is_some_and(|it| it.kind == "rate");
            let used = if is_rate { resource.used / since } else { resource.used };
            raise(&mut series(&mut self.used, name)[step], used);
            raise(&mut series(&mut self.limit, name)[step], resource.limit);
        }
        for queue in &sample.queues {
            raise(&mut series(&mut self.queues, queue.stage.as_str())[step], queue.depth as f64);
        }
    }

    fn mark(&mut self, at: f64, what: String) {
        if self.marks.len() < MARKS {
            self.marks.push(Mark { at: at - self.begin, what });
        }
    }
}

fn series<'a>(all: &'a mut BTreeMap<String, Vec<Option<f64>>>, name: &str) -> &'a mut Vec<Option<f64>> {
    all.entry(name.to_owned()).or_insert_with(|| vec![None; STEPS])
}

fn raise(value: &mut Option<f64>, to: f64) {
    *value = Some(value.map_or(to, |value| value.max(to)));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finished(ts: f64, worked: f64) -> Record {
        let (stage, item, attempt) = ("ndvi".into(), "a".into(), 1);
        let event =
            Event::StageFinished { stage, item, attempt, worked, bytes_in: 0, bytes_out: 0, outputs: 1 };
        Record { ts, event }
    }

    #[test]
    fn work_is_spread_over_the_steps_that_it_lay_in() {
        let mut timeline = Timeline::new(0.0, 600.0);
        timeline.add(&finished(3.0, 1.5));
        timeline.add(&finished(3.0, 0.5));
        assert_eq!(timeline.busy["ndvi"][..5], [0.0, 0.5, 1.5, 0.0, 0.0]);
    }

    #[test]
    fn gauges_keep_the_highest_of_a_step_and_know_nothing_elsewhere() {
        let mut timeline = Timeline::new(0.0, 600.0);
        for (ts, descriptors) in [(10.0, 20), (10.5, 30), (10.9, 25)] {
            timeline.add(&Record { ts, event: Event::Sample(Sample { descriptors, ..Sample::default() }) });
        }
        assert_eq!(timeline.descriptors[9..12], [None, Some(30.0), None]);
    }

    #[test]
    fn what_lies_outside_counts_for_the_nearest_step() {
        let mut timeline = Timeline::new(100.0, 700.0);
        timeline.add(&Record { ts: 900.0, event: Event::ItemFinished { item: "a".into() } });
        assert_eq!(timeline.done[599], 1.0);
    }
}
