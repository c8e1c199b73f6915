//! The op as the engine sees it.

use super::*;
use crate::config::{Fault, GridDefinition, Grids, Spanned};
use crate::contract::{Asset, AssetSet, Environment, Location};
use crate::ops::testing::{self, band, context, faults, item, member, members, shape, values};
use crate::raster::crs;
use crate::raster::{ControlPoint, ControlPoints};

fn placed(bands: Vec<crate::raster::Band>) -> Member {
    let member = member("scene", bands);
    let grid = Grid { crs: Some(crs::parse("EPSG:32633").unwrap()), ..Grid::clone(&member.grid) };
    Member { grid: Arc::new(grid), ..member }
}

fn with_grid(options: &str) -> Result<Arc<dyn Op>, Vec<Fault>> {
    let definition = GridDefinition {
        crs: Spanned::new("EPSG:32633".into(), 0..0),
        resolution: Spanned::new((20.0, 20.0), 0..0),
        bounds: None,
        tile: None,
        align: true,
    };
    let grids = Grids(vec![(Spanned::new("utm33".into(), 0..0), definition)]);
    let environment = Environment { grids, ..Environment::default() };
    (ENTRY.compile)(&testing::option(options).0, &environment)
}

#[test]
fn a_wanted_window_is_made_of_the_region_that_it_names() {
    let op = testing::compile(&ENTRY, "{ resolution = 20, resampling = \"average\" }");
    let item = item(vec![placed(vec![band("b", &[[1_u8, 3, 5, 7], [1, 3, 5, 7]])])]);
    let input = shape(&item);
    let output = op.shape(&input, &item).unwrap();
    assert_eq!(output.members[0].grid.whole(), Window { col: 0, row: 0, width: 2, height: 1 });
    let wanted = Window { col: 1, row: 0, width: 1, height: 1 };
    let region = op.region(&[wanted], &input, &output).unwrap();
    assert_eq!(
        region,
        [Window { col: 0, row: 0, width: 4, height: 2 }],
        "four pixels of reach cover the image"
    );
    let made = testing::run(&op, item, &[wanted]).unwrap();
    assert_eq!(values(&made[0].bands[0]), [Some(6.0)]);
    assert_eq!((made[0].window, made[0].grid.width), (wanted, 2));
}

#[test]
fn a_named_grid_takes_the_image_to_its_multiples() {
    let op = with_grid("{ grid = \"utm33\" }").unwrap();
    let item = item(vec![placed(vec![band("b", &[[1_u8, 2, 3]])])]);
    let grid = op.shape(&shape(&item), &item).unwrap().members[0].grid.clone();
    assert_eq!((grid.width, grid.height), (2, 1));
    assert_eq!(grid.geotransform, [500_000.0, 20.0, 0.0, 4_000_000.0, 0.0, -20.0]);
}

#[test]
fn a_part_of_the_named_grid_is_warped_onto_that_part() {
    let op = with_grid("{ grid = \"utm33\" }").unwrap();
    let mut item = item(vec![placed(vec![band("b", &[[1_u8, 2, 3]])])]);
    let part = Grid {
        crs: Some(crs::parse("EPSG:32633").unwrap()),
        geotransform: [499_960.0, 20.0, 0.0, 4_000_020.0, 0.0, -20.0],
        width: 8,
        height: 8,
    };
    item.lineage.grid = Some(Arc::new(part.clone()));
    assert_eq!(*op.shape(&shape(&item), &item).unwrap().members[0].grid, part);
    let other = Grid { geotransform: [499_950.0, 20.0, 0.0, 4_000_020.0, 0.0, -20.0], ..part };
    item.lineage.grid = Some(Arc::new(other));
    assert_eq!(op.shape(&shape(&item), &item).unwrap().members[0].grid.width, 2);
}

#[test]
fn a_source_without_crs_is_named_and_can_be_helped() {
    let mut item = item(vec![member("plain", vec![band("b", &[[1_u8, 2]])])]);
    let input = shape(&item);
    let asset = Asset {
        name: "data".into(),
        location: Location::Local("/in/plain.tif".into()),
        size: None,
        version: None,
        metadata: Arc::default(),
    };
    let set = AssetSet { id: "plain".into(), properties: Arc::default(), assets: vec![asset] };
    item.payload = Payload::Assets(vec![set]);
    let refused = testing::compile(&ENTRY, "{ crs = \"EPSG:3857\" }").shape(&input, &item).unwrap_err();
    assert_eq!(refused.message, "`/in/plain.tif`: the raster has no CRS; name it with `source-crs`");
    let helped = testing::compile(&ENTRY, "{ crs = \"EPSG:3857\", source-crs = \"EPSG:32633\" }");
    assert!(helped.shape(&input, &item).is_ok());
}

#[test]
fn control_points_place_an_image_when_asked_to() {
    let points = [(0.0, 0.0), (3.0, 0.0), (0.0, 2.0), (3.0, 2.0), (1.0, 1.0)];
    let point = |(col, row): (f64, f64)| ControlPoint { col, row, x: 5e5 + 10.0 * col, y: 4e6 - 10.0 * row };
    let points = ControlPoints {
        crs: Some(crs::parse("EPSG:32633").unwrap()),
        points: points.into_iter().map(point).collect(),
    };
    let mut member = member("gcps", vec![band("b", &[[1_u8, 2, 3], [4, 5, 6]])]);
    let identity = Grid { geotransform: [0.0, 1.0, 0.0, 0.0, 0.0, 1.0], ..Grid::clone(&member.grid) };
    member.grid = Arc::new(identity);
    let item = item(vec![member]);
    let mut input = shape(&item);
    input.members[0].placement = Placement::ControlPoints(Arc::new(points));
    let refused = testing::compile(&ENTRY, "{ resolution = 10 }").shape(&input, &item).unwrap_err();
    assert!(
        refused.message.contains("no geotransform; 5 ground control points present: choose"),
        "{refused}"
    );

    let op = testing::compile(&ENTRY, "{ resolution = 10, control-points = { order = 1 } }");
    let output = op.shape(&input, &item).unwrap();
    assert_eq!(output.members[0].grid.geotransform, [5e5, 10.0, 0.0, 4e6, 0.0, -10.0]);
    let given = ComputeContext { input: Arc::new(input), output: Arc::new(output), ..context(&[]) };
    let made = members(testing::computer(op).compute(item, &given).unwrap());
    assert_eq!(values(&made[0].bands[0]), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0].map(Some));
}

#[test]
fn a_window_that_no_source_pixel_touches_is_all_invalid() {
    let options = "{ resolution = 10, bounds = [500000, 3999000, 501000, 4000000] }";
    let op = testing::compile(&ENTRY, options);
    let item = item(vec![placed(vec![band("b", &[[7_u8, 8]])])]);
    let far = Window { col: 50, row: 50, width: 2, height: 1 };
    let (input, wanted) = (shape(&item), [far]);
    let output = op.shape(&input, &item).unwrap();
    assert_eq!(op.region(&wanted, &input, &output).unwrap()[0].pixels(), 1);
    assert_eq!(values(&testing::run(&op, item, &wanted).unwrap()[0].bands[0]), [None, None]);
}

#[test]
fn faults_mark_their_place_and_say_what_helps() {
    let cases = [
        ("{ crs = \"EPSG:999999\" }", "\"EPSG:999999\"", "`EPSG:999999` is not known"),
        ("{ crs = \"/etc/passwd\" }", "\"/etc/passwd\"", "expected a name like `EPSG:32632`"),
        ("{ size = [2, 2], resolution = 10 }", "[2, 2]", "`size` cannot stand beside `resolution`"),
        ("{ like = \"a.tif\", crs = \"EPSG:4326\" }", "\"EPSG:4326\"", "`crs` cannot stand beside `like`"),
        ("{ bounds = [2, 0, 1, 1] }", "[2, 0, 1, 1]", "enclose nothing"),
        ("{ align = false }", "false", "`align` does nothing"),
        ("{ control-points = { order = 4 } }", "4", "order 4"),
        ("{ like = \"missing.tif\" }", "\"missing.tif\"", "missing.tif"),
    ];
    for (options, place, message) in cases {
        let found = faults(&ENTRY, options);
        assert!(
            found.iter().any(|(at, fault)| at == place && fault.message.contains(message)),
            "{options}: {found:?}"
        );
    }
    let misspelt = with_grid("{ grid = \"utm3\" }").err().unwrap();
    assert_eq!(misspelt[0].help, "did you mean `utm33`?");
}
