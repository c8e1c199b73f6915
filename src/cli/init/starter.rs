//! The text of a starter pipeline, put together of the choices of the person who begins.

use crate::cli::{Inputs, Makes};

/// The pipeline; `schema` is where its first line says that the schema is.
pub(super) fn starter(schema: &str, inputs: Inputs, makes: Makes) -> String {
    let head = head(inputs, makes);
    let (source, last) = source(inputs);
    let bands = bands(inputs);
    let work = match makes {
        Makes::Images => images(last, bands),
        Makes::Statistics => statistics(last, bands),
        Makes::Program => program(last),
    };
    format!("#:schema {schema}\n\n{head}\n{source}\n{work}")
}

fn head(inputs: Inputs, makes: Makes) -> String {
    let (name, what) = match makes {
        Makes::Images => ("ndvi", "The vegetation index of every scene, as cloud-optimised GeoTIFFs."),
        Makes::Statistics => ("statistics", "One row of statistics for every scene, as one table."),
        Makes::Program => ("program", "A program of your own on every scene."),
    };
    format!(
        r#"name = "{name}"
description = "{what}"

{}

# Limits, named after what runs out. Those that are not declared have defaults; `gisrun plan` shows every figure.
[resources]
cores.slots = "cores"
memory.bytes = "50%"
{}
# Each stage has common keys (`from`, `uses`, `retry`, …) and exactly one op with its options. `gisrun ops` lists the ops,
# `gisrun ops read` is the manual of one.
"#,
        parameters(inputs),
        rate(inputs)
    )
}

fn parameters(inputs: Inputs) -> &'static str {
    match inputs {
        Inputs::Folder => {
            r#"# `--set 'scenes=other/*.tif'` replaces a parameter.
[params]
scenes = { default = "in/*.tif", help = "the files to read" }"#
        }
        Inputs::List => {
            r#"# A text file with one address or path a line; `--set list=other.txt` takes another.
[params]
list = { default = "scenes.txt", help = "the file with one address or path a line" }"#
        }
        Inputs::Stac => {
            r#"# `--set datetime=2024-07` replaces a parameter.
[params]
datetime = { default = "2024-06-01/2024-06-30", help = "search interval" }
bbox = { default = [10.0, 47.0, 11.0, 48.0], help = "west, south, east, north in degrees" }"#
        }
    }
}

fn rate(inputs: Inputs) -> &'static str {
    match inputs {
        Inputs::Folder => "",
        Inputs::List | Inputs::Stac => {
            "# What the service that you fetch from asks for: at most so many requests a second.\n\
             provider.rate = { limit = \"20/s\", burst = 5 }\n"
        }
    }
}

/// The stages that name the scenes, and the last of them.
fn source(inputs: Inputs) -> (&'static str, &'static str) {
    match inputs {
        Inputs::Folder => ("[stages.scenes]\nglob = { paths = [\"${scenes}\"] }\n", "scenes"),
        Inputs::List => (
            "[stages.scenes]\nlist = { file = \"${list}\" }\n\n# Local files pass through.\n[stages.fetched]\n\
             from = \"scenes\"\nuses = [\"provider\"]\nfetch = {}\n",
            "fetched",
        ),
        Inputs::Stac => (
            "# The address of a STAC API, and what is searched there.\n[stages.scenes]\nuses = [\"provider\"]\n\
             stac = { url = \"https://stac.example/v1\", collections = [\"sentinel-2-l2a\"], bbox = \"${bbox}\", \
             datetime = \"${datetime}\", max-items = 100 }\n\n[stages.fetched]\nfrom = \"scenes\"\nuses = [\"provider\"]\n\
             fetch = {}\n",
            "fetched",
        ),
    }
}

/// Bands by number of one file, or by the names of a scene's files.
fn bands(inputs: Inputs) -> &'static str {
    match inputs {
        Inputs::Folder | Inputs::List => {
            "# Bands of the file, counted from 1, by the names that later stages use.\n[stages.bands]\nfrom = \"{from}\"\nread = { bands = { red = 3, nir = 4 } }\n"
        }
        Inputs::Stac => {
            "# Files of the scene by the names that the catalogue gives them.\n[stages.bands]\nfrom = \"{from}\"\nread = { bands = { red = \"red\", nir = \"nir\" }, grid = \"red\" }\n"
        }
    }
}

fn images(from: &str, bands: &str) -> String {
    let bands = bands.replace("{from}", from);
    format!(
        r#"{bands}
[stages.ndvi]
from = "bands"
calc = {{ bands = {{ ndvi = "(nir - red) / (nir + red)" }}, dtype = "float32" }}

[stages.encoded]
from = "ndvi"
encode = {{ format = "cog" }}

# `{{id}}` is the name of the scene.
[stages.written]
from = "encoded"
write = {{ path = "out/{{id}}_ndvi.tif" }}
"#
    )
}

fn statistics(from: &str, bands: &str) -> String {
    let bands = bands.replace("{from}", from);
    format!(
        r#"{bands}
[stages.rows]
from = "bands"
stats = {{ statistics = ["count", "mean", "std", "min", "max"] }}

[stages.table]
from = "rows"
table = {{ path = "out/statistics.csv" }}
"#
    )
}

fn program(from: &str) -> String {
    format!(
        r#"# Each scene to a program, without a shell; `{{input}}` and `{{output}}` are paths. As many run at once as there are cores.
[stages.results]
from = "{from}"
timeout = "20m"
exec = {{ command = ["gdaldem", "hillshade", "{{input}}", "{{output}}"], outputs = {{ output = "out/{{id}}.tif" }} }}
"#
    )
}
