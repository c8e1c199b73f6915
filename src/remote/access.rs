//! `[access."prefix"]`: what is sent along, and how addresses are signed, for every URL below a prefix.
//!
//! A rule holds for its scheme, host, port and path alone, also along redirects, so credentials never follow to
//! another place.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use schemars::JsonSchema;
use serde::Deserialize;
use url::Url;

use super::authorize::Authorization;
use super::codes::{ACCESS_AUTH, ACCESS_HEADER, ACCESS_PREFIX, ACCESS_PROFILE, ACCESS_SIGN};
use super::program::Program;
use crate::config::{Access, Fault, Span, Spanned, from_value};
use crate::units::TimeSpan;

/// How the addresses below one prefix are reached.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct AccessOptions {
    /// Headers that every request below the prefix carries, for example `Authorization`. They are secrets: they are
    /// never shown, and they are not sent to another scheme, host, port or path that a redirect leads to.
    pub headers: BTreeMap<String, String>,
    /// A service or a program that turns an address into a signed one just before the object is read. The default is none.
    pub sign: Option<SignOptions>,
    /// A program that prints the value of `Authorization` for every request below the prefix. The default is none.
    pub auth: Option<AuthOptions>,
    /// The address of an object store that is not the provider's own, for example `"http://127.0.0.1:9000"`.
    /// For `s3://`, `gs://` and `az://` prefixes only. The default is the provider's.
    pub endpoint: Option<String>,
    /// The region of an S3 bucket. The default is `AWS_REGION`, else that of the profile, else `"us-east-1"`.
    pub region: Option<String>,
    /// The profile of the AWS command line, from `~/.aws/credentials` and `~/.aws/config`, whose keys, region and endpoint
    /// reach an S3 bucket; its keys go before those of the environment. The default is none: keys of the environment, else
    /// the profile that `AWS_PROFILE` names, else the profile `default`.
    #[schemars(example = &"surveys")]
    pub profile: Option<String>,
    /// Whether an object store is read without credentials. The default is `false`.
    pub anonymous: bool,
    /// Whether the requests to an S3 bucket are paid by this account. The default is `false`.
    pub requester_pays: bool,
}

/// What signs addresses: either the `url` of a service or a `command`.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SignOptions {
    /// The address that is asked, in which `{href}` is replaced by the percent-encoded address of the object. Its
    /// answer is the signed address: as text, or as a JSON object with the key `href`.
    #[serde(default)]
    #[schemars(example = "https://planetarycomputer.example/sign?href={href}")]
    pub url: Option<String>,
    /// A program and its arguments, in which `{href}` is replaced by the address of the object; no shell reads them. It
    /// prints the signed address, in the forms that a service may answer with.
    #[serde(default)]
    #[schemars(length(min = 1), example = ["sign-it", "{href}"])]
    pub command: Option<Vec<String>>,
    /// How long a signed address is used before it is asked for again, a time such as `"45m"`. A `403` asks again
    /// at once.
    pub valid: TimeSpan,
}

/// A program that knows what opens a service.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct AuthOptions {
    /// The program and its arguments, in which `{href}` is replaced by the address that is asked first; no shell reads
    /// them. It prints the value, for example `Bearer …`, which is a secret and is never shown.
    #[schemars(length(min = 1), example = ["print-token", "--bearer"])]
    pub command: Vec<String>,
    /// How long the value is used before the program is asked for another, a time such as `"50m"`. A `401` or `403` asks
    /// again at once.
    pub valid: TimeSpan,
}

/// The rules of all prefixes.
#[derive(Debug, Default)]
pub struct AccessRules(Vec<AccessRule>);

/// The rule of one prefix.
pub struct AccessRule {
    prefix: Url,
    pub(super) headers: HeaderMap,
    pub(super) sign: Option<Sign>,
    pub(super) auth: Option<Authorization>,
    pub(super) store: StoreAccess,
}

/// How an object store is reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct StoreAccess {
    pub(super) endpoint: Option<String>,
    pub(super) region: Option<String>,
    pub(super) profile: Option<String>,
    pub(super) anonymous: bool,
    pub(super) requester_pays: bool,
}

/// What signs, checked.
pub(super) struct Sign {
    pub(super) by: Signature,
    pub(super) valid: Duration,
}

/// Where a signed address comes from.
pub(super) enum Signature {
    /// The address of a service, with `{href}` in it.
    Service(String),
    /// A program.
    Program(Program),
}

impl AccessRules {
    /// Checks the `[access]` tables of a pipeline.
    ///
    /// # Errors
    /// Every fault of every table.
    pub fn compile(tables: &[(Spanned<String>, Access)]) -> Result<Self, Vec<Fault>> {
        let (mut rules, mut faults) = (Vec::new(), Vec::new());
        for (prefix, access) in tables {
            let span = &access.options.span;
            let rule =
                from_value(&access.options).and_then(|options| AccessRule::new(prefix, &options, span));
            match rule {
                Ok(rule) => rules.push(rule),
                Err(found) => faults.extend(found),
            }
        }
        if faults.is_empty() { Ok(Self(rules)) } else { Err(faults) }
    }

    /// These rules.
    pub fn new(rules: Vec<AccessRule>) -> Self {
        Self(rules)
    }

    /// The rule with the longest prefix of an address.
    pub(super) fn for_url(&self, url: &Url) -> Option<&AccessRule> {
        self.0.iter().filter(|rule| rule.covers(url)).max_by_key(|rule| rule.prefix.path().len())
    }
}

impl AccessRule {
    /// Checks the options of a prefix; `span` is the place of the options.
    ///
    /// # Errors
    /// A prefix that is no address, headers that HTTP does not allow, a signing service that cannot be asked.
    pub fn new(prefix: &Spanned<String>, options: &AccessOptions, span: &Span) -> Result<Self, Vec<Fault>> {
        let mut faults = Vec::new();
        let address = check_prefix(prefix, &mut faults);
        let headers = check_headers(&options.headers, span, &mut faults);
        let sign = options.sign.as_ref().and_then(|sign| check_sign(sign, span, &mut faults));
        let auth = options.auth.as_ref().and_then(|auth| check_auth(auth, span, &mut faults));
        check_profile(address.as_ref(), options, span, &mut faults);
        let store = StoreAccess {
            endpoint: options.endpoint.clone(),
            region: options.region.clone(),
            profile: options.profile.clone(),
            anonymous: options.anonymous,
            requester_pays: options.requester_pays,
        };
        match address {
            Some(prefix) if faults.is_empty() => Ok(Self { prefix, headers, sign, auth, store }),
            _ => Err(faults),
        }
    }

    /// Whether an address lies below the prefix; `/a` covers `/a/b` and not `/ab`.
    fn covers(&self, url: &Url) -> bool {
        let same_host = url.scheme() == self.prefix.scheme()
            && url.host() == self.prefix.host()
            && url.port_or_known_default() == self.prefix.port_or_known_default();
        let folder = self.prefix.path().trim_end_matches('/');
        same_host
            && url.path().strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

/// The address of a service that gives the signed form of another.
pub(super) fn address_for(service: &str, href: &Url) -> Result<Url, url::ParseError> {
    let encoded: String = url::form_urlencoded::byte_serialize(href.as_str().as_bytes()).collect();
    Url::parse(&service.replace("{href}", &encoded))
}

fn check_prefix(prefix: &Spanned<String>, faults: &mut Vec<Fault>) -> Option<Url> {
    const SCHEMES: [&str; 5] = ["http", "https", "s3", "gs", "az"];
    let parsed = Url::parse(prefix).ok().filter(|url| url.has_host() && SCHEMES.contains(&url.scheme()));
    if parsed.is_none() {
        let message = format!("`{}` is not the beginning of an address", prefix.value);
        let fault = Fault::error(ACCESS_PREFIX, prefix.span.clone(), message);
        faults.push(fault.help("write scheme and host, such as `https://data.example` or `s3://bucket`"));
    }
    parsed
}

/// A profile is one of the AWS command line's, and opens nothing else.
fn check_profile(prefix: Option<&Url>, options: &AccessOptions, span: &Span, faults: &mut Vec<Fault>) {
    let (Some(prefix), Some(profile)) = (prefix, &options.profile) else { return };
    if prefix.scheme() != "s3" {
        let message = format!("`profile` holds for `s3://` prefixes, and this is `{}://`", prefix.scheme());
        faults.push(
            Fault::error(ACCESS_PROFILE, span.clone(), message)
                .help("leave it out, or write an `s3://` prefix"),
        );
    } else if options.anonymous {
        let message = format!("profile `{profile}` and `anonymous` contradict each other");
        faults.push(Fault::error(ACCESS_PROFILE, span.clone(), message).help("leave one of them out"));
    }
}

fn check_headers(headers: &BTreeMap<String, String>, span: &Span, faults: &mut Vec<Fault>) -> HeaderMap {
    let mut checked = HeaderMap::new();
    for (name, value) in headers {
        let (Ok(name), Ok(mut value)) = (name.parse::<HeaderName>(), HeaderValue::from_str(value)) else {
            let message = format!("header `{name}` has a name or a value that HTTP does not allow");
            faults.push(Fault::error(ACCESS_HEADER, span.clone(), message));
            continue;
        };
        value.set_sensitive(true);
        checked.insert(name, value);
    }
    checked
}

fn check_sign(sign: &SignOptions, span: &Span, faults: &mut Vec<Fault>) -> Option<Sign> {
    let mut refuse = |message: String| faults.push(Fault::error(ACCESS_SIGN, span.clone(), message));
    let by = match (&sign.url, &sign.command) {
        (Some(url), None) if is_service(url) => Signature::Service(url.clone()),
        (Some(url), None) => {
            refuse(format!("`{url}` is not an address with `{{href}}` in it"));
            return None;
        }
        (None, Some(words)) if words.iter().any(|word| word.contains("{href}")) => {
            Signature::Program(Program::new(words)?)
        }
        (None, Some(_)) => {
            refuse("the `command` of `sign` has no `{href}`, so it cannot know what to sign".into());
            return None;
        }
        _ => {
            refuse("`sign` has either a `url` or a `command`".into());
            return None;
        }
    };
    Some(Sign { by, valid: sign.valid.0 })
}

fn is_service(url: &str) -> bool {
    Url::parse(url).is_ok_and(|url| url.has_host()) && url.contains("{href}")
}

fn check_auth(auth: &AuthOptions, span: &Span, faults: &mut Vec<Fault>) -> Option<Authorization> {
    let program = Program::new(&auth.command);
    if program.is_none() {
        faults.push(Fault::error(ACCESS_AUTH, span.clone(), "the `command` of `auth` names no program"));
    }
    program.map(|program| Authorization::new(program, auth.valid.0))
}

impl fmt::Debug for AccessRule {
    /// Without headers: they are secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccessRule").field("prefix", &self.prefix.as_str()).finish_non_exhaustive()
    }
}

impl fmt::Debug for AccessOptions {
    /// Without values of headers: they are secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.headers.keys().collect();
        f.debug_struct("AccessOptions").field("headers", &names).finish_non_exhaustive()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A rule with one header.
    pub(in crate::remote) fn rule(prefix: &str, header: (&str, &str)) -> AccessRule {
        let headers = BTreeMap::from([(header.0.to_owned(), header.1.to_owned())]);
        let options = AccessOptions { headers, ..AccessOptions::default() };
        AccessRule::new(&Spanned::new(prefix.to_owned(), 0..0), &options, &(0..0)).expect("a rule")
    }

    /// A rule with a signing service.
    pub(in crate::remote) fn signing(prefix: &str, url: &str, valid: Duration) -> AccessRule {
        let mut rule = rule(prefix, ("x-unused", "1"));
        rule.sign = Some(Sign { by: Signature::Service(url.to_owned()), valid });
        rule
    }

    /// A rule of options as a pipeline has them.
    pub(in crate::remote) fn written(prefix: &str, options: &AccessOptions) -> AccessRule {
        AccessRule::new(&Spanned::new(prefix.to_owned(), 0..0), options, &(0..0)).expect("a rule")
    }

    #[test]
    fn a_rule_holds_below_its_prefix_alone() {
        let rule = rule("https://h.example/a", ("authorization", "secret"));
        for (url, expected) in [
            ("https://h.example/a", true),
            ("https://h.example:443/a/b.tif?x", true),
            ("https://h.example/ab", false),
            ("https://h.example/a/../b", false),
            ("http://h.example/a", false),
            ("https://h.example:8443/a", false),
            ("https://h.example.evil.example/a", false),
            ("https://h.example@evil.example/a", false),
        ] {
            assert_eq!(rule.covers(&Url::parse(url).expect(url)), expected, "{url}");
        }
    }

    #[test]
    fn a_profile_opens_s3_alone_and_not_anonymously() {
        let options = |anonymous| AccessOptions {
            profile: Some("field".into()),
            anonymous,
            ..AccessOptions::default()
        };
        let codes = |prefix: &str, options: &AccessOptions| {
            let rule = AccessRule::new(&Spanned::new(prefix.to_owned(), 0..0), options, &(0..0));
            rule.err().unwrap_or_default().iter().map(|fault| fault.code).collect::<Vec<_>>()
        };
        assert_eq!(codes("s3://tiles", &options(false)), Vec::<&str>::new());
        assert_eq!(codes("gs://tiles", &options(false)), [ACCESS_PROFILE]);
        assert_eq!(codes("s3://tiles", &options(true)), [ACCESS_PROFILE]);
    }

    #[test]
    fn the_longest_prefix_wins() {
        let rules = AccessRules::new(vec![
            rule("https://h.example", ("x", "1")),
            rule("https://h.example/a", ("x", "2")),
        ]);
        let header = |url| rules.for_url(&Url::parse(url).expect(url)).map(|rule| rule.headers["x"].clone());
        assert_eq!(header("https://h.example/a/b").expect("covered"), "2");
        assert_eq!(header("https://h.example/b").expect("covered"), "1");
        assert!(header("https://other.example/a").is_none());
    }

    #[test]
    fn secrets_are_not_shown() {
        let shown =
            format!("{:?}", AccessRules::new(vec![rule("https://h.example", ("authorization", "hunter2"))]));
        assert!(shown.contains("h.example") && !shown.contains("hunter2"), "{shown}");
    }

    #[test]
    fn what_cannot_be_used_is_a_fault() {
        let headers = BTreeMap::from([("bad name".to_owned(), "x".to_owned())]);
        let sign = Some(SignOptions {
            url: Some("https://h.example/sign".into()),
            command: None,
            valid: TimeSpan(Duration::from_mins(1)),
        });
        let auth = Some(AuthOptions { command: Vec::new(), valid: TimeSpan(Duration::from_mins(1)) });
        let options = AccessOptions { headers, sign, auth, ..AccessOptions::default() };
        let faults = AccessRule::new(&Spanned::new("h.example".into(), 3..9), &options, &(10..20))
            .expect_err("faults");
        let codes: std::collections::BTreeSet<_> = faults.iter().map(|fault| fault.code).collect();
        assert_eq!(
            codes.into_iter().collect::<Vec<_>>(),
            ["access-auth", "access-header", "access-prefix", "access-sign"]
        );
    }
}
