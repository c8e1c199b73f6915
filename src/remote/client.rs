//! Requests of one stage for one item.

/// Makes requests under a stage's resources. Cloning shares them.
#[derive(Clone, Debug, Default)]
pub struct StageClient {}
