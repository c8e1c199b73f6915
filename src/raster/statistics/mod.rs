//! Statistics that come out the same to the last bit however the pixels were cut into windows.

mod exact_sum;
mod histogram;
mod moments;
pub mod percentile;
mod sample;

pub use exact_sum::ExactSum;
pub use histogram::Histogram;
pub use moments::Moments;
pub use sample::{CHUNK, Sample, counted};
