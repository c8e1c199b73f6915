//! From the tree to the typed pipeline. Keys that the schema refuses are passed over here, so that one wrong key does not
//! hide the faults of the graph.

use std::path::Path;

use serde::de::DeserializeOwned;

use super::codes::{OUT_OF_RANGE, RESOURCE_KIND};
use super::pipeline::{ResourceTable, Scope, op_entry};
use super::{
    Access, AsWritten, Fault, Grids, Parameter, ResourceForm, Schema, Spanned, Stage, Table, Value,
    from_value,
};
use crate::ids::ResourceName;

/// The typed pipeline, if every table of it can be typed; faults go to `faults`.
pub(super) fn type_pipeline(
    path: &Path,
    text: &str,
    tree: &Value,
    params: Vec<Parameter>,
    schema: &Schema,
    faults: &mut Vec<Fault>,
) -> Option<AsWritten> {
    let root = tree.as_table()?;
    let mut typing = Typing { root, faults, is_complete: true };
    let name = typing.required("name");
    let description = typing.optional("description");
    let run = typing.optional("run").unwrap_or_default();
    let grids: Grids = typing.optional("grids").unwrap_or_default();
    typing.check_grids(&grids);
    let resources = typing.resources();
    let access = typing
        .entries("access")
        .iter()
        .map(|(prefix, options)| (prefix.clone(), Access { options: options.clone() }))
        .collect();
    let stages = typing.stages(schema.ops());
    let is_complete = typing.is_complete;
    let cluster_scoped = resources
        .iter()
        .filter(|(_, _, scope)| *scope == Scope::Cluster)
        .map(|(name, ..)| name.value.clone())
        .collect();
    let resources = resources.into_iter().map(|(name, form, _)| (name, form)).collect();
    let written = AsWritten {
        path: path.to_owned(),
        text: text.into(),
        name: name?,
        description,
        params,
        run,
        grids,
        resources,
        cluster_scoped,
        access,
        stages,
    };
    is_complete.then_some(written)
}

struct Typing<'a> {
    root: &'a Table,
    faults: &'a mut Vec<Fault>,
    is_complete: bool,
}

impl<'a> Typing<'a> {
    /// A table of the root that may be left out.
    fn optional<T: DeserializeOwned>(&mut self, key: &str) -> Option<T> {
        let value = self.root.get(key)?;
        self.kept(from_value(value))
    }

    /// A key of the root that must be there; the schema tells its absence.
    fn required<T: DeserializeOwned>(&mut self, key: &str) -> Option<T> {
        self.is_complete &= self.root.get(key).is_some();
        self.optional(key)
    }

    fn entries(&self, key: &str) -> &'a [(Spanned<String>, Value)] {
        self.root.get(key).and_then(Value::as_table).map(|table| table.entries.as_slice()).unwrap_or_default()
    }

    fn kept<T>(&mut self, result: Result<T, Vec<Fault>>) -> Option<T> {
        result
            .map_err(|faults| {
                self.is_complete = false;
                self.faults.extend(faults);
            })
            .ok()
    }

    fn resources(&mut self) -> Vec<(Spanned<ResourceName>, ResourceForm, Scope)> {
        let entries = self.entries("resources");
        entries.iter().filter_map(|(name, value)| self.resource(name, value)).collect()
    }

    fn resource(
        &mut self,
        name: &Spanned<String>,
        value: &Value,
    ) -> Option<(Spanned<ResourceName>, ResourceForm, Scope)> {
        let table: ResourceTable = self.kept(from_value(value))?;
        let scope = table.scope;
        let wrong = || {
            vec![Fault::error(
                RESOURCE_KIND,
                name.span.clone(),
                format!("resource `{}` is not exactly one of `slots`, `bytes`, `rate`", name.value),
            )]
        };
        let form = self.kept(table.into_form().ok_or_else(wrong))?;
        Some((name.clone().map(Into::into), form, scope))
    }

    fn stages(&mut self, ops: &[String]) -> Vec<Stage> {
        let entries = self.entries("stages");
        entries.iter().filter_map(|(name, value)| self.stage(name, value, ops)).collect()
    }

    fn stage(&mut self, name: &Spanned<String>, value: &Value, ops: &[String]) -> Option<Stage> {
        let op = value.as_table().and_then(|table| op_entry(table, ops));
        let Some(op) = op else {
            self.is_complete = false;
            return None;
        };
        self.kept(Stage::read(name, value, op))
    }

    fn check_grids(&mut self, grids: &Grids) {
        for (name, grid) in &grids.0 {
            let Some(bounds) = &grid.bounds else { continue };
            let [west, south, east, north] = bounds.value;
            if !(west < east && south < north) {
                let message = format!("the bounds of grid `{}` enclose nothing", name.value);
                let fault = Fault::error(OUT_OF_RANGE, bounds.span.clone(), message)
                    .labelled("expected `[west, south, east, north]`");
                self.faults.push(fault.help("west is below east, and south is below north"));
            }
        }
    }
}
