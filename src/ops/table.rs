//! `table`: one file of the rows of all items, written last.
//!
//! The rows are kept outside memory until then. They are read twice, a page at a time: once for the columns and their types,
//! once to be written.

mod columns;
mod files;
mod footprint;
mod parquet;
mod text;

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use url::Url;

use self::columns::Columns;
use crate::config::{Fault, Spanned, Value, codes, from_value};
use crate::contract::{
    Environment, Failure, Gather, Item, Kind, Location, Op, OpEntry, OutputFile, Payload, Port, Row, Shape,
    TableRows, Take, TemporaryFile, TransferContext, blocking,
};
use crate::ops::codes::CONFLICT;
use crate::ops::destination::Destination;
use crate::ops::takeover::{Claim, Existing, Partial, claim};
use crate::ops::upload::Upload;
use crate::remote::ObjectBody;

/// The line of the table.
pub(super) const ENTRY: OpEntry = OpEntry {
    name: "table",
    summary: "Writes the rows of all items, or an index of their files, as one table.",
    accepts: &[Port::Rows, Port::File],
    example: r#"{ path = "out/statistics.parquet" }"#,
    schema: |generator| generator.subschema_for::<TableOptions>(),
    compile,
};

/// Writes one table of all items: the rows that they give, or of files an index with the columns `id`, `location`, `size`,
/// `footprint` (the box around the raster in WGS 84) and `crs`; `name` too where an item has several files.
///
/// The table is written when the last item has ended, complete or not at all. It holds every item that is done, those that
/// earlier runs made with the same options included, sorted by item, then by the window's row and column. Its columns are
/// those of all rows, in the order in which they first appear. A column of whole numbers and others is of type float, one of
/// numbers and texts is of type text. Without any row no table is written.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct TableOptions {
    /// Where the table goes: a path relative to the pipeline's folder, or an object of a store, `s3://bucket/index.parquet`,
    /// `gs://…`, `az://…`. Folders are made as needed.
    #[schemars(example = &"out/statistics.csv", example = &"s3://bucket/index.geoparquet")]
    path: Spanned<String>,
    /// The form of the table. By default the suffix of `path` tells it: `.csv`, `.jsonl`, `.parquet`, `.geoparquet`.
    format: Option<Format>,
    /// What happens when a file is there that no earlier run of this pipeline wrote. Default `refuse`.
    #[serde(default)]
    existing: Existing,
}

/// The form of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Format {
    /// Comma-separated values in UTF-8 with one line of names; nothing is an empty cell.
    Csv,
    /// One JSON object a line.
    Jsonl,
    /// Apache Parquet, compressed with ZSTD.
    Parquet,
    /// Parquet with the footprints as geometries, as GeoParquet 1.0 has it. Rows of windows get the footprint of their
    /// window.
    Geoparquet,
}

impl Format {
    fn media_type(self) -> &'static str {
        match self {
            Format::Csv => "text/csv",
            Format::Jsonl => "application/x-ndjson",
            Format::Parquet | Format::Geoparquet => "application/vnd.apache.parquet",
        }
    }

    fn of_suffix(path: &str) -> Option<Self> {
        let suffix = Path::new(path).extension()?.to_str()?.to_ascii_lowercase();
        match suffix.as_str() {
            "csv" => Some(Format::Csv),
            "jsonl" | "ndjson" => Some(Format::Jsonl),
            "parquet" => Some(Format::Parquet),
            "geoparquet" => Some(Format::Geoparquet),
            _ => None,
        }
    }
}

fn compile(value: &Value, environment: &Environment) -> Result<Arc<dyn Op>, Vec<Fault>> {
    let options: TableOptions = from_value(value)?;
    let destination = Destination::parse(&options.path, &environment.folder)?;
    if !destination.is_literal() {
        let message = "a table is of all items, so its path has no names of one";
        return Err(vec![
            Fault::error(CONFLICT, options.path.span, message).help("remove the part in braces"),
        ]);
    }
    let Some(format) = options.format.or_else(|| Format::of_suffix(&options.path.value)) else {
        let message = "the suffix does not tell the form of the table";
        let fault = Fault::error(codes::MISSING_KEY, options.path.span, message);
        return Err(vec![
            fault.help("end it with `.csv`, `.jsonl`, `.parquet` or `.geoparquet`, or add `format`"),
        ]);
    };
    let wrong =
        |failure: Failure| vec![Fault::error(codes::WRONG_VALUE, options.path.span.clone(), failure.message)];
    let location = destination.of(&Item::placeholder("table")).map_err(wrong)?;
    Ok(Arc::new(Table { location, takes: destination.takes(), format, existing: options.existing }))
}

/// The compiled op.
#[derive(Clone, Debug)]
struct Table {
    location: Location,
    takes: &'static [Take],
    format: Format,
    existing: Existing,
}

impl Op for Table {
    fn gives(&self, _: Option<Port>) -> Port {
        Port::File
    }

    fn takes(&self) -> &'static [Take] {
        self.takes
    }

    fn shape(&self, _: &Shape, _: &Item) -> Result<Shape, Failure> {
        Ok(Shape::default())
    }

    /// Where and in which form the table is written changes no row, but for their footprints.
    fn manifest(&self) -> Json {
        json!({ "footprints": self.format == Format::Geoparquet })
    }

    fn places(&self) -> Vec<String> {
        vec![self.location.to_string()]
    }

    fn kind(self: Arc<Self>) -> Kind {
        Kind::Gather(self)
    }
}

impl Gather for Table {
    fn rows(&self, item: Item, context: TransferContext) -> BoxFuture<'static, Result<Vec<Row>, Failure>> {
        let has_footprints = self.format == Format::Geoparquet;
        async move {
            match item.payload {
                Payload::Files(files) => files::rows(item.id, files, &context.cancel).await,
                Payload::Rows(rows) if has_footprints => {
                    footprint::with_footprints(item.lineage, rows, &context.cancel).await
                }
                Payload::Rows(rows) => Ok(rows),
                other => Err(Failure::fatal(format!("`table` was given the port `{}`", other.port()))),
            }
        }
        .boxed()
    }

    fn write(
        &self,
        rows: Arc<dyn TableRows>,
        context: TransferContext,
    ) -> BoxFuture<'static, Result<Option<Item>, Failure>> {
        self.clone().run(rows, context).boxed()
    }
}

impl Table {
    async fn run(self, rows: Arc<dyn TableRows>, context: TransferContext) -> Result<Option<Item>, Failure> {
        let columns = columns_of(rows.as_ref()).await?;
        if columns.is_empty() {
            tracing::info!(path = %self.location, "no item has rows, so no table is written");
            return Ok(None);
        }
        let item = Item::placeholder(context.item.as_str());
        let size = match &self.location {
            Location::Local(path) => self.to_disk(path, &item, columns, rows.as_ref(), &context).await?,
            Location::Remote(url) => self.to_store(url, &item, columns, rows.as_ref(), &context).await?,
        };
        Ok(Some(self.written(item, size)))
    }

    async fn to_disk(
        &self,
        path: &Path,
        item: &Item,
        columns: Columns,
        rows: &dyn TableRows,
        context: &TransferContext,
    ) -> Result<u64, Failure> {
        let commits = context.commits.as_ref();
        if let Claim::Kept(size) = claim(path, item, self.existing, commits)? {
            return Ok(size);
        }
        let partial = Partial::of(path);
        commits.announce(partial.path()).await?;
        let (mut partial, file) = blocking::run(&context.cancel, (), move || partial.open()).await?;
        let file = self.fill(file, columns, rows, context).await?;
        let sealed =
            blocking::run(&context.cancel, (), move || partial.seal(&file).map(|()| partial)).await?;
        sealed.take_over(commits).await
    }

    /// By way of a file on scratch, since its size is known only at its end.
    async fn to_store(
        &self,
        url: &Url,
        item: &Item,
        columns: Columns,
        rows: &dyn TableRows,
        context: &TransferContext,
    ) -> Result<u64, Failure> {
        let (upload, claim) = Upload::claim(url, item, self.existing, context).await?;
        if let Claim::Kept(size) = claim {
            return Ok(size);
        }
        let path = context.scratch.join(format!("table-{}-{}", std::process::id(), context.stage));
        let lease = context.scratch_budget.overdraw(0);
        let temporary = TemporaryFile { path: path.clone(), lease: Some(lease.clone()) };
        let failed = |error: std::io::Error| self.failed()(&error.to_string());
        let file = File::create(&path).map_err(failed)?;
        let file = self.fill(file, columns, rows, context).await?;
        let size = file.metadata().map_err(failed)?.len();
        lease.grow_to(size);
        upload.put(ObjectBody::File(&temporary.path), size, self.format.media_type()).await?;
        Ok(size)
    }

    /// Writes all rows into a file, which is complete then.
    async fn fill(
        &self,
        file: File,
        columns: Columns,
        rows: &dyn TableRows,
        context: &TransferContext,
    ) -> Result<File, Failure> {
        let mut sink = self.sink(file, columns)?;
        let mut pages = rows.pages();
        while let Some(page) = pages.next().await {
            let page = page?;
            let failed = self.failed();
            let write = move || sink.add(&page).map(|()| sink).map_err(|error| failed(&error));
            sink = blocking::run(&context.cancel, (), write).await?;
        }
        let failed = self.failed();
        blocking::run(&context.cancel, (), move || sink.finish().map_err(|error| failed(&error))).await
    }

    fn sink(&self, file: File, columns: Columns) -> Result<Box<dyn Sink>, Failure> {
        let sink: Result<Box<dyn Sink>, String> = match self.format {
            Format::Csv => text::csv(file, columns),
            Format::Jsonl => Ok(text::jsonl(file, columns)),
            Format::Parquet => parquet::plain(file, &columns),
            Format::Geoparquet => parquet::geo(file, &columns),
        };
        sink.map_err(|error| self.failed()(&error))
    }

    /// A table that cannot be written stops nothing but itself: everything else is done by then.
    fn failed(&self) -> impl Fn(&String) -> Failure + Send + 'static {
        let location = self.location.clone();
        move |error| Failure::item(format!("cannot write `{location}`: {error}"))
    }

    fn written(&self, item: Item, size: u64) -> Item {
        let file = OutputFile { name: "data".into(), location: self.location.clone(), size, temporary: None };
        Item { payload: Payload::Files(vec![file]), ..item }
    }
}

async fn columns_of(rows: &dyn TableRows) -> Result<Columns, Failure> {
    let mut columns = Columns::default();
    let mut pages = rows.pages();
    while let Some(page) = pages.next().await {
        page?.iter().for_each(|row| columns.add(row));
    }
    Ok(columns)
}

/// Takes rows in and makes a file of them.
trait Sink: Send {
    /// Writes rows.
    fn add(&mut self, rows: &[Row]) -> Result<(), String>;

    /// Ends the file, which is complete then.
    fn finish(self: Box<Self>) -> Result<File, String>;
}
