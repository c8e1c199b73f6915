//! Which items the engine may cut into windows when memory cannot hold them whole.

use super::{Plan, StagePlan};
use crate::contract::{Kind, Port};

/// What becomes of an item that memory cannot hold whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Oversize {
    /// The engine cuts it into windows, which these stages join: indices into `Plan::stages`, in topological order.
    Cut(Vec<usize>),
    /// It is refused, because this stage needs it whole.
    NeedsWhole(usize),
    /// It is a window of this stage already, which makes smaller ones when told to.
    IsWindow(usize),
}

impl Plan {
    /// What becomes of an item that is too large on its way from a stage on, which is the first behind the gate.
    pub fn oversize(&self, entrance: usize) -> Oversize {
        if let Some(cutter) = self.cutter_above(entrance) {
            return Oversize::IsWindow(cutter);
        }
        let mut joins = Vec::new();
        match self.first_in_need(entrance, &mut joins) {
            Some(stage) => Oversize::NeedsWhole(stage),
            None => {
                joins.sort_unstable();
                joins.dedup();
                Oversize::Cut(joins)
            }
        }
    }

    /// The stages by which items enter from the gate, and work on pixels.
    pub fn entrances(&self) -> impl Iterator<Item = usize> {
        let is_metadata = |index: &usize| self.stages[*index].gives == Port::Asset;
        (0..self.stages.len())
            .filter(move |index| !is_metadata(index) && self.stages[*index].from.iter().any(is_metadata))
    }

    /// Whether a stage, or one below it, gives rasters.
    pub fn makes_rasters(&self, stage: usize) -> bool {
        let StagePlan { gives, to, .. } = &self.stages[stage];
        *gives == Port::Raster || to.iter().any(|below| self.makes_rasters(*below))
    }

    fn cutter_above(&self, stage: usize) -> Option<usize> {
        let is_cutter = |index: usize| matches!(self.stages[index].op.clone().kind(), Kind::Expand(_));
        let from = &self.stages[stage].from;
        from.iter().find_map(|&above| if is_cutter(above) { Some(above) } else { self.cutter_above(above) })
    }

    /// The first stage from one on that cannot work on windows; those that join them are collected.
    fn first_in_need(&self, index: usize, joins: &mut Vec<usize>) -> Option<usize> {
        let stage = &self.stages[index];
        if stage.joining.is_some() {
            joins.push(index);
            return None;
        }
        if !stage.passes_windows() {
            return Some(index);
        }
        stage.to.iter().find_map(|to| self.first_in_need(*to, joins))
    }
}

impl StagePlan {
    /// Whether it hands windows on to others.
    fn passes_windows(&self) -> bool {
        let gives_parts = matches!(self.gives, Port::Blob | Port::Raster) && !self.to.is_empty();
        let is_one_to_one = matches!(self.op.clone().kind(), Kind::Transfer(_) | Kind::Compute(_));
        gives_parts && is_one_to_one && self.op.allows_windows()
    }
}
