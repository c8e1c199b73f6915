//! Where an item lies: as its catalogue says, else as the header of its first file says.

use std::sync::Arc;

use serde_json::Value as Json;

use crate::contract::{Asset, AssetSet, Failure, Item, Location, Payload, TransferContext, blocking};
use crate::raster::warp::{Footprint, SourceImage, SourceOptions, Warp, WarpError};
use crate::raster::{Crs, Grid, Header, NamedGrid, Placement, Resampling, Tile, crs};

/// Degrees, east before north.
const DEGREES: &str = "EPSG:4326";

/// Pixels along each side of the image that stands for a box.
const BOX_PIXELS: u64 = 64;

/// What is known of the place of one set of assets.
enum Place {
    /// `proj:transform` and `proj:shape`, or a header.
    Image { grid: Arc<Grid>, placement: Placement },
    /// `proj:bbox` or `bbox`: west, south, east, north in a system.
    Box { crs: String, bounds: [f64; 4] },
}

/// The longitude of an item's centre in degrees, from −180 to 180.
///
/// # Errors
/// An item whose place is not stated and whose header cannot be read or does not tell.
pub(super) async fn longitude(item: &Item, context: &TransferContext) -> Result<f64, Failure> {
    let set = sets_of(item).first().ok_or_else(|| no_file(item))?;
    if let Some(longitude) = stated_longitude(set) {
        return Ok(longitude);
    }
    let place = match projected(set) {
        Some(place) => place,
        None => of_header(item, set, context).await?,
    };
    let (id, cancel) = (item.id.clone(), context.cancel.clone());
    let centre = blocking::run(&cancel, (), move || {
        let [west, _, east, _] = place.extent_in_degrees().map_err(|error| at(&id, &error))?;
        Ok(f64::midpoint(west, east))
    });
    centre.await.map(turned)
}

/// The tiles of a grid that an item touches, row by row.
///
/// # Errors
/// As for its longitude; an item without a place in the grid's system.
pub(super) async fn tiles_under(
    item: &Item,
    grid: &Arc<NamedGrid>,
    context: &TransferContext,
) -> Result<Vec<Tile>, Failure> {
    let mut places = Vec::new();
    for set in sets_of(item) {
        places.push(match projected(set).or_else(|| boxed(set)) {
            Some(place) => place,
            None => of_header(item, set, context).await?,
        });
    }
    let (grid, id) = (grid.clone(), item.id.clone());
    let tiles = blocking::run(&context.cancel, (), move || {
        let mut tiles = Vec::new();
        for place in &places {
            tiles.extend(place.tiles(&grid).map_err(|error| at(&id, &error))?);
        }
        Ok(tiles)
    });
    let mut tiles = tiles.await?;
    tiles.sort_by_key(|tile| (tile.row, tile.col));
    tiles.dedup_by_key(|tile| (tile.row, tile.col));
    Ok(tiles)
}

fn sets_of(item: &Item) -> &[AssetSet] {
    match &item.payload {
        Payload::Assets(sets) => sets,
        _ => &[],
    }
}

fn no_file(item: &Item) -> Failure {
    Failure::item(format!("`{}` has no file, so nothing says where it lies", item.id))
}

fn at(id: &crate::ids::ItemId, error: &WarpError) -> Failure {
    Failure::item(format!("`{id}` cannot be placed: {error}"))
}

/// A longitude from −180 to 180.
fn turned(longitude: f64) -> f64 {
    (longitude + 180.0).rem_euclid(360.0) - 180.0
}

/// The longitude that the catalogue states.
fn stated_longitude(set: &AssetSet) -> Option<f64> {
    let centroid = set.assets.iter().find_map(|asset| field(set, asset, "proj:centroid"));
    if let Some(longitude) = centroid.and_then(|centroid| centroid.get("lon")?.as_f64()) {
        return Some(turned(longitude));
    }
    match boxed(set)? {
        Place::Box { bounds: [west, _, east, _], .. } => Some(turned(f64::midpoint(west, east))),
        Place::Image { .. } => None,
    }
}

/// What an asset states, or its item for all of them.
fn field<'a>(set: &'a AssetSet, asset: &'a Asset, name: &str) -> Option<&'a Json> {
    asset.metadata.get(name).or_else(|| set.properties.get(name)).filter(|value| !value.is_null())
}

/// The place by the fields of STAC's projection extension: an exact grid, else a box.
fn projected(set: &AssetSet) -> Option<Place> {
    let image = |asset: &Asset| {
        let field = |name| field(set, asset, name);
        let transform = numbers(field("proj:transform")?)?;
        let [a, b, c, d, e, f] = *transform.first_chunk()?;
        let &[height, width] = numbers(field("proj:shape")?)?.first_chunk()?;
        let crs = crs::parse(&system(set, asset)?).ok();
        let size = |length: f64| (length >= 1.0).then_some(length as u64);
        let grid = Grid { crs, geotransform: [c, a, b, f, d, e], width: size(width)?, height: size(height)? };
        Some(Place::Image { grid: Arc::new(grid), placement: Placement::Affine })
    };
    let area = |asset: &Asset| {
        let bounds = bounds(field(set, asset, "proj:bbox")?)?;
        Some(Place::Box { crs: system(set, asset)?, bounds })
    };
    set.assets.iter().find_map(image).or_else(|| set.assets.iter().find_map(area))
}

/// The system that the projection extension names, in a form that can be parsed.
fn system(set: &AssetSet, asset: &Asset) -> Option<String> {
    let text = |name| field(set, asset, name)?.as_str().map(str::to_owned);
    text("proj:code")
        .or_else(|| Some(format!("EPSG:{}", field(set, asset, "proj:epsg")?.as_u64()?)))
        .or_else(|| text("proj:wkt2"))
        .or_else(|| field(set, asset, "proj:projjson").map(Json::to_string))
}

/// The place by the item's `bbox`, else by its `geometry`, in degrees. East is above 180 across the antimeridian.
fn boxed(set: &AssetSet) -> Option<Place> {
    let stated = set.properties.get("bbox").and_then(bounds);
    let [west, south, east, north] = stated.or_else(|| {
        set.properties.get("geometry").and_then(|geometry| around(geometry.get("coordinates")?))
    })?;
    let east = if east < west { east + 360.0 } else { east };
    Some(Place::Box { crs: DEGREES.into(), bounds: [west, south, east, north] })
}

fn numbers(list: &Json) -> Option<Vec<f64>> {
    list.as_array()?.iter().map(Json::as_f64).collect()
}

/// West, south, east, north; heights are left out.
fn bounds(list: &Json) -> Option<[f64; 4]> {
    match numbers(list)?.as_slice() {
        [west, south, east, north] | [west, south, _, east, north, _] => Some([*west, *south, *east, *north]),
        _ => None,
    }
}

/// The box around nested lists of positions.
fn around(coordinates: &Json) -> Option<[f64; 4]> {
    let list = coordinates.as_array()?;
    if let [Json::Number(x), Json::Number(y), ..] = list.as_slice() {
        let (x, y) = (x.as_f64()?, y.as_f64()?);
        return Some([x, y, x, y]);
    }
    list.iter()
        .filter_map(around)
        .reduce(|a, b| [a[0].min(b[0]), a[1].min(b[1]), a[2].max(b[2]), a[3].max(b[3])])
}

/// The place by the header of the first file: one small read.
async fn of_header(item: &Item, set: &AssetSet, context: &TransferContext) -> Result<Place, Failure> {
    let asset = set.assets.first().ok_or_else(|| no_file(item))?;
    let header = match &asset.location {
        Location::Local(path) => {
            let path = path.clone();
            let read = move || Header::of_file(&path).map_err(|error| Failure::item(error.to_string()));
            Arc::new(blocking::run(&context.cancel, (), read).await?)
        }
        Location::Remote(url) => {
            let head = context.client.for_item(&item.id).head(url).await?;
            head.header.clone().ok_or_else(|| {
                Failure::item(format!(
                    "`{}` says where it lies only when it is read whole, and its catalogue has neither `bbox` nor `proj:` fields",
                    asset.location
                ))
            })?
        }
    };
    Ok(Place::Image { grid: header.grid.clone(), placement: header.placement() })
}

impl Place {
    fn image(&self) -> Result<SourceImage, WarpError> {
        match self {
            Place::Image { grid, placement } => SourceImage::new(grid, placement, &SourceOptions::default()),
            Place::Box { crs, bounds } => {
                let grid = grid_of(crs::parse(crs).ok(), *bounds);
                SourceImage::new(&grid, &Placement::Affine, &SourceOptions::default())
            }
        }
    }

    fn extent_in_degrees(&self) -> Result<[f64; 4], WarpError> {
        let degrees = crs::parse(DEGREES).expect("PROJ knows the system of longitude and latitude");
        Ok(Footprint::of(&self.image()?, &degrees)?.bounds)
    }

    /// The tiles that have a pixel whose place is in the image.
    fn tiles(&self, grid: &NamedGrid) -> Result<Vec<Tile>, WarpError> {
        let image = self.image()?;
        let extent = Footprint::of(&image, &grid.crs)?.bounds;
        let mut tiles = Vec::new();
        for turn in turns(extent, crs::is_geographic(&grid.crs), grid.size.is_some()) {
            for tile in grid.tiles_over(turn) {
                let warp = Warp::new(&image, &tile.grid, Resampling::Nearest)?;
                if warp.source_window(&tile.grid.whole()).is_some() {
                    tiles.push(tile);
                }
            }
        }
        Ok(tiles)
    }
}

/// An image of a box, fine enough that its edge may bend.
fn grid_of(crs: Option<Crs>, [west, south, east, north]: [f64; 4]) -> Grid {
    let step = |length: f64| (length / BOX_PIXELS as f64).max(f64::MIN_POSITIVE);
    let geotransform = [west, step(east - west), 0.0, north, 0.0, -step(north - south)];
    Grid { crs, geotransform, width: BOX_PIXELS, height: BOX_PIXELS }
}

/// Where a grid of longitudes counts an extent: whole turns away, within the grid's bounds, or from −180 to 180 without.
fn turns(extent: [f64; 4], is_geographic: bool, is_bounded: bool) -> Vec<[f64; 4]> {
    if !is_geographic {
        return vec![extent];
    }
    let [west, south, east, north] = extent;
    let turned = [-360.0, 0.0, 360.0].map(|turn| [west + turn, south, east + turn, north]);
    if is_bounded {
        return turned.to_vec();
    }
    let cut = turned.map(|[west, south, east, north]| [west.max(-180.0), south, east.min(180.0), north]);
    cut.into_iter().filter(|[west, _, east, _]| west < east).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extent_across_the_antimeridian_has_two_parts() {
        assert_eq!(
            turns([177.0, 0.0, 182.0, 1.0], true, false),
            [[-180.0, 0.0, -178.0, 1.0], [177.0, 0.0, 180.0, 1.0]]
        );
        assert_eq!(turns([177.0, 0.0, 182.0, 1.0], false, false), [[177.0, 0.0, 182.0, 1.0]]);
    }

    #[test]
    fn longitudes_are_counted_from_the_middle() {
        for (given, expected) in [(190.0, -170.0), (-190.0, 170.0), (10.0, 10.0), (-180.0, -180.0)] {
            assert_eq!(turned(given), expected);
        }
    }
}
