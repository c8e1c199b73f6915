//! Statistics that come out the same to the last bit however the pixels were cut into windows.

mod exact_sum;

pub use exact_sum::ExactSum;
