use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::UpstreamError;

macro_rules! error_table {
    ($($name:ident $class:ident $wire:literal $status:literal $sentence:literal $hint:literal;)*) => {
        /// Every error that a client can see, with its code, class, HTTP status, sentence and hint.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
        #[schemars(extend("x-classes" = classes()))]
        pub enum ErrorCode {
            $(#[serde(rename = $wire)] $name,)*
        }

        impl ErrorCode {
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $wire,)* }
            }

            /// Where the error comes from.
            pub const fn class(self) -> ErrorClass {
                match self { $(Self::$name => ErrorClass::$class,)* }
            }

            pub const fn http_status(self) -> u16 {
                match self { $(Self::$name => $status,)* }
            }

            /// What happened, in one sentence.
            pub const fn sentence(self) -> &'static str {
                match self { $(Self::$name => $sentence,)* }
            }

            /// What to do about it.
            pub const fn hint(self) -> &'static str {
                match self { $(Self::$name => $hint,)* }
            }
        }
    };
}

/// Where an error comes from; it decides where a person can do something about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    /// The request: what it asks for, or who asks.
    Request,
    /// Something has changed, or was decided, since the client looked.
    Conflict,
    /// A limit of runs or requests.
    Limit,
    /// A provider of models, or the choice of the model.
    Provider,
    Tool,
    /// The run was ended.
    Run,
    /// This server, its disk and its database.
    Server,
}

/// The schema's list of each code with its class, for clients.
fn classes() -> serde_json::Value {
    ErrorCode::ALL.iter().map(|code| (code.as_str(), serde_json::json!(code.class()))).collect()
}

error_table! {
    InvalidRequest Request "invalid_request" 400 "The request is not valid." "Check the field named in the message.";
    Unauthenticated Request "unauthenticated" 401 "No valid credential was sent." "Send `Authorization: Bearer <token>`; `onyx doctor` shows where the token is.";
    SignInAgain Request "sign_in_again" 401 "This browser has to sign in again: its cookie alone is not enough." "Sign in here; the page then keeps its own key and sends it with the cookie.";
    Forbidden Request "forbidden" 403 "This credential may not do that." "Ask the owner, or use another credential.";
    OwnerRequired Request "owner_required" 403 "Only the owner of this home may approve that." "Ask the owner to decide on it, or to add its effect to `limits.members_may_approve`.";
    NotFound Request "not_found" 404 "Nothing was found under this id or name." "Check the id or name; the lists show what exists.";
    ModelNotFound Provider "model_not_found" 404 "No such model or agent is configured." "`onyx doctor` lists providers and agents.";
    SessionBusy Conflict "session_busy" 409 "The session is answering another message." "Wait for it to finish, or stop it first.";
    ConfirmationRequired Conflict "confirmation_required" 409 "This needs a person's confirmation." "Send it again with `confirm: true`.";
    DraftStale Conflict "draft_stale" 409 "The target of the draft has changed since it was proposed." "Look at the new preview and decide again.";
    DraftDecided Conflict "draft_decided" 409 "The draft was decided already." "Nothing to do.";
    DraftExpired Conflict "draft_expired" 410 "The draft has expired." "Ask the agent to propose it again.";
    VersionConflict Conflict "version_conflict" 412 "The file changed since it was read." "Read it again and repeat the change.";
    TooLarge Request "too_large" 413 "The request is too large." "Send less at once; the message says how much is allowed.";
    InvalidAction Request "invalid_action" 422 "The action file is not valid." "Correct the file; the message says where.";
    RateLimited Limit "rate_limited" 429 "Too many requests." "Wait, then try again.";
    LimitSteps Limit "limit_steps" 422 "The run reached its limit of steps." "Continue with a new message, or raise `limits.max_steps`.";
    LimitToolCalls Limit "limit_tool_calls" 422 "The run reached its limit of tool calls." "Continue with a new message, or raise `limits.max_tool_calls`.";
    LimitSeconds Limit "limit_seconds" 422 "The run reached its time limit." "Continue with a new message, or raise `limits.max_run_seconds`.";
    LimitOutput Limit "limit_output" 422 "The answer reached its length limit." "Ask the agent to continue, or raise `limits.max_output_tokens`.";
    LimitPrompt Limit "limit_prompt" 422 "The message is longer than allowed." "Shorten it, or raise `limits.max_prompt_bytes`.";
    LimitBudget Limit "limit_budget" 422 "The budget is used up." "Raise `limits.max_cost`, `max_cost_per_day` or `max_cost_per_agent_day`, or wait until tomorrow.";
    LimitLoop Limit "limit_loop" 422 "The agent repeated the same tool call and was stopped." "Say what should be done differently.";
    ProviderAuth Provider "provider_auth" 502 "The provider refused the credential." "Check the provider's `apiKey` in the config.";
    ProviderRateLimited Provider "provider_rate_limited" 429 "The provider is limiting requests." "Wait, or configure a fallback model.";
    ProviderOverloaded Provider "provider_overloaded" 503 "The provider is overloaded." "Wait, or configure a fallback model.";
    ProviderContextLength Provider "provider_context_length" 422 "The conversation is longer than the model's context window." "Start a new session, or choose a model with a larger context window.";
    ProviderTruncated Provider "provider_truncated" 502 "The provider's answer broke off." "Send the message again.";
    ProviderUnavailable Provider "provider_unavailable" 502 "The provider cannot be reached." "`onyx doctor` tests it. Check `baseUrl` and the network; for a local model, see `onyx models info`.";
    ProviderPaused Provider "provider_paused" 503 "The model failed several times in a row and is paused for a while." "Try again after the time in Retry-After, or configure a fallback model.";
    ProviderTimeout Provider "provider_timeout" 504 "The provider did not answer in time." "Try again, or raise the provider's `timeouts`.";
    ProviderRefused Provider "provider_refused" 422 "The provider refused the request." "The message says why; change the request or the model.";
    ToolDenied Tool "tool_denied" 403 "The gate did not allow the tool call." "Raise the agent's tier or its tool list if it should be allowed.";
    ToolFailed Tool "tool_failed" 500 "The tool failed." "The message says why.";
    ToolTimeout Tool "tool_timeout" 504 "The tool did not finish in time." "Try again with less work in one call.";
    Cancelled Run "cancelled" 499 "The run was stopped." "Send a new message to continue.";
    Interrupted Run "interrupted" 500 "The server stopped while the run was working." "Send the message again; what was finished is kept.";
    Overloaded Server "overloaded" 503 "Onyx is already working on as many runs as it may." "Try again after the time in Retry-After, or raise `gateway.maxRuns`.";
    StorageFull Server "storage_full" 507 "The disk is full." "Free some space; nothing that was acknowledged is lost.";
    StorageFailed Server "storage_failed" 500 "Writing to the disk failed." "Check the disk; the session is read-only until the server restarts.";
    StorageUnavailable Server "storage_unavailable" 503 "The database or the object store cannot be reached." "Try again after the time in Retry-After; `onyx doctor` tests both.";
    KeyUnavailable Server "key_unavailable" 503 "The key that encrypts the secrets is not available now." "Unlock the keyring of your desktop, then `onyx secrets list`; or remove the secret and set it again.";
    Internal Server "internal" 500 "Something went wrong inside Onyx." "Look at the log with the request's id.";
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An error as it is shown to a person: a code from the table and what happened in this case.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize, JsonSchema)]
#[error("{message}")]
pub struct Fault {
    pub code: ErrorCode,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    /// The field of the request that caused the error. It is only used while the request is
    /// handled.
    #[serde(skip)]
    field: Option<String>,
    /// The provider's own answer, for clients that speak its format.
    #[serde(skip)]
    pub upstream: Option<Box<UpstreamError>>,
    /// When a retry may succeed; whole seconds on the wire.
    #[serde(
        rename = "retry_after_seconds",
        default,
        skip_serializing_if = "Option::is_none",
        with = "whole_seconds"
    )]
    #[schemars(with = "Option<u64>")]
    pub retry_after: Option<Duration>,
}

/// Writes a wait in whole seconds, rounded up.
mod whole_seconds {
    use std::time::Duration;

    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        wait: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match wait {
            Some(wait) => serializer.serialize_some(&(wait.as_millis().div_ceil(1000) as u64)),
            None => serializer.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<u64>::deserialize(deserializer)?.map(Duration::from_secs))
    }
}

impl Fault {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            hint: None,
            field: None,
            upstream: None,
            retry_after: None,
        }
    }

    /// A fault whose message is the table's own sentence.
    pub fn plain(code: ErrorCode) -> Self {
        Self::new(code, code.sentence())
    }

    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    #[must_use]
    pub fn with_field(mut self, path: impl Into<String>) -> Self {
        self.field = Some(path.into());
        self
    }

    pub fn field(&self) -> Option<&str> {
        self.field.as_deref()
    }

    pub fn hint(&self) -> &str {
        self.hint.as_deref().unwrap_or(self.code.hint())
    }
}

impl From<crate::IdError> for Fault {
    fn from(error: crate::IdError) -> Self {
        Self::new(ErrorCode::InvalidRequest, error.to_string())
    }
}
