//! Every stable code of a diagnostic, with what it means. `docs/diagnostics.md` lists the same; a test compares.

/// Declares codes, and the table of all of them.
macro_rules! declare_codes {
    ($($name:ident = $code:literal: $meaning:literal;)*) => {
        $(#[doc = $meaning] pub const $name: &str = $code;)*

        /// Every code with its meaning, in the order of the documentation.
        pub const ALL: &[(&str, &str)] = &[$(($code, $meaning)),*];
    };
}

pub(crate) use declare_codes;

declare_codes! {
    SYNTAX = "syntax": "The text is not TOML.";
    NEWER_SYNTAX = "newer-syntax": "The text uses what only TOML 1.1 allows; editors refuse it.";
    DUPLICATE_KEY = "duplicate-key": "A key or table is defined twice.";
    UNREADABLE = "unreadable": "The file cannot be read, or is not UTF-8.";
    UNKNOWN_KEY = "unknown-key": "A key that this table does not have.";
    GDAL_OPTION = "gdal-option": "An option of GDAL's own, which would reach neither `fetch` nor the threads of a run.";
    MISPLACED_KEY = "misplaced-key": "A key that belongs in another table: a stage key among an op's options, or the reverse.";
    MISSING_KEY = "missing-key": "A table lacks a key that it must have.";
    MISSING_OP = "missing-op": "A stage names no op.";
    SEVERAL_OPS = "several-ops": "A stage names more than one op.";
    RESOURCE_KIND = "resource-kind": "A resource is not exactly one of `slots`, `bytes` and `rate`.";
    WRONG_TYPE = "wrong-type": "A value of another type than expected.";
    WRONG_VALUE = "wrong-value": "A value that is not one of those allowed.";
    WRONG_FORM = "wrong-form": "A text that does not have the expected form.";
    OUT_OF_RANGE = "out-of-range": "A number, or the length of a list, outside its range.";
    BAD_NAME = "bad-name": "A name with characters that names cannot have.";
    UNKNOWN_PARAMETER = "unknown-parameter": "A parameter that `[params]` does not declare.";
    UNCLOSED_PARAMETER = "unclosed-parameter": "A `${` without its `}`.";
    PARAMETER_TYPE = "parameter-type": "A value given to a parameter is not of its type.";
    PARAMETER_IN_TEXT = "parameter-in-text": "A parameter that is a list or a table stands inside a text.";
    UNSET_PARAMETER = "unset-parameter": "A parameter has no value: no default, no `--set`, no environment variable.";
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::ALL;

    #[test]
    fn codes_are_unique_kebab_case_and_explained() {
        let names: BTreeSet<_> = ALL.iter().map(|(code, _)| code).collect();
        assert_eq!(names.len(), ALL.len());
        for (code, meaning) in ALL {
            assert!(code.bytes().all(|c| c.is_ascii_lowercase() || c == b'-'), "{code}");
            assert!(meaning.ends_with('.'), "{code}");
        }
    }
}
