//! An answer under way ends when the credential that asked for it is revoked.

use axum::body::{Body, HttpBody as _};
use axum::response::Response;
use bytes::Bytes;
use futures::{StreamExt as _, stream};
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
    response.map(|body| {
        let end = revoked.clone();
        let live = body.into_data_stream().take_until(async move { end.cancelled().await });
        let cut = stream::once(async move { revoked.is_cancelled() });
        let cut = cut.filter_map(async |is_cut| {
            is_cut.then(|| Err::<Bytes, axum::Error>(axum::Error::new(Revoked)))
        });
        Body::from_stream(live.chain(cut))
    })
}
