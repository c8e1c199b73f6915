//! Plans of small pipelines.
