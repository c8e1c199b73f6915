//! Programs that sign and open, against a server that wants to see what they print.

use std::time::Duration;

use bytes::Bytes;
use url::Url;

use crate::events::WholeReason;
use crate::remote::access::tests::written;
use crate::remote::scripted::{Reply, Scripted};
use crate::remote::{
    AccessOptions, AccessRules, AuthOptions, Body, Client, ClientOptions, RequestError, SignOptions,
    StageClient, StageSettings,
};
use crate::units::TimeSpan;

const DATA: &[u8] = b"II*\0 the bytes of a raster";

async fn whole(client: &StageClient, url: &Url) -> Result<Bytes, RequestError> {
    match client.get_whole(url, &mut |_| Ok(()), None, true, WholeReason::Mode).await? {
        Body::Memory(bytes) => Ok(bytes),
        Body::File(_) => panic!("its length is told"),
    }
}

#[tokio::test]
async fn a_program_signs_addresses_and_another_opens_a_prefix() {
    let server = Scripted::serve(|seen| match (seen.path.as_str(), seen.header("authorization")) {
        ("/signed?sig=of-a", None) | ("/open", Some("Bearer hunter2")) => Reply::new(200, DATA),
        _ => Reply::new(403, ""),
    })
    .await;
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let valid = TimeSpan(Duration::from_mins(45));
    let folder = tempfile::tempdir().expect("a folder");
    let signer = folder.path().join("sign");
    std::fs::write(&signer, "echo $1?sig=of-a | sed s/plain/signed/\n").expect("written");
    let command = Some(vec!["sh".into(), signer.display().to_string(), "{href}".into()]);
    let sign = SignOptions { url: None, command, valid };
    let auth = AuthOptions { command: words("echo Bearer hunter2"), valid };
    let signing = AccessOptions { sign: Some(sign), ..AccessOptions::default() };
    let opening = AccessOptions { auth: Some(auth), ..AccessOptions::default() };
    let rules = AccessRules::new(vec![
        written(server.url("/plain").as_str(), &signing),
        written(server.url("/open").as_str(), &opening),
    ]);
    let client = Client::new(ClientOptions::default(), rules, None).for_stage(StageSettings::default());
    assert_eq!(whole(&client, &server.url("/plain")).await.expect("signed").as_ref(), DATA);
    assert_eq!(whole(&client, &server.url("/open")).await.expect("open").as_ref(), DATA);
    let error = whole(&client, &server.url("/other")).await.expect_err("nothing opens it");
    assert_eq!(error.status().map(|status| status.as_u16()), Some(403));
}

#[tokio::test]
async fn a_token_that_expired_is_asked_for_once_more() {
    let folder = tempfile::tempdir().expect("a folder");
    let (program, count) = (folder.path().join("token"), folder.path().join("count"));
    // Prints `old` the first time and `new` afterwards.
    let script = format!("if [ -e {0} ]; then echo new; else echo old; touch {0}; fi\n", count.display());
    std::fs::write(&program, script).expect("written");
    let server = Scripted::serve(|seen| match seen.header("authorization") {
        Some("new") => Reply::new(200, DATA),
        _ => Reply::new(401, ""),
    })
    .await;
    let command = vec!["sh".into(), program.display().to_string()];
    let auth = AuthOptions { command, valid: TimeSpan(Duration::from_mins(45)) };
    let options = AccessOptions { auth: Some(auth), ..AccessOptions::default() };
    let rules = AccessRules::new(vec![written(server.url("/").as_str(), &options)]);
    let client = Client::new(ClientOptions::default(), rules, None).for_stage(StageSettings::default());
    assert_eq!(whole(&client, &server.url("/a")).await.expect("with the new token").as_ref(), DATA);
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test]
async fn a_program_that_fails_is_told_by_its_name_and_last_words() {
    let server = Scripted::serve(|_| Reply::new(200, DATA)).await;
    let command = ["sh", "-c", "echo first >&2; echo no ticket >&2; exit 3"].map(str::to_owned).to_vec();
    let auth = AuthOptions { command, valid: TimeSpan(Duration::from_mins(1)) };
    let options = AccessOptions { auth: Some(auth), ..AccessOptions::default() };
    let rules = AccessRules::new(vec![written(server.url("/").as_str(), &options)]);
    let client = Client::new(ClientOptions::default(), rules, None).for_stage(StageSettings::default());
    let error = whole(&client, &server.url("/a?sig=secret")).await.expect_err("no ticket");
    let expected =
        format!("GET {} → the program `sh` of its access rule ended with 3: no ticket", server.url("/a"));
    assert_eq!((error.to_string(), server.seen().len()), (expected, 0));
}
