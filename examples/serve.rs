//! Serves a folder on loopback, as a stand-in for a remote archive: `cargo run --example serve -- examples/in`.
//!
//! It prints its address and serves until its standard input closes.

#![allow(clippy::print_stdout, unreachable_pub, dead_code, reason = "a program that tells its address")]

use std::io;
use std::path::PathBuf;

#[path = "../tests/support/server.rs"]
mod server;

fn main() -> io::Result<()> {
    let folder = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("."), PathBuf::from);
    let server = server::Server::start(&folder)?;
    println!("{}", server.url(""));
    io::copy(&mut io::stdin(), &mut io::sink()).map(drop)
}
