//! Why all of a file moved where a part of it might have done.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why all of a file was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WholeReason {
    /// The pipeline says so.
    Mode,
    /// A later stage takes the file itself.
    TakenItself,
    /// The file is small and most of it is needed.
    MostNeeded,
    /// Its rows are stored in strips.
    Strips,
    /// Its format has no tiles that can be read by themselves.
    Format,
    /// Its header is not at its beginning, or too large.
    HeaderApart,
    /// The server does not give parts.
    NoRanges,
    /// It changed between two of its parts.
    Changed,
}

impl WholeReason {
    /// The reason as a fragment, about the file.
    pub fn words(self) -> &'static str {
        match self {
            WholeReason::Mode => "`mode = \"whole\"` says so",
            WholeReason::TakenItself => "a later stage takes the file itself",
            WholeReason::MostNeeded => "most of a small file is needed",
            WholeReason::Strips => "its rows are in strips, not in tiles",
            WholeReason::Format => "its format has no tiles that can be read by themselves",
            WholeReason::HeaderApart => "its header is not at its beginning",
            WholeReason::NoRanges => "the server gives no parts",
            WholeReason::Changed => "it changed between two of its parts",
        }
    }

    /// Whether parts would have been taken if the file or its server allowed it.
    pub fn is_imposed(self) -> bool {
        !matches!(self, WholeReason::Mode | WholeReason::TakenItself | WholeReason::MostNeeded)
    }
}
