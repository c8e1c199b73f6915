//! What ops on rasters share: taking the payload that their port promises, and the part of it that is wanted.

use crate::contract::{ComputeContext, Failure, Item, MemberShape, Payload, Shape};
use crate::raster::{Member, Raster, Window};

/// Takes the raster out of an item.
///
/// # Errors
/// Another payload, which only a wrongly wired engine can give.
pub(super) fn take_raster(item: &mut Item) -> Result<Raster, Failure> {
    match std::mem::replace(&mut item.payload, Payload::Rows(Vec::new())) {
        Payload::Raster(raster) => Ok(raster),
        _ => Err(Failure::fatal("expected a raster, found another payload")),
    }
}

/// Each member with the window of it that is wanted: all of it where nothing is said.
///
/// # Errors
/// Members and windows that do not belong together.
pub(super) fn with_wanted(
    raster: Raster,
    context: &ComputeContext,
) -> Result<impl Iterator<Item = (Member, Window)>, Failure> {
    let wanted = context.wanted.clone();
    if !wanted.is_empty() && wanted.len() != raster.members.len() {
        let (expected, found) = (wanted.len(), raster.members.len());
        return Err(Failure::fatal(format!("expected {expected} members, found {found}")));
    }
    Ok(raster.members.into_iter().enumerate().map(move |(index, member)| {
        let window = wanted.get(index).copied().unwrap_or(member.window);
        (member, window)
    }))
}

/// Consecutive pixels of the bands of a member that make up a window, row by row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// The first pixel, counted row by row of what the member holds.
    pub(super) first: usize,
    /// From one row to the next.
    pub(super) stride: usize,
    /// Rows.
    pub(super) rows: usize,
    /// Columns.
    pub(super) columns: usize,
}

impl Part {
    /// The part of the member's pixels that a window of its grid is.
    ///
    /// # Errors
    /// A window that the member does not hold, or bands of another size than the member's window.
    pub(super) fn of(member: &Member, window: &Window) -> Result<Part, Failure> {
        let held = &member.window;
        let size = (held.height as usize, held.width as usize);
        if let Some(band) = member.bands.iter().find(|band| band.pixels.dim() != size) {
            let ((rows, columns), name) = (band.pixels.dim(), &band.description.name);
            return Err(Failure::item(format!(
                "`{}`: band `{name}` has {columns}×{rows} pixels, expected {held}",
                member.id
            )));
        }
        Part::within(held, window).map_err(|failure| failure.within(format_args!("`{}`", member.id)))
    }

    /// The part of one window that another is.
    ///
    /// # Errors
    /// A window that is not a part.
    pub(super) fn within(held: &Window, window: &Window) -> Result<Part, Failure> {
        if !contains(held, window) {
            return Err(Failure::item(format!("{window} is wanted, {held} is there")));
        }
        Ok(Part {
            first: ((window.row - held.row) * held.width + window.col - held.col) as usize,
            stride: held.width as usize,
            rows: window.height as usize,
            columns: window.width as usize,
        })
    }

    /// (rows, columns)
    pub(super) fn dim(&self) -> (usize, usize) {
        (self.rows, self.columns)
    }

    /// Pixels.
    pub(super) fn pixels(&self) -> usize {
        self.rows * self.columns
    }

    /// Calls `visit(from, to, length)` for stretches of at most `longest` pixels that lie together both in the
    /// member's pixels (at `from`) and in the part's own (at `to`), for the part's pixels `begin..end`.
    pub(super) fn stretches(
        &self,
        begin: usize,
        end: usize,
        longest: usize,
        mut visit: impl FnMut(usize, usize, usize),
    ) {
        let mut to = begin;
        while to < end {
            let (row, column) = (to / self.columns, to % self.columns);
            let together = if self.columns == self.stride { end - to } else { self.columns - column };
            let length = together.min(longest).min(end - to);
            visit(self.first + row * self.stride + column, to, length);
            to += length;
        }
    }
}

fn contains(outer: &Window, inner: &Window) -> bool {
    inner.col >= outer.col
        && inner.row >= outer.row
        && inner.col + inner.width <= outer.col + outer.width
        && inner.row + inner.height <= outer.row + outer.height
}

/// The only member of a raster that may have several.
///
/// # Errors
/// No or several members, with the stage that helps.
pub(super) fn single_member<'a>(op: &str, input: &'a Shape) -> Result<&'a MemberShape, Failure> {
    match input.members.as_slice() {
        [member] => Ok(member),
        members => Err(Failure::item(format!(
            "`{op}` works on one image, found a group of {}; add a `composite` stage before it",
            members.len()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stretches(part: Part, begin: usize, end: usize, longest: usize) -> Vec<(usize, usize, usize)> {
        let mut found = Vec::new();
        part.stretches(begin, end, longest, |from, to, length| found.push((from, to, length)));
        found
    }

    #[test]
    fn a_whole_image_is_one_stretch_and_a_part_one_a_row() {
        let whole = Part { first: 0, stride: 4, rows: 3, columns: 4 };
        assert_eq!(stretches(whole, 0, 12, 100), [(0, 0, 12)]);
        assert_eq!(stretches(whole, 2, 12, 8), [(2, 2, 8), (10, 10, 2)]);
        let inner = Part { first: 5, stride: 4, rows: 2, columns: 2 };
        assert_eq!(stretches(inner, 0, 4, 100), [(5, 0, 2), (9, 2, 2)]);
        assert_eq!(stretches(inner, 1, 3, 100), [(6, 1, 1), (9, 2, 1)]);
    }
}
