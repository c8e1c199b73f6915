//! The real program, as a person or a script meets it: exit codes, words, files.

#![allow(clippy::unwrap_used, reason = "a test stops at what cannot be")]

mod bad_input;
mod catalogue;
mod chunks;
mod diagnostics;
mod drawn;
mod forked;
mod grouped;
mod interrupted;
mod job;
mod late_headers;
mod limits;
mod outputs;
mod pictures;
mod planned;
mod rasters;
mod rates;
mod record;
mod reported;
mod resume;
mod scene;
mod secrets;
mod served;
#[path = "../support/server.rs"]
mod server;
mod shown;
mod swept;
mod tabled;
mod timeouts;
mod windowed;
