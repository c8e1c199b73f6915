//! What must never be told: signatures in addresses, and headers that open doors.

use std::fs;
use std::path::Path;

use crate::job::Job;
use crate::served::{names, pipeline, serve, urls};

/// All bytes of the files below a folder.
fn everything_below(folder: &Path) -> Vec<u8> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| if path.is_dir() { everything_below(&path) } else { fs::read(path).unwrap() })
        .collect()
}

#[test]
fn signatures_and_headers_are_in_no_message_record_or_ledger() {
    let names = names(3);
    let job = Job::new("");
    let server = serve(&job, &names[..2]);
    let signed: Vec<_> = urls(&server, &names).iter().map(|url| format!("{url}?sig=hunter2")).collect();
    let access = format!("[access.\"{}\"]\nheaders = {{ Authorization = \"hunter3\" }}\n", server.url(""));
    job.rewrite(&format!("{}\n{access}", pipeline(&signed, "", "")));

    let ended = job.gisrun(&["job.toml", "--verbose"]).expect_exit(1);

    ended.line_with(&["`s02`", "s02.tif", "404"]);
    assert!(server.requests().iter().all(|request| request.path.ends_with("?sig=hunter2")));
    let said = format!("{}{}", ended.stdout, ended.stderr);
    let kept = String::from_utf8_lossy(&everything_below(&job.path(".gisrun"))).into_owned();
    assert!(kept.contains("s02.tif"), "the record tells of the failure");
    for (place, text) in [("said", said), ("kept", kept)] {
        assert!(!text.contains("hunter"), "a secret is {place}");
    }
}
