//! Stable codes of the faults that only ops can find.

/// A band that the input does not have.
pub(super) const UNKNOWN_BAND: &str = "unknown-band";
/// A formula that does not parse.
pub(super) const BAD_FORMULA: &str = "bad-formula";
/// A condition that does not parse.
pub(super) const BAD_CONDITION: &str = "bad-condition";
/// Options that exclude each other, or that only make sense together.
pub(super) const CONFLICT: &str = "conflicting-options";
/// A CRS that is not known, or a text that names none.
pub(super) const UNKNOWN_CRS: &str = "unknown-crs";
/// A grid that `[grids]` does not define.
pub(super) const UNKNOWN_GRID: &str = "unknown-grid";
/// An output of a program that nothing tells the program of.
pub(super) const UNTOLD_OUTPUT: &str = "untold-output";
/// A file that an option names and that cannot be read.
pub(super) const UNREADABLE_FILE: &str = "unreadable-file";
