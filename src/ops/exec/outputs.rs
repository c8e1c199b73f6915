//! The files that a program makes, from the places where it writes them to those where they stay.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::inputs::{fresh, no_scratch};
use super::recipe::{Destination, Output, Recipe};
use crate::contract::{Commits, Failure, Item, Location, OutputFile, TemporaryFile, TransferContext};
use crate::ops::takeover::{Claim, Partial, cannot_write, claim, make_folder_of};
use crate::resources::Bytes;

/// The outputs of one item; what was not taken over goes with the value.
pub(super) struct Outputs(Vec<Place>);

/// Where one output is.
struct Place {
    name: String,
    stand: Stand,
}

enum Stand {
    /// A temporary for later stages.
    Temporary(TemporaryFile),
    /// It is to stay.
    Final { target: PathBuf, partial: Partial },
    /// A file that was there stays; what the program makes is dropped.
    Kept { target: PathBuf, size: u64, instead: TemporaryFile },
}

impl Outputs {
    /// Claims the final names; nothing is made yet.
    ///
    /// # Errors
    /// A name that cannot be had.
    pub(super) fn claim(recipe: &Recipe, item: &Item, context: &TransferContext) -> Result<Self, Failure> {
        let places = recipe.outputs.iter().map(|output| {
            let stand = Stand::claim(output, recipe, item, context)?;
            Ok(Place { name: output.name.clone(), stand })
        });
        places.collect::<Result<_, Failure>>().map(Self)
    }

    /// Whether nothing is left to be made.
    pub(super) fn are_all_kept(&self) -> bool {
        self.0.iter().all(|place| matches!(place.stand, Stand::Kept { .. }))
    }

    /// The files that were there.
    pub(super) fn kept(self) -> Vec<OutputFile> {
        let kept = |place| match place {
            Place { name, stand: Stand::Kept { target, size, .. } } => Some(file(name, target, size)),
            _ => None,
        };
        self.0.into_iter().filter_map(kept).collect()
    }

    /// Tells the ledger of the temporaries beside final files.
    ///
    /// # Errors
    /// The ledger says no.
    pub(super) async fn announce(&self, commits: &dyn Commits) -> Result<(), Failure> {
        for place in &self.0 {
            if let Stand::Final { partial, .. } = &place.stand {
                commits.announce(partial.path()).await?;
            }
        }
        Ok(())
    }

    /// Makes the folders and removes what a dead run left. Blocks.
    ///
    /// # Errors
    /// The disk says no.
    pub(super) fn make_way(self) -> Result<Self, Failure> {
        for place in &self.0 {
            if let Stand::Final { target, partial } = &place.stand {
                make_folder_of(target)?;
                remove(partial.path()).map_err(|error| cannot_write(target, &error))?;
            }
        }
        Ok(self)
    }

    /// Where the program writes the output of this name, or the only one.
    pub(super) fn place(&self, name: Option<&str>) -> &Path {
        let place = self.0.iter().find(|place| name.is_none_or(|name| place.name == name));
        place.map_or(Path::new(""), |place| place.stand.path())
    }

    /// Looks at what the program made, and flushes what is to stay. Blocks.
    ///
    /// # Errors
    /// An output that is not there, is empty or is no file; a disk that says no.
    pub(super) fn sealed(mut self, scratch: &Bytes) -> Result<Self, Failure> {
        for Place { name, stand } in &mut self.0 {
            let size = made(name, stand.path())?;
            match stand {
                Stand::Temporary(file) => file.lease = Some(scratch.overdraw(size)),
                Stand::Final { target, partial } => {
                    let file = File::open(partial.path()).map_err(|error| cannot_write(target, &error))?;
                    partial.seal(&file)?;
                }
                Stand::Kept { .. } => {}
            }
            // What GDAL notes beside a file has the temporary's name, which nobody looks for.
            let beside = format!("{}.aux.xml", stand.path().display());
            remove(Path::new(&beside)).map_err(|error| no_scratch(&error))?;
        }
        Ok(self)
    }

    /// Gives the final files their names, in order.
    ///
    /// # Errors
    /// The ledger or the disk says no.
    pub(super) async fn take_over(self, commits: &dyn Commits) -> Result<Vec<OutputFile>, Failure> {
        let mut files = Vec::new();
        for Place { name, stand } in self.0 {
            files.push(match stand {
                Stand::Temporary(temporary) => of_temporary(name, temporary),
                Stand::Final { target, partial } => {
                    let size = partial.take_over(commits).await?;
                    file(name, target, size)
                }
                Stand::Kept { target, size, .. } => file(name, target, size),
            });
        }
        Ok(files)
    }
}

impl Stand {
    fn claim(
        output: &Output,
        recipe: &Recipe,
        item: &Item,
        context: &TransferContext,
    ) -> Result<Self, Failure> {
        let temporary = |suffix: &str| {
            let named = format!("-{}{suffix}", output.name);
            TemporaryFile { path: fresh(&context.scratch, &named), lease: None }
        };
        let path = match &output.destination {
            Destination::Temporary { suffix } => return Ok(Stand::Temporary(temporary(suffix))),
            Destination::Final(path) => path,
        };
        let target = recipe.folder.join(path.render(item)?);
        match claim(&target, item, recipe.existing, &*context.commits)? {
            Claim::Granted => Ok(Stand::Final { partial: Partial::of(&target), target }),
            Claim::Kept(size) => {
                let suffix = target.extension().unwrap_or_default().to_string_lossy();
                let instead = temporary(&format!(".{suffix}"));
                Ok(Stand::Kept { target, size, instead })
            }
        }
    }

    /// Where the program writes.
    fn path(&self) -> &Path {
        match self {
            Stand::Temporary(file) | Stand::Kept { instead: file, .. } => &file.path,
            Stand::Final { partial, .. } => partial.path(),
        }
    }
}

/// The size of what the program made.
fn made(name: &str, path: &Path) -> Result<u64, Failure> {
    let lacking = |what: &str| {
        Err(Failure::item(format!(
            "the program ended well and output `{name}` (`{}`) {what}",
            path.display()
        )))
    };
    match fs::metadata(path) {
        Ok(file) if !file.is_file() => lacking("is no file"),
        Ok(file) if file.len() == 0 => lacking("is empty"),
        Ok(file) => Ok(file.len()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => lacking("is not there"),
        Err(error) => lacking(&format!("cannot be looked at: {error}")),
    }
}

fn file(name: String, path: PathBuf, size: u64) -> OutputFile {
    OutputFile { name, location: Location::Local(path), size, temporary: None }
}

fn of_temporary(name: String, temporary: TemporaryFile) -> OutputFile {
    let size = temporary.lease.as_ref().map_or(0, crate::resources::ByteLease::bytes);
    let location = Location::Local(temporary.path.clone());
    OutputFile { name, location, size, temporary: Some(Arc::new(temporary)) }
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
