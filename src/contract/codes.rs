//! Every stable code of a diagnostic of templates, with what it means; `docs/diagnostics.md` lists the same.

use crate::config::codes::declare_codes;

declare_codes! {
    TEMPLATE_BRACE = "template-brace": "A brace of a template without its other half.";
    TEMPLATE_DATETIME = "template-datetime": "A format of dates that does not parse.";
    UNKNOWN_PLACEHOLDER = "unknown-placeholder": "A name in braces that no item has.";
}
