//! Where data is kept: turn logs and files as plain files (the truth), ledgers in a database (for
//! what needs transactions), leases, and the derived chunk store.
//!
//! Callers see only traits. They are narrow enough that files with SQLite can implement them as
//! well as PostgreSQL with an object store. This crate holds no policy: who may read or write what
//! is decided by its callers. No code about models, tools, HTTP or prompts may enter.

mod audit;
mod blocking;
mod chunks;
mod documents;
mod error;
mod home;
mod leases;
mod ledger;
mod local;
mod objects;
mod postgres;
mod provenance;
mod s3;
mod server;
mod sessions;
mod sqlite;
mod store;

pub use audit::{AuditExport, AuditSeal, AuditWitnesses};
pub use blocking::Steps;
pub use chunks::{
    ChunkCounts, ChunkFacts, ChunkId, ChunkRow, ChunkStore, Contents, EntityName, EntityRow,
    FactId, FactRow, Group, GroupId, Holds, Message, NameDecisions, ObjectKind, OutlinedChunk,
    OutlinedMessage, SourceChange, SourceId, SourceKey, SourceKind, SourceRow, Stamp,
    StorePosition, StoredChunk, StoredFact, StoredVector,
};
pub use documents::{
    Channel, ChannelCard, Channels, Coworker, Entities, Entity, EntityChange, EntityEdit,
    FrontMatter, PersonaFiles, PersonaText, Space, SpaceChange, Spaces, TestInput, TestInputId,
    Thread, declared_origin, space_of_thread,
};
pub use error::StoreError;
pub use home::{Home, HomeError, HomePaths};
pub use leases::{Duties, Lease, Leases, LocalDuties, OwnedDuty, WorkLife};
pub use ledger::{
    Acceptance, AcceptanceKind, Acceptances, AccountKey, Accounts, AuditEntry, AuditRow, BeginIn,
    BeginRun, ChainState, ClaimOutcome, ConnectorLedger, ConversationRow, CredentialKind,
    CredentialRow, DaySpending, DeadLetter, Delivery, Draft, DraftChange, DraftCondition,
    DraftDecision, DraftFilter, DraftMove, DraftOutput, Drafts, InboxRow, InboxState, InboxUpdate,
    JobChange, JobLedger, JobRow, JobSlot, Ledger, LeftMessage, LetterKind, Mail, ModelUse,
    NewPart, NewUpdate, OutboxPart, PairingCode, PartState, PeerChange, PeerKey, PeerKind, PeerRow,
    PeerState, PersonRow, QueueFigures, Repeat, Role, RunOutcome, RunRow, SealedSecret,
    SealedSecrets, SecretId, SendEnd, SessionChange, SessionFilter, SessionMarks, SessionMeta,
    SessionMove, SessionSequence, SessionStatus, Settling, ShortLived, ShortLivedClaim,
    ShortLivedEntry, ShortLivedKind, ShortLivedRoom, SlotClaim, SlotDelivery, SlotEnding, SlotKey,
    SlotState, SlotTrigger, SpentAmount, TagCount, TitleSource, UnusedSession, UpdateFailure,
    UsageRow,
};
pub use local::{FileOps, LocalObjects, LocalShortLived, SystemFiles};
pub use objects::{
    Area, Expect, FileEnd, FileLookup, Files, FoundObject, Object, ObjectKey, ObjectKeyError,
    ObjectMeta, Objects, TreeEntry,
};
pub use postgres::{
    Admission, BootClock, ClusterChanges, CopiedContent, CopiedFile, CopiedLog, DatabaseReport,
    DatabaseUrl, FailureBucket, GatewayOverview, GatewayRow, GatewaySettings, GatewayState,
    MoveCounts, MoveError, MoveExtras, MovingServer, OpenRuns, Overflow, PollPosition,
    SCHEMA_VERSION, Sealing, ServerAdditions, ServerCopy, ServerError, SharedConfig,
    SharedFailures, inspect_database, list_gateways, migrate_database, read_shared_config,
    server_secrets,
};
pub use provenance::{
    Change, ContentRecord, FileStep, History, MemoryOrigins, OpenCommand, OriginNote, Origins,
    TICK_MS, Version, note_changed,
};
pub use s3::{BlockingBucket, ListedObject, ObjectsRight, ObjectsUrl, S3Settings};
pub use server::{Membership, ServerClocks, ServerSettings, StorageSettings};
pub use sessions::{
    Attempt, BeginError, Damage, DamageKind, FinalWrite, LiveText, LogState, LogTail, Messages,
    OneAppend, Page, Pos, RebuildCounts, RunLog, StepwiseRunLog, TurnLog, append_once,
    find_session, forget_details, keep_details, preview_of, rebuild_person, title_of,
};
pub use sqlite::{ReadOnlySecrets, copy_database, open_chunks};
pub use store::Store;
