//! Why a ledger cannot be used.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::ErrorCode;

/// Why a ledger cannot be used. Cloning shares the cause.
#[derive(Clone, Debug, thiserror::Error)]
pub enum LedgerError {
    /// Its folder cannot be made, or its lock file not opened.
    #[error("cannot open the ledger `{}`: {source}; `[run] ledger` can name another place", path.display())]
    Unreachable {
        /// The ledger.
        path: PathBuf,
        /// What the system says.
        source: Arc<io::Error>,
    },
    /// Another run writes it.
    #[error(
        "the ledger `{}` is in use by {holder}; two runs cannot share one: wait for it, or end it",
        path.display()
    )]
    InUse {
        /// The ledger.
        path: PathBuf,
        /// `process 1234 on `host``, as far as it is known.
        holder: String,
    },
    /// The file is something else.
    #[error("`{}` is not a ledger of gisrun: {found}; name another file in `[run] ledger`", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What it is instead.
        found: String,
    },
    /// A later gisrun wrote it.
    #[error(
        "the ledger `{}` has version {found}, and this gisrun reads up to {known}: use a newer gisrun, \
         or name another file in `[run] ledger`",
        path.display()
    )]
    Newer {
        /// The ledger.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The newest that is understood.
        known: u32,
    },
    /// The file is damaged.
    #[error(
        "the ledger `{}` is damaged ({detail}): move it away to begin anew; existing outputs then need \
         `existing = \"replace\"` or `\"keep\"`",
        path.display()
    )]
    Corrupt {
        /// The ledger.
        path: PathBuf,
        /// What SQLite says.
        detail: String,
    },
    /// The disk is full.
    #[error("no space left on the disk of the ledger `{}`", path.display())]
    DiskFull {
        /// The ledger.
        path: PathBuf,
    },
    /// Anything else that SQLite says.
    #[error("cannot use the ledger `{}`: {source}", path.display())]
    Database {
        /// The ledger.
        path: PathBuf,
        /// What SQLite says.
        source: Arc<rusqlite::Error>,
    },
    /// It was closed before this call.
    #[error("the ledger `{}` is closed", path.display())]
    Closed {
        /// The ledger.
        path: PathBuf,
    },
}

impl LedgerError {
    pub(super) fn unreachable(path: &Path, source: io::Error) -> Self {
        Self::Unreachable { path: path.to_owned(), source: Arc::new(source) }
    }

    /// Sorts what SQLite says by what the caller can do about it.
    pub(super) fn of_database(path: &Path, error: rusqlite::Error) -> Self {
        let path = path.to_owned();
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => Self::Foreign { path, found: "it is no SQLite database".into() },
            Some(ErrorCode::DatabaseCorrupt) => Self::Corrupt { path, detail: error.to_string() },
            Some(ErrorCode::DiskFull) => Self::DiskFull { path },
            _ => Self::Database { path, source: Arc::new(error) },
        }
    }
}
