//! Ends an answer in progress when the credential that asked for it is revoked.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, HttpBody};
use axum::response::Response;
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use onyx_types::Cancel;

#[derive(Debug, thiserror::Error)]
#[error("the credential was revoked")]
struct Revoked;

/// A complete body is left alone. A stream's connection is cut: a clean end would look like the end
/// of the content.
pub(crate) fn until_revoked(response: Response, revoked: Cancel) -> Response {
    if response.body().size_hint().exact().is_some() {
        return response;
    }
    let revoked = revoked.into_cancelled();
    response.map(|body| Body::new(UntilRevoked { body, revoked: Some(revoked) }))
}

struct UntilRevoked {
    body: Body,
    /// Fires when the credential is revoked; `None` after the stream was cut.
    revoked: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl HttpBody for UntilRevoked {
    type Data = Bytes;
    type Error = axum::Error;

    /// Revocation is checked before the content, because a client that reads slowly always has more
    /// to get.
    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let Self { body, revoked } = &mut *self;
        let Some(end) = revoked else { return Poll::Ready(None) };
        if end.as_mut().poll(cx).is_pending() {
            return Pin::new(body).poll_frame(cx);
        }
        *revoked = None;
        Poll::Ready(Some(Err(axum::Error::new(Revoked))))
    }

    fn is_end_stream(&self) -> bool {
        self.revoked.is_none() || self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures::{FutureExt as _, stream};
    use http_body_util::BodyExt as _;

    use super::*;

    /// A client that reads slowly always finds more content at once, and its stream is cut all the
    /// same.
    #[test]
    fn a_stream_that_always_has_more_is_cut_too() {
        let more = stream::repeat_with(|| Ok::<_, Infallible>(Bytes::from_static(b"more")));
        let revoked = Cancel::new();
        let response = until_revoked(Response::new(Body::from_stream(more)), revoked.clone());
        let mut body = response.into_body();
        let mut next = || body.frame().now_or_never().unwrap();
        assert!(next().unwrap().unwrap().is_data());
        revoked.cancel();
        assert_eq!(next().unwrap().unwrap_err().to_string(), "the credential was revoked");
        assert!(next().is_none());
    }
}
