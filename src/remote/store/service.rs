//! The HTTP of `object_store`: each of its requests is one of ours, with leases, retries and events.

use std::fmt;

use futures::future::BoxFuture;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody,
    HttpService,
};
use reqwest::StatusCode;
use reqwest::header::HeaderMap;

use crate::remote::exchange::{Answer, Ask, Payload};
use crate::remote::perform::Reader;
use crate::remote::{RequestError, StageClient};

/// The most bytes of an answer: pages of listings, acknowledgements, credentials.
const ANSWER_LIMIT: u64 = 64 << 20;

/// Makes the requests of a store under the resources of a stage.
#[derive(Clone)]
pub(super) struct Governed(pub(super) StageClient);

impl fmt::Debug for Governed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Governed")
    }
}

impl HttpConnector for Governed {
    fn connect(&self, _: &object_store::ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

impl HttpService for Governed {
    // Written out because the trait is made by a macro for boxed futures.
    fn call<'a, 'b>(&'a self, request: HttpRequest) -> BoxFuture<'b, Result<HttpResponse, HttpError>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async move {
            let ask = ask_of(request)?;
            self.0
                .perform(&ask, &mut WholeAnswer)
                .await
                .map_err(|error| HttpError::new(HttpErrorKind::Unknown, error))
        })
    }
}

fn ask_of(request: HttpRequest) -> Result<Ask, HttpError> {
    let (parts, body) = request.into_parts();
    let url = parts.uri.to_string().parse::<url::Url>();
    let url = url.map_err(|error| HttpError::new(HttpErrorKind::Request, error))?;
    let payload = (body.content_length() > 0).then_some(Payload::Store(body));
    Ok(Ask { method: parts.method, headers: parts.headers, payload, is_raw: true, ..Ask::document(&url) })
}

/// Reads an answer as it is, whatever its status.
struct WholeAnswer;

impl Reader for WholeAnswer {
    type Output = HttpResponse;

    async fn read(&mut self, mut answer: Answer) -> Result<HttpResponse, RequestError> {
        let (status, headers): (StatusCode, HeaderMap) = (answer.status(), answer.headers().clone());
        let (body, is_whole) = answer.up_to(ANSWER_LIMIT).await?;
        if !is_whole {
            return Err(answer.unusable(format!("an answer with more than {ANSWER_LIMIT} bytes")));
        }
        let mut response = HttpResponse::new(HttpResponseBody::from(body));
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        Ok(response)
    }
}
