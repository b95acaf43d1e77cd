//! Error classes from the client's typed exceptions and the HTTP status, never from words.

use std::time::Duration;

use aws_sdk_bedrockruntime::config::http::HttpResponse;
use aws_sdk_bedrockruntime::error::{DisplayErrorContext, ProvideErrorMetadata, SdkError};
use aws_sdk_bedrockruntime::operation::converse_stream::ConverseStreamError;
use aws_sdk_bedrockruntime::types::error::ConverseStreamOutputError;
use onyx_providers::wire::{class_by_status, failure};
use onyx_types::{ModelFailure, ModelFailureClass};

/// The failure of a request that was refused or never arrived.
pub(crate) fn of_request(error: &SdkError<ConverseStreamError, HttpResponse>) -> ModelFailure {
    let class = match error {
        SdkError::ServiceError(context) => {
            let wait = context.raw().headers().get("retry-after").and_then(seconds);
            refused(context.err(), context.raw().status().as_u16(), wait)
        }
        other => unanswered(other),
    };
    failure(class, message(error))
}

/// The failure of an answer that broke off.
pub(crate) fn of_stream<R>(error: &SdkError<ConverseStreamOutputError, R>) -> ModelFailure
where
    R: std::fmt::Debug,
{
    let class = match error {
        SdkError::ServiceError(context) => broken(context.err()),
        SdkError::TimeoutError(_) => ModelFailureClass::Timeout,
        // The connection ended, or sent bytes that are not an event.
        _ => ModelFailureClass::Transport,
    };
    failure(class, message(error))
}

fn refused(
    error: &ConverseStreamError,
    status: u16,
    retry_after: Option<Duration>,
) -> ModelFailureClass {
    match error {
        ConverseStreamError::AccessDeniedException(_) => ModelFailureClass::Auth,
        ConverseStreamError::ThrottlingException(_) => {
            ModelFailureClass::RateLimited { retry_after }
        }
        ConverseStreamError::ServiceUnavailableException(_)
        | ConverseStreamError::ModelNotReadyException(_) => {
            ModelFailureClass::Overloaded { retry_after }
        }
        ConverseStreamError::ModelTimeoutException(_) => ModelFailureClass::Timeout,
        ConverseStreamError::ValidationException(_)
        | ConverseStreamError::ResourceNotFoundException(_) => ModelFailureClass::InvalidRequest,
        ConverseStreamError::InternalServerException(_)
        | ConverseStreamError::ModelErrorException(_)
        | ConverseStreamError::ModelStreamErrorException(_) => ModelFailureClass::Unavailable,
        // These are exceptions of the gateway before the service, for example for a wrong
        // signature.
        _ => class_by_status(status, retry_after),
    }
}

fn broken(error: &ConverseStreamOutputError) -> ModelFailureClass {
    match error {
        ConverseStreamOutputError::ThrottlingException(_) => {
            ModelFailureClass::RateLimited { retry_after: None }
        }
        ConverseStreamOutputError::ServiceUnavailableException(_) => {
            ModelFailureClass::Overloaded { retry_after: None }
        }
        ConverseStreamOutputError::ValidationException(_) => ModelFailureClass::InvalidRequest,
        ConverseStreamOutputError::InternalServerException(_)
        | ConverseStreamOutputError::ModelStreamErrorException(_) => ModelFailureClass::Unavailable,
        _ => ModelFailureClass::Unavailable,
    }
}

fn unanswered<E, R>(error: &SdkError<E, R>) -> ModelFailureClass {
    match error {
        SdkError::TimeoutError(_) => ModelFailureClass::Timeout,
        SdkError::DispatchFailure(broken) if broken.is_timeout() => ModelFailureClass::Timeout,
        SdkError::DispatchFailure(broken) if broken.is_io() => ModelFailureClass::Unavailable,
        SdkError::ConstructionFailure(_) => ModelFailureClass::InvalidRequest,
        _ => ModelFailureClass::Transport,
    }
}

fn message<E, R>(error: &SdkError<E, R>) -> String
where
    E: ProvideErrorMetadata + std::error::Error + 'static,
    R: std::fmt::Debug,
{
    match error.message() {
        Some(words) => format!("the provider answered with an error: {words}"),
        None => DisplayErrorContext(error).to_string(),
    }
}

fn seconds(value: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(value.parse().ok()?).ok()
}
