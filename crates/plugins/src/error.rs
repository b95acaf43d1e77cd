/// Why a plugin's program did not do what was asked, in words that hold no secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PluginError {
    /// It could not be started.
    #[error("{0}")]
    NotStarted(String),
    /// It ended, or broke a rule of the protocol.
    #[error("the program is gone: {0}")]
    Gone(String),
    #[error("no answer within {0} ms")]
    Timeout(u128),
    /// It answered with an error of its own.
    #[error("{message} (code {code})")]
    Answered { code: i64, message: String },
    /// It says that it is another one than its manifest says.
    #[error("{0}")]
    Lie(String),
    /// It does not run now.
    #[error("{0}")]
    NotRunning(String),
}
