//! Shares of a whole.

use std::fmt;

use serde::{Serialize, Serializer};

use super::form::text_form;
use super::number::{split, trimmed};

/// A share of a whole, written `"60%"`; held as a fraction above 0, at most 1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Percent(pub f64);

text_form! {
    Percent,
    expecting: "a share above `\"0%\"`, at most `\"100%\"`",
    pattern: r"^[0-9]+(\.[0-9]+)? ?%$",
    examples: ["60%", "2.5%"]
}

impl Percent {
    fn parse(text: &str) -> Option<Self> {
        let (number, "%") = split(text)? else { return None };
        let fraction = number.as_f64() / 100.0;
        (fraction > 0.0 && fraction <= 1.0).then_some(Self(fraction))
    }

    /// This share of a count of bytes, rounded down.
    pub fn of(self, whole: u64) -> u64 {
        (whole as f64 * self.0).floor() as u64
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", trimmed(self.0 * 100.0, 6))
    }
}

impl Serialize for Percent {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_held_as_a_fraction() {
        for (text, fraction) in [("60%", 0.6), ("100%", 1.0), ("2.5%", 0.025), ("7 %", 0.07)] {
            assert_eq!(text.parse(), Ok(Percent(fraction)), "{text}");
        }
    }

    #[test]
    fn nothing_and_more_than_all_are_refused() {
        for text in ["0%", "100.1%", "-5%", "60", "%", "60%%", "sixty%"] {
            assert!(text.parse::<Percent>().is_err(), "{text}");
        }
    }

    #[test]
    fn displays_what_was_written() {
        for text in ["60%", "7%", "2.5%", "100%"] {
            assert_eq!(text.parse::<Percent>().map(|share| share.to_string()), Ok(text.to_owned()));
        }
    }

    #[test]
    fn a_share_of_bytes_is_rounded_down() {
        assert_eq!(Percent(0.5).of(7), 3);
    }
}
