use std::borrow::Cow;
use std::sync::Arc;

use onyx_tools::Toolbox;
use onyx_types::{UserContent, UserPart};

/// Replaces known secrets in texts, because no secret may reach a model or a log.
#[derive(Clone)]
pub(crate) struct SecretMask(Arc<Toolbox>);

impl SecretMask {
    pub(crate) fn new(toolbox: Arc<Toolbox>) -> Self {
        Self(toolbox)
    }

    pub(crate) fn text(&self, text: String) -> String {
        match self.0.mask(&text) {
            Cow::Owned(masked) => masked,
            Cow::Borrowed(_) => text,
        }
    }

    pub(crate) fn content(&self, content: UserContent) -> UserContent {
        match content {
            UserContent::Text(text) => UserContent::Text(self.text(text)),
            UserContent::Parts(parts) => {
                UserContent::Parts(parts.into_iter().map(|part| self.part(part)).collect())
            }
        }
    }

    fn part(&self, part: UserPart) -> UserPart {
        match part {
            UserPart::Text { text } => UserPart::Text { text: self.text(text) },
            other @ (UserPart::Image { .. } | UserPart::File { .. } | UserPart::Attachment(_)) => {
                other
            }
        }
    }
}
