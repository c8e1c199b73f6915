//! The bytes before the first tile: header, structural metadata, image file directories, and the tile arrays after them
//! all, so that one small request reads everything (TIFF 6.0 and the BigTIFF design).

use super::codec::compression_tag;
use super::form::{Form, Prediction};
use super::metadata;
use super::places::{Places, TileIndex};
use super::settings::Compression;
use crate::raster::DataType;

/// The value of a field.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// Text without its final zero byte.
    Ascii(Vec<u8>),
    Short(Vec<u16>),
    Long(Vec<u32>),
    Double(Vec<f64>),
    /// Where the directory's tiles lie.
    TileOffsets,
    /// How large they are.
    TileSizes,
}

/// A tag and its value.
pub(super) type Field = (u16, Value);

/// Which tiles a directory describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Subject {
    level: usize,
    is_mask: bool,
}

/// The bytes before the first tile. Their number does not depend on the index.
pub(super) fn render(form: &Form, index: &TileIndex) -> Vec<u8> {
    let mut writer = Writer::new(form.is_big, &form.ghost());
    for subject in subjects(form) {
        let places = if subject.is_mask { &index.masks[subject.level] } else { &index.images[subject.level] };
        writer.directory(&fields(form, subject), places);
    }
    writer.finish()
}

/// GDAL's order: the image, its mask, the overviews, their masks.
fn subjects(form: &Form) -> Vec<Subject> {
    let (first, overviews) = (0..1, 1..form.levels.len());
    let mut subjects = Vec::new();
    for levels in [first, overviews] {
        subjects.extend(levels.clone().map(|level| Subject { level, is_mask: false }));
        if form.has_mask {
            subjects.extend(levels.map(|level| Subject { level, is_mask: true }));
        }
    }
    subjects
}

/// The fields of one directory, by tag.
fn fields(form: &Form, subject: Subject) -> Vec<Field> {
    let mut fields = layout_fields(form, subject);
    if subject.is_mask {
        fields.extend(mask_fields());
    } else {
        fields.extend(sample_fields(form));
        if subject.level == 0 {
            fields.extend(form.geo.fields());
            fields.extend(metadata::fields(form));
        }
        if let Some(nodata) = &form.nodata {
            fields.push((42113, Value::Ascii(nodata.clone().into_bytes())));
        }
    }
    fields.sort_by_key(|(tag, _)| *tag);
    fields
}

/// NewSubfileType, ImageWidth, ImageLength, PlanarConfiguration, TileWidth, TileLength, TileOffsets, TileByteCounts.
fn layout_fields(form: &Form, subject: Subject) -> Vec<Field> {
    let level = form.levels[subject.level];
    let kind = u32::from(subject.level > 0) + if subject.is_mask { 4 } else { 0 };
    vec![
        (254, Value::Long(vec![kind])),
        (256, Value::Long(vec![level.width as u32])),
        (257, Value::Long(vec![level.height as u32])),
        (284, Value::Short(vec![1])),
        (322, Value::Long(vec![level.block as u32])),
        (323, Value::Long(vec![level.block as u32])),
        (324, Value::TileOffsets),
        (325, Value::TileSizes),
    ]
}

/// BitsPerSample, Compression, PhotometricInterpretation (transparency mask), SamplesPerPixel.
fn mask_fields() -> [Field; 4] {
    [
        (258, Value::Short(vec![1])),
        (259, Value::Short(vec![compression_tag(Compression::Deflate(6))])),
        (262, Value::Short(vec![4])),
        (277, Value::Short(vec![1])),
    ]
}

fn sample_fields(form: &Form) -> Vec<Field> {
    let bands = form.bands.len();
    let color_map = metadata::color_map(form);
    let (photometric, colors) = match &color_map {
        Some(_) => (3, 1),
        None if is_rgb(form) => (2, 3),
        None => (1, 1),
    };
    let mut fields = vec![
        (258, Value::Short(vec![form.data_type.size() as u16 * 8; bands])),
        (259, Value::Short(vec![compression_tag(form.settings.compression)])),
        (262, Value::Short(vec![photometric])),
        (277, Value::Short(vec![bands as u16])),
        (339, Value::Short(vec![sample_format(form.data_type); bands])),
    ];
    if bands > colors {
        let extra = form.bands[colors..].iter().map(|(band, _)| if band.is_alpha { 2 } else { 0 });
        fields.push((338, Value::Short(extra.collect())));
    }
    if let Some(colors) = color_map {
        fields.push((320, Value::Short(colors)));
    }
    match form.prediction {
        Prediction::None => {}
        Prediction::Horizontal => fields.push((317, Value::Short(vec![2]))),
        Prediction::FloatingPoint => fields.push((317, Value::Short(vec![3]))),
    }
    fields
}

/// Whether there are three bands of bytes beside an alpha band.
fn is_rgb(form: &Form) -> bool {
    let is_alpha = |band: usize| form.bands.get(band).is_none_or(|(band, _)| band.is_alpha);
    form.data_type == DataType::Uint8
        && matches!(form.bands.len(), 3 | 4)
        && !(0..3).any(is_alpha)
        && is_alpha(3)
}

/// 1 unsigned, 2 signed, 3 floating point.
fn sample_format(data_type: DataType) -> u16 {
    match data_type {
        DataType::Uint8 | DataType::Uint16 | DataType::Uint32 | DataType::Uint64 => 1,
        DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64 => 2,
        DataType::Float32 | DataType::Float64 => 3,
    }
}

/// Puts directories together; a place that is not known yet is patched later.
struct Writer {
    is_big: bool,
    out: Vec<u8>,
    /// Where the offset of the next directory goes.
    link: usize,
    /// Tile arrays that come after all directories: where their offset goes, and their bytes.
    arrays: Vec<(usize, Vec<u8>)>,
}

impl Writer {
    fn new(is_big: bool, ghost: &str) -> Self {
        let mut out = if is_big {
            vec![b'I', b'I', 43, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
        } else {
            vec![b'I', b'I', 42, 0, 0, 0, 0, 0]
        };
        let link = if is_big { 8 } else { 4 };
        out.extend_from_slice(ghost.as_bytes());
        Self { is_big, out, link, arrays: Vec::new() }
    }

    fn directory(&mut self, fields: &[Field], places: &Places) {
        self.align();
        self.patch(self.link, self.out.len());
        if self.is_big {
            self.out.extend((fields.len() as u64).to_le_bytes());
        } else {
            self.out.extend((fields.len() as u16).to_le_bytes());
        }
        let entries: Vec<_> = fields.iter().map(|(tag, value)| self.entry(*tag, value, places)).collect();
        self.link = self.out.len();
        self.word(0);
        for (at, is_array, bytes) in entries.into_iter().flatten() {
            if is_array {
                self.arrays.push((at, bytes));
            } else {
                self.value(at, &bytes);
            }
        }
    }

    /// Writes an entry; gives back a value that does not fit into it, and where its offset goes.
    fn entry(&mut self, tag: u16, value: &Value, places: &Places) -> Option<(usize, bool, Vec<u8>)> {
        let (kind, count, mut bytes) = encode(value, places, self.is_big);
        self.out.extend(tag.to_le_bytes());
        self.out.extend(u16::to_le_bytes(kind));
        self.word(count);
        let at = self.out.len();
        let room = if self.is_big { 8 } else { 4 };
        if bytes.len() > room {
            self.word(0);
            return Some((at, matches!(value, Value::TileOffsets | Value::TileSizes), bytes));
        }
        bytes.resize(room, 0);
        self.out.extend(bytes);
        None
    }

    /// Appends a value and puts its offset into its entry.
    fn value(&mut self, at: usize, bytes: &[u8]) {
        self.align();
        self.patch(at, self.out.len());
        self.out.extend_from_slice(bytes);
    }

    fn finish(mut self) -> Vec<u8> {
        for (at, bytes) in std::mem::take(&mut self.arrays) {
            self.value(at, &bytes);
        }
        self.align();
        self.out
    }

    /// Appends a count or an offset.
    fn word(&mut self, value: usize) {
        if self.is_big {
            self.out.extend((value as u64).to_le_bytes());
        } else {
            self.out.extend((value as u32).to_le_bytes());
        }
    }

    fn patch(&mut self, at: usize, value: usize) {
        let size = if self.is_big { 8 } else { 4 };
        self.out[at..at + size].copy_from_slice(&(value as u64).to_le_bytes()[..size]);
    }

    fn align(&mut self) {
        if !self.out.len().is_multiple_of(2) {
            self.out.push(0);
        }
    }
}

/// (field type, count, bytes).
fn encode(value: &Value, places: &Places, is_big: bool) -> (u16, usize, Vec<u8>) {
    match value {
        Value::Ascii(text) => (2, text.len() + 1, [text.as_slice(), &[0]].concat()),
        Value::Short(values) => {
            (3, values.len(), values.iter().flat_map(|value| value.to_le_bytes()).collect())
        }
        Value::Long(values) => {
            (4, values.len(), values.iter().flat_map(|value| value.to_le_bytes()).collect())
        }
        Value::Double(values) => {
            (12, values.len(), values.iter().flat_map(|value| value.to_le_bytes()).collect())
        }
        Value::TileSizes => {
            (4, places.sizes.len(), places.sizes.iter().flat_map(|size| size.to_le_bytes()).collect())
        }
        Value::TileOffsets if is_big => {
            (16, places.offsets.len(), places.offsets.iter().flat_map(|at| at.to_le_bytes()).collect())
        }
        Value::TileOffsets => (
            4,
            places.offsets.len(),
            places.offsets.iter().flat_map(|at| (*at as u32).to_le_bytes()).collect(),
        ),
    }
}
