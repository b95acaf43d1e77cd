//! Why a name does not lead to a model.

use onyx_types::{ErrorCode, Fault};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    #[error("`{0}` is not a model: write <provider>/<model>")]
    NotAModel(String),
    #[error("no provider is named `{0}` in the config")]
    UnknownProvider(String),
    #[error("the provider `{name}` is disabled: {reason}")]
    Disabled { name: String, reason: String },
    /// The fault that a source reports about one of its models.
    #[error(transparent)]
    Source(Fault),
}

impl From<RegistryError> for Fault {
    fn from(error: RegistryError) -> Self {
        let code = match error {
            RegistryError::Source(fault) => return fault,
            RegistryError::NotAModel(_) | RegistryError::UnknownProvider(_) => {
                ErrorCode::ModelNotFound
            }
            RegistryError::Disabled { .. } => ErrorCode::ProviderUnavailable,
        };
        Self::new(code, error.to_string())
    }
}
