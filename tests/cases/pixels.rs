//! Cases about single pixels: arithmetic, rounding, nodata.

use crate::bench::Bench;

/// An index of two files.
fn index(case: &str, read: &str) -> Bench {
    Bench::new(&format!(
        r#"
[stages]
scenes  = {{ list = {{ uris = [{{ id = "{case}", red = "in/{case}_red.tif", nir = "in/{case}_nir.tif" }}] }} }}
bands   = {{ from = "scenes", read = {{ bands = {{ red = "red", nir = "nir" }}{read} }} }}
ndvi    = {{ from = "bands", calc = {{ bands = {{ ndvi = "(nir - red) / (nir + red)" }}, dtype = "float32" }} }}
encoded = {{ from = "ndvi", encode = {{ format = "cog" }} }}
written = {{ from = "encoded", write = {{ path = "out/{{id}}.tif" }} }}
"#
    ))
}

/// Bands of one file, and what `calc` makes of them.
fn sum(file: &str, read: &str, calc: &str) -> Bench {
    Bench::new(&format!(
        r#"
[stages]
files   = {{ list = {{ uris = ["in/{file}"] }} }}
bands   = {{ from = "files", read = {{ bands = {{ a = 1 }}{read} }} }}
sums    = {{ from = "bands", calc = {{ bands = {{ made = "{calc}" }} }} }}
encoded = {{ from = "sums", encode = {{ format = "cog" }} }}
written = {{ from = "encoded", write = {{ path = "out/made.tif" }} }}
"#
    ))
}

#[test]
fn c01_an_index_of_16_bit_integers_does_not_wrap() {
    index("c01", "").gives("c01", "out/c01.tif");
}

#[test]
fn c02_a_denominator_of_zero_gives_nodata() {
    index("c02", "").gives("c02", "out/c02.tif");
}

#[test]
fn c04_scale_and_offset_come_before_the_index() {
    index("c04", ", scaling = \"file\"").gives("c04", "out/c04.tif");
}

#[test]
fn c06_floats_saturate_and_round_in_bytes() {
    Bench::new(
        r#"
[stages]
files   = { list = { uris = ["in/c06_in.tif"] } }
bands   = { from = "files", read = { bands = { a = 1 } } }
sums    = { from = "bands", calc = { bands = { made = "a" }, dtype = "uint8", nodata = 255 } }
encoded = { from = "sums", encode = { format = "cog" } }
written = { from = "encoded", write = { path = "out/made.tif" } }
"#,
    )
    .gives("c06", "out/made.tif");
}

/// The case allows an error that says so.
#[test]
fn c14_a_complex_raster_is_refused_by_name() {
    sum("c14_complex.tif", "", "abs(a)").fails(&["c14_complex.tif", "complex"]);
}

#[test]
fn c17_area_and_point_files_of_one_grid_are_equal() {
    Bench::new(
        r#"
[stages]
files   = { list = { uris = [{ id = "c17", a = "in/c17_area.tif", b = "in/c17_point.tif" }] } }
bands   = { from = "files", read = { bands = { a = "a", b = "b" } } }
sums    = { from = "bands", calc = { bands = { difference = "a - b" }, dtype = "int16", nodata = -32768 } }
encoded = { from = "sums", encode = { format = "cog" } }
written = { from = "encoded", write = { path = "out/{id}.tif" } }
"#,
    )
    .gives("c17", "out/c17.tif");
}
