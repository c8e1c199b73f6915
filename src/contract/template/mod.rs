//! Texts that are filled per item: `out/{datetime:%Y/%m}/{id}.tif`.
//!
//! What stands in the pipeline is trusted, what is filled in is not: ids and properties come from remote
//! catalogues. A value is one path component: `/` becomes `_`, control characters are refused, and a component
//! that a value turns into `.`, `..` or nothing is refused. Only the formats of `{datetime:…}`, which the pipeline
//! states, and `{folder}`, whose own components keep the same rule, bring a `/`.

mod parse;
mod path;

use serde_json::Value as Json;

use self::parse::Parser;
use self::path::PathText;
use crate::config::{Fault, Spanned};
use crate::contract::{Failure, Item};

/// The names that every template knows, beside `{properties.NAME}`.
const NAMES: [&str; 9] = ["id", "stem", "folder", "item", "row", "col", "group", "asset", "datetime"];

/// A text with places that are filled per item. Nothing is expanded twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    text: String,
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Literal(String),
    /// A name of [`NAMES`], or one of the op's own.
    Name(String),
    Datetime(String),
    Property(String),
}

/// What a template is filled from.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    /// The item.
    pub item: &'a Item,
    /// The asset that `{asset}` and `{stem}` mean, where one of several is handled.
    pub asset: Option<&'a str>,
    /// Values of the op's own names, filled as they are: `("input", "/scratch/x.tif")`.
    pub own: &'a [(&'a str, &'a str)],
}

impl Template {
    /// Parses a text; `{{` and `}}` are literal braces.
    ///
    /// # Errors
    /// Every unknown name, brace without partner, and time format that does not exist.
    pub fn parse(text: &Spanned<String>) -> Result<Self, Vec<Fault>> {
        Self::parse_with(text, &[])
    }

    /// Parses a text that may also name what only this op knows, such as `input` or `output.slope`.
    ///
    /// # Errors
    /// As [`Template::parse`].
    pub fn parse_with(text: &Spanned<String>, own: &[&str]) -> Result<Self, Vec<Fault>> {
        let parts = Parser::parts(text, own)?;
        Ok(Self { text: text.value.clone(), parts })
    }

    /// The text as it stands in the pipeline.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it has `{name}`.
    pub fn uses(&self, name: &str) -> bool {
        self.parts.iter().any(|part| match part {
            Part::Name(own) => own == name,
            Part::Datetime(_) => name == "datetime",
            Part::Literal(_) | Part::Property(_) => false,
        })
    }

    /// Whether it is the same for every item.
    pub fn is_literal(&self) -> bool {
        self.parts.iter().all(|part| matches!(part, Part::Literal(_)))
    }

    /// The names in it that only its op knows.
    pub fn own_names(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Name(name) if !NAMES.contains(&name.as_str()) => Some(name.as_str()),
            _ => None,
        })
    }

    /// The text for an item, as a path: no value leaves its component.
    ///
    /// # Errors
    /// A value that the item does not have, or that is no part of a file name.
    pub fn render(&self, item: &Item) -> Result<String, Failure> {
        self.render_in(&Scope { item, asset: None, own: &[] })
    }

    /// The text for one asset of an item, as a path: no value leaves its component.
    ///
    /// # Errors
    /// As [`Template::render`].
    pub fn render_in(&self, scope: &Scope) -> Result<String, Failure> {
        let mut path = PathText::default();
        for part in &self.parts {
            match part {
                Part::Literal(text) => path.push_trusted(text),
                Part::Datetime(format) => path.push_trusted(&datetime(scope, format)?),
                Part::Property(name) => path.push_value(name, &property(scope, name)?)?,
                Part::Name(name) => push_name(&mut path, scope, name)?,
            }
        }
        path.finish().map_err(|failure| failure.within(format_args!("`{}`", self.text)))
    }

    /// The text for an item as it is, for keys that are no paths (`group`).
    ///
    /// # Errors
    /// A value that the item does not have.
    pub fn render_key(&self, item: &Item) -> Result<String, Failure> {
        let scope = Scope { item, asset: None, own: &[] };
        let mut key = String::new();
        for part in &self.parts {
            match part {
                Part::Literal(text) => key.push_str(text),
                Part::Datetime(format) => key.push_str(&datetime(&scope, format)?),
                Part::Property(name) => key.push_str(&property(&scope, name)?),
                Part::Name(name) => key.push_str(&named(&scope, name)?),
            }
        }
        Ok(key)
    }
}

fn push_name(path: &mut PathText, scope: &Scope, name: &str) -> Result<(), Failure> {
    if let Some((_, value)) = scope.own.iter().find(|(own, _)| *own == name) {
        path.push_trusted(value);
        return Ok(());
    }
    let value = named(scope, name)?;
    if name == "folder" { path.push_folders(&value) } else { path.push_value(name, &value) }
}

/// The value of a name that every template knows.
fn named(scope: &Scope, name: &str) -> Result<String, Failure> {
    let item = scope.item;
    let lineage = &item.lineage;
    let value = match name {
        "id" => Some(item.id.to_string()),
        "item" => Some(item.reported_id().to_string()),
        "stem" => Some(lineage.stem.clone()).filter(|stem| !stem.is_empty()),
        "folder" => Some(lineage.folder.clone()),
        "row" => lineage.position.map(|(row, _)| row.to_string()),
        "col" => lineage.position.map(|(_, col)| col.to_string()),
        "group" => lineage.group.clone(),
        "asset" => scope.asset.map(str::to_owned),
        _ => None,
    };
    value.ok_or_else(|| Failure::item(format!("`{}` has no `{{{name}}}`{}", item.id, reason(name))))
}

fn reason(name: &str) -> &'static str {
    match name {
        "stem" => "; it was made of several files",
        "row" | "col" => "; it is not a window",
        "group" => "; it is not a group",
        "asset" => "; several assets were made into one file",
        _ => "",
    }
}

fn datetime(scope: &Scope, format: &str) -> Result<String, Failure> {
    let time = scope.item.datetime().ok_or_else(|| {
        Failure::item(format!("`{}` has neither `datetime` nor `start_datetime`", scope.item.id))
    })?;
    Ok(time.format(format).to_string())
}

fn property(scope: &Scope, name: &str) -> Result<String, Failure> {
    let id = &scope.item.id;
    match scope.item.properties.get(name) {
        Some(Json::String(text)) => Ok(text.clone()),
        Some(Json::Number(number)) => Ok(number.to_string()),
        Some(Json::Bool(value)) => Ok(value.to_string()),
        None | Some(Json::Null) => Err(Failure::item(format!("`{id}` has no property `{name}`"))),
        Some(_) => {
            Err(Failure::item(format!("property `{name}` of `{id}` is a list or a table, not a text")))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::contract::{Lineage, Payload, Properties};

    fn spanned(text: &str) -> Spanned<String> {
        Spanned::new(text.to_owned(), 100..102 + text.len())
    }

    fn template(text: &str) -> Template {
        Template::parse(&spanned(text)).expect("the template is right")
    }

    fn item(id: &str, properties: Json) -> Item {
        let Json::Object(properties) = properties else { unreachable!("a table") };
        let lineage = Lineage { stem: "scene".into(), folder: "2024/06".into(), ..Lineage::default() };
        Item {
            id: id.into(),
            properties: Arc::new(properties),
            lineage,
            payload: Payload::Assets(Vec::new()),
        }
    }

    fn plain(id: &str) -> Item {
        item(id, Json::Object(Properties::new()))
    }

    #[test]
    fn fills_every_kind_of_name() {
        let mut item =
            item("t/3/4", json!({"datetime": "2024-05-06T09:08:09.5+02:00", "eo:cloud_cover": 12.5, "n": 7}));
        item.lineage.position = Some((3, 4));
        item.lineage.parent = Some("t".into());
        item.lineage.group = Some("2024-05".into());
        for (text, expected) in [
            ("out/{id}.tif", "out/t_3_4.tif"),
            ("{item}_{row}_{col}.tif", "t_3_4.tif"),
            ("{folder}/{stem}.tif", "2024/06/scene.tif"),
            ("{group}", "2024-05"),
            ("{datetime}", "20240506T070809Z"),
            ("{datetime:%Y/%m}/x", "2024/05/x"),
            ("{properties.eo:cloud_cover}_{properties.n}", "12.5_7"),
            ("{{id}}", "{id}"),
            ("/abs/../{id}", "/abs/../t_3_4"),
        ] {
            assert_eq!(template(text).render(&item).expect(text), expected);
        }
    }

    #[test]
    fn start_datetime_stands_in_for_a_null_datetime() {
        let item = item("a", json!({"datetime": null, "start_datetime": "2024-01-01T00:00:00Z"}));
        assert_eq!(template("{datetime:%Y%m%d}").render(&item).expect("a time"), "20240101");
    }

    #[test]
    fn a_value_is_not_expanded_again() {
        assert_eq!(template("{id}").render(&plain("{stem}")).expect("a name"), "{stem}");
    }

    #[test]
    fn no_value_leaves_its_component() {
        for (text, id) in [
            ("out/{id}", ".."),
            ("out/{id}/x", "."),
            ("{id}{id}", "."),
            ("a\\{id}", "x\0y"),
            ("{id}", "a\nb"),
            ("out/{id}", ""),
        ] {
            assert!(template(text).render(&plain(id)).is_err(), "`{text}` with `{id:?}`");
        }
        for (text, id, expected) in [
            ("out/{id}.tif", "..", "out/...tif"),
            ("out/{id}", "/etc/passwd", "out/_etc_passwd"),
            ("out/{id}", "../../x", "out/.._.._x"),
        ] {
            assert_eq!(template(text).render(&plain(id)).expect(text), expected);
        }
    }

    #[test]
    fn folders_keep_their_slashes_and_not_their_dots() {
        let mut item = plain("a");
        item.lineage.folder = "a/../b".into();
        assert!(template("out/{folder}/{id}").render(&item).is_err());
        item.lineage.folder = String::new();
        assert_eq!(template("{folder}/{id}.tif").render(&item).expect("a name"), "a.tif");
        assert_eq!(template("out/{folder}/{id}.tif").render(&item).expect("a name"), "out/a.tif");
    }

    #[test]
    fn what_an_item_does_not_have_is_named() {
        let failure = template("{row}").render(&plain("a")).expect_err("no window");
        assert_eq!(failure.message, "`a` has no `{row}`; it is not a window");
        let failure = template("{properties.x}").render(&item("a", json!({"x": [1]}))).expect_err("a list");
        assert_eq!(failure.message, "property `x` of `a` is a list or a table, not a text");
    }

    #[test]
    fn every_fault_has_its_place() {
        let faults = Template::parse(&spanned("{idd}_{datetime:%Q}_}_{")).expect_err("four faults");
        let seen: Vec<_> = faults.iter().map(|fault| (fault.code, fault.span.clone())).collect();
        assert_eq!(
            seen,
            [
                ("unknown-placeholder", 101..106),
                ("template-datetime", 107..120),
                ("template-brace", 121..122),
                ("template-brace", 123..124)
            ]
        );
        assert!(faults[0].help.starts_with("did you mean `id`?"), "{}", faults[0].help);
    }

    #[test]
    fn an_op_brings_names_of_its_own() {
        let text = spanned("{input}-{output.slope}");
        assert!(Template::parse(&text).is_err());
        let template = Template::parse_with(&text, &["input", "output.slope"]).expect("known names");
        let item = plain("a");
        let own = [("input", "/tmp/a b"), ("output.slope", "s.tif")];
        let scope = Scope { item: &item, asset: None, own: &own };
        assert_eq!(template.render_in(&scope).expect("a text"), "/tmp/a b-s.tif");
        assert!(template.uses("input") && !template.uses("id"));
    }
}
