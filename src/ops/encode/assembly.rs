//! The windows of one parent on their way into one file, which is put together on scratch.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::{failure, take_member};
use crate::contract::{
    Assembly, ComputeContext, Encoded, EncodedBody, Failure, Item, Payload, TemporaryFile,
};
use crate::raster::tiff::{self, Form, TileAssembly};
use crate::resources::{ByteLease, Bytes};

/// One file under assembly.
pub(super) struct Begun {
    tiles: Box<dyn TileAssembly>,
    /// The item that comes out, its payload still lacking.
    parent: Item,
    media_type: &'static str,
    growth: Growth,
}

/// Begins the file of the parent of `window`; `reserved` bytes of scratch are held for it already.
///
/// # Errors
/// Scratch that cannot be written.
pub(super) fn begin(
    form: Form,
    media_type: &'static str,
    reserved: u64,
    window: &Item,
    context: &ComputeContext,
) -> Result<Begun, Failure> {
    let unnamed = || unnamed_file(context).map_err(|error| failure(error.into()));
    let tiles = tiff::assembly(form, unnamed()?, unnamed()?).map_err(failure)?;
    let growth = Growth { reserved, budget: context.scratch_budget.clone(), lease: Mutex::default() };
    Ok(Begun { tiles, parent: window.parent(), media_type, growth })
}

impl Assembly for Begun {
    fn add(&self, mut window: Item, context: &ComputeContext) -> Result<(), Failure> {
        let member = take_member(&mut window, context)?;
        self.tiles.add(&member, &|| context.cancelled()).map_err(failure)?;
        self.growth.follow(self.tiles.spooled());
        Ok(())
    }

    fn finish(self: Box<Self>, context: &ComputeContext) -> Result<Item, Failure> {
        let path = fresh_path(context, "tif");
        let unused = |error: io::Error| failure(error.into());
        let out = File::options().write(true).create_new(true).open(&path).map_err(unused)?;
        let mut file = TemporaryFile { path, lease: None };
        let size = self.tiles.finish(&out, &|| context.cancelled()).map_err(failure)?;
        self.growth.follow(self.tiles.spooled() + size);
        drop(self.tiles);
        file.lease = self.growth.keep(size);
        let body = EncodedBody::Scratch(Arc::new(file));
        let payload = Payload::Encoded(Encoded { body, media_type: self.media_type });
        Ok(Item { payload, ..self.parent })
    }
}

/// What an assembly takes of scratch beyond what was reserved by estimate; it never waits.
struct Growth {
    reserved: u64,
    budget: Bytes,
    lease: Mutex<Option<ByteLease>>,
}

impl Growth {
    /// Takes what `used` bytes need beyond the reservation.
    fn follow(&self, used: u64) {
        let beyond = used.saturating_sub(self.reserved);
        let mut lease = self.lease.lock().unwrap_or_else(PoisonError::into_inner);
        match &*lease {
            Some(held) if beyond > held.bytes() => {
                held.grow_to(beyond);
            }
            None if beyond > 0 => *lease = Some(self.budget.overdraw(beyond)),
            _ => {}
        }
    }

    /// What `size` bytes still need beyond the reservation.
    fn keep(self, size: u64) -> Option<ByteLease> {
        let lease = self.lease.into_inner().unwrap_or_else(PoisonError::into_inner)?;
        lease.shrink_to(size.saturating_sub(self.reserved));
        Some(lease)
    }
}

/// A file without a name: it goes with the process, however that ends.
fn unnamed_file(context: &ComputeContext) -> io::Result<File> {
    let path = fresh_path(context, "spool");
    let file = File::options().read(true).write(true).create_new(true).open(&path)?;
    fs::remove_file(&path)?;
    Ok(file)
}

fn fresh_path(context: &ComputeContext, suffix: &str) -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    context.scratch.join(format!("encode-{}-{count}.{suffix}", std::process::id()))
}
