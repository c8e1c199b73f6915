//! Ops with a fault each, which no shipped op has; and their healthy twin.

use std::fs::File;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use gisrun::config::{Fault, Value, from_value};
use gisrun::contract::{
    Compute, ComputeContext, Encoded, EncodedBody, Environment, Failure, Item, Kind, Lineage, Op, OpEntry,
    Payload, Port, Registry, Shape, Source, SourceContext, Take,
};
use schemars::JsonSchema;
use serde::Deserialize;

/// How long an item computes.
const WORK: Duration = Duration::from_millis(8);

/// The shipped ops and these.
pub(crate) fn registry() -> Registry {
    let mut entries = gisrun::ops::registry().entries().to_vec();
    entries.extend([COUNTED, SPUN]);
    Registry::new(&entries)
}

const COUNTED: OpEntry = OpEntry {
    name: "counted",
    summary: "Lists items by number.",
    accepts: &[],
    example: "{ items = 10 }",
    schema: |generator| generator.subschema_for::<Counted>(),
    compile: |value, _: &Environment| compiled::<Counted>(value),
};

const SPUN: OpEntry = OpEntry {
    name: "spun",
    summary: "Keeps a core busy for a while.",
    accepts: &[Port::Asset],
    example: "{ fault = \"none\" }",
    schema: |generator| generator.subschema_for::<Spun>(),
    compile: |value, _: &Environment| compiled::<Spun>(value),
};

fn compiled<T: Op + for<'de> Deserialize<'de>>(value: &Value) -> Result<Arc<dyn Op>, Vec<Fault>> {
    from_value::<T>(value).map(|op| Arc::new(op) as Arc<dyn Op>)
}

/// Lists items by number.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Counted {
    /// How many.
    items: u64,
    /// Milliseconds before each, as those of a slow catalogue; default none.
    #[serde(default)]
    pause: u64,
}

impl Op for Counted {
    fn gives(&self, _input: Option<Port>) -> Port {
        Port::Asset
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
        Kind::Source(self)
    }
}

impl Source for Counted {
    fn list(&self, _context: SourceContext) -> BoxStream<'static, Result<Item, Failure>> {
        let pause = Duration::from_millis(self.pause);
        let item = move |number: u64| async move {
            if !pause.is_zero() {
                tokio::time::sleep(pause).await;
            }
            Ok(Item {
                id: format!("i{number:04}").into(),
                properties: Arc::default(),
                lineage: Lineage::default(),
                payload: Payload::Assets(Vec::new()),
            })
        };
        stream::iter(0..self.items).then(item).boxed()
    }
}

/// Keeps a core busy for a while.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Spun {
    /// What is wrong with it.
    fault: Planted,
}

#[derive(Clone, Copy, Deserialize, JsonSchema, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum Planted {
    /// Nothing.
    None,
    /// One at a time may compute, whatever the cores.
    Lock,
    /// A file stays open for each item.
    Leak,
}

impl Op for Spun {
    fn gives(&self, _input: Option<Port>) -> Port {
        Port::Encoded
    }

    fn takes(&self) -> &'static [Take] {
        &[Take::Cores]
    }

    fn shape(&self, _input: &Shape, _item: &Item) -> Result<Shape, Failure> {
        Ok(Shape::default())
    }

    fn manifest(&self) -> serde_json::Value {
        serde_json::Value::Null
    }

    fn kind(self: Arc<Self>) -> Kind {
        Kind::Compute(self)
    }
}

impl Compute for Spun {
    fn compute(&self, item: Item, _context: &ComputeContext) -> Result<Item, Failure> {
        static HIDDEN: Mutex<()> = Mutex::new(());
        let held =
            (self.fault == Planted::Lock).then(|| HIDDEN.lock().unwrap_or_else(PoisonError::into_inner));
        let begun = Instant::now();
        while begun.elapsed() < WORK {
            std::hint::spin_loop();
        }
        drop(held);
        if self.fault == Planted::Leak {
            std::mem::forget(File::open("/dev/null").unwrap());
        }
        let body = EncodedBody::Memory(bytes::Bytes::new());
        Ok(Item { payload: Payload::Encoded(Encoded { body, media_type: "test" }), ..item })
    }
}
