//! The part of a source band that is at hand, addressed in pixels of the whole image.

use crate::raster::Window;

/// Pixels and validity of a part of an image.
#[derive(Clone, Copy)]
pub struct Part<'a, T> {
    /// Row by row, `window.width` × `window.height`.
    pub pixels: &'a [T],
    /// Zero where a pixel is invalid; `None` where all are valid.
    pub mask: Option<&'a [u8]>,
    /// Which part of the image it is.
    pub window: Window,
    /// Columns × rows of the whole image.
    pub size: (i64, i64),
}

impl<T: Copy> Part<'_, T> {
    /// Whether a pixel lies in the image and is valid.
    pub fn is_valid(&self, col: i64, row: i64) -> bool {
        self.is_inside(col, row) && self.mask.is_none_or(|mask| mask[self.index(col, row)] != 0)
    }

    /// Whether a pixel lies in the image.
    pub fn is_inside(&self, col: i64, row: i64) -> bool {
        (0..self.size.0).contains(&col) && (0..self.size.1).contains(&row)
    }

    /// The value of a pixel of the image, which must lie in the part at hand.
    pub fn at(&self, col: i64, row: i64) -> T {
        self.pixels[self.index(col, row)]
    }

    /// The values of `count` pixels of one row, which must lie in the part at hand.
    pub fn run(&self, col: i64, row: i64, count: usize) -> &[T] {
        let start = self.index(col, row);
        &self.pixels[start..start + count]
    }

    fn index(&self, col: i64, row: i64) -> usize {
        let (col, row) = (col as usize - self.window.col as usize, row as usize - self.window.row as usize);
        debug_assert!(col < self.window.width as usize, "column outside of the part at hand");
        row * self.window.width as usize + col
    }
}
