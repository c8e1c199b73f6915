//! `write`: an encoded file, a blob or a temporary becomes a file under its final name, or nothing at all.
//!
//! The bytes go to a temporary in the same folder with the same suffix, whose name follows from the final one, so that
//! what a killed run left is overwritten by the next. It is flushed and closed, the ledger remembers its inode and size,
//! and only then it is renamed: at every moment the final name holds the old file or the complete new one.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt;
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
    Content, EncodedBody, Environment, Failure, Intended, Item, Kind, Location, Op, OpEntry, OutputFile,
    Payload, Port, Shape, Take, Template, Transfer, TransferContext, blocking,
};

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

/// What happens to a file that is there and that no earlier run wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Existing {
    /// The item fails and the file stays.
    #[default]
    Refuse,
    /// The file is replaced once the new one is complete.
    Replace,
    /// The file stays and counts as the item's output.
    Keep,
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
        refuse_input(&target, &item)?;
        let location = target.display().to_string();
        let commits = &context.commits;
        commits.claim(&location)?;
        if let Some(size) = size_of(&target)
            && !commits.owns(&location, size)
        {
            match self.existing {
                Existing::Replace => {}
                Existing::Keep => return Ok(Some(written(item, target, size))),
                Existing::Refuse => return Err(is_there(&target)),
            }
        }
        let body = Body::of(&item.payload)?;
        let (path, temporary) = (target.clone(), temporary_name(&target));
        commits.announce(&temporary).await?;
        let partial = blocking::run(&context.cancel, (), move || Partial::write(&path, &body)).await?;
        let (size, inode) = (partial.size, Some(partial.inode));
        commits.intend(Intended { location: &location, temporary: Some(&temporary), size, inode }).await?;
        partial.rename(&target)?;
        commits.committed(&location).await?;
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

    fn output(&self, item: &Item) -> Result<Option<Location>, Failure> {
        self.target(item).map(|path| Some(Location::Local(path)))
    }

    fn makes_files(&self) -> bool {
        true
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

/// A complete file under its temporary name; removed when it is not renamed.
struct Partial {
    path: PathBuf,
    size: u64,
    inode: u64,
}

impl Partial {
    fn write(target: &Path, body: &Body) -> Result<Self, Failure> {
        let folder = target.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder).map_err(|error| cannot_write(target, &error))?;
        let mut partial = Self { path: temporary_name(target), size: 0, inode: 0 };
        let mut file = partial.open(target)?;
        let written =
            file.set_len(0).and_then(|()| body.copy_into(&mut file)).and_then(|()| file.sync_data());
        let metadata =
            written.and_then(|()| file.metadata()).map_err(|error| cannot_write(target, &error))?;
        (partial.size, partial.inode) = (metadata.len(), metadata.ino());
        Ok(partial)
    }

    /// Opens the temporary and locks it against another run that writes the same file.
    fn open(&self, target: &Path) -> Result<File, Failure> {
        let options = OpenOptions::new().create(true).truncate(false).write(true).open(&self.path);
        let file = options.map_err(|error| cannot_write(target, &error))?;
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(TryLockError::WouldBlock) => {
                Err(Failure::item(format!("`{}` is being written by another run", target.display())))
            }
            Err(TryLockError::Error(error)) => Err(cannot_write(target, &error)),
        }
    }

    fn rename(self, target: &Path) -> Result<(), Failure> {
        fs::rename(&self.path, target).map_err(|error| cannot_write(target, &error))?;
        // The temporary's name is free again: another item of the same path may hold it by now.
        std::mem::forget(self);
        Ok(())
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.path) {
            tracing::debug!(path = %self.path.display(), %error, "temporary file was not removed");
        }
    }
}

/// `out/scene.tif` → `out/.scene.gisrun-partial.tif`
fn temporary_name(target: &Path) -> PathBuf {
    let stem = target.file_stem().unwrap_or_default().to_string_lossy();
    let suffix =
        target.extension().map(|suffix| format!(".{}", suffix.to_string_lossy())).unwrap_or_default();
    target.with_file_name(format!(".{stem}.gisrun-partial{suffix}"))
}

fn size_of(path: &Path) -> Option<u64> {
    fs::metadata(path).ok().map(|metadata| metadata.len())
}

/// The same file under any name: a symbolic link and a hard link included.
fn refuse_input(target: &Path, item: &Item) -> Result<(), Failure> {
    let Ok(existing) = fs::metadata(target) else { return Ok(()) };
    let is_same = |input: &&PathBuf| {
        fs::metadata(input).is_ok_and(|input| (input.dev(), input.ino()) == (existing.dev(), existing.ino()))
    };
    match item.lineage.inputs.iter().find(is_same) {
        None => Ok(()),
        Some(input) => Err(Failure::item(format!(
            "the output `{}` is the input `{}`; write to another folder",
            target.display(),
            input.display()
        ))),
    }
}

fn is_there(target: &Path) -> Failure {
    Failure::item(format!(
        "`{}` is there and no earlier run of this pipeline wrote it; remove it, or set `existing` to `replace` or `keep`",
        target.display()
    ))
}

/// A full or read-only disk stops the run, since no later item could be written either.
fn cannot_write(target: &Path, error: &io::Error) -> Failure {
    let message = format!("cannot write `{}`: {error}", target.display());
    match error.kind() {
        io::ErrorKind::StorageFull
        | io::ErrorKind::QuotaExceeded
        | io::ErrorKind::ReadOnlyFilesystem
        | io::ErrorKind::PermissionDenied => Failure::fatal(message),
        _ => Failure::item(message),
    }
}

fn written(item: Item, path: PathBuf, size: u64) -> Item {
    let file = OutputFile { name: "data".into(), location: Location::Local(path), size, temporary: None };
    Item { payload: Payload::Files(vec![file]), ..item }
}
