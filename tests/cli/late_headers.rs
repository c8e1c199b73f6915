//! Files of which nothing is known before their body: a server that knows no ranges and announces no length.

use std::fs;

use gisrun::events::Event;

use crate::job::Job;
use crate::scene::Scene;
use crate::served::{names, pipeline, urls};
use crate::server::Server;

/// Columns and rows; too large to come whole with the first bytes.
const SIZE: usize = 512;

fn serve(job: &Job, names: &[String]) -> Server {
    for name in names {
        Scene::meadow_of(SIZE).write(&job.path(&format!("served/{name}.tif")));
    }
    Server::start_plain(&job.path("served")).unwrap()
}

/// From `read` on each item needs what `encode` takes, more than 8 MiB: 512 × 512 pixels of 4 bytes as they come and as they
/// go, and buffers. The second and the third wait for their turn together, and more than 12 MiB there are not.
#[test]
fn memory_that_a_late_header_asks_for_is_an_overdraft_that_is_told() {
    let names = names(3);
    let job = Job::new("");
    let server = serve(&job, &names);
    let limits = "memory.bytes = \"12 MiB\"\nturns.rate = { limit = \"1/h\", burst = 1 }";
    let text = pipeline(&urls(&server, &names), limits, "queue = 3");
    job.rewrite(&text.replace("[stages.ndvi]\n", "[stages.ndvi]\nuses = [\"turns\"]\n"));

    let mut run = job.start_telling();
    run.events_until(|seen| seen.count(is_overdraft) > 0);
    run.interrupt_twice();
    let (code, _) = run.end_telling();

    assert_eq!(code, Some(130));
}

#[test]
fn late_headers_with_room_for_all_overdraw_nothing() {
    let names = names(3);
    let job = Job::new("");
    let server = serve(&job, &names);
    job.rewrite(&pipeline(&urls(&server, &names), "memory.bytes = \"1 GiB\"", ""));

    job.run().expect_exit(0);

    assert_eq!((job.outputs().len(), job.record().count(is_overdraft)), (3, 0));
}

fn is_overdraft(event: &Event) -> bool {
    matches!(event, Event::Overdraft { .. })
}

/// The file is brought to scratch once, all windows find it there, and it goes with the last of them.
#[test]
fn windows_of_a_file_with_a_late_header_share_one_copy_of_it() {
    let names = names(1);
    let job = Job::new("");
    let server = serve(&job, &names);
    let windowed = |text: String| {
        text.replace(
            "[stages.fetched]\nfrom = \"scenes\"",
            "[stages.cut]\nfrom = \"scenes\"\nwindow = { size = 128 }\n\n[stages.fetched]\nfrom = \"cut\"",
        )
        .replace("encode = { format = \"cog\" }", "encode = { format = \"cog\", assemble = true }")
    };
    let late = pipeline(&urls(&server, &names), "", "");
    job.rewrite(&windowed(late));

    job.run().expect_exit(0);

    let told = server.requests();
    assert_eq!(told.len(), 2, "the first bytes, and then the body: {told:?}");
    let pieces = fs::read(job.path("out/s00.tif")).unwrap();
    assert_eq!(fs::read_dir(job.path(".gisrun/job.scratch")).unwrap().count(), 0);

    let ranged = Server::start(&job.path("served")).unwrap();
    let whole = Job::new(&pipeline(&urls(&ranged, &names), "", ""));
    whole.run().expect_exit(0);
    assert!(pieces == fs::read(whole.path("out/s00.tif")).unwrap(), "the bytes are those of a whole file");
}
