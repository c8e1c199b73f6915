//! How much of each resource is in use, as the last sample tells, and which one binds.

use crate::events::{Outline, ResourceSample};
use crate::units::{ByteSize, spoken_count};

/// One resource.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Gauge {
    name: String,
    kind: Kind,
    used: f64,
    limit: f64,
    waiting: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Slots,
    Bytes,
    Rate,
}

impl Gauge {
    pub(super) fn of(sample: &ResourceSample, outline: &Outline) -> Self {
        let kind = match outline.resource(sample.name.as_str()).map(|resource| resource.kind.as_str()) {
            Some("bytes") => Kind::Bytes,
            Some("rate") => Kind::Rate,
            _ => Kind::Slots,
        };
        let (used, limit, waiting) = (sample.used, sample.limit, sample.waiting);
        Self { name: sample.name.to_string(), kind, used, limit, waiting }
    }

    /// Whether it keeps somebody waiting.
    fn is_binding(&self) -> bool {
        self.waiting > 0 || (self.kind == Kind::Slots && self.limit > 0.0 && self.used >= self.limit)
    }

    /// `cores 2/2`, `memory 59.6 MiB/14.1 GiB`, `provider 5/5 a second`, each with how many wait.
    fn words(&self) -> String {
        let count = |amount: f64| spoken_count(amount.round() as u64);
        let waiting =
            if self.waiting > 0 { format!(" ({} wait)", spoken_count(self.waiting)) } else { String::new() };
        let (used, limit) = match self.kind {
            Kind::Bytes => (ByteSize(self.used as u64).to_string(), ByteSize(self.limit as u64).to_string()),
            Kind::Slots => (count(self.used), count(self.limit)),
            Kind::Rate => (count(self.used), format!("{} a second", count(self.limit))),
        };
        format!("{} {used}/{limit}{waiting}", self.name)
    }
}

/// What is in use, in words: nothing of resources that are idle.
pub(super) fn in_use(gauges: &[Gauge]) -> String {
    let used = gauges.iter().filter(|gauge| gauge.used > 0.0 || gauge.waiting > 0);
    used.map(Gauge::words).collect::<Vec<_>>().join(", ")
}

/// The resource for which most wait, or the first that is at its limit.
pub(super) fn binding(gauges: &[Gauge]) -> Option<&str> {
    let binding = gauges.iter().rev().filter(|gauge| gauge.is_binding());
    binding.max_by_key(|gauge| gauge.waiting).map(|gauge| gauge.name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::OutlineResource;

    fn gauges(samples: &[(&str, &str, f64, f64, u64)]) -> Vec<Gauge> {
        let gauge = |(name, kind, used, limit, waiting): &(&str, &str, f64, f64, u64)| {
            let resource =
                OutlineResource { name: (*name).into(), kind: (*kind).into(), ..OutlineResource::default() };
            let outline = Outline { resources: vec![resource], ..Outline::default() };
            let (name, used, limit, waiting) = ((*name).into(), *used, *limit, *waiting);
            Gauge::of(&ResourceSample { name, used, limit, waiting, holders: Vec::new() }, &outline)
        };
        samples.iter().map(gauge).collect()
    }

    #[test]
    fn what_is_in_use_is_told_with_its_unit() {
        let told = in_use(&gauges(&[
            ("cores", "slots", 2.0, 2.0, 3),
            ("memory", "bytes", 1_048_576.0, 2_147_483_648.0, 0),
            ("provider", "rate", 5.0, 5.0, 0),
            ("writers", "slots", 0.0, 4.0, 0),
        ]));
        assert_eq!(told, "cores 2/2 (3 wait), memory 1 MiB/2 GiB, provider 5/5 a second");
    }

    #[test]
    fn the_resource_for_which_most_wait_binds() {
        let cores_and_memory = gauges(&[("cores", "slots", 2.0, 2.0, 3), ("memory", "bytes", 1.0, 9.0, 5)]);
        assert_eq!(binding(&cores_and_memory), Some("memory"));
        assert_eq!(
            binding(&gauges(&[("cores", "slots", 2.0, 2.0, 0), ("writers", "slots", 4.0, 4.0, 0)])),
            Some("cores")
        );
        assert_eq!(
            binding(&gauges(&[("cores", "slots", 1.0, 2.0, 0), ("memory", "bytes", 9.0, 9.0, 0)])),
            None
        );
    }
}
