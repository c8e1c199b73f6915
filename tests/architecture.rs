//! The floors of `src/`: a module imports modules on lower floors only, so nothing is cyclic;
//! and the fences: a foreign crate is named only in the modules that wrap it.
#![allow(clippy::unwrap_used, reason = "a test that cannot read its own sources fails")]

use std::fs;
use std::path::{Path, PathBuf};

/// Ground floor first. Neighbours on one floor do not know each other.
const FLOORS: &[&[&str]] = &[
    &["units", "ids"],
    &["formula", "raster", "machine", "events"],
    &["config", "ledger", "progress", "report"],
    &["resources"],
    &["remote"],
    &["contract"],
    &["ops", "plan"],
    &["engine"],
    &["cli"],
];

/// Which modules may name a foreign crate; a crate that is not listed is free.
const FENCES: &[(&str, &[&str])] = &[
    ("clap", &["cli"]),
    ("gdal", &["raster"]),
    ("gdal_sys", &["raster"]),
    ("indicatif", &["progress"]),
    ("petgraph", &["plan"]),
    ("toml", &["config"]),
];

#[test]
fn imports_go_down() {
    check(|source| {
        let own = source.floor();
        let mut wrong = Vec::new();
        if source.shipped_code().contains(&"super::".repeat(source.depth)) {
            wrong.push(format!("`super::` leaves `{}`; write `crate::`", source.module));
        }
        for target in source.crate_paths() {
            if target != source.module && floor_of(&target).is_none_or(|floor| floor >= own) {
                wrong.push(format!("`{}` may not import `crate::{target}`", source.module));
            }
        }
        wrong
    });
}

#[test]
fn foreign_crates_stay_fenced() {
    check(|source| {
        FENCES
            .iter()
            .filter(|(_, modules)| !modules.contains(&source.module.as_str()))
            .filter(|(name, _)| source.names_crate(name))
            .map(|(name, modules)| format!("`{name}::` belongs in {modules:?}"))
            .collect()
    });
}

/// Runs `rule` over every file of `src/` but its roots and fails with all that it finds.
fn check(rule: impl Fn(&Source) -> Vec<String>) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let wrong: Vec<String> = rust_files(&root)
        .iter()
        .map(|file| Source::read(&root, file))
        .filter(|source| !matches!(source.module.as_str(), "main" | "lib"))
        .flat_map(|source| rule(&source).into_iter().map(move |it| format!("{}: {it}", source.name)))
        .collect();
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

fn floor_of(module: &str) -> Option<usize> {
    FLOORS.iter().position(|floor| floor.contains(&module))
}

/// One file of `src/`, its comments blanked.
struct Source {
    /// The path under `src/`, for messages.
    name: String,
    /// The top-level module it belongs to.
    module: String,
    /// How many `super::` lead from this file to the crate root.
    depth: usize,
    code: String,
}

impl Source {
    fn read(root: &Path, file: &Path) -> Source {
        let path = file.strip_prefix(root).unwrap();
        let module = path.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs");
        let text = fs::read_to_string(file).unwrap();
        Source {
            name: path.display().to_string(),
            module: module.to_owned(),
            depth: path.iter().count() - usize::from(path.ends_with("mod.rs")),
            code: text.lines().map(|line| line.split("//").next().unwrap().to_owned() + "\n").collect(),
        }
    }

    fn floor(&self) -> usize {
        floor_of(&self.module).unwrap_or_else(|| panic!("give `{}` a floor", self.module))
    }

    /// The code before the file's own tests.
    fn shipped_code(&self) -> &str {
        self.code.split("#[cfg(test)]").next().unwrap()
    }

    /// The first segment of every `crate::` path; `crate::{a, b::c}` gives two.
    fn crate_paths(&self) -> Vec<String> {
        self.paths_after("crate::")
            .flat_map(|rest| match rest.strip_prefix('{') {
                Some(group) => group_heads(group),
                None => vec![identifier(rest)],
            })
            .collect()
    }

    fn names_crate(&self, name: &str) -> bool {
        self.paths_after(&format!("{name}::")).next().is_some()
    }

    /// What follows each `prefix` that begins a path.
    fn paths_after(&self, prefix: &str) -> impl Iterator<Item = &str> {
        self.code
            .match_indices(prefix)
            .filter(|(at, _)| {
                let before = self.code[..*at].trim_end_matches("::");
                !before.ends_with(|c: char| c.is_alphanumeric() || "_$".contains(c))
            })
            .map(|(at, path)| &self.code[at + path.len()..])
    }
}

/// The first identifier of each entry of a `{…}` group whose opening brace is already eaten.
fn group_heads(group: &str) -> Vec<String> {
    let mut heads = Vec::new();
    let (mut depth, mut at_entry) = (0, true);
    for (at, c) in group.char_indices() {
        match c {
            '}' if depth == 0 => break,
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => at_entry = true,
            c if at_entry && !c.is_whitespace() => {
                heads.push(identifier(&group[at..]));
                at_entry = false;
            }
            _ => {}
        }
    }
    heads
}

fn identifier(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

fn rust_files(root: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}
