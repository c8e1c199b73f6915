//! A pipeline with a fork, a join and an edge over several layers, drawn in every way.

use super::layout::Layout;
use super::{Drawing, mermaid, svg, tree};
use crate::plan::tests::planned;

const PIPELINE: &str = r#"name = "two <ways>"
[stages]
scenes = { list = {} }
fetched = { from = "scenes", fetch = {} }
bands = { from = "fetched", read = {} }
rows = { from = "bands", stats = {} }
more = { from = "fetched", read = {} }
warped = { from = "more", warp = {} }
sums = { from = "warped", stats = {} }
table = { from = ["rows", "sums"], table = { path = "out.csv" } }
"#;

fn drawing() -> Drawing {
    Drawing::of(&planned(PIPELINE))
}

#[test]
fn a_terminal_gets_a_tree() {
    insta::assert_snapshot!(tree::draw(&drawing()), @r"
    scenes                list, 1 at once
    └─ fetched            fetch, 16 at once, bound by connections
       ├─ bands           read, 8 at once, bound by cores
       │  └─ rows         stats, 8 at once, bound by cores
       └─ more            read, 8 at once, bound by cores
          └─ warped       warp, 8 at once, bound by cores
             └─ sums      stats, 8 at once, bound by cores
                └─ table  table, 1 at once; also from rows
    ");
}

#[test]
fn markdown_gets_a_flowchart() {
    insta::assert_snapshot!(mermaid::mermaid(&drawing()), @r#"
    flowchart TD
      s0["<b>scenes</b><br>list: 1 at once"]
      s1["<b>fetched</b><br>fetch: 16 at once, bound by connections"]
      s2["<b>bands</b><br>read: 8 at once, bound by cores"]
      s3["<b>rows</b><br>stats: 8 at once, bound by cores"]
      s4["<b>more</b><br>read: 8 at once, bound by cores"]
      s5["<b>warped</b><br>warp: 8 at once, bound by cores"]
      s6["<b>sums</b><br>stats: 8 at once, bound by cores"]
      s7["<b>table</b><br>table: 1 at once"]
      s0 -- asset --> s1
      s1 -- blob --> s2
      s2 -- raster --> s3
      s1 -- blob --> s4
      s4 -- raster --> s5
      s5 -- raster --> s6
      s3 -- rows --> s7
      s6 -- rows --> s7
    "#);
}

#[test]
fn graphviz_gets_its_language() {
    insta::assert_snapshot!(mermaid::dot(&drawing()), @r#"
    digraph "two <ways>" {
      node [shape=box, style=rounded];
      "scenes" [label="scenes\nlist: 1 at once"];
      "fetched" [label="fetched\nfetch: 16 at once, bound by connections"];
      "bands" [label="bands\nread: 8 at once, bound by cores"];
      "rows" [label="rows\nstats: 8 at once, bound by cores"];
      "more" [label="more\nread: 8 at once, bound by cores"];
      "warped" [label="warped\nwarp: 8 at once, bound by cores"];
      "sums" [label="sums\nstats: 8 at once, bound by cores"];
      "table" [label="table\ntable: 1 at once"];
      "scenes" -> "fetched" [label="asset"];
      "fetched" -> "bands" [label="blob"];
      "bands" -> "rows" [label="raster"];
      "fetched" -> "more" [label="blob"];
      "more" -> "warped" [label="raster"];
      "warped" -> "sums" [label="raster"];
      "rows" -> "table" [label="rows"];
      "sums" -> "table" [label="rows"];
    }
    "#);
}

/// Layers: scenes | fetched | bands, more | rows, warped | the way from rows to table, sums | table.
#[test]
fn every_stage_stands_below_all_that_feed_it_and_no_lines_cross() {
    let drawing = drawing();
    let layout = Layout::of(&drawing);
    assert_eq!(layout.widths, [1, 1, 2, 2, 2, 1]);
    for (edge, way) in drawing.edges.iter().zip(&layout.edges) {
        assert_eq!((way[0], way[way.len() - 1]), (layout.nodes[edge.from], layout.nodes[edge.to]));
        assert!(way.windows(2).all(|pair| pair[0].layer + 1 == pair[1].layer), "{way:?}");
    }
    for one in &layout.edges {
        for other in &layout.edges {
            let crosses = |a: &[super::layout::Place], b: &[super::layout::Place]| {
                a[0].layer == b[0].layer && a[0].position < b[0].position && a[1].position > b[1].position
            };
            assert!(!one.windows(2).any(|a| other.windows(2).any(|b| crosses(a, b))), "{one:?} {other:?}");
        }
    }
}

#[test]
fn the_picture_has_a_box_a_stage_and_a_line_an_edge_and_is_escaped() {
    let picture = svg::draw(&drawing());
    assert_eq!(picture.matches("class=\"b\"").count(), 8);
    assert_eq!(picture.matches("class=\"e\"").count(), 8);
    assert!(picture.contains("<title>two &lt;ways&gt;</title>"));
    assert!(picture.starts_with("<svg xmlns=") && picture.ends_with("</svg>\n"));
}
