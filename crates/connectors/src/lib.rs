//! Connects the agents of this home to messengers and other networks.
//!
//! An update is stored before the next is asked for, a run is promised before it is started, and an
//! answer is put into the outbox in the transaction that ends its update. So no message is lost,
//! and none is answered twice. Start reading at `connector.rs` (what a network is) and `hub`.
//!
//! A module may use only the layers before its own: `connector`, `port`, `settings`, `text`,
//! `setup`; then `outbox`, `peers`, `networks`; then `context`, `answers` and finally `hub`.
//!
//! What may not enter: the agent (it is behind `port.rs`), HTTP routes, the reading of the config
//! file.

mod answers;
mod connector;
mod context;
mod hub;
mod mail;
mod networks;
mod notices;
mod outbox;
mod peers;
mod port;
mod qr;
mod settings;
mod setup;
mod text;

pub use answers::{AnswerFold, AnswerStep, Command};
pub use connector::{
    Author, Batch, Button, Connector, FileKind, FileRef, Identity, Incoming, Listening,
    NetworkError, NetworkTraits, Outgoing, OutgoingFile, OutgoingKind, PaceLimits, Press,
    PushedRequest, Quote, Update,
};
pub use hub::{
    AccountState, AccountStatus, Connectors, DeadLetterView, PeerView, TestReport, WeakConnectors,
};
pub use mail::{Letter, MailError, MailSecurity, MailSettings, Mailer};
pub use notices::OwnerNotice;
pub use peers::{Asker, agent_for};
pub use port::{
    AgentPort, Decision, DraftVerdict, Picture, Privacy, PromisedRun, RunEvents, StartRun,
    StartedRun,
};
pub use qr::{QrPicture, qr_picture};
pub use settings::{
    Account, AccountElsewhere, AccountSettings, Binding, BindingMatch, ConnectorsSettings,
    GroupRule, LookUp, Mode, NETWORKS, NetworkSettings, PeerMatch, PeerName, ProvidedConnector,
    ResolvedConnectors, ResolvedTranscriber, Secret, TranscriberSettings, Visitors,
    resolve_connectors,
};
pub use setup::{CommandPlace, ConnectorSetup, WaitTimes};
pub use text::{Block, RenderedMessage, Span, Style, TextFormat, TextLimits, pack};
