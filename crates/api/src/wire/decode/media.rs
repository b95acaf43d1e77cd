use onyx_types::{Attachment, AttachmentSource, UserPart};

use crate::Problem;

/// An image by its address: with its bytes inside (`data:`), or one that the model's provider may
/// fetch. This server never fetches it: a request must not make it visit an address.
pub(super) fn image(path: &str, address: &str) -> Result<UserPart, Problem> {
    if is_web(address) {
        return Ok(linked("image/*", None, address));
    }
    match data(address) {
        Some((media_type, data)) if media_type.starts_with("image/") => {
            Ok(UserPart::Image { media_type: media_type.to_owned(), data: data.to_owned() })
        }
        Some(_) | None => {
            Err(Problem::field(path, "an image must be `data:image/…;base64,…` or a web address"))
        }
    }
}

/// A document with its bytes in a `data:` address.
pub(super) fn document(
    path: &str,
    name: Option<String>,
    address: &str,
) -> Result<UserPart, Problem> {
    let Some((media_type, bytes)) = data(address) else {
        return Err(Problem::field(path, "a file must be `data:<type>;base64,…`"));
    };
    if media_type.starts_with("image/") {
        return image(path, address);
    }
    Ok(file(media_type, name, bytes.to_owned()))
}

pub(super) fn file(media_type: &str, name: Option<String>, data: String) -> UserPart {
    let source = AttachmentSource::Data(data);
    UserPart::Attachment(Attachment { media_type: media_type.to_owned(), name, source })
}

pub(super) fn linked(media_type: &str, name: Option<String>, address: &str) -> UserPart {
    let source = AttachmentSource::Url(address.to_owned());
    UserPart::Attachment(Attachment { media_type: media_type.to_owned(), name, source })
}

pub(super) fn is_web(address: &str) -> bool {
    address.starts_with("https://") || address.starts_with("http://")
}

fn data(address: &str) -> Option<(&str, &str)> {
    address.strip_prefix("data:")?.split_once(";base64,")
}
