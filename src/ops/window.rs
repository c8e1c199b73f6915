//! `window`: cuts each item into windows of the raster that its path ends with.
//!
//! The windows partition that raster exactly: squares of `size` from its first pixel on, or the tiles of a named grid.
//! What each op reads for a window is worked out backwards from it, so no window sees its neighbours' edges.

use std::sync::Arc;

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::config::{Fault, Spanned, Value, codes, from_value};
use crate::contract::{
    Environment, Expand, Failure, Item, Kind, Lineage, MemberShape, Op, OpEntry, Port, Shape, SharedFiles,
    TransferContext,
};
use crate::ops::codes::CONFLICT;
use crate::ops::named_grid::named_grid;
use crate::raster::{Grid, NamedGrid, Window};

/// The line of the table.
pub(super) const ENTRY: OpEntry = OpEntry {
    name: "window",
    summary: "Cuts each item into windows that are worked on one by one.",
    accepts: &[Port::Asset],
    example: "{ size = 1024 }",
    schema: |generator| generator.subschema_for::<WindowOptions>(),
    compile,
};

/// Cuts each item into windows of the raster that its path ends with: after `warp` where there is one, else of the file.
///
/// Where stages below end on several grids, windows are counted on the first of them (of those on the named `grid`, if one
/// is named), and are the same parts of the width and height of the others.
///
/// With `encode = { assemble = true }` below, the windows of an item become one file again. Results do not depend on the
/// size of windows.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct WindowOptions {
    /// The edge of a window in pixels, 1 or more; a multiple of the file's block size reads every block once.
    #[schemars(range(min = 1))]
    size: Option<Spanned<u64>>,
    /// The name of a grid of `[grids]` with a `tile`: its tiles are the windows, cut to the item's extent. A `warp` onto the
    /// same grid must follow.
    grid: Option<Spanned<String>>,
    /// How many pixels beyond each side of a window an `exec` stage below is given, where the raster has them; a `read` of
    /// what its program made leaves them out again. Default 0. All other ops get the neighbours that they need by themselves.
    overlap: Option<u64>,
}

fn compile(value: &Value, environment: &Environment) -> Result<Arc<dyn Op>, Vec<Fault>> {
    let options: WindowOptions = from_value(value)?;
    let cut = match (options.size, options.grid) {
        (Some(size), None) if size.value == 0 => {
            let message = "a window is 1 pixel or more, found 0";
            return Err(vec![Fault::error(codes::OUT_OF_RANGE, size.span, message)]);
        }
        (Some(size), None) => Cut::Squares(size.value),
        (None, Some(name)) => tiles(&name, environment)?,
        (Some(_), Some(grid)) => {
            let message = "windows have a `size` or are the tiles of a `grid`, not both";
            return Err(vec![Fault::error(CONFLICT, grid.span, message).help("remove one of them")]);
        }
        (None, None) => {
            let message = "windows need a `size` or a `grid`";
            return Err(vec![Fault::error(codes::MISSING_KEY, value.span.clone(), message)]);
        }
    };
    Ok(Arc::new(WindowOp { cut, overlap: options.overlap.unwrap_or(0) }))
}

fn tiles(name: &Spanned<String>, environment: &Environment) -> Result<Cut, Vec<Fault>> {
    let mut faults = Vec::new();
    let grid = named_grid(name, &environment.grids, &mut faults).ok_or(faults)?;
    if grid.tile.is_none() {
        let message = format!("the grid `{}` has no `tile`, so it has no windows", name.value);
        let help = format!("add `tile = 2048` to `[grids.{}]`", name.value);
        return Err(vec![Fault::error(codes::MISSING_KEY, name.span.clone(), message).help(help)]);
    }
    Ok(Cut::Tiles { name: name.value.clone(), grid })
}

/// The compiled op.
#[derive(Clone, Debug)]
struct WindowOp {
    cut: Cut,
    overlap: u64,
}

#[derive(Clone, Debug)]
enum Cut {
    /// Squares of this edge.
    Squares(u64),
    /// The tiles of a named grid.
    Tiles { name: String, grid: NamedGrid },
}

impl Op for WindowOp {
    fn gives(&self, _: Option<Port>) -> Port {
        Port::Asset
    }

    fn takes(&self) -> &'static [crate::contract::Take] {
        &[]
    }

    fn shape(&self, input: &Shape, _: &Item) -> Result<Shape, Failure> {
        Ok(input.clone())
    }

    /// Where windows are cut shows in files of their own alone; their ids tell them apart.
    fn manifest(&self) -> Json {
        let mut manifest = match &self.cut {
            Cut::Squares(size) => json!({ "size": size }),
            Cut::Tiles { grid, .. } => json!({ "tile": grid.tile, "origin": grid.origin }),
        };
        if self.overlap > 0 {
            manifest["overlap"] = self.overlap.into();
        }
        manifest
    }

    fn kind(self: Arc<Self>) -> Kind {
        Kind::Expand(self)
    }
}

impl Expand for WindowOp {
    fn expand(&self, parent: Item, context: TransferContext) -> BoxStream<'static, Result<Item, Failure>> {
        let overlap = self.overlap;
        let shared = parent.lineage.shared.clone().unwrap_or_default();
        match self.cut.lines_of_first(&context.output.members) {
            Ok((grid, lines)) => stream::iter(lines.windows())
                .map(move |(position, window)| {
                    let mut part = part(&parent, &grid, &shared, position, window);
                    part.lineage.overlap = overlap;
                    Ok(part)
                })
                .boxed(),
            Err(failure) => stream::iter([Err(failure)]).boxed(),
        }
    }
}

fn part(parent: &Item, grid: &Arc<Grid>, shared: &SharedFiles, position: (i64, i64), window: Window) -> Item {
    let (row, col) = position;
    let lineage = Lineage {
        parent: Some(parent.id.clone()),
        position: Some((row, col)),
        window: Some(window),
        counted_in: Some((grid.width, grid.height)),
        grid: Some(Arc::clone(grid)),
        shared: Some(shared.clone()),
        ..parent.lineage.clone()
    };
    Item { id: format!("{}/{row}/{col}", parent.id).into(), lineage, ..parent.clone() }
}

impl Cut {
    /// The first raster that can be cut, and where.
    fn lines_of_first(&self, rasters: &[MemberShape]) -> Result<(Arc<Grid>, Lines), Failure> {
        let mut cuts = rasters.iter().map(|raster| Ok((raster.grid.clone(), self.lines(&raster.grid)?)));
        let nothing = || Err(Failure::item("no stage below reads a raster, so there is nothing to cut"));
        let first = cuts.next().unwrap_or_else(nothing);
        if first.is_ok() { first } else { cuts.find(Result::is_ok).unwrap_or(first) }
    }

    /// Where the grid of a raster is cut.
    fn lines(&self, grid: &Grid) -> Result<Lines, Failure> {
        match self {
            Cut::Squares(edge) => {
                Ok(Lines { edge: *edge as i64, first: (0, 0), size: (grid.width, grid.height) })
            }
            Cut::Tiles { name, grid: named } => {
                let edge = named.tile.unwrap_or(1) as i64;
                if !named.holds(grid) {
                    return Err(Failure::item(format!(
                        "the raster is not on the grid `{name}`: add `warp = {{ grid = \"{name}\" }}` below `window`"
                    )));
                }
                let g = &grid.geotransform;
                let col = ((g[0] - named.origin.0) / named.resolution.0).round() as i64;
                let row = ((named.origin.1 - g[3]) / named.resolution.1).round() as i64;
                Ok(Lines { edge, first: (row, col), size: (grid.width, grid.height) })
            }
        }
    }
}

/// Squares of `edge` that begin at pixel 0 of a larger grid, of which a raster covers `size` (columns, rows) pixels from
/// `first` (row, column) on.
struct Lines {
    edge: i64,
    first: (i64, i64),
    size: (u64, u64),
}

impl Lines {
    /// Each square's (row, column) and its pixels in the raster, row by row.
    fn windows(self) -> impl Iterator<Item = ((i64, i64), Window)> + Send {
        let Self { edge, first, size } = self;
        let squares =
            move |first: i64, size: u64| first.div_euclid(edge)..=(first + size as i64 - 1).div_euclid(edge);
        let span = move |square: i64, first: i64, size: u64| {
            let start = (square * edge - first).max(0) as u64;
            let end = (((square + 1) * edge - first) as u64).min(size);
            (start, end - start)
        };
        squares(first.0, size.1).flat_map(move |row| {
            squares(first.1, size.0).map(move |column| {
                let ((top, height), (left, width)) =
                    (span(row, first.0, size.1), span(column, first.1, size.0));
                ((row, column), Window { col: left, row: top, width, height })
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows(edge: i64, first: (i64, i64), size: (u64, u64)) -> Vec<((i64, i64), Window)> {
        Lines { edge, first, size }.windows().collect()
    }

    fn window(col: u64, row: u64, width: u64, height: u64) -> Window {
        Window { col, row, width, height }
    }

    #[test]
    fn squares_begin_at_the_first_pixel_and_end_with_narrow_ones() {
        assert_eq!(
            windows(2, (0, 0), (5, 3)),
            [
                ((0, 0), window(0, 0, 2, 2)),
                ((0, 1), window(2, 0, 2, 2)),
                ((0, 2), window(4, 0, 1, 2)),
                ((1, 0), window(0, 2, 2, 1)),
                ((1, 1), window(2, 2, 2, 1)),
                ((1, 2), window(4, 2, 1, 1)),
            ]
        );
    }

    #[test]
    fn tiles_are_cut_to_a_raster_that_begins_within_one() {
        // Columns 3 to 8 of a grid of tiles of 4: the last of tile 0, all of tile 1, the first of tile 2.
        assert_eq!(
            windows(4, (0, 3), (6, 1)),
            [((0, 0), window(0, 0, 1, 1)), ((0, 1), window(1, 0, 4, 1)), ((0, 2), window(5, 0, 1, 1))]
        );
    }

    #[test]
    fn tiles_before_the_origin_count_below_zero() {
        assert_eq!(
            windows(4, (-2, -5), (2, 1)),
            [((-1, -2), window(0, 0, 1, 1)), ((-1, -1), window(1, 0, 1, 1))]
        );
    }

    #[test]
    fn every_pixel_is_in_one_window() {
        for first in [(0, 0), (5, -7), (-3, 2)] {
            let mut seen = vec![0; 13 * 11];
            for (_, window) in windows(4, first, (13, 11)) {
                for row in window.row..window.row + window.height {
                    for col in window.col..window.col + window.width {
                        seen[(row * 13 + col) as usize] += 1;
                    }
                }
            }
            assert!(seen.iter().all(|count| *count == 1), "{first:?}");
        }
    }
}
