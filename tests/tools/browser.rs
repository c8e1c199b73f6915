//! The page in a real browser.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use gdal::Dataset;
use gisrun::events::{
    Event, Outline, OutlineResource, OutlineStage, QueueSample, Record, ResourceSample, Sample, Waits,
};
use serde_json::Value as Json;

use crate::job::Job;
use crate::meadows;

/// What the browser made of a page.
struct Seen {
    /// The document once its program has run.
    document: String,
    /// A picture of it.
    picture: PathBuf,
    /// Addresses that were asked for.
    asked: Vec<String>,
}

/// Opens a page; dark or light.
fn open(page: &Path, is_dark: bool) -> Seen {
    let folder = page.parent().unwrap();
    let (picture, log) = (folder.join("page.png"), folder.join("net.json"));
    let scheme = format!("--blink-settings=preferredColorScheme={}", if is_dark { 0 } else { 1 });
    let browse = |what: &str| {
        let output = Command::new("chromium")
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--hide-scrollbars",
                "--window-size=1200,2400",
            ])
            .args(["--no-first-run", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"])
            .arg(format!("--user-data-dir={}", folder.join("profile").display()))
            .arg(format!("--log-net-log={}", log.display()))
            .args([&scheme, what])
            .arg(format!("file://{}", page.display()))
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    browse(&format!("--screenshot={}", picture.display()));
    let document = browse("--dump-dom");
    let asked = asked(&fs::read_to_string(&log).unwrap());
    Seen { document, picture, asked }
}

/// The addresses that the page asked for, in a log of all that the browser did (the format is that of Chromium's NetLog). What
/// the browser looks up of its own accord has no origin.
fn asked(log: &str) -> Vec<String> {
    let log: Json = serde_json::from_str(log).unwrap();
    let of_a_page =
        |event: &&Json| event["params"]["initiator"].as_str().is_some_and(|it| it != "not an origin");
    let events = log["events"].as_array().unwrap().iter().filter(of_a_page);
    events.filter_map(|event| event["params"]["url"].as_str()).map(str::to_owned).collect()
}

impl Seen {
    /// `data-NAME` of the document.
    fn told(&self, name: &str) -> &str {
        let after = self.document.split(&format!("data-{name}=\"")).nth(1);
        after.unwrap_or_else(|| panic!("the page has not run to its end")).split('"').next().unwrap()
    }

    /// The part of the picture's pixels of which a colour says so, 0 to 1.
    fn part(&self, is_such: impl Fn(u8, u8, u8) -> bool) -> f64 {
        let picture = Dataset::open(&self.picture).unwrap();
        let band = |index| picture.rasterband(index).unwrap().read_band_as::<u8>().unwrap();
        let (red, green, blue) = (band(1), band(2), band(3));
        let pixels = red.data().iter().zip(green.data()).zip(blue.data());
        let such = pixels.filter(|((red, green), blue)| is_such(**red, **green, **blue)).count();
        such as f64 / red.data().len() as f64
    }
}

/// The page of a run.
fn page_of(job: &Job, record: &str) -> PathBuf {
    job.gisrun(&["report", record, "--html", "page.html"]).expect_exit(0);
    job.path("page.html")
}

#[test]
fn charts_are_drawn_light_and_dark_and_nothing_leaves_the_page() {
    let job = meadows(12);
    job.run().expect_exit(0);
    let page = page_of(&job, "job.toml");
    for is_dark in [false, true] {
        let seen = open(&page, is_dark);
        assert!(seen.told("charts").parse::<u32>().unwrap() >= 15, "one for each resource, queue and more");
        assert_eq!(seen.told("strips"), "true");
        assert_eq!(seen.asked, Vec::<String>::new());
        // Curves are blue: #1f6fb2 on light, #6cb2ee on dark ground.
        let curves = seen.part(|red, green, blue| {
            if is_dark {
                (red, green, blue) == (0x6c, 0xb2, 0xee)
            } else {
                (red, green, blue) == (0x1f, 0x6f, 0xb2)
            }
        });
        assert!(curves > 0.0005, "{curves}");
        let bright = seen.part(|red, green, blue| u32::from(red) + u32::from(green) + u32::from(blue) > 600);
        assert_eq!(bright < 0.2, is_dark, "{bright} of the picture is bright");
    }
}

#[test]
fn a_page_that_asked_would_be_seen_and_this_one_may_not() {
    let job = meadows(1);
    job.run().expect_exit(0);
    let text = fs::read_to_string(page_of(&job, "job.toml")).unwrap();
    let asking = text.replace("<main>", "<main><img src=\"http://127.0.0.1:9/picture.png\">");
    let open_to_all = asking.replace("Content-Security-Policy", "none");
    for (page, expected) in [(asking, 0), (open_to_all, 1)] {
        fs::write(job.path("asking.html"), page).unwrap();
        assert_eq!(open(&job.path("asking.html"), false).asked.len(), expected);
    }
}

#[test]
fn a_hundred_thousand_items_are_drawn_in_three_seconds() {
    let job = Job::new("");
    fs::write(job.path("run.jsonl"), long_record(100_000)).unwrap();
    let seen = open(&page_of(&job, "run.jsonl"), false);
    assert!(seen.document.contains("100,000 of 100,000 items done"), "the totals are those of the record");
    let milliseconds: u64 = seen.told("milliseconds").parse().unwrap();
    assert!(milliseconds < 3000, "{milliseconds} ms");
    assert!(seen.told("charts").parse::<u32>().unwrap() >= 8);
}

/// The record of a run of so many items through six stages, a sample each second.
fn long_record(items: u64) -> String {
    let names = ["scenes", "fetched", "bands", "ndvi", "encoded", "written"];
    let stage = |(at, name): (usize, &&str)| OutlineStage {
        name: (*name).into(),
        op: "test".into(),
        from: names[..at].last().map(|before| (*before).into()).into_iter().collect(),
        parallelism: 8,
        queue: 8,
        ..OutlineStage::default()
    };
    let resource = OutlineResource {
        name: "cores".into(),
        kind: "slots".into(),
        limit: 8.0,
        ..OutlineResource::default()
    };
    let stages = names.iter().enumerate().map(stage).collect();
    let outline = Outline { stages, resources: vec![resource], ..Outline::default() };
    let mut record = String::new();
    let mut tell = |ts: f64, event: Event| {
        record += &serde_json::to_string(&Record { ts, event }).unwrap();
        record.push('\n');
    };
    let (program, pipeline, run) = ("gisrun".to_owned(), "long.toml".to_owned(), "test".to_owned());
    tell(0.0, Event::RunStarted { version: 2, program, pipeline, run, outline });
    for number in 0..items {
        let (begin, item): (f64, gisrun::ids::ItemId) =
            (number as f64 / 50.0, format!("item-{number:06}").into());
        tell(begin, Event::ItemListed { stage: "scenes".into(), item: item.clone() });
        for (at, name) in names.iter().enumerate().skip(1) {
            let (at, stage): (f64, gisrun::ids::StageName) = (begin + at as f64 * 0.02, (*name).into());
            let (item, attempt, waited) = (item.clone(), 1, Waits::default());
            tell(at, Event::StageStarted { stage: stage.clone(), item: item.clone(), attempt, waited });
            let (worked, bytes_in, bytes_out, outputs) = (0.02, 1 << 20, 1 << 20, 1);
            tell(
                at + 0.02,
                Event::StageFinished { stage, item, attempt, worked, bytes_in, bytes_out, outputs },
            );
        }
        tell(begin + 0.12, Event::ItemFinished { item });
        if number % 50 == 0 {
            tell(begin, Event::Sample(sample(number)));
        }
    }
    record
}

fn sample(number: u64) -> Sample {
    let used = (number / 50 % 8) as f64;
    let name = "cores".into();
    Sample {
        resources: vec![ResourceSample { name, used, limit: 8.0, waiting: 0, holders: Vec::new() }],
        queues: vec![QueueSample { stage: "bands".into(), depth: number % 8, places: 8 }],
        descriptors: 40,
        threads: 12,
        resident: 200 << 20,
        cpu: used,
        items: 8,
        ..Sample::default()
    }
}
