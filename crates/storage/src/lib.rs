//! Where things are kept: turn logs and files as plain files (the truth), ledgers in a database
//! (what needs transactions), leases, and the derived chunk store.
//!
//! Callers see traits only, narrow enough that PostgreSQL and an object store can stand behind
//! them. No policy lives here: who may read or write what is decided above. No model, tool, HTTP
//! or prompt code may enter.

mod accounts;
mod blocking;
mod channels;
mod chunks;
mod drafts;
mod entities;
mod error;
mod facts;
mod files;
mod front_matter;
mod home;
mod leases;
mod ledger;
mod local;
mod objects;
mod personas;
mod provenance;
mod rebuild;
mod spaces;
mod sqlite;
mod store;
mod turn_log;

pub use accounts::{
    Accounts, CredentialKind, CredentialRow, PersonRow, Role, SealedSecret, SealedSecrets, SecretId,
};
pub use blocking::Steps;
pub use channels::{Channel, ChannelCard, Channels, Coworker, Thread, space_of_thread};
pub use chunks::{
    ChunkCounts, ChunkId, ChunkRow, ChunkStore, Contents, Group, GroupId, SourceChange, SourceId,
    SourceKey, SourceKind, SourceRow, Stamp, Standing, StoredChunk, StoredVector,
};
pub use drafts::{Draft, DraftChange, DraftFilter, DraftMove, Drafts};
pub use entities::{Entities, Entity, EntityChange, EntityEdit, declared_origin};
pub use error::StoreError;
pub use facts::{forget_facts, keep_facts};
pub use files::{Area, End, Files, Found, Wanted};
pub use front_matter::FrontMatter;
pub use home::{Home, HomeError, HomePaths};
pub use leases::{Lease, Leases};
pub use ledger::{
    AuditEntry, AuditRow, BeginIn, BeginRun, ChainState, DaySpending, Delivery, InboxRow, Ledger,
    ModelUse, RunOutcome, RunRow, SessionChange, SessionFilter, SessionMeta, SessionStatus, Spent,
    TitleSource, UsageRow,
};
pub use local::{FileOps, LocalObjects, SystemFiles};
pub use objects::{Expect, Object, ObjectKey, ObjectKeyError, ObjectMeta, Objects};
pub use personas::{PersonaFiles, PersonaText, TestInput, TestInputId};
pub use provenance::{
    Change, History, Known, MemoryOrigins, OpenCommand, OriginNote, Origins, TICK_MS, Version,
    note_changed,
};
pub use rebuild::{Messages, Rebuilt, find_session, preview_of, rebuild_person, title_of};
pub use spaces::{Space, SpaceChange, Spaces};
pub use sqlite::open_chunks;
pub use store::Store;
pub use turn_log::{Damage, DamageKind, LiveText, LogState, Page, Pos, TurnLog};
