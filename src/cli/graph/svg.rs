//! The stages as a picture: boxes in layers, lines from above, each with the port of what flows.

use std::fmt::Write as _;

use super::layout::{Layout, Place};
use super::{Drawing, Node};

/// All in pixels. Letters are as wide as those of a monospaced font of 13 pixels.
const LETTER: f64 = 7.9;
const BOX_HEIGHT: f64 = 48.0;
const GAP_ACROSS: f64 = 36.0;
const GAP_DOWN: f64 = 44.0;
const MARGIN: f64 = 20.0;

/// Readable on light and dark pages.
const STYLE: &str = "text{font:13px ui-monospace,Menlo,Consolas,monospace;fill:#1b1f24}\
.b{fill:#f3f6fa;stroke:#57606a;stroke-width:1.2}.n{font-weight:600}.s{fill:#57606a}\
.e{fill:none;stroke:#57606a;stroke-width:1.2}.p{fill:#0a5fb4}.g{fill:#fff}";

pub(super) fn draw(drawing: &Drawing) -> String {
    let canvas = Canvas::of(drawing, Layout::of(drawing));
    let (width, height) = (canvas.width(), canvas.height());
    let mut picture = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
         height=\"{height:.0}\" role=\"img\">\n<title>{}</title>\n<style>{STYLE}</style>\n\
         <defs><marker id=\"a\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" \
         orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"#57606a\"/></marker></defs>\n\
         <rect class=\"g\" width=\"{width:.0}\" height=\"{height:.0}\"/>\n",
        escaped(&drawing.title)
    );
    for (way, edge) in canvas.layout.edges.iter().zip(&drawing.edges) {
        canvas.line(&mut picture, way, &edge.port.to_string());
    }
    for (place, node) in canvas.layout.nodes.iter().zip(&drawing.nodes) {
        canvas.block(&mut picture, *place, node);
    }
    picture + "</svg>\n"
}

/// The layout with the size of a box.
struct Canvas {
    layout: Layout,
    box_width: f64,
}

impl Canvas {
    fn of(drawing: &Drawing, layout: Layout) -> Self {
        let letters = |node: &Node| node.name.chars().count().max(subtitle(node).chars().count());
        let longest = drawing.nodes.iter().map(letters).max().unwrap_or(0);
        Self { layout, box_width: longest as f64 * LETTER + 24.0 }
    }

    fn width(&self) -> f64 {
        let widest = self.layout.widths.iter().copied().max().unwrap_or(0) as f64;
        widest * (self.box_width + GAP_ACROSS) - GAP_ACROSS + 2.0 * MARGIN
    }

    fn height(&self) -> f64 {
        self.layout.widths.len() as f64 * (BOX_HEIGHT + GAP_DOWN) - GAP_DOWN + 2.0 * MARGIN
    }

    /// The middle of the upper side of what stands at a place; each layer is centred.
    fn top(&self, place: Place) -> (f64, f64) {
        let across = self.box_width + GAP_ACROSS;
        let own_width = self.layout.widths[place.layer] as f64 * across - GAP_ACROSS;
        let left = (self.width() - own_width) / 2.0;
        let x = left + place.position as f64 * across + self.box_width / 2.0;
        (x, MARGIN + place.layer as f64 * (BOX_HEIGHT + GAP_DOWN))
    }

    fn block(&self, picture: &mut String, place: Place, node: &Node) {
        let (x, y) = self.top(place);
        let (left, width) = (x - self.box_width / 2.0, self.box_width);
        _ = writeln!(
            picture,
            "<rect class=\"b\" x=\"{left:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{BOX_HEIGHT}\" rx=\"6\"/>\
             <text class=\"n\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\
             <text class=\"s\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            y + 20.0,
            escaped(&node.name),
            y + 38.0,
            escaped(&subtitle(node)),
        );
    }

    /// A line through all places of an edge, with the port beside its beginning.
    fn line(&self, picture: &mut String, way: &[Place], port: &str) {
        let mut path = String::new();
        for pair in way.windows(2) {
            let ((x, top), (to_x, to_y)) = (self.top(pair[0]), self.top(pair[1]));
            let y = top + BOX_HEIGHT;
            let begins = if path.is_empty() { 'M' } else { 'L' };
            let bend = f64::midpoint(y, to_y);
            _ = write!(
                path,
                "{begins}{x:.1} {y:.1}C{x:.1} {bend:.1} {to_x:.1} {bend:.1} {to_x:.1} {to_y:.1}"
            );
        }
        let (x, y) = self.top(way[0]);
        let (to_x, _) = self.top(way[1]);
        _ = writeln!(
            picture,
            "<path class=\"e\" d=\"{path}\" marker-end=\"url(#a)\"/><text class=\"p\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            x + (to_x - x) * 0.3 + 6.0,
            y + BOX_HEIGHT + 18.0,
            escaped(port),
        );
    }
}

fn subtitle(node: &Node) -> String {
    format!("{}: {}", node.op, node.note)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
