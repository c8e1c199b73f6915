//! Sizes in bytes.

use std::fmt;

use serde::{Serialize, Serializer};

use super::form::text_form;
use super::number::{split, trimmed};

/// Bytes, written `"512 MiB"` (binary) or `"512 MB"` (decimal).
///
/// Displayed in binary units with one decimal (`15.2 GiB`); serialized exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteSize(pub u64);

text_form! {
    ByteSize,
    expecting: "a size like `\"512 MiB\"`",
    pattern: r"^[0-9]+(\.[0-9]+)? ?(B|[KMGT]iB|[KkMGT]B)$",
    examples: ["512 MiB", "2 GiB", "500 MB"]
}

const BINARY: &[(&str, u64)] = &[("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
const DECIMAL: &[(&str, u64)] =
    &[("TB", 1_000_000_000_000), ("GB", 1_000_000_000), ("MB", 1_000_000), ("KB", 1_000), ("kB", 1_000)];

impl ByteSize {
    fn parse(text: &str) -> Option<Self> {
        let (number, unit) = split(text)?;
        let factor = match unit {
            "B" => 1,
            _ => BINARY.iter().chain(DECIMAL).find(|(name, _)| *name == unit)?.1,
        };
        number.times(factor).map(Self)
    }

    /// The text that parses to exactly this size, in the unit that takes the smallest number.
    pub fn exact(self) -> String {
        let divides = |(_, factor): &&(&str, u64)| self.0 != 0 && self.0.is_multiple_of(*factor);
        let unit = BINARY.iter().chain(DECIMAL).filter(divides).max_by_key(|(_, factor)| *factor);
        let (unit, factor) = unit.unwrap_or(&("B", 1));
        format!("{} {unit}", self.0 / factor)
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match BINARY.iter().find(|(_, factor)| self.0 >= *factor) {
            Some((unit, factor)) => write!(f, "{} {unit}", trimmed(self.0 as f64 / *factor as f64, 1)),
            None => write!(f, "{} B", self.0),
        }
    }
}

impl Serialize for ByteSize {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.exact())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binary_and_decimal_units_differ() {
        let cases = [
            ("0 B", 0),
            ("7B", 7),
            ("1 KiB", 1_024),
            ("1 kB", 1_000),
            ("1 KB", 1_000),
            ("512 MiB", 536_870_912),
            ("512 MB", 512_000_000),
            ("1.5 GiB", 1_610_612_736),
            ("2GB", 2_000_000_000),
            ("3 TiB", 3_298_534_883_328),
            ("3 TB", 3_000_000_000_000),
        ];
        for (text, bytes) in cases {
            assert_eq!(text.parse(), Ok(ByteSize(bytes)), "{text}");
        }
    }

    #[test]
    fn other_forms_are_refused() {
        for text in [
            "",
            "12",
            "MiB",
            "1  MiB",
            "-1 MiB",
            "1.MiB",
            ".5 GiB",
            "1 mib",
            "1 EiB",
            "99999999999 TiB",
            "1 MiB ",
        ] {
            assert!(text.parse::<ByteSize>().is_err(), "{text}");
        }
    }

    #[test]
    fn displays_one_decimal_and_serializes_exactly() {
        let cases = [
            (0, "0 B", "0 B"),
            (1_023, "1023 B", "1023 B"),
            (1_610_612_736, "1.5 GiB", "1536 MiB"),
            (512_000_000, "488.3 MiB", "512 MB"),
            (3_000, "2.9 KiB", "3 kB"),
        ];
        for (bytes, shown, exact) in cases {
            assert_eq!(ByteSize(bytes).to_string(), shown);
            assert_eq!(ByteSize(bytes).exact(), exact);
            assert_eq!(exact.parse(), Ok(ByteSize(bytes)));
        }
    }
}
