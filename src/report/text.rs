//! The report as text, for a terminal or a log.

use super::account::{ProcessReport, Report, ResourceReport, StageReport};
use super::retry;
use super::table::Table;
use super::verdict::Verdict;
use super::words::trimmed;
use crate::units::{ByteSize, spoken_count, spoken_time};

/// The most lines of a list.
const SHOWN: usize = 10;

impl Report {
    /// The report as text: paragraphs, the last line ended.
    pub fn to_text(&self) -> String {
        let parts = [
            self.head(),
            verdict(&self.verdict),
            self.verdicts_of_runs(),
            self.stages(),
            self.requests(),
            self.time_spent(),
            self.resources(),
            self.queues(),
            process(&self.process),
            self.incidents(),
            self.failures(),
            self.calibration(),
        ];
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        parts.join("\n\n") + "\n"
    }

    fn head(&self) -> String {
        let mut lines: Vec<String> = self
            .runs
            .iter()
            .map(|run| {
                let end = match (run.ended, &run.stopped) {
                    (false, _) => ", still goes on or was killed".to_owned(),
                    (true, Some(reason)) => format!(", stopped early: {reason}"),
                    (true, None) => String::new(),
                };
                format!("{}, run {} of {}{end}", run.pipeline, run.run, run.program)
            })
            .collect();
        let items = &self.items;
        let others =
            [(items.failed, "failed"), (items.skipped, "done before"), (items.cancelled, "cancelled")];
        let others = others.into_iter().filter(|(count, _)| *count > 0);
        let others: String = others
            .flat_map(|(count, what)| [", ".to_owned(), spoken_count(count), format!(" {what}")])
            .collect();
        lines.push(format!(
            "{} of {} items done{others} in {} ({:.1}/s)",
            spoken_count(items.done),
            spoken_count(items.listed),
            spoken_time(self.seconds),
            self.items_per_second
        ));
        lines.join("\n")
    }

    fn verdicts_of_runs(&self) -> String {
        let lines = self.runs.iter().filter_map(|run| {
            let verdict = run.verdict.as_ref()?;
            Some(format!("  {} {}: {}", run.pipeline, run.run, verdict.says))
        });
        let lines: Vec<String> = lines.collect();
        if lines.is_empty() { String::new() } else { format!("each run by itself:\n{}", lines.join("\n")) }
    }

    fn stages(&self) -> String {
        let mut table = Table::new(&[
            "stage", "op", "done", "failed", "again", "at once", "done/s", "starts/s", "most", "wait p50",
            "p95", "work p50", "p95",
        ]);
        for stage in &self.stages {
            table.row(stage_row(stage));
        }
        table.to_string()
    }

    fn requests(&self) -> String {
        let mut table = Table::new(&[
            "requests of",
            "made",
            "answers",
            "a second",
            "most",
            "took p50",
            "p95",
            "received",
        ]);
        for stage in &self.stages {
            let Some(requests) = &stage.requests else { continue };
            let answers: Vec<String> = requests
                .statuses
                .iter()
                .map(|(status, count)| format!("{status}: {}", spoken_count(*count)))
                .collect();
            table.row(vec![
                stage.name.clone(),
                spoken_count(requests.made),
                answers.join(" "),
                format!("{:.1}", requests.per_second.mean),
                spoken_count(requests.per_second.most),
                spoken_time(requests.took.p50),
                spoken_time(requests.took.p95),
                ByteSize(requests.bytes).to_string(),
            ]);
        }
        table.to_string()
    }

    fn time_spent(&self) -> String {
        if self.time.is_empty() {
            return String::new();
        }
        let mut lines = vec!["where the time of the items went".to_owned()];
        lines.extend(self.time.iter().take(SHOWN).map(|spent| {
            format!("  {:>3.0} %  {:>10}  {}", 100.0 * spent.share, spoken_time(spent.seconds), spent.what)
        }));
        lines.join("\n")
    }

    fn resources(&self) -> String {
        let mut table = Table::new(&["resource", "limit", "used", "peak", "at its limit", "waited for"]);
        for resource in &self.resources {
            table.row(resource_row(resource));
        }
        table.to_string()
    }

    fn queues(&self) -> String {
        let mut table = Table::new(&["queue into", "places", "depth", "not empty", "full"]);
        for queue in &self.queues {
            let share = |share: f64| format!("{:.0} %", 100.0 * share);
            table.row(vec![
                queue.stage.to_string(),
                spoken_count(queue.places),
                trimmed(queue.depth),
                share(queue.filled),
                share(queue.full),
            ]);
        }
        table.to_string()
    }

    fn incidents(&self) -> String {
        let incidents = &self.incidents;
        let mut lines = Vec::new();
        if incidents.overdrafts > 0 {
            lines.push(format!(
                "{} overdrafts of memory, {} in all",
                spoken_count(incidents.overdrafts),
                ByteSize(incidents.overdrawn_bytes)
            ));
        }
        if incidents.stalls > 0 {
            lines.push(format!("{} stalls, the last one:", spoken_count(incidents.stalls)));
            lines.extend(incidents.stalled.iter().map(|line| format!("  {line}")));
        }
        if !incidents.warnings.is_empty() {
            lines.push("warnings, each with its first item".to_owned());
            lines.extend(incidents.warnings.iter().map(|warning| format!("  {warning}")));
        }
        lines.join("\n")
    }

    fn failures(&self) -> String {
        if self.failures.is_empty() {
            return String::new();
        }
        let mut lines = vec!["failures by cause, each with its first item".to_owned()];
        for failure in self.failures.iter().take(SHOWN) {
            let count = spoken_count(failure.count);
            lines
                .push(format!("  {count} × in `{}`: `{}`: {}", failure.stage, failure.item, failure.message));
            lines.push(format!("    {}", failure.retry));
        }
        if self.failures.len() > SHOWN {
            lines.push(format!("  and {} further causes", self.failures.len() - SHOWN));
        }
        for run in self.runs.iter().take(1) {
            lines.push(format!("all of them again: {}", retry::all(&run.pipeline)));
        }
        lines.join("\n")
    }

    fn calibration(&self) -> String {
        if self.calibration.is_empty() {
            return String::new();
        }
        let mut lines = vec!["working sets, observed against declared".to_owned()];
        for it in &self.calibration {
            let (observed, declared) = (ByteSize(it.observed), ByteSize(it.declared));
            lines.push(format!("  {}: {observed} of {declared} ({})", it.subject, it.observation));
            lines.push(format!("    {}", it.edit.as_deref().unwrap_or("the figure fits")));
        }
        lines.join("\n")
    }
}

fn verdict(verdict: &Verdict) -> String {
    let mut lines = Vec::new();
    for finding in &verdict.findings {
        lines.push(format!("verdict: {}", finding.says));
        lines.extend(finding.because.iter().map(|because| format!("  - {because}")));
        lines.push(format!("  what to do: {}", finding.advice));
    }
    if lines.is_empty() {
        lines.push(format!("verdict: {}", verdict.says));
    }
    lines.join("\n")
}

fn stage_row(stage: &StageReport) -> Vec<String> {
    vec![
        stage.name.clone(),
        stage.op.clone(),
        spoken_count(stage.finished),
        spoken_count(stage.failed),
        spoken_count(stage.retried),
        format!("{} of {}", stage.most_at_once, stage.parallelism),
        format!("{:.1}", stage.per_second),
        format!("{:.1}", stage.starts_per_second.mean),
        spoken_count(stage.starts_per_second.most),
        spoken_time(stage.wait.p50),
        spoken_time(stage.wait.p95),
        spoken_time(stage.work.p50),
        spoken_time(stage.work.p95),
    ]
}

fn resource_row(resource: &ResourceReport) -> Vec<String> {
    let amount = |amount: f64| match resource.kind.as_str() {
        "bytes" => ByteSize(amount as u64).to_string(),
        "rate" => format!("{}/s", trimmed(amount)),
        _ => trimmed(amount),
    };
    vec![
        resource.name.to_string(),
        amount(resource.limit),
        amount(resource.used),
        amount(resource.peak),
        format!("{:.0} %", 100.0 * resource.at_limit),
        format!("{:.0} %", 100.0 * resource.waited_for),
    ]
}

fn process(process: &ProcessReport) -> String {
    let mut lines = vec![
        format!(
            "cores: {} computed, {} waited for a processor, of {} cores granted",
            spoken_time(process.cpu_seconds),
            spoken_time(process.starved_seconds),
            process.cores_granted
        ),
        format!(
            "memory: {} resident at most, of {} granted; {} reserved at most, of a budget of {}",
            ByteSize(process.peak_resident),
            ByteSize(process.memory_granted),
            ByteSize(process.peak_reserved),
            ByteSize(process.memory_budget)
        ),
    ];
    let granted = match process.descriptors_granted {
        0 => String::new(),
        granted => format!(", of {} granted", spoken_count(granted)),
    };
    lines.push(format!(
        "descriptors: {} at most{granted}; {} threads at most",
        spoken_count(process.peak_descriptors),
        process.peak_threads
    ));
    if process.most_programs > 0 {
        lines.push(format!(
            "programs and workers: {} at once at most, {} resident together",
            process.most_programs,
            ByteSize(process.peak_programs_resident)
        ));
    }
    lines.join("\n")
}
