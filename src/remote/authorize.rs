//! The value of `Authorization` that a program prints, kept for as long as it holds.

use std::time::Duration;

use reqwest::header::HeaderValue;
use tokio::sync::Mutex;
use tokio::time::Instant;
use url::Url;

use super::program::Program;
use super::{RequestError, StageClient, redacted};

/// A program whose word opens the addresses of a prefix. Those who ask at the same time wait for one run of it.
pub(super) struct Authorization {
    pub(super) program: Program,
    pub(super) valid: Duration,
    kept: Mutex<Option<(HeaderValue, Instant)>>,
}

impl Authorization {
    pub(super) fn new(program: Program, valid: Duration) -> Self {
        Self { program, valid, kept: Mutex::default() }
    }

    async fn value(&self, url: &Url) -> Result<HeaderValue, RequestError> {
        let mut kept = self.kept.lock().await;
        if let Some((value, _)) = kept.as_ref().filter(|(_, until)| *until > Instant::now()) {
            return Ok(value.clone());
        }
        let mut value =
            HeaderValue::from_str(&self.program.ask(url).await?).map_err(|_| RequestError::Unusable {
                url: redacted(url),
                reason: "its `auth` program prints what is no value of a header".into(),
            })?;
        value.set_sensitive(true);
        *kept = Some((value.clone(), Instant::now() + self.valid));
        Ok(value)
    }
}

impl StageClient {
    /// What a program says opens this address; `None` where no rule has one.
    pub(super) async fn authorization(&self, url: &Url) -> Result<Option<HeaderValue>, RequestError> {
        match self.access().for_url(url).and_then(|rule| rule.auth.as_ref()) {
            Some(auth) => auth.value(url).await.map(Some),
            None => Ok(None),
        }
    }

    /// Asks the program again next time; whether there is one.
    pub(super) async fn forget_authorization(&self, url: &Url) -> bool {
        match self.access().for_url(url).and_then(|rule| rule.auth.as_ref()) {
            Some(auth) => auth.kept.lock().await.take().is_some(),
            None => false,
        }
    }
}
