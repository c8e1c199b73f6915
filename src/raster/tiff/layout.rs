//! Levels and tiles: how many there are and where they lie.

use super::Part;
use super::settings::{Format, Overviews, Settings};

/// One resolution: the image itself or an overview.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Level {
    /// Columns.
    pub(super) width: usize,
    /// Rows.
    pub(super) height: usize,
    /// Rows and columns of a tile.
    pub(super) block: usize,
}

impl Level {
    /// Tiles in a row.
    pub(super) fn across(&self) -> usize {
        self.width.div_ceil(self.block)
    }

    /// Tiles in a column.
    pub(super) fn down(&self) -> usize {
        self.height.div_ceil(self.block)
    }

    /// Tiles in all.
    pub(super) fn tiles(&self) -> usize {
        self.across() * self.down()
    }

    /// The pixels of a tile, counted row by row; at the right and lower edge smaller than a block.
    pub(super) fn part(&self, tile: usize) -> Part {
        let (row, col) = (tile / self.across() * self.block, tile % self.across() * self.block);
        Part { col, row, width: self.block.min(self.width - col), height: self.block.min(self.height - row) }
    }

    /// The next overview: half as large, rounded up.
    fn halved(&self) -> Level {
        Level { width: self.width.div_ceil(2), height: self.height.div_ceil(2), block: self.block }
    }

    /// The tile of the next overview that a tile becomes a part of, and where in that tile.
    pub(super) fn above(&self, tile: usize) -> (usize, Part) {
        let (row, col) = (tile / self.across(), tile % self.across());
        let part = self.part(tile);
        let half = self.block / 2;
        let place = Part {
            col: col % 2 * half,
            row: row % 2 * half,
            width: part.width.div_ceil(2),
            height: part.height.div_ceil(2),
        };
        (row / 2 * self.halved().across() + col / 2, place)
    }
}

/// The levels of an image, largest first.
pub(super) fn levels(width: u64, height: u64, settings: &Settings) -> Vec<Level> {
    let mut levels = vec![Level { width: width as usize, height: height as usize, block: settings.block }];
    while let Some(next) = next_level(&levels, settings) {
        levels.push(next);
    }
    levels
}

fn next_level(levels: &[Level], settings: &Settings) -> Option<Level> {
    let last = levels.last()?;
    let is_wanted = match settings.overviews {
        Overviews::Auto => {
            settings.format == Format::Cog && (last.width > last.block || last.height > last.block)
        }
        Overviews::Count(count) => levels.len() <= count as usize && (last.width > 1 || last.height > 1),
    };
    is_wanted.then(|| last.halved())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(width: u64, height: u64, overviews: Overviews, format: Format) -> Vec<(usize, usize)> {
        let settings = Settings { format, overviews, ..Settings::default() };
        levels(width, height, &settings).iter().map(|level| (level.width, level.height)).collect()
    }

    #[test]
    fn overviews_end_when_one_fits_a_tile() {
        assert_eq!(sizes(1, 1, Overviews::Auto, Format::Cog), [(1, 1)]);
        assert_eq!(sizes(512, 171, Overviews::Auto, Format::Cog), [(512, 171)]);
        assert_eq!(sizes(513, 1, Overviews::Auto, Format::Cog), [(513, 1), (257, 1)]);
        assert_eq!(sizes(1025, 3, Overviews::Auto, Format::Cog), [(1025, 3), (513, 2), (257, 1)]);
    }

    #[test]
    fn a_count_of_overviews_holds_until_one_pixel_is_left() {
        assert_eq!(sizes(3, 1, Overviews::Count(9), Format::Cog), [(3, 1), (2, 1), (1, 1)]);
        assert_eq!(sizes(3, 1, Overviews::Count(1), Format::Gtiff), [(3, 1), (2, 1)]);
        assert_eq!(sizes(2000, 1, Overviews::Auto, Format::Gtiff), [(2000, 1)]);
    }

    #[test]
    fn four_tiles_meet_in_one_tile_of_the_overview() {
        let level = Level { width: 1100, height: 600, block: 512 };
        assert_eq!((level.across(), level.down()), (3, 2));
        assert_eq!(level.part(5), Part { col: 1024, row: 512, width: 76, height: 88 });
        assert_eq!(level.above(4), (0, Part { col: 256, row: 256, width: 256, height: 44 }));
        assert_eq!(level.above(5), (1, Part { col: 0, row: 256, width: 38, height: 44 }));
    }
}
