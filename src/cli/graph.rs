//! `gisrun graph FILE`: the stages of a pipeline and what flows between them, drawn.

mod layout;
mod mermaid;
mod svg;
mod tree;

use crate::cli::planned::Named;
use crate::cli::{Exit, GraphFormat, GraphRequest, output};
use crate::contract::Port;
use crate::plan::Plan;

/// The stages in topological order.
pub(super) struct Drawing {
    title: String,
    nodes: Vec<Node>,
    edges: Vec<Edge>,
}

/// A stage.
struct Node {
    name: String,
    op: String,
    /// `4 at once, bound by cores`
    note: String,
}

/// What flows from one stage to another: indices into the nodes.
struct Edge {
    from: usize,
    to: usize,
    port: Port,
}

/// Draws a pipeline.
pub fn graph(request: &GraphRequest) -> Exit {
    let named = Named { path: &request.pipeline, sets: &request.sets, machine: None };
    let Some(planned) = named.plan_without_secrets() else { return Exit::BadInput };
    let drawing = Drawing::of(&planned.plan);
    output::print(&match request.format {
        GraphFormat::Text => tree::draw(&drawing),
        GraphFormat::Mermaid => mermaid::mermaid(&drawing),
        GraphFormat::Dot => mermaid::dot(&drawing),
        GraphFormat::Svg => svg::draw(&drawing),
    })
}

impl Drawing {
    fn of(plan: &Plan) -> Self {
        let nodes = plan.stages.iter().map(|stage| {
            let bound = stage.bound_by.as_ref().map_or_else(String::new, |name| format!(", bound by {name}"));
            Node {
                name: stage.name.to_string(),
                op: stage.op_name.clone(),
                note: format!("{} at once{bound}", stage.parallelism),
            }
        });
        let edges = plan.stages.iter().enumerate().flat_map(|(to, stage)| {
            stage.from.iter().map(move |&from| Edge { from, to, port: plan.stages[from].gives })
        });
        Self { title: plan.name.clone(), nodes: nodes.collect(), edges: edges.collect() }
    }

    fn below(&self, node: usize) -> Vec<usize> {
        self.edges.iter().filter(|edge| edge.from == node).map(|edge| edge.to).collect()
    }

    fn above(&self, node: usize) -> Vec<usize> {
        self.edges.iter().filter(|edge| edge.to == node).map(|edge| edge.from).collect()
    }
}

#[cfg(test)]
mod tests;
