//! From the tree to the typed pipeline. Keys that the schema refuses are passed over here, and so are stages, resources and
//! grids that cannot be typed, so that one wrong value does not hide the faults of the graph.

use std::path::Path;

use serde::de::DeserializeOwned;

use super::codes::OUT_OF_RANGE;
use super::pipeline::{ResourceTable, Scope, op_entry};
use super::{
    Access, AsWritten, Fault, GridDefinition, Grids, Parameter, ResourceForm, Schema, Span, Spanned, Stage,
    Table, Value, from_value,
};
use crate::ids::ResourceName;

/// The typed pipeline, and the names in it that stand for what could not be typed; faults go to `faults`. Without a stage
/// that can be typed there is nothing to look at.
pub(super) fn type_pipeline(
    path: &Path,
    text: &str,
    tree: &Value,
    params: Vec<Parameter>,
    schema: &Schema,
    told: &[Fault],
    faults: &mut Vec<Fault>,
) -> Option<(AsWritten, Vec<String>)> {
    let root = tree.as_table()?;
    let mut typing = Typing { root, told, faults, unread: Vec::new() };
    let name = typing.required("name");
    let description = typing.optional("description");
    let run = typing.optional("run").unwrap_or_default();
    let grids = typing.grids();
    let resources = typing.resources();
    let access = typing
        .entries("access")
        .iter()
        .map(|(prefix, options)| (prefix.clone(), Access { options: options.clone() }))
        .collect();
    let stages = typing.stages(schema.ops());
    let unread = typing.unread;
    let cluster_scoped = resources
        .iter()
        .filter(|(_, _, scope)| *scope == Scope::Cluster)
        .map(|(name, ..)| name.value.clone())
        .collect();
    let resources = resources.into_iter().map(|(name, form, _)| (name, form)).collect();
    let written = AsWritten {
        path: path.to_owned(),
        text: text.into(),
        name: name.unwrap_or_else(|| Spanned::new("unnamed".to_owned(), 0..0)),
        description,
        params,
        run,
        grids,
        resources,
        cluster_scoped,
        access,
        stages,
    };
    (!written.stages.is_empty() || unread.is_empty()).then_some((written, unread))
}

struct Typing<'a> {
    root: &'a Table,
    /// What the schema found.
    told: &'a [Fault],
    faults: &'a mut Vec<Fault>,
    /// The names of what cannot be typed.
    unread: Vec<String>,
}

impl<'a> Typing<'a> {
    /// A table of the root that may be left out.
    fn optional<T: DeserializeOwned>(&mut self, key: &str) -> Option<T> {
        let value = self.root.get(key)?;
        self.kept(key, &value.extent(), from_value(value))
    }

    /// A key of the root that must be there; the schema tells its absence.
    fn required<T: DeserializeOwned>(&mut self, key: &str) -> Option<T> {
        if self.root.get(key).is_none() {
            self.unread.push(key.to_owned());
        }
        self.optional(key)
    }

    fn entries(&self, key: &str) -> &'a [(Spanned<String>, Value)] {
        self.root.get(key).and_then(Value::as_table).map(|table| table.entries.as_slice()).unwrap_or_default()
    }

    /// The result; its faults count unless the schema has found one in the same part of the file, which is then the cause.
    fn kept<T>(&mut self, name: &str, extent: &Span, result: Result<T, Vec<Fault>>) -> Option<T> {
        let is_told =
            self.told.iter().any(|fault| fault.span.start <= extent.end && extent.start <= fault.span.end);
        result
            .map_err(|faults| {
                self.unread.push(name.to_owned());
                self.faults.extend(faults.into_iter().filter(|_| !is_told));
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
        let table: ResourceTable = self.kept(name, &value.extent(), from_value(value))?;
        let scope = table.scope;
        let Some(form) = table.into_form() else {
            self.unread.push(name.value.clone());
            return None;
        };
        Some((name.clone().map(Into::into), form, scope))
    }

    fn stages(&mut self, ops: &[String]) -> Vec<Stage> {
        let entries = self.entries("stages");
        entries.iter().filter_map(|(name, value)| self.stage(name, value, ops)).collect()
    }

    fn stage(&mut self, name: &Spanned<String>, value: &Value, ops: &[String]) -> Option<Stage> {
        let op = value.as_table().and_then(|table| op_entry(table, ops));
        let Some(op) = op else {
            self.unread.push(name.value.clone());
            return None;
        };
        self.kept(name, &value.extent(), Stage::read(name, value, op))
    }

    fn grids(&mut self) -> Grids {
        let entries = self.entries("grids");
        Grids(
            entries
                .iter()
                .filter_map(|(name, value)| Some((name.clone(), self.grid(name, value)?)))
                .collect(),
        )
    }

    fn grid(&mut self, name: &Spanned<String>, value: &Value) -> Option<GridDefinition> {
        let grid: GridDefinition = self.kept(name, &value.extent(), from_value(value))?;
        self.faults.extend(grid.bounds.as_ref().and_then(|bounds| wrong_bounds(name, bounds)));
        Some(grid)
    }
}

fn wrong_bounds(grid: &str, bounds: &Spanned<[f64; 4]>) -> Option<Fault> {
    let [west, south, east, north] = bounds.value;
    let is_area = west < east && south < north && bounds.value.iter().all(|bound| bound.is_finite());
    let message = format!("the bounds of grid `{grid}` enclose nothing");
    let fault = Fault::error(OUT_OF_RANGE, bounds.span.clone(), message)
        .labelled("expected `[west, south, east, north]`")
        .help("west is below east, and south is below north");
    (!is_area).then_some(fault)
}
