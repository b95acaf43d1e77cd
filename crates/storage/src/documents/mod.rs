//! What people and agents write as markdown: pages, tasks, refs and projects of a space, the cards of spaces and
//! channels, the texts of personas. Plain files in a person's vault, read and written through [`crate::Files`], so that
//! every change has its history. Who may read or write them is decided above; nothing here asks the ledger.

mod channels;
mod entities;
mod front_matter;
mod personas;
mod spaces;

pub use channels::{Channel, ChannelCard, Channels, Coworker, Thread, space_of_thread};
pub use entities::{Entities, Entity, EntityChange, EntityEdit, declared_origin};
pub use front_matter::FrontMatter;
pub use personas::{PersonaFiles, PersonaText, TestInput, TestInputId};
pub use spaces::{Space, SpaceChange, Spaces};
