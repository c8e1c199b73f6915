//! The closing words of a run.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

use super::causes::{Cause, Causes};
use crate::events::{Event, Outline, Record, WholeReason};
use crate::ids::{ResourceName, StageName};
use crate::units::{ByteSize, spoken_count, spoken_time};

/// The most causes that are shown.
const SHOWN: usize = 10;

/// What a run came to: a fold over its events. A record that is cut tells what it has.
#[derive(Debug, Default)]
pub struct Summary {
    outline: Outline,
    /// Stages that nobody takes from.
    sinks: HashSet<StageName>,
    span: Option<(f64, f64)>,
    counts: Counts,
    end: Option<End>,
    received: u64,
    written: u64,
    /// Files that moved whole though a part was needed.
    wholes: BTreeMap<WholeReason, u64>,
    retries: u64,
    overdrafts: u64,
    stalls: u64,
    warnings: u64,
    resident: u64,
    stopping: Option<String>,
    limits: BTreeMap<ResourceName, Found>,
    causes: Causes,
}

/// Items by how they ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    done: u64,
    failed: u64,
    skipped: u64,
    cancelled: u64,
}

/// What only the last event tells.
#[derive(Clone, Copy, Debug)]
struct End {
    seconds: f64,
    reserved: u64,
    budget: u64,
    exit: u8,
}

/// Where an adaptive limit moved.
#[derive(Clone, Copy, Debug)]
struct Found {
    lowest: u64,
    highest: u64,
    last: u64,
}

/// Where all failures can be looked up.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// The record of the run.
    pub run_log: Option<PathBuf>,
    /// The ledger.
    pub ledger: Option<PathBuf>,
}

impl Summary {
    /// Takes one event in.
    pub fn add(&mut self, record: &Record) {
        let (began, _) = self.span.unwrap_or((record.ts, record.ts));
        self.span = Some((began, record.ts));
        match &record.event {
            Event::RunStarted { outline, .. } => self.begin(outline),
            Event::ItemFinished { .. } => self.counts.done += 1,
            Event::ItemSkipped { .. } => self.counts.skipped += 1,
            Event::ItemFailed { item, stage, message, .. } => {
                self.counts.failed += 1;
                self.causes.add(stage, item, message);
            }
            Event::Request { bytes, whole, status, .. } => {
                self.received += bytes;
                if let Some(reason) = whole.filter(|reason| reason.is_imposed() && *status == 200) {
                    *self.wholes.entry(reason).or_default() += 1;
                }
            }
            Event::StageFinished { stage, bytes_out, .. } if self.sinks.contains(stage) => {
                self.written += bytes_out;
            }
            Event::StageRetried { .. } => self.retries += 1,
            Event::Overdraft { .. } => self.overdrafts += 1,
            Event::Stalled { .. } => self.stalls += 1,
            Event::StageWarned { .. } => self.warnings += 1,
            Event::Sample(sample) => self.resident = self.resident.max(sample.resident),
            Event::Stopping { reason, .. } => self.stopping = Some(reason.clone()),
            Event::LimitChanged { resource, from, to, .. } => self.moved(resource, *from, *to),
            Event::RunFinished { .. } => self.end(&record.event),
            _ => {}
        }
    }

    fn begin(&mut self, outline: &Outline) {
        let sources: HashSet<_> = outline.stages.iter().flat_map(|stage| &stage.from).collect();
        let names = outline.stages.iter().map(|stage| &stage.name);
        self.sinks = names.filter(|name| !sources.contains(name)).cloned().collect();
        self.outline = outline.clone();
    }

    fn moved(&mut self, resource: &ResourceName, from: u64, to: u64) {
        let found =
            self.limits.entry(resource.clone()).or_insert(Found { lowest: from, highest: from, last: to });
        found.lowest = found.lowest.min(to);
        found.highest = found.highest.max(to);
        found.last = to;
    }

    fn end(&mut self, event: &Event) {
        let Event::RunFinished {
            seconds,
            done,
            failed,
            skipped,
            cancelled,
            peak_resident,
            peak_reserved,
            memory_budget,
            exit,
            ..
        } = event
        else {
            return;
        };
        self.counts = Counts { done: *done, failed: *failed, skipped: *skipped, cancelled: *cancelled };
        self.resident = self.resident.max(*peak_resident);
        let (seconds, reserved, budget) = (*seconds, *peak_reserved, *memory_budget);
        self.end = Some(End { seconds, reserved, budget, exit: *exit });
    }

    /// The closing words: lines, the last one ended. Nothing of it depends on the order in which threads told events.
    pub fn render(&self, places: &Places) -> String {
        let mut lines = vec![self.items()];
        lines.extend(self.ending());
        lines.extend(self.bytes());
        lines.extend(self.whole_files());
        lines.extend(self.memory());
        lines.extend(self.incidents());
        lines.extend(self.limits.iter().map(|(name, found)| limit(name, *found)));
        lines.extend(self.failures(places));
        lines.join("\n") + "\n"
    }

    fn seconds(&self) -> f64 {
        let span = self.span.map_or(0.0, |(began, ended)| ended - began);
        self.end.map_or(span, |end| end.seconds)
    }

    fn items(&self) -> String {
        let Counts { done, failed, skipped, cancelled } = self.counts;
        let rest: String = [(failed, "failed"), (skipped, "done before"), (cancelled, "cancelled")]
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .flat_map(|(count, what)| [", ".to_owned(), spoken_count(count), format!(" {what}")])
            .collect();
        let seconds = self.seconds();
        let rate = per_second((done + failed) as f64, seconds);
        format!("{} done{rest} in {} ({rate:.1}/s)", counted(done, "item", "items"), spoken_time(seconds))
    }

    /// Why it ended early, if it did.
    fn ending(&self) -> Option<String> {
        match (&self.stopping, self.end) {
            // What a pipeline asks for is at fault, and would be again.
            (Some(reason), Some(End { exit: 2, .. })) => Some(format!("stopped: {reason}")),
            (Some(reason), Some(_)) => Some(format!("stopped early: {reason}; run it again to go on")),
            (_, None) => Some("the record ends before the run did: it was killed, or still goes on".into()),
            (None, Some(_)) => None,
        }
    }

    fn bytes(&self) -> Option<String> {
        let seconds = self.seconds();
        let parts: Vec<String> = [(self.received, "received"), (self.written, "written")]
            .into_iter()
            .filter(|(bytes, _)| *bytes > 0)
            .map(|(bytes, what)| {
                let rate = ByteSize(per_second(bytes as f64, seconds) as u64);
                format!("{} {what} ({rate}/s)", ByteSize(bytes))
            })
            .collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }

    /// Files of which a part was needed and all was moved, by reason.
    fn whole_files(&self) -> Option<String> {
        let part =
            |(reason, count): (&WholeReason, &u64)| format!("{} × {}", spoken_count(*count), reason.words());
        let parts: Vec<String> = self.wholes.iter().map(part).collect();
        (!parts.is_empty()).then(|| format!("files fetched whole: {}", parts.join("; ")))
    }

    fn memory(&self) -> Option<String> {
        let (granted, source) = &self.outline.memory_granted;
        let resident = (self.resident > 0).then(|| {
            format!(
                "{} resident at most, of {} granted [{source}]",
                ByteSize(self.resident),
                ByteSize(*granted)
            )
        });
        let reserved = self.end.filter(|end| end.budget > 0).map(|end| {
            format!("{} reserved at most, of a budget of {}", ByteSize(end.reserved), ByteSize(end.budget))
        });
        let parts: Vec<String> = reserved.into_iter().chain(resident).collect();
        (!parts.is_empty()).then(|| format!("memory: {}", parts.join("; ")))
    }

    fn incidents(&self) -> Option<String> {
        let counts = [
            (self.retries, "retry", "retries"),
            (self.overdrafts, "overdraft of memory", "overdrafts of memory"),
            (self.stalls, "stall", "stalls"),
            (self.warnings, "warning about inputs", "warnings about inputs"),
        ];
        let happened = counts.into_iter().filter(|(count, ..)| *count > 0);
        let parts: Vec<String> = happened.map(|(count, one, many)| counted(count, one, many)).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }

    fn failures(&self, places: &Places) -> Vec<String> {
        let causes = self.causes.sorted();
        if causes.is_empty() {
            return Vec::new();
        }
        let mut lines = vec!["failures by cause, each with its first item:".to_owned()];
        lines.extend(causes.iter().take(SHOWN).map(|cause| cause_line(cause)));
        let shown: u64 = causes.iter().take(SHOWN).map(|cause| cause.count).sum();
        let all: u64 = causes.iter().map(|cause| cause.count).sum::<u64>() + self.causes.others();
        if all > shown {
            lines.push(format!("  {} × other causes", spoken_count(all - shown)));
        }
        lines.extend(all_of_them(places));
        lines
    }
}

fn per_second(amount: f64, seconds: f64) -> f64 {
    if seconds > 0.0 { amount / seconds } else { 0.0 }
}

fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", spoken_count(count), if count == 1 { one } else { many })
}

/// `` limit found: `connections` 48 (moved between 16 and 64) ``
fn limit(name: &ResourceName, found: Found) -> String {
    let Found { lowest, highest, last } = found;
    format!("limit found: `{name}` {last} (moved between {lowest} and {highest}); the next run begins there")
}

fn cause_line(cause: &Cause) -> String {
    let Cause { stage, count, item, message } = cause;
    format!("  {} × in `{stage}`: `{item}`: {}", spoken_count(*count), clean(message))
}

/// Messages carry words from outside, which must not steer the terminal or break the list.
fn clean(message: &str) -> String {
    message.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

fn all_of_them(places: &Places) -> Option<String> {
    let log = places.run_log.as_ref().map(|path| format!("`item_failed` in `{}`", path.display()));
    let ledger = places.ledger.as_ref().map(|path| format!("the ledger `{}`", path.display()));
    let parts: Vec<String> = log.into_iter().chain(ledger).collect();
    (!parts.is_empty()).then(|| format!("all of them: {}", parts.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::read_records;

    const RUN: &str = include_str!("../events/fixtures/run-v1.jsonl");

    fn summary(lines: impl Iterator<Item = &'static str>) -> Summary {
        let mut summary = Summary::default();
        for line in lines {
            let record = read_records(format!("{line}\n").as_bytes()).next().expect("one event a line");
            summary.add(&record.unwrap());
        }
        summary
    }

    #[test]
    fn a_run_that_its_pipeline_stopped_is_not_told_to_go_on() {
        let refused = RUN.lines().map(|line| line.replace(r#""exit":1"#, r#""exit":2"#));
        let text = |lines: Vec<String>| {
            let mut summary = Summary::default();
            for line in lines {
                summary.add(&read_records(format!("{line}\n").as_bytes()).next().unwrap().unwrap());
            }
            summary.render(&Places { run_log: None, ledger: None })
        };
        assert!(text(refused.collect()).contains("\nstopped: SIGINT\n"));
        let interrupted = RUN.lines().map(str::to_owned).collect();
        assert!(text(interrupted).contains("\nstopped early: SIGINT; run it again to go on\n"));
    }

    #[test]
    fn files_that_moved_whole_against_the_need_are_counted_by_reason() {
        let request = |whole: &str, status: u16| {
            format!(
                r#"{{"ts":1.0,"event":"request","stage":"fetched","item":"a","status":{status},"waited":{{}},"took":0.1,"bytes":5{whole}}}"#
            )
        };
        let lines = [
            request(r#","whole":"strips""#, 200),
            request(r#","whole":"strips""#, 503),
            request(r#","whole":"no-ranges""#, 200),
            request(r#","whole":"strips""#, 200),
            request(r#","whole":"taken-itself""#, 200),
            request("", 200),
        ];
        let mut summary = Summary::default();
        for line in lines {
            summary.add(&read_records(format!("{line}\n").as_bytes()).next().unwrap().unwrap());
        }
        let text = summary.render(&Places::default());
        let expected = "\nfiles fetched whole: 2 × its rows are in strips, not in tiles; 1 × the server gives no parts\n";
        assert!(text.contains(expected), "{text}");
    }

    #[test]
    fn a_whole_run_is_told_with_everything_that_matters() {
        let places =
            Places { run_log: Some("runs/1/run.jsonl".into()), ledger: Some(".gisrun/ndvi.ledger".into()) };
        // 2 items in 4 s; 1 MiB received and 512 KiB written in 4 s.
        let expected = "\
1 item done, 1 failed, 1 done before, 1 cancelled in 4.0 s (0.5/s)
stopped early: SIGINT; run it again to go on
1 MiB received (256 KiB/s), 512 KiB written (128 KiB/s)
memory: 2 GiB reserved at most, of a budget of 8 GiB; 256 MiB resident at most, of 15 GiB granted [cgroup memory.max]
1 retry, 1 overdraft of memory, 1 stall
limit found: `connections` 12 (moved between 12 and 16); the next run begins there
failures by cause, each with its first item:
  1 × in `written`: `b`: `b.tif`: no space
all of them: `item_failed` in `runs/1/run.jsonl`, the ledger `.gisrun/ndvi.ledger`
";
        assert_eq!(summary(RUN.lines()).render(&places), expected);
    }

    #[test]
    fn a_record_that_is_cut_tells_what_it_has() {
        let cut = summary(RUN.lines().take_while(|line| !line.contains("stopping")));
        let told = cut.render(&Places::default());
        assert!(told.starts_with("1 item done, 1 failed, 1 done before in 3.0 s (0.7/s)\n"), "{told}");
        assert!(told.contains("the record ends before the run did"), "{told}");
        assert!(!told.contains("reserved at most"), "{told}");
    }

    #[test]
    fn a_run_without_incidents_is_told_in_a_line() {
        let first_and_last = [
            r#"{"ts":0,"event":"item_finished","item":"a"}"#,
            r#"{"ts":60,"event":"run_finished","seconds":120,"done":1204,"failed":0,"skipped":0,"cancelled":0,"exit":0,"peak_resident":0,"peak_reserved":0,"memory_budget":0}"#,
        ];
        let told = summary(first_and_last.into_iter()).render(&Places::default());
        assert_eq!(told, "1,204 items done in 2 m 00 s (10.0/s)\n");
    }

    #[test]
    fn the_most_frequent_causes_are_shown_and_the_others_counted() {
        let mut summary = Summary::default();
        for cause in 0..12_u64 {
            for _ in 0..=cause {
                let message = format!("cause {}", "x".repeat(cause as usize + 1));
                summary.causes.add(&"read".into(), &"a".into(), &message);
            }
        }
        let lines = summary.failures(&Places::default());
        assert_eq!(lines.len(), 1 + SHOWN + 1);
        assert_eq!(lines[1], "  12 × in `read`: `a`: cause xxxxxxxxxxxx");
        assert_eq!(lines[11], "  3 × other causes", "the two rarest: 1 + 2");
    }
}
