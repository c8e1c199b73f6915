//! Statistics that come out the same to the last bit however the pixels were cut into windows.

mod exact_sum;
mod histogram;
mod moments;
mod partial;
pub mod percentile;
mod region;
mod sample;

pub use exact_sum::ExactSum;
pub use histogram::Histogram;
pub use moments::Moments;
pub use partial::Partial;
pub use region::Region;
pub use sample::{CHUNK, Sample, keep_counted};
