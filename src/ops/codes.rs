//! Every stable code of a diagnostic that only ops find, with what it means; `docs/diagnostics.md` lists the same.

use crate::config::codes::declare_codes;

declare_codes! {
    UNKNOWN_BAND = "unknown-band": "A band that the input does not have.";
    BAD_FORMULA = "bad-formula": "A formula that does not parse.";
    BAD_CONDITION = "bad-condition": "A condition that does not parse.";
    BAD_SEARCH = "bad-search": "A part of a search that the catalogue would not understand.";
    CONFLICT = "conflicting-options": "Options that exclude each other, or that only make sense together.";
    UNKNOWN_CRS = "unknown-crs": "A CRS that is not known, or a text that names none.";
    UNKNOWN_GRID = "unknown-grid": "A grid that `[grids]` does not define.";
    UNTOLD_OUTPUT = "untold-output": "An output of a program that nothing tells the program of.";
    UNREADABLE_FILE = "unreadable-file": "A file that an option names and that cannot be read.";
    BAD_LOCATION = "bad-location": "A text that is neither a path nor an address that can be fetched.";
    BAD_PATTERN = "bad-pattern": "A pattern of files that does not parse.";
    BAD_LIST_FILE = "bad-list-file": "A list of items that cannot be read.";
    DUPLICATE_ID = "duplicate-id": "Two items of a list have the same id.";
}
