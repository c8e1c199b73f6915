//! A run as a trace that Perfetto and Chrome's `about:tracing` open: the *Trace Event Format* (JSON array form), as
//! Google's document of that name describes it.
//!
//! Each stage is a process and each of its places a track; each request is a span on a track of its stage's requests;
//! samples are counters.

use std::collections::HashMap;
use std::io::{self, Write};

use serde_json::{Value as Json, json};

use crate::events::{Event, Record, Sample};
use crate::ids::{ItemId, StageName};

/// Writes a trace while events come.
pub struct Trace<W: Write> {
    out: W,
    begin: Option<f64>,
    is_first: bool,
    lanes: HashMap<String, Lanes>,
    open: HashMap<(StageName, ItemId), Span>,
}

/// The tracks of one stage, or of its requests.
struct Lanes {
    process: usize,
    /// When each track is free again, in microseconds.
    free_at: Vec<f64>,
}

/// A try under way.
struct Span {
    lane: usize,
    began: f64,
    waited: Json,
}

impl<W: Write> Trace<W> {
    /// Begins a trace.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn new(mut out: W) -> io::Result<Self> {
        out.write_all(b"[")?;
        Ok(Self { out, begin: None, is_first: true, lanes: HashMap::new(), open: HashMap::new() })
    }

    /// Takes one event in.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn add(&mut self, record: &Record) -> io::Result<()> {
        let at = self.microseconds(record.ts);
        match &record.event {
            Event::StageStarted { stage, item, attempt, waited } => {
                let lane = self.take_lane(stage.as_str(), at, f64::INFINITY)?;
                let waited = json!({ "attempt": attempt, "waited": waited });
                self.open.insert((stage.clone(), item.clone()), Span { lane, began: at, waited });
                Ok(())
            }
            Event::StageFinished { stage, item, .. } => self.end(stage, item, at, "finished"),
            Event::StageRetried { stage, item, message, .. }
            | Event::StageFailed { stage, item, message, .. } => self.end(stage, item, at, message),
            Event::StageCancelled { stage, item, .. } => self.end(stage, item, at, "cancelled"),
            Event::Request { stage, item, status, waited, took, bytes, .. } => {
                let (began, length) = (at - took * 1e6, took * 1e6);
                let name = format!("{stage}: requests");
                let lane = self.take_lane(&name, began, at)?;
                let arguments = json!({ "status": status, "bytes": bytes, "waited": waited });
                self.span(&name, lane, (item.as_str(), began, length), &arguments)
            }
            Event::Sample(sample) => self.sample(at, sample),
            Event::LimitChanged { resource, from, to, reason } => {
                self.instant(at, &format!("{resource} from {from} to {to}: {reason}"))
            }
            Event::Stalled { seconds, .. } => self.instant(at, &format!("nothing moved for {seconds} s")),
            Event::Stopping { reason, .. } => self.instant(at, &format!("stopping: {reason}")),
            _ => Ok(()),
        }
    }

    /// Ends it; what is under way still is left out. Returns where it was written to.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.write_all(b"\n]\n")?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn microseconds(&mut self, ts: f64) -> f64 {
        let begin = *self.begin.get_or_insert(ts);
        ((ts - begin) * 1e6).round()
    }

    fn end(&mut self, stage: &StageName, item: &ItemId, at: f64, how: &str) -> io::Result<()> {
        let Some(span) = self.open.remove(&(stage.clone(), item.clone())) else { return Ok(()) };
        if let Some(lanes) = self.lanes.get_mut(stage.as_str()) {
            lanes.free_at[span.lane] = at;
        }
        let mut arguments = span.waited;
        arguments["ended"] = how.into();
        self.span(stage.as_str(), span.lane, (item.as_str(), span.began, at - span.began), &arguments)
    }

    /// The first track that is free at a moment, taken until another.
    fn take_lane(&mut self, name: &str, from: f64, until: f64) -> io::Result<usize> {
        if !self.lanes.contains_key(name) {
            let process = self.lanes.len() + 2;
            self.lanes.insert(name.to_owned(), Lanes { process, free_at: Vec::new() });
            self.name_process(process, name)?;
        }
        let Some(lanes) = self.lanes.get_mut(name) else { return Ok(0) };
        // Moments are whole microseconds; one that ends with the next one's start leaves room for it.
        let free = lanes.free_at.iter().position(|free_at| *free_at <= from + 1.0);
        let lane = free.unwrap_or(lanes.free_at.len());
        if lane == lanes.free_at.len() {
            lanes.free_at.push(until);
        }
        lanes.free_at[lane] = until;
        Ok(lane)
    }

    fn name_process(&mut self, process: usize, name: &str) -> io::Result<()> {
        self.write(&json!({ "ph": "M", "name": "process_name", "pid": process, "args": { "name": name } }))
    }

    fn span(
        &mut self,
        name: &str,
        lane: usize,
        (item, began, length): (&str, f64, f64),
        arguments: &Json,
    ) -> io::Result<()> {
        let process = self.lanes.get(name).map_or(1, |lanes| lanes.process);
        self.write(&json!({
            "ph": "X", "name": item, "cat": name, "pid": process, "tid": lane + 1, "ts": began, "dur": length,
            "args": arguments,
        }))
    }

    fn instant(&mut self, at: f64, what: &str) -> io::Result<()> {
        self.write(&json!({ "ph": "i", "s": "g", "name": what, "pid": 1, "tid": 1, "ts": at }))
    }

    fn sample(&mut self, at: f64, sample: &Sample) -> io::Result<()> {
        for resource in &sample.resources {
            self.counter(at, &format!("resource {}", resource.name), resource.used)?;
        }
        for queue in &sample.queues {
            self.counter(at, &format!("queue into {}", queue.stage), queue.depth as f64)?;
        }
        self.counter(at, "resident bytes", sample.resident as f64)?;
        self.counter(at, "descriptors", sample.descriptors as f64)?;
        self.counter(at, "cores computing", sample.cpu)
    }

    fn counter(&mut self, at: f64, name: &str, value: f64) -> io::Result<()> {
        self.write(&json!({ "ph": "C", "name": name, "pid": 1, "ts": at, "args": { "value": value } }))
    }

    fn write(&mut self, event: &Json) -> io::Result<()> {
        let separator: &[u8] = if self.is_first { b"\n" } else { b",\n" };
        self.is_first = false;
        self.out.write_all(separator)?;
        serde_json::to_writer(&mut self.out, event)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::Waits;

    fn at(ts: f64, event: Event) -> Record {
        Record { ts, event }
    }

    fn started(item: &str) -> Event {
        Event::StageStarted { stage: "ndvi".into(), item: item.into(), attempt: 1, waited: Waits::default() }
    }

    fn finished(item: &str) -> Event {
        let (stage, item, attempt) = ("ndvi".into(), item.into(), 1);
        Event::StageFinished { stage, item, attempt, worked: 0.0, bytes_in: 0, bytes_out: 0, outputs: 1 }
    }

    #[test]
    fn what_runs_at_once_has_tracks_of_its_own_and_they_are_used_again() {
        let mut trace = Trace::new(Vec::new()).unwrap();
        let events = [
            (0.0, started("a")),
            (0.5, started("b")),
            (1.0, finished("a")),
            (1.5, started("c")),
            (2.0, finished("b")),
        ];
        for (ts, event) in events.into_iter().chain([(2.5, finished("c"))]) {
            trace.add(&at(10.0 + ts, event)).unwrap();
        }
        let events: Vec<Json> = serde_json::from_slice(&trace.finish().unwrap()).unwrap();
        assert_eq!(events[0]["args"]["name"], "ndvi");
        let spans: Vec<_> = events[1..]
            .iter()
            .map(|it| {
                (it["name"].as_str().unwrap(), it["tid"].as_u64(), it["ts"].as_f64(), it["dur"].as_f64())
            })
            .collect();
        let expected = [
            ("a", Some(1), Some(0.0), Some(1e6)),
            ("b", Some(2), Some(0.5e6), Some(1.5e6)),
            ("c", Some(1), Some(1.5e6), Some(1e6)),
        ];
        assert_eq!(spans, expected);
    }

    #[test]
    fn a_record_that_is_cut_makes_a_whole_trace() {
        let mut trace = Trace::new(Vec::new()).unwrap();
        trace.add(&at(0.0, started("a"))).unwrap();
        let events: Vec<Json> = serde_json::from_slice(&trace.finish().unwrap()).unwrap();
        assert_eq!(events.len(), 1, "the name of the stage");
    }
}
