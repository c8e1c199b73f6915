//! Runs made up second by second, each with one thing wrong or nothing.

use super::*;
use crate::events::{
    Event, Outline, OutlineResource, OutlineStage, ProgramsSample, QueueSample, Record, ResourceSample,
    Sample, Waits,
};

/// A run of 20 s: in each second ten items are fetched and computed.
struct Run {
    connections: (f64, f64, u64),
    cores: (f64, f64, u64),
    memory_waits: u64,
    queues: (u64, u64),
    cpu: f64,
    took: f64,
    worked: f64,
    status: fn(u64) -> u16,
    descriptors: fn(u64) -> u64,
    is_listing: bool,
    /// Programs, and those of them that compute.
    programs: (u64, u64),
}

impl Default for Run {
    /// Bound by the machine's two cores, which compute all the time.
    fn default() -> Self {
        Self {
            connections: (1.0, 16.0, 0),
            cores: (2.0, 2.0, 0),
            memory_waits: 0,
            queues: (1, 2),
            cpu: 1.9,
            took: 0.05,
            worked: 0.19,
            status: |_| 200,
            descriptors: |second| 30 + second % 3,
            is_listing: false,
            programs: (0, 0),
        }
    }
}

fn stage(name: &str, op: &str, from: &[&str], takes: &str) -> OutlineStage {
    OutlineStage {
        name: name.into(),
        op: op.into(),
        from: from.iter().map(|name| (*name).into()).collect(),
        parallelism: 2,
        queue: 2,
        takes: vec![(takes.into(), 1)],
        per_request: takes == "connections",
        ..OutlineStage::default()
    }
}

fn resource(name: &str, kind: &str, limit: f64) -> OutlineResource {
    OutlineResource { name: name.into(), kind: kind.into(), limit, ..OutlineResource::default() }
}

impl Run {
    fn outline(&self) -> Outline {
        Outline {
            stages: vec![
                stage("scenes", "list", &[], "connections"),
                stage("fetched", "fetch", &["scenes"], "connections"),
                stage("ndvi", "calc", &["fetched"], "cores"),
            ],
            resources: vec![
                resource("connections", "slots", self.connections.1),
                resource("cores", "slots", self.cores.1),
                resource("memory", "bytes", 1e9),
            ],
            cores_granted: (2, "affinity".into()),
            descriptors_granted: (1024, "RLIMIT_NOFILE".into()),
            memory_granted: (8 << 30, "physical".into()),
            ..Outline::default()
        }
    }

    fn sample(&self, second: u64) -> Sample {
        let use_of = |name: &str, (used, limit, waiting): (f64, f64, u64)| ResourceSample {
            name: name.into(),
            used,
            limit,
            waiting,
            holders: Vec::new(),
        };
        let queue = |stage: &str, depth| QueueSample { stage: stage.into(), depth, places: 2 };
        Sample {
            resources: vec![
                use_of("connections", self.connections),
                use_of("cores", self.cores),
                use_of("memory", (5e8, 1e9, self.memory_waits)),
            ],
            queues: vec![queue("fetched", self.queues.0), queue("ndvi", self.queues.1)],
            descriptors: (self.descriptors)(second),
            cpu: self.cpu,
            items: 4,
            programs: ProgramsSample {
                running: self.programs.0,
                runnable: self.programs.1,
                ..ProgramsSample::default()
            },
            ..Sample::default()
        }
    }

    fn judged(&self) -> Verdict {
        let mut digest = Digest::default();
        let mut tell = |ts: f64, event: Event| digest.add(&Record { ts, event });
        let (program, pipeline, run) = (String::new(), "job.toml".to_owned(), String::new());
        tell(0.0, Event::RunStarted { version: 2, program, pipeline, run, outline: self.outline() });
        if !self.is_listing {
            tell(0.0, Event::SourceEnded { stage: "scenes".into(), items: 200 });
        }
        tell(0.0, Event::Sample(self.sample(0)));
        for second in 1..=20_u64 {
            for number in 0..10 {
                self.item(second, second * 10 + number, &mut tell);
            }
            tell(second as f64, Event::Sample(self.sample(second)));
        }
        judge(&digest)
    }

    fn item(&self, second: u64, number: u64, tell: &mut impl FnMut(f64, Event)) {
        let (ts, item) = (second as f64 - 0.5, format!("i{number}"));
        let listed = Event::ItemListed { stage: "scenes".into(), item: item.as_str().into() };
        tell(ts, listed);
        let (memory, reserved) = (if self.memory_waits > 0 { 1.0 } else { 0.0 }, 250 << 20);
        tell(
            ts,
            Event::ItemAdmitted { item: item.as_str().into(), unit: 0.0, header: 0.0, memory, reserved },
        );
        tell(
            ts,
            Event::Request {
                stage: "fetched".into(),
                item: item.as_str().into(),
                status: (self.status)(number),
                waited: std::collections::BTreeMap::new(),
                slept: 0.0,
                took: self.took,
                bytes: 1000,
                whole: None,
            },
        );
        for (stage, worked) in [("fetched", self.took), ("ndvi", self.worked)] {
            let (stage, item, attempt): (crate::ids::StageName, crate::ids::ItemId, u32) =
                (stage.into(), item.as_str().into(), 1);
            let waited = Waits::default();
            tell(ts, Event::StageStarted { stage: stage.clone(), item: item.clone(), attempt, waited });
            tell(
                ts,
                Event::StageFinished { stage, item, attempt, worked, bytes_in: 0, bytes_out: 0, outputs: 1 },
            );
        }
        tell(ts, Event::ItemFinished { item: item.as_str().into() });
    }

    #[track_caller]
    fn expect(&self, kind: Kind, subject: &str) -> Finding {
        let verdict = self.judged();
        let found: Vec<_> = verdict.findings.iter().map(|it| (it.kind, it.subject.as_str())).collect();
        assert_eq!(found, [(kind, subject)], "{verdict:#?}");
        verdict.findings[0].clone()
    }
}

#[test]
fn busy_cores_are_no_fault() {
    let verdict = Run::default().judged();
    assert_eq!(verdict.findings, []);
    assert!(verdict.says.starts_with("the machine's 2 cores bind"), "{}", verdict.says);
}

#[test]
fn connections_at_their_limit_are_the_bottleneck_until_cores_bind() {
    // 10 items/s hold 2 connections for 0.2 s each; the cores compute 0.05 s of each: 2 ÷ 0.05 = 40 items/s.
    let run = Run {
        connections: (2.0, 2.0, 0),
        cores: (1.0, 2.0, 0),
        took: 0.2,
        worked: 0.05,
        cpu: 0.5,
        ..Run::default()
    };
    let finding = run.expect(Kind::Pinned, "connections");
    assert!((finding.gain.unwrap() - 4.0).abs() < 0.01, "{finding:#?}");
}

#[test]
fn a_rise_that_brings_nothing_is_not_proposed() {
    // The cores are as near to their limit: 2 ÷ 0.19 = 10.5 items/s.
    let run = Run { connections: (2.0, 2.0, 0), took: 0.2, ..Run::default() };
    assert_eq!(run.judged().findings, []);
}

#[test]
fn cores_that_are_held_and_do_not_compute_wait_for_something_else() {
    Run { cpu: 0.4, worked: 0.2, ..Run::default() }.expect(Kind::Serialised, "ndvi");
}

#[test]
fn programs_that_hold_cores_are_judged_by_what_they_do_and_not_by_time_that_nobody_told() {
    // Programs that end within a second leave no word of how long they waited for a processor.
    let short = Run { cpu: 0.4, worked: 0.2, programs: (2, 2), ..Run::default() };
    assert_eq!(short.judged().findings, []);
    Run { programs: (2, 0), ..short }.expect(Kind::Serialised, "ndvi");
    // Two of four workers idle, since there are two cores.
    let workers = Run { cpu: 0.4, worked: 0.2, programs: (4, 2), ..Run::default() };
    assert_eq!(workers.judged().findings, []);
}

#[test]
fn work_that_waits_while_nothing_is_at_its_limit_is_serialised() {
    let run = Run { cores: (1.0, 8.0, 0), queues: (0, 2), cpu: 0.2, worked: 0.1, ..Run::default() };
    run.expect(Kind::Serialised, "ndvi");
}

#[test]
fn files_that_stay_open_are_a_leak_beside_everything_else() {
    let finding = Run { descriptors: |second| 30 + second * 10, ..Run::default() }
        .expect(Kind::DescriptorLeak, "descriptors");
    // 230 of 1024 are open after 200 items, one an item.
    assert!(
        finding.because[1].contains("after about 8") || finding.because[1].contains("after about 7"),
        "{finding:#?}"
    );
}

#[test]
fn a_source_that_keeps_every_queue_empty_starves_the_stages() {
    let run = Run {
        is_listing: true,
        queues: (0, 0),
        cores: (1.0, 2.0, 0),
        cpu: 0.2,
        worked: 0.02,
        ..Run::default()
    };
    run.expect(Kind::Starved, "scenes");
    let fed = Run { queues: (1, 0), ..run };
    assert!(fed.judged().findings.iter().all(|it| it.kind != Kind::Starved));
}

#[test]
fn answers_that_ask_for_less_come_before_every_limit() {
    let run = Run {
        status: |number| if number % 5 == 0 { 429 } else { 200 },
        connections: (2.0, 2.0, 0),
        ..Run::default()
    };
    let finding = run.expect(Kind::Throttled, "fetched");
    assert!(finding.because[0].contains("40 of 200 requests (20 %)"), "{finding:#?}");
    let rare = Run { status: |number| if number == 50 { 503 } else { 200 }, ..Run::default() };
    assert_eq!(rare.judged().findings, []);
}

#[test]
fn waiting_for_memory_alone_is_the_budget() {
    let run = Run {
        memory_waits: 3,
        cores: (1.0, 2.0, 0),
        cpu: 0.5,
        worked: 0.05,
        queues: (0, 0),
        ..Run::default()
    };
    let finding = run.expect(Kind::MemoryBound, "memory");
    // 250 MiB an item, and a budget of 10⁹ bytes.
    assert!(finding.because[2].contains("holds 3 of them"), "{finding:#?}");
    let busy = Run { memory_waits: 3, ..Run::default() };
    assert_eq!(busy.judged().findings, [], "the cores are busy all the same");
}

#[test]
fn a_short_run_is_not_judged() {
    let verdict = judge(&Digest::default());
    assert!(!verdict.judged && verdict.findings.is_empty());
}
