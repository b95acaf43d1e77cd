//! The person's files: as an agent's calls see and change them, and as the person changes them.
//!
//! All reads and writes of a person's files go through this room and `onyx_storage`, so that
//! versions are kept, drafts are seen and the origin of contents is known. Nothing here decides
//! whether a change may happen: tools and the toolbox ask the gate first.

mod agent_files;
mod changes;
mod command_files;
pub(crate) mod conversation;
pub(crate) mod entities;
mod person_files;

pub(crate) use agent_files::{AgentFiles, Writer};
pub(crate) use changes::{apply, current_hash, diff_to_disk, origin_of_targets};
pub(crate) use command_files::{CommandStep, StepEnd};
pub use person_files::{LARGEST_PERSON_FILE, NumberedVersion, PersonFiles};
