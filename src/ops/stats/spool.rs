//! Values on scratch that percentiles of a whole item are found in.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::contract::{ComputeContext, TemporaryFile};
use crate::raster::Band;
use crate::raster::statistics::{CHUNK, Region};

/// Keys of values, apart for each series; added by several threads at once.
#[derive(Debug)]
pub(super) struct Spool {
    file: File,
    /// Removes the file in the end.
    _temporary: TemporaryFile,
    end: AtomicU64,
    /// For each series where its parts are: (offset, bytes).
    parts: Mutex<BTreeMap<usize, Vec<(u64, u64)>>>,
}

impl Spool {
    /// An empty spool.
    pub(super) fn create(context: &ComputeContext) -> io::Result<Spool> {
        let path = fresh_path(context);
        let file = File::options().read(true).write(true).create_new(true).open(&path)?;
        let temporary = TemporaryFile { path, lease: None };
        Ok(Spool { file, _temporary: temporary, end: AtomicU64::new(0), parts: Mutex::default() })
    }

    /// Adds the values of a region of a band that count.
    pub(super) fn add(&self, series: usize, band: &Band, region: &Region) -> io::Result<()> {
        let size = band.pixels.data_type().size() as usize;
        let mut written = Ok(());
        let mut bytes = Vec::with_capacity(CHUNK * size);
        region.keys(band, &mut |keys| {
            bytes.clear();
            bytes.extend(keys.iter().flat_map(|key| key.to_le_bytes().into_iter().take(size)));
            if written.is_ok() {
                written = self.append(series, &bytes);
            }
        });
        written
    }

    fn append(&self, series: usize, bytes: &[u8]) -> io::Result<()> {
        // The place is taken first, so that threads write beside each other.
        let offset = self.end.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.file.write_all_at(bytes, offset)?;
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        parts.entry(series).or_default().push((offset, bytes.len() as u64));
        Ok(())
    }

    /// Calls `visit` with all keys of a series, each of `size` bytes.
    pub(super) fn scan(&self, series: usize, size: usize, visit: &mut dyn FnMut(&[u64])) -> io::Result<()> {
        let parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner).get(&series).cloned();
        let (mut bytes, mut keys) = (Vec::new(), Vec::with_capacity(CHUNK));
        for (offset, length) in parts.into_iter().flatten() {
            bytes.resize(length as usize, 0);
            self.file.read_exact_at(&mut bytes, offset)?;
            keys.clear();
            keys.extend(bytes.chunks_exact(size).map(key));
            visit(&keys);
        }
        Ok(())
    }
}

fn key(bytes: &[u8]) -> u64 {
    let mut all = [0; 8];
    all[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(all)
}

fn fresh_path(context: &ComputeContext) -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    context.scratch.join(format!("stats-{}-{count}.keys", std::process::id()))
}
