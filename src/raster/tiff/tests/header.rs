//! The bytes before the tiles.

use gdal::Metadata;

use super::*;

/// One pixel in one tile of 16×16, nothing compressed.
fn one_pixel() -> Vec<u8> {
    let settings = Settings { compression: Compression::None, ..small() };
    let mut member = member(vec![band("b", 1, &[42u8])]);
    let grid = Grid { crs: None, geotransform: [0.0, 1.0, 0.0, 0.0, 0.0, 1.0], ..(*member.grid).clone() };
    member.grid = Arc::new(grid);
    encoded(&settings, &member)
}

/// 8 bytes of header, 43 + 140 of structural metadata, one to make the offset even: 192.
#[test]
fn the_first_directory_follows_the_structural_metadata() {
    let bytes = one_pixel();
    assert_eq!(bytes[..8], [b'I', b'I', 42, 0, 192, 0, 0, 0]);
    assert!(bytes[8..].starts_with(b"GDAL_STRUCTURAL_METADATA_SIZE=000140 bytes\nLAYOUT=IFDS_BEFORE_DATA\n"));
}

/// Twelve fields of the layout and the samples, one of metadata: the band's name.
#[test]
fn the_directory_holds_the_fields_in_the_order_of_their_tags() {
    let bytes = one_pixel();
    assert_eq!(bytes[192..194], [14, 0]);
    let tag = |entry: usize| u16::from_le_bytes([bytes[194 + entry * 12], bytes[195 + entry * 12]]);
    let tags: Vec<u16> = (0..14).map(tag).collect();
    assert_eq!(tags, [254, 256, 257, 258, 259, 262, 277, 284, 322, 323, 324, 325, 339, 42112]);
    // ImageWidth: type LONG, one value, 1.
    assert_eq!(bytes[206..218], [0, 1, 4, 0, 1, 0, 0, 0, 1, 0, 0, 0]);
    // No next directory.
    assert_eq!(bytes[194 + 14 * 12..][..4], [0; 4]);
}

#[test]
fn a_tile_stands_between_its_size_and_its_last_bytes() {
    let bytes = one_pixel();
    let tile = bytes.len() - 4 - 256 - 4;
    assert_eq!(bytes[tile..tile + 4], [0, 1, 0, 0]);
    assert_eq!(bytes[tile + 4..], [42; 260]);
}

#[test]
fn a_plain_tiff_has_no_structural_metadata() {
    let settings = Settings { format: Format::Gtiff, compression: Compression::None, ..small() };
    let bytes = encoded(&settings, &member(vec![band("b", 1, &[42u8])]));
    assert_eq!(bytes[..8], [b'I', b'I', 42, 0, 8, 0, 0, 0]);
    assert_eq!(bytes[bytes.len() - 256..], [42; 256]);
}

/// 16385 × 16385 blocks of 16 × 16 bytes and their frames pass 4 GiB; half as many rows do not, without overviews.
#[test]
fn offsets_have_64_bits_only_where_the_file_may_pass_4_gib() {
    let settings =
        Settings { overviews: Overviews::Count(0), compression: Compression::None, ..Settings::default() };
    let of = |height| {
        let mut member = member(vec![band("b", 1, &[42u8])]);
        member.grid = Arc::new(Grid { width: 65_536, height, ..(*member.grid).clone() });
        form(&settings, &member).unwrap().is_big
    };
    assert!(of(65_536));
    assert!(!of(60_000));
}

#[test]
fn north_up_grids_have_a_scale_and_others_a_matrix() {
    let fields = |geotransform| {
        let grid = Grid { crs: None, geotransform, width: 1, height: 1 };
        geo::GeoFields::of(&grid).unwrap().fields().collect::<Vec<_>>()
    };
    let double = |values: &[f64]| directory::Value::Double(values.to_vec());
    let north_up = fields([100.0, 10.0, 0.0, 200.0, 0.0, -5.0]);
    assert_eq!(north_up[0], (33550, double(&[10.0, 5.0, 0.0])));
    assert_eq!(north_up[1], (33922, double(&[0.0, 0.0, 0.0, 100.0, 200.0, 0.0])));
    let matrix = [10.0, 1.0, 0.0, 100.0, 2.0, -5.0, 0.0, 200.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0];
    assert_eq!(fields([100.0, 10.0, 1.0, 200.0, 2.0, -5.0]), [(34264, double(&matrix))]);
    assert_eq!(fields([0.0, 1.0, 0.0, 0.0, 0.0, 1.0]), []);
}

#[test]
fn gdal_reads_the_place_and_the_metadata() {
    let mut red = band("B04 red", 2, &[0i16, 1, 2, 3]);
    red.description.scale = 0.0001;
    red.description.offset = -0.1;
    red.description.unit = Some("DN".into());
    red.description.nodata = Some("-32768".into());
    red.description.tags = vec![("wavelength".into(), "665".into())];
    let nir = Band {
        description: BandDescription { name: "B08 nir".into(), ..red.description.clone() },
        ..red.clone()
    };
    let mut member = member(vec![red, nir]);
    let tag = |key: &str, value: &str| (String::new(), key.to_owned(), value.to_owned());
    let tags = vec![
        tag("TIFFTAG_IMAGEDESCRIPTION", "scene é 1"),
        tag("NOTE", "a < b & \"c\" &lt;"),
        tag("AREA_OR_POINT", "Point"),
    ];
    member.tags = Arc::new(tags);
    let settings = Settings { tags: vec![("STATION".into(), "5".into())], ..small() };
    let file = open(&encoded(&settings, &member));

    assert_eq!(file.metadata_item("TIFFTAG_IMAGEDESCRIPTION", "").unwrap(), "scene é 1");
    assert_eq!(file.metadata_item("NOTE", "").unwrap(), "a < b & \"c\" &lt;");
    assert_eq!(file.metadata_item("STATION", "").unwrap(), "5");
    assert_eq!(file.metadata_item("AREA_OR_POINT", "").unwrap(), "Area");
    assert_eq!(file.geo_transform().unwrap(), member.grid.geotransform);
    assert_eq!(file.spatial_ref().unwrap().auth_code().unwrap(), 32633);
    let nir = file.rasterband(2).unwrap();
    assert_eq!(nir.description().unwrap(), "B08 nir");
    assert_eq!((nir.scale(), nir.offset(), nir.unit()), (Some(0.0001), Some(-0.1), "DN".into()));
    assert_eq!(nir.no_data_value(), Some(-32768.0));
    assert_eq!(nir.metadata_item("wavelength", "").unwrap(), "665");
}

#[test]
fn gdal_reads_the_colours_of_classes() {
    let mut classes = band("classes", 2, &[0u8, 1, 2, 3]);
    classes.description.color_table = Some(vec![[0, 0, 0, 255], [255, 0, 0, 255], [0, 128, 7, 255]]);
    let file = open(&encoded(&small(), &member(vec![classes])));
    let band = file.rasterband(1).unwrap();
    let table = band.color_table().unwrap();
    let color = table.entry_as_rgb(2).unwrap();
    assert_eq!((color.r, color.g, color.b), (0, 128, 7));
}
