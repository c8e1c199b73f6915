//! The stages as a tree of lines; one that takes from several stands below the last of them and names the others.

use super::Drawing;

pub(super) fn draw(drawing: &Drawing) -> String {
    let mut lines = Vec::new();
    for root in (0..drawing.nodes.len()).filter(|node| drawing.above(*node).is_empty()) {
        append(drawing, root, "", "", &mut lines);
    }
    let width = lines.iter().map(|(shape, _)| shape.chars().count()).max().unwrap_or(0);
    let line =
        |(shape, words): &(String, String)| format!("{shape:width$}  {words}").trim_end().to_owned() + "\n";
    lines.iter().map(line).collect()
}

/// The line of a node, which begins with `first`, and those of all below it, which begin with `rest`.
fn append(drawing: &Drawing, node: usize, first: &str, rest: &str, lines: &mut Vec<(String, String)>) {
    let own = &drawing.nodes[node];
    let others: Vec<&str> =
        drawing.above(node).iter().rev().skip(1).map(|other| drawing.nodes[*other].name.as_str()).collect();
    let also = if others.is_empty() { String::new() } else { format!("; also from {}", others.join(", ")) };
    lines.push((format!("{first}{}", own.name), format!("{}, {}{also}", own.op, own.note)));
    let children: Vec<usize> =
        drawing.below(node).into_iter().filter(|child| is_home(drawing, node, *child)).collect();
    for (at, child) in children.iter().enumerate() {
        let (branch, trunk) =
            if at + 1 == children.len() { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        append(drawing, *child, &format!("{rest}{branch}"), &format!("{rest}{trunk}"), lines);
    }
}

/// Whether a child stands below this one of its feeders: the last in order.
fn is_home(drawing: &Drawing, node: usize, child: usize) -> bool {
    drawing.above(child).last() == Some(&node)
}
