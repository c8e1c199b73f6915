//! The structural metadata that GDAL's COG driver writes between a TIFF's header and its first directory
//! (<https://gdal.org/drivers/raster/cog.html#header-ghost-area>).

/// The keys and values of every file. The space after `NO` leaves room for `YES`.
const LINES: &str = "LAYOUT=IFDS_BEFORE_DATA\n\
    BLOCK_ORDER=ROW_MAJOR\n\
    BLOCK_LEADER=SIZE_AS_UINT4\n\
    BLOCK_TRAILER=LAST_4_BYTES_REPEATED\n\
    KNOWN_INCOMPATIBLE_EDITION=NO\n ";

/// The line of files with a mask.
const MASK: &str = "MASK_INTERLEAVED_WITH_IMAGERY=YES\n";

/// The whole text; its first line states the size of the others in six digits.
pub(super) fn text(has_mask: bool) -> String {
    let mask = if has_mask { MASK } else { "" };
    format!("GDAL_STRUCTURAL_METADATA_SIZE={:06} bytes\n{LINES}{mask}", LINES.len() + mask.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counted by hand: 24 + 22 + 27 + 36 + 30 characters of the lines, and the space.
    #[test]
    fn the_first_line_counts_what_follows_it() {
        let text = text(false);
        assert!(text.starts_with("GDAL_STRUCTURAL_METADATA_SIZE=000140 bytes\nLAYOUT=IFDS_BEFORE_DATA\n"));
        assert_eq!(text.len(), 43 + 140);
    }

    #[test]
    fn a_mask_is_announced() {
        let text = text(true);
        assert!(text.starts_with("GDAL_STRUCTURAL_METADATA_SIZE=000174 bytes\n"));
        assert!(text.ends_with("KNOWN_INCOMPATIBLE_EDITION=NO\n MASK_INTERLEAVED_WITH_IMAGERY=YES\n"));
    }
}
