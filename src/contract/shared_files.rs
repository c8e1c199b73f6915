//! What the windows of one parent share on scratch: whole files, and ranges of files.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::OnceCell;

use crate::contract::{Failure, SharedRanges, TemporaryFile};

/// The shared files of one parent, by name; each is made once and goes with the last window of the parent.
#[derive(Clone, Debug, Default)]
pub struct SharedFiles(Arc<Mutex<Shared>>);

#[derive(Debug, Default)]
struct Shared {
    whole: HashMap<String, Arc<OnceCell<Arc<TemporaryFile>>>>,
    ranges: HashMap<String, SharedRanges>,
}

impl SharedFiles {
    /// The file of this name, made by the first who asks; the others wait for it. A failure is not remembered.
    ///
    /// # Errors
    /// What making it fails with.
    pub async fn get_or_make<F>(
        &self,
        name: &str,
        make: impl FnOnce() -> F,
    ) -> Result<Arc<TemporaryFile>, Failure>
    where
        F: Future<Output = Result<Arc<TemporaryFile>, Failure>>,
    {
        let cell = Arc::clone(self.lock().whole.entry(name.to_owned()).or_default());
        cell.get_or_try_init(make).await.cloned()
    }

    /// The file of this name, if it has been made.
    pub fn get(&self, name: &str) -> Option<Arc<TemporaryFile>> {
        self.lock().whole.get(name)?.get().cloned()
    }

    /// What the whole file of a member's asset is called.
    pub fn name_of(member: usize, asset: &str) -> String {
        format!("{member}/{asset}")
    }

    /// The shared ranges of the file of this name, made by the first who asks.
    pub fn ranges(&self, name: String, make: impl FnOnce() -> SharedRanges) -> SharedRanges {
        self.lock().ranges.entry(name).or_insert_with(make).clone()
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.0.lock().expect("nothing panics while it holds the files")
    }
}

#[cfg(test)]
mod tests {
    use futures::future::join_all;

    use super::*;

    #[tokio::test]
    async fn a_shared_file_is_made_once_and_goes_with_the_last_window() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("object");
        let make = || async {
            tokio::task::yield_now().await;
            tokio::fs::File::create_new(&path).await.expect("nobody made it before");
            Ok(Arc::new(TemporaryFile { path: path.clone(), lease: None }))
        };
        let windows: Vec<_> =
            std::iter::repeat_n(SharedFiles::default(), 1).flat_map(|files| vec![files; 5]).collect();
        let failed = windows[0].get_or_make("object", || async { Err(Failure::item("no")) }).await;
        assert!(failed.is_err());
        for file in join_all(windows.iter().map(|files| files.get_or_make("object", make))).await {
            assert_eq!(file.expect("made").path, path);
        }
        assert!(path.exists());
        assert_eq!(windows[1].get("object").map(|file| file.path.clone()), Some(path.clone()));
        assert!(windows[1].get("another").is_none());
        drop(windows);
        assert!(!path.exists());
    }
}
