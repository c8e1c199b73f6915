//! A view of the file system in which a pipeline's own folder has empty places for its outputs and its ledger, so that
//! a trial begins afresh and leaves everything that is there alone.
//!
//! The folders on the way to the pipeline, and to where it writes, are made anew; everything beside them is linked to.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};

/// Removed with all that the trial wrote when it is dropped.
pub(super) struct Mirror {
    root: PathBuf,
    pipeline: PathBuf,
}

impl Mirror {
    /// A view at `root` of the pipeline at `pipeline`, absolute, with these folders empty.
    ///
    /// # Errors
    /// A folder cannot be read or made.
    pub(super) fn new(root: &Path, pipeline: &Path, fresh: &[PathBuf]) -> io::Result<Self> {
        match fs::remove_dir_all(root) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mirror = Self { root: root.to_owned(), pipeline: below(root, pipeline) };
        let fresh: Vec<PathBuf> = fresh.iter().map(|path| resolved(path)).collect();
        let folder = pipeline.parent().unwrap_or(pipeline);
        let view = View { own: root, kept: folder, fresh: &fresh };
        view.mirror(Path::new("/"), root)?;
        Ok(mirror)
    }

    /// The pipeline as the view has it.
    pub(super) fn pipeline(&self) -> &Path {
        &self.pipeline
    }
}

impl Drop for Mirror {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.root) {
            tracing::warn!(path = %self.root.display(), %error, "the folder of a trial stays");
        }
    }
}

struct View<'a> {
    /// The view itself is not seen in it.
    own: &'a Path,
    /// The pipeline's folder, which is a real one.
    kept: &'a Path,
    fresh: &'a [PathBuf],
}

impl View<'_> {
    fn mirror(&self, folder: &Path, copy: &Path) -> io::Result<()> {
        fs::create_dir_all(copy)?;
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let target = copy.join(path.file_name().unwrap_or_default());
            let leads_to = |place: &Path| place.starts_with(&path);
            if self.fresh.contains(&path) || path == self.own {
                continue;
            }
            let is_way = leads_to(self.kept) || self.fresh.iter().any(|fresh| leads_to(fresh));
            if is_way && path.is_dir() {
                self.mirror(&path, &target)?;
            } else {
                symlink(&path, &target)?;
            }
        }
        Ok(())
    }
}

/// An absolute path as it is below another root.
fn below(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

/// Without `.` and `..`.
pub(super) fn resolved(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut resolved, component| {
        match component {
            Component::ParentDir => drop(resolved.pop()),
            Component::CurDir => {}
            other => resolved.push(other),
        }
        resolved
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_are_empty_inputs_are_there_and_nothing_that_is_written_reaches_the_original() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        for file in ["job/job.toml", "job/in/a.tif", "job/out/old.tif", "shared/b.tif"] {
            fs::create_dir_all(base.join(file).parent().unwrap()).unwrap();
            fs::write(base.join(file), file).unwrap();
        }
        let root = base.join("job/.gisrun/view");
        let fresh = [base.join("job/./out"), base.join("job/.gisrun"), base.join("results")];
        let mirror = Mirror::new(&root, &base.join("job/job.toml"), &fresh).unwrap();
        let seen = mirror.pipeline().parent().unwrap().to_owned();
        assert_eq!(fs::read_to_string(mirror.pipeline()).unwrap(), "job/job.toml");
        assert_eq!(fs::read_to_string(seen.join("in/a.tif")).unwrap(), "job/in/a.tif");
        assert_eq!(fs::read_to_string(seen.join("../shared/b.tif")).unwrap(), "shared/b.tif");
        assert!(!seen.join("out").exists() && !seen.join(".gisrun").exists());
        fs::create_dir_all(seen.join("../results")).unwrap();
        fs::create_dir(seen.join("out")).unwrap();
        fs::write(seen.join("out/old.tif"), "new").unwrap();
        assert!(!base.join("results").exists());
        drop(mirror);
        assert_eq!(fs::read_to_string(base.join("job/out/old.tif")).unwrap(), "job/out/old.tif");
        assert!(base.join("job/in/a.tif").exists() && !root.exists());
    }
}
