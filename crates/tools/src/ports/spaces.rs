use std::path::PathBuf;

use onyx_storage::Area;
use onyx_types::PersonId;

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
    pub(crate) fn check(&self, person: &PersonId) -> Result<(), String> {
        let folder = self.home.join(Area::Person(person.clone()).path()).join("spaces");
        if folder.exists() { Ok(()) } else { Err(String::new()) }
    }
}
