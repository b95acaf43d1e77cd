//! Reports to a client which of its fields were left out.

use axum::http::{HeaderMap, HeaderName, HeaderValue};

const IGNORED: &str = "x-onyx-ignored-fields";

/// The most fields that are named: more than any client library sends. Of further fields only the
/// number is given.
const MOST: usize = 64;

/// The header that names the fields, as far as their names fit in a header.
pub(super) fn ignored(names: &[String]) -> HeaderMap {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.[]".contains(&byte);
    let plain = |name: &&String| name.len() <= 96 && name.bytes().all(fits);
    let mut listed: Vec<String> = names.iter().filter(plain).take(MOST).cloned().collect();
    if listed.len() < names.len() {
        listed.push(format!("and {} more", names.len() - listed.len()));
    }
    let value = HeaderValue::from_str(&listed.join(", ")).ok().filter(|value| !value.is_empty());
    value.map(|value| (HeaderName::from_static(IGNORED), value)).into_iter().collect()
}
