//! How a request fails, and what may be done about it.

use std::time::Duration;

use reqwest::StatusCode;
use url::Url;

use crate::events::FailureClass;

/// Why a request gave nothing. Addresses are told without user, password, query and fragment.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RequestError {
    /// The server answered, but not with what was asked for.
    #[error("{method} {url} → {status}{detail}")]
    Status {
        /// `GET`, `POST`, …
        method: reqwest::Method,
        /// Without secrets.
        url: String,
        /// What it answered.
        status: StatusCode,
        /// How long it asked to be left alone.
        retry_after: Option<Duration>,
        /// What the body of the answer gives as the reason, after `: `; may be empty.
        detail: String,
    },
    /// There was no connection, or it broke before an answer came.
    #[error("GET {url} → no connection: {reason}")]
    Connection {
        /// Without secrets.
        url: String,
        /// The innermost cause.
        reason: String,
    },
    /// The whole request took longer than the stage's `timeout`.
    #[error("GET {url} → not complete after {seconds} s (`timeout`)")]
    TimedOut {
        /// Without secrets.
        url: String,
        /// The limit.
        seconds: f64,
    },
    /// No byte arrived for a while.
    #[error("GET {url} → stalled: no byte for {seconds} s after {received} bytes (timeout)")]
    Stalled {
        /// Without secrets.
        url: String,
        /// How long.
        seconds: f64,
        /// Bytes of the body until then.
        received: u64,
    },
    /// The connection ended before the body did.
    #[error("GET {url} → truncated: the body ends after {received} of {expected} bytes")]
    Truncated {
        /// Without secrets.
        url: String,
        /// Bytes that came.
        received: u64,
        /// Bytes that were announced.
        expected: u64,
    },
    /// The connection broke within a body of unannounced length.
    #[error("GET {url} → the connection broke after {received} bytes: {reason}")]
    Broken {
        /// Without secrets.
        url: String,
        /// Bytes that came.
        received: u64,
        /// The innermost cause.
        reason: String,
    },
    /// Redirects that lead nowhere.
    #[error("GET {url} → {reason}")]
    Redirect {
        /// Where they began, without secrets.
        url: String,
        /// What is wrong with them.
        reason: String,
    },
    /// The body is a page for people, or a message of the service.
    #[error("GET {url} → looks like {found}, expected a raster")]
    NotARaster {
        /// Without secrets.
        url: String,
        /// `an HTML page`, …
        found: &'static str,
    },
    /// The object is not the one that was begun with.
    #[error("GET {url} → the object changed while it was read: {reason}")]
    Changed {
        /// Without secrets.
        url: String,
        /// What differs.
        reason: String,
    },
    /// The server speaks HTTP in a way that cannot be used.
    #[error("GET {url} → {reason}")]
    Unusable {
        /// Without secrets.
        url: String,
        /// What was expected and found.
        reason: String,
    },
    /// The service asks for a longer wait than the retry limit allows.
    #[error(
        "{cause}; the service asks for a wait of {asked} s and `retry.total` is {total} s (rate limited)"
    )]
    AskedTooMuch {
        /// Seconds asked for.
        asked: u64,
        /// Seconds of the limit.
        total: u64,
        /// The answer.
        cause: Box<RequestError>,
    },
    /// The body is larger than what may be taken.
    #[error("GET {url} → {reason}")]
    TooLarge {
        /// Without secrets.
        url: String,
        /// Found and allowed.
        reason: String,
    },
    /// The body could not be put on scratch.
    #[error("GET {url} → `{path}`: {reason}")]
    Scratch {
        /// Without secrets.
        url: String,
        /// The file.
        path: String,
        /// What the system says.
        reason: String,
        /// Whether the disk is full.
        is_full: bool,
    },
    /// The client itself cannot work.
    #[error("no HTTP client: {0}")]
    Client(String),
}

impl RequestError {
    /// What the engine does about it.
    pub fn class(&self) -> FailureClass {
        match self {
            Self::Status { status, .. } if is_transient(*status) => FailureClass::Transient,
            Self::Connection { .. }
            | Self::TimedOut { .. }
            | Self::Stalled { .. }
            | Self::Truncated { .. }
            | Self::Broken { .. } => FailureClass::Transient,
            Self::Scratch { is_full: true, .. } | Self::Client(_) => FailureClass::Fatal,
            _ => FailureClass::Item,
        }
    }

    /// How long the service asked to be left alone.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Status { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// The status that the server answered with.
    pub fn status(&self) -> Option<StatusCode> {
        match self {
            Self::Status { status, .. } => Some(*status),
            Self::AskedTooMuch { cause, .. } => cause.status(),
            _ => None,
        }
    }

    /// Whether it says that the service is overloaded.
    pub(super) fn is_throttling(&self) -> bool {
        match self {
            Self::Status { status, .. } => {
                matches!(*status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE)
            }
            Self::TimedOut { .. } | Self::Stalled { .. } => true,
            _ => false,
        }
    }
}

/// Statuses that may be different next time: 408, 425, 429, 500, 502, 503, 504.
pub(super) fn is_transient(status: StatusCode) -> bool {
    matches!(status.as_u16(), 408 | 425 | 429 | 500 | 502 | 503 | 504)
}

/// An address without user, password, query and fragment, so that no secret is told.
pub fn redacted(url: &Url) -> String {
    let mut shown = url.clone();
    // Addresses that cannot have a user are the ones that have none.
    let cleared = shown.set_username("").and_then(|()| shown.set_password(None));
    debug_assert!(cleared.is_ok() || url.username().is_empty());
    shown.set_query(None);
    shown.set_fragment(None);
    shown.into()
}

/// The innermost cause of an error, which is the one that says something.
pub(super) fn innermost(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(code: u16) -> RequestError {
        RequestError::Status {
            method: reqwest::Method::GET,
            url: "http://h/p".into(),
            status: StatusCode::from_u16(code).expect("a status"),
            retry_after: None,
            detail: String::new(),
        }
    }

    #[test]
    fn the_class_follows_the_status() {
        for code in [408, 425, 429, 500, 502, 503, 504] {
            assert_eq!(status(code).class(), FailureClass::Transient, "{code}");
        }
        for code in [400, 401, 403, 404, 410, 416, 501, 505] {
            assert_eq!(status(code).class(), FailureClass::Item, "{code}");
        }
    }

    #[test]
    fn a_message_names_status_and_address() {
        assert_eq!(status(404).to_string(), "GET http://h/p → 404 Not Found");
    }

    #[test]
    fn nothing_secret_is_shown() {
        let url = Url::parse("https://u:secret@h.example:8443/a%20b/c.tif?sig=secret#secret").expect("a URL");
        assert_eq!(redacted(&url), "https://h.example:8443/a%20b/c.tif");
    }
}
