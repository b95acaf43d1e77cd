//! The tools that need nothing but the context of every call ([`ToolCx`](crate::ToolCx)). Each is
//! one file, and the list of them is made when the crate is built (`build.rs`).
//!
//! Each file has a `POSITION`, which says where agents see the tool among the others, and a
//! function `tool`. A tool that needs a service of the server belongs in the folder above.

use std::sync::Arc;

use super::{MEMORY_FILE, acting, changing, reading, spec_of, text_argument, writing};
use crate::Tool;

include!(concat!(env!("OUT_DIR"), "/plain_tools.rs"));

/// The tools are always in the same order, so that prompt caches hit.
pub(super) fn tools() -> Vec<Arc<dyn Tool>> {
    let mut listed = listed();
    listed.sort_by_key(|(position, _)| *position);
    listed.into_iter().map(|(_, tool)| tool).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_file_of_the_folder_is_a_tool_at_a_position_of_its_own() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/builtin/plain");
        #[allow(clippy::disallowed_methods, reason = "a test looks at the sources")]
        let files = std::fs::read_dir(folder).unwrap().count() - 1;
        let positions: BTreeSet<u16> = listed().iter().map(|(position, _)| *position).collect();
        assert_eq!((listed().len(), positions.len()), (files, files));
    }
}
