//! Schemas as schemars makes them, in the words of TOML: no null, no Rust number formats, enumerations as plain `enum`.

use serde_json::{Map, Value as Json, json};

/// Rewrites a schema and all that it holds.
pub fn tidy(schema: &mut Json) {
    let Some(node) = schema.as_object_mut() else { return };
    node.remove("$schema");
    drop_null(node);
    drop_number_format(node);
    drop_list_of_places(node);
    join_enumeration(node);
    for (key, value) in node.iter_mut() {
        each_subschema(key, value, &mut tidy);
    }
}

/// Calls `visit` on the schemas that stand under the keyword `key`.
pub(super) fn each_subschema(key: &str, value: &mut Json, visit: &mut dyn FnMut(&mut Json)) {
    match key {
        "properties" | "patternProperties" | "definitions" => {
            value.as_object_mut().into_iter().flatten().for_each(|(_, schema)| visit(schema));
        }
        "items" | "additionalProperties" | "not" | "contains" => visit(value),
        "anyOf" | "oneOf" | "allOf" => value.as_array_mut().into_iter().flatten().for_each(visit),
        _ => {}
    }
}

/// TOML has no null: an optional key is left out.
fn drop_null(node: &mut Map<String, Json>) {
    if node.get("default").is_some_and(Json::is_null) {
        node.remove("default");
    }
    if let Some(types) = node.get_mut("type").and_then(Json::as_array_mut) {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            node.insert("type".into(), only);
        }
    }
    if let Some(values) = node.get_mut("enum").and_then(Json::as_array_mut) {
        values.retain(|value| !value.is_null());
    }
    for keyword in ["anyOf", "oneOf"] {
        drop_null_branch(node, keyword);
    }
}

/// Removes the branch that is null; a single branch that is left becomes the node itself.
fn drop_null_branch(node: &mut Map<String, Json>, keyword: &str) {
    let Some(branches) = node.get_mut(keyword).and_then(Json::as_array_mut) else { return };
    branches.retain(|branch| branch.get("type") != Some(&json!("null")));
    if let [Json::Object(only)] = branches.as_slice() {
        let only = only.clone();
        node.remove(keyword);
        for (key, value) in only {
            node.entry(key).or_insert(value);
        }
        drop_null(node);
    }
}

/// `uint32`, `double` say nothing to a reader; the range stands beside them.
fn drop_number_format(node: &mut Map<String, Json>) {
    let is_of_rust =
        |format: &str| ["int", "uint", "float", "double"].iter().any(|name| format.starts_with(name));
    if node.get("format").and_then(Json::as_str).is_some_and(is_of_rust) {
        node.remove("format");
    }
}

/// Draft 7 has a list of `items` where later drafts have `prefixItems`.
fn drop_list_of_places(node: &mut Map<String, Json>) {
    if let Some(Json::Array(places)) = node.remove("prefixItems")
        && let Some(first) = places.first()
    {
        node.insert("items".into(), first.clone());
    }
}

/// One `enum` for a list of constants, their docs as a list in the description.
fn join_enumeration(node: &mut Map<String, Json>) {
    let Some(branches) = node.get("oneOf").and_then(Json::as_array) else { return };
    let Some(names) = branches.iter().map(constants).collect::<Option<Vec<_>>>() else { return };
    let docs: String = branches.iter().filter_map(documented).collect();
    let each: Vec<Json> = branches.iter().flat_map(docs_of_constants).collect();
    let names: Vec<Json> = names.into_iter().flatten().collect();
    node.remove("oneOf");
    node.insert("type".into(), json!("string"));
    node.insert("enum".into(), Json::Array(names));
    if !docs.is_empty() {
        node.insert("x-taplo".into(), json!({ "docs": { "enumValues": each } }));
        let own = node.get("description").and_then(Json::as_str).unwrap_or_default();
        let description = format!("{own}\n{docs}").trim().to_owned();
        node.insert("description".into(), description.into());
    }
}

/// The texts that a branch allows, if it allows nothing else.
fn constants(branch: &Json) -> Option<Vec<Json>> {
    let texts = match (branch.get("const"), branch.get("enum")) {
        (Some(only), None) => vec![only.clone()],
        (None, Some(Json::Array(texts))) => texts.clone(),
        _ => return None,
    };
    texts.iter().all(Json::is_string).then_some(texts)
}

/// What stands beside each text of a branch when it is completed.
fn docs_of_constants(branch: &Json) -> Vec<Json> {
    let text = branch.get("description").and_then(Json::as_str).map(|text| json!(text.replace('\n', " ")));
    let count = constants(branch).map_or(0, |texts| texts.len());
    vec![text.unwrap_or_default(); count]
}

fn documented(branch: &Json) -> Option<String> {
    let name = branch.get("const")?.as_str()?;
    let text = branch.get("description")?.as_str()?.replace('\n', " ");
    Some(format!("\n- `{name}`: {text}"))
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;

    use super::super::generator;
    use super::*;

    #[derive(JsonSchema)]
    #[allow(dead_code, reason = "only its schema is looked at")]
    struct Options {
        /// How.
        mode: Option<Mode>,
        level: Option<u8>,
        pair: (f64, f64),
    }

    #[derive(JsonSchema)]
    #[schemars(rename_all = "lowercase")]
    #[allow(dead_code, reason = "only its schema is looked at")]
    enum Mode {
        /// The first.
        Fast,
        Slow,
    }

    #[test]
    fn a_tidy_schema_has_plain_types() {
        let mut schema = Options::json_schema(&mut generator()).to_value();
        tidy(&mut schema);
        let properties = &schema["properties"];
        assert_eq!(properties["level"], json!({ "type": "integer", "minimum": 0, "maximum": 255 }));
        assert_eq!(properties["mode"]["type"], "string");
        assert_eq!(properties["mode"]["description"], "How.\n\n- `fast`: The first.");
        let names = properties["mode"]["enum"].as_array().expect("a list");
        let fast = names.iter().position(|name| name == "fast").expect("it is one of them");
        assert_eq!(properties["mode"]["x-taplo"]["docs"]["enumValues"][fast], "The first.");
        let mut names: Vec<_> = properties["mode"]["enum"].as_array().expect("a list").iter().collect();
        names.sort_by_key(ToString::to_string);
        assert_eq!(names, [&json!("fast"), &json!("slow")]);
        assert_eq!(properties["pair"]["items"], json!({ "type": "number" }));
    }
}
