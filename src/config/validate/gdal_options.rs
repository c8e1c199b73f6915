//! Options of GDAL's own where a key of ours is expected: they would reach neither `fetch` nor the threads of a run, so each
//! is refused with what to write instead.

use crate::config::codes::GDAL_OPTION;
use crate::config::{Fault, Span};

/// How the names of GDAL's options of remote access, threads and memory begin
/// (<https://gdal.org/user/configoptions.html>).
const PREFIXES: [&str; 10] =
    ["AWS_", "AZURE_", "GS_", "GOOGLE_", "OSS_", "GDAL_", "CPL_VSIL_", "CPL_CURL_", "VSI_", "VSIL_"];

/// Options, by name or by how their names begin, and what to write instead; the first that fits counts.
const INSTEAD: &[(&str, &str)] = &[
    ("AWS_REGION", S3_REGION),
    ("AWS_DEFAULT_REGION", S3_REGION),
    ("AWS_S3_ENDPOINT", "write `endpoint = \"http://…\"` below `[access.\"s3://BUCKET\"]`"),
    ("AWS_ENDPOINT_URL", "write `endpoint = \"http://…\"` below `[access.\"s3://BUCKET\"]`"),
    ("AWS_NO_SIGN_REQUEST", "write `anonymous = true` below `[access.\"s3://BUCKET\"]`"),
    ("AWS_REQUEST_PAYER", "write `requester-pays = true` below `[access.\"s3://BUCKET\"]`"),
    ("AWS_PROFILE", S3_PROFILE),
    ("AWS_DEFAULT_PROFILE", S3_PROFILE),
    ("AWS_CONFIG_FILE", "set it in the environment, and write `profile` below `[access.\"s3://BUCKET\"]`"),
    (
        "AWS_",
        "keys are taken from the environment, or write `profile = \"NAME\"` below `[access.\"s3://BUCKET\"]`",
    ),
    ("AZURE_NO_SIGN_REQUEST", "write `anonymous = true` below `[access.\"az://CONTAINER\"]`"),
    ("AZURE_", "set it in the environment, where the stores look for credentials"),
    ("GS_NO_SIGN_REQUEST", "write `anonymous = true` below `[access.\"gs://BUCKET\"]`"),
    ("GS_", "set `GOOGLE_SERVICE_ACCOUNT` in the environment, where the stores look for credentials"),
    ("GOOGLE_", "set it in the environment, where the stores look for credentials"),
    ("GDAL_HTTP_MAX_RETRY", STAGE_RETRY),
    ("GDAL_HTTP_RETRY_", STAGE_RETRY),
    ("GDAL_HTTP_TIMEOUT", STAGE_TIMEOUT),
    ("GDAL_HTTP_CONNECTTIMEOUT", STAGE_TIMEOUT),
    ("GDAL_HTTP_LOW_SPEED_", STAGE_TIMEOUT),
    ("GDAL_HTTP_HEADERS", HEADERS),
    ("GDAL_HTTP_HEADER_FILE", HEADERS),
    ("GDAL_HTTP_COOKIE", HEADERS),
    ("GDAL_HTTP_AUTH", HEADERS),
    ("GDAL_HTTP_BEARER", HEADERS),
    ("GDAL_HTTP_USERPWD", HEADERS),
    ("GDAL_HTTP_MAX_TOTAL_CONNECTIONS", "write `connections.slots` below `[resources]`"),
    ("GDAL_CACHEMAX", "write `gdal = { cache = \"5%\" }` below `[run]`"),
    ("GDAL_NUM_THREADS", "write `cores.slots` below `[resources]`"),
    ("GDAL_", "leave it out: files are read by `fetch`, never by GDAL's own HTTP"),
];

const S3_REGION: &str = "write `region = \"…\"` below `[access.\"s3://BUCKET\"]`";
const S3_PROFILE: &str = "write `profile = \"NAME\"` below `[access.\"s3://BUCKET\"]`";
const STAGE_RETRY: &str = "write `retry = { tries = 5, first-delay = \"500ms\" }` in the stage";
const STAGE_TIMEOUT: &str = "write `timeout = \"60s\"` in the stage";
const HEADERS: &str = "write `headers = { authorization = \"${NAME}\" }` below `[access.\"https://HOST\"]`";

/// The fault of an unknown key that is an option of GDAL's.
pub(super) fn fault(key: &str, span: &Span) -> Option<Fault> {
    let name = key.to_ascii_uppercase().replace('-', "_");
    PREFIXES.iter().any(|prefix| name.starts_with(prefix)).then(|| {
        let message = format!("`{key}` is an option of GDAL's own and takes no effect here");
        Fault::error(GDAL_OPTION, span.clone(), message).help(instead_of(&name))
    })
}

fn instead_of(name: &str) -> &'static str {
    let fitting = INSTEAD.iter().find(|(option, _)| name.starts_with(option));
    fitting
        .map_or("leave it out: files are read by `fetch`, never by GDAL's own HTTP", |(_, instead)| instead)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_has_an_edit_of_its_own_and_no_line_hides_a_later_one() {
        for (at, (option, _)) in INSTEAD.iter().enumerate() {
            assert!(PREFIXES.iter().any(|prefix| option.starts_with(prefix)), "{option}");
            let hidden = INSTEAD[..at].iter().find(|(earlier, _)| option.starts_with(earlier));
            assert_eq!(hidden, None, "{option}");
        }
        assert_eq!(instead_of("CPL_VSIL_CURL_CHUNK_SIZE"), instead_of("GDAL_INGESTED_BYTES_AT_OPEN"));
    }

    #[test]
    fn keys_of_ours_are_none_of_gdals() {
        for key in ["cache", "gdal", "aws", "retries", "vsi"] {
            assert_eq!(fault(key, &(0..1)), None, "{key}");
        }
        let found = fault("gdal-http-max-retry", &(0..1)).expect("an option of GDAL's");
        assert_eq!(found.code, GDAL_OPTION);
    }
}
