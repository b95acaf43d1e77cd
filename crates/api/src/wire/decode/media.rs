use onyx_types::UserPart;

use crate::Problem;

/// The image of a `data:` address. Others are not fetched: a request must not make this server
/// visit an address.
pub(super) fn image(path: &str, address: &str) -> Result<UserPart, Problem> {
    let whole = address.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    match whole {
        Some((media_type, data)) if media_type.starts_with("image/") => {
            Ok(UserPart::Image { media_type: media_type.to_owned(), data: data.to_owned() })
        }
        Some(_) | None => Err(Problem::field(
            path,
            "an image is taken as `data:image/…;base64,…` only; addresses are not fetched",
        )),
    }
}
