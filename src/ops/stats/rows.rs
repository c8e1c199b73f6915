//! Statistics as rows of a table.

use serde_json::{Value as Json, json};

use super::{Settings, Statistic};
use crate::contract::{Item, Row};
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
    /// The row of one band.
    pub(super) fn row(
        &self,
        place: &Place,
        band: &str,
        partial: &Partial,
        percentiles: &[Option<f64>],
    ) -> Row {
        let mut row = place.0.clone();
        row.push(column("band", band));
        row.extend(
            self.statistics.iter().map(|&statistic| column(statistic.name(), statistic.value(partial))),
        );
        let names = self.percentiles.iter().map(|percentile| format!("p{percentile}"));
        row.extend(names.zip(percentiles).map(|(name, &value)| column(name, json!(value))));
        let counts = partial.histogram.iter().flat_map(Histogram::counts).enumerate();
        row.extend(counts.map(|(bin, &count)| column(format!("bin_{bin}"), count)));
        row
    }
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

    fn value(self, partial: &Partial) -> Json {
        let moments: &Moments = &partial.moments;
        match self {
            Statistic::Count => json!(moments.count()),
            Statistic::Total => json!(partial.total),
            Statistic::Min => json!(moments.min()),
            Statistic::Max => json!(moments.max()),
            Statistic::Sum => json!(moments.sum()),
            Statistic::Mean => json!(moments.mean()),
            Statistic::Std => json!(moments.std()),
        }
    }
}
