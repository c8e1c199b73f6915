//! Programs of the user that know what opens a service: they print a signed address, or the value of `Authorization`.
//!
//! What they print is a secret: it is never shown, and neither are their arguments.

#[cfg(test)]
mod tests;

use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;
use url::Url;

use super::{RequestError, redacted};

/// How long a program may take.
const PATIENCE: Duration = Duration::from_mins(1);

/// A program and its arguments, in which `{href}` stands for an address.
#[derive(Clone)]
pub(super) struct Program(Vec<String>);

impl Program {
    /// `None` where there is no program.
    pub(super) fn new(words: &[String]) -> Option<Self> {
        words.first().filter(|name| !name.is_empty()).map(|_| Self(words.to_vec()))
    }

    /// What it prints for an address, without the line's end. Dropping the future ends the program.
    pub(super) async fn ask(&self, url: &Url) -> Result<String, RequestError> {
        let words: Vec<_> = self.0.iter().map(|word| word.replace("{href}", url.as_str())).collect();
        let name = &self.0[0];
        let failed = |reason: String| RequestError::Unusable {
            url: redacted(url),
            reason: format!("the program `{name}` of its access rule {reason}"),
        };
        let mut command = Command::new(&words[0]);
        command
            .args(&words[1..])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let output = match timeout(PATIENCE, command.output()).await {
            Ok(Ok(output)) => output,
            Ok(Err(error)) => return Err(failed(format!("does not start: {error}"))),
            Err(_) => return Err(failed(format!("takes longer than {} s", PATIENCE.as_secs()))),
        };
        let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        if output.status.success() && !said.is_empty() {
            return Ok(said);
        }
        let complaint = String::from_utf8_lossy(&output.stderr);
        let last = complaint.trim().lines().last().map(|line| format!(": {line}")).unwrap_or_default();
        Err(failed(match output.status.code() {
            Some(0) => "prints nothing".to_owned(),
            Some(code) => format!("ended with {code}{last}"),
            None => "was ended by a signal".to_owned(),
        }))
    }
}
