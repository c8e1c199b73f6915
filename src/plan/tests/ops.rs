//! Ops that do nothing, one line each: enough of the shipped ones for a plan to be made.

use std::sync::Arc;

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::Value as Json;

use crate::config::{self, Fault, OpPart, Parts, Value, ValueKind};
use crate::contract::{
    Assemble, Assembly, BandNames, Compute, ComputeContext, Environment, Expand, Failure, Gather, Item, Kind,
    Members, Op, OpEntry, Port, Registry, Regroup, Regrouped, Row, Shape, Source, SourceContext, TableRows,
    Take, Transfer, TransferContext,
};

const READABLE: &[Port] = &[Port::Asset, Port::Blob, Port::File];
const WRITABLE: &[Port] = &[Port::Encoded, Port::Blob, Port::File];
const COMPUTE: &[Take] = &[Take::Cores, Take::Memory];

/// One line of the table: name, ports, what it takes, how it runs.
struct Line(&'static str, &'static [Port], Port, &'static [Take], fn(Arc<Idle>) -> Kind);

const LINES: [Line; 13] = [
    Line("list", &[], Port::Asset, &[Take::Connections], |op| Kind::Source(op)),
    Line("filter", &[Port::Asset], Port::Asset, &[], |op| Kind::Transfer(op)),
    Line("group", &[Port::Asset], Port::Asset, &[], |op| Kind::Regroup(op)),
    Line("window", &[Port::Asset], Port::Asset, &[], |op| Kind::Expand(op)),
    Line("fetch", &[Port::Asset], Port::Blob, &[Take::Connections, Take::Memory], |op| Kind::Transfer(op)),
    Line("read", READABLE, Port::Raster, COMPUTE, |op| Kind::Compute(op)),
    Line("warp", &[Port::Raster], Port::Raster, COMPUTE, |op| Kind::Compute(op)),
    Line("composite", &[Port::Raster], Port::Raster, COMPUTE, |op| Kind::Compute(op)),
    Line("stats", &[Port::Raster], Port::Rows, COMPUTE, |op| Kind::Compute(op)),
    Line("encode", &[Port::Raster], Port::Encoded, COMPUTE, assembling),
    Line("exec", &[Port::Asset, Port::Raster], Port::File, COMPUTE, |op| Kind::Transfer(op)),
    Line("write", WRITABLE, Port::File, &[Take::Writers], |op| Kind::Transfer(op)),
    Line("table", &[Port::Rows, Port::File], Port::File, &[Take::Writers], |op| Kind::Gather(op)),
];

fn assembling(op: Arc<Idle>) -> Kind {
    let assembles = op.options.get("assemble").is_some_and(|value| value.kind == ValueKind::Boolean(true));
    if assembles { Kind::Assemble(op) } else { Kind::Compute(op) }
}

/// A line of the table with options.
struct Idle {
    line: &'static Line,
    options: Value,
}

/// The op of one line; `wrong = true` in its options is a fault.
fn compile<const LINE: usize>(options: &Value, _: &Environment) -> Result<Arc<dyn Op>, Vec<Fault>> {
    match options.get("wrong") {
        Some(wrong) => Err(vec![Fault::error("wrong-options", wrong.span.clone(), "wrong options")]),
        None => Ok(Arc::new(Idle { line: &LINES[LINE], options: options.clone() })),
    }
}

fn any_options(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object" })
}

fn entry<const LINE: usize>() -> OpEntry {
    let Line(name, accepts, ..) = LINES[LINE];
    OpEntry {
        name,
        summary: "Does nothing.",
        accepts,
        example: "{}",
        schema: any_options,
        compile: compile::<LINE>,
    }
}

pub(super) fn registry() -> Registry {
    Registry::new(&[
        entry::<0>(),
        entry::<1>(),
        entry::<2>(),
        entry::<3>(),
        entry::<4>(),
        entry::<5>(),
        entry::<6>(),
        entry::<7>(),
        entry::<8>(),
        entry::<9>(),
        entry::<10>(),
        entry::<11>(),
        entry::<12>(),
    ])
}

pub(super) fn schema() -> config::Schema {
    let part = |Line(name, ..): &Line| OpPart {
        name: (*name).to_owned(),
        summary: "Does nothing.".to_owned(),
        options: serde_json::json!({ "type": "object" }),
    };
    let access = serde_json::json!({ "type": "object" });
    config::Schema::new(&Parts { access, ops: LINES.iter().map(part).collect() })
}

/// The names below `bands`; a band that the input lacks is a fault at its name.
fn bands(options: &Value, input: &BandNames) -> Result<BandNames, Vec<Fault>> {
    let Some(table) = options.get("bands").and_then(Value::as_table) else { return Ok(input.clone()) };
    let Some(known) = input else {
        return Ok(Some(table.entries.iter().map(|(name, _)| name.value.clone()).collect()));
    };
    let unknown =
        table.entries.iter().filter(|(_, value)| !known.iter().any(|name| value.as_str() == Some(name)));
    let faults: Vec<Fault> =
        unknown.map(|(_, value)| Fault::error("unknown-band", value.span.clone(), "no such band")).collect();
    if faults.is_empty() { bands(options, &None) } else { Err(faults) }
}

impl Op for Idle {
    fn gives(&self, _: Option<Port>) -> Port {
        self.line.2
    }

    fn takes(&self) -> &'static [Take] {
        self.line.3
    }

    fn bands(&self, input: &BandNames) -> Result<BandNames, Vec<Fault>> {
        bands(&self.options, input)
    }

    fn members(&self, input: Members) -> Result<Members, Members> {
        match (self.line.0, input) {
            ("warp", Members::OnOwnGrids) => Ok(Members::OnOneGrid),
            ("composite", Members::OnOwnGrids) => Err(Members::OnOneGrid),
            ("composite", _) => Ok(Members::One),
            ("encode" | "stats" | "exec", Members::OnOwnGrids | Members::OnOneGrid) => Err(Members::One),
            _ => Ok(input),
        }
    }

    fn shape(&self, input: &Shape, _: &Item) -> Result<Shape, Failure> {
        Ok(input.clone())
    }

    fn manifest(&self) -> Json {
        config::from_value(&self.options).expect("every value is JSON")
    }

    fn kind(self: Arc<Self>) -> Kind {
        (self.line.4)(self)
    }
}

const NEVER: &str = "a plan runs nothing";

impl Source for Idle {
    fn list(&self, _: SourceContext) -> BoxStream<'static, Result<Item, Failure>> {
        unreachable!("{NEVER}")
    }
}

impl Transfer for Idle {
    fn transfer(&self, _: Item, _: TransferContext) -> BoxFuture<'static, Result<Option<Item>, Failure>> {
        unreachable!("{NEVER}")
    }
}

impl Compute for Idle {
    fn compute(&self, _: Item, _: &ComputeContext) -> Result<Item, Failure> {
        unreachable!("{NEVER}")
    }
}

impl Expand for Idle {
    fn expand(&self, _: Item, _: TransferContext) -> BoxStream<'static, Result<Item, Failure>> {
        unreachable!("{NEVER}")
    }
}

impl Regroup for Idle {
    fn regroup(&self, _: Vec<Item>, _: TransferContext) -> BoxFuture<'static, Result<Regrouped, Failure>> {
        unreachable!("{NEVER}")
    }
}

impl Assemble for Idle {
    fn begin(&self, _: &Item, _: &ComputeContext) -> Result<Box<dyn Assembly>, Failure> {
        unreachable!("{NEVER}")
    }
}

impl Gather for Idle {
    fn rows(&self, _: Item, _: TransferContext) -> BoxFuture<'static, Result<Vec<Row>, Failure>> {
        unreachable!("{NEVER}")
    }

    fn write(
        &self,
        _: Arc<dyn TableRows>,
        _: TransferContext,
    ) -> BoxFuture<'static, Result<Option<Item>, Failure>> {
        unreachable!("{NEVER}")
    }
}
