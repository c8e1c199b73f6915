//! The op as the engine uses it.
