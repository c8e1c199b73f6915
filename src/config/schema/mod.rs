//! The JSON schema of a pipeline: one assembly of the option structs' schemas, in two editions.
//!
//! The **strict** edition validates the tree after parameters are filled in. The **published** edition is what editors
//! read: the same, but every value may also be a text that holds a parameter.

mod assemble;
mod parameters;
mod tidy;

use jsonschema::Validator;
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::Value as Json;

pub use tidy::tidy;

/// What the schema holds that other modules define.
#[derive(Clone, Debug, Default)]
pub struct Parts {
    /// The options of `[access."prefix"]`.
    pub access: Json,
    /// The ops, in the order in which they are listed.
    pub ops: Vec<OpPart>,
}

/// One op.
#[derive(Clone, Debug)]
pub struct OpPart {
    /// Its key in a stage.
    pub name: String,
    /// One sentence.
    pub summary: String,
    /// The schema of its options.
    pub options: Json,
}

/// The schema, compiled once and used for every file.
#[derive(Debug)]
pub struct Schema {
    strict: Json,
    validator: Validator,
    ops: Vec<String>,
}

impl Schema {
    /// Assembles and compiles.
    ///
    /// # Panics
    /// When an op's options are not a valid schema; a test builds the shipped one.
    pub fn new(parts: &Parts) -> Self {
        let strict = assemble::assemble(parts);
        let validator = jsonschema::options()
            .with_draft(jsonschema::Draft::Draft7)
            .should_validate_formats(false)
            .build(&strict)
            .expect("the schema comes from option structs, and a test compiles it");
        Self { strict, validator, ops: parts.ops.iter().map(|op| op.name.clone()).collect() }
    }

    /// The edition for editors: `schema/gisrun.schema.json`.
    pub fn published(&self) -> Json {
        let mut schema = self.strict.clone();
        parameters::allow(&mut schema);
        parameters::describe_branches(&mut schema);
        schema
    }

    /// The edition that validates filled-in trees.
    pub fn strict(&self) -> &Json {
        &self.strict
    }

    /// The names of the ops, in their order.
    pub fn ops(&self) -> &[String] {
        &self.ops
    }

    pub(super) fn validator(&self) -> &Validator {
        &self.validator
    }
}

/// The generator whose schemas the assembly takes: draft 7, which both editor engines know, nothing by reference.
pub fn generator() -> SchemaGenerator {
    SchemaSettings::draft07().with(|settings| settings.inline_subschemas = true).into_generator()
}
