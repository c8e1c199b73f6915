//! `[run]`

use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};

use super::{MaxFailures, Share, Use};
use crate::config::Spanned;
use crate::units::TimeSpan;

/// What holds for the whole run.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(deny_unknown_fields)]
pub struct RunOptions {
    /// When the run gives up: after so many failed items, or when this share of the items finished has failed, judged from
    /// 100 items on and at the end. By default it never gives up.
    pub max_failures: Option<Spanned<MaxFailures>>,
    /// How long running items may go on after the first signal to stop; by default as long as they take.
    #[serde(default, deserialize_with = "optional_time")]
    #[schemars(with = "Option<TimeSpan>")]
    pub grace: Option<Spanned<Duration>>,
    /// Limits of GDAL in this process.
    #[serde(default, rename = "gdal", deserialize_with = "gdal_cache")]
    #[schemars(with = "Option<GdalOptions>")]
    pub gdal_cache: Option<Spanned<Share>>,
    /// The folder for temporaries; by default beside the ledger. A folder in memory (tmpfs) counts as memory.
    #[schemars(with = "Option<String>")]
    pub scratch: Option<Spanned<PathBuf>>,
    /// Where the run is remembered: a folder, or a `.sqlite` file; by default beside the pipeline.
    #[schemars(with = "Option<String>")]
    pub ledger: Option<Spanned<PathBuf>>,
    /// What each item holds from admission to its last byte; default `["descriptors"]`.
    pub uses: Option<Vec<Use>>,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct GdalOptions {
    /// GDAL's block cache for the whole process: a share of the memory granted, or a size.
    cache: Option<Spanned<Share>>,
}

fn gdal_cache<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Spanned<Share>>, D::Error> {
    GdalOptions::deserialize(from).map(|options| options.cache)
}

/// A time with its place, as a plain duration.
pub(super) fn optional_time<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<Spanned<Duration>>, D::Error> {
    Option::<Spanned<TimeSpan>>::deserialize(from).map(|found| found.map(|time| time.map(Duration::from)))
}
