//! Patterns of files that find them and take their names apart: `in/{id}_{asset}.tif`.

use std::path::Path;

use futures::TryStreamExt;
use glob::{MatchOptions, Pattern};
use percent_encoding::percent_decode_str;
use regex::Regex;
use url::Url;

use crate::config::{Fault, Span, Spanned, suggestion};
use crate::contract::{Asset, Failure, Location};
use crate::ops::codes::BAD_PATTERN;
use crate::ops::listed::{ONLY_ASSET, asset};
use crate::remote::{StageClient, off_loop};

/// A pattern's `*` stays within one name, and a name that begins with a dot is matched by a dot alone.
const OPTIONS: MatchOptions =
    MatchOptions { case_sensitive: true, require_literal_separator: true, require_literal_leading_dot: true };

/// Object stores whose objects can be listed.
const STORES: [&str; 3] = ["s3://", "gs://", "az://"];

/// One pattern, in the two forms that find files and that take their names apart.
#[derive(Clone)]
pub(super) struct FilePattern {
    /// As written.
    text: String,
    /// Absolute, for walking folders.
    walk: String,
    /// For names: the groups `id…` and `asset…`.
    names: Regex,
    /// The folder before the first part that can match several: absolute, or an address.
    fixed: String,
    is_store: bool,
}

/// What a file's name says.
pub(super) struct Named {
    pub(super) id: String,
    pub(super) asset: Option<String>,
    pub(super) folder: String,
}

impl FilePattern {
    /// Takes a pattern apart; it is relative to `folder`.
    pub(super) fn new(text: &Spanned<String>, folder: &Path) -> Result<Self, Fault> {
        let parts = parse(text)?;
        let is_store = STORES.iter().any(|scheme| text.starts_with(scheme));
        let below = if is_store || text.starts_with('/') { String::new() } else { folder_text(folder) };
        let walk = Pattern::escape(&below) + &parts.iter().map(Part::walk).collect::<String>();
        if let Err(error) = Pattern::new(&walk) {
            let message = format!("`{}` is not a pattern: {}", text.value, error.msg);
            return Err(Fault::error(BAD_PATTERN, text.span.clone(), message));
        }
        let fixed = below + fixed_folder(&parts);
        if is_store && Url::parse(&fixed).ok().is_none_or(|url| !url.has_host()) {
            let message = format!("`{}` names no bucket before its first placeholder", text.value);
            return Err(Fault::error(BAD_PATTERN, text.span.clone(), message));
        }
        let names: String = parts.iter().enumerate().map(|(at, part)| part.names(at)).collect();
        let names =
            Regex::new(&format!("(?s)(?:^|/){names}$")).expect("it is made of escaped text and known groups");
        Ok(Self { text: text.value.clone(), names, fixed, walk, is_store })
    }

    /// Whether it is one of an object store.
    pub(super) fn is_store(&self) -> bool {
        self.is_store
    }

    /// The whole pattern, for messages.
    pub(super) fn shown(&self) -> &str {
        &self.walk
    }

    /// The files that match by their decoded paths or addresses, folders left out.
    pub(super) async fn files(&self, client: &StageClient) -> Result<Vec<(String, Asset)>, Failure> {
        if self.is_store {
            return self.objects(client).await;
        }
        let pattern = self.clone();
        off_loop(move || pattern.local_files()).await
    }

    fn local_files(&self) -> Result<Vec<(String, Asset)>, Failure> {
        let failed = |error: String| Failure::fatal(format!("cannot list `{}`: {error}", self.text));
        let mut files = Vec::new();
        for path in glob::glob_with(&self.walk, OPTIONS).map_err(|error| failed(error.to_string()))? {
            let path = path.map_err(|error| failed(error.to_string()))?;
            if is_file_or_fails(&path) {
                let text = path.to_string_lossy().into_owned();
                files.push((text, asset(ONLY_ASSET.to_owned(), Location::Local(path))));
            }
        }
        Ok(files)
    }

    async fn objects(&self, client: &StageClient) -> Result<Vec<(String, Asset)>, Failure> {
        let pattern = Pattern::new(&self.walk).expect("it was checked with the options");
        let folder = Url::parse(&self.fixed).expect("it was checked with the options");
        let mut objects = client.objects(&folder)?;
        let mut files = Vec::new();
        while let Some(object) = objects.try_next().await? {
            let text = percent_decode_str(object.url.as_str()).decode_utf8_lossy().into_owned();
            if pattern.matches_with(&text, OPTIONS) && !text.ends_with('/') {
                let mut asset = asset(ONLY_ASSET.to_owned(), Location::Remote(object.url));
                (asset.size, asset.version) = (Some(object.size), object.etag);
                files.push((text, asset));
            }
        }
        Ok(files)
    }

    /// What a file's path or address says of id and asset; `None` where a name that stands twice has two values.
    pub(super) fn take_apart(&self, text: &str) -> Option<Named> {
        let groups = self.names.captures(text)?;
        let value = |name: &str| -> Result<Option<String>, ()> {
            let mut values = self.names.capture_names().enumerate().filter_map(|(at, group)| {
                group.filter(|group| group.starts_with(name)).and(groups.get(at)).map(|found| found.as_str())
            });
            let first = values.next();
            if values.all(|other| Some(other) == first) { Ok(first.map(str::to_owned)) } else { Err(()) }
        };
        let stem = || Path::new(text).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let id = value("id").ok()?.unwrap_or_else(stem);
        let asset = value("asset").ok()?;
        let below = Path::new(text).parent().and_then(|parent| parent.strip_prefix(&self.fixed).ok());
        let folder = below.map(|below| below.to_string_lossy().into_owned()).unwrap_or_default();
        Some(Named { id, asset, folder })
    }
}

/// A piece of a pattern.
enum Part {
    /// Pattern text without braces.
    Text(String),
    /// `{id}` or `{asset}`.
    Name(&'static str),
}

impl Part {
    fn walk(&self) -> &str {
        match self {
            Part::Text(text) => text,
            Part::Name(_) => "*",
        }
    }

    /// As a regular expression; the text of the pattern matches what it matches when walking.
    fn names(&self, at: usize) -> String {
        match self {
            Part::Name(name) => format!("(?P<{name}{at}>[^/]+)"),
            Part::Text(text) => expression(text),
        }
    }
}

fn parse(text: &Spanned<String>) -> Result<Vec<Part>, Fault> {
    let mut parts = vec![Part::Text(String::new())];
    let mut rest = text.value.as_str();
    while let Some(at) = rest.find(['{', '}']) {
        push(&mut parts, &rest[..at]);
        let brace = &rest[at..=at];
        if rest[at + 1..].starts_with(brace) {
            push(&mut parts, brace);
            rest = &rest[at + 2..];
            continue;
        }
        let name = rest[at + 1..].split_once('}').filter(|_| brace == "{");
        let (name, after) = name.ok_or_else(|| {
            fault(&text.span, &format!("`{brace}` has no partner"), "double it for a literal brace")
        })?;
        let known = ["id", "asset"].into_iter().find(|known| *known == name);
        let unknown = || {
            fault(
                &text.span,
                &format!("unknown placeholder `{{{name}}}`"),
                &suggestion(name, ["id", "asset"]),
            )
        };
        parts.push(Part::Name(known.ok_or_else(unknown)?));
        rest = after;
    }
    push(&mut parts, rest);
    let has = |wanted: &str| parts.iter().any(|part| matches!(part, Part::Name(name) if *name == wanted));
    if has("asset") && !has("id") {
        return Err(fault(
            &text.span,
            "`{asset}` stands without `{id}`",
            "name what the assets of one item have in common with `{id}`",
        ));
    }
    Ok(parts)
}

fn fault(span: &Span, message: &str, help: &str) -> Fault {
    Fault::error(BAD_PATTERN, span.clone(), message).help(help)
}

fn push(parts: &mut Vec<Part>, text: &str) {
    match parts.last_mut() {
        Some(Part::Text(before)) => before.push_str(text),
        _ => parts.push(Part::Text(text.to_owned())),
    }
}

/// A pattern text as a regular expression. Walking has decided already whether a file matches, so dots need no rule.
fn expression(text: &str) -> String {
    let mut expression = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '*' if rest.starts_with("**/") => {
                expression.push_str("(?:.*/)?");
                3
            }
            '*' => {
                expression.push_str("[^/]*");
                rest.len() - rest.trim_start_matches('*').len()
            }
            '?' => {
                expression.push_str("[^/]");
                1
            }
            '[' => {
                // `]` stands first where it is one of the characters, after a `!` that may come before.
                let skip = if rest[1..].starts_with('!') { 3 } else { 2 };
                let end =
                    rest.get(skip..).and_then(|rest| rest.find(']')).map_or(rest.len(), |end| skip + end + 1);
                expression.push_str("[^/]");
                end
            }
            other => {
                expression.push_str(&regex::escape(&other.to_string()));
                other.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    expression
}

/// The folders that stand in the pattern before anything that can match several, with the `/` after them.
fn fixed_folder(parts: &[Part]) -> &str {
    let Some(Part::Text(text)) = parts.first() else { return "" };
    let fixed = text.find(['*', '?', '[']).map_or(text.as_str(), |at| &text[..at]);
    fixed.rfind('/').map_or("", |at| &fixed[..=at])
}

/// The pipeline's folder, absolute, with a `/` at its end.
fn folder_text(folder: &Path) -> String {
    let absolute = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let text = absolute.to_string_lossy().into_owned();
    if text.ends_with('/') { text } else { text + "/" }
}

/// Folders and pipes are no files; what cannot be looked at, such as a broken link, is an item that fails with the cause.
fn is_file_or_fails(path: &Path) -> bool {
    std::fs::metadata(path).map_or(true, |found| found.is_file())
}
