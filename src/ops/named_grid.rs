//! The named grids of a pipeline, as ops refer to them.

use crate::config::{Fault, GridDefinition, Grids, Spanned, suggestion};
use crate::ops::codes::{UNKNOWN_CRS, UNKNOWN_GRID};
use crate::raster::{Crs, NamedGrid, crs};

/// The grid of `[grids]` that an option names; a fault with the nearest name where there is none.
pub(super) fn named_grid(
    name: &Spanned<String>,
    grids: &Grids,
    faults: &mut Vec<Fault>,
) -> Option<NamedGrid> {
    let Some((_, definition)) = grids.0.iter().find(|(known, _)| known.value == name.value) else {
        let message = format!("no grid is named `{}`", name.value);
        let help = match suggestion(&name.value, grids.0.iter().map(|(known, _)| known.value.as_str())) {
            empty if empty.is_empty() => format!("define it under `[grids.{}]`", name.value),
            help => help,
        };
        faults.push(Fault::error(UNKNOWN_GRID, name.span.clone(), message).help(help));
        return None;
    };
    grid_of(definition, faults)
}

/// The grid that a definition describes.
fn grid_of(definition: &GridDefinition, faults: &mut Vec<Fault>) -> Option<NamedGrid> {
    let crs = known_crs(&definition.crs, faults)?;
    let bounds = definition.bounds.as_ref().map(|bounds| bounds.value);
    let tile = definition.tile.as_ref().map(|tile| tile.value);
    Some(NamedGrid::new(crs, definition.resolution.value, bounds, definition.align, tile))
}

pub(super) fn known_crs(name: &Spanned<String>, faults: &mut Vec<Fault>) -> Option<Crs> {
    let parsed = crs::parse(&name.value);
    let unknown = |message: String| {
        Fault::error(UNKNOWN_CRS, name.span.clone(), message)
            .help("write for example `EPSG:32632`, a PROJ string or well-known text")
    };
    parsed.map_err(|error| faults.push(unknown(error.to_string()))).ok()
}
