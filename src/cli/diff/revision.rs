//! A pipeline as it was committed, asked of git.

use std::path::Path;
use std::process::Command;

/// The name and text of a file at a revision: `HEAD~1` is that of `file`, `HEAD~1:other.toml` names another.
///
/// # Errors
/// It is neither a file nor a revision, or git is not there.
pub(super) fn read(revision: &str, file: &Path) -> Result<(String, String), String> {
    if revision.starts_with('-') {
        return Err(format!("`{revision}` is neither a file nor a git revision"));
    }
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy();
    let object = if revision.contains(':') { revision.to_owned() } else { format!("{revision}:./{name}") };
    let shown = Command::new("git").arg("-C").arg(folder).args(["show", &object]).output();
    let shown =
        shown.map_err(|error| format!("`{revision}` is no file, and git cannot be asked: {error}"))?;
    if !shown.status.success() {
        let reason = String::from_utf8_lossy(&shown.stderr);
        let reason = reason.lines().next().unwrap_or("git says nothing").to_owned();
        return Err(format!("`{revision}` is neither a file nor a git revision: {reason}"));
    }
    let text = String::from_utf8(shown.stdout).map_err(|_| format!("`{object}` is not UTF-8"))?;
    Ok((object.replace(":./", ":"), text))
}
