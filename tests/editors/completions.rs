//! What the language servers of Tombi and Taplo offer at fixed places of a pipeline.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::ROOT;
use crate::language_server::{Completion, LanguageServer};

/// Marks the place.
const PLACE: char = '¦';

/// A text with a place, what is offered there among other things, and what is not.
struct Case {
    text: &'static str,
    offers: &'static [&'static str],
    not: &'static [&'static str],
}

const CASES: &[Case] = &[
    Case {
        text: "¦",
        offers: &["description", "params", "run", "grids", "resources", "access", "stages"],
        not: &["from", "warp"],
    },
    Case {
        text: "[run]\n¦",
        offers: &["max-failures", "grace", "gdal", "scratch", "ledger", "uses"],
        not: &["slots"],
    },
    Case { text: "[run]\ngdal = { ¦ }", offers: &["cache"], not: &["grace"] },
    Case { text: "[params]\nyear = { ¦ }", offers: &["default", "help", "env"], not: &["slots"] },
    Case {
        text: "[grids.utm32]\n¦",
        offers: &["crs", "resolution", "bounds", "tile", "align"],
        not: &["warp"],
    },
    Case { text: "[resources.cores]\n¦", offers: &["slots", "bytes", "rate"], not: &["limit", "crs"] },
    Case {
        text: "[resources.cores]\nslots = { ¦ }",
        offers: &["memory", "working-set", "descriptors", "each", "adaptive", "at-least", "at-most"],
        not: &["limit", "bytes"],
    },
    Case { text: "[resources.provider]\nrate = { ¦ }", offers: &["limit", "burst"], not: &["working-set"] },
    Case { text: "[access.\"https://h.example\"]\n¦", offers: &["headers", "sign"], not: &["crs"] },
    Case {
        text: "[stages.a]\n¦",
        offers: &[
            "from",
            "uses",
            "queue",
            "timeout",
            "retry",
            "on-error",
            "isolation",
            "list",
            "glob",
            "stac",
            "filter",
            "group",
            "window",
            "fetch",
            "read",
            "calc",
            "mask",
            "warp",
            "composite",
            "stats",
            "encode",
            "write",
            "table",
            "exec",
        ],
        not: &["resampling", "slots"],
    },
    Case {
        text: "[stages.a]\nfrom = \"b\"\non-error = \"¦\"",
        offers: &["\"fail\"", "\"stop\""],
        not: &["\"thread\""],
    },
    Case {
        text: "[stages.a]\nfrom = \"b\"\nisolation = \"¦\"",
        offers: &["\"thread\"", "\"process\""],
        not: &["\"stop\""],
    },
    Case {
        text: "[stages.a]\nfrom = \"b\"\nretry = { ¦ }",
        offers: &["tries", "first-delay", "max-delay", "total"],
        not: &["from"],
    },
    Case {
        text: "[stages.a]\nfrom = \"b\"\nwarp = { ¦ }",
        offers: &["grid", "crs", "resolution", "bounds", "align", "resampling"],
        not: &["from", "reduce", "dtype", "format"],
    },
    Case {
        text: "[stages.a]\nfrom = \"b\"\nwarp = { resampling = \"¦\" }",
        offers: &["\"nearest\"", "\"bilinear\"", "\"average\"", "\"mode\""],
        not: &["\"fail\""],
    },
    Case {
        text: "[stages.a.calc]\n¦",
        offers: &["bands", "dtype", "nodata", "scale"],
        not: &["from", "resampling"],
    },
    Case {
        text: "[stages.a]\nfrom = \"b\"\ncalc = { dtype = \"¦\" }",
        offers: &["\"uint8\"", "\"int16\"", "\"float32\""],
        not: &["\"nearest\""],
    },
    Case {
        text: "[stages.a]\nfrom = \"b\"\nread = { ¦ }",
        offers: &["bands", "grid", "scaling", "nodata", "max-size"],
        not: &["dtype"],
    },
    Case {
        text: "[stages.a]\nfrom = \"b\"\nread = { scaling = \"¦\" }",
        offers: &["\"none\"", "\"file\"", "\"stac\""],
        not: &["\"nearest\""],
    },
    Case {
        text: "[stages.a]\nfrom = \"b\"\nencode = { ¦ }",
        offers: &["format", "compress", "level", "predictor", "assemble"],
        not: &["path", "bounds"],
    },
    Case {
        text: "[stages.a]\nfrom = \"b\"\nencode = { format = \"¦\" }",
        offers: &["\"cog\"", "\"gtiff\""],
        not: &["\"none\""],
    },
    Case {
        text: "[stages.a]\nfrom = \"b\"\nwrite = { ¦ }", offers: &["path", "existing"], not: &["format"]
    },
    Case {
        text: "[stages.a]\nfrom = \"b\"\nwrite = { existing = \"¦\" }",
        offers: &["\"refuse\"", "\"replace\"", "\"keep\""],
        not: &["\"fail\""],
    },
    Case {
        text: "[stages.a]\nfrom = \"b\"\nstats = { ¦ }",
        offers: &["statistics", "percentiles", "zones", "zone-id", "per"],
        not: &["path"],
    },
];

#[test]
fn tombi_completes_at_fixed_places() {
    assert_completes(Command::new("tombi").args(["lsp", "--offline"]));
}

#[test]
fn taplo_completes_at_fixed_places() {
    let bridge = Path::new(ROOT).join("tests/editors/taplo_lsp.mjs");
    assert_completes(Command::new("node").arg(bridge));
}

fn assert_completes(command: &mut Command) {
    assert!(CASES.len() >= 20);
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("schema")).unwrap();
    let schema = Path::new(ROOT).join("schema/gisrun.schema.json");
    fs::copy(schema, folder.path().join("schema/gisrun.schema.json")).unwrap();
    let mut server = LanguageServer::start(command, folder.path());
    let mut wrong = Vec::new();
    for (number, case) in CASES.iter().enumerate() {
        let text = format!("#:schema schema/gisrun.schema.json\n\nname = \"p\"\n\n{}\n", case.text);
        let at = text.find(PLACE).unwrap();
        let line = text[..at].matches('\n').count();
        let column = text[..at].rsplit('\n').next().unwrap().len();
        let file = folder.path().join(format!("place-{number}.toml"));
        let text = text.replace(PLACE, "");
        fs::write(&file, &text).unwrap();
        wrong.extend(complaints(case, &server.complete(&file, &text, line, column)));
    }
    assert_eq!(wrong, Vec::<String>::new());
}

/// What is missing, what has no words beside it, what should not be there.
fn complaints(case: &Case, found: &[Completion]) -> Vec<String> {
    let is_offered = |label: &str| found.iter().any(|it| it.label == label);
    let is_explained =
        |label: &str| found.iter().any(|it| it.label == label && !it.documentation.trim().is_empty());
    let missing =
        case.offers.iter().filter(|label| !is_offered(label)).map(|label| (label, "is not offered"));
    let bare = case.offers.iter().filter(|label| is_offered(label) && !is_explained(label));
    let surplus =
        case.not.iter().filter(|label| is_offered(label)).map(|label| (label, "does not belong here"));
    let all = missing.chain(bare.map(|label| (label, "is not explained"))).chain(surplus);
    all.map(|(label, what)| format!("{:?}: `{label}` {what}", case.text)).collect()
}
