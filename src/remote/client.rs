//! The client of a run, and its share for one stage and item.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::error::innermost;
use super::gate::HostGates;
use super::head::HeadCache;
use super::sign::Signer;
use super::store::Buckets;
use super::{AccessRules, ParseHeader, RequestError, RetryPolicy};
use crate::events::Emitter;
use crate::ids::{ItemId, StageName};
use crate::resources::{RateFamily, Requirement};

/// What holds for every request of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientOptions {
    /// The longest time until a connection stands.
    pub connect_timeout: Duration,
    /// The longest time without a byte of the body.
    pub stall_timeout: Duration,
    /// The longest time until an answer begins, where the stage states no `timeout`.
    pub answer_timeout: Duration,
    /// Bytes of the first, small read of an object.
    pub prefix: u64,
    /// Bytes that remembered beginnings of objects may hold.
    pub remembered: u64,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            stall_timeout: Duration::from_secs(8),
            answer_timeout: Duration::from_mins(1),
            prefix: 16 << 10,
            remembered: 64 << 20,
        }
    }
}

/// The client of a run. Cloning shares it. Nothing is set up before the first request.
#[derive(Clone, Default)]
pub struct Client(Arc<Shared>);

#[derive(Default)]
struct Shared {
    http: OnceLock<Result<reqwest::Client, RequestError>>,
    options: ClientOptions,
    access: AccessRules,
    environment: OnceLock<Vec<(String, String)>>,
    parse: Option<ParseHeader>,
    gates: HostGates,
    signer: Signer,
    heads: HeadCache,
}

/// What a stage's requests take, and how often they are tried.
#[derive(Clone, Default)]
pub struct StageSettings {
    /// The stage.
    pub stage: Option<StageName>,
    /// Slots and rates, taken by every request.
    pub requirement: Requirement,
    /// Rates of requests with one bucket for each host.
    pub host_rates: Vec<RateFamily>,
    /// Rates of bytes with one bucket for each host.
    pub host_byte_rates: Vec<RateFamily>,
    /// When a request is tried again.
    pub retry: RetryPolicy,
    /// The longest time of one request, waiting for slots and rates left out.
    pub timeout: Option<Duration>,
    /// Who is told of each request.
    pub events: Emitter,
}

/// Makes requests under a stage's resources. Cloning shares them.
#[derive(Clone)]
pub struct StageClient {
    client: Client,
    settings: Arc<StageSettings>,
    item: Option<ItemId>,
    /// Object stores; `None` for the requests that a store makes itself.
    buckets: Option<Arc<Buckets>>,
}

impl Default for StageClient {
    /// A client without limits.
    fn default() -> Self {
        Client::default().for_stage(StageSettings::default())
    }
}

impl fmt::Debug for StageClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StageClient")
            .field("stage", &self.settings.stage)
            .field("item", &self.item)
            .finish_non_exhaustive()
    }
}

impl Client {
    /// A client with these rules; `parse` reads headers of rasters.
    pub fn new(options: ClientOptions, access: AccessRules, parse: Option<ParseHeader>) -> Self {
        Self(Arc::new(Shared { options, access, parse, ..Shared::default() }))
    }

    /// The same client, which finds the credentials of object stores among these variables of the environment.
    #[must_use]
    pub fn with_environment(self, environment: Vec<(String, String)>) -> Self {
        self.0.environment.get_or_init(|| environment);
        self
    }

    /// A client that makes no request: each fails at once.
    pub fn offline() -> Self {
        let client = Self::default();
        let refusal = RequestError::Client("no requests are made here".into());
        client.0.http.get_or_init(|| Err(refusal));
        client
    }

    /// Its share for a stage.
    pub fn for_stage(&self, settings: StageSettings) -> StageClient {
        StageClient {
            client: self.clone(),
            settings: Arc::new(settings),
            item: None,
            buckets: Some(Arc::default()),
        }
    }

    fn http(&self) -> Result<&reqwest::Client, RequestError> {
        self.0.http.get_or_init(|| connector(&self.0.options)).as_ref().map_err(Clone::clone)
    }
}

/// Redirects, retries and compression are ours, so that every request is counted and every byte checked.
fn connector(options: &ClientOptions) -> Result<reqwest::Client, RequestError> {
    // Fails only when a provider is installed already, which then serves as well.
    drop(rustls::crypto::ring::default_provider().install_default());
    reqwest::Client::builder()
        .user_agent(concat!("gisrun/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .connect_timeout(options.connect_timeout)
        .http2_adaptive_window(true)
        .tcp_nodelay(true)
        .build()
        .map_err(|error| RequestError::Client(innermost(&error)))
}

impl StageClient {
    /// The same client, its requests told as made for an item.
    #[must_use]
    pub fn for_item(&self, item: &ItemId) -> Self {
        Self { item: Some(item.clone()), ..self.clone() }
    }

    pub(super) fn buckets(&self) -> Option<&Buckets> {
        self.buckets.as_deref()
    }

    /// The same client for the requests that a store makes itself, so that the two do not hold each other.
    pub(super) fn without_buckets(&self) -> Self {
        Self { buckets: None, ..self.clone() }
    }

    pub(super) fn environment(&self) -> &[(String, String)] {
        self.client.0.environment.get().map_or(&[], Vec::as_slice)
    }

    pub(super) fn settings(&self) -> &StageSettings {
        &self.settings
    }

    pub(super) fn item(&self) -> Option<&ItemId> {
        self.item.as_ref()
    }

    pub(super) fn http(&self) -> Result<&reqwest::Client, RequestError> {
        self.client.http()
    }

    pub(super) fn gates(&self) -> &HostGates {
        &self.client.0.gates
    }

    pub(super) fn options(&self) -> &ClientOptions {
        &self.client.0.options
    }

    pub(super) fn access(&self) -> &AccessRules {
        &self.client.0.access
    }

    pub(super) fn signer(&self) -> &Signer {
        &self.client.0.signer
    }

    pub(super) fn heads(&self) -> &HeadCache {
        &self.client.0.heads
    }

    pub(super) fn parse(&self) -> Option<&ParseHeader> {
        self.client.0.parse.as_ref()
    }
}
