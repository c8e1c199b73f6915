//! Compresses the bytes of one tile; a codec keeps its working memory from tile to tile.

use libdeflater::{CompressionLvl, Compressor as Deflater};
use weezl::BitOrder;
use weezl::encode::Encoder as LzwEncoder;

use super::TiffError;
use super::settings::Compression;

/// A codec with its working memory.
pub(super) enum Codec {
    Deflate(Deflater),
    Zstd(zstd::bulk::Compressor<'static>),
    Lzw(Box<LzwEncoder>),
    None,
}

impl Codec {
    /// A codec of this kind and level.
    pub(super) fn new(compression: Compression) -> Result<Self, TiffError> {
        Ok(match compression {
            Compression::Deflate(level) => Self::Deflate(Deflater::new(deflate_level(level)?)),
            Compression::Zstd(level) => Self::Zstd(zstd::bulk::Compressor::new(i32::from(level))?),
            Compression::Lzw => Self::Lzw(Box::new(LzwEncoder::with_tiff_size_switch(BitOrder::Msb, 8))),
            Compression::None => Self::None,
        })
    }

    /// Replaces `out` by the compressed `bytes`.
    pub(super) fn compress(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), TiffError> {
        out.clear();
        match self {
            Self::Deflate(deflater) => deflate(deflater, bytes, out),
            Self::Zstd(compressor) => {
                out.reserve(zstd::zstd_safe::compress_bound(bytes.len()));
                compressor
                    .compress_to_buffer(bytes, out)
                    .map_err(|error| TiffError::Codec(error.to_string()))?;
                Ok(())
            }
            Self::Lzw(encoder) => {
                encoder.reset();
                encoder
                    .into_vec(out)
                    .encode_all(bytes)
                    .status
                    .map_err(|error| TiffError::Codec(error.to_string()))?;
                Ok(())
            }
            Self::None => {
                out.extend_from_slice(bytes);
                Ok(())
            }
        }
    }
}

fn deflate(deflater: &mut Deflater, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), TiffError> {
    out.resize(compressed_bound(Compression::Deflate(6), bytes.len() as u64) as usize, 0);
    let size = deflater.zlib_compress(bytes, out).map_err(|error| TiffError::Codec(error.to_string()))?;
    out.truncate(size);
    Ok(())
}

fn deflate_level(level: u8) -> Result<CompressionLvl, TiffError> {
    CompressionLvl::new(i32::from(level))
        .map_err(|_| TiffError::Codec(format!("deflate has no level `{level}`")))
}

/// The most bytes that `bytes` bytes can become.
pub(super) fn compressed_bound(compression: Compression, bytes: u64) -> u64 {
    match compression {
        // Stored blocks of at least 5000 bytes with 5 bytes each, and the zlib frame.
        Compression::Deflate(_) => bytes + bytes / 1000 + 64,
        Compression::Zstd(_) => zstd::zstd_safe::compress_bound(bytes as usize) as u64,
        // One code of at most 12 bits a byte, and a clear code every 3800 or so.
        Compression::Lzw => bytes + bytes / 2 + bytes / 2000 + 16,
        Compression::None => bytes,
    }
}

/// Working memory of a codec for tiles of `bytes` bytes.
pub(super) fn codec_bytes(compression: Compression, bytes: u64) -> u64 {
    match compression {
        Compression::Deflate(0..=9) => 1 << 20,
        Compression::Deflate(_) => 7 << 20,
        Compression::Zstd(level) => zstd_bytes(level, bytes),
        Compression::Lzw => 1 << 17,
        Compression::None => 0,
    }
}

/// Hash tables and chains grow with what is compressed, at low levels up to a size that the level fixes; measured with
/// `ZSTD_sizeof_CCtx` of zstd 1.5.7.
fn zstd_bytes(level: u8, bytes: u64) -> u64 {
    const KIB: u64 = 1 << 10;
    let window = bytes.next_power_of_two();
    let small = 11 * window + 512 * KIB;
    match level {
        0..=2 => small.min(1024 * KIB),
        3 => small.min(1536 * KIB),
        4..=6 => small.min(3328 * KIB),
        7..=8 => small.min(5888 * KIB),
        9 => small.min(11_008 * KIB),
        10..=12 => 11 * window + 2048 * KIB,
        _ => 17 * window + 1280 * KIB,
    }
}

/// The TIFF number of a compression.
pub(super) fn compression_tag(compression: Compression) -> u16 {
    match compression {
        Compression::None => 1,
        Compression::Lzw => 5,
        Compression::Deflate(_) => 8,
        Compression::Zstd(_) => 50000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Compression; 4] =
        [Compression::Deflate(6), Compression::Zstd(3), Compression::Lzw, Compression::None];

    #[test]
    fn nothing_grows_beyond_its_bound() {
        let mut random = fastrand::Rng::with_seed(1);
        for compression in ALL {
            let mut codec = Codec::new(compression).unwrap();
            for size in [1, 100, 4_999, 5_001, 70_000, 1 << 20] {
                let noise: Vec<u8> = (0..size).map(|_| random.u8(..)).collect();
                let mut out = Vec::new();
                codec.compress(&noise, &mut out).unwrap();
                assert!(
                    out.len() as u64 <= compressed_bound(compression, size as u64),
                    "{compression:?} {size}"
                );
            }
        }
    }

    #[test]
    fn the_bound_of_deflate_covers_what_the_library_asks_for() {
        let mut deflater = Deflater::new(CompressionLvl::default());
        for size in [0, 1, 4_999, 5_000, 5_001, 1 << 20, 123_456_789] {
            let asked = deflater.zlib_compress_bound(size) as u64;
            assert!(asked <= compressed_bound(Compression::Deflate(6), size as u64), "{size}");
        }
    }

    #[test]
    fn zstd_keeps_no_more_memory_than_is_said() {
        let mut random = fastrand::Rng::with_seed(1);
        let noise: Vec<u8> = (0..1 << 20).map(|_| random.u8(..)).collect();
        for level in 1..=22 {
            for size in [1 << 12, 1 << 16, 1 << 18, 1 << 20] {
                let mut compressor = zstd::bulk::Compressor::new(i32::from(level)).unwrap();
                compressor.compress(&noise[..size]).unwrap();
                let kept = compressor.context_mut().sizeof() as u64;
                assert!(kept <= zstd_bytes(level, size as u64), "level {level}, {size} bytes: {kept}");
            }
        }
    }

    #[test]
    fn a_codec_forgets_the_tile_before() {
        for compression in ALL {
            let mut codec = Codec::new(compression).unwrap();
            let mut outputs = [Vec::new(), Vec::new(), Vec::new()];
            for (out, tile) in outputs.iter_mut().zip([b"aaaabbbb", b"ccccdddd", b"aaaabbbb"]) {
                codec.compress(tile, out).unwrap();
            }
            assert_eq!(outputs[0], outputs[2]);
        }
    }
}
