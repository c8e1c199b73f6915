//! `write`: an encoded file, a blob or a temporary becomes a file under its final name, or nothing at all.
//!
//! On disk the bytes go to a temporary, which takes the final name over once it is complete ([`super::takeover`]); a store
//! shows an object when all of it is there ([`super::upload`]).

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value as Json;
use url::Url;

use crate::config::{Fault, Spanned, Value, from_value};
use crate::contract::{
    Content, EncodedBody, Environment, Failure, Item, Kind, Location, Op, OpEntry, OutputFile, Payload, Port,
    Shape, Take, Transfer, TransferContext, blocking,
};
use crate::ops::destination::Destination;
use crate::ops::takeover::{Claim, Existing, Partial, cannot_write, claim};
use crate::ops::upload::Upload;
use crate::remote::ObjectBody;

/// The op's line in the table.
pub(crate) const ENTRY: OpEntry = OpEntry {
    name: "write",
    summary: "Writes each item's file under its final name, completely or not at all.",
    accepts: &[Port::Encoded, Port::Blob, Port::File],
    example: r#"{ path = "out/{id}.tif" }"#,
    schema: |generator| generator.subschema_for::<WriteOptions>(),
    compile,
};

/// Options of `write`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct WriteOptions {
    /// Where the file goes: a path relative to the pipeline's folder, or an object of a store, `s3://bucket/out/{id}.tif`,
    /// `gs://…`, `az://…`. Filled per item: `{id}`, `{stem}`, `{folder}`, `{item}`, `{row}`, `{col}`, `{group}`, `{asset}`,
    /// `{datetime:%Y/%m}`, `{properties.name}`. Folders are made as needed. Requests to a store take `connections`, one
    /// each; what is larger than 16 MiB is written in parts of that size.
    #[schemars(example = &"out/{id}.tif", example = &"s3://bucket/{datetime:%Y/%m}/{id}.tif")]
    path: Spanned<String>,
    /// What happens when a file is there that no earlier run of this pipeline wrote. Default `refuse`.
    #[serde(default)]
    existing: Existing,
}

fn compile(options: &Value, environment: &Environment) -> Result<Arc<dyn Op>, Vec<Fault>> {
    let options: WriteOptions = from_value(options)?;
    let destination = Destination::parse(&options.path, &environment.folder)?;
    Ok(Arc::new(Write { destination, existing: options.existing }))
}

/// The compiled op.
#[derive(Clone)]
struct Write {
    destination: Destination,
    existing: Existing,
}

impl Write {
    async fn write(self, item: Item, context: TransferContext) -> Result<Option<Item>, Failure> {
        let location = self.destination.of(&item)?;
        let size = match &location {
            Location::Local(path) => self.to_disk(path, &item, &context).await?,
            Location::Remote(url) => self.to_store(url, &item, &context).await?,
        };
        Ok(Some(written(item, location, size)))
    }

    /// Writes a file; its size.
    async fn to_disk(&self, target: &Path, item: &Item, context: &TransferContext) -> Result<u64, Failure> {
        let commits = context.commits.as_ref();
        if let Claim::Kept(size) = claim(target, item, self.existing, commits)? {
            return Ok(size);
        }
        let body = Body::of(&item.payload)?;
        let partial = Partial::of(target);
        commits.announce(partial.path()).await?;
        let path = target.to_owned();
        let partial = blocking::run(&context.cancel, (), move || filled(partial, &path, &body)).await?;
        partial.take_over(commits).await
    }

    /// Writes an object; its size.
    async fn to_store(&self, url: &Url, item: &Item, context: &TransferContext) -> Result<u64, Failure> {
        let (upload, claim) = Upload::claim(url, item, self.existing, context).await?;
        if let Claim::Kept(size) = claim {
            return Ok(size);
        }
        let media_type = match &item.payload {
            Payload::Encoded(encoded) => encoded.media_type,
            _ => "application/octet-stream",
        };
        let body = Body::of(&item.payload)?;
        let size = body.size()?;
        upload.put(body.as_object(), size, media_type).await?;
        Ok(size)
    }
}

impl Op for Write {
    fn gives(&self, _input: Option<Port>) -> Port {
        Port::File
    }

    fn takes(&self) -> &'static [Take] {
        self.destination.takes()
    }

    fn shape(&self, _input: &Shape, _item: &Item) -> Result<Shape, Failure> {
        Ok(Shape::default())
    }

    fn manifest(&self) -> Json {
        Json::from(self.destination.text())
    }

    fn outputs(&self, item: &Item) -> Result<Vec<Location>, Failure> {
        self.destination.of(item).map(|location| vec![location])
    }

    fn places(&self) -> Vec<String> {
        vec![self.destination.text().to_owned()]
    }

    fn files_made(&self) -> u32 {
        1
    }

    fn kind(self: Arc<Self>) -> Kind {
        Kind::Transfer(self)
    }
}

impl Transfer for Write {
    fn transfer(
        &self,
        item: Item,
        context: TransferContext,
    ) -> BoxFuture<'static, Result<Option<Item>, Failure>> {
        self.clone().write(item, context).boxed()
    }
}

/// The bytes to write.
enum Body {
    Memory(Vec<Bytes>),
    File(PathBuf),
}

impl Body {
    fn of(payload: &Payload) -> Result<Self, Failure> {
        match payload {
            Payload::Encoded(encoded) => Ok(match &encoded.body {
                EncodedBody::Memory(bytes) => Body::Memory(vec![bytes.clone()]),
                EncodedBody::Scratch(file) => Body::File(file.path.clone()),
            }),
            Payload::Blobs(sets) => match sets.as_slice() {
                [set] if set.blobs.len() == 1 => Self::of_content(&set.blobs[0].content),
                _ => Err(only_one("assets", sets.iter().map(|set| set.blobs.len()).sum())),
            },
            Payload::Files(files) => match files.as_slice() {
                [OutputFile { location: Location::Local(path), .. }] => Ok(Body::File(path.clone())),
                _ => Err(only_one("files", files.len())),
            },
            other => Err(Failure::fatal(format!("`write` was given the port `{}`", other.port()))),
        }
    }

    fn of_content(content: &Content) -> Result<Self, Failure> {
        match content {
            Content::Local(path) => Ok(Body::File(path.clone())),
            Content::Scratch(file) => Ok(Body::File(file.path.clone())),
            Content::Memory(bytes) if bytes.held() == bytes.size => {
                Ok(Body::Memory(bytes.segments.iter().map(|(_, bytes)| bytes.clone()).collect()))
            }
            Content::Memory(bytes) => Err(Failure::item(format!("`{}` was fetched in part", bytes.name))),
        }
    }

    fn size(&self) -> Result<u64, Failure> {
        match self {
            Body::Memory(parts) => Ok(parts.iter().map(|part| part.len() as u64).sum()),
            Body::File(path) => match std::fs::metadata(path) {
                Ok(file) => Ok(file.len()),
                Err(error) => Err(Failure::item(format!("`{}`: {error}", path.display()))),
            },
        }
    }

    fn as_object(&self) -> ObjectBody<'_> {
        match self {
            Body::Memory(parts) => ObjectBody::Bytes(parts.clone()),
            Body::File(path) => ObjectBody::File(path),
        }
    }

    fn copy_into(&self, file: &mut File) -> io::Result<()> {
        match self {
            Body::Memory(parts) => parts.iter().try_for_each(|part| file.write_all(part)),
            Body::File(path) => io::copy(&mut File::open(path)?, file).map(drop),
        }
    }
}

fn only_one(what: &str, count: usize) -> Failure {
    Failure::item(format!("`write` writes one file and the item has {count} {what}"))
}

/// The temporary with all bytes.
fn filled(partial: Partial, target: &Path, body: &Body) -> Result<Partial, Failure> {
    let (mut partial, mut file) = partial.open()?;
    body.copy_into(&mut file).map_err(|error| cannot_write(target, &error))?;
    partial.seal(&file)?;
    Ok(partial)
}

fn written(item: Item, location: Location, size: u64) -> Item {
    let file = OutputFile { name: "data".into(), location, size, temporary: None };
    Item { payload: Payload::Files(vec![file]), ..item }
}
