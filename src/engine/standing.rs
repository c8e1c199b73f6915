//! What stands at the places that the ledger names: files of this machine, and objects of stores.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use futures::{StreamExt, stream};
use url::Url;

use crate::ledger::{Output, Snapshot, Standing, standing_of_file};
use crate::remote::{StageClient, is_store};

/// What stands where.
pub type Standings = HashMap<Arc<str>, Standing>;

/// How many objects are asked for at once.
const AT_ONCE: usize = 16;

/// Looks at every file that the ledger names. Blocks.
pub(super) fn of_files(earlier: &Snapshot) -> Standings {
    let files = outputs(earlier).filter(|output| object_at(&output.location).is_none());
    files.map(|output| (output.location.clone(), standing_of_file(Path::new(&*output.location)))).collect()
}

/// Asks the stores for every object that the ledger names. Where a store does not answer, what the ledger says of its
/// objects is believed.
pub async fn of_objects(client: &StageClient, earlier: &Snapshot) -> Standings {
    let objects =
        outputs(earlier).filter_map(|output| Some((output.location.clone(), object_at(&output.location)?)));
    let asked = objects.map(|(place, url)| async move { (place, ask(client, &url).await) });
    stream::iter(asked).buffer_unordered(AT_ONCE).collect().await
}

fn outputs(earlier: &Snapshot) -> impl Iterator<Item = &Output> {
    earlier.entries.values().flat_map(|entry| &entry.outputs)
}

fn object_at(location: &str) -> Option<Url> {
    if location.starts_with('/') { None } else { Url::parse(location).ok().filter(is_store) }
}

async fn ask(client: &StageClient, url: &Url) -> Standing {
    match client.object(url).await {
        Ok(None) => Standing::Absent,
        Ok(Some(object)) => {
            Standing::Object { size: object.size, fingerprint: object.fingerprint().map(str::to_owned) }
        }
        Err(error) => {
            tracing::warn!(%error, "what the ledger says of an object is believed");
            Standing::Unasked
        }
    }
}
