//! Broken pipelines that the schema alone can see to be broken: both engines refuse them as the program does.

use std::fs;
use std::path::{Path, PathBuf};

use gisrun::{cli, config, ops};
use serde_json::Value as Json;

use crate::{ROOT, fake_ops, said, taplo, tombi};

#[test]
fn both_engines_refuse_what_the_schema_refuses() {
    let real = cli::schema::compile(&ops::registry()).published();
    let mut wrong = Vec::new();
    let mut seen = 0;
    for (folder, schema) in [("faults/broken", real), ("language/broken", fake_ops::schema().published())] {
        let bench = Bench::new(&schema);
        for path in pipelines(folder).into_iter().filter(|path| bench.refuses(path)) {
            seen += 1;
            wrong.extend(bench.accepted_by(&path));
        }
    }
    assert!(seen >= 25, "the schema refuses {seen} pipelines alone");
    assert_eq!(wrong, Vec::<String>::new());
}

/// A folder with a schema where editors look for it, and their settings.
struct Bench {
    folder: tempfile::TempDir,
    validator: jsonschema::Validator,
}

impl Bench {
    fn new(schema: &Json) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("pipelines")).unwrap();
        fs::create_dir_all(folder.path().join("schema")).unwrap();
        fs::write(folder.path().join("schema/gisrun.schema.json"), schema.to_string()).unwrap();
        for name in [".taplo.toml", "tombi.toml"] {
            fs::copy(Path::new(ROOT).join(name), folder.path().join(name)).unwrap();
        }
        Self { folder, validator: jsonschema::validator_for(schema).unwrap() }
    }

    /// Whether a text is TOML and the schema finds a fault in it.
    fn refuses(&self, path: &Path) -> bool {
        let (tree, faults) = config::parse(&fs::read_to_string(path).unwrap());
        faults.is_empty() && !self.validator.is_valid(&tree.to_json())
    }

    /// The engines that find no fault in a pipeline.
    fn accepted_by(&self, path: &Path) -> Vec<String> {
        let text = fs::read_to_string(path).unwrap();
        let text = format!("#:schema ../schema/gisrun.schema.json\n\n{text}");
        fs::write(self.folder.path().join("pipelines/x.toml"), text).unwrap();
        let engines = [
            ("tombi", tombi(self.folder.path(), "pipelines/x.toml")),
            ("taplo", taplo(self.folder.path(), "pipelines/x.toml")),
        ];
        let accepts = engines.iter().filter(|(_, output)| output.status.success());
        accepts
            .map(|(engine, output)| format!("{engine} accepts {}: {}", path.display(), said(output)))
            .collect()
    }
}

fn pipelines(folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(Path::new(ROOT).join("tests").join(folder)).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|suffix| suffix == "toml"));
    paths.sort();
    paths
}
