//! From the forms of a limit to its figure, with the arithmetic beside it.

use super::{Limit, codes};
use crate::config::{Clamp, CoresExpression, Fault, ResourceForm, Share, SizeForm, Span, Spanned};
use crate::machine::{Granted, Machine};
use crate::units::{ByteSize, Percent, RateLimit};

/// A limit, and how it came about.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Figure {
    pub(super) limit: Limit,
    pub(super) derivation: String,
}

/// What the forms are worked out from: the machine, and the disk of the scratch folder.
pub(super) struct Basis<'a> {
    pub(super) machine: &'a Machine,
    pub(super) disk: Granted,
}

/// The figure of a declared resource; `whole` is what a share of its bytes is a share of.
pub(super) fn of_form(
    name: &str,
    form: &ResourceForm,
    basis: &Basis,
    whole: &Granted,
) -> Result<Figure, Fault> {
    match form {
        ResourceForm::Slots(form) => of_slots(name, form, basis),
        ResourceForm::Bytes(share) => of_bytes(name, share, whole),
        ResourceForm::Rate { limit, burst, per_host } => of_rate(name, limit, burst.as_ref(), *per_host),
    }
}

fn of_slots(name: &str, form: &Spanned<SizeForm>, basis: &Basis) -> Result<Figure, Fault> {
    let machine = basis.machine;
    match &form.value {
        SizeForm::Fixed(count) => {
            refuse_zero(name, "slots", *count, &form.span)?;
            Ok(Figure::slots(*count, count.to_string()))
        }
        SizeForm::Cores(expression) => of_cores(name, *expression, machine, &form.span),
        SizeForm::Memory { budget, working_set, clamp } => {
            let divided = Divided::memory(*budget, *working_set, &machine.memory);
            divided.clamped(name, *clamp, &form.span)
        }
        SizeForm::Descriptors { share, each, clamp } => {
            Divided::descriptors(*share, *each, &machine.descriptors).clamped(name, *clamp, &form.span)
        }
        SizeForm::Adaptive { from, to } => of_adaptive(name, *from, *to, &form.span),
    }
}

fn of_cores(
    name: &str,
    expression: CoresExpression,
    machine: &Machine,
    span: &Span,
) -> Result<Figure, Fault> {
    let cores = machine.cores.value;
    let text = with_source(cores, &machine.cores);
    let (count, arithmetic) = match expression {
        CoresExpression::All => return Ok(Figure::slots(cores, text)),
        CoresExpression::Minus(fewer) => (cores.saturating_sub(fewer), format!("{text} − {fewer}")),
        CoresExpression::Times(times) => {
            refuse_zero(name, "slots", times, span)?;
            (cores.saturating_mul(times), format!("{text} × {times}"))
        }
        CoresExpression::Over(parts) => {
            refuse_zero(name, "slots divided by", parts, span)?;
            (cores / parts, format!("floor({text} ÷ {parts})"))
        }
    };
    Ok(Figure::at_least_one(count, &arithmetic))
}

fn of_adaptive(name: &str, from: u64, to: u64, span: &Span) -> Result<Figure, Fault> {
    refuse_zero(name, "slots from", from, span)?;
    refuse_crossed(name, ("from", from), ("to", to), span)?;
    Ok(Figure { limit: Limit::Adaptive { from, to }, derivation: format!("adaptive from {from} to {to}") })
}

fn of_bytes(name: &str, share: &Spanned<Share>, whole: &Granted) -> Result<Figure, Fault> {
    let (bytes, derivation) = budget(share.value, whole);
    refuse_zero(name, "bytes", bytes, &share.span)?;
    Ok(Figure { limit: Limit::Bytes(bytes), derivation })
}

fn of_rate(
    name: &str,
    limit: &Spanned<RateLimit>,
    burst: Option<&Spanned<u64>>,
    per_host: bool,
) -> Result<Figure, Fault> {
    if let Some(burst) = burst {
        refuse_zero(name, "burst", burst.value, &burst.span)?;
    }
    let counts_bytes = matches!(limit.value, RateLimit::Bytes(_));
    let per_second = limit.per_second();
    let one_second = per_second.ceil().max(1.0) as u64;
    let burst = burst.map_or(if counts_bytes { one_second } else { 1 }, |burst| burst.value);
    let shown = if counts_bytes { ByteSize(burst).to_string() } else { burst.to_string() };
    let hosts = if per_host { ", for each host" } else { "" };
    Ok(Figure {
        limit: Limit::Rate { per_second, burst, counts_bytes, per_host },
        derivation: format!("{}, burst {shown}{hosts}", limit.value),
    })
}

/// The bytes of a budget, and its arithmetic.
pub(super) fn budget(share: Share, whole: &Granted) -> (u64, String) {
    match share {
        Share::Size(size) => (size.0, size.to_string()),
        Share::Percent(share) => {
            let bytes = share.of(whole.value);
            (bytes, format!("{} = {}", share_of(share, whole), ByteSize(bytes)))
        }
    }
}

fn share_of(share: Percent, whole: &Granted) -> String {
    format!("{share} × {}", with_source(ByteSize(whole.value), whole))
}

/// A figure with where it came from: `2 [affinity]`.
pub(super) fn with_source(figure: impl std::fmt::Display, granted: &Granted) -> String {
    format!("{figure} [{}]", granted.source)
}

/// Something that is divided by what one piece of work takes of it.
struct Divided {
    whole: u64,
    each: u64,
    /// The dividend and the divisor as text, and the key of the divisor.
    texts: (String, String),
    each_key: &'static str,
    shown: fn(u64) -> String,
}

impl Divided {
    fn memory(share: Share, working_set: ByteSize, granted: &Granted) -> Self {
        let (whole, _) = budget(share, granted);
        let dividend = match share {
            Share::Size(size) => size.to_string(),
            Share::Percent(share) => share_of(share, granted),
        };
        Self {
            whole,
            each: working_set.0,
            texts: (dividend, working_set.to_string()),
            each_key: "working-set",
            shown: |bytes| ByteSize(bytes).to_string(),
        }
    }

    fn descriptors(share: Percent, each: u64, granted: &Granted) -> Self {
        let dividend = format!("{share} × {}", with_source(granted.value, granted));
        Self {
            whole: share.of(granted.value),
            each,
            texts: (dividend, each.to_string()),
            each_key: "each",
            shown: |count| count.to_string(),
        }
    }

    fn clamped(&self, name: &str, clamp: Clamp, span: &Span) -> Result<Figure, Fault> {
        refuse_zero(name, self.each_key, self.each, span)?;
        if self.each > self.whole {
            return Err(self.too_large(name, span));
        }
        if let (Some(least), Some(most)) = (clamp.at_least, clamp.at_most) {
            refuse_crossed(name, ("at-least", least), ("at-most", most), span)?;
        }
        if let Some(most) = clamp.at_most {
            refuse_zero(name, "at-most", most, span)?;
        }
        let (dividend, divisor) = &self.texts;
        let count = self.whole / self.each;
        Ok(Figure::slots(count, format!("floor({dividend} ÷ {divisor}) = {count}")).clamped(clamp))
    }

    fn too_large(&self, name: &str, span: &Span) -> Fault {
        let (dividend, divisor) = &self.texts;
        let whole = (self.shown)(self.whole);
        let key = self.each_key;
        Fault::error(
            codes::WORKING_SET,
            span.clone(),
            format!("`{key}` of `{name}` is `{divisor}` and its budget is `{dividend}` = `{whole}`"),
        )
        .labelled("not one fits")
        .help(format!("raise the budget to at least `{divisor}`, or lower `{key}` to at most `{whole}`"))
    }
}

impl Figure {
    pub(super) fn slots(count: u64, derivation: String) -> Self {
        Self { limit: Limit::Slots(count), derivation }
    }

    /// A count that is never less than 1, which the text says where it matters.
    pub(super) fn at_least_one(count: u64, arithmetic: &str) -> Self {
        match count {
            0 => Self::slots(1, format!("max(1, {arithmetic}) = 1")),
            _ => Self::slots(count, format!("{arithmetic} = {count}")),
        }
    }

    fn clamped(self, clamp: Clamp) -> Self {
        let Limit::Slots(count) = self.limit else { return self };
        match (clamp.at_least, clamp.at_most) {
            (Some(least), _) if count < least => {
                Self::slots(least, format!("{}, at least {least}", self.derivation))
            }
            (_, Some(most)) if count > most => {
                Self::slots(most, format!("{}, at most {most}", self.derivation))
            }
            _ => self,
        }
    }

    /// The part of one of several processes that share the figure.
    pub(super) fn shared(self, shards: &Granted) -> Self {
        let parts = shards.value.max(1);
        let part = |count: u64| (count / parts).max(1);
        let (limit, shown) = match self.limit {
            Limit::Slots(count) => (Limit::Slots(part(count)), part(count).to_string()),
            Limit::Adaptive { from, to } => {
                let limit = Limit::Adaptive { from: part(from), to: part(to) };
                (limit, format!("from {} to {}", part(from), part(to)))
            }
            Limit::Bytes(bytes) => (Limit::Bytes(part(bytes)), ByteSize(part(bytes)).to_string()),
            Limit::Rate { per_second, burst, counts_bytes, per_host } => {
                let per_second = per_second / parts as f64;
                let rate = if counts_bytes { RateLimit::Bytes } else { RateLimit::Requests };
                let limit = Limit::Rate { per_second, burst: part(burst), counts_bytes, per_host };
                (limit, rate(per_second).to_string())
            }
        };
        let shards = with_source(parts, shards);
        Self { limit, derivation: format!("({}) ÷ {shards} = {shown}", self.derivation) }
    }
}

fn refuse_zero(name: &str, what: &str, figure: u64, span: &Span) -> Result<(), Fault> {
    if figure > 0 {
        return Ok(());
    }
    let message = format!("`{name}` has `0` as its `{what}`, expected at least 1");
    Err(Fault::error(codes::ZERO_LIMIT, span.clone(), message).labelled("grants nothing"))
}

fn refuse_crossed(
    name: &str,
    (low_key, low): (&str, u64),
    (high_key, high): (&str, u64),
    span: &Span,
) -> Result<(), Fault> {
    if low <= high {
        return Ok(());
    }
    let message = format!("`{name}` has `{low_key}` = `{low}` above `{high_key}` = `{high}`");
    Err(Fault::error(codes::WRONG_CLAMP, span.clone(), message).help("exchange the two figures"))
}
