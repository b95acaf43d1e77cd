use onyx_types::{ErrorCode, Fault};

/// Why a request to a server failed. No text in the error holds a secret.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum McpError {
    /// The server could not be started or reached.
    #[error("{0}")]
    Unreachable(String),
    /// The connection has ended, because the server ended or broke a rule of the protocol.
    #[error("the server is not reachable: {0}")]
    Gone(String),
    #[error("no answer within {0} s")]
    Timeout(u64),
    /// The server answered with an error of its own.
    #[error("{message} (code {code})")]
    Answered { code: i64, message: String },
    /// The server's answer does not follow the protocol.
    #[error("the server's answer was not understood: {0}")]
    NotUnderstood(String),
    /// The server failed before and is not tried again yet.
    #[error("it failed {failures} times; the next attempt is in {seconds} s; last error: {why}")]
    Waiting { failures: u32, seconds: u64, why: String },
    /// The server requires a sign-in, and there is none or it failed.
    #[error("sign-in: {0}")]
    SignIn(String),
    #[error("{0}")]
    Quarantined(String),
    #[error("stopped")]
    Cancelled,
}

impl McpError {
    /// Whether the connection can still be used.
    pub(crate) const fn leaves_connection(&self) -> bool {
        match self {
            Self::Answered { .. } | Self::Quarantined(_) | Self::Cancelled => true,
            Self::Unreachable(_)
            | Self::Gone(_)
            | Self::Timeout(_)
            | Self::NotUnderstood(_)
            | Self::SignIn(_)
            | Self::Waiting { .. } => false,
        }
    }
}

impl From<McpError> for Fault {
    fn from(error: McpError) -> Self {
        let code = match error {
            McpError::SignIn(_) => ErrorCode::InvalidRequest,
            _ => ErrorCode::ToolFailed,
        };
        Self::new(code, error.to_string())
    }
}
