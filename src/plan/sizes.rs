//! From the forms of a limit to its figure, with the arithmetic beside it.
//!
//! Zeros are refused where the forms are read; bounds that cross, here.

use super::{Limit, codes};
use crate::config::codes::OUT_OF_RANGE;
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
    /// Whether that folder is a part of memory.
    pub(super) is_disk_memory: bool,
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
        ResourceForm::Rate { limit, burst, per_host } => {
            Ok(of_rate(limit.value, burst.as_ref().map(|burst| burst.value), *per_host))
        }
    }
}

fn of_slots(name: &str, form: &Spanned<SizeForm>, basis: &Basis) -> Result<Figure, Fault> {
    let machine = basis.machine;
    match form.value {
        SizeForm::Fixed(count) => Ok(Figure::slots(count, count.to_string())),
        SizeForm::Cores(expression) => Ok(of_cores(expression, &machine.cores)),
        SizeForm::Memory { budget, working_set, clamp } => {
            agreeing(clamp, &form.span)?;
            Divided::memory(budget, working_set, &machine.memory).clamped(name, clamp, &form.span)
        }
        SizeForm::Descriptors { share, each, clamp } => {
            agreeing(clamp, &form.span)?;
            Divided::descriptors(share, each, &machine.descriptors).clamped(name, clamp, &form.span)
        }
        SizeForm::Adaptive { from, to, clamp } => {
            agreeing(clamp, &form.span)?;
            in_order(("from", from), ("to", to), &form.span)?;
            Ok(Figure::adaptive(from, to, clamp))
        }
    }
}

fn agreeing(clamp: Clamp, place: &Span) -> Result<(), Fault> {
    match (clamp.at_least, clamp.at_most) {
        (Some(least), Some(most)) => in_order(("at-least", least), ("at-most", most), place),
        _ => Ok(()),
    }
}

/// Refuses two bounds of which the lower one is the larger.
fn in_order((lower, least): (&str, u64), (upper, most): (&str, u64), place: &Span) -> Result<(), Fault> {
    if least <= most {
        return Ok(());
    }
    let message = format!("`{lower}` is {least}, above `{upper}`, which is {most}");
    Err(Fault::error(OUT_OF_RANGE, place.clone(), message))
}

fn of_cores(expression: CoresExpression, granted: &Granted) -> Figure {
    let cores = granted.value;
    let text = with_source(cores, granted);
    match expression {
        CoresExpression::All => Figure::slots(cores, text),
        CoresExpression::Minus(fewer) => {
            Figure::at_least_one(cores.saturating_sub(fewer), &format!("{text} − {fewer}"))
        }
        CoresExpression::Times(times) => {
            Figure::at_least_one(cores.saturating_mul(times), &format!("{text} × {times}"))
        }
        CoresExpression::Over(parts) => {
            Figure::at_least_one(cores / parts.max(1), &format!("floor({text} ÷ {parts})"))
        }
    }
}

fn of_bytes(name: &str, share: &Spanned<Share>, whole: &Granted) -> Result<Figure, Fault> {
    let (bytes, derivation) = budget(share.value, whole);
    if bytes > 0 {
        return Ok(Figure { limit: Limit::Bytes(bytes), derivation });
    }
    let message = format!("`{name}` has a budget of `{}`, expected at least 1 B", share.value);
    Err(Fault::error(codes::ZERO_LIMIT, share.span.clone(), message).labelled("grants nothing"))
}

fn of_rate(limit: RateLimit, burst: Option<u64>, per_host: bool) -> Figure {
    let counts_bytes = matches!(limit, RateLimit::Bytes(_));
    let per_second = limit.per_second();
    let one_second = per_second.ceil().max(1.0) as u64;
    let burst = burst.unwrap_or(if counts_bytes { one_second } else { 1 });
    let shown = if counts_bytes { ByteSize(burst).to_string() } else { burst.to_string() };
    let hosts = if per_host { ", for each host" } else { "" };
    Figure {
        limit: Limit::Rate { per_second, burst, counts_bytes, per_host },
        derivation: format!("{limit}, burst {shown}{hosts}"),
    }
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
        if self.each > self.whole {
            return Err(self.too_large(name, span));
        }
        let (dividend, divisor) = &self.texts;
        let count = self.whole / self.each.max(1);
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

/// How a clamp changes counts; `None` where it leaves all as they are.
fn clamped_text(counts: &[u64], clamp: Clamp) -> Option<String> {
    let raised = clamp.at_least.filter(|least| counts.iter().any(|count| count < least));
    let cut = clamp.at_most.filter(|most| counts.iter().any(|count| count > most));
    let raised = raised.map(|least| format!(", at least {least}"));
    let cut = cut.map(|most| format!(", at most {most}"));
    (raised.is_some() || cut.is_some()).then(|| raised.into_iter().chain(cut).collect())
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

    fn adaptive(from: u64, to: u64, clamp: Clamp) -> Self {
        let derivation = format!("adaptive from {from} to {to}");
        let clamped = clamped_text(&[from, to], clamp).unwrap_or_default();
        let limit = Limit::Adaptive { from: clamp.of(from), to: clamp.of(to) };
        Self { limit, derivation: derivation + &clamped }
    }

    fn clamped(self, clamp: Clamp) -> Self {
        let Limit::Slots(count) = self.limit else { return self };
        match clamped_text(&[count], clamp) {
            Some(text) => Self::slots(clamp.of(count), format!("{}{text}", self.derivation)),
            None => self,
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
