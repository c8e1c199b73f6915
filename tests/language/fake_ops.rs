//! Ops that exist for these tests alone: enough kinds of options to break in every way.

use gisrun::config::{Entries, OpPart, Parts, Schema, Spanned, generator};
use gisrun::units::ByteSize;
use schemars::JsonSchema;
use serde::Deserialize;

/// The schema of a language with these ops.
pub fn schema() -> Schema {
    let mut generator = generator();
    let mut op =
        |name: &str, summary: &str, schema: fn(&mut schemars::SchemaGenerator) -> schemars::Schema| OpPart {
            name: name.into(),
            summary: summary.into(),
            options: schema(&mut generator).to_value(),
        };
    let ops = vec![
        op("glob", "Lists local files by patterns.", Glob::json_schema),
        op("read", "Decodes bands.", Read::json_schema),
        op("warp", "Brings rasters onto a grid.", Warp::json_schema),
        op("write", "Writes files.", Write::json_schema),
    ];
    Schema::new(&Parts { ops, ..Parts::default() })
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[allow(dead_code, reason = "only the schema is used")]
struct Glob {
    /// Patterns of paths, at least one.
    #[schemars(length(min = 1))]
    paths: Vec<Spanned<String>>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[allow(dead_code, reason = "only the schema is used")]
struct Read {
    /// The bands to read, by the name that later stages use.
    bands: Entries<Band>,
    /// The asset whose grid counts.
    grid: Option<String>,
    /// The value of pixels without data, for files that do not say.
    nodata: Option<f64>,
    /// The largest file that is read.
    max_size: Option<ByteSize>,
}

/// A band number, or an asset's name.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "only the schema is used")]
enum Band {
    /// Counted from 1.
    Number(#[schemars(range(min = 1, max = 255))] u32),
    /// The only band of an asset.
    Asset(String),
    /// A band of an asset.
    Table {
        /// The asset.
        asset: String,
        /// The band, counted from 1.
        band: Option<u32>,
    },
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[allow(dead_code, reason = "only the schema is used")]
struct Warp {
    /// The name of a grid of the pipeline.
    grid: Option<String>,
    /// How values between pixels are found.
    resampling: Option<Resampling>,
    /// West, south, east, north.
    bounds: Option<[f64; 4]>,
    /// Threads of one warp, 1 or more.
    #[schemars(range(min = 1, max = 64))]
    threads: Option<u32>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[allow(dead_code, reason = "only the schema is used")]
enum Resampling {
    /// The value of the nearest pixel.
    Nearest,
    /// Between four pixels.
    Bilinear,
    Cubic,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[allow(dead_code, reason = "only the schema is used")]
struct Write {
    /// The path of a file, a template.
    path: String,
}
