use super::*;

/// A home with these two files; what the environment says of it, with these further variables.
struct Home {
    folder: tempfile::TempDir,
}

impl Home {
    fn with(credentials: &str, config: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let aws = folder.path().join(".aws");
        fs::create_dir(&aws).expect("a folder");
        fs::write(aws.join("credentials"), credentials).expect("written");
        fs::write(aws.join("config"), config).expect("written");
        Self { folder }
    }

    fn profile(&self, chosen: Option<&str>, variables: &[(&str, &str)]) -> Result<Profile, ProfileError> {
        let home = self.folder.path().display().to_string();
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let environment: Vec<_> = variables.chain([("HOME".to_owned(), home)]).collect();
        Profile::in_force(chosen, &environment)
    }
}

const CREDENTIALS: &str = "\
# keys
[default]
aws_access_key_id = first
aws_secret_access_key=one=two

[field]
AWS_ACCESS_KEY_ID = second
aws_secret_access_key = secret
aws_session_token = token
";
const CONFIG: &str = "\
[default]
region = eu-west-1
[profile field]
region = eu-central-1
aws_access_key_id = older
endpoint_url = http://127.0.0.1:9000
s3 =
  max_concurrent_requests = 20
[sso-session main]
sso_start_url = https://start.example
[profile office]
sso_session = main
[profile lent]
role_arn = arn:aws:iam::1:role/reader
source_profile = field
[profile broken]
aws_access_key_id = alone
[profile place]
region = us-west-2
";

fn keys(id: &str, secret: &str, token: Option<&str>) -> Option<Keys> {
    Some(Keys { id: id.into(), secret: secret.into(), token: token.map(str::to_owned) })
}

#[test]
fn the_default_profile_is_taken_where_none_is_named() {
    let found = Home::with(CREDENTIALS, CONFIG).profile(None, &[]).expect("a profile");
    let expected =
        Profile { keys: keys("first", "one=two", None), region: Some("eu-west-1".into()), endpoint: None };
    assert_eq!(found, expected);
}

#[test]
fn a_named_profile_has_what_both_files_say_and_the_credentials_file_goes_first() {
    let home = Home::with(CREDENTIALS, CONFIG);
    let expected = Profile {
        keys: keys("second", "secret", Some("token")),
        region: Some("eu-central-1".into()),
        endpoint: Some("http://127.0.0.1:9000".into()),
    };
    assert_eq!(home.profile(None, &[("AWS_PROFILE", "field")]), Ok(expected.clone()));
    assert_eq!(
        home.profile(Some("field"), &[("AWS_PROFILE", "default")]),
        Ok(expected),
        "the pipeline goes first"
    );
}

#[test]
fn keys_of_the_environment_go_before_a_profile_that_the_pipeline_does_not_name() {
    let home = Home::with(CREDENTIALS, CONFIG);
    let provided = ("AWS_ACCESS_KEY_ID", "environment");
    let found = home.profile(None, &[provided, ("AWS_PROFILE", "field")]).expect("a profile");
    assert_eq!((found.keys, found.region.as_deref()), (None, Some("eu-central-1")));
    assert_eq!(home.profile(None, &[provided, ("AWS_PROFILE", "gone")]), Ok(Profile::default()));
    let named = home.profile(Some("field"), &[provided]).expect("a profile");
    assert_eq!(named.keys, keys("second", "secret", Some("token")));
}

#[test]
fn the_files_lie_where_the_environment_says() {
    let (home, other) = (Home::with("", ""), Home::with(CREDENTIALS, CONFIG));
    let path = |name: &str| other.folder.path().join(".aws").join(name).display().to_string();
    let (credentials, config) = (path("credentials"), path("config"));
    let found = home.profile(
        None,
        &[("AWS_SHARED_CREDENTIALS_FILE", credentials.as_str()), ("AWS_CONFIG_FILE", config.as_str())],
    );
    assert_eq!(found.expect("a profile").region.as_deref(), Some("eu-west-1"));
}

#[test]
fn without_files_there_is_no_profile_and_a_named_one_is_missed() {
    let nowhere = [("HOME".to_owned(), "/nonexistent".to_owned())];
    assert_eq!(Profile::in_force(None, &nowhere), Ok(Profile::default()));
    assert_eq!(Profile::in_force(None, &[]), Ok(Profile::default()));
    let error = Profile::in_force(Some("field"), &nowhere).expect_err("not there").to_string();
    let expected = "profile `field` is in neither `/nonexistent/.aws/credentials` nor `/nonexistent/.aws/config`; found: none";
    assert_eq!(error, expected);
    let error = Home::with(CREDENTIALS, "").profile(Some("fiel"), &[]).expect_err("not there").to_string();
    assert!(error.ends_with("found: default, field"), "{error}");
}

#[test]
fn credentials_that_are_not_in_the_files_are_refused_with_the_command_that_exports_them() {
    let home = Home::with(CREDENTIALS, CONFIG);
    for (name, key) in [("office", "sso_session"), ("lent", "role_arn")] {
        let error = home.profile(Some(name), &[]).expect_err(name);
        assert_eq!(error, ProfileError::Elsewhere { name: name.into(), key });
        assert!(error.to_string().contains(&format!("aws configure export-credentials --profile {name}")));
    }
    let error = home.profile(Some("broken"), &[]).expect_err("half a key").to_string();
    assert_eq!(error, "profile `broken` has `aws_access_key_id` and no `aws_secret_access_key`");
    let place = home.profile(Some("place"), &[]).expect("a region alone");
    assert_eq!(place, Profile { region: Some("us-west-2".into()), ..Profile::default() });
}

#[test]
fn a_line_that_is_none_is_named() {
    let home = Home::with("[default]\naws_access_key_id first\n", "");
    let error = home.profile(None, &[]).expect_err("malformed").to_string();
    assert!(error.ends_with(".aws/credentials`: line 2 is neither `[section]` nor `key = value`"), "{error}");
    assert!(home.profile(None, &[("AWS_CONFIG_FILE", "/")]).is_err(), "a folder is no file");
}

#[test]
fn secrets_are_not_shown() {
    let shown = format!("{:?}", Home::with(CREDENTIALS, CONFIG).profile(None, &[]));
    assert!(!shown.contains("first") && !shown.contains("one=two"), "{shown}");
}
