//! The `onyx` process and the machine around it: its client, its disk, its desktop, the database
//! and the object store, every change of a file.

mod desktop;
mod process;
mod servers;
mod tracer;

pub use desktop::Desktop;
pub use process::{
    AgentClient, ChatLines, DEFAULT_KEY, DEFAULT_PASSWORD, DEFAULT_TOKEN, OnyxBuilder, OnyxProcess,
    Reply, SmallDisk, resident_bytes_of,
};
pub use servers::{MASTER_KEY, ServerPlace, Servers};
pub use tracer::{Fate, FileChange, Tracer};
