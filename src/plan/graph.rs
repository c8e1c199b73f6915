//! The stages as a graph: who takes from whom, in which order, and where they run in circles.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use petgraph::Direction;
use petgraph::algo::tarjan_scc;
use petgraph::graph::{DiGraph, NodeIndex};

use super::codes;
use super::stages::Draft;
use crate::config::{Fault, Span, suggestion};

/// One entry of a `from` that names a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Feeder {
    /// The stage that gives, by declaration.
    pub(super) stage: usize,
    /// Where it is named.
    pub(super) span: Span,
}

/// Who takes from whom; stages are counted by declaration.
#[derive(Debug)]
pub(super) struct StageGraph {
    /// For each stage the ones it takes from, as written.
    pub(super) feeders: Vec<Vec<Feeder>>,
    /// Topological, ties by declaration; stages in a circle and below one are left out.
    pub(super) order: Vec<usize>,
    graph: DiGraph<(), ()>,
}

impl StageGraph {
    /// The graph of these stages; wrong names and circles are told.
    pub(super) fn build(stages: &[Draft], faults: &mut Vec<Fault>) -> Self {
        let feeders: Vec<_> = stages.iter().map(|stage| feeders(stage, stages, faults)).collect();
        let mut graph = DiGraph::new();
        for _ in stages {
            graph.add_node(());
        }
        for (consumer, feeders) in feeders.iter().enumerate() {
            for feeder in feeders {
                graph.add_edge(NodeIndex::new(feeder.stage), NodeIndex::new(consumer), ());
            }
        }
        let order = topological(&graph);
        let built = Self { feeders, order, graph };
        faults.extend(built.circles(stages));
        built
    }

    /// The stages that take from one, in topological order.
    pub(super) fn consumers(&self, stage: usize) -> Vec<usize> {
        let takes = |other: &&usize| self.feeders[**other].iter().any(|feeder| feeder.stage == stage);
        self.order.iter().filter(takes).copied().collect()
    }

    /// Whether nothing takes from a stage.
    pub(super) fn is_last(&self, stage: usize) -> bool {
        self.graph.neighbors(NodeIndex::new(stage)).next().is_none()
    }

    /// The stages below one, in topological order.
    pub(super) fn below(&self, stage: usize) -> Vec<usize> {
        let mut reached = vec![stage];
        for &other in &self.order {
            if self.feeders[other].iter().any(|feeder| reached.contains(&feeder.stage)) {
                reached.push(other);
            }
        }
        reached.split_off(1)
    }

    fn circles(&self, stages: &[Draft]) -> Vec<Fault> {
        tarjan_scc(&self.graph)
            .into_iter()
            .filter(|stages| stages.len() > 1 || self.graph.contains_edge(stages[0], stages[0]))
            .map(|knot| self.circle(&knot, stages))
            .collect()
    }

    /// One circle through a knot of stages that all reach each other, beginning with the first declared.
    fn circle(&self, knot: &[NodeIndex], stages: &[Draft]) -> Fault {
        let first = *knot.iter().min().expect("a knot holds a stage");
        let chain = self.way_back(first, knot);
        let names: Vec<&str> = chain.iter().map(|stage| stages[stage.index()].name()).collect();
        let message = format!("stages take from each other: `{}`", names.join(" → "));
        let closing = chain[chain.len() - 2].index();
        let feeder = self.feeders[first.index()].iter().find(|feeder| feeder.stage == closing);
        let span =
            feeder.map_or_else(|| stages[first.index()].written.name.span.clone(), |it| it.span.clone());
        chain[1..chain.len() - 1]
            .iter()
            .map(|stage| &stages[stage.index()].written.name)
            .fold(Fault::error(codes::CYCLE, span, message), |fault, name| {
                fault.related(name.span.clone(), "on the way round")
            })
            .labelled("closes the circle")
            .help("items flow one way: take this one from a stage that does not depend on it")
    }

    /// The shortest way from a stage back to itself within its knot, both ends included.
    fn way_back(&self, first: NodeIndex, knot: &[NodeIndex]) -> Vec<NodeIndex> {
        let mut ways = vec![vec![first]];
        for step in 0.. {
            let Some(way) = ways.get(step).cloned() else { break };
            let mut next: Vec<_> = self.graph.neighbors(way[way.len() - 1]).collect();
            next.sort();
            for stage in next {
                let longer: Vec<_> = way.iter().copied().chain([stage]).collect();
                if stage == first {
                    return longer;
                }
                if knot.contains(&stage) && !ways.iter().any(|way| way.ends_with(&[stage])) {
                    ways.push(longer);
                }
            }
        }
        vec![first, first]
    }
}

/// Kahn's algorithm, of the stages that are ready always the first declared.
fn topological(graph: &DiGraph<(), ()>) -> Vec<usize> {
    let mut missing: Vec<usize> = graph
        .node_indices()
        .map(|stage| graph.neighbors_directed(stage, Direction::Incoming).count())
        .collect();
    let mut ready: BinaryHeap<_> =
        (0..missing.len()).filter(|&stage| missing[stage] == 0).map(Reverse).collect();
    let mut order = Vec::new();
    while let Some(Reverse(stage)) = ready.pop() {
        order.push(stage);
        for consumer in graph.neighbors(NodeIndex::new(stage)) {
            missing[consumer.index()] -= 1;
            if missing[consumer.index()] == 0 {
                ready.push(Reverse(consumer.index()));
            }
        }
    }
    order
}

fn feeders(stage: &Draft, stages: &[Draft], faults: &mut Vec<Fault>) -> Vec<Feeder> {
    faults.extend(wrong_beginning(stage, stages));
    let mut feeders: Vec<Feeder> = Vec::new();
    for name in &stage.written.from {
        match stages.iter().position(|other| other.name() == name.as_str()) {
            None => faults.push(unknown_stage(name.as_str(), &name.span, stage, stages)),
            Some(found) if feeders.iter().any(|feeder| feeder.stage == found) => {
                let message = format!("`{}` takes from `{}` twice", stage.name(), name.as_str());
                faults.push(
                    Fault::error(codes::DUPLICATE_FROM, name.span.clone(), message).help("name it once"),
                );
            }
            Some(found) => feeders.push(Feeder { stage: found, span: name.span.clone() }),
        }
    }
    feeders
}

fn unknown_stage(name: &str, span: &Span, stage: &Draft, stages: &[Draft]) -> Fault {
    let others = stages.iter().map(Draft::name).filter(|other| *other != stage.name());
    Fault::error(codes::UNKNOWN_STAGE, span.clone(), format!("no stage is called `{name}`"))
        .help(suggestion(name, others))
}

/// A source with `from`, or another stage without.
fn wrong_beginning(stage: &Draft, stages: &[Draft]) -> Option<Fault> {
    let (written, entry) = (stage.written, stage.entry?);
    match (stage.is_source(), written.from.first()) {
        (true, Some(from)) => {
            let message = format!("`{}` is a source and takes no items", entry.name);
            let fault = Fault::error(codes::SOURCE_WITH_FROM, from.span.clone(), message);
            Some(fault.related(written.op.span.clone(), "a source").help("remove `from`"))
        }
        (false, None) => {
            let message = format!("`{}` says not where its items come from", stage.name());
            let fault = Fault::error(codes::MISSING_FROM, written.name.span.clone(), message);
            Some(fault.help(from_before(stage, stages)))
        }
        _ => None,
    }
}

/// The edit: the stage declared just before, which is what most pipelines mean.
fn from_before(stage: &Draft, stages: &[Draft]) -> String {
    let own = stages.iter().position(|other| other.name() == stage.name());
    match own.and_then(|own| own.checked_sub(1)) {
        Some(before) => format!("add `from = \"{}\"`", stages[before].name()),
        None => "add `from = …` with the name of a stage".to_owned(),
    }
}
