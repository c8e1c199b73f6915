//! The HTTP client of a pipeline: its access rules, and what the environment says of object stores.

use crate::config::AsWritten;
use crate::remote::{AccessRules, Client, ClientOptions, parse_raster_header};

/// How the names of variables begin that say how object stores are reached.
const STORE_SETTINGS: [&str; 3] = ["AWS_", "GOOGLE_", "AZURE_"];

/// The client with which a pipeline's requests are made.
///
/// # Errors
/// Access rules that do not hold, which `check` tells in detail.
pub(super) fn of(written: &AsWritten) -> Result<Client, String> {
    let access =
        AccessRules::compile(&written.access).map_err(|_| "the access rules do not hold".to_owned())?;
    Ok(Client::new(ClientOptions::default(), access, Some(parse_raster_header()))
        .with_environment(store_settings()))
}

/// What the environment says of object stores: credentials, regions, endpoints, and where the home with the profiles is.
#[allow(clippy::disallowed_methods, reason = "the command line is where the environment is read")]
fn store_settings() -> Vec<(String, String)> {
    let is_of_store =
        |name: &str| name == "HOME" || STORE_SETTINGS.iter().any(|prefix| name.starts_with(prefix));
    let texts =
        std::env::vars_os().filter_map(|(name, value)| name.into_string().ok().zip(value.into_string().ok()));
    texts.filter(|(name, _)| is_of_store(name)).collect()
}
