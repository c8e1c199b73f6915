//! How often servers are asked.

use std::time::Duration;

use crate::job::Job;
use crate::served::{names, serve, urls};
use crate::server::Server;

/// How many stages make requests at the same time.
const STAGES: usize = 8;

/// Scenes that `STAGES` stages fetch, each its own.
fn in_many_stages(server: &Server, names: &[String], uses: &str) -> String {
    let mut text = "[resources]\nprovider.rate = { limit = \"40/s\", burst = 1 }\n\n[stages]\n".to_owned();
    for (stage, names) in names.chunks(names.len() / STAGES).enumerate() {
        let list = urls(server, names).iter().map(|url| format!("\"{url}\", ")).collect::<String>();
        text += &format!(
            "listed{stage} = {{ list = {{ uris = [{list}] }} }}\n\
             fetched{stage} = {{ from = \"listed{stage}\", {uses} fetch = {{}} }}\n"
        );
    }
    let fetched = (0..STAGES).map(|stage| format!("\"fetched{stage}\", ")).collect::<String>();
    text + &format!("written = {{ from = [{fetched}], write = {{ path = \"out/{{id}}.tif\" }} }}\n")
}

/// 40 requests at 40 a second: the last one comes 39/40 s after the first or later, and none before its time.
#[test]
fn a_rate_spaces_the_requests_of_all_stages_that_use_it() {
    let names = names(40);
    let job = Job::new("");
    let server = serve(&job, &names);
    job.rewrite(&in_many_stages(&server, &names, "uses = [\"provider\"],"));

    job.run().expect_exit(0);

    let arrivals: Vec<_> = server.requests().iter().map(|request| request.at).collect();
    assert_eq!(arrivals.len(), 40, "one request for a small file");
    // The server may see the first request so much late.
    let late = Duration::from_millis(100);
    for (nth, arrival) in arrivals.iter().enumerate() {
        let earliest = Duration::from_secs_f64(nth as f64 / 40.0);
        let after = arrival.duration_since(arrivals[0]);
        assert!(after + late >= earliest, "request {nth} came after {after:?}");
    }
}

#[test]
fn a_server_that_refuses_what_comes_too_soon_is_served_without_a_failed_item() {
    let names = names(24);
    let job = Job::new("");
    let server = serve(&job, &names);
    server.allow(10);
    job.rewrite(&in_many_stages(&server, &names, ""));

    job.run().expect_exit(0);

    assert_eq!(job.outputs().len(), 24);
    let refused = server.requests().iter().filter(|request| request.is_refused).count();
    assert!(refused > 0, "24 requests at once are more than 10 a second");
}
