//! Object stores against a server that speaks as much S3 as is asked of it.

use std::time::Duration;

use bytes::Bytes;
use futures::TryStreamExt;
use url::Url;

use super::{ObjectBody, ObjectState};
use crate::config::Spanned;
use crate::events::{FailureClass, WholeReason};
use crate::remote::scripted::{Reply, Scripted, Seen};
use crate::remote::{
    AccessOptions, AccessRule, AccessRules, Body, Client, ClientOptions, RequestError, RetryPolicy,
    StageClient, StageSettings,
};
use crate::resources::{Requirement, Slots};

const DATA: &[u8] = b"II*\0 the bytes of an object";

fn url(text: &str) -> Url {
    Url::parse(text).expect(text)
}

/// A client of the bucket `tiles` on this server.
fn client(server: &Scripted, anonymous: bool, slots: &Slots) -> StageClient {
    let endpoint = Some(server.url("").to_string());
    let options = AccessOptions { endpoint, anonymous, ..AccessOptions::default() };
    let environment = [("AWS_ACCESS_KEY_ID", "key"), ("AWS_SECRET_ACCESS_KEY", "hunter2")];
    client_of(&options, &environment, slots)
}

/// A client of the bucket `tiles` with these options, in this environment.
fn client_of(options: &AccessOptions, environment: &[(&str, &str)], slots: &Slots) -> StageClient {
    let rule = AccessRule::new(&Spanned::new("s3://tiles".into(), 0..0), options, &(0..0)).expect("a rule");
    let variable = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let environment = environment.iter().map(variable).collect();
    let retry = RetryPolicy { first_delay: Duration::from_millis(1), ..RetryPolicy::default() };
    let requirement = Requirement { slots: vec![(slots.clone(), 1)], ..Requirement::default() };
    Client::new(ClientOptions::default(), AccessRules::new(vec![rule]), None)
        .with_environment(environment)
        .for_stage(StageSettings { requirement, retry, ..StageSettings::default() })
}

fn connections() -> Slots {
    Slots::fixed("connections".into(), 2)
}

fn path(seen: &Seen) -> &str {
    seen.path.split('?').next().unwrap_or_default()
}

fn listing(keys: &[&str], next: Option<&str>) -> Reply {
    let object = |key: &&str| {
        format!(
            "<Contents><Key>{key}</Key><LastModified>2024-01-01T00:00:00.000Z</LastModified>\
             <ETag>\"e\"</ETag><Size>7</Size><StorageClass>STANDARD</StorageClass></Contents>"
        )
    };
    let objects = keys.iter().map(object).collect::<Vec<_>>().concat();
    let more = next
        .map(|token| format!("<NextContinuationToken>{token}</NextContinuationToken>"))
        .unwrap_or_default();
    let is_more = next.is_some();
    Reply::new(
        200,
        format!("<ListBucketResult><IsTruncated>{is_more}</IsTruncated>{more}{objects}</ListBucketResult>"),
    )
}

#[tokio::test]
async fn objects_are_read_by_signed_addresses_that_are_signed_once() {
    let server = Scripted::serve(|seen| match path(seen) {
        "/tiles/in/a%20b.tif" if seen.path.contains("X-Amz-Signature=") => Reply::part(seen, DATA, "\"a\""),
        _ => Reply::new(404, "<Error><Code>NoSuchKey</Code></Error>"),
    })
    .await;
    let client = client(&server, false, &connections());
    let object = url("s3://tiles/in/a b.tif");
    let Body::Memory(bytes) =
        client.get_whole(&object, &mut |_| Ok(()), None, true, WholeReason::Mode).await.expect("there")
    else {
        panic!("its length was stated")
    };
    assert_eq!(bytes.as_ref(), DATA);
    let head = client.head(&object).await.expect("there");
    let parts =
        client.get_ranges(&object, std::slice::from_ref(&(4..8)), &head.version).await.expect("there");
    assert_eq!(parts, [(4, Bytes::from_static(&DATA[4..8]))]);
    let queries: std::collections::HashSet<_> = server.seen().iter().map(|seen| seen.path.clone()).collect();
    assert_eq!((server.seen().len(), queries.len()), (3, 1));
    let error = client
        .get_whole(&url("s3://tiles/none.tif"), &mut |_| Ok(()), None, true, WholeReason::Mode)
        .await
        .expect_err("none");
    let expected = format!("GET {} → 404 Not Found: NoSuchKey", server.url("/tiles/none.tif"));
    assert_eq!((error.to_string(), error.class()), (expected, FailureClass::Item));
}

/// The profiles `default` and `field`; the latter names this endpoint.
fn profiles(endpoint: &Url) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("credentials");
    let keys = |name| format!("[{name}]\naws_access_key_id = {name}-key\naws_secret_access_key = hunter2\n");
    let text =
        format!("{}{}region = eu-central-1\nendpoint_url = {endpoint}\n", keys("default"), keys("field"));
    std::fs::write(&file, text).expect("written");
    let path = file.display().to_string();
    (folder, path)
}

#[tokio::test]
async fn a_profile_of_the_aws_command_line_gives_keys_region_and_endpoint() {
    let server = Scripted::serve(|_| Reply::new(404, "")).await;
    let (_folder, file) = profiles(&server.url(""));
    let files = [("AWS_SHARED_CREDENTIALS_FILE", file.as_str()), ("AWS_CONFIG_FILE", "/nonexistent")];
    let named = AccessOptions { profile: Some("field".into()), ..AccessOptions::default() };
    let own = AccessOptions { endpoint: Some(server.url("").to_string()), ..AccessOptions::default() };
    let keys = [("AWS_ACCESS_KEY_ID", "own-key"), ("AWS_SECRET_ACCESS_KEY", "s"), ("AWS_SESSION_TOKEN", "t")];
    for (options, further, expected) in [
        (&named, &[][..], "field-key eu-central-1"),
        (&AccessOptions::default(), &[("AWS_PROFILE", "field")], "field-key eu-central-1"),
        (&own, &[("AWS_REGION", "eu-west-3")], "default-key eu-west-3"),
        (&named, &keys, "field-key eu-central-1"),
        (&own, &keys, "own-key us-east-1"),
    ] {
        let environment = [&files[..], further].concat();
        let client = client_of(options, &environment, &connections());
        assert_eq!(client.object(&url("s3://tiles/a.tif")).await.expect("an answer"), None);
        let seen = server.seen().pop().expect("a request");
        let signed = seen.header("authorization").expect("a signature").to_owned();
        let scope: Vec<_> = signed.split("Credential=").nth(1).expect("AWS4").split('/').collect();
        assert_eq!(format!("{} {}", scope[0], scope[2]), expected, "{signed}");
        assert_eq!(seen.header("x-amz-security-token").is_some(), scope[0] == "own-key");
    }
}

#[tokio::test]
async fn a_profile_that_is_not_there_fails_before_any_request() {
    let server = Scripted::serve(|_| Reply::new(404, "")).await;
    let (_folder, file) = profiles(&server.url(""));
    let options = AccessOptions { profile: Some("fields".into()), ..AccessOptions::default() };
    let environment = [("AWS_SHARED_CREDENTIALS_FILE", file.as_str()), ("AWS_CONFIG_FILE", "/nonexistent")];
    let client = client_of(&options, &environment, &connections());
    let error = client.object(&url("s3://tiles/a.tif")).await.expect_err("no such profile").to_string();
    assert!(error.contains("profile `fields` is in neither"), "{error}");
    assert!(error.ends_with("found: default, field"), "{error}");
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn public_objects_are_read_without_a_signature() {
    let server = Scripted::serve(|seen| match (seen.path.as_str(), seen.header("authorization")) {
        ("/tiles/a.tif", None) => Reply::part(seen, DATA, "\"a\""),
        _ => Reply::new(403, ""),
    })
    .await;
    let client = client(&server, true, &connections());
    assert!(client.head(&url("s3://tiles/a.tif")).await.is_ok());
}

#[tokio::test]
async fn a_listing_is_read_page_by_page_under_leases_and_with_retries() {
    let server = Scripted::serve(|seen| match (path(seen), seen.path.contains("continuation-token=next")) {
        ("/tiles", false) => listing(&["in/a b.tif", "in/b.tif"], Some("next")),
        ("/tiles", true) if seen.before == 0 => Reply::new(503, ""),
        ("/tiles", true) => listing(&["in/c/d.tif"], None),
        _ => Reply::new(404, ""),
    })
    .await;
    let slots = connections();
    let client = client(&server, false, &slots);
    let objects: Vec<_> =
        client.objects(&url("s3://tiles/in/")).expect("a bucket").try_collect().await.expect("listed");
    let expected =
        ["s3://tiles/in/a%20b.tif", "s3://tiles/in/b.tif", "s3://tiles/in/c/d.tif"].map(|address| {
            ObjectState { url: url(address), size: 7, etag: Some("\"e\"".into()), metadata: Vec::new() }
        });
    assert_eq!((objects.as_slice(), server.seen().len()), (expected.as_slice(), 3));
    assert_eq!((slots.used(), slots.peak()), (0, 1));
    assert!(server.seen().iter().all(|seen| seen.header("authorization").is_some()));
}

#[tokio::test]
async fn an_object_is_written_with_its_metadata_and_replaced_only_when_asked() {
    let server = Scripted::serve(|seen| match (seen.method.as_str(), seen.header("if-none-match")) {
        ("PUT", Some("*")) if seen.before > 0 => Reply::new(412, ""),
        ("PUT", _) => Reply::new(200, "").with("ETag", "\"e\""),
        _ => Reply::new(404, ""),
    })
    .await;
    let client = client(&server, false, &connections());
    let object = url("s3://tiles/out/a.tif");
    let put = |replaces| {
        let metadata = [("fingerprint".to_owned(), "f1".to_owned())];
        let (client, object) = (client.clone(), object.clone());
        async move {
            client
                .put_object(&object, ObjectBody::Bytes(vec![DATA.into()]), "image/tiff", &metadata, replaces)
                .await
        }
    };
    put(false).await.expect("nothing stands there");
    let error = put(false).await.expect_err("one stands there");
    assert_eq!(error.status().map(|status| status.as_u16()), Some(412));
    put(true).await.expect("it gives way");
    let first = &server.seen()[0];
    assert_eq!((first.body.as_slice(), path(first)), (DATA, "/tiles/out/a.tif"));
    let sent = ["content-type", "x-amz-meta-fingerprint"].map(|name| first.header(name));
    assert_eq!(sent, [Some("image/tiff"), Some("f1")]);
}

#[tokio::test]
async fn an_object_that_is_not_there_is_none() {
    let server = Scripted::serve(|_| Reply::new(404, "")).await;
    let client = client(&server, false, &connections());
    assert_eq!(client.object(&url("s3://tiles/a.tif")).await.expect("an answer"), None);
    client.delete_object(&url("s3://tiles/a.tif")).await.expect("nothing to do");
}

#[tokio::test]
async fn a_store_that_stays_busy_is_a_transient_failure_of_our_own() {
    let server = Scripted::serve(|_| Reply::new(503, "").with("Retry-After", "3600")).await;
    let client = client(&server, false, &connections());
    let error = client.object(&url("s3://tiles/a.tif")).await.expect_err("busy");
    assert!(matches!(error, RequestError::AskedTooMuch { asked: 3600, .. }), "{error}");
    assert_eq!(server.seen().len(), 1, "the store's own client does not try again");
}
