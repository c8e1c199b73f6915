//! The options of `warp`, and what they compile to.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::WarpOp;
use crate::config::{Fault, Resolution, Span, Spanned, Value, codes, from_value};
use crate::contract::Environment;
use crate::ops::codes::{CONFLICT, UNREADABLE_FILE};
use crate::ops::named_grid::{known_crs, named_grid};
use crate::raster::warp::{FreeTarget, KnownGrids, SourceOptions, Target};
use crate::raster::{Crs, Grid, Header, Resampling};

/// Brings every member of a raster onto one grid.
///
/// The target is a named `grid`, the grid of another raster (`like`), or what `crs`, `resolution`, `bounds` and `size`
/// leave to choose. Where nothing says how large pixels are, the grid is the one that `gdalwarp` would choose.
///
/// A pixel of the target is valid where the source pixel under its centre is; for `average`, `mode`, `min`, `max`, `med`,
/// `q1`, `q3` and `sum`, where any valid pixel lies in its area. Invalid pixels never blend into values: weights are those
/// of the valid ones. Beside invalid pixels and at the edge, `cubic` and `lanczos` are bilinear. Where the target shrinks
/// the image, kernels widen so that every source pixel counts: along columns and rows of the source by as many pixels as
/// a pixel of the target spans in the median over the image, taken as 1 below 1.053 and as the whole number that is less
/// than 0.05 away.
///
/// Pixel types are kept: values are computed in 64-bit floating point, then rounded, halves away from zero, and clamped,
/// never wrapped. `nearest`, `mode`, `min`, `max` and the quantiles take values as they are, 64-bit integers included.
/// Source coordinates are interpolated between exact ones, column and row together at most 1/64 pixel off.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct WarpOptions {
    /// The name of a grid of `[grids]`. The output covers what the image touches of it, or all of it where the grid has
    /// bounds.
    grid: Option<Spanned<String>>,
    /// A local raster file whose grid is taken: CRS, resolution and extent. The path is relative to the pipeline.
    like: Option<Spanned<String>>,
    /// The target's coordinate reference system: a name like `EPSG:32632`, a PROJ string or well-known text. Default the
    /// source's.
    #[schemars(with = "Option<String>", example = "EPSG:32632")]
    crs: Option<Spanned<String>>,
    /// The size of a pixel in units of the CRS, above 0: one number, or `[x, y]`.
    resolution: Option<Spanned<Resolution>>,
    /// The extent in the CRS: `[west, south, east, north]`. Default the source's. An east above 180 crosses the
    /// antimeridian.
    bounds: Option<Spanned<[f64; 4]>>,
    /// Columns and rows, each 1 or more, instead of a resolution: `[width, height]`.
    size: Option<Spanned<[u64; 2]>>,
    /// Whether a given resolution moves the edges outward to its whole multiples. Default `true`.
    align: Option<Spanned<bool>>,
    /// How values are made of source pixels. Default `nearest`.
    #[serde(default)]
    resampling: Resampling,
    /// The coordinate reference system of sources that state none; others keep theirs.
    #[schemars(with = "Option<String>", example = "EPSG:4326")]
    source_crs: Option<Spanned<String>>,
    /// How images are placed that have ground control points and no geotransform. Without it they are refused.
    control_points: Option<ControlPointOptions>,
}

/// How ground control points place an image.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct ControlPointOptions {
    /// The order of the polynomials that are fitted by least squares: 1 (at least 3 points), 2 (6) or 3 (10).
    #[schemars(range(min = 1, max = 3))]
    order: Spanned<u8>,
}

/// The compiled op.
pub(super) fn compile(value: &Value, environment: &Environment) -> Result<WarpOp, Vec<Fault>> {
    let options: WarpOptions = from_value(value)?;
    let mut faults = Vec::new();
    options.refuse_conflicts(&mut faults);
    let target = options.target(environment, &mut faults);
    let source = SourceOptions {
        crs: options.source_crs.as_ref().and_then(|name| known_crs(name, &mut faults)),
        order: options.order(&mut faults),
    };
    match target {
        Some(target) if faults.is_empty() => {
            let manifest = manifest(&target, &source, options.resampling);
            Ok(WarpOp {
                target,
                known: KnownGrids::default(),
                source,
                resampling: options.resampling,
                manifest,
            })
        }
        _ => Err(faults),
    }
}

impl WarpOptions {
    /// The keys given, with their places.
    fn given(&self) -> impl Iterator<Item = (&'static str, &Span)> {
        let keys = [
            ("grid", self.grid.as_ref().map(|it| &it.span)),
            ("like", self.like.as_ref().map(|it| &it.span)),
            ("crs", self.crs.as_ref().map(|it| &it.span)),
            ("resolution", self.resolution.as_ref().map(|it| &it.span)),
            ("bounds", self.bounds.as_ref().map(|it| &it.span)),
            ("size", self.size.as_ref().map(|it| &it.span)),
            ("align", self.align.as_ref().map(|it| &it.span)),
        ];
        keys.into_iter().filter_map(|(key, span)| Some((key, span?)))
    }

    /// `grid` and `like` stand alone; `size` excludes `resolution`; `align` is about a resolution.
    fn refuse_conflicts(&self, faults: &mut Vec<Fault>) {
        let mut given = self.given();
        let first = given.next();
        if let Some((whole @ ("grid" | "like"), span)) = first {
            faults.extend(given.map(|(key, place)| conflict(key, place, whole, span)));
            return;
        }
        if let (Some(size), Some(resolution)) = (&self.size, &self.resolution) {
            faults.push(conflict("size", &size.span, "resolution", &resolution.span));
        }
        if let (Some(align), None) = (&self.align, &self.resolution) {
            let message = "`align` does nothing without `resolution`";
            faults.push(
                Fault::error(CONFLICT, align.span.clone(), message).help("add `resolution`, or remove it"),
            );
        }
    }

    fn target(&self, environment: &Environment, faults: &mut Vec<Fault>) -> Option<Target> {
        match (&self.grid, &self.like) {
            (Some(name), _) => named_grid(name, &environment.grids, faults).map(Target::Named),
            (None, Some(path)) => grid_like(path, environment, faults).map(Target::Fixed),
            (None, None) => self.free_target(faults).map(Target::Free),
        }
    }

    fn free_target(&self, faults: &mut Vec<Fault>) -> Option<FreeTarget> {
        let before = faults.len();
        let target = FreeTarget {
            crs: self.crs.as_ref().and_then(|name| known_crs(name, faults)),
            resolution: self.resolution.as_ref().map(|it| (it.value.0, it.value.1)),
            bounds: self.bounds.as_ref().and_then(|bounds| checked_bounds(bounds, faults)),
            size: self.size.as_ref().and_then(|size| checked_size(size, faults)),
            align: self.align.as_ref().is_none_or(|align| align.value),
        };
        (faults.len() == before).then_some(target)
    }

    fn order(&self, faults: &mut Vec<Fault>) -> Option<u8> {
        let order = &self.control_points.as_ref()?.order;
        if !(1..=3).contains(&order.value) {
            let message = format!("polynomials of order {} are not fitted", order.value);
            faults.push(
                Fault::error(codes::OUT_OF_RANGE, order.span.clone(), message).help("expected 1, 2 or 3"),
            );
        }
        Some(order.value)
    }
}

fn conflict(key: &str, place: &Span, other: &str, other_place: &Span) -> Fault {
    let message = format!("`{key}` cannot stand beside `{other}`");
    Fault::error(CONFLICT, place.clone(), message)
        .related(other_place.clone(), format!("`{other}` is here"))
        .help(format!("remove `{key}` or `{other}`"))
}

fn checked_bounds(bounds: &Spanned<[f64; 4]>, faults: &mut Vec<Fault>) -> Option<[f64; 4]> {
    let [west, south, east, north] = bounds.value;
    let is_area = west < east && south < north && bounds.value.iter().all(|bound| bound.is_finite());
    if !is_area {
        faults.push(
            Fault::error(codes::OUT_OF_RANGE, bounds.span.clone(), "the bounds enclose nothing")
                .labelled("expected `[west, south, east, north]`")
                .help("west is below east, and south is below north"),
        );
    }
    is_area.then_some(bounds.value)
}

fn checked_size(size: &Spanned<[u64; 2]>, faults: &mut Vec<Fault>) -> Option<(u64, u64)> {
    let [width, height] = size.value;
    let is_size = [width, height].iter().all(|size| (1..=i32::MAX as u64).contains(size));
    if !is_size {
        let message = format!("a raster cannot have {width} × {height} pixels");
        faults.push(Fault::error(codes::OUT_OF_RANGE, size.span.clone(), message));
    }
    is_size.then_some((width, height))
}

fn grid_like(path: &Spanned<String>, environment: &Environment, faults: &mut Vec<Fault>) -> Option<Grid> {
    let mut refuse = |message: String| faults.push(Fault::error(UNREADABLE_FILE, path.span.clone(), message));
    match Header::of_file(&environment.folder.join(&path.value)) {
        Ok(header) if header.grid.crs.is_some() => Some(Grid::clone(&header.grid)),
        Ok(_) => {
            refuse(format!("`{}` has no CRS, so its grid cannot be taken", path.value));
            None
        }
        Err(error) => {
            refuse(error.to_string());
            None
        }
    }
}

/// All that decides on pixels.
fn manifest(target: &Target, source: &SourceOptions, resampling: Resampling) -> Json {
    let text = |crs: &Crs| crs.wkt().to_owned();
    let target = match target {
        Target::Fixed(grid) => json!({ "grid": grid }),
        Target::Named(grid) => json!({
            "crs": text(&grid.crs), "resolution": grid.resolution, "origin": grid.origin, "size": grid.size,
        }),
        Target::Free(free) => json!({
            "crs": free.crs.as_ref().map(text), "resolution": free.resolution, "bounds": free.bounds,
            "size": free.size, "align": free.align,
        }),
    };
    json!({
        "target": target, "resampling": resampling, "source-crs": source.crs.as_ref().map(text),
        "control-points": source.order,
    })
}
