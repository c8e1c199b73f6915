//! `group`: makes one item of many, by what is known of them before any pixel is fetched.

mod membership;
mod options;
mod place;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use futures::stream::{self, StreamExt};
use serde_json::Value as Json;

use self::membership::{Member, groups};
use self::options::{By, GroupOptions, Key, Order, compile};
use crate::config::Value;
use crate::contract::{
    Environment, Failure, Item, Kind, Op, OpEntry, Port, Regroup, Regrouped, Shape, Take, TransferContext,
};
use crate::events::FailureClass;

/// The line of the table.
pub(super) const ENTRY: OpEntry = OpEntry {
    name: "group",
    summary: "Makes one item of many: by a template, by the solar day, or by the tiles of a grid.",
    accepts: &[Port::Asset],
    example: r#"{ by = ["{datetime:%Y-%m}", "solar-day"] }"#,
    schema: |generator| generator.subschema_for::<GroupOptions>(),
    compile: |value: &Value, environment: &Environment| {
        compile(value, environment).map(|group| Arc::new(group) as Arc<dyn Op>)
    },
};

/// How many items are placed at once; requests among that wait for the stage's slots.
const AT_ONCE: usize = 64;

/// The compiled op.
#[derive(Clone, Debug)]
struct Group {
    /// What makes the items.
    by: By,
    /// The levels inside, outermost first.
    inner: Vec<Key>,
    order: Order,
    manifest: Json,
}

impl Op for Group {
    fn gives(&self, _: Option<Port>) -> Port {
        Port::Asset
    }

    /// Only the places of items that do not state theirs are asked for.
    fn takes(&self) -> &'static [Take] {
        if self.needs_places() { &[Take::Connections] } else { &[] }
    }

    fn shape(&self, input: &Shape, _: &Item) -> Result<Shape, Failure> {
        Ok(input.clone())
    }

    fn manifest(&self) -> Json {
        self.manifest.clone()
    }

    fn kind(self: Arc<Self>) -> Kind {
        Kind::Regroup(self)
    }
}

impl Regroup for Group {
    fn regroup(
        &self,
        items: Vec<Item>,
        context: TransferContext,
    ) -> BoxFuture<'static, Result<Regrouped, Failure>> {
        self.clone().run(items, context).boxed()
    }
}

impl Group {
    async fn run(self, items: Vec<Item>, context: TransferContext) -> Result<Regrouped, Failure> {
        let placed = stream::iter(items.into_iter().map(|item| self.member(item, &context)));
        let results: Vec<_> = placed.buffered(AT_ONCE).collect().await;
        let (mut members, mut failed) = (Vec::new(), Vec::new());
        for (index, result) in results.into_iter().enumerate() {
            match result {
                Ok(member) => members.push(member),
                Err(failure) if failure.class == FailureClass::Cancelled => return Err(failure),
                Err(failure) => failed.push((index, failure)),
            }
        }
        Ok(Regrouped { groups: groups(members), failed })
    }

    /// An item with the groups that it is in, its key at every level inside, and its rank among the members.
    async fn member(&self, item: Item, context: &TransferContext) -> Result<Member, Failure> {
        let rank = self.order.rank(&item)?;
        let homes = self.by.homes(&item, context).await?;
        let mut keys = Vec::with_capacity(self.inner.len());
        for level in &self.inner {
            keys.push(level.of(&item, context).await?);
        }
        Ok(Member { item, rank, homes, keys })
    }

    fn needs_places(&self) -> bool {
        let is_solar = |key: &Key| matches!(key, Key::SolarDay);
        let is_placed = match &self.by {
            By::Tiles(_) => true,
            By::Key(key) => is_solar(key),
        };
        is_placed || self.inner.iter().any(is_solar)
    }
}
