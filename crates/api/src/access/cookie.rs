//! The cookie of a signed-in browser.

use axum::http::{HeaderMap, HeaderValue, header};
use onyx_identity::Secret;
use onyx_types::ErrorCode;

use super::front::Scheme;
use crate::Problem;

const NAME: &str = "onyx_session";
/// The lifetime of the cookie: that of the session behind it.
const SECONDS: u64 = 30 * 24 * 60 * 60;

/// The session in the browser's cookie; none where the browser sent several.
pub(crate) fn session(headers: &HeaderMap) -> Option<String> {
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut ours = lines.flat_map(|line| line.split(';')).filter_map(|pair| {
        let (name, value) = pair.trim().split_once('=')?;
        (name == NAME).then_some(value)
    });
    match (ours.next(), ours.next()) {
        (Some(value), None) => Some(value.to_owned()),
        _ => None,
    }
}

/// Sets the cookie that signs the browser in.
pub(crate) fn set(secret: &Secret, scheme: Scheme) -> Result<HeaderValue, Problem> {
    let secure = match scheme {
        Scheme::Https => "; Secure",
        Scheme::Http => "",
    };
    let value = secret.reveal();
    let text =
        format!("{NAME}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={SECONDS}{secure}");
    let mut value = HeaderValue::from_str(&text)
        .map_err(|_| Problem::new(ErrorCode::Internal, "the cookie could not be written"))?;
    value.set_sensitive(true);
    Ok(value)
}

/// Clears the cookie, which signs the browser out.
pub(crate) fn clear() -> HeaderValue {
    HeaderValue::from_static("onyx_session=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0")
}
