//! A token bucket (GCRA) on tokio's clock.
use std::sync::Arc;
use std::time::Duration;

use crate::ids::ResourceName;

/// So many tokens a second, first come first served, pausable. Cloning shares it.
#[derive(Clone, Debug)]
pub struct Rate(Arc<ResourceName>);

impl Rate {
    /// `per_second` tokens, `burst` of them at once after a pause.
    pub fn new(name: ResourceName, _per_second: f64, _burst: u64) -> Self {
        Self(Arc::new(name))
    }

    /// Its name.
    pub fn name(&self) -> &ResourceName {
        &self.0
    }

    /// Waits until `amount` tokens would be granted, in the order of asking; takes nothing. Cancel-safe.
    pub async fn ready(&self, _amount: u64) {
        todo!()
    }

    /// Takes `amount` tokens if they are there.
    pub fn try_take(&self, _amount: u64) -> bool {
        todo!()
    }

    /// Waits and takes. Cancel-safe: dropping the future leaves nothing taken.
    pub async fn take(&self, _amount: u64) {
        todo!()
    }

    /// Grants nothing for so long, to anybody: `Retry-After`.
    pub fn pause(&self, _time: Duration) {
        todo!()
    }

    /// How many wait.
    pub fn waiting(&self) -> u64 {
        todo!()
    }

    /// Tokens taken since the run began.
    pub fn taken(&self) -> u64 {
        todo!()
    }

    /// Tokens per second.
    pub fn per_second(&self) -> f64 {
        todo!()
    }
}
