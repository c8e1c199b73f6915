//! The tree against the schema, every fault at once and at its place.

mod branches;
mod gdal_options;
mod keys;
mod place;
mod values;

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind as Kind;

use super::{Fault, Schema, Value};
use place::Place;

/// Every fault of a tree whose parameters are filled in. `text` is what the tree was parsed from.
pub fn validate(text: &str, tree: &Value, schema: &Schema) -> Vec<Fault> {
    let document = tree.to_json();
    let check = Check { text, tree, schema };
    schema.validator().iter_errors(&document).flat_map(|error| check.faults(&error)).collect()
}

/// What the translation of an error looks things up in.
struct Check<'a> {
    text: &'a str,
    tree: &'a Value,
    schema: &'a Schema,
}

impl Check<'_> {
    /// What one validation error means to the author of the file.
    fn faults(&self, error: &ValidationError<'_>) -> Vec<Fault> {
        let place = Place::find(self.tree, error.instance_path().as_str());
        let rule = self.rule(error);
        match error.kind() {
            Kind::AdditionalProperties { unexpected } => self.unknown_keys(&place, rule, unexpected),
            Kind::PropertyNames { error } => vec![keys::bad_name(&place, error.instance())],
            Kind::Required { property } => keys::missing(&place, rule, property).into_iter().collect(),
            Kind::AnyOf { context } => self.best_branch(&place, rule, "anyOf", context),
            Kind::OneOfNotValid { context } | Kind::OneOfMultipleValid { context } => {
                self.best_branch(&place, rule, "oneOf", context)
            }
            _ => vec![values::fault(&place, rule, error)],
        }
    }

    /// The schema that holds the violated keyword.
    fn rule(&self, error: &ValidationError<'_>) -> &serde_json::Value {
        let path = error.schema_path().as_str();
        let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
        self.schema.strict().pointer(parent).unwrap_or(&serde_json::Value::Null)
    }
}
