//! The worker's side: works on what comes in until nothing can come any more.

use std::io::{self, BufReader, BufWriter, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use tokio_util::sync::CancellationToken;

use super::frame::{Answer, Greeting, Task, read_header, write_header};
use super::wire::{Lent, read_item, write_item};
use crate::contract::{Compute, ComputeContext, Failure, Item, Kind, Op, blocking};
use crate::resources::{ByteLease, Bytes};

/// Works on items until the run at the other end of the pipes is gone, and then ends the process, whatever it is doing.
/// `build` makes the op that is asked for.
///
/// # Errors
/// A run that does not speak as it should.
pub fn serve(
    input: impl Read + Send + 'static,
    output: impl Write,
    build: impl FnOnce(&Greeting) -> Result<Arc<dyn Op>, String>,
) -> io::Result<()> {
    let mut input = BufReader::new(input);
    let greeting: Greeting = read_header(&mut input)?;
    let desk = Desk::new(&greeting, build(&greeting).and_then(computing));
    let mut output = BufWriter::new(output);
    for (task, item) in incoming(input) {
        desk.answer(&mut output, task, item)?;
        output.flush()?;
    }
    Ok(())
}

fn computing(op: Arc<dyn Op>) -> Result<Arc<dyn Compute>, String> {
    match op.kind() {
        Kind::Compute(compute) => Ok(compute),
        _ => Err("only CPU work has worker processes".into()),
    }
}

/// Reads tasks on a thread of its own, which ends the process with its input: a worker whose run was killed has nobody to
/// work for.
fn incoming(mut input: impl Read + Send + 'static) -> Receiver<(Task, Item)> {
    let (tx, rx) = sync_channel(0);
    thread::spawn(move || {
        if let Err(error) = read_tasks(&mut input, &tx)
            && error.kind() != io::ErrorKind::UnexpectedEof
        {
            tracing::error!(%error, "a task cannot be read");
        }
        std::process::exit(0);
    });
    rx
}

fn read_tasks(input: &mut impl Read, tx: &SyncSender<(Task, Item)>) -> io::Result<()> {
    loop {
        let task = read_header(input)?;
        let item = read_item(input)?;
        if tx.send((task, item)).is_err() {
            return Ok(());
        }
    }
}

/// What a worker has for all items.
struct Desk<'a> {
    greeting: &'a Greeting,
    op: Result<Arc<dyn Compute>, String>,
    memory: Bytes,
    scratch: Bytes,
}

impl<'a> Desk<'a> {
    fn new(greeting: &'a Greeting, op: Result<Arc<dyn Compute>, String>) -> Self {
        // What an item may hold was decided by the run; here it is only counted.
        let memory = Bytes::new("memory".into(), u64::MAX >> 1);
        Self { greeting, op, memory, scratch: Bytes::new("scratch".into(), greeting.scratch.1) }
    }

    fn answer(&self, output: &mut impl Write, task: Task, item: Item) -> io::Result<()> {
        let had = task.memory;
        let memory = self.memory.overdraw(had);
        let lent = Lent::of(&item);
        let result = self.compute(task, item, memory.clone());
        drop(lent);
        match result {
            Ok(item) => {
                write_header(output, &Answer::Done { beyond: memory.bytes().saturating_sub(had) })?;
                write_item(output, &item)
            }
            Err(failure) => write_header(output, &Answer::failed(failure)),
        }
    }

    fn compute(&self, task: Task, item: Item, memory: ByteLease) -> Result<Item, Failure> {
        let op = self.op.as_ref().map_err(Failure::fatal)?;
        let context = self.context(task, memory);
        let computed = catch_unwind(AssertUnwindSafe(|| op.compute(item, &context)));
        computed.unwrap_or_else(|panic| Err(blocking::panicked(panic.as_ref())))
    }

    /// No idle cores: those are the run's, and no bytes depend on them. Cancelled work ends with the process.
    fn context(&self, task: Task, memory: ByteLease) -> ComputeContext {
        ComputeContext {
            stage: self.greeting.stage.clone(),
            item: task.item,
            cancel: CancellationToken::new(),
            wanted: task.wanted.into(),
            input: Arc::new(task.input),
            output: Arc::new(task.output),
            scratch: self.greeting.scratch.0.clone(),
            scratch_budget: self.scratch.clone(),
            memory,
            idle_cores: None,
        }
    }
}
