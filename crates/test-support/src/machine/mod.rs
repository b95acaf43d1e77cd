//! The `onyx` process and the machine around it: its client, its disk, its desktop, the database
//! and the object store, every change of a file.

mod desktop;
mod old_tables;
mod process;
mod servers;
mod tracer;

pub use desktop::Desktop;
pub use old_tables::{OLD_TABLES, TableContents, copy_into_old_tables, fill_empty_tables};
pub use process::{
    AgentClient, ChatLines, DEFAULT_KEY, DEFAULT_PASSWORD, DEFAULT_TOKEN, OnyxBuilder, OnyxProcess,
    Reply, SmallDisk, anonymous_bytes_of, resident_bytes_of,
};
pub use servers::{MASTER_KEY, ServerPlace, Servers};
pub use tracer::{Fate, FileChange, Tracer};
