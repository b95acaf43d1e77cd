//! What the routes need from the rest of the program, as traits: providers and models, the config
//! file, the server's dependencies, and the way to a provider for requests that pass through.
//!
//! The binary implements them. No provider, no config format and no file is known here.

mod catalogue;
mod configuration;
mod gateways;
mod health;
mod linkedin;
mod readiness;
mod upstream;

pub use catalogue::{
    CalledModelView, Catalogue, FailureView, FoundProviderView, LoginBegun, LoginView, ModelView,
    PriceView, ProviderView, QuotaView, TestView, WeightsFileView, WeightsView,
};
pub use configuration::{
    ConfigChange, ConfigFlaw, ConfigPart, ConfigView, Configuration, PluginSwitch,
};
pub use gateways::{GatewayDuty, GatewayView, GatewayViewState, Gateways};
pub use linkedin::{LinkedInAccount, LinkedInAccounts};
pub use readiness::{Dependency, DependencyKind, DependencyName, DependencyState, Readiness};
pub use upstream::{
    Dialect, Embedded, Forward, ForwardedAnswer, Histogram, Media, MediaRoute, ModelFigures,
    OfferedModel, Piece, Upstream,
};
