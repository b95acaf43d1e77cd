use std::path::PathBuf;

use onyx_storage::Area;

use crate::Asked;

/// Where people's spaces lie on this machine's disk.
#[derive(Clone, Debug)]
pub struct Spaces {
    home: PathBuf,
}

impl Spaces {
    pub fn new(home: PathBuf) -> Self {
        Self { home }
    }

    /// Without any, their tools would only lengthen every prompt.
    #[allow(clippy::disallowed_methods, reason = "looks for a fixed name; no model chose the path")]
    pub(crate) fn are_there(&self, asked: &Asked<'_>) -> bool {
        let folder = || self.home.join(Area::Person(asked.person.clone()).path()).join("spaces");
        *asked.has_spaces.get_or_init(|| folder().exists())
    }
}
