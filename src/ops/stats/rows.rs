//! Statistics as rows of a table.

use serde_json::{Value as Json, json};

use super::{Settings, Statistic};
use crate::contract::{Failure, Item, Row};
use crate::raster::statistics::{Histogram, Moments, Partial};

/// The columns that say what a row is of.
pub(super) struct Place(Row);

impl Place {
    /// Of an item: a window or a whole.
    pub(super) fn of(item: &Item) -> Place {
        let mut columns = vec![column("id", item.id.as_str())];
        if let (Some(parent), Some((row, col))) = (&item.lineage.parent, item.lineage.position) {
            columns.extend([column("parent", parent.as_str()), column("row", row), column("col", col)]);
        }
        Place(columns)
    }
}

fn column(name: impl Into<String>, value: impl Into<Json>) -> (String, Json) {
    (name.into(), value.into())
}

impl Settings {
    /// The row of one band, of a zone where there are zones.
    ///
    /// # Errors
    /// Zones that cannot be read.
    pub(super) fn row(
        &self,
        place: &Place,
        zone: usize,
        band: &str,
        partial: &Partial,
        percentiles: &[Option<f64>],
    ) -> Result<Row, Failure> {
        let whole = self.whole();
        let mut row = place.0.clone();
        row.push(column("band", band));
        if let Some(zones) = &self.zones {
            row.push(column("zone", zones.file.polygons()?[zone].id.clone()));
        }
        row.extend(
            self.statistics
                .iter()
                .map(|&statistic| column(statistic.name(), statistic.value(partial, whole))),
        );
        let names = self.percentiles.iter().map(|percentile| format!("p{percentile}"));
        row.extend(names.zip(percentiles).map(|(name, &value)| column(name, json!(value))));
        let counts = partial.histogram.iter().flat_map(Histogram::counts).enumerate();
        row.extend(counts.map(|(bin, &count)| column(format!("bin_{bin}"), pixels(count, whole))));
        Ok(row)
    }
}

/// A number of pixels: a whole one, unless fractions of pixels count.
fn pixels(weight: u64, whole: u64) -> Json {
    if whole == 1 { json!(weight) } else { json!(weight as f64 / whole as f64) }
}

impl Statistic {
    fn name(self) -> &'static str {
        match self {
            Statistic::Count => "count",
            Statistic::Total => "total",
            Statistic::Min => "min",
            Statistic::Max => "max",
            Statistic::Sum => "sum",
            Statistic::Mean => "mean",
            Statistic::Std => "std",
        }
    }

    fn value(self, partial: &Partial, whole: u64) -> Json {
        let moments: &Moments = &partial.moments;
        match self {
            Statistic::Count => pixels(moments.weight(), whole),
            Statistic::Total => pixels(partial.total, whole),
            Statistic::Min => json!(moments.min()),
            Statistic::Max => json!(moments.max()),
            Statistic::Sum => json!(moments.sum() / whole as f64),
            Statistic::Mean => json!(moments.mean()),
            Statistic::Std => json!(moments.std()),
        }
    }
}
