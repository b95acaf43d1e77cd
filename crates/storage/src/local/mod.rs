//! Everything that is kept in plain files on this machine (turn logs, objects), and what one
//! process keeps in memory (leases, pending entries).

mod aside;
mod backwards;
mod beneath;
mod copy;
mod known;
mod leases;
mod line;
mod live;
mod object_files;
mod objects;
mod ops;
mod page;
mod session;
mod short_lived;
mod turn_log;

pub(crate) use beneath::Dir;
pub(crate) use known::KnownFiles;
pub(crate) use leases::LocalLeases;
pub(crate) use line::{Line, decode as decode_line, encode as encode_line};
pub(crate) use live::{lines as live_lines, put_together as put_live_together};
pub(crate) use object_files::PathLocks;
pub use objects::LocalObjects;
pub use ops::{FileOps, SystemFiles};
pub(crate) use page::FoundTurns;
pub use short_lived::LocalShortLived;
pub(crate) use turn_log::LocalTurnLog;
