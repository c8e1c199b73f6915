//! What a file says beside its pixels: names, units, scales, colours and tags, in the tags that GDAL reads.
//!
//! Kept: `TIFFTAG_…` text as TIFF fields, other tags of the file and of bands as `GDAL_METADATA` items, names, units,
//! scale and offset as items with a role, a colour table of a single `uint8` or `uint16` band, class names as
//! `CATEGORY_n` items, since TIFF has no place for them. Dropped: `AREA_OR_POINT` (a geotransform always means areas),
//! statistics, resolution in dots, and the domains that describe another file's structure or geometry.

use super::directory::{Field, Value};
use super::form::Form;
use crate::raster::{BandDescription, DataType};

/// TIFF fields of text and GDAL's names of them.
const TEXT_FIELDS: [(&str, u16); 7] = [
    ("TIFFTAG_DOCUMENTNAME", 269),
    ("TIFFTAG_IMAGEDESCRIPTION", 270),
    ("TIFFTAG_SOFTWARE", 305),
    ("TIFFTAG_DATETIME", 306),
    ("TIFFTAG_ARTIST", 315),
    ("TIFFTAG_HOSTCOMPUTER", 316),
    ("TIFFTAG_COPYRIGHT", 33432),
];

/// Domains that belong to the file that was read.
const FOREIGN_DOMAINS: [&str; 8] = [
    "IMAGE_STRUCTURE",
    "DERIVED_SUBDATASETS",
    "SUBDATASETS",
    "RPC",
    "GEOLOCATION",
    "COLOR_PROFILE",
    "TILING_SCHEME",
    "EXIF",
];

/// The fields of metadata for the first directory.
pub(super) fn fields(form: &Form) -> Vec<Field> {
    let tags = file_tags(form);
    let mut fields: Vec<Field> = TEXT_FIELDS
        .iter()
        .filter_map(|(name, tag)| {
            let (_, _, text) = tags.iter().rfind(|(domain, key, _)| domain.is_empty() && key == name)?;
            Some((*tag, Value::Ascii(text.bytes().filter(|byte| *byte != 0).collect())))
        })
        .collect();
    let items = items(form, &tags);
    if !items.is_empty() {
        let text = format!("<GDALMetadata>\n{items}</GDALMetadata>\n");
        fields.push((42112, Value::Ascii(text.into_bytes())));
    }
    fields
}

/// The tags of the raster, replaced and completed by those of the settings.
fn file_tags(form: &Form) -> Vec<(String, String, String)> {
    let is_replaced =
        |domain: &str, key: &str| domain.is_empty() && form.settings.tags.iter().any(|(name, _)| name == key);
    let kept = form.tags.iter().filter(|(domain, key, _)| !is_replaced(domain, key)).cloned();
    let own = form.settings.tags.iter().map(|(key, value)| (String::new(), key.clone(), value.clone()));
    kept.chain(own).collect()
}

fn items(form: &Form, tags: &[(String, String, String)]) -> String {
    let mut items = String::new();
    for (domain, key, value) in tags.iter().filter(|(domain, key, _)| is_item(domain, key)) {
        let domain =
            if domain.is_empty() { String::new() } else { format!(" domain=\"{}\"", escape(domain)) };
        items += &item(key, &domain, value);
    }
    for (at, (band, _)) in form.bands.iter().enumerate() {
        items += &band_items(at, band);
    }
    items
}

fn is_item(domain: &str, key: &str) -> bool {
    let is_foreign =
        FOREIGN_DOMAINS.contains(&domain) || domain.starts_with("xml:") || domain.starts_with("json:");
    !is_foreign && key != "AREA_OR_POINT" && !key.starts_with("TIFFTAG_") && !key.starts_with("STATISTICS_")
}

fn band_items(at: usize, band: &BandDescription) -> String {
    let place = format!(" sample=\"{at}\"");
    let mut items = String::new();
    for (key, value) in band.tags.iter().filter(|(key, _)| is_item("", key)) {
        items += &item(key, &place, value);
    }
    for (value, name) in band.categories.iter().flatten().enumerate() {
        items += &item(&format!("CATEGORY_{value}"), &place, name);
    }
    for (key, role, value) in roles(band) {
        items += &item(key, &format!("{place} role=\"{role}\""), &value);
    }
    items
}

/// (item, role, value) of what GDAL keeps beside tags.
fn roles(band: &BandDescription) -> Vec<(&'static str, &'static str, String)> {
    let mut roles = Vec::new();
    if band.scale != 1.0 || band.offset != 0.0 {
        roles.push(("OFFSET", "offset", band.offset.to_string()));
        roles.push(("SCALE", "scale", band.scale.to_string()));
    }
    roles.extend(band.unit.iter().map(|unit| ("UNITTYPE", "unittype", unit.clone())));
    if !band.name.is_empty() {
        roles.push(("DESCRIPTION", "description", band.name.clone()));
    }
    roles
}

/// GDAL escapes values once for their own sake and once as XML, and undoes both when it reads them.
fn item(name: &str, attributes: &str, value: &str) -> String {
    format!("  <Item name=\"{}\"{attributes}>{}</Item>\n", escape(name), escape(&escape(value)))
}

/// XML 1.0 text; characters that XML cannot hold are left out.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '&' => out += "&amp;",
            '"' => out += "&quot;",
            c if c < ' ' && !matches!(c, '\t' | '\n' | '\r') => {}
            c => out.push(c),
        }
    }
    out
}

/// The TIFF colour map of a single band: all reds, all greens, all blues, in 16 bits.
pub(super) fn color_map(form: &Form) -> Option<Vec<u16>> {
    let entries = match form.data_type {
        DataType::Uint8 => 1 << 8,
        DataType::Uint16 => 1 << 16,
        _ => return None,
    };
    let [(band, _)] = form.bands.as_slice() else { return None };
    let table = band.color_table.as_ref()?;
    let color =
        |entry: usize, channel: usize| table.get(entry).map_or(0, |color| u16::from(color[channel]) * 257);
    Some((0..3).flat_map(|channel| (0..entries).map(move |entry| color(entry, channel))).collect())
}
