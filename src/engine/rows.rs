//! The rows of tables between the items that give them and the table: kept in the ledger, never in memory.

use std::sync::Arc;

use futures::stream::{self, BoxStream, StreamExt};
use serde_json::Value as Json;

use crate::contract::{Failure, Item, Row, TableRows};
use crate::engine::remember::Memory;
use crate::ids::{ItemId, StageName};
use crate::ledger::{KeptRows, LedgerError, RowsPlace};

/// Rows that are kept as one text.
const PART: usize = 1024;

/// Bytes of text that are read back at once.
const PAGE: usize = 4 << 20;

impl Memory {
    /// Keeps the rows that an item, or a window of it, gives for the table of a stage.
    ///
    /// # Errors
    /// There is no ledger, or it cannot be written.
    pub(crate) async fn keep_rows(
        &self,
        stage: &StageName,
        item: &Item,
        rows: &[Row],
    ) -> Result<(), Failure> {
        let ledger = self.ledger().ok_or_else(without_ledger)?;
        let id = item.reported_id();
        let window = item.lineage.parent.as_ref().and(item.lineage.position).unwrap_or_default();
        let fingerprint = self.fingerprint_of(id).unwrap_or_default();
        for (part, rows) in rows.chunks(PART).enumerate() {
            let place = RowsPlace { item: id.clone(), window, part: part as u32 };
            let kept = KeptRows { place, fingerprint: fingerprint.clone(), rows: to_text(rows) };
            ledger.keep_rows(stage.clone(), kept).await.map_err(|error| unwritten(&error))?;
        }
        Ok(())
    }

    /// The rows for the table of a stage of all items that are done with these options.
    pub(crate) fn rows_of(self: &Arc<Self>, stage: &StageName, options: Arc<str>) -> Arc<dyn TableRows> {
        Arc::new(LedgerRows { memory: self.clone(), stage: stage.clone(), options })
    }

    /// Forgets rows of a table whose items have other inputs or options by now.
    ///
    /// # Errors
    /// There is no ledger, or it cannot be written.
    pub(crate) async fn forget_stale_rows(&self, stage: &StageName) -> Result<(), Failure> {
        let ledger = self.ledger().ok_or_else(without_ledger)?;
        ledger.forget_stale_rows(stage.clone()).await.map_err(|error| unwritten(&error))
    }
}

/// Rows of one table in the ledger.
struct LedgerRows {
    memory: Arc<Memory>,
    stage: StageName,
    options: Arc<str>,
}

impl TableRows for LedgerRows {
    fn pages(&self) -> BoxStream<'static, Result<Vec<Row>, Failure>> {
        let (memory, stage, options) = (self.memory.clone(), self.stage.clone(), self.options.clone());
        stream::try_unfold(None, move |after: Option<RowsPlace>| {
            let (memory, stage, options) = (memory.clone(), stage.clone(), options.clone());
            async move {
                let ledger = memory.ledger().ok_or_else(without_ledger)?;
                let page = ledger
                    .rows_after(stage, options, after, PAGE)
                    .await
                    .map_err(|error| unwritten(&error))?;
                let Some(last) = page.last().map(|kept| kept.place.clone()) else { return Ok(None) };
                let mut rows = Vec::new();
                for kept in &page {
                    rows.extend(from_text(&kept.rows).ok_or_else(|| damaged(&kept.place.item))?);
                }
                Ok(Some((rows, Some(last))))
            }
        })
        .boxed()
    }
}

fn without_ledger() -> Failure {
    Failure::fatal("a table keeps its rows in the ledger, and this run has none")
}

fn unwritten(error: &LedgerError) -> Failure {
    Failure::fatal(error.to_string())
}

fn damaged(item: &ItemId) -> Failure {
    Failure::fatal(format!("the ledger holds rows of `{item}` that cannot be read; run with `--fresh`"))
}

/// Rows as JSON. A number with a fraction is `["0.1"]`: the shortest text that means just this number, which the reader of
/// JSON numbers would miss by a bit.
fn to_text(rows: &[Row]) -> String {
    let cell = |(name, value): &(String, Json)| match value {
        Json::Number(number) if number.is_f64() => {
            Json::from(vec![Json::from(name.as_str()), Json::from(vec![number.to_string()])])
        }
        value => Json::from(vec![Json::from(name.as_str()), value.clone()]),
    };
    let row = |row: &Row| row.iter().map(cell).collect::<Json>();
    rows.iter().map(row).collect::<Json>().to_string()
}

fn from_text(text: &str) -> Option<Vec<Row>> {
    let rows: Vec<Row> = serde_json::from_str(text).ok()?;
    let cell = |(name, value): (String, Json)| match &value {
        Json::Array(number) => Some((name, Json::from(number.first()?.as_str()?.parse::<f64>().ok()?))),
        _ => Some((name, value)),
    };
    rows.into_iter().map(|row| row.into_iter().map(cell).collect()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rows_come_back_to_the_last_bit() {
        let values = [
            json!(0.1),
            json!(1.0),
            json!(f64::MIN_POSITIVE / 3.0),
            json!(8_388_608.000_000_001),
            json!(7),
            json!(u64::MAX),
            json!("a\n"),
            json!(true),
            Json::Null,
        ];
        let rows: Vec<Row> =
            vec![values.into_iter().map(|value| ("x".to_owned(), value)).collect(), Vec::new()];
        assert_eq!(from_text(&to_text(&rows)), Some(rows));
        assert_eq!(from_text("{}"), None);
    }
}
