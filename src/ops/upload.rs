//! How an object gets its name in a store: claimed for one item, remembered, written as a whole.
//!
//! A store shows an object when it is complete, so there is no temporary. Its metadata carries the fingerprint of the
//! item's results: a run that died before it could tell the ledger is believed by that.

use url::Url;

use crate::contract::{Failure, Intended, Item, Location, TransferContext};
use crate::ops::takeover::{Claim, Existing};
use crate::remote::{FINGERPRINT, ObjectBody, ObjectState, PART, RequestError, redacted};

/// An object that an item may write.
pub(super) struct Upload<'a> {
    url: &'a Url,
    context: &'a TransferContext,
    /// Whether one stands there that gives way.
    replaces: bool,
}

impl<'a> Upload<'a> {
    /// Claims an object for an item; the size of the one that stays, where one does.
    ///
    /// # Errors
    /// It is the item's input, another item has it, or one is there that is not to be replaced.
    pub(super) async fn claim(
        url: &'a Url,
        item: &Item,
        existing: Existing,
        context: &'a TransferContext,
    ) -> Result<(Self, Claim), Failure> {
        refuse_input(url, item)?;
        let location = redacted(url);
        context.commits.claim(&location)?;
        let standing = context.client.object(url).await?;
        let claim = match (&standing, existing) {
            (Some(object), _) if context.commits.owns(&location, object.size) || is_own(object, context) => {
                Claim::Granted
            }
            (Some(object), Existing::Keep) => Claim::Kept(object.size),
            (Some(_), Existing::Refuse) => return Err(is_there(&location)),
            (Some(_), Existing::Replace) | (None, _) => Claim::Granted,
        };
        Ok((Self { url, context, replaces: standing.is_some() }, claim))
    }

    /// Writes the object, the ledger told before and after.
    ///
    /// # Errors
    /// The store, the network, the disk or the ledger says no.
    pub(super) async fn put(
        self,
        body: ObjectBody<'_>,
        size: u64,
        media_type: &'static str,
    ) -> Result<(), Failure> {
        let Self { url, context, replaces } = self;
        let location = redacted(url);
        // One part at a time is in memory beside what is written.
        context.memory.grow_to(PART);
        let intended = Intended { location: &location, temporary: None, size, inode: None };
        context.commits.intend(intended).await?;
        let metadata: Vec<_> =
            context.commits.fingerprint().map(|hash| (FINGERPRINT.to_owned(), hash)).into_iter().collect();
        let written = context.client.put_object(url, body, media_type, &metadata, replaces).await;
        if let Err(error) = written {
            own_after_all(error, url, context).await?;
        }
        context.commits.committed(&location).await
    }
}

/// An object that is there meanwhile may be our own, written by a request whose answer was lost.
async fn own_after_all(error: RequestError, url: &Url, context: &TransferContext) -> Result<(), Failure> {
    let is_there_now = error.status().is_some_and(|status| status.as_u16() == 412);
    let standing = if is_there_now { context.client.object(url).await? } else { None };
    match standing {
        Some(object) if is_own(&object, context) => Ok(()),
        Some(_) => Err(is_there(&redacted(url))),
        None => Err(error.into()),
    }
}

/// Whether an object is what this run makes of the item.
fn is_own(object: &ObjectState, context: &TransferContext) -> bool {
    let own = context.commits.fingerprint();
    own.is_some() && object.fingerprint() == own.as_deref()
}

fn refuse_input(url: &Url, item: &Item) -> Result<(), Failure> {
    let location = redacted(url);
    let is_same = |input: &&Location| matches!(input, Location::Remote(_)) && input.to_string() == location;
    match item.lineage.inputs.iter().find(is_same) {
        None => Ok(()),
        Some(_) => {
            Err(Failure::item(format!("the output `{location}` is the input; write to another place")))
        }
    }
}

fn is_there(location: &str) -> Failure {
    Failure::item(format!(
        "`{location}` is there and no earlier run of this pipeline wrote it; remove it, or set `existing` to `replace` or \
         `keep`"
    ))
}
