/// Why a request to a plugin's program failed. No text in the error holds a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PluginError {
    /// The program could not be started.
    #[error("{0}")]
    NotStarted(String),
    /// The program ended, or broke a rule of the protocol.
    #[error("the program is not running: {0}")]
    Gone(String),
    #[error("no answer within {0} ms")]
    Timeout(u128),
    /// The program answered with an error of its own.
    #[error("{message} (code {code})")]
    Answered { code: i64, message: String },
    /// The program identifies itself differently from its manifest.
    #[error("{0}")]
    Lie(String),
    /// The program is not running now.
    #[error("{0}")]
    NotRunning(String),
}
