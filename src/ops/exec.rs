//! `exec`: a program of the user's own makes files of an item.

mod guard;
mod inputs;
mod options;
mod outputs;
mod program;
mod recipe;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value as Json;

use crate::contract::{
    AssetShape, Failure, Item, Kind, Lineage, Location, Members, Op, OpEntry, Payload, Placed, Port, Shape,
    Take, Transfer, TransferContext, blocking,
};

use inputs::Inputs;
pub(crate) use options::ExecOptions;
use outputs::Outputs;
use program::Surroundings;
use recipe::Recipe;

/// The line of the table.
pub(crate) const ENTRY: OpEntry = OpEntry {
    name: "exec",
    summary: "Runs a program of your own on each item.",
    accepts: &[Port::Asset, Port::Blob, Port::Raster, Port::File],
    example: r#"{ command = ["python3", "segment.py", "{input}", "{output}"], outputs = { segments = "out/{id}.tif" } }"#,
    schema: |generator| generator.subschema_for::<ExecOptions>(),
    compile: |value, environment| Ok(Arc::new(Exec(options::compile(value, environment)?.into()))),
};

/// The compiled op.
#[derive(Clone)]
struct Exec(Arc<Recipe>);

impl Exec {
    async fn make(self, item: Item, context: TransferContext) -> Result<Option<Item>, Failure> {
        let recipe = self.0;
        let outputs = Outputs::claim(&recipe, &item, &context)?;
        if outputs.are_all_kept() {
            let payload = Payload::Files(outputs.kept());
            return Ok(Some(made_of(item, payload)));
        }
        outputs.announce(&*context.commits).await?;
        let prepared = {
            let (recipe, item, context) = (recipe.clone(), item.clone(), context.clone());
            let cancel = context.cancel.clone();
            let prepare = move || {
                let outputs = outputs.make_way()?;
                Ok((Inputs::of(&recipe, &item, &context)?, outputs))
            };
            blocking::run(&cancel, (), prepare).await?
        };
        let (inputs, outputs) = prepared;
        let call = recipe.call(&item, &inputs, &outputs)?;
        let around =
            Surroundings { folder: &recipe.folder, cores: context.cores, gdal_cache: context.gdal_cache };
        program::run(&call, &around, &context.cancel).await?;
        drop(inputs);
        let budget = context.scratch_budget.clone();
        let outputs = blocking::run(&context.cancel, (), move || outputs.sealed(&budget)).await?;
        let payload = Payload::Files(outputs.take_over(&*context.commits).await?);
        Ok(Some(made_of(item, payload)))
    }
}

/// The item with what the program made: of a window of a raster that window again, of anything else an image of its own.
fn made_of(item: Item, payload: Payload) -> Item {
    let placed = placed(&item);
    let window = item.lineage.window.filter(|_| placed.is_some());
    Item { payload, lineage: Lineage { window, placed, ..item.lineage }, ..item }
}

/// Where the pixels lie that the program is given, if they are a window of a raster.
fn placed(item: &Item) -> Option<Placed> {
    let (window, Payload::Raster(raster)) = (item.lineage.window?, &item.payload) else { return None };
    let member = raster.members.first()?;
    let size = (member.grid.width, member.grid.height);
    let is_of_this_grid = item.lineage.counted_in.is_none_or(|counted_in| counted_in == size);
    let own = if is_of_this_grid { window } else { member.window };
    Some(Placed { grid: Arc::clone(&member.grid), given: member.window, own })
}

impl Op for Exec {
    fn gives(&self, _: Option<Port>) -> Port {
        Port::File
    }

    fn takes(&self) -> &'static [Take] {
        &[Take::Cores, Take::Memory]
    }

    fn sees_overlap(&self) -> bool {
        true
    }

    fn members(&self, input: Members) -> Result<Members, Members> {
        if input == Members::One { Ok(input) } else { Err(Members::One) }
    }

    fn reads_assets(&self) -> Option<Vec<String>> {
        self.0.named_inputs()
    }

    /// Files of which only the names are known; nothing is held.
    fn shape(&self, _: &Shape, _: &Item) -> Result<Shape, Failure> {
        let shape = |name: &str| AssetShape {
            member: 0,
            name: name.to_owned(),
            size: None,
            is_local: true,
            header: None,
            prefix: None,
            foreseen: None,
            placed: None,
        };
        Ok(Shape { assets: self.0.output_names().map(shape).collect(), ..Shape::default() })
    }

    fn scratch(&self, input: &Shape, _: &Shape) -> u64 {
        inputs::working_bytes(input)
    }

    /// A program may look at its neighbours' pixels, or at the whole.
    fn allows_windows(&self) -> bool {
        false
    }

    fn manifest(&self) -> Json {
        self.0.manifest()
    }

    fn outputs(&self, item: &Item) -> Result<Vec<Location>, Failure> {
        Ok(self.0.targets(item)?.into_iter().map(Location::Local).collect())
    }

    fn places(&self) -> Vec<String> {
        self.0.places()
    }

    fn files_made(&self) -> u32 {
        self.0.final_count()
    }

    fn kind(self: Arc<Self>) -> Kind {
        Kind::Transfer(self)
    }
}

impl Transfer for Exec {
    /// The program is asked to end, and then made to.
    fn ends_itself(&self) -> bool {
        true
    }

    fn transfer(
        &self,
        item: Item,
        context: TransferContext,
    ) -> BoxFuture<'static, Result<Option<Item>, Failure>> {
        self.clone().make(item, context).boxed()
    }
}
