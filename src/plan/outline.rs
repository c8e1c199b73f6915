//! The plan in a few words, for the first event of a run.

use super::{Limit, MemoryDemand, Plan, ResourcePlan, StagePlan};
use crate::events::{Outline, OutlineResource, OutlineStage};

impl Plan {
    /// The plan in a few words, so that a record of events explains itself.
    pub fn outline(&self) -> Outline {
        let figure = |granted: &crate::machine::Granted| (granted.value, granted.source.clone());
        Outline {
            stages: self.stages.iter().map(|stage| self.outline_of(stage)).collect(),
            resources: self.resources.iter().map(ResourcePlan::outline).collect(),
            gdal_cache: self.run.gdal_cache.0,
            memory_granted: figure(&self.machine.memory),
            cores_granted: figure(&self.machine.cores),
            descriptors_granted: figure(&self.machine.descriptors),
            unit: self.run.unit.iter().map(|(name, _)| name.clone()).collect(),
        }
    }

    fn outline_of(&self, stage: &StagePlan) -> OutlineStage {
        let rates = stage.rates.iter().map(|rate| (rate.clone(), 1));
        OutlineStage {
            name: stage.name.clone(),
            op: stage.op_name.clone(),
            from: stage.from.iter().map(|&feeder| self.stages[feeder].name.clone()).collect(),
            queue: stage.queue as u64,
            parallelism: stage.parallelism as u64,
            takes: stage.slots.iter().cloned().chain(rates).collect(),
            per_request: stage.is_per_request,
            memory: match stage.memory {
                MemoryDemand::Declared(bytes) => Some(bytes),
                MemoryDemand::Measured => None,
            },
        }
    }
}

impl ResourcePlan {
    fn outline(&self) -> OutlineResource {
        let limit = match self.limit {
            Limit::Rate { per_second, .. } => per_second,
            Limit::Slots(count) | Limit::Bytes(count) | Limit::Adaptive { to: count, .. } => count as f64,
        };
        OutlineResource {
            name: self.name.clone(),
            kind: self.limit.kind().to_owned(),
            limit,
            derivation: self.derivation.clone(),
            declared: self.is_declared,
            working_set: self.working_set,
        }
    }
}
