use std::time::Duration;

/// Why a fetch failed. Addresses in the error are shown without their query.
#[derive(Debug, thiserror::Error)]
pub enum EgressError {
    #[error("{0}")]
    Address(String),
    /// The host is this machine or in a private network.
    #[error("{host} leads to {address}, which is not on the public internet")]
    NotPublic { host: String, address: String },
    #[error("the name {0} leads to no address")]
    UnknownName(String),
    #[error("more than {0} redirects")]
    TooManyRedirects(usize),
    #[error("no answer within {} s", .0.as_secs_f32())]
    Timeout(Duration),
    #[error("{host} cannot be reached: {why}")]
    Unreachable { host: String, why: String },
    /// The answer broke off, or is not HTTP.
    #[error("{host} did not answer properly: {why}")]
    BadAnswer { host: String, why: String },
    #[error("the answer is longer than {0} bytes")]
    TooLarge(usize),
    #[error("the HTTP client cannot be created: {0}")]
    Client(String),
}

impl EgressError {
    /// Whether the target is never allowed, as opposed to a failure of this call.
    pub const fn is_refusal(&self) -> bool {
        match self {
            Self::Address(_) | Self::NotPublic { .. } => true,
            Self::UnknownName(_)
            | Self::TooManyRedirects(_)
            | Self::Timeout(_)
            | Self::Unreachable { .. }
            | Self::BadAnswer { .. }
            | Self::TooLarge(_)
            | Self::Client(_) => false,
        }
    }
}
