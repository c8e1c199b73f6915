//! Rates: so many requests, or bytes, in a time.

use std::fmt;

use serde::{Serialize, Serializer};

use super::ByteSize;
use super::form::text_form;
use super::number::{split, trimmed};

/// Tokens per second, written `"100/s"` or `"30/m"` (requests), or `"50 MiB/s"` (bytes).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RateLimit {
    /// Requests (or items) per second.
    Requests(f64),
    /// Bytes per second.
    Bytes(f64),
}

text_form! {
    RateLimit,
    expecting: "a rate like `\"100/s\"`, `\"30/m\"` or `\"50 MiB/s\"`",
    pattern: r"^[0-9]+(\.[0-9]+)? ?(B|[KMGT]iB|[KkMGT]B)?/[smh]$",
    examples: ["100/s", "30/m", "50 MiB/s"]
}

impl RateLimit {
    fn parse(text: &str) -> Option<Self> {
        let (amount, unit) = text.rsplit_once('/')?;
        let seconds = match unit {
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return None,
        };
        let limit = match amount.parse::<ByteSize>() {
            Ok(size) => Self::Bytes(size.0 as f64 / seconds),
            Err(_) => Self::Requests(count(amount)? / seconds),
        };
        (limit.per_second() > 0.0).then_some(limit)
    }

    /// Tokens per second, whatever they are.
    pub fn per_second(self) -> f64 {
        match self {
            Self::Requests(rate) | Self::Bytes(rate) => rate,
        }
    }
}

/// A number without a unit.
fn count(text: &str) -> Option<f64> {
    split(text).filter(|(_, unit)| unit.is_empty() && !text.ends_with(' ')).map(|(number, _)| number.as_f64())
}

impl fmt::Display for RateLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Requests(rate) if rate < 1.0 => write!(f, "{}/m", trimmed(rate * 60.0, 3)),
            Self::Requests(rate) => write!(f, "{}/s", trimmed(rate, 3)),
            Self::Bytes(rate) => write!(f, "{}/s", ByteSize(rate as u64)),
        }
    }
}

impl Serialize for RateLimit {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_and_bytes_are_told_apart() {
        let cases = [
            ("100/s", RateLimit::Requests(100.0)),
            ("0.5/s", RateLimit::Requests(0.5)),
            ("30/m", RateLimit::Requests(0.5)),
            ("7200/h", RateLimit::Requests(2.0)),
            ("50 MiB/s", RateLimit::Bytes(52_428_800.0)),
            ("6 MB/m", RateLimit::Bytes(100_000.0)),
        ];
        for (text, limit) in cases {
            assert_eq!(text.parse(), Ok(limit), "{text}");
        }
    }

    #[test]
    fn other_forms_are_refused() {
        for text in ["0/s", "100", "100/", "/s", "100/d", "100 /s", "100 per s", "MiB/s", "-1/s"] {
            assert!(text.parse::<RateLimit>().is_err(), "{text}");
        }
    }

    #[test]
    fn displays_what_was_written() {
        for text in ["100/s", "30/m", "50 MiB/s", "2.5/s"] {
            assert_eq!(text.parse::<RateLimit>().map(|limit| limit.to_string()), Ok(text.to_owned()));
        }
    }
}
