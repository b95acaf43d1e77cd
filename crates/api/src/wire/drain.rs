//! Reads and drops request bodies that nobody wants, within limits. Closing a connection with unread
//! data resets it: the client might lose the answer, and cannot use the connection again.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::header;
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_body_util::BodyExt;
use tokio::runtime::Handle;
use tokio::time::timeout;

/// How much of an unwanted body is still read before its connection is closed.
const MAX_BYTES: usize = 64 * 1024 * 1024;
const LIMIT: Duration = Duration::from_secs(10);

pub(super) async fn drain(mut body: Body) {
    let rest = async {
        let mut left = MAX_BYTES;
        while let Some(Ok(frame)) = body.frame().await {
            let size = frame.data_ref().map_or(0, Bytes::len);
            let Some(now) = left.checked_sub(size) else { return };
            left = now;
        }
    };
    // On a timeout the connection is closed with the rest unread, because nothing else can be done.
    let _ = timeout(LIMIT, rest).await;
}

/// Drains the body of the request if nothing begins to read it, as when the sign-in is refused
/// before the body has arrived.
pub(crate) fn drained_unless_read(request: Request) -> Request {
    // A client that waits for `100 Continue` has sent nothing and will not.
    if request.body().is_end_stream() || request.headers().contains_key(header::EXPECT) {
        return request;
    }
    request.map(|body| Body::new(DrainedUnlessRead { body, is_begun: false }))
}

struct DrainedUnlessRead {
    body: Body,
    is_begun: bool,
}

impl HttpBody for DrainedUnlessRead {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        self.is_begun = true;
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for DrainedUnlessRead {
    fn drop(&mut self) {
        if self.is_begun {
            return;
        }
        // The process may be about to end, without a runtime to read in.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(drain(std::mem::take(&mut self.body)));
        }
    }
}
