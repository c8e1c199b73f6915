//! Bodies that a server compressed although `identity` was asked for.

/// The size that a gzip body has when it is unpacked: its last four bytes (RFC 1952, 2.3.1), modulo 2^32.
pub(super) fn unpacked_size(body: &[u8]) -> Option<u64> {
    let trailer = body.last_chunk::<4>().filter(|_| body.len() >= 18)?;
    Some(u64::from(u32::from_le_bytes(*trailer)))
}

/// Unpacks a gzip body of one member into a buffer of exactly the size that it states; the checksum is verified.
pub(super) fn unpack(body: &[u8], size: u64) -> Result<Vec<u8>, String> {
    let mut unpacked = vec![0; size as usize];
    match libdeflater::Decompressor::new().gzip_decompress(body, &mut unpacked) {
        Ok(written) if written == unpacked.len() => Ok(unpacked),
        Ok(written) => Err(format!("its gzip body holds {written} bytes and states {size}")),
        Err(error) => Err(format!("its gzip body cannot be unpacked: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `printf hello | gzip -n`
    const HELLO: [u8; 25] = [
        0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xcb, 0x48, 0xcd, 0xc9, 0xc9, 7, 0, 0x86, 0xa6, 0x10, 0x36, 5, 0,
        0, 0,
    ];

    #[test]
    fn unpacks_what_is_whole_and_refuses_the_rest() {
        assert_eq!(unpacked_size(&HELLO), Some(5));
        assert_eq!(unpack(&HELLO, 5).expect("whole"), b"hello");
        assert!(unpack(&HELLO[..20], 5).is_err());
        assert!(unpack(&HELLO, 6).is_err());
        assert_eq!(unpacked_size(b"short"), None);
    }
}
