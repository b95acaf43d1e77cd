//! What people and agents write as markdown and cards: pages, tasks, refs and projects of a space,
//! the cards of spaces and channels, the texts of personas. They are plain files, read and written
//! through [`crate::Files`], and every change is kept in a history. Who may read or write them is
//! decided elsewhere; nothing here asks the ledger.

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
