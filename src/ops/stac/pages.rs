//! Pages of a catalogue: where the first is, what the next link asks for, and when to stop.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Map, Value as Json};
use url::Url;

use super::item::{Key, item_of};
use super::search::Search;
use crate::contract::{Failure, Item, Location};
use crate::remote::{Document, StageClient};

/// How many pages in a row may bring nothing new.
const MAX_IDLE_PAGES: u32 = 8;

/// What is asked for a page.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Ask {
    /// A document is fetched.
    Get(Url),
    /// A document is posted.
    Post(Url, Json),
    /// A document on this machine.
    File(std::path::PathBuf),
    /// The landing page of an API, from which the search begins.
    Landing(Url),
}

/// Documents that are asked for one after another.
pub(super) struct Pages {
    client: StageClient,
    search: Option<Arc<Search>>,
    /// What is to be asked, the next last.
    ahead: Vec<Ask>,
    /// Requests that were made.
    asked: HashSet<String>,
    /// Items that were seen.
    seen: HashSet<Key>,
    idle: u32,
    /// How many items may still be given.
    left: u64,
}

impl Pages {
    /// The pages of a search.
    pub(super) fn of_search(client: StageClient, url: &Url, search: Arc<Search>, max_items: u64) -> Self {
        Self::new(client, Some(search), vec![Ask::Landing(url.clone())], max_items)
    }

    /// The documents at these places, and the pages that follow them.
    pub(super) fn of_documents(client: StageClient, places: &[Location], max_items: u64) -> Self {
        let ask = |place: &Location| match place {
            Location::Local(path) => Ask::File(path.clone()),
            Location::Remote(url) => Ask::Get(url.clone()),
        };
        Self::new(client, None, places.iter().rev().map(ask).collect(), max_items)
    }

    fn new(client: StageClient, search: Option<Arc<Search>>, ahead: Vec<Ask>, left: u64) -> Self {
        Self { client, search, ahead, asked: HashSet::new(), seen: HashSet::new(), idle: 0, left }
    }

    /// The new items of the next page, and the pages after it; `None` after the last.
    pub(super) async fn next_with_rest(mut self) -> Result<Option<(Vec<Item>, Self)>, Failure> {
        let items = self.next().await?;
        Ok(items.map(|items| (items, self)))
    }

    /// The new items of the next page; `None` after the last.
    async fn next(&mut self) -> Result<Option<Vec<Item>>, Failure> {
        if self.left == 0 {
            return Ok(None);
        }
        let Some(ask) = self.ahead.pop() else { return Ok(None) };
        let (place, page) = match ask {
            Ask::Landing(url) => match self.landing(&url).await? {
                Landing::Page(place, page) => (place, page),
                Landing::Search(ask) => {
                    self.ahead.push(ask);
                    return Ok(Some(Vec::new()));
                }
            },
            ask => {
                self.once(&ask)?;
                let page = self.read(&ask).await?;
                self.follow(&page.1, &ask, &page.0)?;
                page
            }
        };
        self.items(&page, &place).map(Some)
    }

    /// What stands at the address of an API: its landing page with a link to the search, or items at once.
    async fn landing(&mut self, url: &Url) -> Result<Landing, Failure> {
        let Some(search) = self.search.clone() else { return Ok(Landing::Search(Ask::Get(url.clone()))) };
        let body = search.body().await.map_err(Failure::fatal)?;
        if url.path().trim_end_matches('/').ends_with("/search") {
            return Ok(Landing::Search(Ask::Post(url.clone(), body)));
        }
        let ask = Ask::Get(url.clone());
        let (place, page) = self.read(&ask).await?;
        if page.get("type").and_then(Json::as_str) == Some("FeatureCollection") {
            self.once(&ask)?;
            self.follow(&page, &ask, &place)?;
            return Ok(Landing::Page(place, page));
        }
        search_ask(&page, &place, url, &search, body).map(Landing::Search)
    }

    /// Refuses to ask the same twice: a server that does not come to an end would keep the run for ever.
    fn once(&mut self, ask: &Ask) -> Result<(), Failure> {
        if self.asked.insert(format!("{ask:?}")) {
            return Ok(());
        }
        Err(Failure::fatal(format!(
            "paging loop: after {} pages the server's `next` link leads to a page that was read before ({})",
            self.asked.len(),
            place_of(ask)
        )))
    }

    async fn read(&self, ask: &Ask) -> Result<(Location, Json), Failure> {
        let (place, bytes) = match ask {
            Ask::Get(url) | Ask::Landing(url) => remote(self.client.document(url).await?),
            Ask::Post(url, body) => remote(self.client.post_json(url, body).await?),
            Ask::File(path) => {
                let read = tokio::fs::read(path).await;
                let bytes = read.map_err(|error| Failure::fatal(format!("`{}`: {error}", path.display())))?;
                (Location::Local(path.clone()), bytes.into())
            }
        };
        let json = serde_json::from_slice(&bytes);
        let json = json.map_err(|error| Failure::fatal(format!("`{place}` is not JSON: {error}")))?;
        Ok((place, json))
    }

    /// Asks for the page that a page's `next` link names.
    fn follow(&mut self, page: &Json, ask: &Ask, place: &Location) -> Result<(), Failure> {
        let next =
            next_of(page, ask, place).map_err(|error| Failure::fatal(format!("`{place}`: {error}")))?;
        self.ahead.extend(next);
        Ok(())
    }

    /// The items of a page that were not on an earlier one, at most as many as may be given.
    fn items(&mut self, page: &Json, place: &Location) -> Result<Vec<Item>, Failure> {
        let failure = |error: String| Failure::fatal(format!("`{place}`: {error}"));
        let mut items = Vec::new();
        for document in documents_of(page).map_err(failure)? {
            let (key, item) = item_of(document, place).map_err(failure)?;
            if self.left > 0 && self.seen.insert(key) {
                self.left -= 1;
                items.push(item);
            }
        }
        self.idle = if items.is_empty() { self.idle + 1 } else { 0 };
        if self.idle > MAX_IDLE_PAGES && !self.ahead.is_empty() {
            return Err(failure(format!("paging loop: {} pages in a row hold no new item", self.idle)));
        }
        Ok(items)
    }
}

enum Landing {
    Page(Location, Json),
    Search(Ask),
}

fn remote(document: Document) -> (Location, bytes::Bytes) {
    (Location::Remote(document.url), document.bytes)
}

fn place_of(ask: &Ask) -> String {
    match ask {
        Ask::Get(url) | Ask::Post(url, _) | Ask::Landing(url) => crate::remote::redacted(url),
        Ask::File(path) => path.display().to_string(),
    }
}

fn links<'a>(page: &'a Json, rel: &'a str) -> impl Iterator<Item = &'a Json> {
    let links = page.get("links").and_then(Json::as_array).into_iter().flatten();
    links.filter(move |link| link.get("rel").and_then(Json::as_str) == Some(rel))
}

fn is_post(link: &Json) -> bool {
    link.get("method").and_then(Json::as_str).is_some_and(|method| method.eq_ignore_ascii_case("POST"))
}

/// The search that a landing page links to, by POST where it is offered; where it links to none, `/search` below it.
fn search_ask(page: &Json, place: &Location, url: &Url, search: &Search, body: Json) -> Result<Ask, Failure> {
    let links: Vec<_> = links(page, "search").collect();
    let link = links.iter().find(|link| is_post(link)).or(links.first());
    let target = match link {
        Some(link) => address(link, place).map_err(Failure::fatal)?,
        None => below(url),
    };
    if link.is_none_or(|link| is_post(link)) {
        return Ok(Ask::Post(target, body));
    }
    let mut target = target;
    target.query_pairs_mut().extend_pairs(search.query(&body));
    Ok(Ask::Get(target))
}

fn below(url: &Url) -> Url {
    let mut search = url.clone();
    search.set_path(&format!("{}/search", url.path().trim_end_matches('/')));
    search
}

/// The page that a `next` link names. A posted body is merged into the last one where the link says so (STAC API,
/// paging extension).
fn next_of(page: &Json, ask: &Ask, place: &Location) -> Result<Option<Ask>, String> {
    let Some(link) = links(page, "next").next() else { return Ok(None) };
    if let Location::Local(_) = place {
        let href = link.get("href").and_then(Json::as_str).ok_or("its `next` link has no `href`")?;
        return Ok(Some(match place.join(href)? {
            Location::Local(path) => Ask::File(path),
            Location::Remote(url) => Ask::Get(url),
        }));
    }
    let url = address(link, place)?;
    if !is_post(link) {
        return Ok(Some(Ask::Get(url)));
    }
    let last = match ask {
        Ask::Post(_, body) => body.as_object().cloned().unwrap_or_default(),
        _ => Map::new(),
    };
    let body = link.get("body").and_then(Json::as_object);
    let merges = link.get("merge").and_then(Json::as_bool).unwrap_or(false);
    let mut next = if merges || body.is_none() { last } else { Map::new() };
    next.extend(body.cloned().unwrap_or_default());
    Ok(Some(Ask::Post(url, Json::Object(next))))
}

fn address(link: &Json, place: &Location) -> Result<Url, String> {
    let rel = link.get("rel").and_then(Json::as_str).unwrap_or_default();
    let href =
        link.get("href").and_then(Json::as_str).ok_or_else(|| format!("its `{rel}` link has no `href`"))?;
    match place.join(href)? {
        Location::Remote(url) => Ok(url),
        Location::Local(path) => {
            Err(format!("its `{rel}` link leads to the local file `{}`", path.display()))
        }
    }
}

/// The items of a document: one, or those of a collection of items.
fn documents_of(page: &Json) -> Result<Vec<&Json>, String> {
    match page.get("type").and_then(Json::as_str) {
        Some("Feature") => Ok(vec![page]),
        Some("FeatureCollection") => {
            let features = page.get("features").and_then(Json::as_array);
            Ok(features.ok_or("it has no `features`")?.iter().collect())
        }
        Some(kind @ ("Catalog" | "Collection")) => {
            Err(format!("it is a `{kind}`; give items or item collections, or the `url` of an API"))
        }
        _ => Err("it is neither a STAC item nor an item collection".into()),
    }
}
