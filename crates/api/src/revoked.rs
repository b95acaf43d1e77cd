//! An answer under way ends when the credential that asked for it is revoked.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::{Body, HttpBody};
use axum::response::Response;
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use onyx_types::Cancel;

#[derive(Debug, thiserror::Error)]
#[error("the credential was revoked")]
struct Revoked;

/// A body that is whole already is left alone. Of a stream, the connection is cut: a clean end
/// would look like the end of what there was to say.
pub(crate) fn until_revoked(response: Response, revoked: Cancel) -> Response {
    if response.body().size_hint().exact().is_some() {
        return response;
    }
    let revoked = revoked.into_cancelled();
    response.map(|body| Body::new(UntilRevoked { body, revoked: Some(revoked) }))
}

struct UntilRevoked {
    body: Body,
    /// `None` once it was cut.
    revoked: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl HttpBody for UntilRevoked {
    type Data = Bytes;
    type Error = axum::Error;

    /// Whether it is revoked is asked while nothing comes, and the call wakes for both.
    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let Self { body, revoked } = &mut *self;
        let Some(end) = revoked else { return Poll::Ready(None) };
        if let Poll::Ready(frame) = Pin::new(body).poll_frame(cx) {
            return Poll::Ready(frame);
        }
        ready!(end.as_mut().poll(cx));
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
