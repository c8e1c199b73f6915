//! Puts the tables of the language and the ops together.

use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value as Json, json};

use super::{OpPart, Parts, generator, tidy};
use crate::config::pipeline::{CommonKeys, GridDefinition, ResourceTable, RunOptions};

/// What the names of stages, grids, resources and parameters are made of.
const NAME: &str = "^[A-Za-z0-9][A-Za-z0-9_-]*$";

/// The strict edition.
pub(super) fn assemble(parts: &Parts) -> Json {
    let mut generator = generator();
    let mut schema = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "x-tombi-toml-version": "v1.0.0",
        "title": "gisrun pipeline",
        "description": "A raster job: where its inputs are, what is done to each, and how much of each scarce thing it may use.",
        "type": "object",
        "properties": {
            "name": {
                "type": "string",
                "minLength": 1,
                "description": "The name of the pipeline, for reports and for the ledger.",
                "examples": ["sentinel2-ndvi"],
            },
            "description": { "type": "string", "description": "What the pipeline is for, in a sentence." },
            "params": parameters(),
            "run": of::<RunOptions>(&mut generator),
            "grids": named("Pixel grids that stages name.", &of::<GridDefinition>(&mut generator)),
            "resources": named(
                "Limits by name. `connections` (16), `cores` (\"cores\"), `memory` (60 %), `writers` (4), `descriptors` and \
                 `scratch` (half of the free disk) exist with these defaults unless they are declared.",
                &resource(&mut generator),
            ),
            "access": access(&parts.access),
            "stages": named(
                "The steps of the pipeline by name; declaration order is only for display and for ties.",
                &stage(of::<CommonKeys>(&mut generator), &parts.ops),
            ),
        },
        "required": ["name", "stages"],
        "additionalProperties": false,
    });
    let definitions = generator.take_definitions(true);
    if !definitions.is_empty() {
        schema["definitions"] = Json::Object(definitions);
    }
    schema
}

/// The tidy schema of a type.
fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Json {
    let mut schema = T::json_schema(generator).to_value();
    tidy(&mut schema);
    schema
}

/// A table of named things of one kind.
fn named(description: &str, each: &Json) -> Json {
    json!({
        "description": description,
        "type": "object",
        "propertyNames": { "pattern": NAME },
        "additionalProperties": each,
    })
}

/// A parameter is a plain value, or a table with `default`, `help`, `env`, `type`. It has no `type` keyword, because editors
/// do not take a date for a string.
fn parameters() -> Json {
    named(
        "Values that stand as `${name}` in texts below, and that `--set name=value` replaces.",
        &json!({
            "description": "The default value, or a table that says more of the parameter.",
            "properties": {
                "default": {
                    "description": "The value unless `--set` gives another. Without it the parameter must be set.",
                },
                "help": { "description": "What the parameter is for.", "type": "string" },
                "env": {
                    "description": "Whether the value comes from the environment variable of its name in capitals; such a value is a secret. Default `false`.",
                    "type": "boolean",
                },
                "type": {
                    "description": "The type of the value; by default that of `default`, else any.",
                    "type": "string",
                    "enum": ["string", "integer", "number", "boolean", "list", "table"],
                },
            },
            "additionalProperties": false,
        }),
    )
}

fn resource(generator: &mut SchemaGenerator) -> Json {
    let mut schema = of::<ResourceTable>(generator);
    schema["oneOf"] = exactly_one_of(["slots", "bytes", "rate"].into_iter());
    schema
}

fn access(options: &Json) -> Json {
    let mut options = options.clone();
    tidy(&mut options);
    let open = json!({ "type": "object", "additionalProperties": true });
    json!({
        "description": "How addresses that begin with a prefix are reached: credentials, signing, endpoints.",
        "type": "object",
        "additionalProperties": if options.is_null() { open } else { options },
    })
}

/// One table with all common keys and all ops, of which exactly one is there: editors complete both kinds of keys.
fn stage(mut schema: Json, ops: &[OpPart]) -> Json {
    let properties = schema["properties"].as_object_mut().expect("the common keys are properties");
    properties.extend(ops.iter().map(|op| (op.name.clone(), op_property(op))));
    if !ops.is_empty() {
        schema["oneOf"] = exactly_one_of(ops.iter().map(|op| op.name.as_str()));
    }
    schema
}

fn op_property(op: &OpPart) -> Json {
    let mut property = Map::new();
    property.insert("description".into(), op.summary.clone().into());
    let mut options = op.options.clone();
    tidy(&mut options);
    let options = options.as_object().cloned().unwrap_or_default();
    property.extend(options.into_iter().filter(|(key, _)| key != "description" && key != "title"));
    Json::Object(property)
}

fn exactly_one_of<'a>(keys: impl Iterator<Item = &'a str>) -> Json {
    keys.map(|key| json!({ "required": [key] })).collect()
}
