//! How a file gets its final name: claimed for one item, made under a temporary name, remembered, renamed.
//!
//! The temporary stands in the same folder with the same suffix, and its name follows from the final one, so that what a
//! killed run left is overwritten by the next. Once it is complete and flushed the ledger remembers its inode and size,
//! and only then it is renamed: at every moment the final name holds the old file or the complete new one.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;

use crate::contract::{Commits, Failure, Intended, Item, Location};

/// What happens to a file that is there and that no earlier run wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Existing {
    /// The item fails and the file stays.
    #[default]
    Refuse,
    /// The file is replaced once the new one is complete.
    Replace,
    /// The file stays and counts as the item's output.
    Keep,
}

/// What a final name is to an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claim {
    /// The item may write it.
    Granted,
    /// The file of so many bytes that is there stays.
    Kept(u64),
}

/// Claims a final name for an item.
///
/// # Errors
/// It is the item's input, another item has it, or a file is there that is not to be replaced.
pub(super) fn claim(
    target: &Path,
    item: &Item,
    existing: Existing,
    commits: &dyn Commits,
) -> Result<Claim, Failure> {
    refuse_input(target, item)?;
    let location = target.display().to_string();
    commits.claim(&location)?;
    match (size_of(target), existing) {
        (Some(size), _) if commits.owns(&location, size) => Ok(Claim::Granted),
        (Some(size), Existing::Keep) => Ok(Claim::Kept(size)),
        (Some(_), Existing::Refuse) => Err(is_there(target)),
        (Some(_), Existing::Replace) | (None, _) => Ok(Claim::Granted),
    }
}

/// A file under its temporary name, made or about to be; removed when it is not renamed.
#[derive(Debug)]
pub(super) struct Partial {
    target: PathBuf,
    path: PathBuf,
    size: u64,
    inode: u64,
}

impl Partial {
    /// The temporary that is to become `target`; nothing is made yet.
    pub(super) fn of(target: &Path) -> Self {
        Self { target: target.to_owned(), path: temporary_name(target), size: 0, inode: 0 }
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the file, empty, and its folder; it is locked against another run that writes the same file.
    ///
    /// # Errors
    /// The disk says no, or another run has it.
    pub(super) fn open(self) -> Result<(Self, File), Failure> {
        make_folder_of(&self.target)?;
        let failed = |error: io::Error| cannot_write(&self.target, &error);
        let file =
            OpenOptions::new().create(true).truncate(false).write(true).open(&self.path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => file.set_len(0).map_err(failed)?,
            Err(TryLockError::WouldBlock) => {
                let message = format!("`{}` is being written by another run", self.target.display());
                // It is the other run's temporary and stays.
                std::mem::forget(self);
                return Err(Failure::item(message));
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        Ok((self, file))
    }

    /// Flushes the file, which is complete.
    ///
    /// # Errors
    /// The disk says no.
    pub(super) fn seal(&mut self, file: &File) -> Result<(), Failure> {
        let sealed = file.sync_data().and_then(|()| file.metadata());
        let metadata = sealed.map_err(|error| cannot_write(&self.target, &error))?;
        (self.size, self.inode) = (metadata.len(), metadata.ino());
        Ok(())
    }

    /// Gives a sealed file its final name, the ledger told before and after; its size.
    ///
    /// # Errors
    /// The ledger or the disk says no; the temporary is removed then.
    pub(super) async fn take_over(self, commits: &dyn Commits) -> Result<u64, Failure> {
        let location = self.target.display().to_string();
        let (size, inode) = (self.size, Some(self.inode));
        let temporary = Some(self.path.as_path());
        commits.intend(Intended { location: &location, temporary, size, inode }).await?;
        self.rename()?;
        commits.committed(&location).await?;
        Ok(size)
    }

    fn rename(self) -> Result<(), Failure> {
        fs::rename(&self.path, &self.target).map_err(|error| cannot_write(&self.target, &error))?;
        // The temporary's name is free again: another run may hold it by now.
        std::mem::forget(self);
        Ok(())
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::debug!(path = %self.path.display(), %error, "temporary file was not removed");
            }
            _ => {}
        }
    }
}

/// Makes the folder that a file goes into.
///
/// # Errors
/// The disk says no.
pub(super) fn make_folder_of(target: &Path) -> Result<(), Failure> {
    let folder = target.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(|error| cannot_write(target, &error))
}

/// A full or read-only disk stops the run, since no later item could be written either.
pub(super) fn cannot_write(target: &Path, error: &io::Error) -> Failure {
    let message = format!("cannot write `{}`: {error}", target.display());
    match error.kind() {
        io::ErrorKind::StorageFull
        | io::ErrorKind::QuotaExceeded
        | io::ErrorKind::ReadOnlyFilesystem
        | io::ErrorKind::PermissionDenied => Failure::fatal(message),
        _ => Failure::item(message),
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
    let local = item.lineage.inputs.iter().filter_map(|input| match input {
        Location::Local(path) => Some(path),
        Location::Remote(_) => None,
    });
    match local.into_iter().find(is_same) {
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
