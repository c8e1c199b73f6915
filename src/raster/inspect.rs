//! Reads a file's header: everything that it says of itself before any pixel is decoded.

use std::path::Path;
use std::sync::Arc;

use gdal::Metadata;
use gdal::raster::{ColorInterpretation, ColorTable, RasterBand};

use super::ffi::names::{category_names, type_name};
use super::message::listen;
use super::open::{Opened, Source};
use super::{
    Answer, BandDescription, BandHeader, ControlPoint, ControlPoints, Crs, DataType, FileBytes, Gaps,
    Georeference, Grid, Header, RasterError, nodata,
};

const IDENTITY: [f64; 6] = [0.0, 1.0, 0.0, 0.0, 0.0, 1.0];

/// Domains that tell of the file's form, which `encode` decides anew, or that GDAL makes up.
const TECHNICAL_DOMAINS: &[&str] =
    &["IMAGE_STRUCTURE", "DERIVED_SUBDATASETS", "SUBDATASETS", "COLOR_PROFILE", "TIFF", "xml:VRT"];

impl Header {
    /// Reads the header of a file on disk.
    ///
    /// # Errors
    /// A file that is not there, is no raster, or is damaged.
    pub fn of_file(path: &Path) -> Result<Header, RasterError> {
        let name = path.to_string_lossy().into_owned();
        match Header::of_source(Source::Local(path))? {
            Answer::Known(header) => Ok(header),
            Answer::Missing(ranges) => Err(RasterError::Missing { file: name, ranges }),
        }
    }

    /// Reads the header from those bytes of a file that are at hand, mostly its first 16 KiB or so.
    ///
    /// # Errors
    /// Bytes of no raster, or of a damaged one.
    pub fn of_bytes(bytes: &FileBytes) -> Result<Answer<Header>, RasterError> {
        Header::of_source(Source::Memory(bytes))
    }

    /// Reads the header of a file wherever it is.
    ///
    /// # Errors
    /// A file that is not there, is no raster, or is damaged.
    pub fn of_source(source: Source<'_>) -> Result<Answer<Header>, RasterError> {
        match Opened::open(source)? {
            Answer::Known(opened) => Header::of(&opened),
            Answer::Missing(ranges) => Ok(Answer::Missing(ranges)),
        }
    }

    /// Reads the header of an open file.
    ///
    /// # Errors
    /// A band that GDAL does not describe.
    pub fn of(opened: &Opened) -> Result<Answer<Header>, RasterError> {
        let (header, said) = listen(|| describe(opened));
        let missing = opened.take_missing();
        if !missing.is_empty() {
            return Ok(Answer::Missing(missing));
        }
        let damaged = || RasterError::Damaged { file: opened.name().to_owned(), cause: said.cause() };
        header.map(Answer::Known).ok_or_else(damaged)
    }

    /// What a reader should know of the file: a nodata value that no pixel can have masks nothing.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings: Vec<String> = Vec::new();
        for band in &self.bands {
            let Some(nodata) = band.unrepresentable_nodata() else { continue };
            let warning =
                format!("nodata {nodata} not representable in {}: no pixel is masked by it", band.data_type);
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
        warnings
    }
}

impl BandHeader {
    /// The stated nodata value, when no pixel of the band's type can have it.
    pub fn unrepresentable_nodata(&self) -> Option<&str> {
        let nodata = self.description.nodata.as_deref()?;
        (!nodata::is_representable(nodata, self.data_type)).then_some(nodata)
    }
}

fn describe(opened: &Opened) -> Option<Header> {
    let dataset = opened.dataset();
    let (width, height) = dataset.raster_size();
    let bands: Vec<_> =
        (1..=opened.band_count()).map(|band| band_header(opened, band)).collect::<Option<_>>()?;
    let control_points = control_points(opened);
    let (georeference, geotransform, crs) = match dataset.geo_transform() {
        Ok(geotransform) => {
            (with_transform(opened, &geotransform), geotransform, crs_of(&dataset.projection()))
        }
        Err(_) => (without_transform(opened, control_points.is_some()), IDENTITY, None),
    };
    let grid = Grid { crs, geotransform, width: width as u64, height: height as u64 };
    Some(Header {
        driver: dataset.driver().short_name(),
        grid: Arc::new(grid),
        georeference,
        control_points,
        bands,
        tags: Arc::new(tags(opened)),
    })
}

fn crs_of(wkt: &str) -> Option<Crs> {
    (!wkt.is_empty()).then(|| Crs::from_wkt(wkt))
}

/// Writers that copy a file without a geotransform state the one that changes nothing.
fn with_transform(opened: &Opened, geotransform: &[f64; 6]) -> Georeference {
    if *geotransform == IDENTITY && has_polynomials(opened) {
        Georeference::RationalPolynomials
    } else {
        Georeference::Affine
    }
}

fn has_polynomials(opened: &Opened) -> bool {
    opened.dataset().metadata_domain("RPC").is_some_and(|items| !items.is_empty())
}

fn without_transform(opened: &Opened, has_control_points: bool) -> Georeference {
    if has_control_points {
        Georeference::ControlPoints
    } else if has_polynomials(opened) {
        Georeference::RationalPolynomials
    } else {
        Georeference::None
    }
}

fn control_points(opened: &Opened) -> Option<Arc<ControlPoints>> {
    let dataset = opened.dataset();
    let point =
        |gcp: &gdal::GcpRef<'_>| ControlPoint { col: gcp.pixel(), row: gcp.line(), x: gcp.x(), y: gcp.y() };
    let points: Vec<_> = dataset.gcps().iter().map(point).collect();
    let crs = || dataset.gcp_projection().and_then(|wkt| crs_of(&wkt));
    (!points.is_empty()).then(|| Arc::new(ControlPoints { crs: crs(), points }))
}

/// Metadata of the file: domain, key, value; texts of `xml:` domains have no key.
fn tags(opened: &Opened) -> Vec<(String, String, String)> {
    let dataset = opened.dataset();
    let mut domains = dataset.metadata_domains();
    domains.retain(|domain| !TECHNICAL_DOMAINS.contains(&domain.as_str()));
    let mut tags = Vec::new();
    for domain in domains {
        for item in dataset.metadata_domain(&domain).unwrap_or_default() {
            let (key, value) = if domain.starts_with("xml:") { ("", item.as_str()) } else { split(&item) };
            tags.push((domain.clone(), key.to_owned(), value.to_owned()));
        }
    }
    tags
}

fn split(item: &str) -> (&str, &str) {
    item.split_once('=').unwrap_or((item, ""))
}

fn band_header(opened: &Opened, number: usize) -> Option<BandHeader> {
    let band = opened.band(number, None).ok()?;
    let (data_type, is_complex) = data_type(&band)?;
    let description = description(&band, data_type);
    let is_alpha = is_alpha(&band);
    let flags = band.mask_flags().ok()?;
    let by_value = data_type.is_float()
        || description.nodata.as_ref().is_some_and(|nodata| nodata::is_representable(nodata, data_type));
    let by_mask = !is_alpha && (flags.is_per_dataset() || has_alpha(opened));
    let (columns, rows) = band.block_size();
    Some(BandHeader {
        data_type,
        is_complex,
        is_alpha,
        gaps: match (by_mask, by_value) {
            (true, _) => Gaps::ByMask,
            (false, true) => Gaps::ByValue,
            (false, false) => Gaps::Never,
        },
        block: (columns as u64, rows as u64),
        overviews: overviews(&band),
        description,
    })
}

/// The type of a pixel, and whether it is complex; of complex types the type of a part.
fn data_type(band: &RasterBand<'_>) -> Option<(DataType, bool)> {
    Some(match type_name(band).as_str() {
        // Before GDAL 3.7 signed bytes are bytes with a remark.
        "Byte" if is_signed_byte(band) => (DataType::Int8, false),
        "Byte" => (DataType::Uint8, false),
        "Int8" => (DataType::Int8, false),
        "UInt16" => (DataType::Uint16, false),
        "Int16" => (DataType::Int16, false),
        "UInt32" => (DataType::Uint32, false),
        "Int32" => (DataType::Int32, false),
        "UInt64" => (DataType::Uint64, false),
        "Int64" => (DataType::Int64, false),
        "Float32" => (DataType::Float32, false),
        "Float64" => (DataType::Float64, false),
        "CInt16" => (DataType::Int16, true),
        "CInt32" => (DataType::Int32, true),
        "CFloat32" => (DataType::Float32, true),
        "CFloat64" => (DataType::Float64, true),
        _ => return None,
    })
}

fn is_signed_byte(band: &RasterBand<'_>) -> bool {
    band.metadata_item("PIXELTYPE", "IMAGE_STRUCTURE").is_some_and(|kind| kind == "SIGNEDBYTE")
}

pub(super) fn is_alpha(band: &RasterBand<'_>) -> bool {
    band.color_interpretation() == ColorInterpretation::AlphaBand
}

fn has_alpha(opened: &Opened) -> bool {
    alpha_band(opened).is_some()
}

fn alpha_band(opened: &Opened) -> Option<usize> {
    alpha_band_beside(opened, &[])
}

/// The number of the alpha band, unless it is among these. GDAL parses the georeference to tell, so that it is asked of no
/// band in vain.
pub(super) fn alpha_band_beside(opened: &Opened, bands: &[usize]) -> Option<usize> {
    let mut others = (1..=opened.band_count()).filter(|band| !bands.contains(band));
    others.find(|band| opened.band(*band, None).is_ok_and(|band| is_alpha(&band)))
}

/// Whether the band has a mask of the whole file that is no alpha band.
pub(super) fn has_file_mask(band: &RasterBand<'_>) -> bool {
    band.mask_flags().is_ok_and(|flags| flags.is_per_dataset() && !flags.is_alpha())
}

/// Whether the mask of the whole file takes the place of its bands' nodata values: always when it is made of
/// `NODATA_VALUES`, which hold for all bands together, and where lossy compression moved values to and from nodata.
pub(super) fn mask_replaces_nodata(opened: &Opened, band: &RasterBand<'_>) -> bool {
    let is_lossy = || {
        let compression = opened.dataset().metadata_item("COMPRESSION", "IMAGE_STRUCTURE");
        compression.is_some_and(|name| name.ends_with("JPEG"))
    };
    has_file_mask(band) && (band.mask_flags().is_ok_and(|flags| flags.is_nodata()) || is_lossy())
}

/// Sizes of the overviews. None when the file is masked and its overviews are not.
fn overviews(band: &RasterBand<'_>) -> Vec<(u64, u64)> {
    let count = band.overview_count().unwrap_or(0).max(0) as usize;
    let overviews: Vec<_> = (0..count).filter_map(|overview| band.overview(overview).ok()).collect();
    if has_file_mask(band) && !overviews.iter().all(has_file_mask) {
        return Vec::new();
    }
    overviews.iter().map(|overview| (overview.x_size() as u64, overview.y_size() as u64)).collect()
}

fn description(band: &RasterBand<'_>, data_type: DataType) -> BandDescription {
    let text = |text: String| (!text.is_empty()).then_some(text);
    BandDescription {
        name: band.description().unwrap_or_default(),
        nodata: nodata_text(band, data_type),
        unit: text(band.unit()),
        scale: band.scale().unwrap_or(1.0),
        offset: band.offset().unwrap_or(0.0),
        color_table: band.color_table().map(|table| colors(&table)),
        categories: categories(band),
        tags: band_tags(band),
        is_alpha: is_alpha(band),
    }
}

fn nodata_text(band: &RasterBand<'_>, data_type: DataType) -> Option<String> {
    match data_type {
        DataType::Uint64 => band.no_data_value_u64().map(|value| value.to_string()),
        DataType::Int64 => band.no_data_value_i64().map(|value| value.to_string()),
        _ => band.no_data_value().map(|value| nodata::text_of(value, data_type)),
    }
}

fn colors(table: &ColorTable<'_>) -> Vec<[u8; 4]> {
    let byte = |part: i16| part.clamp(0, 255) as u8;
    let entry = |index| table.entry_as_rgb(index).map_or([0; 4], |c| [c.r, c.g, c.b, c.a].map(byte));
    (0..table.entry_count()).map(entry).collect()
}

fn categories(band: &RasterBand<'_>) -> Option<Vec<String>> {
    let names = category_names(band);
    (!names.is_empty()).then_some(names)
}

/// Tags of a band, without statistics of pixels that later stages change.
fn band_tags(band: &RasterBand<'_>) -> Vec<(String, String)> {
    let items = band.metadata_domain("").unwrap_or_default();
    let items = items.iter().map(|item| split(item)).filter(|(key, _)| !key.starts_with("STATISTICS_"));
    items.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}
