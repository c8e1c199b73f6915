//! `gisrun ops [NAME]`: the list of ops, and the manual of one, from the schema of its options.

use std::fmt::Write;

use serde_json::Value as Json;

use crate::cli::{Exit, output};
use crate::config::{generator, suggestion, tidy};
use crate::contract::{OpEntry, Registry};
use crate::ops::registry;

/// Where the manual breaks its lines.
const WIDTH: usize = 96;

pub(super) fn print(name: Option<&str>) -> Exit {
    let registry = registry();
    let Some(name) = name else { return output::print(&list(&registry)) };
    if let Some(entry) = registry.get(name) {
        return output::print(&manual(entry));
    }
    let names = registry.entries().iter().map(|entry| entry.name);
    output::complain(&format!("error: there is no op `{name}`; {}", suggestion(name, names)));
    Exit::BadInput
}

/// One line an op.
fn list(registry: &Registry) -> String {
    let width = registry.entries().iter().map(|entry| entry.name.len()).max().unwrap_or(0);
    let lines = registry.entries().iter().map(|entry| format!("{:width$}  {}", entry.name, entry.summary));
    lines.map(|line| line + "\n").collect()
}

/// The manual of one op: what it does, takes, an example, every option.
fn manual(entry: &OpEntry) -> String {
    let mut options = (entry.schema)(&mut generator()).to_value();
    tidy(&mut options);
    let mut page = format!("{}\n\n", wrapped(&format!("{}: {}", entry.name, entry.summary), 0));
    append(&mut page, &format!("takes    {}\n", accepted(entry)));
    append(&mut page, &format!("example  {} = {}\n", entry.name, entry.example));
    append(&mut page, "\noptions\n");
    append_options(&mut page, &options, 1);
    page
}

fn append(page: &mut String, text: &str) {
    page.push_str(text);
}

fn accepted(entry: &OpEntry) -> String {
    match entry.accepts {
        [] => "nothing: it is a source".to_owned(),
        ports => ports.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
    }
}

fn append_options(page: &mut String, schema: &Json, depth: usize) {
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Json::as_str).collect();
    let properties = schema["properties"].as_object();
    for (name, option) in properties.into_iter().flatten() {
        append_option(page, name, option, required.contains(&name.as_str()), depth);
    }
}

fn append_option(page: &mut String, name: &str, option: &Json, is_required: bool, depth: usize) {
    let indent = "  ".repeat(depth);
    let mut head = format!("\n{indent}{name}  ({}", kind(option));
    match &option["default"] {
        Json::Null if is_required => head.push_str(", required"),
        Json::Null => {}
        default => write!(head, ", default {default}").expect("a string takes all text"),
    }
    append(page, &format!("{head})\n"));
    if let Some(text) = option["description"].as_str() {
        append(page, &format!("{}\n", wrapped(text, 2 * depth + 4)));
    }
    if let Some(example) = option["examples"][0].as_str().filter(|_| option["enum"].is_null()) {
        append(page, &format!("{indent}    for example \"{example}\"\n"));
    }
    append_options(page, option, depth + 1);
}

/// The type of an option, in a few words.
fn kind(option: &Json) -> String {
    if let Some(names) = option["enum"].as_array() {
        return names.iter().map(ToString::to_string).collect::<Vec<_>>().join(" | ");
    }
    for keyword in ["anyOf", "oneOf"] {
        if let Some(branches) =
            option[keyword].as_array().filter(|branches| branches.iter().all(|it| !it["type"].is_null()))
        {
            return branches.iter().map(kind).collect::<Vec<_>>().join(" or ");
        }
    }
    match &option["type"] {
        Json::Array(types) => {
            types.iter().filter_map(Json::as_str).map(type_name).collect::<Vec<_>>().join(" or ")
        }
        Json::String(name) if name == "array" && !option["items"]["type"].is_null() => {
            format!("list of {}", kind(&option["items"]))
        }
        Json::String(name) => type_name(name).to_owned(),
        _ => "any".to_owned(),
    }
}

fn type_name(name: &str) -> &str {
    match name {
        "array" => "list",
        "object" => "table",
        "string" => "text",
        other => other,
    }
}

/// Words in lines of at most `WIDTH` columns, each indented; line breaks of the text stay only before list items.
fn wrapped(text: &str, indent: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    for paragraph in paragraphs(text) {
        let mut line = String::new();
        for word in paragraph.split_whitespace() {
            if !line.is_empty() && indent + line.chars().count() + 1 + word.chars().count() > WIDTH {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        lines.push(line);
    }
    lines.iter().map(|line| format!("{}{line}", " ".repeat(indent))).collect::<Vec<_>>().join("\n")
}

/// Paragraphs and list items, each one text.
fn paragraphs(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut is_open = false;
    for line in text.lines() {
        let begins = line.starts_with("- ") || !is_open;
        is_open = !line.trim().is_empty();
        match found.last_mut() {
            _ if !is_open => {}
            Some(last) if !begins => {
                last.push(' ');
                last.push_str(line);
            }
            _ => found.push(line.to_owned()),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;

    use super::*;
    use crate::contract::Port;

    #[derive(JsonSchema)]
    #[schemars(rename_all = "kebab-case")]
    #[allow(dead_code, reason = "only its schema is looked at")]
    struct Options {
        /// The grid to warp onto, by the name that `[grids]` gives it. A grid of its own needs `resolution`, which then
        /// counts in units of its CRS.
        #[schemars(example = &"utm32")]
        grid: String,
        /// How values between pixels are found.
        #[schemars(default)]
        resampling: Resampling,
        bounds: Option<[f64; 4]>,
    }

    #[derive(Default, JsonSchema, serde::Serialize)]
    #[schemars(rename_all = "lowercase")]
    #[serde(rename_all = "lowercase")]
    #[allow(dead_code, reason = "only its schema is looked at")]
    enum Resampling {
        /// The value of the nearest pixel.
        #[default]
        Nearest,
        /// Between four pixels.
        Bilinear,
    }

    const WARP: OpEntry = OpEntry {
        name: "warp",
        summary: "Brings rasters onto a grid.",
        accepts: &[Port::Raster],
        example: "{ grid = \"utm32\" }",
        schema: Options::json_schema,
        compile: |_, _| Err(Vec::new()),
    };

    #[test]
    fn the_manual_tells_every_option() {
        let expected = "\
warp: Brings rasters onto a grid.

takes    raster
example  warp = { grid = \"utm32\" }

options

  grid  (text, required)
      The grid to warp onto, by the name that `[grids]` gives it. A grid of its own needs
      `resolution`, which then counts in units of its CRS.
      for example \"utm32\"

  resampling  (\"nearest\" | \"bilinear\", default \"nearest\")
      How values between pixels are found.
      - `nearest`: The value of the nearest pixel.
      - `bilinear`: Between four pixels.

  bounds  (list of number)
";
        assert_eq!(manual(&WARP), expected);
    }

    #[test]
    fn the_list_has_one_line_an_op() {
        assert_eq!(list(&Registry::new(&[WARP])), "warp  Brings rasters onto a grid.\n");
    }
}
