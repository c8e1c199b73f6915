//! Reads a TIFF's first directory back, to take GDAL's keys out of a file and to check that a finished file is sound.

use std::collections::HashMap;

use super::form::Form;
use super::{TiffError, codec};

/// The first directory of a little-endian TIFF whose beginning is in memory.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    /// By tag: (field type, count, where the value is).
    entries: HashMap<u64, (u64, usize, usize)>,
    is_big: bool,
}

impl<'a> Reader<'a> {
    /// Reads the first directory; an error is a few words.
    pub(super) fn open(bytes: &'a [u8]) -> Result<Self, String> {
        let is_big = match bytes.get(..4) {
            Some(b"II\x2a\0") => false,
            Some(b"II\x2b\0") => true,
            _ => return Err("not a little-endian TIFF".into()),
        };
        let mut reader = Self { bytes, entries: HashMap::new(), is_big };
        reader.read_directory().ok_or("the first directory is cut off")?;
        Ok(reader)
    }

    fn read_directory(&mut self) -> Option<()> {
        let word = self.word();
        let start = self.number(word, word)? as usize;
        let head = if self.is_big { 8 } else { 2 };
        let count = self.number(start, head)? as usize;
        for entry in 0..count {
            let at = start + head + entry * (4 + 2 * word);
            let (tag, kind) = (self.number(at, 2)?, self.number(at + 2, 2)?);
            let values = self.number(at + 4, word)? as usize;
            let mut place = at + 4 + word;
            if values.checked_mul(size_of_kind(kind)?)? > word {
                place = self.number(place, word)? as usize;
            }
            self.entries.insert(tag, (kind, values, place));
        }
        Some(())
    }

    /// Bytes of a count or an offset.
    fn word(&self) -> usize {
        if self.is_big { 8 } else { 4 }
    }

    fn number(&self, at: usize, size: usize) -> Option<u64> {
        let mut bytes = [0; 8];
        bytes[..size].copy_from_slice(self.bytes.get(at..at.checked_add(size)?)?);
        Some(u64::from_le_bytes(bytes))
    }

    /// The bytes of each value of a field.
    fn values(&self, tag: u64) -> Option<std::slice::ChunksExact<'a, u8>> {
        let (kind, count, place) = *self.entries.get(&tag)?;
        let size = size_of_kind(kind)?;
        Some(self.bytes.get(place..place.checked_add(count * size)?)?.chunks_exact(size))
    }

    /// The unsigned whole numbers of a field.
    pub(super) fn numbers(&self, tag: u64) -> Option<Vec<u64>> {
        let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
        Some(self.values(tag)?.map(number).collect())
    }

    /// The 16-bit numbers of a field.
    pub(super) fn shorts(&self, tag: u64) -> Option<Vec<u16>> {
        Some(self.numbers(tag)?.into_iter().map(|number| number as u16).collect())
    }

    /// The floats of a field.
    pub(super) fn doubles(&self, tag: u64) -> Option<Vec<f64>> {
        Some(self.numbers(tag)?.into_iter().map(f64::from_bits).collect())
    }

    /// The text of a field, without its final zero.
    pub(super) fn text(&self, tag: u64) -> Option<Vec<u8>> {
        let text: Vec<u8> = self.values(tag)?.flatten().copied().collect();
        Some(text.strip_suffix(&[0]).map(<[u8]>::to_vec).unwrap_or(text))
    }
}

/// Bytes of one value of a field type.
fn size_of_kind(kind: u64) -> Option<usize> {
    match kind {
        1 | 2 | 6 | 7 => Some(1),
        3 | 8 => Some(2),
        4 | 9 | 11 | 13 => Some(4),
        5 | 10 | 12 | 16 | 17 | 18 => Some(8),
        _ => None,
    }
}

/// Checks that a header says what its form says, and that every tile lies within a file of `size` bytes, in order.
pub(super) fn check(form: &Form, header: &[u8], size: u64) -> Result<(), TiffError> {
    let damaged = |what: &str| TiffError::Damaged(what.to_owned());
    let reader = Reader::open(header).map_err(TiffError::Damaged)?;
    let is = |tag: u64, value: u64| reader.numbers(tag).is_some_and(|values| values.first() == Some(&value));
    let compression = codec::compression_tag(form.settings.compression);
    if !(is(256, form.grid.width) && is(257, form.grid.height) && is(259, compression.into())) {
        return Err(damaged("its first directory does not describe the image"));
    }
    let offsets = reader.numbers(324).ok_or_else(|| damaged("its tile offsets are cut off"))?;
    let sizes = reader.numbers(325).ok_or_else(|| damaged("its tile sizes are cut off"))?;
    let mut end = header.len() as u64;
    for (offset, tile) in offsets.iter().zip(&sizes) {
        if *offset < end || *tile == 0 {
            return Err(damaged("its tiles do not follow each other"));
        }
        end = offset + tile;
    }
    let is_complete = offsets.len() == form.levels[0].tiles() && sizes.len() == offsets.len() && end <= size;
    if is_complete { Ok(()) } else { Err(damaged("tiles are missing at its end")) }
}
