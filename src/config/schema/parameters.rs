//! The published edition: wherever a value stands, a text that holds a parameter may stand.

use serde_json::{Map, Value as Json, json};

use super::tidy::each_subschema;

/// A text that holds `${name}`.
const PARAMETER: &str = r"\$\{[A-Za-z0-9_-]+\}";

/// Lets every value below the root's tables hold a parameter, `[params]` itself apart.
pub(super) fn allow(schema: &mut Json) {
    let Some(tables) = schema.get_mut("properties").and_then(Json::as_object_mut) else { return };
    tables.iter_mut().filter(|(name, _)| *name != "params").for_each(|(_, table)| allow_in(table));
    if let Some(definitions) = schema.get_mut("definitions").and_then(Json::as_object_mut) {
        definitions.iter_mut().for_each(|(_, definition)| allow_in(definition));
    }
}

fn allow_in(schema: &mut Json) {
    let Some(node) = schema.as_object_mut() else { return };
    for (key, value) in node.iter_mut() {
        each_subschema(key, value, &mut allow_in);
    }
    if node.contains_key("enum") {
        allow_beside_enumeration(node);
    } else {
        allow_beside_types(node);
    }
}

/// `enum` admits nothing else, so the parameter is a branch of its own.
fn allow_beside_enumeration(node: &mut Map<String, Json>) {
    let mut plain = Map::new();
    for keyword in ["type", "enum", "x-taplo"] {
        plain.extend(node.remove(keyword).map(|value| (keyword.to_owned(), value)));
    }
    node.insert("anyOf".into(), json!([plain, { "type": "string", "pattern": PARAMETER }]));
}

/// Says of every branch what is said of the whole: taplo shows the words of the branch that it completes.
pub(super) fn describe_branches(schema: &mut Json) {
    let Some(node) = schema.as_object_mut() else { return };
    let description = node.get("description").cloned();
    if let (Some(description), Some(Json::Array(branches))) = (description, node.get_mut("anyOf")) {
        for branch in branches.iter_mut().filter_map(Json::as_object_mut) {
            branch.entry("description").or_insert_with(|| description.clone());
        }
    }
    for (key, value) in node.iter_mut() {
        each_subschema(key, value, &mut describe_branches);
    }
}

/// A pattern applies to texts alone, so a number or list needs no branch of its own. Tables are not given by parameters.
fn allow_beside_types(node: &mut Map<String, Json>) {
    let mut types = type_names(node);
    if types.iter().all(|name| name == "object") {
        return;
    }
    if types.iter().any(|name| name == "string") {
        if let Some(Json::String(pattern)) = node.get_mut("pattern") {
            *pattern = format!("({pattern})|({PARAMETER})");
        }
    } else {
        if types.iter().any(|name| name == "number") {
            // taplo shows `nan` and `inf` to the schema as null, which TOML itself does not have.
            types.push("null".into());
        }
        types.push("string".into());
        node.insert("type".into(), Json::Array(types));
        node.insert("pattern".into(), PARAMETER.into());
    }
}

fn type_names(node: &Map<String, Json>) -> Vec<Json> {
    match node.get("type") {
        Some(Json::Array(names)) => names.clone(),
        Some(name) => vec![name.clone()],
        None => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_branch_is_described_as_the_whole_is() {
        let mut schema = json!({ "properties": { "x": {
            "description": "How.",
            "anyOf": [{ "enum": ["a"] }, { "type": "integer", "description": "A count." }],
        } } });
        describe_branches(&mut schema);
        let branches = &schema["properties"]["x"]["anyOf"];
        assert_eq!(
            (&branches[0]["description"], &branches[1]["description"]),
            (&json!("How."), &json!("A count."))
        );
    }

    fn allowed(option: &Json) -> jsonschema::Validator {
        let mut schema =
            json!({ "properties": { "stages": { "type": "object", "properties": { "x": option } } } });
        allow(&mut schema);
        jsonschema::validator_for(&schema).expect("it is a schema")
    }

    #[test]
    fn a_parameter_may_stand_for_any_plain_value() {
        let options = [
            json!({ "type": "integer", "minimum": 1 }),
            json!({ "type": "array", "items": { "type": "number" } }),
            json!({ "type": "string", "enum": ["a"] }),
            json!({ "type": "string", "pattern": "^a$" }),
            json!({ "type": ["integer", "string"], "pattern": "^a$" }),
            json!({ "anyOf": [{ "type": "integer" }, { "type": "object" }] }),
        ];
        for option in options {
            let validator = allowed(&option);
            assert!(validator.is_valid(&json!({ "stages": { "x": "${size}" } })), "{option}");
            assert!(!validator.is_valid(&json!({ "stages": { "x": "size" } })), "{option}");
        }
    }

    #[test]
    fn what_was_refused_before_is_refused_still() {
        let validator = allowed(&json!({ "type": "integer", "minimum": 1 }));
        assert!(validator.is_valid(&json!({ "stages": { "x": 1 } })));
        assert!(!validator.is_valid(&json!({ "stages": { "x": 0 } })));
    }
}
