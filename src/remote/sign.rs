//! Signed addresses, kept for as long as they hold.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tokio::time::Instant;
use url::Url;

use super::access::{Sign, Signature, address_for};
use super::exchange::Ask;
use super::store::{USED_FOR, is_store};
use super::{RequestError, StageClient, redacted};

/// How many signed addresses are kept; beyond it all are asked for again.
const KEPT: usize = 4096;

/// Signed addresses by the address they stand for. Those who ask for one at the same time wait for one request.
#[derive(Default)]
pub(super) struct Signer(Mutex<HashMap<Url, Arc<Cell>>>);

type Cell = tokio::sync::Mutex<Option<(Url, Instant)>>;

impl Signer {
    /// Asks for this address again next time.
    pub(super) fn forget(&self, url: &Url) {
        self.0.lock().expect("nothing panics while it holds the addresses").remove(url);
    }

    fn cell(&self, url: &Url) -> Arc<Cell> {
        let mut cells = self.0.lock().expect("nothing panics while it holds the addresses");
        if cells.len() >= KEPT && !cells.contains_key(url) {
            cells.clear();
        }
        Arc::clone(cells.entry(url.clone()).or_default())
    }
}

impl StageClient {
    /// The address to use for what is asked, and whether it is a signed one.
    pub(super) async fn sign(&self, ask: &Ask) -> Result<(Url, bool), RequestError> {
        let sign = self.access().for_url(&ask.url).and_then(|rule| rule.sign.as_ref());
        if !is_store(&ask.url) && (sign.is_none() || !ask.is_object) {
            return Ok((ask.url.clone(), false));
        }
        let cell = self.signer().cell(&ask.url);
        let mut kept = cell.lock().await;
        if let Some((signed, _)) = kept.as_ref().filter(|(_, until)| *until > Instant::now()) {
            return Ok((signed.clone(), true));
        }
        let (signed, valid) = match sign {
            Some(sign) if !is_store(&ask.url) => (self.ask_to_sign(sign, &ask.url).await?, sign.valid),
            _ => match self.address_of_object(&ask.url).await? {
                (public, false) => return Ok((public, false)),
                (signed, true) => (signed, USED_FOR),
            },
        };
        *kept = Some((signed.clone(), Instant::now() + valid));
        Ok((signed, true))
    }

    async fn ask_to_sign(&self, sign: &Sign, href: &Url) -> Result<Url, RequestError> {
        let unusable = |reason: &str| RequestError::Unusable { url: redacted(href), reason: reason.into() };
        let answer = match &sign.by {
            Signature::Program(program) => program.ask(href).await?,
            Signature::Service(service) => {
                let address = address_for(service, href)
                    .map_err(|_| unusable("the address of its `sign` service is wrong"))?;
                // Boxed because a signing request is itself a request.
                let document = Box::pin(self.document(&address)).await?;
                String::from_utf8_lossy(&document.bytes).into_owned()
            }
        };
        signed_address(&answer).ok_or_else(|| unusable("its `sign` rule gives no signed address (`href`)"))
    }
}

/// The address in the answer of a signing service: plain text, a JSON text, or the key `href` of a JSON object.
fn signed_address(answer: &str) -> Option<Url> {
    let json = serde_json::from_str::<serde_json::Value>(answer).ok();
    let text = match &json {
        Some(json) => json.as_str().or_else(|| json.get("href")?.as_str())?,
        None => answer.trim(),
    };
    Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signed_address_comes_in_three_forms() {
        for answer in [
            r#"{"msft:expiry": "x", "href": "https://h/p?sig=1"}"#,
            r#""https://h/p?sig=1""#,
            "https://h/p?sig=1\n",
        ] {
            assert_eq!(signed_address(answer).expect(answer).as_str(), "https://h/p?sig=1");
        }
        for answer in ["", "{}", "file:///etc/passwd", "<html>"] {
            assert!(signed_address(answer).is_none(), "{answer}");
        }
    }
}
