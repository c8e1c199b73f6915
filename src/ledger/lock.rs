//! The lock that lets one run at a time write a ledger.
//!
//! The operating system holds it, so a crash releases it. The lock file stays: removing it would let two processes
//! lock two files of one name.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

use super::LedgerError;

/// Held as long as the ledger is open.
#[derive(Debug)]
pub(super) struct Lock {
    /// Closing the file releases the lock.
    _file: File,
}

impl Lock {
    /// Makes the ledger's folder where it is missing, and locks.
    pub(super) fn take(ledger: &Path) -> Result<Self, LedgerError> {
        let mut file = open(ledger).map_err(|error| LedgerError::unreachable(ledger, error))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(LedgerError::InUse { path: ledger.to_owned(), holder: holder(&mut file) });
            }
            Err(TryLockError::Error(error)) => return Err(LedgerError::unreachable(ledger, error)),
        }
        sign(&mut file).map_err(|error| LedgerError::unreachable(ledger, error))?;
        Ok(Self { _file: file })
    }
}

/// `NAME.lock` beside the ledger.
fn lock_path(ledger: &Path) -> PathBuf {
    let mut name = ledger.as_os_str().to_owned();
    name.push(".lock");
    name.into()
}

fn open(ledger: &Path) -> std::io::Result<File> {
    if let Some(folder) = ledger.parent() {
        fs::create_dir_all(folder)?;
    }
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(lock_path(ledger))
}

/// Says in the file who holds it.
fn sign(file: &mut File) -> std::io::Result<()> {
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let text = match host.trim() {
        "" => format!("process {}", std::process::id()),
        host => format!("process {} on `{host}`", std::process::id()),
    };
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(text.as_bytes())
}

fn holder(file: &mut File) -> String {
    let mut text = String::new();
    match file.read_to_string(&mut text) {
        Ok(_) if !text.trim().is_empty() => text.trim().to_owned(),
        _ => "another process".to_owned(),
    }
}
