//! The stages in the languages of Mermaid and Graphviz.

use std::fmt::Write as _;

use super::Drawing;

/// <https://mermaid.js.org/syntax/flowchart.html>
pub(super) fn mermaid(drawing: &Drawing) -> String {
    let mut text = "flowchart TD\n".to_owned();
    for (at, node) in drawing.nodes.iter().enumerate() {
        _ = writeln!(text, "  s{at}[\"<b>{}</b><br>{}: {}\"]", node.name, node.op, node.note);
    }
    for edge in &drawing.edges {
        _ = writeln!(text, "  s{} -- {} --> s{}", edge.from, edge.port, edge.to);
    }
    text
}

/// <https://graphviz.org/doc/info/lang.html>
pub(super) fn dot(drawing: &Drawing) -> String {
    let mut text = format!("digraph \"{}\" {{\n  node [shape=box, style=rounded];\n", quoted(&drawing.title));
    for node in &drawing.nodes {
        _ = writeln!(text, "  \"{0}\" [label=\"{0}\\n{1}: {2}\"];", node.name, node.op, node.note);
    }
    for edge in &drawing.edges {
        let (from, to) = (&drawing.nodes[edge.from].name, &drawing.nodes[edge.to].name);
        _ = writeln!(text, "  \"{from}\" -> \"{to}\" [label=\"{}\"];", edge.port);
    }
    text + "}\n"
}

/// A text between quotes; names of stages are plain and need nothing.
fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}
