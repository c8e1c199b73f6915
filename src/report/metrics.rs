//! How far a run is, for Prometheus: the text format of version 0.0.4 (*Exposition formats* in its documentation), the
//! names after its conventions: base units, `_total` for what only grows.

use std::collections::BTreeMap;
use std::fmt;

use crate::events::{Event, Record, Sample};

/// The upper bounds of the buckets of times, in seconds.
const BUCKETS: &[f64] = &[0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 60.0, 300.0];

/// A run as Prometheus sees it: a fold over its events.
#[derive(Debug, Default)]
pub struct Metrics {
    /// Items by how they ended.
    items: BTreeMap<&'static str, u64>,
    stages: BTreeMap<String, Stage>,
    requests: BTreeMap<(String, u16), u64>,
    received: BTreeMap<String, u64>,
    waited: BTreeMap<String, f64>,
    overdrafts: u64,
    stalls: u64,
    sample: Sample,
    cpu: f64,
    last: Option<f64>,
    /// When the run began, in seconds since 1970.
    began: f64,
}

/// One stage.
#[derive(Clone, Debug, Default)]
struct Stage {
    ended: BTreeMap<&'static str, u64>,
    running: u64,
    buckets: Vec<u64>,
    count: u64,
    sum: f64,
}

impl Metrics {
    /// Takes one event in.
    pub fn add(&mut self, record: &Record) {
        match &record.event {
            Event::RunStarted { outline, .. } => {
                self.began = record.ts;
                for stage in &outline.stages {
                    self.stages.entry(stage.name.to_string()).or_default();
                }
            }
            Event::ItemListed { .. } => self.item("listed"),
            Event::ItemSkipped { .. } => self.item("skipped"),
            Event::ItemFinished { .. } => self.item("done"),
            Event::ItemFailed { .. } => self.item("failed"),
            Event::StageStarted { stage, waited, .. } => {
                self.stage(stage.as_str()).running += 1;
                for (resource, seconds) in &waited.resources {
                    *self.waited.entry(resource.to_string()).or_default() += seconds;
                }
            }
            Event::StageFinished { stage, worked, .. } => self.ended(stage.as_str(), "finished", *worked),
            Event::StageRetried { stage, worked, .. } => self.ended(stage.as_str(), "retried", *worked),
            Event::StageFailed { stage, worked, .. } => self.ended(stage.as_str(), "failed", *worked),
            Event::StageCancelled { stage, worked, .. } => self.ended(stage.as_str(), "cancelled", *worked),
            Event::Request { stage, status, bytes, waited, .. } => {
                *self.requests.entry((stage.to_string(), *status)).or_default() += 1;
                *self.received.entry(stage.to_string()).or_default() += bytes;
                for (resource, seconds) in waited {
                    *self.waited.entry(resource.to_string()).or_default() += seconds;
                }
            }
            Event::Overdraft { .. } => self.overdrafts += 1,
            Event::Stalled { .. } => self.stalls += 1,
            Event::Sample(sample) => {
                let since = self.last.map_or(0.0, |last| record.ts - last);
                self.last = Some(record.ts);
                self.cpu += sample.cpu * since;
                self.sample = sample.clone();
            }
            _ => {}
        }
    }

    fn item(&mut self, how: &'static str) {
        *self.items.entry(how).or_default() += 1;
    }

    fn stage(&mut self, name: &str) -> &mut Stage {
        if !self.stages.contains_key(name) {
            self.stages.insert(name.to_owned(), Stage::default());
        }
        self.stages.get_mut(name).expect("it was put in above")
    }

    fn ended(&mut self, stage: &str, how: &'static str, worked: f64) {
        let stage = self.stage(stage);
        stage.running = stage.running.saturating_sub(1);
        *stage.ended.entry(how).or_default() += 1;
        stage.buckets.resize(BUCKETS.len(), 0);
        for (bucket, bound) in stage.buckets.iter_mut().zip(BUCKETS) {
            *bucket += u64::from(worked <= *bound);
        }
        stage.count += 1;
        stage.sum += worked;
    }

    /// The metrics as text.
    pub fn render(&self) -> String {
        let mut text = Exposition::default();
        self.render_items(&mut text);
        self.render_stages(&mut text);
        self.render_requests(&mut text);
        self.render_resources(&mut text);
        self.render_process(&mut text);
        text.0
    }

    fn render_items(&self, text: &mut Exposition) {
        text.head("gisrun_items_total", "counter", "Items by how far they came.");
        for state in ["listed", "done", "failed", "skipped"] {
            text.line("gisrun_items_total", &[("state", state)], self.items.get(state).copied().unwrap_or(0));
        }
        text.head("gisrun_items_in_flight", "gauge", "Items that were admitted and have not ended.");
        text.line("gisrun_items_in_flight", &[], self.sample.items);
        text.head("gisrun_memory_overdrafts_total", "counter", "Reservations that grew beyond the budget.");
        text.line("gisrun_memory_overdrafts_total", &[], self.overdrafts);
        text.head("gisrun_stalls_total", "counter", "Times in which nothing moved.");
        text.line("gisrun_stalls_total", &[], self.stalls);
        text.head("gisrun_start_time_seconds", "gauge", "When the run began, since 1970.");
        text.line("gisrun_start_time_seconds", &[], self.began);
    }

    fn render_stages(&self, text: &mut Exposition) {
        text.head("gisrun_stage_tries_total", "counter", "Tries of stages by how they ended.");
        for (name, stage) in &self.stages {
            for outcome in ["finished", "retried", "failed", "cancelled"] {
                let count = stage.ended.get(outcome).copied().unwrap_or(0);
                text.line("gisrun_stage_tries_total", &[("stage", name), ("outcome", outcome)], count);
            }
        }
        text.head("gisrun_stage_items_running", "gauge", "Items that a stage works on.");
        for (name, stage) in &self.stages {
            text.line("gisrun_stage_items_running", &[("stage", name)], stage.running);
        }
        text.head("gisrun_stage_work_seconds", "histogram", "How long a try of a stage works.");
        for (name, stage) in self.stages.iter().filter(|(_, stage)| stage.count > 0) {
            let bounds = BUCKETS.iter().map(f64::to_string).zip(stage.buckets.iter().copied());
            for (bound, count) in bounds.chain([("+Inf".to_owned(), stage.count)]) {
                text.line("gisrun_stage_work_seconds_bucket", &[("stage", name), ("le", &bound)], count);
            }
            text.line("gisrun_stage_work_seconds_sum", &[("stage", name)], stage.sum);
            text.line("gisrun_stage_work_seconds_count", &[("stage", name)], stage.count);
        }
    }

    fn render_requests(&self, text: &mut Exposition) {
        text.head(
            "gisrun_requests_total",
            "counter",
            "Requests by the status of their answer, 0 without one.",
        );
        for ((stage, status), count) in &self.requests {
            text.line("gisrun_requests_total", &[("stage", stage), ("status", &status.to_string())], *count);
        }
        text.head("gisrun_received_bytes_total", "counter", "Bytes of the bodies of answers.");
        for (stage, bytes) in &self.received {
            text.line("gisrun_received_bytes_total", &[("stage", stage)], *bytes);
        }
    }

    fn render_resources(&self, text: &mut Exposition) {
        let resources = &self.sample.resources;
        text.head(
            "gisrun_resource_used",
            "gauge",
            "Held of a resource: slots, bytes, or tokens of the last sample.",
        );
        for it in resources {
            text.line("gisrun_resource_used", &[("resource", it.name.as_str())], it.used);
        }
        text.head(
            "gisrun_resource_limit",
            "gauge",
            "The limit of a resource: slots, bytes, or tokens a second.",
        );
        for it in resources {
            text.line("gisrun_resource_limit", &[("resource", it.name.as_str())], it.limit);
        }
        text.head("gisrun_resource_waiting", "gauge", "How many wait for a resource.");
        for it in resources {
            text.line("gisrun_resource_waiting", &[("resource", it.name.as_str())], it.waiting);
        }
        text.head("gisrun_resource_wait_seconds_total", "counter", "Seconds waited for a resource by all.");
        for (resource, seconds) in &self.waited {
            text.line("gisrun_resource_wait_seconds_total", &[("resource", resource)], *seconds);
        }
        text.head("gisrun_queue_items", "gauge", "Items in the queue into a stage.");
        for it in &self.sample.queues {
            text.line("gisrun_queue_items", &[("stage", it.stage.as_str())], it.depth);
        }
        text.head("gisrun_queue_places", "gauge", "Places of the queue into a stage.");
        for it in &self.sample.queues {
            text.line("gisrun_queue_places", &[("stage", it.stage.as_str())], it.places);
        }
    }

    /// The names are those that Prometheus' own client libraries use for a process.
    fn render_process(&self, text: &mut Exposition) {
        text.head("process_cpu_seconds_total", "counter", "Seconds of processor time, programs included.");
        text.line("process_cpu_seconds_total", &[], self.cpu);
        text.head("process_resident_memory_bytes", "gauge", "Resident memory.");
        text.line("process_resident_memory_bytes", &[], self.sample.resident);
        text.head("process_open_fds", "gauge", "Open files.");
        text.line("process_open_fds", &[], self.sample.descriptors);
        text.head("process_threads", "gauge", "Threads.");
        text.line("process_threads", &[], self.sample.threads);
    }
}

/// The text under construction.
#[derive(Default)]
struct Exposition(String);

impl Exposition {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        self.0 += &format!("# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn line(&mut self, name: &str, labels: &[(&str, &str)], value: impl fmt::Display) {
        let labels: Vec<String> =
            labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        self.0 += &format!("{name}{labels} {value}\n");
    }
}

/// A label's value: backslash, quote and end of line are escaped.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::read_records;

    const RUN: &str = include_str!("../events/fixtures/run-v2.jsonl");

    fn metrics() -> String {
        let mut metrics = Metrics::default();
        for record in read_records(RUN.as_bytes()) {
            metrics.add(&record.unwrap());
        }
        metrics.render()
    }

    #[test]
    fn a_run_is_told_in_counters_and_gauges() {
        let text = metrics();
        for line in [
            "gisrun_items_total{state=\"listed\"} 3",
            "gisrun_items_total{state=\"failed\"} 1",
            "gisrun_stage_tries_total{stage=\"written\",outcome=\"retried\"} 1",
            // 0.25 s, 0.5 s (cancelled), 1.25 s, 1.5 s.
            "gisrun_stage_work_seconds_bucket{stage=\"written\",le=\"0.5\"} 2",
            "gisrun_stage_work_seconds_bucket{stage=\"written\",le=\"+Inf\"} 4",
            "gisrun_stage_work_seconds_sum{stage=\"written\"} 3.5",
            "gisrun_requests_total{stage=\"scenes\",status=\"200\"} 1",
            "gisrun_resource_limit{resource=\"writers\"} 4",
            "gisrun_resource_wait_seconds_total{resource=\"connections\"} 0.5",
            "process_open_fds 21",
        ] {
            assert!(text.lines().any(|it| it == line), "{line}\n{text}");
        }
    }

    #[test]
    fn every_metric_has_its_help_once_and_before_its_lines() {
        let text = metrics();
        let mut known = Vec::new();
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# HELP ") {
                let name = rest.split(' ').next().unwrap();
                assert!(!known.contains(&name), "{name}");
                known.push(name);
            } else if !line.starts_with('#') {
                assert!(known.iter().any(|name| line.starts_with(name)), "{line}");
            }
        }
    }

    #[test]
    fn a_label_cannot_end_its_line() {
        assert_eq!(escaped("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
    }
}
