//! The checked options, and the call that they make of an item.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};

use super::inputs::Inputs;
use super::outputs::Outputs;
use crate::contract::{Failure, Item, Scope, Template};
use crate::ops::takeover::Existing;

/// The checked options.
pub(super) struct Recipe {
    /// The program and its arguments.
    pub(super) command: Vec<Template>,
    /// Variables of the environment.
    pub(super) variables: Vec<(String, Template)>,
    /// What the program makes, in declaration order.
    pub(super) outputs: Vec<Output>,
    /// Paths as written, and the SHA-256 of each file.
    pub(super) depends: Vec<(String, String)>,
    /// What happens to files that are there.
    pub(super) existing: Existing,
    /// The pipeline's folder.
    pub(super) folder: PathBuf,
}

/// One file that the program makes.
pub(super) struct Output {
    /// Its name.
    pub(super) name: String,
    /// Where it goes.
    pub(super) destination: Destination,
}

/// Where an output goes.
pub(super) enum Destination {
    /// A temporary for later stages.
    Temporary {
        /// With its dot.
        suffix: String,
    },
    /// A file that stays.
    Final(Template),
}

/// A program and what it is given.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Call {
    /// What is started.
    pub(super) program: String,
    /// Whether it is the same for every item.
    pub(super) is_fixed: bool,
    /// Its arguments.
    pub(super) arguments: Vec<OsString>,
    /// Variables of its environment.
    pub(super) variables: Vec<(String, String)>,
}

impl Output {
    /// Where it stays, for an item; `None` for a temporary.
    pub(super) fn target(&self, item: &Item, folder: &Path) -> Result<Option<PathBuf>, Failure> {
        match &self.destination {
            Destination::Temporary { .. } => Ok(None),
            Destination::Final(path) => Ok(Some(folder.join(path.render(item)?))),
        }
    }
}

impl Recipe {
    /// The files that stay, for an item.
    ///
    /// # Errors
    /// A template that the item cannot fill.
    pub(super) fn targets(&self, item: &Item) -> Result<Vec<PathBuf>, Failure> {
        let targets = self.outputs.iter().map(|output| output.target(item, &self.folder));
        targets.filter_map(Result::transpose).collect()
    }

    /// How many files stay.
    pub(super) fn final_count(&self) -> u32 {
        self.outputs.iter().filter(|output| matches!(output.destination, Destination::Final(_))).count()
            as u32
    }

    /// The templates of final files.
    pub(super) fn places(&self) -> Vec<String> {
        let texts = self.outputs.iter().filter_map(|output| match &output.destination {
            Destination::Final(path) => Some(path.text().to_owned()),
            Destination::Temporary { .. } => None,
        });
        texts.collect()
    }

    /// The names of all outputs.
    pub(super) fn output_names(&self) -> impl Iterator<Item = &str> {
        self.outputs.iter().map(|output| output.name.as_str())
    }

    /// The inputs that are named one by one; `None` where `{input}` may mean any.
    pub(super) fn named_inputs(&self) -> Option<Vec<String>> {
        let texts = || self.texts().flat_map(Template::own_names);
        if texts().any(|name| name == "input") {
            return None;
        }
        Some(texts().filter_map(|name| name.strip_prefix("input.")).map(str::to_owned).collect())
    }

    /// What can change a result or where it stays.
    pub(super) fn manifest(&self) -> Json {
        let texts = |text: &Template| text.text().to_owned();
        let command: Vec<String> = self.command.iter().map(texts).collect();
        let env: serde_json::Map<String, Json> =
            self.variables.iter().map(|(name, text)| (name.clone(), texts(text).into())).collect();
        let outputs = self.outputs.iter().map(|output| {
            let place = match &output.destination {
                Destination::Temporary { suffix } => suffix,
                Destination::Final(path) => path.text(),
            };
            (output.name.clone(), Json::from(place))
        });
        let outputs: serde_json::Map<String, Json> = outputs.collect();
        let depends: serde_json::Map<String, Json> =
            self.depends.iter().map(|(path, hash)| (path.clone(), hash.as_str().into())).collect();
        json!({ "command": command, "env": env, "outputs": outputs, "depends": depends })
    }

    /// The call for an item.
    ///
    /// # Errors
    /// A file that the item does not have, and what its templates cannot be filled with.
    pub(super) fn call(&self, item: &Item, inputs: &Inputs, outputs: &Outputs) -> Result<Call, Failure> {
        let mut own = Vec::new();
        for name in self.texts().flat_map(Template::own_names) {
            let place = match name.split_once('.') {
                _ if name == "input" => inputs.only()?,
                Some(("input", input)) => inputs.named(input)?,
                Some((_, output)) => outputs.place(Some(output)),
                None => outputs.place(None),
            };
            own.push((name, in_utf8(place)?));
        }
        let scope = Scope { item, asset: None, own: &own };
        let mut words = self.command.iter().map(|text| filled(text, &scope));
        let program = words.next().unwrap_or_else(|| Ok(String::new()))?;
        let variables = self.variables.iter().map(|(name, text)| Ok((name.clone(), text.render_in(&scope)?)));
        Ok(Call {
            program,
            is_fixed: self.command.first().is_some_and(Template::is_literal),
            arguments: words.map(|word| Ok(word?.into())).collect::<Result<_, Failure>>()?,
            variables: variables.collect::<Result<_, Failure>>()?,
        })
    }

    fn texts(&self) -> impl Iterator<Item = &Template> {
        self.command.iter().chain(self.variables.iter().map(|(_, text)| text))
    }
}

/// One argument. What a catalogue says must not become an option of the program.
fn filled(text: &Template, scope: &Scope) -> Result<String, Failure> {
    let argument = text.render_in(scope)?;
    let is_option = argument.starts_with('-') && argument.parse::<f64>().is_err();
    if is_option && !text.text().starts_with('-') {
        let (id, text) = (&scope.item.id, text.text());
        return Err(Failure::item(format!(
            "`{text}` becomes `{argument}` for `{id}`, which programs take for an option; write `./{text}` or `--name={text}`"
        )));
    }
    Ok(argument)
}

fn in_utf8(path: &Path) -> Result<&str, Failure> {
    path.to_str().ok_or_else(|| Failure::item(format!("the path `{}` is not UTF-8", path.display())))
}
