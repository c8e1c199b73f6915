//! Items made of many: by the tiles of a grid, by month and solar day; and items that a condition drops.

use std::fmt::Write as _;
use std::fs;

use crate::job::Job;
use crate::rasters::{Raster, read};

const TILES: &str = r#"
[grids.area]
crs = "EPSG:32633"
resolution = 10
tile = 16

[stages]
rasters  = { glob = { paths = ["in/*.tif"] } }
tiles    = { from = "rasters", group = { by = "grid", grid = "area" } }
heights  = { from = "tiles", read = { bands = { height = 1 } } }
aligned  = { from = "heights", warp = { grid = "area", resampling = "nearest" } }
merged   = { from = "aligned", composite = { reduce = "first" } }
encoded  = { from = "merged", encode = { format = "gtiff" } }
written  = { from = "encoded", write = { path = "out/{group}.tif" } }
"#;

/// Tiles of 160 m from (0, 0): x 500000 begins column 3125, y 4000000 begins row −25000.
const CORNER: (f64, f64) = (500_000.0, 4_000_000.0);

/// 16 rows of: so many pixels of each value.
fn rows(runs: &[(usize, u16)]) -> Vec<u16> {
    let row: Vec<u16> = runs.iter().flat_map(|&(length, value)| vec![value; length]).collect();
    row.repeat(16)
}

#[test]
fn every_tile_that_an_item_touches_is_a_group_of_just_its_pixels() {
    let job = Job::new(TILES);
    // Columns 0 to 23 and 16 to 39 from the corner: they overlap in the second of three tiles.
    Raster::of(1, CORNER, (24, 16)).write(&job.path("in/a.tif"));
    Raster::of(2, (500_160.0, 4_000_000.0), (24, 16)).write(&job.path("in/b.tif"));
    job.run().expect_exit(0);
    let outputs: Vec<String> = job.outputs().into_iter().collect();
    assert_eq!(outputs, ["-25000_3125.tif", "-25000_3126.tif", "-25000_3127.tif"]);
    let tile = |name: &str| read(&job.path(&format!("out/-25000_{name}.tif")));
    assert_eq!(tile("3125"), (CORNER, rows(&[(16, 1)])));
    assert_eq!(tile("3126"), ((500_160.0, 4_000_000.0), rows(&[(8, 1), (8, 2)])));
    assert_eq!(tile("3127"), ((500_320.0, 4_000_000.0), rows(&[(8, 2), (8, 0)])));

    // A third raster in the last tile: the other two stand.
    Raster::of(3, (500_400.0, 4_000_000.0), (8, 16)).write(&job.path("in/c.tif"));
    job.run().expect_exit(0);
    assert_eq!(job.record().finished(), ["-25000_3127"]);
    assert_eq!(job.record().skipped(), ["-25000_3125", "-25000_3126"]);
    assert_eq!(tile("3127").1, rows(&[(8, 2), (8, 3)]));
}

#[test]
fn a_tile_on_another_grid_is_refused() {
    let other = format!(
        "{}\n[grids.other]\ncrs = \"EPSG:32633\"\nresolution = 20\n",
        TILES.replace("grid = \"area\", resampling", "grid = \"other\", resampling")
    );
    let job = Job::new(&other);
    Raster::of(1, CORNER, (16, 16)).write(&job.path("in/a.tif"));
    let ended = job.run().expect_exit(1);
    ended.line_with(&["the group is a tile of a grid, and `warp` goes onto another"]);
}

#[test]
fn a_member_without_what_it_is_grouped_by_fails_alone() {
    let job = Job::new(
        r#"
[stages]
scenes  = { list = { file = "scenes.csv" } }
days    = { from = "scenes", group = { by = "{properties.day}", order = "properties-rank" } }
bands   = { from = "days", read = { bands = { value = 1 } } }
aligned = { from = "bands", warp = { crs = "EPSG:32633", resolution = 10 } }
first   = { from = "aligned", composite = { reduce = "first" } }
encoded = { from = "first", encode = { format = "gtiff" } }
written = { from = "encoded", write = { path = "out/{id}.tif" } }
"#
        .replace("properties-rank", "rank")
        .as_str(),
    );
    for (name, value) in [("a", 1), ("b", 2), ("c", 3)] {
        Raster::of(value, CORNER, (4, 4)).write(&job.path(&format!("{name}.tif")));
    }
    let list = "id,path,day,rank\na,a.tif,x,10\nb,b.tif,x,9\nc,c.tif,,1\n";
    fs::write(job.path("scenes.csv"), list).unwrap();
    let ended = job.run().expect_exit(1);
    ended.line_with(&["`c` has no property `day`"]);
    assert_eq!(job.record().finished(), ["x"]);
    assert_eq!(read(&job.path("out/x.tif")).1, [2; 16], "`b` has the lower rank");
}

#[test]
fn the_monthly_median_takes_one_clear_value_a_solar_day() {
    let pipeline = include_str!("../../pipelines/monthly-median.toml");
    let job = Job::new("");
    fs::write(job.path("job.toml"), pipeline).unwrap();
    // At 15° east the sun is an hour ahead: 23:30 and 00:10 UTC are one day, of which the earlier scene counts.
    let scenes = [
        ("a", "2024-06-01T23:30:00Z", 10, 4),
        ("b", "2024-06-02T00:10:00Z", 99, 4),
        ("c", "2024-06-12T10:00:00Z", 20, 4),
        ("d", "2024-06-22T10:00:00Z", 60, 4),
        ("e", "2024-07-01T10:00:00Z", 70, 4),
    ];
    let mut list = "id,datetime,red,nir,scl\n".to_owned();
    for (id, datetime, value, class) in scenes {
        Raster::of(value, CORNER, (32, 32)).write(&job.path(&format!("{id}_red.tif")));
        Raster::of(value + 1, CORNER, (32, 32)).write(&job.path(&format!("{id}_nir.tif")));
        let mut scl = Raster::of(class, CORNER, (32, 32));
        if id == "d" {
            // A cloud over the first pixel of the 22nd.
            scl.values[0] = 9;
        }
        scl.write(&job.path(&format!("{id}_scl.tif")));
        writeln!(list, "{id},{datetime},{id}_red.tif,{id}_nir.tif,{id}_scl.tif").unwrap();
    }
    fs::write(job.path("scenes.csv"), list).unwrap();
    job.run().expect_exit(0);
    let (corner, june) = read(&job.path("out/2024-06.tif"));
    assert_eq!(corner, CORNER);
    // The median of 10, 20 and 60, and under the cloud of 10 and 20.
    assert_eq!((june[0], &june[1..]), (15, vec![20; 32 * 32 - 1].as_slice()));
    assert_eq!(read(&job.path("out/2024-07.tif")).1, vec![70; 32 * 32]);
}

#[test]
fn items_that_do_not_meet_a_condition_are_dropped_before_anything_is_read() {
    let job = Job::new(
        r#"
[stages]
scenes  = { list = { file = "scenes.csv" } }
clear   = { from = "scenes", filter = { where = '"eo:cloud_cover" < 20' } }
bands   = { from = "clear", read = { bands = { value = 1 } } }
encoded = { from = "bands", encode = { format = "gtiff" } }
written = { from = "encoded", write = { path = "out/{id}.tif" } }
"#,
    );
    Raster::of(1, CORNER, (4, 4)).write(&job.path("a.tif"));
    fs::write(
        job.path("scenes.csv"),
        "id,path,eo:cloud_cover\na,a.tif,19.5\nb,missing.tif,20\nc,missing.tif,\n",
    )
    .unwrap();
    job.run().expect_exit(0);
    assert_eq!(job.record().finished(), ["a"]);
}
