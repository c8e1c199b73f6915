//! The client against a server that misbehaves in every way it has to live with.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::FutureExt;
use futures::future::join_all;

use super::access::tests::{rule, signing};
use super::scripted::{Reply, Scripted};
use super::*;
use crate::events::{Event, FailureClass, Record, Subscriber, WholeReason};
use crate::resources::{Rate, RateFamily, Requirement, Slots};

const DATA: &[u8] = b"II*\0 the bytes of a small raster, or of something that looks like one";

fn range(range: std::ops::Range<u64>) -> Vec<std::ops::Range<u64>> {
    vec![range]
}

fn policy(tries: u32) -> RetryPolicy {
    let millis = Duration::from_millis;
    RetryPolicy { tries, first_delay: millis(1), max_delay: millis(4), total: Duration::from_secs(9) }
}

fn options() -> ClientOptions {
    ClientOptions { prefix: 16, ..ClientOptions::default() }
}

/// A client that does not wait long for a byte.
fn impatient(settings: StageSettings) -> StageClient {
    let options = ClientOptions { stall_timeout: Duration::from_millis(60), ..options() };
    Client::new(options, AccessRules::default(), None).for_stage(settings)
}

fn client_with(access: Vec<AccessRule>, settings: StageSettings) -> StageClient {
    Client::new(options(), AccessRules::new(access), None).for_stage(settings)
}

fn client() -> StageClient {
    client_with(Vec::new(), StageSettings { retry: policy(4), ..StageSettings::default() })
}

async fn whole(client: &StageClient, url: &url::Url) -> Result<Bytes, RequestError> {
    match client.get_whole(url, &mut |_| Ok(()), None, true, WholeReason::Mode).await? {
        Body::Memory(bytes) => Ok(bytes),
        Body::File(_) => unreachable!("there is no spill"),
    }
}

async fn fails(server: &Scripted, path: &str) -> RequestError {
    whole(&client(), &server.url(path)).await.expect_err("the script allows no success")
}

#[tokio::test]
async fn a_whole_object_comes_in_one_buffer_of_its_size() {
    let server = Scripted::serve(|_| Reply::new(200, DATA)).await;
    let mut asked = Vec::new();
    let mut admit = |bytes| {
        asked.push(bytes);
        Ok(())
    };
    let body = client()
        .get_whole(&server.url("/a"), &mut admit, None, true, WholeReason::Mode)
        .await
        .expect("a body");
    let Body::Memory(bytes) = body else { panic!("the length was stated") };
    assert_eq!((bytes.as_ref(), asked), (DATA, vec![DATA.len() as u64]));
    assert_eq!(server.seen()[0].header("accept-encoding"), Some("identity"));
}

#[tokio::test]
async fn a_refused_admission_ends_the_request_before_its_body() {
    let server = Scripted::serve(|_| Reply::new(200, DATA).stall_after(0)).await;
    let error = client()
        .get_whole(&server.url("/a"), &mut |_| Err("too large".into()), None, true, WholeReason::Mode)
        .await;
    assert_eq!(error.expect_err("refused").class(), FailureClass::Item);
}

#[tokio::test]
async fn transient_statuses_are_tried_again_until_one_succeeds() {
    for status in [408, 425, 429, 500, 502, 503, 504] {
        let server =
            Scripted::serve(move |seen| Reply::new(if seen.before < 3 { status } else { 200 }, DATA)).await;
        assert_eq!(whole(&client(), &server.url("/a")).await.expect("the fourth try").as_ref(), DATA);
        assert_eq!(server.seen().len(), 4, "{status}");
    }
}

#[tokio::test]
async fn tries_end() {
    let server = Scripted::serve(|_| Reply::new(503, "")).await;
    let error = fails(&server, "/a/b.tif?sig=secret").await;
    assert_eq!(error.class(), FailureClass::Transient);
    let expected = format!("GET {} → 503 Service Unavailable", server.url("/a/b.tif"));
    assert_eq!((error.to_string(), server.seen().len()), (expected, 4));
}

#[tokio::test]
async fn a_404_is_not_tried_again_and_not_remembered() {
    let server = Scripted::serve(|seen| {
        if seen.before == 0 { Reply::new(404, "") } else { Reply::part(seen, DATA, "\"a\"") }
    })
    .await;
    let client = client();
    let error = client.head(&server.url("/a")).await.expect_err("it is not there yet");
    assert_eq!((error.status().map(|status| status.as_u16()), server.seen().len()), (Some(404), 1));
    assert_eq!(
        client.head(&server.url("/a")).await.expect("it is there").version.size,
        Some(DATA.len() as u64)
    );
}

#[tokio::test]
async fn a_refusal_gives_the_reason_of_its_body() {
    let server = Scripted::serve(|seen| match seen.path.as_str() {
        "/xml" => Reply::new(403, "<?xml version='1.0'?><Error><Code>AccessDenied</Code></Error>"),
        _ => Reply::new(400, r#"{"code": "BadRequest", "description": "no such\ncollection"}"#),
    })
    .await;
    assert!(fails(&server, "/xml").await.to_string().ends_with("/xml → 403 Forbidden: AccessDenied"));
    assert!(
        fails(&server, "/json").await.to_string().ends_with("/json → 400 Bad Request: no such collection")
    );
}

#[tokio::test]
async fn retry_after_pauses_everybody_who_shares_the_rate() {
    let server = Scripted::serve(|seen| match (seen.path.as_str(), seen.before) {
        ("/limited", 0) => Reply::new(429, "").with("Retry-After", "1"),
        _ => Reply::new(200, DATA),
    })
    .await;
    let rate = Rate::new("provider".into(), 1000.0, 1000);
    let requirement = Requirement { rates: vec![rate.clone()], ..Requirement::default() };
    let client =
        client_with(Vec::new(), StageSettings { requirement, retry: policy(4), ..StageSettings::default() });
    let begun = Instant::now();
    let limited = tokio::spawn({
        let (client, url) = (client.clone(), server.url("/limited"));
        async move { whole(&client, &url).await }
    });
    while rate.paused_for().is_none() {
        tokio::task::yield_now().await;
    }
    whole(&client, &server.url("/other")).await.expect("served after the pause");
    assert!(begun.elapsed() >= Duration::from_secs(1));
    limited.await.expect("no panic").expect("served at the second try");
}

#[tokio::test]
async fn a_rate_per_host_counts_and_pauses_each_host_for_itself() {
    let closed = Scripted::serve(|_| Reply::new(429, "").with("Retry-After", "5")).await;
    let free = Scripted::serve(|_| Reply::new(200, DATA)).await;
    let family = RateFamily::new("provider".into(), 1000.0, 1000);
    let settings =
        StageSettings { host_rates: vec![family.clone()], retry: policy(2), ..StageSettings::default() };
    let client = client_with(Vec::new(), settings);
    let of = |server: &Scripted| family.of(&super::gate::host(&server.url("/")));
    let waiting = tokio::spawn({
        let (client, url) = (client.clone(), closed.url("/a"));
        async move { whole(&client, &url).await }
    });
    while of(&closed).paused_for().is_none() {
        tokio::task::yield_now().await;
    }
    assert!(of(&free).paused_for().is_none());
    for path in ["/a", "/b"] {
        whole(&client, &free.url(path)).await.expect("served, whatever the other host asked for");
    }
    assert_eq!((of(&free).taken(), of(&closed).taken()), (2, 1));
    waiting.abort();
}

#[tokio::test]
async fn retry_after_closes_the_host_where_there_is_no_rate() {
    let date = || httpdate::fmt_http_date(std::time::SystemTime::now() + Duration::from_secs(2));
    let server = Scripted::serve(move |seen| match seen.before {
        0 => Reply::new(503, "").with("Retry-After", date()),
        _ => Reply::new(200, DATA),
    })
    .await;
    let begun = Instant::now();
    whole(&client(), &server.url("/a")).await.expect("served after the pause");
    assert!(begun.elapsed() >= Duration::from_secs(1), "the date lies between one and two seconds ahead");
}

#[tokio::test]
async fn a_wait_longer_than_the_limit_fails_at_once_and_is_named() {
    let server = Scripted::serve(|_| Reply::new(429, "").with("Retry-After", "3600")).await;
    let error = fails(&server, "/a").await;
    assert!(error.to_string().contains("3600 s") && error.to_string().contains("429"), "{error}");
    assert_eq!((error.class(), server.seen().len()), (FailureClass::Item, 1));
}

#[tokio::test]
async fn a_body_that_ends_early_is_truncated_and_tried_again() {
    let server = Scripted::serve(|seen| match (seen.path.as_str(), seen.before) {
        ("/always", _) | ("/once", 0) => Reply::new(200, DATA).cut_after(10),
        _ => Reply::new(200, DATA),
    })
    .await;
    assert_eq!(whole(&client(), &server.url("/once")).await.expect("the second try").as_ref(), DATA);
    let error = fails(&server, "/always").await;
    assert_eq!(error.class(), FailureClass::Transient);
    assert!(error.to_string().contains("truncated: the body ends after 10 of 69 bytes"), "{error}");
}

#[tokio::test]
async fn a_body_that_stalls_is_given_up() {
    let server = Scripted::serve(|_| Reply::new(200, DATA).stall_after(5)).await;
    let client = impatient(StageSettings { retry: policy(4), ..StageSettings::default() });
    let error = whole(&client, &server.url("/a")).await.expect_err("it stalls");
    assert!(matches!(error, RequestError::Stalled { received: 5, .. }), "{error}");
    assert_eq!(server.seen().len(), 4);
}

#[tokio::test]
async fn a_request_that_takes_too_long_is_given_up() {
    let server = Scripted::serve(|_| Reply::new(200, DATA).stall_after(5)).await;
    let timeout = Some(Duration::from_millis(20));
    let client =
        client_with(Vec::new(), StageSettings { timeout, retry: policy(1), ..StageSettings::default() });
    let error = whole(&client, &server.url("/a")).await.expect_err("too slow");
    assert!(matches!(error, RequestError::TimedOut { .. }), "{error}");
}

#[tokio::test]
async fn nobody_listening_is_transient() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url =
        format!("http://{}/a", listener.local_addr().expect("it is bound")).parse().expect("an address");
    drop(listener);
    let error = whole(&client(), &url).await.expect_err("nobody listens");
    assert!(matches!(error, RequestError::Connection { .. }), "{error}");
    assert_eq!(error.class(), FailureClass::Transient);
}

#[tokio::test]
async fn a_login_page_is_named_and_not_tried_again() {
    let page = "<!DOCTYPE html><html>Please log in</html>";
    let server = Scripted::serve(move |_| Reply::new(200, page).with("Content-Type", "text/html")).await;
    let error = fails(&server, "/a").await;
    assert!(error.to_string().contains("looks like an HTML page"), "{error}");
    let error = client().head(&server.url("/b")).await.expect_err("no raster");
    assert!(error.to_string().contains("looks like an HTML page"), "{error}");
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test]
async fn a_compressed_body_is_unpacked() {
    // `printf hello | gzip -n`
    let packed = b"\x1f\x8b\x08\0\0\0\0\0\0\x03\xcb\x48\xcd\xc9\xc9\x07\0\x86\xa6\x10\x36\x05\0\0\0";
    let server =
        Scripted::serve(move |_| Reply::new(200, &packed[..]).with("Content-Encoding", "gzip")).await;
    assert_eq!(whole(&client(), &server.url("/a")).await.expect("unpacked").as_ref(), b"hello");
}

#[tokio::test]
async fn redirects_are_followed_and_loops_end() {
    let server = Scripted::serve(|seen| match seen.path.as_str() {
        "/a" => Reply::redirect("/b?x=1"),
        "/b?x=1" => Reply::new(200, DATA),
        loops => Reply::redirect(loops),
    })
    .await;
    assert_eq!(whole(&client(), &server.url("/a")).await.expect("at the second place").as_ref(), DATA);
    let error = fails(&server, "/loop").await;
    assert!(error.to_string().contains("more than 10 redirects"), "{error}");
    assert_eq!(server.seen().len(), 2 + 11);
}

#[tokio::test]
async fn redirects_lead_to_http_alone() {
    let server = Scripted::serve(|_| Reply::redirect("file:///etc/passwd")).await;
    assert!(matches!(fails(&server, "/a").await, RequestError::Redirect { .. }));
}

#[tokio::test]
async fn credentials_stay_with_their_host() {
    let server = Scripted::serve(|seen| match (seen.path.as_str(), seen.header("authorization")) {
        ("/here" | "/away", None) => Reply::new(401, ""),
        ("/here", _) => Reply::redirect("/same"),
        ("/away", _) => Reply::redirect(format!(
            "http://localhost:{}/other",
            seen.host.rsplit(':').next().expect("a port")
        )),
        ("/same", Some("secret")) | ("/other", None) => Reply::new(200, DATA),
        _ => Reply::new(400, "leaked or lost"),
    })
    .await;
    let client = client_with(
        vec![rule(server.url("/").as_str(), ("authorization", "secret"))],
        StageSettings::default(),
    );
    for path in ["/here", "/away"] {
        assert_eq!(whole(&client, &server.url(path)).await.expect(path).as_ref(), DATA);
    }
    assert!(server.seen()[3].host.starts_with("localhost"));
}

#[tokio::test]
async fn an_expired_target_is_asked_for_from_the_beginning_once() {
    let server = Scripted::serve(|seen| match (seen.path.as_str(), seen.before) {
        ("/a", before) => Reply::redirect(format!("/signed/{before}")),
        ("/signed/1", _) => Reply::new(200, DATA),
        ("/b", _) => Reply::redirect("/never"),
        _ => Reply::new(403, ""),
    })
    .await;
    assert_eq!(whole(&client(), &server.url("/a")).await.expect("the second target").as_ref(), DATA);
    let error = fails(&server, "/b").await;
    assert_eq!(error.status().map(|status| status.as_u16()), Some(403));
    assert_eq!(server.seen().len(), 4 + 4);
}

#[tokio::test]
async fn an_address_is_signed_once_and_again_when_it_expired() {
    let server = Scripted::serve(|seen| {
        if let Some(href) = seen.path.strip_prefix("/sign?href=") {
            assert!(href.ends_with("%2Fa.tif"), "encoded once: {href}");
            return Reply::new(
                200,
                format!(r#"{{"href": "http://{}/a.tif?sig={}"}}"#, seen.host, seen.before),
            );
        }
        match (seen.path.as_str(), seen.before) {
            ("/a.tif?sig=0", 2) => Reply::new(403, ""),
            ("/a.tif?sig=0" | "/a.tif?sig=1", _) => Reply::new(200, DATA),
            _ => Reply::new(401, ""),
        }
    })
    .await;
    let service = server.url("/sign").to_string() + "?href={href}";
    let rule = signing(server.url("/").as_str(), &service, Duration::from_mins(1));
    let client = client_with(vec![rule], StageSettings::default());
    for _ in 0..3 {
        assert_eq!(whole(&client, &server.url("/a.tif")).await.expect("signed").as_ref(), DATA);
    }
    let paths: Vec<_> =
        server.seen().iter().map(|seen| seen.path.split('=').next().expect("a path").to_owned()).collect();
    let (sign, get) = ("/sign?href", "/a.tif?sig");
    assert_eq!(paths, [sign, get, get, get, sign, get]);
}

#[tokio::test]
async fn ranges_are_merged_and_bound_to_the_state_of_the_object() {
    let data: Vec<u8> = (0..300_000u32).map(|at| (at % 251) as u8).collect();
    let served = data.clone();
    let server = Scripted::serve(move |seen| Reply::part(seen, &served, "\"a\"")).await;
    let client = client();
    let head = client.head(&server.url("/a")).await.expect("a head");
    let parts =
        client.get_ranges(&server.url("/a"), &[200_000..200_010, 40..50, 60..70], &head.version).await;
    let expected = [(40, &data[40..70]), (200_000, &data[200_000..200_010])];
    assert_eq!(
        parts.expect("two parts"),
        expected.map(|(at, bytes)| (at as u64, Bytes::copy_from_slice(bytes)))
    );
    assert_eq!(server.seen().len(), 3);
    assert!(server.seen()[1..].iter().all(|seen| seen.header("if-match") == Some("\"a\"")));
}

#[tokio::test]
async fn an_object_that_changes_is_noticed() {
    let server = Scripted::serve(|seen| match (seen.path.as_str(), seen.before) {
        ("/tag", 1) => Reply::part(seen, DATA, "\"b\""),
        ("/silent", 1) => Reply::part(seen, &DATA[1..], "\"a\""),
        _ => Reply::part(seen, DATA, "\"a\""),
    })
    .await;
    let client = client();
    for (path, changes) in [("/tag", true), ("/silent", true), ("/same", false)] {
        let head = client.head(&server.url(path)).await.expect("a head");
        let parts = client.get_ranges(&server.url(path), &range(20..30), &head.version).await;
        assert_eq!(matches!(parts, Err(RequestError::Changed { .. })), changes, "{path}");
    }
}

#[tokio::test]
async fn a_server_without_ranges_is_lived_with() {
    let server = Scripted::serve(|_| Reply::new(200, DATA)).await;
    let client = client();
    let head = client.head(&server.url("/a")).await.expect("a head");
    assert_eq!((head.has_ranges, head.is_whole, head.version.size), (false, false, Some(69)));
    assert_eq!(head.bytes.segments, [(0, Bytes::from_static(&DATA[..16]))]);
    let parts = client.get_ranges(&server.url("/a"), &range(20..30), &head.version).await.expect("cut out");
    assert_eq!(parts, [(20, Bytes::from_static(&DATA[20..30]))]);
}

#[tokio::test]
async fn those_who_ask_for_one_head_share_one_request() {
    let server = Scripted::serve(|seen| Reply::part(seen, &DATA[..10], "\"a\"")).await;
    let (client, url) = (client(), server.url("/a"));
    for head in join_all((0..20).map(|_| client.head(&url))).await {
        assert!(head.expect("a head").is_whole);
    }
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn a_header_asks_for_the_bytes_it_misses() {
    let server = Scripted::serve(|seen| Reply::part(seen, DATA, "\"a\"")).await;
    let parse: ParseHeader = Arc::new(|file| {
        let parsed = match file.segments.len() {
            1 => Parsed::Missing(range(10..20)),
            2 => Parsed::Missing(vec![50..1000, 48..51]),
            _ => Parsed::WholeFile,
        };
        async move { parsed }.boxed()
    });
    let client =
        Client::new(options(), AccessRules::default(), Some(parse)).for_stage(StageSettings::default());
    let head = client.head(&server.url("/a")).await.expect("a head");
    let held: Vec<_> = head.bytes.segments.iter().map(|(at, bytes)| *at..at + bytes.len() as u64).collect();
    assert_eq!(held, [0..16, 16..32, 48..69], "no byte is held twice");
}

#[tokio::test]
async fn an_empty_file_is_named() {
    let server = Scripted::serve(|seen| Reply::part(seen, b"", "\"a\"")).await;
    let error = client().head(&server.url("/a")).await.expect_err("no raster");
    assert!(error.to_string().contains("an empty file (0 bytes)"), "{error}");
}

#[tokio::test]
async fn a_body_of_unknown_length_goes_to_scratch_up_to_its_cap() {
    let server = Scripted::serve(|_| Reply::new(200, DATA).chunked()).await;
    let folder = tempfile::tempdir().expect("a folder");
    let budget = crate::resources::Bytes::new("scratch".into(), 1000);
    let mut spill = Spill { path: folder.path().join("body"), lease: budget.overdraw(0), cap: 69 };
    let (client, url) = (client(), server.url("/a"));
    let body =
        client.get_whole(&url, &mut |_| Ok(()), Some(&spill), true, WholeReason::Mode).await.expect("a file");
    assert!(matches!(body, Body::File(69)));
    assert_eq!((std::fs::read(&spill.path).expect("it is there"), budget.used()), (DATA.to_vec(), 69));
    spill.cap = 68;
    let error = client.get_whole(&url, &mut |_| Ok(()), Some(&spill), true, WholeReason::Mode).await;
    assert!(matches!(error, Err(RequestError::TooLarge { .. })));
    let error = client.get_whole(&url, &mut |_| Ok(()), None, true, WholeReason::Mode).await;
    assert!(matches!(error, Err(RequestError::Unusable { .. })));
}

#[tokio::test]
async fn no_slot_is_held_after_any_end_or_while_a_retry_sleeps() {
    let server = Scripted::serve(|seen| match seen.path.as_str() {
        "/fine" => Reply::new(200, DATA),
        "/cut" => Reply::new(200, DATA).cut_after(3),
        "/stall" => Reply::new(200, DATA).stall_after(3),
        "/loop" => Reply::redirect("/loop"),
        _ => Reply::new(503, ""),
    })
    .await;
    let slots = Slots::fixed("connections".into(), 2);
    let requirement = Requirement { slots: vec![(slots.clone(), 1)], ..Requirement::default() };
    let client = impatient(StageSettings {
        requirement: requirement.clone(),
        retry: policy(2),
        ..StageSettings::default()
    });
    for path in ["/fine", "/cut", "/stall", "/loop", "/busy"] {
        drop(whole(&client, &server.url(path)).await);
        assert_eq!(slots.used(), 0, "{path}");
    }
    let sleepy = RetryPolicy {
        first_delay: Duration::from_mins(1),
        max_delay: Duration::from_mins(1),
        total: Duration::from_secs(999),
        tries: 2,
    };
    let client =
        client_with(Vec::new(), StageSettings { requirement, retry: sleepy, ..StageSettings::default() });
    let url = server.url("/asleep");
    let request = tokio::spawn(async move { whole(&client, &url).await });
    while server.seen().iter().all(|seen| seen.path != "/asleep") || slots.used() > 0 {
        tokio::task::yield_now().await;
    }
    assert!(!request.is_finished());
    request.abort();
}

#[derive(Default)]
struct Listener(Mutex<Vec<Event>>);

impl Subscriber for Listener {
    fn on_record(&self, record: &Record) {
        self.0.lock().expect("no panic").push(record.event.clone());
    }
}

#[tokio::test]
async fn every_request_is_told_once_with_its_status_and_bytes() {
    let server = Scripted::serve(|seen| match seen.before {
        0 => Reply::new(503, ""),
        _ => Reply::new(200, DATA),
    })
    .await;
    let listener = Arc::new(Listener::default());
    let settings = StageSettings {
        stage: Some("fetched".into()),
        retry: policy(4),
        events: crate::events::Emitter::new(vec![listener.clone()]),
        ..StageSettings::default()
    };
    let client = client_with(Vec::new(), settings).for_item(&"scene".into());
    whole(&client, &server.url("/a")).await.expect("the second try");
    let told: Vec<_> = listener
        .0
        .lock()
        .expect("no panic")
        .iter()
        .map(|event| match event {
            Event::Request { stage, item, status, bytes, .. } => {
                (stage.to_string(), item.to_string(), *status, *bytes)
            }
            other => panic!("{other:?}"),
        })
        .collect();
    let line = |status, bytes| ("fetched".to_owned(), "scene".to_owned(), status, bytes);
    assert_eq!(told, [line(503, 0), line(200, 69)]);
}
