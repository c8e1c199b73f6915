//! A plan built by hand, of ops that do nothing but count.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{self, BoxStream};
use futures::{FutureExt, StreamExt};
use gisrun::config::{Isolation, MaxFailures, OnError};
use gisrun::contract::{
    Assemble, Assembly, ComputeContext, Encoded, EncodedBody, Expand, Failure, Item, Kind, Lineage, Op,
    Payload, Port, Shape, Source, SourceContext, Take, Transfer, TransferContext,
};
use gisrun::engine::{self, Memory, Outcome, Services, Stop};
use gisrun::events::{Emitter, Event, Record, Subscriber};
use gisrun::machine::{Granted, Machine};
use gisrun::plan::{Limit, MemoryDemand, MemoryTotal, Plan, ResourcePlan, RunPlan, StagePlan};
use gisrun::remote::{Client, RetryPolicy};
use tokio::sync::Notify;

/// What a stage did, counted.
#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) started: AtomicU64,
    pub(crate) ended: AtomicU64,
    pub(crate) running: AtomicU64,
    pub(crate) most: AtomicU64,
    /// Ids in the order in which the stage ended its work on them.
    pub(crate) order: Mutex<Vec<String>>,
}

impl Counts {
    pub(crate) fn started(&self) -> u64 {
        self.started.load(Ordering::SeqCst)
    }

    pub(crate) fn ended(&self) -> u64 {
        self.ended.load(Ordering::SeqCst)
    }

    pub(crate) fn most(&self) -> u64 {
        self.most.load(Ordering::SeqCst)
    }

    fn enter(self: &Arc<Self>) -> Inside {
        self.started.fetch_add(1, Ordering::SeqCst);
        let now = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        Inside(self.clone())
    }
}

struct Inside(Arc<Counts>);

impl Drop for Inside {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

/// What a stage does with an item.
pub(crate) type Script =
    Arc<dyn Fn(&Item, &TransferContext) -> BoxFuture<'static, Result<(), Failure>> + Send + Sync>;

/// Does nothing.
pub(crate) fn at_once() -> Script {
    Arc::new(|_, _| async { Ok(()) }.boxed())
}

/// Takes so long.
pub(crate) fn taking(time: Duration) -> Script {
    Arc::new(move |_, _| {
        async move {
            tokio::time::sleep(time).await;
            Ok(())
        }
        .boxed()
    })
}

/// Waits until the gate is opened.
pub(crate) fn behind(gate: Arc<Notify>) -> Script {
    Arc::new(move |_, _| {
        let gate = gate.clone();
        async move {
            gate.notified().await;
            Ok(())
        }
        .boxed()
    })
}

/// A test-only op of any kind.
#[derive(Clone)]
pub(crate) struct TestOp {
    pub(crate) gives: Port,
    pub(crate) counts: Arc<Counts>,
    pub(crate) script: Script,
    /// Bytes that the output of an item holds.
    pub(crate) held: u64,
    pub(crate) role: Role,
}

#[derive(Clone)]
pub(crate) enum Role {
    Source {
        items: u64,
    },
    Step,
    Windows {
        each: u64,
    },
    Join,
    /// Joins, with so many bytes of scratch for each parent.
    Spool {
        bytes: u64,
    },
}

pub(crate) fn item(id: impl Into<String>) -> Item {
    Item {
        id: id.into().into(),
        properties: Arc::default(),
        lineage: Lineage::default(),
        payload: Payload::Assets(Vec::new()),
    }
}

impl Op for TestOp {
    fn gives(&self, _input: Option<Port>) -> Port {
        self.gives
    }

    fn takes(&self) -> &'static [Take] {
        &[]
    }

    fn shape(&self, _input: &Shape, _item: &Item) -> Result<Shape, Failure> {
        Ok(Shape { held: self.held, ..Shape::default() })
    }

    fn spool(&self, _input: &Shape, _output: &Shape) -> u64 {
        if let Role::Spool { bytes } = self.role { bytes } else { 0 }
    }

    fn manifest(&self) -> serde_json::Value {
        serde_json::Value::Null
    }

    fn kind(self: Arc<Self>) -> Kind {
        match self.role {
            Role::Source { .. } => Kind::Source(self),
            Role::Step => Kind::Transfer(self),
            Role::Windows { .. } => Kind::Expand(self),
            Role::Join | Role::Spool { .. } => Kind::Assemble(self),
        }
    }
}

impl Source for TestOp {
    fn list(&self, _context: SourceContext) -> BoxStream<'static, Result<Item, Failure>> {
        let Role::Source { items } = self.role else { panic!("not a source") };
        let counts = self.counts.clone();
        stream::iter(0..items)
            .map(move |number| {
                counts.started.fetch_add(1, Ordering::SeqCst);
                Ok(item(format!("item-{number}")))
            })
            .boxed()
    }
}

impl Transfer for TestOp {
    fn transfer(
        &self,
        item: Item,
        context: TransferContext,
    ) -> BoxFuture<'static, Result<Option<Item>, Failure>> {
        let this = self.clone();
        async move {
            let inside = this.counts.enter();
            let result = (this.script)(&item, &context).await;
            drop(inside);
            result?;
            this.counts.ended.fetch_add(1, Ordering::SeqCst);
            this.counts.order.lock().unwrap().push(item.id.to_string());
            Ok(Some(Item { payload: this.payload(), ..item }))
        }
        .boxed()
    }
}

impl TestOp {
    fn payload(&self) -> Payload {
        match self.gives {
            Port::Asset => Payload::Assets(Vec::new()),
            _ => Payload::Encoded(Encoded {
                body: EncodedBody::Memory(bytes::Bytes::new()),
                media_type: "test",
            }),
        }
    }
}

impl Expand for TestOp {
    fn expand(&self, parent: Item, _context: TransferContext) -> BoxStream<'static, Result<Item, Failure>> {
        let Role::Windows { each } = self.role else { panic!("makes no windows") };
        let counts = self.counts.clone();
        stream::iter(0..each)
            .map(move |number| {
                counts.started.fetch_add(1, Ordering::SeqCst);
                let lineage = Lineage { parent: Some(parent.id.clone()), ..Lineage::default() };
                Ok(Item { lineage, ..item(format!("{}/{number}", parent.id)) })
            })
            .boxed()
    }
}

impl Assemble for TestOp {
    fn begin(&self, _window: &Item, _context: &ComputeContext) -> Result<Box<dyn Assembly>, Failure> {
        Ok(Box::new(TestAssembly { counts: self.counts.clone(), windows: Mutex::default() }))
    }
}

/// Remembers its windows; the output's id tells how many there were.
struct TestAssembly {
    counts: Arc<Counts>,
    windows: Mutex<Vec<String>>,
}

impl Assembly for TestAssembly {
    fn add(&self, window: Item, _context: &ComputeContext) -> Result<(), Failure> {
        let _inside = self.counts.enter();
        self.windows.lock().unwrap().push(window.id.to_string());
        Ok(())
    }

    fn finish(self: Box<Self>, context: &ComputeContext) -> Result<Item, Failure> {
        self.counts.ended.fetch_add(1, Ordering::SeqCst);
        let windows = self.windows.lock().unwrap().len();
        let parent = context.item.as_str().split('/').next().unwrap().to_owned();
        self.counts.order.lock().unwrap().push(format!("{parent} of {windows}"));
        Ok(item(parent))
    }
}

/// Keeps every event.
#[derive(Default)]
pub(crate) struct Recorder(pub(crate) Mutex<Vec<Record>>);

impl Subscriber for Recorder {
    fn on_record(&self, record: &Record) {
        self.0.lock().unwrap().push(record.clone());
    }
}

/// A plan under construction.
pub(crate) struct Bench {
    pub(crate) plan: Plan,
    pub(crate) counts: BTreeMap<String, Arc<Counts>>,
    pub(crate) stop: Stop,
    pub(crate) recorder: Arc<Recorder>,
}

impl Bench {
    pub(crate) fn new(resources: &[(&str, Limit)]) -> Self {
        let granted = |value| Granted { value, source: "test".into() };
        let plan = Plan {
            name: "test".into(),
            pipeline: PathBuf::from("test.toml"),
            folder: PathBuf::new(),
            memory: MemoryTotal { parts: Vec::new(), total: 0, granted: granted(1 << 30) },
            machine: Machine {
                cores: granted(2),
                memory: granted(1 << 30),
                descriptors: granted(1024),
                shards: granted(1),
            },
            resources: resources
                .iter()
                .map(|(name, limit)| ResourcePlan {
                    name: (*name).into(),
                    limit: *limit,
                    derivation: String::new(),
                    is_declared: true,
                    working_set: None,
                })
                .collect(),
            stages: Vec::new(),
            run: RunPlan {
                max_failures: None,
                grace: None,
                gdal_cache: (0, String::new()),
                scratch: std::env::temp_dir(),
                ledger: PathBuf::new(),
                unit: Vec::new(),
            },
        };
        Self { plan, counts: BTreeMap::new(), stop: Stop::default(), recorder: Arc::default() }
    }

    pub(crate) fn unit(mut self, resource: &str) -> Self {
        self.plan.run.unit = vec![(resource.into(), 1)];
        self
    }

    pub(crate) fn max_failures(mut self, most: MaxFailures) -> Self {
        self.plan.run.max_failures = Some(most);
        self
    }

    pub(crate) fn source(self, name: &str, items: u64) -> Self {
        self.add(name, &[], Port::Asset, Role::Source { items }, at_once(), |stage| stage.parallelism = 1)
    }

    /// A stage that gives `encoded` and works on two at a time behind a queue of two.
    pub(crate) fn step(self, name: &str, from: &[&str], script: Script) -> Self {
        self.add(name, from, Port::Encoded, Role::Step, script, |_| {})
    }

    pub(crate) fn add(
        mut self,
        name: &str,
        from: &[&str],
        gives: Port,
        role: Role,
        script: Script,
        adjust: impl FnOnce(&mut StagePlan),
    ) -> Self {
        let counts = Arc::new(Counts::default());
        self.counts.insert(name.into(), counts.clone());
        let index = self.plan.stages.len();
        let position =
            |name: &&str| self.plan.stages.iter().position(|stage| stage.name.as_str() == *name).unwrap();
        let from: Vec<usize> = from.iter().map(position).collect();
        for feeder in &from {
            self.plan.stages[*feeder].to.push(index);
        }
        let mut stage = StagePlan {
            joining: None,
            name: name.into(),
            op_name: "test".into(),
            op: Arc::new(TestOp { gives, counts, script, held: 0, role }),
            accepts: from.first().map(|feeder| self.plan.stages[*feeder].gives),
            gives,
            from,
            to: Vec::new(),
            slots: Vec::new(),
            rates: Vec::new(),
            memory: MemoryDemand::Measured,
            is_per_request: false,
            queue: 2,
            queue_derivation: String::new(),
            parallelism: 2,
            bound_by: None,
            timeout: None,
            retry: RetryPolicy { tries: 1, ..RetryPolicy::default() },
            on_error: OnError::Fail,
            isolation: Isolation::Thread,
            manifest: serde_json::Value::Null,
        };
        adjust(&mut stage);
        self.plan.stages.push(stage);
        self
    }

    /// Runs to the end; a run that stands still for a day of paused time is a deadlock.
    pub(crate) async fn run(&self) -> Outcome {
        let run = engine::run(Arc::new(self.plan.clone()), self.services());
        tokio::time::timeout(Duration::from_hours(24), run).await.expect("the run stands still")
    }

    /// Lets a run go on in the background.
    pub(crate) fn spawn(&self) -> tokio::task::JoinHandle<Outcome> {
        tokio::spawn(engine::run(Arc::new(self.plan.clone()), self.services()))
    }

    fn services(&self) -> Services {
        Services {
            emitter: Emitter::new(vec![self.recorder.clone()]),
            client: Client::default(),
            memory: Arc::new(Memory::none()),
            stop: self.stop.clone(),
            workers: None,
            sample_every: Duration::from_mins(10),
            stall_after: Duration::from_mins(1),
        }
    }

    pub(crate) fn counts(&self, stage: &str) -> &Counts {
        &self.counts[stage]
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        self.recorder.0.lock().unwrap().iter().map(|record| record.event.clone()).collect()
    }
}

/// Lets everything that can go on do so: paused time moves only when nothing else does.
pub(crate) async fn settle() {
    tokio::time::sleep(Duration::from_secs(1)).await;
}
