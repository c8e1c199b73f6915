//! Whatever the schema accepts, the typed loader and the ops accept: pipelines made at random of the schema itself.

#![allow(clippy::unwrap_used, reason = "a test stops at what cannot be")]

use std::path::Path;

use gisrun::config::{self, Inputs, Schema, codes};
use gisrun::machine::Machine;
use gisrun::{cli, ops, plan};
use proptest::prelude::*;
use serde_json::{Map, Value as Json, json};

/// What a type says of a value that is not its own; ops say other things of values that do not go together.
const OF_TYPES: [&str; 3] = [codes::UNKNOWN_KEY, codes::WRONG_TYPE, codes::WRONG_FORM];

/// What loading says of a count that is derived from two budgets, or of none: a schema cannot say it in words that help.
const OF_SIZING: &str = "exactly one of `memory`";

thread_local! {
    static SCHEMA: (Schema, jsonschema::Validator) = {
        let schema = cli::schema::compile(&ops::registry());
        let validator = jsonschema::validator_for(schema.strict()).unwrap();
        (schema, validator)
    };
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn what_the_schema_accepts_is_typed(seed in any::<u64>()) {
        SCHEMA.with(|(schema, validator)| {
            let pipeline = Maker { random: fastrand::Rng::with_seed(seed) }.object(schema.strict());
            let pipeline = Json::Object(pipeline);
            prop_assume!(validator.is_valid(&pipeline));
            let text = document(&pipeline);
            let loaded = config::load(Path::new("x.toml"), &text, &Inputs::NONE, schema);
            let is_typed =
                |fault: &config::Fault| fault.code == codes::OUT_OF_RANGE || fault.message.contains(OF_SIZING);
            let others: Vec<_> = loaded.faults.iter().filter(|fault| !is_typed(fault)).collect();
            prop_assert!(others.is_empty(), "{:?}\n{}", others, text);
            let written = loaded.pipeline.expect("it has stages");
            let (_, faults) = plan::resolve(&written, &ops::registry(), &machine());
            let wrong: Vec<_> = faults.iter().filter(|fault| OF_TYPES.contains(&fault.code)).collect();
            prop_assert!(wrong.is_empty(), "{:?}\n{}", wrong, text);
            Ok(())
        })?;
    }
}

/// The property is about something: most of what is made is valid, and all ops are among it.
#[test]
fn what_is_made_of_the_schema_is_mostly_valid_and_has_every_op() {
    SCHEMA.with(|(schema, validator)| {
        let made =
            |seed| Json::Object(Maker { random: fastrand::Rng::with_seed(seed) }.object(schema.strict()));
        let valid: Vec<Json> = (0..400).map(made).filter(|made| validator.is_valid(made)).collect();
        assert!(valid.len() > 200, "{} of 400 are valid", valid.len());
        for op in schema.ops() {
            let has = |pipeline: &Json| {
                pipeline["stages"].as_object().unwrap().values().any(|stage| stage.get(op).is_some())
            };
            assert!(valid.iter().any(has), "no valid pipeline has `{op}`");
        }
    });
}

fn machine() -> Machine {
    "cores=8,memory=16GiB,descriptors=1024"
        .parse::<gisrun::machine::Overrides>()
        .unwrap()
        .over(&Machine::detect(|_| None, Path::new("/")))
}

/// Makes values that a schema accepts.
struct Maker {
    random: fastrand::Rng,
}

impl Maker {
    fn value(&mut self, schema: &Json) -> Option<Json> {
        if let Some(values) = schema["enum"].as_array() {
            return self.random.choice(values).cloned();
        }
        for keyword in ["anyOf", "oneOf"] {
            let branches = schema[keyword].as_array().filter(|branches| branches[0]["required"].is_null());
            if let Some(branches) = branches.filter(|_| schema["properties"].is_null()) {
                let branch = self.random.choice(branches)?.clone();
                return self.value(&branch);
            }
        }
        let kinds: Vec<&str> = match &schema["type"] {
            Json::Array(kinds) => kinds.iter().filter_map(Json::as_str).collect(),
            Json::String(kind) => vec![kind.as_str()],
            _ => return Some(json!(self.random.u8(..))),
        };
        match *self.random.choice(&kinds)? {
            "object" => Some(Json::Object(self.object(schema))),
            "array" => self.list(schema),
            "string" => self.text(schema),
            "boolean" => Some(json!(self.random.bool())),
            "integer" => Some(json!(self.number(schema) as i64)),
            "number" => Some(json!(self.number(schema))),
            _ => None,
        }
    }

    /// The required keys, some of the others, and of keys that exclude each other exactly one.
    fn object(&mut self, schema: &Json) -> Map<String, Json> {
        let texts = |list: &Json| -> Vec<String> {
            list.as_array().into_iter().flatten().filter_map(Json::as_str).map(str::to_owned).collect()
        };
        let required = texts(&schema["required"]);
        let rivals: Vec<String> = schema["oneOf"]
            .as_array()
            .into_iter()
            .flatten()
            .flat_map(|branch| texts(&branch["required"]))
            .collect();
        let chosen = self.random.choice(&rivals).cloned();
        let mut made = Map::new();
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let is_wanted = match &chosen {
                Some(chosen) if rivals.contains(name) => name == chosen,
                _ => required.contains(name) || self.random.u8(..4) == 0,
            };
            if is_wanted && let Some(value) = self.value(property) {
                made.insert(name.clone(), value);
            }
        }
        if schema["additionalProperties"].is_object() {
            for name in ["a", "b", "c"] {
                made.extend(
                    self.value(&schema["additionalProperties"]).map(|value| (name.to_owned(), value)),
                );
            }
        }
        made
    }

    fn list(&mut self, schema: &Json) -> Option<Json> {
        let least = schema["minItems"].as_u64().unwrap_or(0);
        let most = schema["maxItems"].as_u64().unwrap_or(least + 2).max(least);
        let count = self.random.u64(least..=most);
        (0..count).map(|_| self.value(&schema["items"])).collect::<Option<Vec<_>>>().map(Json::Array)
    }

    /// An example, for a text with a grammar one of its own only.
    fn text(&mut self, schema: &Json) -> Option<Json> {
        match schema["examples"].as_array().filter(|examples| !examples.is_empty()) {
            Some(examples) => self.random.choice(examples).filter(|example| example.is_string()).cloned(),
            None if schema["pattern"].is_null() => Some(json!("a")),
            None => None,
        }
    }

    fn number(&mut self, schema: &Json) -> f64 {
        let bound = |name: &str, otherwise: f64| schema[name].as_f64().unwrap_or(otherwise);
        let least = bound("minimum", bound("exclusiveMinimum", -1.0) + 1.0);
        let most = bound("maximum", least + 1000.0).min(least + 1000.0);
        let step = bound("multipleOf", 1.0);
        let steps = ((most - least) / step).floor().max(0.0) as u64;
        (least / step).ceil() * step + step * self.random.u64(..=steps) as f64
    }
}

/// A pipeline as text: each key of the root on a line.
fn document(pipeline: &Json) -> String {
    let lines = pipeline.as_object().unwrap().iter().map(|(key, value)| format!("{key} = {}\n", toml(value)));
    lines.collect()
}

fn toml(value: &Json) -> String {
    match value {
        Json::Array(values) => format!("[{}]", values.iter().map(toml).collect::<Vec<_>>().join(", ")),
        Json::Object(entries) => {
            let entries = entries.iter().map(|(key, value)| format!("{} = {}", json!(key), toml(value)));
            format!("{{ {} }}", entries.collect::<Vec<_>>().join(", "))
        }
        Json::Number(number) if number.is_f64() => format!("{:?}", number.as_f64().unwrap()),
        plain => plain.to_string(),
    }
}
