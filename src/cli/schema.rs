//! `gisrun schema`: the schema of the language with the options of every op, or that of the record of a run.

use crate::cli::{Exit, SchemaOf, output};
use crate::config::{OpPart, Parts, Schema, generator};
use crate::contract::Registry;
use crate::events;
use crate::ops;
use crate::remote::AccessOptions;

/// The schema of pipelines that use the ops of a registry.
pub fn compile(registry: &Registry) -> Schema {
    let mut generator = generator();
    let ops = registry.entries().iter().map(|entry| OpPart {
        name: entry.name.to_owned(),
        summary: entry.summary.to_owned(),
        options: (entry.schema)(&mut generator).to_value(),
    });
    let ops = ops.collect();
    let access = generator.subschema_for::<AccessOptions>().to_value();
    Schema::new(&Parts { access, ops })
}

/// The text of `schema/gisrun.schema.json`.
pub fn published_text(registry: &Registry) -> String {
    format!("{:#}\n", compile(registry).published())
}

/// The text of `schema/run.schema.json`.
pub fn run_text() -> String {
    format!("{:#}\n", events::schema())
}

pub(super) fn print(of: SchemaOf) -> Exit {
    output::print(&match of {
        SchemaOf::Pipeline => published_text(&ops::registry()),
        SchemaOf::Run => run_text(),
    })
}
