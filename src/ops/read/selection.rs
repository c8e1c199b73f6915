//! Which band of which file each band of the output is.

use std::sync::Arc;

use super::options::{BandSource, BandTable, ReadOptions};
use crate::config::Entries;
use crate::contract::Failure;
use crate::raster::{BandHeader, Header, Resampling};

/// One band of the output.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Selected {
    /// The name that later stages use.
    pub(super) name: String,
    /// The file, as an index of the member's files.
    pub(super) file: usize,
    /// The band of the file, counted from 1.
    pub(super) band: usize,
    /// How it comes onto a grid of another resolution.
    pub(super) resampling: Resampling,
}

/// A file by its asset's name.
pub(super) trait Named {
    /// The asset's name.
    fn name(&self) -> &str;

    /// What messages call the file.
    fn shown(&self) -> &str;

    /// What the file says of itself.
    ///
    /// # Errors
    /// A file that does not tell, or not yet.
    fn header(&self) -> Result<&Arc<Header>, Failure>;
}

/// The bands that the options name, or all.
///
/// # Errors
/// An asset or band that is not there, and a choice that the options leave open.
pub(super) fn select<F: Named>(options: &ReadOptions, files: &[F]) -> Result<Vec<Selected>, Failure> {
    if files.is_empty() {
        return Err(Failure::item("there is no file to read: the item has no assets"));
    }
    match &options.bands {
        Some(bands) => named(bands, files),
        None => all(files),
    }
}

fn named<F: Named>(bands: &Entries<BandSource>, files: &[F]) -> Result<Vec<Selected>, Failure> {
    bands
        .iter()
        .map(|(name, source)| {
            one(&name.value, &BandTable::from(source), files)
                .map_err(|it| it.within(format!("band `{}`", name.value)))
        })
        .collect()
}

fn one<F: Named>(name: &str, table: &BandTable, files: &[F]) -> Result<Selected, Failure> {
    let file = match &table.asset {
        Some(asset) => position(asset, files)?,
        None if files.len() == 1 => 0,
        None => {
            return Err(Failure::item(format!(
                "a number alone is for items of one file, and this one has {}; write {{ asset = \"{}\", band = {} }}",
                list(files),
                files[0].name(),
                table.band.unwrap_or(1),
            )));
        }
    };
    let header = files[file].header()?;
    let band = match (table.band, header.bands.len()) {
        (Some(band), count) if band == 0 || band > count as u64 => {
            return Err(Failure::item(format!(
                "`{}` has no band {band}; it has {count}",
                files[file].shown()
            )));
        }
        (Some(band), _) => band as usize,
        (None, 1) => 1,
        (None, count) => {
            let asset = files[file].name();
            return Err(Failure::item(format!(
                "`{}` has {count} bands; write {{ asset = \"{asset}\", band = 1 }} for the first",
                files[file].shown()
            )));
        }
    };
    Ok(Selected { name: name.to_owned(), file, band, resampling: table.resampling })
}

/// The file of an asset.
///
/// # Errors
/// An asset that the item does not have, with those that it has.
pub(super) fn position<F: Named>(asset: &str, files: &[F]) -> Result<usize, Failure> {
    files
        .iter()
        .position(|file| file.name() == asset)
        .ok_or_else(|| Failure::item(format!("the item has no asset `{asset}`; it has {}", list(files))))
}

fn list<F: Named>(files: &[F]) -> String {
    files.iter().map(|file| format!("`{}`", file.name())).collect::<Vec<_>>().join(", ")
}

fn all<F: Named>(files: &[F]) -> Result<Vec<Selected>, Failure> {
    let mut selected = Vec::new();
    for (file, named) in files.iter().enumerate() {
        let header = named.header()?;
        for (index, own) in names(&header.bands).into_iter().enumerate() {
            let name = match (files.len(), header.bands.len()) {
                (1, _) => own,
                (_, 1) => named.name().to_owned(),
                _ => format!("{}_{own}", named.name()),
            };
            selected.push(Selected { name, file, band: index + 1, resampling: Resampling::Nearest });
        }
    }
    Ok(selected)
}

/// A name for each band of a file: what it is called there if nothing else is, `alpha`, or `band` and its number.
fn names(bands: &[BandHeader]) -> Vec<String> {
    let is_unique = |name: &str| bands.iter().filter(|band| band.description.name == name).count() == 1;
    let alphas = bands.iter().filter(|band| band.is_alpha).count();
    let name = |(index, band): (usize, &BandHeader)| match band.description.name.as_str() {
        own if !own.is_empty() && is_unique(own) => own.to_owned(),
        _ if band.is_alpha && alphas == 1 => "alpha".to_owned(),
        _ => format!("band{}", index + 1),
    };
    bands.iter().enumerate().map(name).collect()
}
