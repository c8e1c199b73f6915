//! Files of noise, which no codec makes smaller, against the most bytes that memory is reserved for.

use super::*;
use crate::raster::DataType;

const COMPRESSIONS: [Compression; 7] = [
    Compression::Deflate(0),
    Compression::Deflate(1),
    Compression::Deflate(6),
    Compression::Zstd(1),
    Compression::Zstd(9),
    Compression::Lzw,
    Compression::None,
];

/// Noise of this size for tiles of 64, narrow and low rests among them, with overviews and a mask.
fn noise<T: Pixel>(size: (usize, usize), bands: usize, pixel: impl Fn(u64) -> T) -> Member {
    let mut random = fastrand::Rng::with_seed(3);
    let pixels = size.0 * size.1;
    let valid: Vec<u8> = (0..pixels).map(|_| u8::from(random.u8(..) > 9)).collect();
    let mut band_of = |name: usize| {
        let values: Vec<T> = (0..pixels).map(|_| pixel(random.u64(..))).collect();
        masked(band(&name.to_string(), size.0, &values), &valid, None)
    };
    member((0..bands).map(&mut band_of).collect())
}

fn assert_within(member: &Member, predictor: Predictor) {
    for compression in COMPRESSIONS {
        let settings = Settings {
            compression,
            predictor,
            block: 64,
            reduction: Some(Reduction::Nearest),
            ..Settings::default()
        };
        let form = form(&settings, member).unwrap();
        let bytes = encode(&form, member, 0, &Cores(false)).unwrap().len() as u64;
        let told = format!("{compression:?} {predictor:?} {:?}: {bytes} bytes", member.bands[0].pixels.dim());
        assert!(bytes <= form.expected_bound(), "{told}, expected {}", form.expected_bound());
        assert!(form.expected_bound() <= form.bound(), "{told}");
    }
}

#[test]
fn noise_stays_within_what_is_expected() {
    for size in [(64, 64), (1, 150), (65, 65), (100, 35), (150, 129)] {
        assert_within(&noise(size, 1, |bits| bits as u8), Predictor::Auto);
        assert_within(&noise(size, 3, |bits| bits as u16), Predictor::Auto);
        assert_within(&noise(size, 2, |bits| bits as i32), Predictor::None);
        assert_within(&noise(size, 1, |bits| bits as i64), Predictor::Horizontal);
        assert_within(&noise(size, 2, |bits| f32::from_bits(bits as u32 | 1 << 20)), Predictor::Auto);
        assert_within(&noise(size, 5, |bits| bits as f64), Predictor::None);
    }
}

/// 300 of 512 columns: 20 tiles of 300 × 512 pixels and less, not of 512 × 512.
#[test]
fn padding_is_not_reserved_as_if_it_were_noise() {
    let extent = Extent { width: 300, height: 10_000, data_type: DataType::Int32, bands: 2, may_miss: false };
    let raw = 300 * 10_000 * 2 * 4;
    // With overviews a third more, and a tenth for what repeats.
    assert!(encoded_bound(&Settings::default(), &extent) < raw * 4 / 3 * 11 / 10);
    let plain = Settings { compression: Compression::None, ..Settings::default() };
    assert!(encoded_bound(&plain, &extent) > raw * 512 / 300, "uncompressed it is as large as noise");
}
