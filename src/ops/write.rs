//! `write`: an encoded file, a blob or a temporary becomes a file under its final name, or nothing at all.
//!
//! The bytes go to a temporary, which takes the final name over once it is complete ([`super::takeover`]).

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

use crate::config::{Fault, Spanned, Value, from_value};
use crate::contract::{
    Content, EncodedBody, Environment, Failure, Item, Kind, Location, Op, OpEntry, OutputFile, Payload, Port,
    Shape, Take, Template, Transfer, TransferContext, blocking,
};
use crate::ops::takeover::{Claim, Existing, Partial, cannot_write, claim};

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
    /// Where the file goes, relative to the pipeline's folder. Filled per item: `{id}`, `{stem}`, `{folder}`,
    /// `{item}`, `{row}`, `{col}`, `{group}`, `{asset}`, `{datetime:%Y/%m}`, `{properties.name}`. Folders are made as
    /// needed.
    #[schemars(example = &"out/{id}.tif", example = &"out/{datetime:%Y/%m}/{id}.tif")]
    path: Spanned<String>,
    /// What happens when a file is there that no earlier run of this pipeline wrote. Default `refuse`.
    #[serde(default)]
    existing: Existing,
}

fn compile(options: &Value, environment: &Environment) -> Result<Arc<dyn Op>, Vec<Fault>> {
    let options: WriteOptions = from_value(options)?;
    let path = Template::parse(&options.path)?;
    Ok(Arc::new(Write { path, existing: options.existing, folder: environment.folder.clone() }))
}

/// The compiled op.
#[derive(Clone)]
struct Write {
    path: Template,
    existing: Existing,
    folder: PathBuf,
}

impl Write {
    fn target(&self, item: &Item) -> Result<PathBuf, Failure> {
        let path = self.path.render(item)?;
        Ok(self.folder.join(path))
    }

    async fn write(self, item: Item, context: TransferContext) -> Result<Option<Item>, Failure> {
        let target = self.target(&item)?;
        let commits = context.commits.as_ref();
        if let Claim::Kept(size) = claim(&target, &item, self.existing, commits)? {
            return Ok(Some(written(item, target, size)));
        }
        let body = Body::of(&item.payload)?;
        let partial = Partial::of(&target);
        commits.announce(partial.path()).await?;
        let path = target.clone();
        let partial = blocking::run(&context.cancel, (), move || filled(partial, &path, &body)).await?;
        let size = partial.take_over(commits).await?;
        Ok(Some(written(item, target, size)))
    }
}

impl Op for Write {
    fn gives(&self, _input: Option<Port>) -> Port {
        Port::File
    }

    fn takes(&self) -> &'static [Take] {
        &[Take::Writers]
    }

    fn shape(&self, _input: &Shape, _item: &Item) -> Result<Shape, Failure> {
        Ok(Shape::default())
    }

    fn manifest(&self) -> Json {
        Json::from(self.path.text())
    }

    fn outputs(&self, item: &Item) -> Result<Vec<Location>, Failure> {
        self.target(item).map(|path| vec![Location::Local(path)])
    }

    fn places(&self) -> Vec<String> {
        vec![self.path.text().to_owned()]
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

fn written(item: Item, path: PathBuf, size: u64) -> Item {
    let file = OutputFile { name: "data".into(), location: Location::Local(path), size, temporary: None };
    Item { payload: Payload::Files(vec![file]), ..item }
}
