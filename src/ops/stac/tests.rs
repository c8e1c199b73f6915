//! Searches and documents against servers that page in every way that is met.

use std::path::Path;

use serde_json::json;

use super::*;
use crate::config::parse;
use crate::ops::testing::{compile_in, listed};
use crate::remote::scripted::{Reply, Scripted, Seen};

fn op(options: &str, folder: &Path) -> Result<Arc<dyn Op>, Vec<Fault>> {
    compile_in(&ENTRY, options, folder)
}

async fn list(options: &str, folder: &Path) -> Result<Vec<String>, Failure> {
    let items = listed(&ENTRY, options, folder).await?;
    Ok(items.iter().map(|item| item.id.to_string()).collect())
}

fn page(ids: &[&str], next: Option<Json>) -> Reply {
    let features: Vec<_> =
        ids.iter().map(|id| json!({"type": "Feature", "id": id, "collection": "c", "assets": {}})).collect();
    let links: Vec<_> = next.into_iter().collect();
    Reply::new(200, json!({"type": "FeatureCollection", "features": features, "links": links}).to_string())
}

fn body(seen: &Seen) -> Json {
    serde_json::from_slice(&seen.body).unwrap_or_default()
}

fn next(seen: &Seen, body: &Json, merge: bool) -> Json {
    json!({"rel": "next", "href": format!("http://{}/search", seen.host), "method": "POST", "body": body, "merge": merge})
}

#[tokio::test]
async fn a_search_is_posted_and_its_pages_are_merged() {
    let server = Scripted::serve(|seen| match body(seen) {
        body if body["collections"] != json!(["c"]) || body["limit"] != 2 => Reply::new(400, "not merged"),
        body if body["token"] == "p2" => page(&["i2", "i3"], Some(next(seen, &json!({"token": "p3"}), true))),
        body if body["token"] == "p3" => page(&[], None),
        _ => page(&["i1", "i2"], Some(next(seen, &json!({"token": "p2"}), true))),
    })
    .await;
    let options = format!("url = '{}'\ncollections = ['c']\npage-size = 2", server.url("/search"));
    assert_eq!(list(&options, Path::new("/")).await.expect("three items"), ["i1", "i2", "i3"]);
    assert_eq!(server.seen().len(), 3);
}

#[tokio::test]
async fn a_next_body_that_is_not_merged_stands_alone() {
    let server = Scripted::serve(|seen| match body(seen) {
        body if body == json!({"token": "x"}) => page(&["b"], None),
        _ => page(&["a"], Some(next(seen, &json!({"token": "x"}), false))),
    })
    .await;
    let options = format!("url = '{}'", server.url("/search"));
    assert_eq!(list(&options, Path::new("/")).await.expect("two items"), ["a", "b"]);
}

#[tokio::test]
async fn everything_asked_for_is_in_the_body() {
    let server = Scripted::serve(|_| page(&[], None)).await;
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("a.geojson"), r#"{"type": "Point", "coordinates": [1, 2]}"#)
        .expect("written");
    let options = format!(
        "url = '{}'\nids = ['x']\nintersects = 'a.geojson'\ndatetime = '2024-06'\nfilter = '\"eo:cloud_cover\" < 40'\nsortby = ['-datetime', 'id']\nmax-items = 7",
        server.url("/search")
    );
    assert_eq!(list(&options, folder.path()).await.expect("nothing"), Vec::<String>::new());
    let expected = json!({
        "limit": 7,
        "ids": ["x"],
        "datetime": "2024-06-01T00:00:00Z/2024-06-30T23:59:59Z",
        "filter": {"op": "<", "args": [{"property": "eo:cloud_cover"}, 40]},
        "filter-lang": "cql2-json",
        "sortby": [{"field": "datetime", "direction": "desc"}, {"field": "id", "direction": "asc"}],
        "intersects": {"type": "Point", "coordinates": [1, 2]},
    });
    let seen = body(&server.seen()[0]);
    assert_eq!(seen["filter"]["args"][1].as_f64(), Some(40.0));
    let without_filter = |mut body: Json| {
        body["filter"] = Json::Null;
        body
    };
    assert_eq!(without_filter(seen), without_filter(expected));
}

#[tokio::test]
async fn a_landing_page_leads_to_the_search() {
    let server = Scripted::serve(|seen| match (seen.method.as_str(), seen.path.split('?').next().unwrap_or_default()) {
        ("GET", "/post") => Reply::new(200, json!({"type": "Catalog", "links": [
            {"rel": "search", "href": "/s", "method": "GET"}, {"rel": "search", "href": "/s", "method": "POST"}]}).to_string()),
        ("GET", "/get") => Reply::new(200, json!({"type": "Catalog", "links": [{"rel": "search", "href": "/s?x=1"}]}).to_string()),
        ("GET", "/none") => Reply::new(200, json!({"type": "Catalog"}).to_string()),
        ("POST", "/s" | "/none/search") => page(&["posted"], None),
        ("GET", "/s") => {
            let query = seen.path.split_once('?').expect("a query").1;
            assert_eq!(query, "x=1&limit=100&bbox=1.0%2C2.0%2C3.0%2C4.0&filter=a+%3D+1&filter-lang=cql2-text&sortby=-id");
            page(&["got"], None)
        }
        _ => Reply::new(404, ""),
    })
    .await;
    for (path, expected) in [("/post", "posted"), ("/get", "got"), ("/none", "posted")] {
        let options =
            format!("url = '{}'\nbbox = [1, 2, 3, 4]\nfilter = 'a = 1'\nsortby = '-id'", server.url(path));
        assert_eq!(list(&options, Path::new("/")).await.expect(path), [expected]);
    }
}

#[tokio::test]
async fn pages_that_lead_to_themselves_end() {
    let server = Scripted::serve(|seen| page(&[], Some(json!({"rel": "next", "href": seen.path})))).await;
    for options in [format!("url = '{}'", server.url("/loop")), format!("file = '{}'", server.url("/again"))]
    {
        let failure = list(&options, Path::new("/")).await.expect_err("a loop");
        assert!(failure.message.starts_with("paging loop: after 1 pages"), "{failure}");
    }
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test]
async fn pages_that_bring_nothing_new_end() {
    let server = Scripted::serve(|seen| {
        let number: u64 = seen.path.rsplit('=').next().and_then(|number| number.parse().ok()).unwrap_or(0);
        page(&["a"], Some(json!({"rel": "next", "href": format!("/items?page={}", number + 1)})))
    })
    .await;
    let failure =
        list(&format!("file = '{}'", server.url("/items")), Path::new("/")).await.expect_err("no end");
    assert!(failure.message.contains("9 pages in a row hold no new item"), "{failure}");
    let options = format!("file = '{}'\nmax-items = 1", server.url("/items"));
    assert_eq!(list(&options, Path::new("/")).await.expect("enough"), ["a"]);
    assert_eq!(server.seen().len(), 10 + 1);
}

#[tokio::test]
async fn documents_on_this_machine_are_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let item = |id: &str| json!({"type": "Feature", "id": id, "assets": {}});
    let write =
        |name: &str, json: Json| std::fs::write(folder.path().join(name), json.to_string()).expect("written");
    write("items.json", json!({"type": "FeatureCollection", "features": [item("a"), item("b")]}));
    write("item.json", item("c"));
    write("catalog.json", json!({"type": "Catalog"}));
    assert_eq!(
        list("file = ['items.json', 'item.json']", folder.path()).await.expect("three"),
        ["a", "b", "c"]
    );
    for (file, expected) in [("catalog.json", "it is a `Catalog`"), ("missing.json", "No such file")] {
        let failure = list(&format!("file = '{file}'"), folder.path()).await.expect_err(file);
        assert!(failure.message.contains(expected), "{failure}");
    }
}

#[test]
fn wrong_options_are_faults() {
    for (options, code) in [
        ("collections = ['c']", "conflicting-options"),
        ("url = 'https://h'\nfile = 'a.json'", "conflicting-options"),
        ("file = 'a.json'\ndatetime = '2024'", "conflicting-options"),
        ("url = 'https://h'\nbbox = [1, 2, 3, 4]\nintersects = 'a.json'", "conflicting-options"),
        ("url = 'stac.example'", "bad-location"),
        ("url = 'https://h'\nbbox = [1, 2, 3]", "bad-search"),
        ("url = 'https://h'\ndatetime = 'yesterday'", "bad-search"),
        ("url = 'https://h'\nfilter = 'a <'", "bad-search"),
    ] {
        let faults = op(options, Path::new("/")).err().expect(options);
        assert_eq!((faults.len(), faults[0].code), (1, code), "{options}");
    }
}

#[test]
fn the_example_is_right() {
    let options = format!("x = {}", ENTRY.example);
    let (value, faults) = parse(&options);
    assert_eq!(faults, []);
    assert!((ENTRY.compile)(value.get("x").expect("it is there"), &Environment::default()).is_ok());
}
