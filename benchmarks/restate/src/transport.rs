//! How requests go to the server: reqwest without TLS, since the server is on this
//! machine. The SDK's own transport is the same with TLS.

use bench_harness::Problem;
use reqwest::Client;
use restate_sdk::ingress::RequestExecutor;

use bytes::Bytes;
use http::{Request, Response};

/// A connection pool.
#[derive(Clone)]
pub(crate) struct Transport(Client);

impl Transport {
    /// One connection per request that is on its way, or all on one (HTTP/2).
    pub(crate) fn new(is_shared: bool) -> Result<Self, Problem> {
        let builder = Client::builder();
        let builder = if is_shared {
            builder.http2_prior_knowledge()
        } else {
            builder
        };
        Ok(Self(builder.build()?))
    }
}

impl RequestExecutor for Transport {
    type Error = reqwest::Error;

    async fn execute(&self, request: Request<Bytes>) -> Result<Response<Bytes>, Self::Error> {
        let response = self.0.execute(request.try_into()?).await?;
        let (status, headers) = (response.status(), response.headers().clone());
        let mut answer = Response::new(response.bytes().await?);
        *answer.status_mut() = status;
        *answer.headers_mut() = headers;
        Ok(answer)
    }
}
