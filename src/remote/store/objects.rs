//! Objects: listed, looked at, written.

use std::path::Path as FilePath;

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::BoxStream;
use object_store::{
    Attribute, Attributes, GetOptions, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, PutMultipartOptions,
    PutOptions,
};
use reqwest::StatusCode;
use url::Url;

use super::bucket::key_of;
use super::parts::Parts;
use crate::remote::{RequestError, StageClient, redacted};

/// Objects up to this size are written by one request, larger ones by several of this size.
pub const PART: u64 = 16 << 20;

/// The name, in an object's metadata, of the fingerprint of the results that it holds.
pub const FINGERPRINT: &str = "gisrun-fingerprint";

/// What is written.
#[derive(Clone, Debug)]
pub enum ObjectBody<'a> {
    /// Bytes in memory, one piece after the other.
    Bytes(Vec<Bytes>),
    /// A file, read part by part.
    File(&'a FilePath),
}

/// An object as its store describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectState {
    /// Its address.
    pub url: Url,
    /// Bytes.
    pub size: u64,
    /// Its entity tag.
    pub etag: Option<String>,
    /// Metadata of its writer, by name; listings do not tell it.
    pub metadata: Vec<(String, String)>,
}

impl ObjectState {
    /// The fingerprint of the results that it holds, where its metadata tells it.
    pub fn fingerprint(&self) -> Option<&str> {
        let own = |(name, _): &&(String, String)| name.eq_ignore_ascii_case(FINGERPRINT);
        self.metadata.iter().find(own).map(|(_, value)| value.as_str())
    }
}

impl StageClient {
    /// The objects below an address, in the order of the store. Every page is a request of its own.
    ///
    /// # Errors
    /// What a store and a network can do.
    pub fn objects(
        &self,
        below: &Url,
    ) -> Result<BoxStream<'static, Result<ObjectState, RequestError>>, RequestError> {
        let (bucket, prefix, below) = (self.bucket(below)?, key_of(below)?, below.clone());
        let listed = bucket.store.list(Some(&prefix)).map(move |object| match object {
            Ok(object) => Ok(state_of(&below, &object)),
            Err(error) => Err(error_of(&below, &error)),
        });
        Ok(listed.boxed())
    }

    /// What a store says of an object; `None` where there is none.
    ///
    /// # Errors
    /// What a store and a network can do.
    pub async fn object(&self, url: &Url) -> Result<Option<ObjectState>, RequestError> {
        let (bucket, key) = (self.bucket(url)?, key_of(url)?);
        match bucket.store.get_opts(&key, GetOptions { head: true, ..GetOptions::default() }).await {
            Ok(found) => {
                let metadata = metadata_of(&found.attributes);
                Ok(Some(ObjectState { metadata, ..state_of(url, &found.meta) }))
            }
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error_of(url, &error)),
        }
    }

    /// Writes an object; it appears when it is complete. With `replaces` an older one gives way, else it is refused.
    /// Dropping the future leaves no object, and perhaps parts that the store clears away.
    ///
    /// # Errors
    /// What a store, a network and a disk can do; status 412 where an object stands and must not be replaced.
    pub async fn put_object(
        &self,
        url: &Url,
        body: ObjectBody<'_>,
        media_type: &'static str,
        metadata: &[(String, String)],
        replaces: bool,
    ) -> Result<(), RequestError> {
        let (bucket, key) = (self.bucket(url)?, key_of(url)?);
        let attributes = attributes(media_type, metadata);
        let mut parts = Parts::of(body).await.map_err(|(path, error)| disk(url, path, &error))?;
        if parts.left() > PART {
            if !replaces && self.object(url).await?.is_some() {
                return Err(exists(url));
            }
            let options = PutMultipartOptions { attributes, ..PutMultipartOptions::default() };
            let upload = bucket.store.put_multipart_opts(&key, options).await;
            return put_parts(url, upload.map_err(|error| error_of(url, &error))?, parts).await;
        }
        let payload = parts.next().await.map_err(|(path, error)| disk(url, path, &error))?;
        let mode = if replaces { PutMode::Overwrite } else { PutMode::Create };
        let options = PutOptions { mode, attributes, ..PutOptions::default() };
        match bucket.store.put_opts(&key, payload.unwrap_or_default(), options).await {
            Ok(_) => Ok(()),
            Err(object_store::Error::AlreadyExists { .. }) => Err(exists(url)),
            Err(error) => Err(error_of(url, &error)),
        }
    }

    /// Removes an object; that there is none is no error.
    ///
    /// # Errors
    /// What a store and a network can do.
    pub async fn delete_object(&self, url: &Url) -> Result<(), RequestError> {
        let (bucket, key) = (self.bucket(url)?, key_of(url)?);
        match bucket.store.delete(&key).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error_of(url, &error)),
        }
    }
}

/// Writes part by part, one in memory at a time, and ends the upload either way.
async fn put_parts(
    url: &Url,
    mut upload: Box<dyn object_store::MultipartUpload>,
    mut parts: Parts<'_>,
) -> Result<(), RequestError> {
    let written = async {
        while let Some(part) = parts.next().await.map_err(|(path, error)| disk(url, path, &error))? {
            upload.put_part(part).await.map_err(|error| error_of(url, &error))?;
        }
        upload.complete().await.map(drop).map_err(|error| error_of(url, &error))
    }
    .await;
    if written.is_err()
        && let Err(error) = upload.abort().await
    {
        tracing::warn!(url = redacted(url), %error, "parts of an upload stay");
    }
    written
}

fn state_of(near: &Url, object: &ObjectMeta) -> ObjectState {
    let mut url = near.clone();
    url.set_path("");
    url.set_query(None);
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.clear().extend(object.location.parts().map(|part| part.as_ref().to_owned()));
    }
    ObjectState { url, size: object.size, etag: object.e_tag.clone(), metadata: Vec::new() }
}

fn metadata_of(attributes: &Attributes) -> Vec<(String, String)> {
    let own = |(name, value): (&Attribute, &object_store::AttributeValue)| match name {
        Attribute::Metadata(name) => Some((name.to_string(), value.to_string())),
        _ => None,
    };
    attributes.iter().filter_map(own).collect()
}

fn attributes(media_type: &'static str, metadata: &[(String, String)]) -> Attributes {
    let mut attributes = Attributes::new();
    attributes.insert(Attribute::ContentType, media_type.into());
    for (name, value) in metadata {
        attributes.insert(Attribute::Metadata(name.clone().into()), value.clone().into());
    }
    attributes
}

fn exists(url: &Url) -> RequestError {
    status(url, StatusCode::PRECONDITION_FAILED, "an object stands there already")
}

fn status(url: &Url, status: StatusCode, reason: &str) -> RequestError {
    let (method, url, detail) = (reqwest::Method::PUT, redacted(url), format!(": {reason}"));
    RequestError::Status { method, url, status, retry_after: None, detail }
}

fn disk(url: &Url, path: &FilePath, error: &std::io::Error) -> RequestError {
    let (url, path, reason) = (redacted(url), path.display().to_string(), error.to_string());
    RequestError::Scratch { url, path, reason, is_full: false }
}

/// A store's error: ours where it comes from a request, else what it says.
pub(super) fn error_of(url: &Url, error: &object_store::Error) -> RequestError {
    let mut cause: &dyn std::error::Error = error;
    loop {
        if let Some(own) = cause.downcast_ref::<RequestError>() {
            return own.clone();
        }
        match cause.source() {
            Some(source) => cause = source,
            None => break,
        }
    }
    let reason = cause.to_string();
    match error {
        object_store::Error::NotFound { .. } => status(url, StatusCode::NOT_FOUND, &reason),
        object_store::Error::PermissionDenied { .. } => status(url, StatusCode::FORBIDDEN, &reason),
        object_store::Error::Unauthenticated { .. } => status(url, StatusCode::UNAUTHORIZED, &reason),
        _ => RequestError::Unusable { url: redacted(url), reason },
    }
}
