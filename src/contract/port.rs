//! The kinds of payload that flow between stages.

use std::fmt;

use serde::Serialize;

/// What an op takes or gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Port {
    /// References to files, by name; nothing is held.
    Asset,
    /// Bytes of files, in memory or on scratch.
    Blob,
    /// Typed arrays.
    Raster,
    /// Rows for tables.
    Rows,
    /// A file's bytes, complete and not yet written.
    Encoded,
    /// Files under their final names, or temporaries of `exec`.
    File,
}

impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Port::Asset => "asset",
            Port::Blob => "blob",
            Port::Raster => "raster",
            Port::Rows => "rows",
            Port::Encoded => "encoded",
            Port::File => "file",
        })
    }
}
