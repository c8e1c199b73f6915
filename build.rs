//! Keeps the native libraries that are linked in (SQLite, libdeflate, Zstandard) to this program.
//!
//! Without it the linker exports those of their functions that GDAL uses too, GDAL calls them in place of its own, and hands
//! what they gave to libraries that call their own all the same: opening a GeoPackage ends the process.

#[expect(clippy::disallowed_methods, reason = "cargo tells a build script its target by a variable")]
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        println!("cargo::rustc-link-arg=-Wl,--exclude-libs,ALL");
    }
}
