//! One bucket: how it is reached, and the HTTP addresses of its objects.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::path::Path;
use object_store::signer::Signer;
use object_store::{ObjectStore, RetryConfig};
use url::Url;

use super::profile::{Profile, ProfileError};
use super::service::Governed;
use crate::remote::access::StoreAccess;
use crate::remote::{RequestError, StageClient, redacted};

/// How long a signed address is good for; it is signed anew a little earlier.
const SIGNED_FOR: Duration = Duration::from_hours(1);

/// Signed addresses are used for so long.
pub(in crate::remote) const USED_FOR: Duration = Duration::from_mins(45);

/// The buckets of a stage, by scheme and name.
#[derive(Default)]
pub(in crate::remote) struct Buckets(Mutex<HashMap<String, Bucket>>);

/// A bucket (a container, in Azure's words).
#[derive(Clone)]
pub(in crate::remote) struct Bucket {
    /// Lists and writes.
    pub(super) store: Arc<dyn ObjectStore>,
    /// Signs addresses; `None` where they are public.
    signer: Option<Arc<dyn Signer>>,
    /// The public address of the bucket, without `/` at its end.
    public: String,
}

impl StageClient {
    /// The bucket of an address, set up at first use.
    pub(in crate::remote) fn bucket(&self, url: &Url) -> Result<Bucket, RequestError> {
        let name = format!("{}://{}", url.scheme(), url.host_str().unwrap_or_default());
        let Some(buckets) = self.buckets() else {
            return Err(wrong(url, "a store's own requests name no store"));
        };
        let mut buckets = buckets.0.lock().expect("nothing panics while it holds the buckets");
        if let Some(bucket) = buckets.get(&name) {
            return Ok(bucket.clone());
        }
        let access = self.access().for_url(url).map(|rule| rule.store.clone()).unwrap_or_default();
        let governed = Governed(self.without_buckets());
        let bucket =
            build(url, &access, self.environment(), &governed).map_err(|reason| wrong(url, &reason))?;
        buckets.insert(name, bucket.clone());
        Ok(bucket)
    }

    /// The HTTP address of an object, signed where its bucket is not public.
    pub(in crate::remote) async fn address_of_object(&self, url: &Url) -> Result<(Url, bool), RequestError> {
        let bucket = self.bucket(url)?;
        let Some(signer) = bucket.signer else {
            let address = Url::parse(&format!("{}{}", bucket.public, url.path()));
            return address.map(|address| (address, false)).map_err(|error| wrong(url, &error.to_string()));
        };
        let key = key_of(url)?;
        // Boxed because credentials may have to be asked for by requests of their own.
        let signed =
            Box::pin(async move { signer.signed_url(reqwest::Method::GET, &key, SIGNED_FOR).await }).await;
        signed.map(|signed| (signed, true)).map_err(|error| super::objects::error_of(url, &error))
    }
}

/// The key of an object within its bucket.
pub(super) fn key_of(url: &Url) -> Result<Path, RequestError> {
    Path::from_url_path(url.path()).map_err(|error| wrong(url, &error.to_string()))
}

fn wrong(url: &Url, reason: &str) -> RequestError {
    RequestError::Unusable { url: redacted(url), reason: reason.to_owned() }
}

fn no_retries() -> RetryConfig {
    RetryConfig { max_retries: 0, ..RetryConfig::default() }
}

fn build(
    url: &Url,
    access: &StoreAccess,
    environment: &[(String, String)],
    governed: &Governed,
) -> Result<Bucket, String> {
    let name = url.host_str().unwrap_or_default();
    let bucket = match url.scheme() {
        "s3" => {
            let profile = profile(access, environment).map_err(|error| error.to_string())?;
            s3(name, &completed(access, &profile), environment, &profile, governed)
        }
        "gs" => google(name, access, environment, governed),
        _ => azure(name, access, environment, governed),
    };
    bucket.map_err(|error| error.to_string())
}

/// The profile in force; none where no credentials are wanted.
fn profile(access: &StoreAccess, environment: &[(String, String)]) -> Result<Profile, ProfileError> {
    if access.anonymous {
        return Ok(Profile::default());
    }
    Profile::in_force(access.profile.as_deref(), environment)
}

/// The settings of the environment that a provider knows, by their names in lower case.
fn settings<'a, K: std::str::FromStr>(
    environment: &'a [(String, String)],
    prefix: &'a str,
) -> impl Iterator<Item = (K, &'a str)> {
    let known = move |(name, value): &'a (String, String)| {
        let key = name.starts_with(prefix).then(|| name.to_ascii_lowercase().parse().ok()).flatten()?;
        Some((key, value.as_str()))
    };
    environment.iter().filter_map(known)
}

fn s3(
    name: &str,
    access: &StoreAccess,
    environment: &[(String, String)],
    profile: &Profile,
    governed: &Governed,
) -> object_store::Result<Bucket> {
    let mut builder = AmazonS3Builder::new();
    for (key, value) in profile.settings() {
        builder = builder.with_config(key, value);
    }
    for (key, value) in settings(environment, "AWS_") {
        if profile.keys.is_none() || !is_of_keys(key) {
            builder = builder.with_config(key, value);
        }
    }
    if let Some(region) = &access.region {
        builder = builder.with_region(region);
    }
    if let Some(endpoint) = &access.endpoint {
        builder = builder.with_endpoint(endpoint.trim_end_matches('/'));
    }
    let store = builder
        .with_bucket_name(name)
        .with_allow_http(true)
        .with_skip_signature(access.anonymous)
        .with_request_payer(access.requester_pays)
        .with_retry(no_retries())
        .with_http_connector(governed.clone())
        .build()?;
    let public = match &access.endpoint {
        Some(endpoint) => format!("{}/{name}", endpoint.trim_end_matches('/')),
        // Leads on to the bucket's region. A name with dots has no certificate of its own.
        None if !name.contains('.') => format!("https://{name}.s3.amazonaws.com"),
        None => {
            format!("https://s3.{}.amazonaws.com/{name}", access.region.as_deref().unwrap_or("us-east-1"))
        }
    };
    Ok(bucket(store, access, public))
}

/// How a store is reached, with what a profile says that the pipeline names; the environment goes before any other.
fn completed(access: &StoreAccess, profile: &Profile) -> StoreAccess {
    let mut access = access.clone();
    if access.profile.is_some() {
        access.region = access.region.or_else(|| profile.region.clone());
        access.endpoint = access.endpoint.or_else(|| profile.endpoint.clone());
    }
    access
}

/// Whether a setting is a part of credentials, of which none is mixed with those of a profile.
fn is_of_keys(key: AmazonS3ConfigKey) -> bool {
    use AmazonS3ConfigKey::{AccessKeyId, SecretAccessKey, Token};
    matches!(key, AccessKeyId | SecretAccessKey | Token)
}

fn google(
    name: &str,
    access: &StoreAccess,
    environment: &[(String, String)],
    governed: &Governed,
) -> object_store::Result<Bucket> {
    let mut builder = GoogleCloudStorageBuilder::new();
    for (key, value) in settings(environment, "GOOGLE_") {
        builder = builder.with_config(key, value);
    }
    let store = builder
        .with_bucket_name(name)
        .with_skip_signature(access.anonymous)
        .with_retry(no_retries())
        .with_http_connector(governed.clone())
        .build()?;
    let endpoint = access.endpoint.as_deref().unwrap_or("https://storage.googleapis.com");
    Ok(bucket(store, access, format!("{}/{name}", endpoint.trim_end_matches('/'))))
}

fn azure(
    name: &str,
    access: &StoreAccess,
    environment: &[(String, String)],
    governed: &Governed,
) -> object_store::Result<Bucket> {
    let mut builder = MicrosoftAzureBuilder::new();
    for (key, value) in settings(environment, "AZURE_") {
        builder = builder.with_config(key, value);
    }
    if let Some(endpoint) = &access.endpoint {
        builder = builder.with_endpoint(endpoint.clone());
    }
    let store = builder
        .with_container_name(name)
        .with_allow_http(true)
        .with_skip_signature(access.anonymous)
        .with_retry(no_retries())
        .with_http_connector(governed.clone())
        .build()?;
    let account = environment.iter().find(|(name, _)| name == "AZURE_STORAGE_ACCOUNT_NAME");
    let account = account.map_or("", |(_, account)| account.as_str());
    let endpoint =
        access.endpoint.clone().unwrap_or_else(|| format!("https://{account}.blob.core.windows.net"));
    Ok(bucket(store, access, format!("{}/{name}", endpoint.trim_end_matches('/'))))
}

fn bucket<S: ObjectStore + Signer>(store: S, access: &StoreAccess, public: String) -> Bucket {
    let store = Arc::new(store);
    let signer = (!access.anonymous).then(|| Arc::clone(&store) as Arc<dyn Signer>);
    Bucket { store, signer, public }
}
