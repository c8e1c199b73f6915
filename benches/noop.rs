//! What the engine itself costs: items that do nothing through five stages, with events on and off and with a ledger,
//! and how fast a run finds that all of them are done.
//!
//! `cargo bench --bench noop`. Memory must not grow with the number of items, and a resume must take under two seconds;
//! the benchmark fails where that is not so.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark prints, and stops at what cannot be"
)]

#[allow(dead_code, reason = "tests need more of it")]
#[path = "../tests/engine/support.rs"]
mod support;

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use futures::stream::{self, BoxStream};
use futures::{FutureExt, StreamExt};
use gisrun::contract::{
    Failure, Intended, Item, Kind, Op, Payload, Port, Shape, Source, SourceContext, Take, Transfer,
    TransferContext,
};
use gisrun::engine::{self, Ask, Memory, Outcome, Services, Stop};
use gisrun::events::{Emitter, RunLog, Subscriber};
use gisrun::ledger::Ledger;
use gisrun::remote::Client;
use support::{Bench, Role, at_once, item};

const STAGES: usize = 5;
const PARALLELISM: usize = 64;
const RESUME_WITHIN: Duration = Duration::from_secs(2);
/// More resident memory for ten times the items than this is a leak: 100 bytes each.
const MAX_GROWTH: u64 = 9_000_000;

/// Lists items, or passes them on; the last stage may leave a file.
#[derive(Clone)]
struct NoOp {
    items: u64,
    files: Option<Arc<Path>>,
}

impl Op for NoOp {
    fn gives(&self, _input: Option<Port>) -> Port {
        if self.items > 0 { Port::Asset } else { Port::Encoded }
    }

    fn takes(&self) -> &'static [Take] {
        &[]
    }

    fn shape(&self, _input: &Shape, _item: &Item) -> Result<Shape, Failure> {
        Ok(Shape::default())
    }

    fn manifest(&self) -> serde_json::Value {
        serde_json::Value::Null
    }

    fn kind(self: Arc<Self>) -> Kind {
        if self.items > 0 { Kind::Source(self) } else { Kind::Transfer(self) }
    }
}

impl Source for NoOp {
    fn list(&self, _context: SourceContext) -> BoxStream<'static, Result<Item, Failure>> {
        stream::iter(0..self.items).map(|number| Ok(listed(number))).boxed()
    }
}

impl Transfer for NoOp {
    fn transfer(
        &self,
        item: Item,
        context: TransferContext,
    ) -> BoxFuture<'static, Result<Option<Item>, Failure>> {
        let files = self.files.clone();
        async move {
            if let Some(folder) = files {
                leave_file(&folder, &item, &context).await?;
            }
            Ok(Some(Item { payload: Payload::Files(Vec::new()), ..item }))
        }
        .boxed()
    }
}

fn listed(number: u64) -> Item {
    let mut item = item(format!("item-{number:06}"));
    item.lineage.identity = format!("data=https://h.example/{number:06}.tif size=1 version=\"{number}\"");
    item
}

/// Makes an empty file as `write` would, and tells the ledger.
async fn leave_file(folder: &Path, item: &Item, context: &TransferContext) -> Result<(), Failure> {
    let path = folder.join(item.id.as_str());
    let made = fs::File::create(&path).and_then(|file| file.metadata());
    let inode = made.map_err(|error| Failure::fatal(error.to_string()))?.ino();
    let location = path.display().to_string();
    let intended = Intended { location: &location, temporary: None, size: 0, inode: Some(inode) };
    context.commits.intend(intended).await?;
    context.commits.committed(&location).await
}

fn chain(items: u64, files: Option<&Path>) -> Bench {
    let files: Option<Arc<Path>> = files.map(Into::into);
    let mut bench = Bench::new(&[]).add("s0", &[], Port::Asset, Role::Step, at_once(), |stage| {
        stage.op = Arc::new(NoOp { items, files: None });
    });
    let names: Vec<String> = (0..=STAGES).map(|number| format!("s{number}")).collect();
    for pair in names.windows(2) {
        let is_last = pair[1] == names[STAGES];
        let op = NoOp { items: 0, files: files.clone().filter(|_| is_last) };
        bench = bench.add(&pair[1], &[&pair[0]], Port::Encoded, Role::Step, at_once(), |stage| {
            (stage.op, stage.parallelism, stage.queue) = (Arc::new(op), PARALLELISM, PARALLELISM);
        });
    }
    bench
}

fn run(bench: &Bench, subscribers: Vec<Arc<dyn Subscriber>>, memory: Memory) -> (Outcome, Duration) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let services = Services {
        emitter: Emitter::new(subscribers),
        client: Client::default(),
        memory: Arc::new(memory),
        stop: Stop::default(),
        workers: None,
        sample_every: Duration::from_secs(1),
        stall_after: Duration::from_mins(1),
    };
    let begun = Instant::now();
    let outcome = runtime.block_on(async {
        let remembers = services.memory.clone();
        let outcome = engine::run(Arc::new(bench.plan.clone()), services).await;
        remembers.close(&[]).await.unwrap();
        outcome
    });
    (outcome, begun.elapsed())
}

fn recollect(ledger: &Path, files: u32) -> Memory {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let ledger = Ledger::open(ledger).unwrap();
    let earlier = runtime.block_on(ledger.snapshot()).unwrap();
    Memory::recollect(ledger, earlier, HashMap::new(), Ask::Missing, Some(files))
}

/// The most memory that this process ever had, in bytes.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

fn tell(what: &str, items: u64, took: Duration) {
    let each = items as f64 / took.as_secs_f64();
    println!("{what:<44} {:>7.2} s {each:>9.0} items/s, {:>4} MiB at most", took.as_secs_f64(), peak() >> 20);
}

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let many = 100_000;
    let log = || RunLog::create(folder.path().join("run.jsonl")).unwrap();

    let mut peaks = Vec::new();
    for items in [10_000, many] {
        let (outcome, took) = run(&chain(items, None), Vec::new(), Memory::none());
        assert_eq!((outcome.done, outcome.failed), (items, 0));
        tell(&format!("{items} items, no events"), items, took);
        let (outcome, took) = run(&chain(items, None), vec![Arc::new(log())], Memory::none());
        assert_eq!(outcome.done, items);
        tell(&format!("{items} items, events"), items, took);
        peaks.push(peak());
    }
    let growth = peaks[1] - peaks[0];
    println!("ten times the items: {growth} bytes more");

    let (ledger, files) = (folder.path().join("job.sqlite"), folder.path().join("out"));
    fs::create_dir(&files).unwrap();
    let (outcome, took) = run(&chain(many, Some(&files)), vec![Arc::new(log())], recollect(&ledger, 1));
    assert_eq!(outcome.done, many);
    tell("100000 items, events, ledger, empty files", many, took);

    let begun = Instant::now();
    let (outcome, _) = run(&chain(many, Some(&files)), vec![Arc::new(log())], recollect(&ledger, 1));
    let resumed = begun.elapsed();
    assert_eq!((outcome.skipped, outcome.done), (many, 0));
    tell("100000 items that are done, from the ledger on", many, resumed);
    assert!(growth < MAX_GROWTH, "memory grows with the items");
    let is_judged = !cfg!(debug_assertions);
    assert!(!is_judged || resumed < RESUME_WITHIN, "a resume takes {resumed:?}");
}
