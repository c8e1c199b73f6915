//! What every quantity shares: one sentence that is the user's error and the schema's title, one pattern, examples.

/// A text that is not the quantity that was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}, found `{found}`")]
pub struct WrongForm {
    /// What was expected, with an example.
    pub expected: &'static str,
    /// What stood there.
    pub found: String,
}

/// Gives a quantity its text form: `FromStr` over `fn parse(&str) -> Option<Self>`, serde as text, and the JSON schema.
macro_rules! text_form {
    ($type:ident, expecting: $expecting:literal, pattern: $pattern:literal, examples: [$($example:literal),+]) => {
        impl $type {
            /// What an error says was expected.
            pub const EXPECTING: &'static str = $expecting;
            /// The regular expression of the form, for the schema.
            pub const PATTERN: &'static str = $pattern;
            /// Values as they stand in a pipeline.
            pub const EXAMPLES: &'static [&'static str] = &[$($example),+];
        }

        impl std::str::FromStr for $type {
            type Err = crate::units::WrongForm;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::parse(text)
                    .ok_or_else(|| crate::units::WrongForm { expected: Self::EXPECTING, found: text.to_owned() })
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                struct Text;

                impl serde::de::Visitor<'_> for Text {
                    type Value = $type;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str($type::EXPECTING)
                    }

                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$type, E> {
                        text.parse().map_err(E::custom)
                    }
                }

                from.deserialize_str(Text)
            }
        }

        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({
                    "title": Self::EXPECTING,
                    "type": "string",
                    "pattern": Self::PATTERN,
                    "examples": Self::EXAMPLES,
                })
            }
        }
    };
}

pub(crate) use text_form;

#[cfg(test)]
mod tests {
    use super::super::{ByteSize, Percent, RateLimit, TimeSpan};

    #[test]
    fn every_example_parses() {
        assert!(ByteSize::EXAMPLES.iter().all(|text| text.parse::<ByteSize>().is_ok()));
        assert!(Percent::EXAMPLES.iter().all(|text| text.parse::<Percent>().is_ok()));
        assert!(RateLimit::EXAMPLES.iter().all(|text| text.parse::<RateLimit>().is_ok()));
        assert!(TimeSpan::EXAMPLES.iter().all(|text| text.parse::<TimeSpan>().is_ok()));
    }

    #[test]
    fn an_error_says_what_was_expected_and_found() {
        let error = "512 Mi".parse::<ByteSize>().expect_err("`Mi` is no unit");
        assert_eq!(error.to_string(), "expected a size like `\"512 MiB\"`, found `512 Mi`");
    }
}
