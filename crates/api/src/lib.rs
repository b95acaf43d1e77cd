//! The HTTP surface: routes, authentication, problem+json, and one pure encoder per wire format.
//!
//! A route decodes a request, asks the run manager, and encodes what comes back. No agent logic,
//! no policy, no storage of its own may enter; wire types live here and nowhere else.

mod access;
mod auth;
mod body;
mod catalogue;
mod changes;
mod configuration;
mod cookie;
mod decode;
mod encode;
mod etag;
mod foreign;
mod front;
mod guard;
mod history;
mod lanes;
mod logs;
mod model_answer;
mod openapi;
mod passing;
mod problem;
mod ready;
mod revoked;
mod routes;
mod routing;
mod serve;
mod settings;
mod sign_ins;
mod socket_key;
mod stalled;
mod state;
mod talk;
mod traffic;
mod ui;
mod upstream;

pub use access::Access;
pub use auth::{AuthContext, Authenticator};
pub use body::{JsonBody, MAX_BODY, QueryOf};
pub use catalogue::{
    CalledModelView, Catalogue, FailureView, FoundView, LoginBegun, LoginView, ModelView,
    PriceView, ProviderView, TestView, WeightsFileView, WeightsView,
};
pub use changes::{Change, Changes};
pub use configuration::{ConfigChange, ConfigFlaw, ConfigView, Configuration, Written};
pub use encode::v1;
pub use encode::{
    CallName, CompanionFrames, Ndjson, PersonaFrames, RunFrame, SseFrame, ThreadFrames, ToldFrom,
    UiMessageFrames, WsFrames,
};
pub use front::Front;
pub use history::{HistoryMessage, MessageRole, MessageStatus, Trace, messages};
pub use lanes::Lanes;
pub use logs::{LogLevel, LogLine, LogRing, Mask};
pub use passing::Passing;
pub use problem::Problem;
pub use ready::{Dependency, DependencyState, Readiness};
pub use routes::{openapi, router, routes};
pub use routing::{Route, Routes};
pub use serve::{Accept, Peer, serve};
pub use settings::{AuthMode, AuthSettings, DEFAULT_PORT, Exposure, GatewaySettings};
pub use socket_key::{SOCKET_KEY, SocketKey};
pub use state::{ApiState, Shared};
pub use traffic::Traffic;
pub use upstream::{
    Dialect, Embedded, Forward, Forwarded, Histogram, Listed, ModelFigures, Piece, Upstream,
};
