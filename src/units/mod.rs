//! Quantities with their units: sizes, shares, rates, times; parsed and written as the language writes them.

mod byte_size;
mod form;
mod number;
mod percent;
mod rate_limit;
mod spoken;
mod time_span;

pub use byte_size::ByteSize;
pub use form::WrongForm;
pub use percent::Percent;
pub use rate_limit::RateLimit;
pub use spoken::{spoken_count, spoken_time};
pub use time_span::{TimeSpan, parse_duration};
