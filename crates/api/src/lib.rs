//! The HTTP surface: connections (`serve`), access control (`access`), the handlers with the rows
//! that declare them (`routes`, `routing`), and what is read and written (`wire`, `messages`).
//!
//! A route decodes a request, calls the agent services, and encodes their result. No agent logic,
//! no policy, no storage of its own may enter; wire types live here and nowhere else.

mod access;
mod changes;
mod logs;
mod messages;
mod openapi;
mod pass_through;
mod ports;
mod problem;
mod routes;
mod routing;
mod serve;
mod settings;
mod state;
mod web_app;
mod wire;

pub use access::{Access, AuthContext, Authenticator, Front, check_local};
pub use changes::{Change, Changes};
pub use logs::{LogLevel, LogLevels, LogLine, LogRing, Mask, SetLevel};
pub use messages::{HistoryMessage, MessageRole, MessageStatus, Trace, messages};
pub use pass_through::PassThrough;
pub use ports::{
    CalledModelView, Catalogue, ConfigChange, ConfigFlaw, ConfigPart, ConfigView, Configuration,
    Dependency, DependencyKind, DependencyName, DependencyState, Dialect, Embedded, FailureView,
    Forward, ForwardedAnswer, FoundProviderView, GatewayDuty, GatewayView, GatewayViewState,
    Gateways, Histogram, LinkedInAccount, LinkedInAccounts, LoginBegun, LoginView, Media,
    MediaRoute, ModelFigures, ModelView, OfferedModel, Piece, PluginSwitch, PriceView,
    ProviderView, QuotaView, Readiness, TestView, Upstream, WeightsFileView, WeightsView,
};
pub use problem::Problem;
pub use routes::{mcp_response, openapi, router, routes};
pub use routing::{Route, Routes};
pub use serve::{
    Accept, Admission, ConnectionLimits, ConnectionRuntimes, ConnectionSettings, RequestSender,
    SOCKET_KEY, SocketKey, Traffic, know_sender, serve,
};
pub use settings::{AuthMode, AuthSettings, DEFAULT_PORT, Exposure, GatewaySettings};
pub use state::{ApiState, Extensions, Shared};
pub use wire::encode::v1;
pub use wire::encode::{
    CallName, CompanionFrames, EventsFrom, Ndjson, PersonaFrames, RunFrame, SseFrame, ThreadFrames,
    UiMessageFrames, WsFrames,
};
pub use wire::{FieldNames, JsonBody, MAX_BODY, QueryOf};
