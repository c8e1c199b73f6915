//! Lengths of time.

use std::fmt;
use std::time::Duration;

use serde::{Serialize, Serializer};

use super::form::text_form;
use super::number::split;

/// A length of time, written `"500ms"`, `"30s"`, `"5m"`, `"2h"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimeSpan(pub Duration);

text_form! {
    TimeSpan,
    expecting: "a time like `\"500ms\"`, `\"30s\"`, `\"5m\"` or `\"2h\"`",
    pattern: r"^[0-9]+(\.[0-9]+)? ?(ms|s|m|h|d)$",
    examples: ["500ms", "30s", "5m", "2h"]
}

/// Units in milliseconds, largest first.
const UNITS: &[(&str, u64)] = &[("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// Parses a time, written `"500ms"`, `"30s"`, `"5m"`, `"2h"`.
pub fn parse_duration(text: &str) -> Option<Duration> {
    TimeSpan::parse(text).map(|span| span.0)
}

impl TimeSpan {
    fn parse(text: &str) -> Option<Self> {
        let (number, unit) = split(text)?;
        let (_, factor) = UNITS.iter().find(|(name, _)| *name == unit)?;
        number.times(*factor).map(|millis| Self(Duration::from_millis(millis)))
    }
}

impl From<TimeSpan> for Duration {
    fn from(span: TimeSpan) -> Self {
        span.0
    }
}

impl fmt::Display for TimeSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = self.0.as_millis() as u64;
        let (unit, factor) = UNITS
            .iter()
            .find(|(_, factor)| millis != 0 && millis.is_multiple_of(*factor))
            .unwrap_or(&("ms", 1));
        write!(f, "{}{unit}", millis / factor)
    }
}

impl Serialize for TimeSpan {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_told_apart() {
        let cases = [
            ("0s", 0),
            ("500ms", 500),
            ("30s", 30_000),
            ("1.5 s", 1_500),
            ("5m", 300_000),
            ("2h", 7_200_000),
            ("1d", 86_400_000),
        ];
        for (text, millis) in cases {
            assert_eq!(text.parse(), Ok(TimeSpan(Duration::from_millis(millis))), "{text}");
        }
    }

    #[test]
    fn other_forms_are_refused() {
        for text in ["", "30", "s", "30 sec", "5M", "-1s", "1h30m"] {
            assert!(text.parse::<TimeSpan>().is_err(), "{text}");
        }
    }

    #[test]
    fn displays_what_was_written() {
        for text in ["500ms", "30s", "5m", "2h", "1d", "1500ms"] {
            assert_eq!(text.parse::<TimeSpan>().map(|span| span.to_string()), Ok(text.to_owned()));
        }
    }
}
