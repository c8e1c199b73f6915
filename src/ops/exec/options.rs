//! The options of `exec`: their docs are its manual.

use std::fmt::Write;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::recipe::{Destination, Output, Recipe};
use crate::config::{Entries, Fault, Spanned, Value, codes, from_value};
use crate::contract::{Environment, Template};
use crate::ops::codes::{CONFLICT, UNREADABLE_FILE, UNTOLD_OUTPUT};
use crate::ops::takeover::Existing;

/// Runs a program on each item, in the folder of the pipeline, and takes over the files that it makes.
///
/// The program is started with the cores that the stage takes (one unless `uses` says more) in `GDAL_NUM_THREADS`,
/// `OMP_NUM_THREADS` and the thread variables of other libraries, and its share of GDAL's block cache in `GDAL_CACHEMAX`.
/// What else it takes is named in `uses`: `["scripts", { memory = "2 GiB" }]`. It reads nothing from standard input, and
/// has to end by itself: with its end, with the stage's `timeout` and with the end of the run, however that comes, all
/// processes that it started end too. An exit code other than 0 fails the item, or is tried again where the stage has `retry`; the end of
/// what the program wrote to standard error stands in the message.
///
/// Files come to it as they are, bytes as a temporary file, a raster as a temporary GeoTIFF.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct ExecOptions {
    /// The program and its arguments, one text each; no shell reads them. Filled per item: `{input}`, or
    /// `{input.NAME}` for one of several files; `{output}`, or `{output.NAME}` for one of several outputs; and what any
    /// template knows: `{id}`, `{stem}`, `{datetime:%Y}`, `{properties.name}`. A program with a `/` in its name is relative
    /// to the pipeline's folder, any other is searched for in `PATH`.
    #[schemars(length(min = 1), example = &["python3", "segment.py", "{input}", "{output}"])]
    command: Vec<Spanned<String>>,
    /// The files that the program makes, by name: a path, relative to the pipeline's folder and filled per item, for a file
    /// that stays; or only a suffix such as `".tif"` for a temporary that later stages read. The program writes each to
    /// another place, `{output.NAME}`, from where it is moved once the program has ended well: what stands under the path
    /// is complete.
    #[schemars(extend("minProperties" = 1))]
    outputs: Entries<Spanned<String>>,
    /// Files that the results depend on, relative to the pipeline's folder: scripts, models. When the content of one changes,
    /// the results of earlier runs are stale. Default none.
    #[serde(default)]
    depends: Vec<Spanned<String>>,
    /// Variables of the program's environment beside those of gisrun, filled per item as `command` is. Default none.
    #[serde(default)]
    env: Entries<Spanned<String>>,
    /// What happens when a file is there that no earlier run of this pipeline wrote. Default `refuse`.
    #[serde(default)]
    existing: Existing,
}

/// Checks the options and reads the files that they depend on.
///
/// # Errors
/// Every fault, each with its place.
pub(super) fn compile(value: &Value, environment: &Environment) -> Result<Recipe, Vec<Fault>> {
    let options: ExecOptions = from_value(value)?;
    let mut faults = Vec::new();
    faults.extend(empty(value, "command", options.command.is_empty()));
    faults.extend(empty(value, "outputs", options.outputs.is_empty()));
    let outputs = keep(&mut faults, options.outputs.iter().map(output));
    let own = own_names(&options);
    let own: Vec<&str> = own.iter().map(String::as_str).collect();
    let filled = |text: &Spanned<String>| Template::parse_with(text, &own);
    let command = keep(&mut faults, options.command.iter().map(filled));
    let variable = |(name, text): &(Spanned<String>, _)| Ok((name.value.clone(), filled(text)?));
    let variables = keep(&mut faults, options.env.iter().map(variable));
    let depends = keep(&mut faults, options.depends.iter().map(|path| identity(path, &environment.folder)));
    if faults.is_empty() {
        faults.extend(same_places(&options.outputs));
        let texts = || command.iter().chain(variables.iter().map(|(_, text)| text));
        faults.extend(untold(&options.outputs, &|name| texts().any(|text| text.uses(name))));
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    let (existing, folder) = (options.existing, environment.folder.clone());
    Ok(Recipe { command, variables, outputs, depends, existing, folder })
}

/// What went well; the faults of the rest are added to `faults`.
fn keep<T>(faults: &mut Vec<Fault>, results: impl Iterator<Item = Result<T, Vec<Fault>>>) -> Vec<T> {
    results.filter_map(|result| result.map_err(|found| faults.extend(found)).ok()).collect()
}

fn empty(value: &Value, key: &str, is_empty: bool) -> Option<Fault> {
    let place = value.get(key).unwrap_or(value).span.clone();
    is_empty.then(|| Fault::error(codes::OUT_OF_RANGE, place, format!("`{key}` is empty")))
}

fn output((name, text): &(Spanned<String>, Spanned<String>)) -> Result<Output, Vec<Fault>> {
    let is_plain = |c: char| c.is_alphanumeric() || "-_".contains(c);
    if name.value.is_empty() || !name.value.chars().all(is_plain) {
        let message = format!("`{}` cannot stand in `{{output.NAME}}`", name.value);
        let fault = Fault::error(codes::BAD_NAME, name.span.clone(), message);
        return Err(vec![fault.help("use letters, digits, `-` and `_`")]);
    }
    let destination = if is_suffix(text) {
        Destination::Temporary { suffix: text.value.clone() }
    } else {
        Destination::Final(Template::parse(text)?)
    };
    Ok(Output { name: name.value.clone(), destination })
}

/// Whether an output is only a suffix, `.tif`, and no path.
fn is_suffix(text: &str) -> bool {
    text.starts_with('.') && text.len() > 1 && !text.contains(['/', '{', '}'])
}

/// The names that the command may use beside those of every template.
fn own_names(options: &ExecOptions) -> Vec<String> {
    let texts = options.command.iter().chain(options.env.iter().map(|(_, text)| text));
    let inputs = texts.flat_map(|text| named_inputs(text)).map(|name| format!("input.{name}"));
    let outputs = options.outputs.iter().map(|(name, _)| format!("output.{}", name.value));
    let only = (options.outputs.len() == 1).then(|| "output".to_owned());
    let input = std::iter::once("input".to_owned());
    input.chain(only).chain(outputs).chain(inputs).collect()
}

/// The names in the `{input.NAME}` of a text.
fn named_inputs(text: &str) -> impl Iterator<Item = &str> {
    let after = text.split("{input.").skip(1);
    after.filter_map(|rest| rest.split_once('}')).map(|(name, _)| name).filter(|name| !name.is_empty())
}

/// Two outputs that would be one file.
fn same_places(outputs: &[(Spanned<String>, Spanned<String>)]) -> Vec<Fault> {
    let is_path = |text: &&Spanned<String>| !is_suffix(text);
    let paths: Vec<_> = outputs.iter().map(|(_, text)| text).filter(is_path).collect();
    let again = paths.iter().enumerate().filter_map(|(index, path)| {
        let first = paths[..index].iter().find(|first| first.value == path.value)?;
        let message = format!("two outputs go to `{}`", path.value);
        Some(Fault::error(CONFLICT, path.span.clone(), message).related(first.span.clone(), "the first"))
    });
    again.collect()
}

/// Outputs whose place the program cannot know.
fn untold(outputs: &[(Spanned<String>, Spanned<String>)], is_told: &dyn Fn(&str) -> bool) -> Vec<Fault> {
    let is_only = outputs.len() == 1;
    let names = outputs.iter().map(|(name, _)| name);
    let untold = names.filter(|name| !is_told(&format!("output.{}", name.value)));
    let untold = untold.filter(|_| !(is_only && is_told("output")));
    untold
        .map(|name| {
            let place = if is_only { "{output}".to_owned() } else { format!("{{output.{}}}", name.value) };
            let message = format!("nothing tells the program where `{}` goes", name.value);
            Fault::error(UNTOLD_OUTPUT, name.span.clone(), message)
                .help(format!("add `{place}` to `command`: the program writes there"))
        })
        .collect()
}

/// A file with the SHA-256 of its content.
fn identity(path: &Spanned<String>, folder: &Path) -> Result<(String, String), Vec<Fault>> {
    match hash_of(&folder.join(&path.value)) {
        Ok(hash) => Ok((path.value.clone(), hash)),
        Err(error) => {
            let message = format!("cannot read `{}`: {error}", path.value);
            let fault = Fault::error(UNREADABLE_FILE, path.span.clone(), message);
            Err(vec![fault.help("paths are relative to the folder of the pipeline")])
        }
    }
}

fn hash_of(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            count => hasher.update(&buffer[..count]),
        }
    }
    Ok(hasher.finalize().iter().fold(String::with_capacity(64), |mut hash, byte| {
        write!(hash, "{byte:02x}").expect("writing to a string cannot fail");
        hash
    }))
}
