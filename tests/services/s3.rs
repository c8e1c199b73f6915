//! An object store that speaks S3: listed, read by ranges, written in parts, resumed.

use std::process::{Child, Command, Stdio};

use gdal::DriverManager;
use gdal::raster::{Buffer, RasterCreationOptions};
use serde_json::Value as Json;

use crate::bench::{Bench, free_ports, of_kind, services, told, wait_for};

const KEYS: [(&str, &str); 2] = [("AWS_ACCESS_KEY_ID", "testkey"), ("AWS_SECRET_ACCESS_KEY", "hunter2")];

/// Columns and rows of the raster: 4 bytes × 3072² are 36 MiB, which are three parts.
const EDGE: usize = 3072;

/// The store with the bucket `tiles`; it ends with the value.
struct Store {
    process: Child,
    port: u16,
}

impl Store {
    fn start() -> Self {
        let port = free_ports(1);
        let mut server = Command::new(services().join("moto_server"));
        server.args(["-H", "127.0.0.1", "-p", &port.to_string()]).stdout(Stdio::null()).stderr(Stdio::null());
        let store = Self { process: server.spawn().unwrap(), port };
        wait_for(port);
        store.ask("store.create_bucket(Bucket='tiles')");
        store
    }

    /// What a line of Python with the client `store` prints.
    #[track_caller]
    fn ask(&self, line: &str) -> String {
        let client = format!(
            "import boto3, json\nstore = boto3.client('s3', endpoint_url='http://127.0.0.1:{}', region_name='us-east-1')",
            self.port
        );
        let mut python = Command::new(services().join("python"));
        told(&python.args(["-c", &format!("{client}\n{line}")]).envs(KEYS).output().unwrap())
    }

    /// What the store says of an object.
    #[track_caller]
    fn head(&self, key: &str) -> Json {
        let line = format!(
            "head = store.head_object(Bucket='tiles', Key='{key}')\n\
             print(json.dumps([head['ETag'], head['ContentLength'], head['ContentType'], head['Metadata']]))"
        );
        serde_json::from_str(&self.ask(&line)).unwrap()
    }

    /// A pipeline that reaches the store.
    fn pipeline(&self, stages: &str) -> String {
        format!(
            "[access.\"s3://tiles\"]\nendpoint = \"http://127.0.0.1:{}\"\n\n[stages]\n{stages}",
            self.port
        )
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

/// A raster in which no pixel is like another, so that nothing compresses it: the value at row r and column c is
/// r × 3072 + c, in tiles of 512 × 512.
fn write_raster(bench: &Bench) {
    std::fs::create_dir(bench.path("in")).unwrap();
    let options = RasterCreationOptions::from_iter(["TILED=YES", "BLOCKXSIZE=512", "BLOCKYSIZE=512"]);
    let driver = DriverManager::get_driver_by_name("GTiff").unwrap();
    let path = bench.path("in/a 1#2.tif");
    let file = driver.create_with_band_type_with_options::<u32, _>(&path, EDGE, EDGE, 1, &options).unwrap();
    let mut pixels = Buffer::new((EDGE, EDGE), (0..(EDGE * EDGE) as u32).collect());
    file.rasterband(1).unwrap().write((0, 0), (EDGE, EDGE), &mut pixels).unwrap();
    file.close().unwrap();
}

#[test]
fn a_store_is_written_in_parts_listed_and_read_by_ranges() {
    let (bench, store) = (Bench::new(), Store::start());
    write_raster(&bench);
    let upload = store.pipeline(
        r#"
files   = { glob = { paths = ["in/*.tif"] } }
fetched = { from = "files", fetch = {} }
written = { from = "fetched", write = { path = "s3://tiles/in/{id}.tif" } }
index   = { from = "written", table = { path = "s3://tiles/index.csv" } }
"#,
    );
    let events = bench.run("upload", &upload, &KEYS);
    assert_eq!(of_kind(&events, "item_finished").len(), 1);
    let head = store.head("in/a 1#2.tif");
    let size = std::fs::metadata(bench.path("in/a 1#2.tif")).unwrap().len();
    assert!(head[0].as_str().unwrap().ends_with("-3\""), "three parts of at most 16 MiB: {head}");
    assert_eq!(head[1], size);
    assert_eq!(head[3]["gisrun-fingerprint"].as_str().unwrap().len(), 64, "{head}");
    assert_eq!(store.head("index.csv")[2], "text/csv");

    let windows = store.pipeline(
        r#"
files   = { glob = { paths = ["s3://tiles/in/{id}.tif"] } }
windows = { from = "files", window = { size = 512 } }
fetched = { from = "windows", fetch = {} }
bands   = { from = "fetched", read = {} }
rows    = { from = "bands", stats = { statistics = ["count", "min", "max"] } }
table   = { from = "rows", table = { path = "rows.jsonl" } }
"#,
    );
    let events = bench.run("windows", &windows, &KEYS);
    let bytes: u64 =
        of_kind(&events, "request").iter().map(|request| request["bytes"].as_u64().unwrap()).sum();
    assert!(bytes < size + (1 << 20), "every block moves once: {bytes} of {size} bytes");
    assert!(of_kind(&events, "request").len() > 36, "each of 36 windows by a range of its own");
    let rows = std::fs::read_to_string(bench.path("rows.jsonl")).unwrap();
    let last: Json = serde_json::from_str(rows.lines().last().unwrap()).unwrap();
    // The last window begins at row and column 2560.
    let (first, end) = (2560 * EDGE + 2560, EDGE * EDGE - 1);
    assert_eq!(
        (last["min"].as_f64(), last["max"].as_f64()),
        (Some(first as f64), Some(end as f64)),
        "{last}"
    );
}

#[test]
fn what_a_store_has_is_not_made_again_and_what_it_lost_is() {
    let (bench, store) = (Bench::new(), Store::start());
    write_raster(&bench);
    std::fs::copy(bench.path("in/a 1#2.tif"), bench.path("in/b.tif")).unwrap();
    let copy = store.pipeline(
        r#"
files   = { glob = { paths = ["in/*.tif"] } }
fetched = { from = "files", fetch = {} }
written = { from = "fetched", write = { path = "s3://tiles/out/{id}.tif" } }
"#,
    );
    let finished = |events: &[Json]| {
        let items = of_kind(events, "item_finished").into_iter().map(|event| event["item"].clone());
        items.collect::<Vec<_>>()
    };
    assert_eq!(finished(&bench.run("copy", &copy, &KEYS)).len(), 2);
    assert_eq!(finished(&bench.run("copy", &copy, &KEYS)), [] as [Json; 0]);
    store.ask("store.delete_object(Bucket='tiles', Key='out/b.tif')");
    assert_eq!(finished(&bench.run("copy", &copy, &KEYS)), ["b"]);

    // A ledger that is lost is made up for by the metadata, and what somebody else wrote stands.
    std::fs::remove_dir_all(bench.path(".gisrun")).unwrap();
    store.ask("store.put_object(Bucket='tiles', Key='out/b.tif', Body=b'mine')");
    let ended = bench.start("copy", &copy, &KEYS);
    assert_eq!(ended.status.code(), Some(1));
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(said.contains("`s3://tiles/out/b.tif` is there") && said.contains("1 item done"), "{said}");
    assert_eq!(store.head("out/b.tif")[1], 4, "it stands as it was");
}
