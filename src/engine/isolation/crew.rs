//! The workers of one stage: as many as work at once, started when they are needed, used for many items.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::frame::{Greeting, Task};
use super::worker::{Process, Worker, WorkerCommand};
use crate::contract::{ComputeContext, Failure, Item, Lineage, blocking};
use crate::ids::StageName;
use crate::plan::Plan;
use crate::resources::LeaseSet;

/// The workers of one stage.
pub(crate) struct Crew {
    command: Option<WorkerCommand>,
    greeting: Greeting,
    idle: Mutex<Vec<Worker>>,
}

impl Crew {
    /// The workers of a stage; none is started yet.
    pub(crate) fn new(plan: &Plan, stage: &StageName, command: Option<&WorkerCommand>) -> Arc<Self> {
        let scratch = plan.resource(crate::plan::SCRATCH).and_then(|scratch| scratch.limit.capacity());
        let greeting = Greeting {
            pipeline: plan.pipeline.clone(),
            text: command.map(|command| command.text.to_string()).unwrap_or_default(),
            sets: command.map(|command| command.sets.clone()).unwrap_or_default(),
            folder: plan.folder.clone(),
            stage: stage.clone(),
            gdal_cache: plan.gdal_share(),
            scratch: (plan.run.scratch.clone(), scratch.unwrap_or(u64::MAX >> 1)),
        };
        Arc::new(Self { command: command.cloned(), greeting, idle: Mutex::default() })
    }

    /// Works on an item in a worker process, on a blocking thread that holds `leases`. The process is killed when the work
    /// is cancelled or the future is dropped.
    ///
    /// # Errors
    /// What the work fails with; the worker's death, as this item's failure.
    pub(crate) async fn work(
        self: &Arc<Self>,
        item: Item,
        context: ComputeContext,
        leases: LeaseSet,
    ) -> Result<Item, Failure> {
        let leash = Leash::default();
        let _cut = CutOnDrop(leash.clone());
        let cancel = context.cancel.clone();
        let (crew, held) = (self.clone(), leash.clone());
        let work = blocking::run(&cancel, leases, move || crew.work_now(item, &context, &held));
        tokio::pin!(work);
        let done = tokio::select! {
            done = &mut work => done,
            () = cancel.cancelled() => {
                leash.cut();
                work.await
            }
        };
        if cancel.is_cancelled() { Err(Failure::cancelled()) } else { done }
    }

    fn work_now(&self, item: Item, context: &ComputeContext, leash: &Leash) -> Result<Item, Failure> {
        let worker = self.hire()?;
        leash.hold(worker.process());
        let task = Task {
            item: context.item.clone(),
            wanted: context.wanted.to_vec(),
            input: (*context.input).clone(),
            output: (*context.output).clone(),
            memory: context.memory.bytes(),
        };
        let (worker, answer) = worker.work(&task, &item)?;
        if leash.release() {
            self.lock().push(worker);
        }
        let (output, beyond) = answer?;
        if beyond > 0 {
            // What was not foreseen is held on both sides.
            context.memory.grow_to(context.memory.bytes() + 2 * beyond);
        }
        Ok(reunited(output, item.lineage))
    }

    /// A worker that waits, or a new one. Those that died while they waited or have done enough are passed over.
    fn hire(&self) -> Result<Worker, Failure> {
        while let Some(worker) = self.pop() {
            if worker.is_fit() {
                return Ok(worker);
            }
        }
        let command = self.command.as_ref();
        let command = command.ok_or_else(|| Failure::fatal("this run cannot start worker processes"))?;
        Worker::start(command, &self.greeting)
            .map_err(|error| Failure::item(format!("cannot start a worker process: {error}")))
    }

    fn pop(&self) -> Option<Worker> {
        self.lock().pop()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Worker>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The output with what does not leave this process.
fn reunited(output: Item, input: Lineage) -> Item {
    Item { lineage: Lineage { shared: input.shared, ..output.lineage }, ..output }
}

/// Between who waits for a worker and the thread that it works on.
#[derive(Clone, Default)]
struct Leash(Arc<Mutex<Hold>>);

/// Who waits: gone when this is dropped.
struct CutOnDrop(Leash);

impl Drop for CutOnDrop {
    fn drop(&mut self) {
        self.0.cut();
    }
}

#[derive(Default)]
enum Hold {
    /// No worker is at work.
    #[default]
    Free,
    /// This one is.
    Held(Arc<Process>),
    /// Nobody waits any more.
    Cut,
}

impl Leash {
    /// The worker is at work; killed at once where nobody waits any more.
    fn hold(&self, process: &Arc<Process>) {
        let mut hold = self.lock();
        match *hold {
            Hold::Cut => process.kill(),
            _ => *hold = Hold::Held(process.clone()),
        }
    }

    /// The worker is done. `false` where it was killed meanwhile.
    fn release(&self) -> bool {
        let mut hold = self.lock();
        let is_alive = !matches!(*hold, Hold::Cut);
        if is_alive {
            *hold = Hold::Free;
        }
        is_alive
    }

    /// Kills the worker that is at work.
    fn cut(&self) {
        if let Hold::Held(process) = std::mem::replace(&mut *self.lock(), Hold::Cut) {
            process.kill();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Hold> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
