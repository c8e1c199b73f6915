//! Profiles of the AWS command line: the two INI files that hold keys, a region and an endpoint by name.
//!
//! The form is that of the AWS SDKs' reference (<https://docs.aws.amazon.com/sdkref/latest/guide/file-format.html>): sections
//! `[name]` in the credentials file, `[profile name]` or `[default]` in the config file, whose keys give way to the
//! former's. Indented lines belong to a service and say nothing here. What would need the AWS command line itself, such as
//! a single sign-on, is refused with the command that exports its keys.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use object_store::aws::AmazonS3ConfigKey;
use thiserror::Error;

/// The profile that is taken where none is named.
const DEFAULT: &str = "default";

/// Keys by which a profile gets its credentials from elsewhere.
const ELSEWHERE: [&str; 6] = [
    "sso_session",
    "sso_start_url",
    "role_arn",
    "credential_process",
    "web_identity_token_file",
    "login_session",
];

/// Variables that hold credentials, or tell where a platform holds them; they go before a profile that nobody named.
const PROVIDED: [&str; 4] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
];

/// What a profile says; a key that it does not state is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Profile {
    /// Key, secret and, for temporary ones, the session's token.
    pub(super) keys: Option<Keys>,
    /// The region of its buckets.
    pub(super) region: Option<String>,
    /// The address of its store.
    pub(super) endpoint: Option<String>,
}

/// Credentials; secrets, so they are not shown.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Keys {
    pub(super) id: String,
    pub(super) secret: String,
    pub(super) token: Option<String>,
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Keys")
    }
}

/// Why a profile cannot be used.
#[derive(Debug, Error, PartialEq, Eq)]
pub(super) enum ProfileError {
    /// It was named, and no file has it.
    #[error("profile `{name}` is in neither `{}` nor `{}`; found: {found}", files.0.display(), files.1.display())]
    Unknown {
        /// Its name.
        name: String,
        /// Where it was looked for.
        files: (PathBuf, PathBuf),
        /// The names that are there.
        found: String,
    },
    /// Its credentials come from a program or a service of the AWS command line.
    #[error(
        "profile `{name}` takes its credentials from `{key}`, and only static keys are read from profiles; put them into \
         the environment with `eval \"$(aws configure export-credentials --profile {name} --format env)\"`"
    )]
    Elsewhere {
        /// Its name.
        name: String,
        /// The key that says so.
        key: &'static str,
    },
    /// One of the two halves of a key is missing.
    #[error("profile `{name}` has `{found}` and no `{missing}`")]
    Half {
        /// Its name.
        name: String,
        /// The half that is there.
        found: &'static str,
        /// The one that is not.
        missing: &'static str,
    },
    /// A file that is there and cannot be read, or a line that is neither a section nor a key.
    #[error("`{}`: {reason}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

/// Sections of a file: name, and what it says by key.
type Sections = BTreeMap<String, BTreeMap<String, String>>;

impl Profile {
    /// The profile that is in force: the one named `chosen` by the pipeline, else by `AWS_PROFILE`, else `default` where a
    /// file has it. One that the pipeline does not name gives way to credentials of the environment. Reads files.
    ///
    /// # Errors
    /// A named profile that is not there, or one whose credentials are not in the files.
    pub(super) fn in_force(
        chosen: Option<&str>,
        environment: &[(String, String)],
    ) -> Result<Self, ProfileError> {
        let variable = |name| value_of(environment, name);
        let files = files(environment);
        let named = chosen.or_else(|| variable("AWS_PROFILE"));
        let is_provided = chosen.is_none() && PROVIDED.iter().any(|name| variable(name).is_some());
        let credentials = sections(&files.0, |section| Some(section))?;
        let config = sections(&files.1, of_config)?;
        let name = named.unwrap_or(DEFAULT);
        let mut stated = config.get(name).cloned();
        if let Some(own) = credentials.get(name) {
            stated.get_or_insert_default().extend(own.clone());
        }
        match stated {
            Some(stated) => Profile::of(name, &stated, is_provided),
            None if named.is_none() || is_provided => Ok(Profile::default()),
            None => {
                let found: Vec<_> = credentials.keys().chain(config.keys()).map(String::as_str).collect();
                let found = if found.is_empty() { "none".to_owned() } else { found.join(", ") };
                Err(ProfileError::Unknown { name: name.to_owned(), files, found })
            }
        }
    }

    /// The same for the client of the store.
    pub(super) fn settings(&self) -> impl Iterator<Item = (AmazonS3ConfigKey, &str)> {
        let keys = self.keys.as_ref();
        let settings = [
            (AmazonS3ConfigKey::AccessKeyId, keys.map(|keys| keys.id.as_str())),
            (AmazonS3ConfigKey::SecretAccessKey, keys.map(|keys| keys.secret.as_str())),
            (AmazonS3ConfigKey::Token, keys.and_then(|keys| keys.token.as_deref())),
            (AmazonS3ConfigKey::Region, self.region.as_deref()),
            (AmazonS3ConfigKey::Endpoint, self.endpoint.as_deref()),
        ];
        settings.into_iter().filter_map(|(key, value)| Some((key, value?)))
    }

    fn of(name: &str, stated: &BTreeMap<String, String>, is_provided: bool) -> Result<Self, ProfileError> {
        let value = |key: &str| stated.get(key).cloned();
        let keys = if is_provided { None } else { Keys::of(name, stated)? };
        Ok(Profile { keys, region: value("region"), endpoint: value("endpoint_url") })
    }
}

impl Keys {
    /// Static keys go before what a profile says of other ways.
    fn of(name: &str, stated: &BTreeMap<String, String>) -> Result<Option<Self>, ProfileError> {
        const HALVES: [&str; 2] = ["aws_access_key_id", "aws_secret_access_key"];
        let half = |found, missing| Err(ProfileError::Half { name: name.to_owned(), found, missing });
        match HALVES.map(|key| stated.get(key)) {
            [Some(id), Some(secret)] => {
                let token = stated.get("aws_session_token").cloned();
                Ok(Some(Keys { id: id.clone(), secret: secret.clone(), token }))
            }
            [Some(_), None] => half(HALVES[0], HALVES[1]),
            [None, Some(_)] => half(HALVES[1], HALVES[0]),
            [None, None] => match ELSEWHERE.into_iter().find(|key| stated.contains_key(*key)) {
                Some(key) => Err(ProfileError::Elsewhere { name: name.to_owned(), key }),
                None => Ok(None),
            },
        }
    }
}

fn value_of<'a>(environment: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let found = environment.iter().find(|(own, value)| own == name && !value.is_empty());
    found.map(|(_, value)| value.as_str())
}

/// The credentials file and the config file.
fn files(environment: &[(String, String)]) -> (PathBuf, PathBuf) {
    let folder = value_of(environment, "HOME").map(|home| Path::new(home).join(".aws")).unwrap_or_default();
    let file = |variable, name: &str| {
        value_of(environment, variable).map_or_else(|| folder.join(name), PathBuf::from)
    };
    (file("AWS_SHARED_CREDENTIALS_FILE", "credentials"), file("AWS_CONFIG_FILE", "config"))
}

/// The profile of a section of the config file; services and sessions are none.
fn of_config(section: &str) -> Option<&str> {
    if section == DEFAULT {
        return Some(section);
    }
    section.strip_prefix("profile").filter(|rest| rest.starts_with([' ', '\t'])).map(str::trim)
}

/// The sections of a file that are profiles; none where there is no file.
fn sections(file: &Path, profile: impl Fn(&str) -> Option<&str>) -> Result<Sections, ProfileError> {
    let unreadable = |reason| ProfileError::Unreadable { file: file.to_owned(), reason };
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Sections::new()),
        Err(error) => return Err(unreadable(error.to_string())),
    };
    let mut sections = Sections::new();
    let mut current: Option<String> = None;
    for (index, line) in text.lines().enumerate() {
        match Line::of(line) {
            Some(Line::Nothing) => {}
            Some(Line::Section(name)) => {
                current = profile(name).map(str::to_owned);
                if let Some(name) = &current {
                    sections.entry(name.clone()).or_default();
                }
            }
            Some(Line::Value(key, value)) => {
                let section = current.as_ref().and_then(|name| sections.get_mut(name));
                section.and_then(|section| section.insert(key.to_ascii_lowercase(), value.to_owned()));
            }
            None => {
                let what = "neither `[section]` nor `key = value`";
                return Err(unreadable(format!("line {} is {what}", index + 1)));
            }
        }
    }
    Ok(sections)
}

/// A line of an INI file.
enum Line<'a> {
    /// Nothing, a remark, or what belongs to the key above.
    Nothing,
    Section(&'a str),
    Value(&'a str, &'a str),
}

impl<'a> Line<'a> {
    /// `None` where it is no such line.
    fn of(line: &'a str) -> Option<Self> {
        let is_nested = line.starts_with([' ', '\t']);
        let line = line.trim();
        if is_nested || line.is_empty() || line.starts_with(['#', ';']) {
            return Some(Line::Nothing);
        }
        if let Some(name) = line.strip_prefix('[') {
            return name.split_once(']').map(|(name, _)| Line::Section(name.trim()));
        }
        line.split_once('=').map(|(key, value)| Line::Value(key.trim(), value.trim()))
    }
}
