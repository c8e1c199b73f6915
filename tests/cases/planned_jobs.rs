//! The ten jobs of `../shared/jobs`, what real users would want to write: they load, check and plan as they stand.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bench::{program, shared};

/// The files that jobs name and check looks into.
const BESIDE: [(&str, &str); 4] = [
    ("segment.py", "print('a program')\n"),
    ("model.pt", "weights\n"),
    ("terrain.sh", "true\n"),
    ("aoi.geojson", r#"{"type": "Polygon", "coordinates": [[[10, 47], [11, 47], [11, 48], [10, 47]]]}"#),
];

#[test]
fn ten_jobs_of_users_load_check_and_plan() {
    let jobs = jobs();
    assert_eq!(jobs.len(), 10, "{jobs:?}");
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in BESIDE {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let mut wrong = Vec::new();
    for job in &jobs {
        let name = job.file_name().unwrap().to_str().unwrap();
        fs::copy(job, folder.path().join(name)).unwrap();
        for arguments in [&["check", "--deny-warnings", name][..], &["plan", "--offline", name]] {
            wrong.extend(complaint(folder.path(), arguments));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

/// What the program says, unless it ends well.
fn complaint(folder: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program()).args(arguments).current_dir(folder).output().unwrap();
    let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    (!output.status.success()).then(|| format!("{arguments:?}\n{}", said.concat()))
}

fn jobs() -> Vec<PathBuf> {
    let entries = fs::read_dir(shared().join("jobs")).unwrap().map(|entry| entry.unwrap().path());
    let mut jobs: Vec<_> =
        entries.filter(|path| path.extension().is_some_and(|suffix| suffix == "toml")).collect();
    jobs.sort();
    jobs
}
