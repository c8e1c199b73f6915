//! Why whole files move is told with the requests that move them.

use std::sync::Mutex;

use super::*;
use crate::events::{Emitter, Event, Record, Subscriber, WholeReason};
use crate::raster::sample::Sample;

/// The reasons that requests were told with.
#[derive(Default)]
struct Reasons(Mutex<Vec<Option<WholeReason>>>);

impl Subscriber for Reasons {
    fn on_record(&self, record: &Record) {
        if let Event::Request { whole, .. } = &record.event {
            self.0.lock().expect("no panic").push(*whole);
        }
    }
}

/// A TIFF of 200 × 200 pixels in strips.
fn strips(folder: &Path) -> Vec<u8> {
    let mut sample = Sample::new((200, 200), vec![vec![7_u16; 40_000]]);
    sample.options = vec![("BLOCKYSIZE", "8")];
    std::fs::read(sample.write(folder, "strips.tif")).expect("written")
}

/// Fetches the file of a server and gives the reasons of its requests, in their order.
async fn reasons(
    server: &Scripted,
    options: &str,
    needs: Option<Vec<AssetNeed>>,
) -> Vec<Option<WholeReason>> {
    let (folder, listener) = (folder(), Arc::new(Reasons::default()));
    let client = Client::new(ClientOptions::default(), AccessRules::default(), Some(parse_raster_header()));
    let events = Emitter::new(vec![listener.clone()]);
    let client = client.for_stage(StageSettings { events, ..StageSettings::default() });
    let context = TransferContext { client, ..context(needs, folder.path()) };
    let item = item(vec![asset("data", Location::Remote(server.url("/a.tif")))]);
    fetch(options, item, &context).await.expect("a file");
    let reasons = listener.0.lock().expect("no panic");
    reasons.clone()
}

fn some_of_it() -> Option<Vec<AssetNeed>> {
    Some(vec![need("data", 0, 16)])
}

#[tokio::test]
async fn what_the_pipeline_says_is_the_reason() {
    let (server, _) = server_of_tiff().await;
    let whole = |reason| vec![Some(reason)];
    assert_eq!(reasons(&server, "mode = 'whole'", some_of_it()).await, whole(WholeReason::Mode));
    assert_eq!(reasons(&server, "", None).await, whole(WholeReason::TakenItself));
    assert_eq!(reasons(&server, "", some_of_it()).await, [None, None], "a header and a tile");
}

#[tokio::test]
async fn what_the_header_or_the_server_says_is_the_reason() {
    let folder = folder();
    let file = strips(folder.path());
    let in_strips = Scripted::serve(move |seen: &Seen| Reply::part(seen, &file, "\"a\"")).await;
    let without_ranges = Scripted::serve(|_| Reply::new(200, tiff())).await;
    let changing = Scripted::serve(|seen: &Seen| {
        Reply::part(seen, &tiff(), if seen.before == 0 { "\"a\"" } else { "\"b\"" })
    })
    .await;
    let told = |reason| [None, Some(reason)];
    assert_eq!(reasons(&in_strips, "", some_of_it()).await, told(WholeReason::Strips));
    assert_eq!(reasons(&without_ranges, "", some_of_it()).await, told(WholeReason::NoRanges));
    let expected = [None, None, Some(WholeReason::Changed)];
    assert_eq!(reasons(&changing, "", some_of_it()).await, expected);
}

#[tokio::test]
async fn most_of_a_small_file_is_the_reason() {
    let folder = folder();
    let path =
        Sample::new((200, 200), vec![vec![7_u16; 40_000]]).tiled(&[]).write(folder.path(), "tiles.tif");
    let file = std::fs::read(path).expect("written");
    let server = Scripted::serve(move |seen: &Seen| Reply::part(seen, &file, "\"a\"")).await;
    let window = Window { col: 0, row: 0, width: 200, height: 200 };
    let all = Some(vec![AssetNeed { window, ..need("data", 0, 16) }]);
    assert_eq!(reasons(&server, "", all).await, [None, Some(WholeReason::MostNeeded)]);
}
