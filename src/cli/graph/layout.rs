//! Where stages stand in a picture: in layers from the sources down, the order in each by the places of the feeders, as
//! Sugiyama, Tagawa and Toda (1981) do.
//!
//! An edge over several layers has a place of its own in each, so that it runs beside the boxes and not through them.

use std::collections::BTreeMap;

use super::Drawing;

/// Sweeps over the layers; the order of small graphs is stable long before.
const SWEEPS: usize = 8;

/// A place: the layer, and the position in it counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) layer: usize,
    pub(super) position: usize,
}

/// Where everything stands.
#[derive(Debug)]
pub(super) struct Layout {
    /// The place of each node.
    pub(super) nodes: Vec<Place>,
    /// The places that each edge passes, both ends included, from above.
    pub(super) edges: Vec<Vec<Place>>,
    /// How many things stand in each layer.
    pub(super) widths: Vec<usize>,
}

/// A node, or a part of a long edge: (edge, layer).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Thing {
    Node(usize),
    Bend(usize, usize),
}

impl Layout {
    pub(super) fn of(drawing: &Drawing) -> Self {
        let depths = depths(drawing);
        let ways: Vec<Vec<Thing>> =
            (0..drawing.edges.len()).map(|edge| way(drawing, edge, &depths)).collect();
        let layers = ordered(layers(&depths, &ways), &ways);
        let mut places = BTreeMap::new();
        for (layer, things) in layers.iter().enumerate() {
            places.extend(
                things.iter().enumerate().map(|(position, thing)| (*thing, Place { layer, position })),
            );
        }
        Self {
            nodes: (0..drawing.nodes.len()).map(|node| places[&Thing::Node(node)]).collect(),
            edges: ways.iter().map(|way| way.iter().map(|thing| places[thing]).collect()).collect(),
            widths: layers.iter().map(Vec::len).collect(),
        }
    }
}

/// The longest way from a source to each node; nodes stand in topological order.
fn depths(drawing: &Drawing) -> Vec<usize> {
    let mut depths = vec![0; drawing.nodes.len()];
    for node in 0..drawing.nodes.len() {
        depths[node] = drawing.above(node).iter().map(|feeder| depths[*feeder] + 1).max().unwrap_or(0);
    }
    depths
}

fn way(drawing: &Drawing, edge: usize, depths: &[usize]) -> Vec<Thing> {
    let (from, to) = (drawing.edges[edge].from, drawing.edges[edge].to);
    let bends = (depths[from] + 1..depths[to]).map(|layer| Thing::Bend(edge, layer));
    std::iter::once(Thing::Node(from)).chain(bends).chain([Thing::Node(to)]).collect()
}

fn layers(depths: &[usize], ways: &[Vec<Thing>]) -> Vec<Vec<Thing>> {
    let mut layers = vec![Vec::new(); depths.iter().max().map_or(0, |deepest| deepest + 1)];
    for (node, depth) in depths.iter().enumerate() {
        layers[*depth].push(Thing::Node(node));
    }
    for thing in ways.iter().flatten() {
        if let Thing::Bend(_, layer) = thing {
            layers[*layer].push(*thing);
        }
    }
    layers
}

/// Each layer in the order of the mean place of what leads to it, then of what it leads to, in turn.
fn ordered(mut layers: Vec<Vec<Thing>>, ways: &[Vec<Thing>]) -> Vec<Vec<Thing>> {
    let down: Vec<Step> = ways.iter().flat_map(|way| way.windows(2).map(|pair| (pair[0], pair[1]))).collect();
    let up: Vec<Step> = down.iter().map(|(from, to)| (*to, *from)).collect();
    for sweep in 0..SWEEPS {
        for depth in 1..layers.len() {
            let (before, layer, steps) = match sweep % 2 {
                0 => (depth - 1, depth, &down),
                _ => (layers.len() - depth, layers.len() - 1 - depth, &up),
            };
            layers[layer] = by_neighbours(&layers[layer], &layers[before], steps);
        }
    }
    layers
}

/// From a thing of one layer to one of the next.
type Step = (Thing, Thing);

/// A layer in the order of the mean places of what leads to each thing of it; what nothing leads to keeps its own.
fn by_neighbours(layer: &[Thing], before: &[Thing], steps: &[Step]) -> Vec<Thing> {
    let place = |thing: &Thing| before.iter().position(|other| other == thing);
    let mean = |own: usize, thing: &Thing| {
        let leading = steps.iter().filter(|(_, to)| to == thing);
        let places: Vec<usize> = leading.filter_map(|(from, _)| place(from)).collect();
        if places.is_empty() { own as f64 } else { places.iter().sum::<usize>() as f64 / places.len() as f64 }
    };
    let mut ranked: Vec<(f64, Thing)> =
        layer.iter().enumerate().map(|(own, thing)| (mean(own, thing), *thing)).collect();
    ranked.sort_by(|one, other| one.0.total_cmp(&other.0));
    ranked.into_iter().map(|(_, thing)| thing).collect()
}
