//! Models behind HTTP: one module per wire format, vendors as data over it, decorators around it.
//!
//! The agent sees only `onyx_types::Model`. What may not enter: turns, sessions or tools' effects;
//! reading the environment (it is passed in); deciding an error's class by its wording; a key in
//! anything that can be printed.

mod aliases;
mod configured;
mod connect;
mod decorators;
mod embed;
mod failure;
mod http;
mod metadata;
mod oauth;
mod patience;
mod registry;
mod routing;
mod runtimes;
mod secret;
mod tokens;
pub mod wire;

pub use aliases::ModelsSettings;
pub use configured::{ConfiguredModels, NamedModel, PickedModel};
pub use decorators::{
    BookedModel, BreakerPolicy, Budget, CircuitState, LATENCY_BOUNDS, LastFailure, Latency,
    ModelMetrics, Payer, RetryPolicy, SpendAccounts, SpendBook, SpendLimits, UsageBook,
    UsageEstimate,
};
pub use http::{Download, RawPiece};
pub use metadata::{LongPromptPrice, Metadata, MetadataError, Modality, ModelFacts, Price};
pub use oauth::{
    AwsIdentity, AwsKeys, AwsSettings, AzureSettings, CredentialSettings, DeviceForm,
    LoginSettings, LoginState, LoginStatus, LoginWay, Logins, NoTokens, Pending, Quota,
    ServiceLogin, ServiceLogins, SharedSignIns, SignInTurn, TokenStore, VendorBrowser,
    VendorDevice, VendorLogin, VendorRedirect,
};
pub use registry::{
    AuthStyle, CompatSettings, Environment, Finding, ForwardRoute, Forwarding, KeyNeed,
    ListedModel, LocalServer, Locality, MachineIdentity, MediaRequest, ModelSettings, ModelSource,
    ModelStatus, ModelWeights, NamedSource, NoSecrets, ProviderHealth, ProviderKind,
    ProviderProblem, ProviderSettings, ProviderState, ProviderStatus, ProviderTest, Registry,
    RegistryError, SecretSource, Setup, TimeoutSettings, VENDORS, Vendor, WeightsFile, secret_of,
};
pub use routing::{
    Candidate, Choice, Need, NoModelFits, RoutingRule, RoutingSettings, Task, TaskClass, route,
};
pub use runtimes::{
    ChildWrapper, ClaudeCli, ClaudeLimits, ClaudeSettings, PiLimits, PiSettings, PiSidecar,
    environment_for_programs, exec_child,
};
pub use secret::Secret;
pub use tokens::CalibratedTokens;
