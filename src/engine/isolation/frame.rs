//! What is said between a run and its worker processes.

use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::contract::{Failure, Shape};
use crate::events::FailureClass;
use crate::ids::{ItemId, StageName};
use crate::raster::Window;

/// The most bytes of a header; more means that the streams have lost step.
const LONGEST_HEADER: u64 = 1 << 30;

/// The first thing a worker hears: what its op is made of.
#[derive(Debug, Serialize, Deserialize)]
pub struct Greeting {
    /// The pipeline's file, for its name alone.
    pub pipeline: PathBuf,
    /// The pipeline's text as the run read it.
    pub text: String,
    /// `--set name=value`, in order.
    pub sets: Vec<(String, String)>,
    /// The folder that paths in the pipeline are relative to.
    pub folder: PathBuf,
    /// The stage whose op it runs.
    pub stage: StageName,
    /// The worker's share of GDAL's block cache in bytes.
    pub gdal_cache: u64,
    /// The folder for temporaries, and its budget in bytes.
    pub scratch: (PathBuf, u64),
}

/// One item to work on; the item itself follows.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Task {
    /// The item.
    pub(super) item: ItemId,
    /// The window of each output member that is wanted.
    pub(super) wanted: Vec<Window>,
    /// The form of the input.
    pub(super) input: Shape,
    /// The form of the output.
    pub(super) output: Shape,
    /// Bytes of memory that the item has.
    pub(super) memory: u64,
}

/// What came of it; after `Done` the item follows.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Answer {
    /// The work is done, and needed so many bytes of memory beyond what the item had.
    Done { beyond: u64 },
    /// The work failed.
    Failed { class: FailureClass, message: String, retry_after: Option<Duration> },
}

impl Answer {
    pub(super) fn failed(failure: Failure) -> Self {
        let Failure { class, message, retry_after, .. } = failure;
        Answer::Failed { class, message, retry_after }
    }
}

/// Writes a header: its length, then its JSON.
pub(super) fn write_header(out: &mut impl Write, header: &impl Serialize) -> io::Result<()> {
    let text = serde_json::to_vec(header)?;
    out.write_all(&(text.len() as u64).to_le_bytes())?;
    out.write_all(&text)
}

/// Reads a header; the end of the stream in its place is `UnexpectedEof`.
pub(super) fn read_header<T: DeserializeOwned>(from: &mut impl Read) -> io::Result<T> {
    let length = read_count(from)?;
    if length > LONGEST_HEADER {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("a header of {length} bytes")));
    }
    Ok(serde_json::from_slice(&read_bytes(from, length)?)?)
}

/// Reads so many bytes.
pub(super) fn read_bytes(from: &mut impl Read, length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(length as usize);
    let read = from.by_ref().take(length).read_to_end(&mut bytes)? as u64;
    if read < length { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(bytes) }
}

fn read_count(from: &mut impl Read) -> io::Result<u64> {
    let mut count = [0; 8];
    from.read_exact(&mut count)?;
    Ok(u64::from_le_bytes(count))
}
