//! `encode`: a raster becomes the bytes of a file, whole or from its windows.

mod assembly;
mod options;
mod picture;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value as Json, json};

use crate::config::{Fault, Spanned};
use crate::contract::{
    Assemble, Assembly, BandNames, BandShape, Compute, ComputeContext, Encoded, EncodedBody, Failure, Item,
    Kind, MemberShape, Members, Op, OpEntry, Payload, Port, Shape, Take,
};
use crate::ops::codes::UNKNOWN_BAND;
use crate::raster::tiff::{
    self, Extent, Form, FormBand, Format, Helper, Helpers, Settings, TiffError, encoded_bound, helpers_for,
    spool_estimate, thread_bytes, window_working_bytes, working_bytes,
};
use crate::raster::{Grid, Member, PictureFormat, PictureSettings, Validity};
use crate::resources::{SlotLease, Slots};

pub(super) use options::EncodeOptions;

/// The line of the table.
pub(super) const ENTRY: OpEntry = OpEntry {
    name: "encode",
    summary: "Encodes a raster as the bytes of a file.",
    accepts: &[Port::Raster],
    example: r#"{ format = "cog", compress = "zstd", overview-resampling = "average" }"#,
    schema: |generator| generator.subschema_for::<EncodeOptions>(),
    compile: |value, _| Ok(Arc::new(options::compile(value)?)),
};

/// The compiled op.
#[derive(Clone, Debug)]
struct Encode {
    product: Product,
    /// The bands that are written, in this order; all where none are named.
    bands: Option<Vec<Spanned<String>>>,
    /// Whether windows of a parent become one file.
    assemble: Option<bool>,
}

/// What is made of a raster.
#[derive(Clone, Debug)]
enum Product {
    Tiff(Settings),
    Picture(PictureSettings),
}

impl Op for Encode {
    fn gives(&self, _input: Option<Port>) -> Port {
        Port::Encoded
    }

    fn takes(&self) -> &'static [Take] {
        &[Take::Cores, Take::Memory]
    }

    /// One image: members are brought together by `composite`.
    fn members(&self, input: Members) -> Result<Members, Members> {
        if input == Members::One { Ok(input) } else { Err(Members::One) }
    }

    fn bands(&self, input: &BandNames) -> Result<BandNames, Vec<Fault>> {
        let (Some(wanted), Some(names)) = (&self.bands, input) else { return Ok(input.clone()) };
        let unknown: Vec<Fault> = wanted
            .iter()
            .filter(|name| !names.contains(name))
            .map(|name| unknown_band(name, names))
            .collect();
        if unknown.is_empty() {
            Ok(Some(wanted.iter().map(|name| name.value.clone()).collect()))
        } else {
            Err(unknown)
        }
    }

    fn shape(&self, input: &Shape, _item: &Item) -> Result<Shape, Failure> {
        let member = only_member(&input.members)?;
        let bands = self.choose(member)?;
        let settings = match &self.product {
            Product::Tiff(settings) => settings,
            Product::Picture(picture) => {
                let held = picture.bound(member.window.pixels(), bands.len() as u64);
                return Ok(Shape { held, ..Shape::default() });
            }
        };
        if let Some(other) = bands.iter().find(|band| band.data_type != bands[0].data_type) {
            return Err(failure(mixed_types(bands[0], other)));
        }
        let held = match (self.assemble, self.extent(input)) {
            (Some(true), _) | (_, None) => 0,
            (_, Some(extent)) => encoded_bound(settings, &extent),
        };
        Ok(Shape { held, ..Shape::default() })
    }

    fn scratch(&self, input: &Shape, _output: &Shape) -> u64 {
        let Some(extent) = self.extent(input) else { return 0 };
        match (&self.product, self.assemble) {
            (Product::Tiff(settings), Some(true)) => window_working_bytes(settings, &extent),
            (Product::Tiff(settings), _) => working_bytes(settings, &extent),
            (Product::Picture(picture), _) => {
                picture.working_bytes(extent.width * extent.height, extent.bands as u64)
            }
        }
    }

    fn helpers(&self, input: &Shape, _output: &Shape) -> (u64, u64) {
        match (&self.product, self.assemble, self.extent(input)) {
            (Product::Tiff(settings), None | Some(false), Some(extent)) => {
                (helpers_for(settings, &extent) as u64, thread_bytes(settings, &extent))
            }
            _ => (0, 0),
        }
    }

    fn spool(&self, input: &Shape, _output: &Shape) -> u64 {
        match (&self.product, self.assemble, input.members.first(), self.extent(input)) {
            (Product::Tiff(settings), Some(true), Some(member), Some(extent)) => {
                spool_estimate(settings, &whole(extent, &member.grid))
            }
            _ => 0,
        }
    }

    fn manifest(&self) -> Json {
        let bands: Option<Vec<&str>> =
            self.bands.as_ref().map(|bands| bands.iter().map(|band| band.as_str()).collect());
        let settings = match &self.product {
            Product::Tiff(settings) => settings,
            Product::Picture(picture) => return json!({ "picture": picture, "bands": bands }),
        };
        json!({
            "format": settings.format,
            "compression": format!("{:?}", settings.compression),
            "predictor": settings.predictor,
            "blocksize": settings.block,
            "overviews": format!("{:?}", settings.overviews),
            "overview-resampling": settings.reduction,
            "bands": bands,
            "tags": settings.tags.iter().cloned().collect::<BTreeMap<_, _>>(),
        })
    }

    fn joining(self: Arc<Self>) -> Option<Arc<dyn Op>> {
        let is_open = self.assemble.is_none() && matches!(self.product, Product::Tiff(_));
        is_open.then(|| Arc::new(Encode { assemble: Some(true), ..(*self).clone() }) as Arc<dyn Op>)
    }

    fn kind(self: Arc<Self>) -> Kind {
        match self.assemble {
            Some(true) => Kind::Assemble(self),
            _ => Kind::Compute(self),
        }
    }
}

impl Encode {
    /// The bands that are written, as the header told them.
    fn choose<'a>(&self, member: &'a MemberShape) -> Result<Vec<&'a BandShape>, Failure> {
        let chosen = self.places(member.bands.iter().map(|band| band.name.as_str()))?;
        if chosen.is_empty() {
            return Err(Failure::item(format!("`{}` has no bands to encode", member.id)));
        }
        Ok(chosen.into_iter().map(|place| &member.bands[place]).collect())
    }

    /// Where the bands that are written stand among those of the raster.
    fn places<'a>(&self, names: impl Iterator<Item = &'a str> + Clone) -> Result<Vec<usize>, Failure> {
        let Some(wanted) = &self.bands else { return Ok((0..names.count()).collect()) };
        let place = |wanted: &Spanned<String>| {
            names.clone().position(|name| name == wanted.as_str()).ok_or_else(|| {
                let names: Vec<&str> = names.clone().collect();
                Failure::item(format!(
                    "`encode` is to write band `{}`; there are `{}`",
                    **wanted,
                    names.join("`, `")
                ))
            })
        };
        wanted.iter().map(place).collect()
    }

    /// What the size of the file depends on; `None` for what `shape` refuses.
    fn extent(&self, input: &Shape) -> Option<Extent> {
        let member = only_member(&input.members).ok()?;
        let bands = self.choose(member).ok()?;
        Some(Extent {
            width: member.window.width,
            height: member.window.height,
            data_type: bands[0].data_type,
            bands: bands.len(),
            may_miss: bands.iter().any(|band| band.has_mask),
        })
    }

    /// The form of a file on `grid` with the bands of a member. Which pixels may be missing is taken from the header, not
    /// from the pixels, so that all windows of a parent decide alike.
    fn form(
        &self,
        settings: &Settings,
        member: &Member,
        grid: Grid,
        declared: &Shape,
    ) -> Result<Form, Failure> {
        let chosen = self.places(member.bands.iter().map(|band| band.description.name.as_str()))?;
        let declared = declared.members.first();
        let of_place = |index: usize| {
            let band = &member.bands[index];
            let shape = declared.and_then(|member| member.bands.get(index));
            FormBand {
                index,
                description: band.description.clone(),
                data_type: band.pixels.data_type(),
                may_miss: shape.map_or(band.validity != Validity::All, |shape| shape.has_mask),
            }
        };
        let bands = chosen.into_iter().map(of_place).collect();
        Form::new(settings, grid, bands, member.tags.clone()).map_err(failure)
    }

    fn media_type(&self) -> &'static str {
        match &self.product {
            Product::Tiff(settings) if settings.format == Format::Cog => {
                "image/tiff; application=geotiff; profile=cloud-optimized"
            }
            Product::Tiff(_) => "image/tiff; application=geotiff",
            Product::Picture(PictureSettings { format: PictureFormat::Png(_), .. }) => "image/png",
            Product::Picture(_) => "image/jpeg",
        }
    }

    fn tiff(
        &self,
        settings: &Settings,
        member: &Member,
        context: &ComputeContext,
    ) -> Result<Vec<u8>, Failure> {
        let form = self.form(settings, member, member.grid.of_window(&member.window), &context.input)?;
        let extent = self.extent(&context.input);
        let foreseen = extent.map_or(0, |extent| encoded_bound(settings, &extent));
        hold_beyond(foreseen, form.expected_bound(), context);
        let most = extent.map_or(0, |extent| helpers_for(settings, &extent));
        let bytes = tiff::encode(&form, member, most, &Surroundings(context)).map_err(failure)?;
        hold_beyond(foreseen.max(form.expected_bound()), bytes.len() as u64, context);
        Ok(bytes)
    }

    fn picture(&self, settings: &PictureSettings, member: &Member) -> Result<Vec<u8>, Failure> {
        let places = self.places(member.bands.iter().map(|band| band.description.name.as_str()))?;
        settings.encode(member, &places).map_err(|error| Failure::item(error.to_string()))
    }
}

impl Compute for Encode {
    fn compute(&self, mut item: Item, context: &ComputeContext) -> Result<Item, Failure> {
        let member = take_member(&mut item, context)?;
        let bytes = match &self.product {
            Product::Tiff(settings) => self.tiff(settings, &member, context)?,
            Product::Picture(settings) => self.picture(settings, &member)?,
        };
        let body = EncodedBody::Memory(bytes.into());
        item.payload = Payload::Encoded(Encoded { body, media_type: self.media_type() });
        Ok(item)
    }
}

impl Assemble for Encode {
    fn begin(&self, window: &Item, context: &ComputeContext) -> Result<Box<dyn Assembly>, Failure> {
        let Payload::Raster(raster) = &window.payload else { return Err(not_a_raster()) };
        let Product::Tiff(settings) = &self.product else {
            return Err(Failure::fatal("`encode` makes no picture of windows"));
        };
        let member = only_member(&raster.members)?;
        let form = self.form(settings, member, (*member.grid).clone(), &context.input)?;
        let reserved = self.spool(&context.input, &context.output);
        let begun = assembly::begin(form, self.media_type(), reserved, window, context)?;
        Ok(Box::new(begun))
    }
}

/// What the engine reserved has room for usual metadata and for pixels that do not compress; what is above it is added
/// without waiting.
fn hold_beyond(foreseen: u64, bytes: u64, context: &ComputeContext) {
    let beyond = bytes.saturating_sub(foreseen);
    if beyond > 0 {
        context.memory.grow_to(context.memory.bytes() + beyond);
    }
}

/// Takes the one member out of an item, cut to what is wanted of it.
fn take_member(item: &mut Item, context: &ComputeContext) -> Result<Member, Failure> {
    let Payload::Raster(raster) = std::mem::replace(&mut item.payload, Payload::Rows(Vec::new())) else {
        return Err(not_a_raster());
    };
    only_member(&raster.members)?;
    let mut members = raster.members;
    let member = members.pop().ok_or_else(not_a_raster)?;
    let wanted = context.wanted.first().copied().unwrap_or(member.window);
    member.cut(wanted).map_err(|error| Failure::item(error.to_string()))
}

/// A file has one image.
fn only_member<T>(members: &[T]) -> Result<&T, Failure> {
    match members {
        [member] => Ok(member),
        _ => Err(Failure::item(format!(
            "`encode` takes a raster of one member and found `{}`; reduce them with `composite`",
            members.len()
        ))),
    }
}

/// The extent of the image that a window is a part of.
fn whole(extent: Extent, grid: &Grid) -> Extent {
    Extent { width: grid.width, height: grid.height, ..extent }
}

fn not_a_raster() -> Failure {
    Failure::fatal("`encode` expected a raster, found another payload")
}

fn unknown_band(name: &Spanned<String>, names: &[String]) -> Fault {
    Fault::error(UNKNOWN_BAND, name.span.clone(), format!("there is no band `{}`", name.value))
        .labelled("not among the bands that come in")
        .help(format!("the bands are `{}`", names.join("`, `")))
}

fn mixed_types(first: &BandShape, other: &BandShape) -> TiffError {
    TiffError::MixedTypes {
        first: first.name.clone(),
        first_type: first.data_type,
        other: other.name.clone(),
        other_type: other.data_type,
    }
}

/// A full disk stops the run; what a raster does not allow concerns its item.
#[allow(clippy::needless_pass_by_value, reason = "it is what `map_err` calls")]
fn failure(error: TiffError) -> Failure {
    match &error {
        TiffError::Cancelled => Failure::cancelled(),
        TiffError::Scratch(cause)
            if matches!(
                cause.kind(),
                std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded
            ) =>
        {
            Failure::fatal(error.to_string())
        }
        _ => Failure::item(error.to_string()),
    }
}

/// Idle cores and cancellation, as the writer asks for them.
struct Surroundings<'a>(&'a ComputeContext);

/// An idle core, given back when somebody waits for one.
struct IdleCore {
    slots: Slots,
    _lease: SlotLease,
}

impl Helpers for Surroundings<'_> {
    fn idle_core(&self) -> Option<Box<dyn Helper>> {
        let slots = self.0.idle_cores.as_ref()?;
        let lease = slots.try_acquire(1)?;
        Some(Box::new(IdleCore { slots: slots.clone(), _lease: lease }))
    }

    fn is_cancelled(&self) -> bool {
        self.0.cancelled()
    }
}

impl Helper for IdleCore {
    fn is_wanted(&self) -> bool {
        self.slots.waiting() > 0
    }
}
