//! Typed options from the spanned tree: a serde deserializer whose errors know their place.

mod mistake;
mod reader;
mod tables;

use serde::de::DeserializeOwned;

use super::{Fault, Value};
use reader::Reader;

/// Reads a value as `T`. `T` may hold [`Spanned`](super::Spanned), [`Entries`](super::Entries) and
/// [`OneOrMany`](super::OneOrMany); serde's tagged, untagged and flattened enums lose places, so `T` avoids them.
///
/// # Errors
/// The first fault, at the key or value that it concerns. All faults at once come from
/// [`validate`](super::validate), which runs before.
pub fn from_value<T: DeserializeOwned>(value: &Value) -> Result<T, Vec<Fault>> {
    T::deserialize(Reader::new(value)).map_err(|mistake| vec![mistake.into_fault(&value.span)])
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;
    use crate::config::{Entries, OneOrMany, Span, Spanned, parse};
    use crate::units::ByteSize;

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(rename_all = "kebab-case", deny_unknown_fields)]
    struct Options {
        path: Spanned<String>,
        #[serde(default)]
        scale: Option<Spanned<f64>>,
        #[serde(default)]
        bands: Entries<u32>,
        #[serde(default)]
        from: OneOrMany<Spanned<String>>,
        #[serde(default)]
        mode: Mode,
        #[serde(default)]
        block_size: Option<ByteSize>,
    }

    #[derive(Debug, Default, Deserialize, PartialEq)]
    #[serde(rename_all = "kebab-case")]
    enum Mode {
        #[default]
        Plain,
        Levels {
            of: u8,
        },
    }

    fn read(text: &str) -> Result<Options, Vec<Fault>> {
        let (tree, faults) = parse(text);
        assert_eq!(faults, []);
        from_value(&tree)
    }

    /// The only fault: its code, the text that it marks, its message.
    fn fault(text: &str) -> (&'static str, &str, String) {
        let faults = read(text).expect_err("it is broken");
        assert_eq!(faults.len(), 1);
        let Span { start, end } = faults[0].span.clone();
        (faults[0].code, &text[start..end], faults[0].message.clone())
    }

    #[test]
    fn places_order_and_single_values_are_kept() {
        let text = "path = 'x'\nscale = 2\nbands = { red = 3, nir = 4, blue = 1 }\nfrom = 'a'\nmode = { levels = { of = 2 } }";
        let options = read(text).expect("it is right");
        assert_eq!(options.path, Spanned::new("x".to_owned(), 7..10));
        assert_eq!(options.scale, Some(Spanned::new(2.0, 19..20)));
        let bands: Vec<_> = options.bands.iter().map(|(name, band)| (name.as_str(), *band)).collect();
        assert_eq!(bands, [("red", 3), ("nir", 4), ("blue", 1)]);
        assert_eq!(&text[options.bands[1].0.span.clone()], "nir");
        assert_eq!(options.from.len(), 1);
        assert_eq!(&text[options.from[0].span.clone()], "'a'");
        assert_eq!(options.mode, Mode::Levels { of: 2 });
    }

    #[test]
    fn a_list_stays_a_list() {
        let options = read("path = 'x'\nfrom = ['a', 'b']").expect("it is right");
        assert_eq!(options.from.iter().map(|name| name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    }

    #[test]
    fn an_unknown_key_is_marked_and_its_nearest_named() {
        let faults = read("path = 'x'\nscael = 2").expect_err("it is broken");
        assert_eq!((faults[0].code, faults[0].span.clone()), ("unknown-key", 11..16));
        assert_eq!(faults[0].help, "did you mean `scale`?");
    }

    #[test]
    fn faults_stand_at_the_value_that_they_concern() {
        let cases = [
            ("path = 1", "wrong-type", "1", "expected a text, found the integer `1`"),
            ("path = 'x'\nscale = 'two'", "wrong-type", "'two'", "expected a number, found the text `two`"),
            (
                "path = 'x'\nbands.red = -3",
                "out-of-range",
                "-3",
                "expected a whole number, found the integer `-3`",
            ),
            (
                "path = 'x'\nbands.red = 3.5",
                "wrong-type",
                "3.5",
                "expected a whole number, found the number `3.5`",
            ),
            ("path = 'x'\nbands = [1]", "wrong-type", "[1]", "expected a table, found a list"),
            ("path = 'x'\nmode = 'plane'", "wrong-value", "'plane'", "`plane` is not one of those allowed"),
            ("path = 'x'\nfrom = ['a', 2]", "wrong-type", "2", "expected a text, found the integer `2`"),
            ("scale = 1", "missing-key", "", "`path` is missing"),
            ("path = 'x'\nmode.levels = {}", "missing-key", "{}", "`of` is missing"),
            (
                "path = 'x'\nblock-size = '5 pounds'",
                "wrong-form",
                "'5 pounds'",
                "expected a size like `\"512 MiB\"`, found `5 pounds`",
            ),
        ];
        for (text, code, marked, message) in cases {
            assert_eq!(fault(text), (code, marked, message.to_owned()), "{text}");
        }
    }
}
