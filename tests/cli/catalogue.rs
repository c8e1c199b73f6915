//! Items of a STAC catalogue that a server gives out page by page.

use std::fs;
use std::path::Path;

use gdal::{Dataset, DatasetOptions, GdalOpenFlags};
use serde_json::{Value as Json, json};

use crate::job::Job;
use crate::scene::{Scene, pixels};
use crate::server::Server;

/// A scene of two files: red of 32 × 32 pixels of 10 m with the value 1000, and near-infrared of 16 × 16 pixels of 20 m,
/// 3000 in its western half and 1000 in the other.
fn write_scene(folder: &Path, id: &str) {
    let red = Scene { size: 32, bands: vec![vec![1000; 32 * 32]], epsg: Some(32633) };
    red.write(&folder.join(format!("{id}/red.tif")));
    let nir = (0..16 * 16).map(|at| if at % 16 < 8 { 3000 } else { 1000 }).collect();
    let path = folder.join(format!("{id}/nir.tif"));
    Scene { size: 16, bands: vec![nir], epsg: Some(32633) }.write(&path);
    let options = DatasetOptions { open_flags: GdalOpenFlags::GDAL_OF_UPDATE, ..DatasetOptions::default() };
    let mut file = Dataset::open_ex(&path, options).unwrap();
    file.set_geo_transform(&[500_000.0, 20.0, 0.0, 4_000_000.0, 0.0, -20.0]).unwrap();
    file.close().unwrap();
}

fn item(id: &str, day: u32) -> Json {
    json!({
        "type": "Feature", "stac_version": "1.0.0", "id": id, "collection": "sentinel-2-l2a",
        "bbox": [15.0, 36.1, 15.1, 36.2], "geometry": null, "links": [],
        "properties": { "datetime": format!("2024-06-{day:02}T10:00:00Z"), "eo:cloud_cover": 3 },
        "assets": { "red": { "href": format!("{id}/red.tif") }, "nir08": { "href": format!("{id}/nir.tif") } },
    })
}

/// An API whose search gives one item a page.
fn serve_catalogue(folder: &Path, ids: &[&str]) -> Server {
    let put = |name: &str, document: Json| fs::write(folder.join(name), document.to_string()).unwrap();
    for (at, id) in ids.iter().enumerate() {
        write_scene(folder, id);
        let next =
            json!({ "rel": "next", "method": "POST", "href": format!("page{}.json", at + 1), "merge": true });
        let links = if at + 1 < ids.len() { vec![next] } else { Vec::new() };
        let page =
            json!({ "type": "FeatureCollection", "features": [item(id, at as u32 + 1)], "links": links });
        put(&format!("page{at}.json"), page);
    }
    let search =
        json!({ "rel": "search", "method": "POST", "type": "application/geo+json", "href": "page0.json" });
    put("api.json", json!({ "type": "Catalog", "id": "local", "links": [search] }));
    Server::start(folder).unwrap()
}

#[test]
fn the_pipeline_for_sentinel_2_makes_an_index_of_bands_of_two_resolutions() {
    let job = Job::new("");
    fs::create_dir(job.path("served")).unwrap();
    let server = serve_catalogue(&job.path("served"), &["s1", "s2", "s3"]);
    let pipeline = Path::new(env!("CARGO_MANIFEST_DIR")).join("pipelines/sentinel2-ndvi.toml");
    fs::copy(pipeline, job.path("sentinel2-ndvi.toml")).unwrap();

    let api = format!("api={}", server.url("api.json"));
    job.gisrun(&["sentinel2-ndvi.toml", "--set", &api]).expect_exit(0);

    assert_eq!(job.outputs().into_iter().collect::<Vec<_>>(), ["2024"]);
    for id in ["s1", "s2", "s3"] {
        let ndvi = pixels(&job.path(&format!("out/2024/06/{id}_ndvi.tif")));
        assert_eq!(ndvi.len(), 32 * 32, "the grid is that of red");
        // Two pixels of 20 m from where the near-infrared changes, it is what its file says.
        let row = &ndvi[..32];
        assert!(row[..14].iter().all(|value| *value == 0.5), "(3000 - 1000) / 4000: {row:?}");
        assert!(row[18..].iter().all(|value| *value == 0.0), "(1000 - 1000) / 2000: {row:?}");
    }
    let posts = server.requests().iter().filter(|request| request.method == "POST").count();
    assert_eq!(posts, 3, "one for each page");
}
