//! Every stable code of a diagnostic of `[access]`, with what it means; `docs/diagnostics.md` lists the same.

use crate::config::codes::declare_codes;

declare_codes! {
    ACCESS_PREFIX = "access-prefix": "A key of `[access]` that is not the beginning of an address.";
    ACCESS_HEADER = "access-header": "A header that requests cannot carry.";
    ACCESS_SIGN = "access-sign": "A way of signing that cannot work.";
    ACCESS_PROFILE = "access-profile": "A profile of the AWS command line where it cannot be used.";
    ACCESS_AUTH = "access-auth": "A program that is to give headers and names no program.";
}
