use std::path::PathBuf;

use onyx_storage::Area;
use onyx_types::PersonId;

/// Where people's spaces are: on this machine's disk, or only in the store.
#[derive(Clone, Debug)]
pub struct Spaces {
    home: Option<PathBuf>,
}

impl Spaces {
    pub fn new(home: PathBuf) -> Self {
        Self { home: Some(home) }
    }

    /// Spaces in a store where looking them up would take too long, so the tools are always
    /// offered.
    pub fn elsewhere() -> Self {
        Self { home: None }
    }

    /// Fails if there are no spaces, because the tools for them would only lengthen every prompt.
    #[allow(clippy::disallowed_methods, reason = "looks for a fixed name; no model chose the path")]
    pub(crate) fn check(&self, person: &PersonId) -> Result<(), String> {
        let Some(home) = &self.home else { return Ok(()) };
        let folder = home.join(Area::Person(person.clone()).path()).join("spaces");
        if folder.exists() { Ok(()) } else { Err(String::new()) }
    }
}
