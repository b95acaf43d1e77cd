//! Documents and images that are given by their address: which of them a wire can carry.

use onyx_types::{Attachment, AttachmentSource, Block, ModelFailure, ModelRequest};

use crate::failure::unsupported;

/// Fails before anything is sent if the wire cannot carry something in the request.
pub(super) fn check(
    request: &ModelRequest,
    carries: impl Fn(&Attachment) -> bool,
) -> Result<(), ModelFailure> {
    let blocks = request.messages.iter().flat_map(|message| &message.content);
    for block in blocks {
        if let Block::Attachment(attachment) = block
            && !carries(attachment)
        {
            return Err(unsupported("messages", why(attachment)));
        }
    }
    Ok(())
}

fn why(attachment: &Attachment) -> &'static str {
    match (&attachment.source, attachment.is_image()) {
        (AttachmentSource::Url(_), true) => {
            "this model's provider takes no images by address; send the image as base64"
        }
        (AttachmentSource::Url(_), false) => {
            "this model's provider takes no documents by address; send the document as base64"
        }
        (AttachmentSource::Data(_), _) => {
            "this model's provider takes no documents; send their text"
        }
    }
}
