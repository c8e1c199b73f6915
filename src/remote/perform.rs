//! How a request is made: tries, redirects and signing around single requests, each under its leases.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use reqwest::header::{ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, HeaderValue, IF_MATCH, LOCATION, RANGE};
use reqwest::{Method, StatusCode};
use tokio::time::{Instant, sleep, timeout_at};
use url::Url;

use super::error::{innermost, is_transient};
use super::exchange::{Account, Answer, Ask, Payload, Told, reason_in};
use super::gate::host;
use super::{Next, RequestError, StageClient, StageSettings, Tries, parse_retry_after, redacted};
use crate::events::FailureClass;
use crate::resources::{LeaseSet, Requirement};

/// How many redirects one request follows.
const MAX_REDIRECTS: usize = 10;

/// What one try leaves behind beside its answer.
struct Trail {
    /// When its first request was sent.
    began: Option<Instant>,
    /// Asleep before the next request.
    slept: Duration,
}

/// A pause as it is told: an open gate costs microseconds, which are no pause.
fn told_sleep(time: Duration) -> Duration {
    if time < Duration::from_millis(1) { Duration::ZERO } else { time }
}

/// Takes from an answer what a request was made for.
pub(super) trait Reader: Send {
    /// What that is.
    type Output: Send;

    /// Reads it; called once a try.
    fn read(&mut self, answer: Answer) -> impl Future<Output = Result<Self::Output, RequestError>> + Send;
}

impl StageClient {
    /// Makes a request, again after transient failures; nothing is held while a retry sleeps. Dropping the future
    /// ends the request and gives everything back.
    pub(super) async fn perform<R: Reader>(
        &self,
        ask: &Ask,
        reader: &mut R,
    ) -> Result<R::Output, RequestError> {
        let mut tries = Tries::begin(&self.settings().retry);
        let mut slept = Duration::ZERO;
        loop {
            let mut trail = Trail { began: None, slept };
            let error = match self.attempt(ask, reader, &mut trail).await {
                Ok(output) => return Ok(output),
                Err(error) => error,
            };
            if tries.made() == 1
                && let Some(began) = trail.began
            {
                tries.restart(began);
            }
            slept = self.delay_after(&ask.url, error, &mut tries)?;
            sleep(slept).await;
        }
    }

    /// How long to wait after a failure that may be tried again; pauses what others would ask with.
    fn delay_after(
        &self,
        url: &Url,
        error: RequestError,
        tries: &mut Tries,
    ) -> Result<Duration, RequestError> {
        if error.class() != FailureClass::Transient {
            return Err(error);
        }
        let asked = error.retry_after();
        match (tries.next(asked), asked) {
            (Next::After(delay), _) => {
                if let Some(asked) = asked {
                    self.pause(url, asked);
                }
                Ok(delay)
            }
            (Next::AskedTooMuch, Some(asked)) => Err(RequestError::AskedTooMuch {
                asked: asked.as_secs(),
                total: self.settings().retry.total.as_secs(),
                cause: Box::new(error),
            }),
            (Next::AskedTooMuch | Next::GiveUp, _) => Err(error),
        }
    }

    /// Honours `Retry-After` for everybody who shares the rates; where there are none, for everybody who asks the host.
    fn pause(&self, url: &Url, time: Duration) {
        let rates = self.requirement(url).rates;
        if rates.is_empty() {
            self.gates().close(url, time);
        }
        for rate in rates {
            rate.pause(time);
        }
    }

    /// What a request to this host takes.
    fn requirement(&self, url: &Url) -> Requirement {
        let StageSettings { requirement, host_rates, host_byte_rates, .. } = self.settings();
        let mut requirement = requirement.clone();
        requirement.rates.extend(host_rates.iter().map(|family| family.of(&host(url))));
        requirement.byte_rates.extend(host_byte_rates.iter().map(|family| family.of(&host(url))));
        requirement
    }

    /// One try. An address or a token that expired meanwhile (401 or 403 where there is such, or behind a redirect) is got
    /// anew once.
    async fn attempt<R: Reader>(
        &self,
        ask: &Ask,
        reader: &mut R,
        trail: &mut Trail,
    ) -> Result<R::Output, RequestError> {
        let mut is_renewed = false;
        loop {
            let (url, is_signed) = self.sign(ask).await?;
            let (result, is_redirected) = self.follow(ask, url, trail).await;
            match result {
                Err(error) if !is_renewed && is_refused(&error) => {
                    let is_forgotten = self.forget_authorization(&ask.url).await;
                    if !(is_forgotten || is_signed || is_redirected) {
                        return Err(error);
                    }
                    is_renewed = true;
                    self.signer().forget(&ask.url);
                }
                Ok(answer) => return self.read(answer, reader).await,
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads the body and pays for its bytes, holding no slot meanwhile.
    async fn read<R: Reader>(&self, answer: Answer, reader: &mut R) -> Result<R::Output, RequestError> {
        let received = Arc::clone(&answer.account.received);
        let requirement = self.requirement(answer.url());
        let result = reader.read(answer).await;
        requirement.charge(received.load(Ordering::Relaxed)).await;
        result
    }

    /// Asks, and goes where redirects lead; each is a request of its own. Also tells whether there were any.
    async fn follow(
        &self,
        ask: &Ask,
        mut url: Url,
        trail: &mut Trail,
    ) -> (Result<Answer, RequestError>, bool) {
        let mut method = ask.method.clone();
        for redirects in 0..=MAX_REDIRECTS {
            let answer = match self.hop(ask, &method, &url, trail).await {
                Ok(answer) => answer,
                Err(error) => return (Err(error), redirects > 0),
            };
            if ask.is_raw || !is_redirect(answer.status()) {
                return (check_status(answer, &method, ask.is_raw).await, redirects > 0);
            }
            match target(&answer, &url) {
                Ok(target) => url = target,
                Err(error) => return (Err(error), true),
            }
            if answer.status() == StatusCode::SEE_OTHER {
                method = Method::GET;
            }
        }
        let reason = format!("more than {MAX_REDIRECTS} redirects (redirect loop)");
        (Err(RequestError::Redirect { url: redacted(&ask.url), reason }), true)
    }

    /// One request: takes the leases, sends it, and returns once the status is there.
    async fn hop(
        &self,
        ask: &Ask,
        method: &Method,
        url: &Url,
        trail: &mut Trail,
    ) -> Result<Answer, RequestError> {
        let mut request = self.request(ask, method, url)?;
        if let Some(value) = self.authorization(url).await? {
            request.headers_mut().insert(AUTHORIZATION, value);
        }
        let closed = Instant::now();
        self.gates().open(url).await;
        let slept = std::mem::take(&mut trail.slept) + told_sleep(closed.elapsed());
        let leases = self.requirement(url).take_for(self.label()).await;
        let mut account = self.account(ask, leases, slept);
        trail.began.get_or_insert(account.begun);
        let deadline = self.settings().timeout.map(|limit| (account.begun + limit, limit));
        let limit = deadline.map_or(self.options().answer_timeout, |(_, limit)| limit);
        let shown = redacted(url);
        let error = match timeout_at(account.begun + limit, self.http()?.execute(request)).await {
            Ok(Ok(response)) => {
                account.status = response.status().as_u16();
                if matches!(
                    response.status(),
                    StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE
                ) {
                    self.gates().refused(url, account.begun);
                } else {
                    self.gates().served(url);
                }
                let stall = self.options().stall_timeout;
                let has_body = *method != Method::HEAD;
                return Ok(Answer { response, shown, deadline, stall, has_body, account });
            }
            Ok(Err(error)) => RequestError::Connection { url: shown, reason: innermost(&error) },
            Err(_) => RequestError::TimedOut { url: shown, seconds: limit.as_secs_f64() },
        };
        account.fail(&error);
        Err(error)
    }

    fn request(&self, ask: &Ask, method: &Method, url: &Url) -> Result<reqwest::Request, RequestError> {
        let mut request = reqwest::Request::new(method.clone(), url.clone());
        let headers = request.headers_mut();
        headers.extend(ask.headers.clone());
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        if let Some(range) = &ask.range {
            headers.insert(
                RANGE,
                value(url, &format!("bytes={}-{}", range.start, range.end.saturating_sub(1)))?,
            );
        }
        if let Some(tag) = &ask.if_match {
            headers.insert(IF_MATCH, value(url, tag)?);
        }
        // Bound to their prefix, so that a redirect to another place goes without them.
        if let Some(rule) = self.access().for_url(url) {
            headers.extend(rule.headers.clone());
        }
        match ask.payload.clone().filter(|_| *method == ask.method) {
            Some(Payload::Json(json)) => {
                headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
                *request.body_mut() = Some(json.into());
            }
            Some(Payload::Store(body)) => *request.body_mut() = Some(reqwest::Body::wrap(body)),
            None => {}
        }
        Ok(request)
    }

    /// Who asks, for messages about a stall.
    fn label(&self) -> Arc<str> {
        let item = self.item().filter(|item| !item.as_str().is_empty());
        match (&self.settings().stage, item) {
            (Some(stage), Some(item)) => format!("`{stage}` for `{item}`").into(),
            (Some(stage), None) => format!("`{stage}`").into(),
            (None, _) => "a request".into(),
        }
    }

    fn account(&self, ask: &Ask, leases: LeaseSet, slept: Duration) -> Account {
        let told = Told {
            events: self.settings().events.clone(),
            stage: self.settings().stage.clone().unwrap_or_else(|| "".into()),
            item: self.item().cloned().unwrap_or_else(|| "".into()),
        };
        Account {
            leases,
            status: 0,
            outcome: None,
            received: Arc::default(),
            begun: Instant::now(),
            slept,
            whole: ask.whole,
            told,
        }
    }
}

fn value(url: &Url, text: &str) -> Result<HeaderValue, RequestError> {
    HeaderValue::from_str(text).map_err(|_| RequestError::Unusable {
        url: redacted(url),
        reason: format!("`{}` cannot be sent as a header", text.escape_default()),
    })
}

/// Whether an answer says that this may not be asked, or no longer.
fn is_refused(error: &RequestError) -> bool {
    matches!(error.status(), Some(StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN))
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

/// Where a redirect leads: an address of HTTP, of the same safety or better when credentials matter.
fn target(answer: &Answer, from: &Url) -> Result<Url, RequestError> {
    let fail = |reason: String| RequestError::Redirect { url: redacted(from), reason };
    let location =
        answer.headers().get(LOCATION).and_then(|location| std::str::from_utf8(location.as_bytes()).ok());
    let location = location.ok_or_else(|| fail(format!("{} without a `Location`", answer.status())))?;
    let mut url = from.join(location).map_err(|error| fail(format!("redirect to no address: {error}")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(fail(format!("redirect to `{}:`, which is not HTTP", url.scheme())));
    }
    if url.origin() != from.origin() {
        // A user and password that the redirect itself names are not ours to send.
        let cleared = url.set_username("").and_then(|()| url.set_password(None));
        debug_assert!(cleared.is_ok(), "every HTTP address can go without a user");
    }
    Ok(url)
}

/// Looks at the status before the body.
async fn check_status(answer: Answer, method: &Method, is_raw: bool) -> Result<Answer, RequestError> {
    let status = answer.status();
    let url = answer.shown.clone();
    match status {
        _ if is_raw && !is_transient(status) => Ok(answer),
        StatusCode::OK | StatusCode::PARTIAL_CONTENT | StatusCode::RANGE_NOT_SATISFIABLE => Ok(answer),
        StatusCode::PRECONDITION_FAILED => {
            Err(RequestError::Changed { url, reason: "it no longer has the entity tag it began with".into() })
        }
        _ => {
            let mut answer = answer;
            let now = std::time::SystemTime::now();
            let retry_after = answer.header("retry-after").and_then(|text| parse_retry_after(text, now));
            let mut error = RequestError::Status {
                method: method.clone(),
                url,
                status,
                retry_after,
                detail: String::new(),
            };
            answer.account.fail(&error);
            if let RequestError::Status { detail, .. } = &mut error {
                *detail = reason_in(answer).await;
            }
            Err(error)
        }
    }
}
