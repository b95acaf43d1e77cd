use onyx_types::Timestamp;

use super::resolved_login::LoginWay;

/// The state of a sign-in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginState {
    None,
    /// The person has not entered the code yet.
    Waiting,
    SignedIn,
    Failed,
    /// The provider no longer accepts the tokens of an earlier sign-in.
    SignInAgain,
}

impl LoginState {
    /// The name in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Waiting => "waiting",
            Self::SignedIn => "signed_in",
            Self::Failed => "failed",
            Self::SignInAgain => "sign_in_again",
        }
    }
}

impl LoginWay {
    /// The name in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Browser => "browser",
        }
    }

    pub fn of(word: &str) -> Option<Self> {
        [Self::Code, Self::Browser].into_iter().find(|way| way.as_str() == word)
    }
}

/// A sign-in as people see it. Holds no token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoginStatus {
    pub state: LoginState,
    pub account: Option<String>,
    pub pending: Option<Pending>,
    /// Why the last try failed, or why a new sign-in is needed.
    pub error: Option<String>,
    /// When the sign-in ends, if it cannot be renewed.
    pub until: Option<Timestamp>,
    /// How a person can sign in here.
    pub ways: Vec<LoginWay>,
    /// The last known usage of the plan.
    pub quota: Option<Quota>,
}

/// The used part of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quota {
    /// The name of the limit, for people.
    pub limit: String,
    pub used_percent: Option<u8>,
    pub resets_at: Option<Timestamp>,
}

impl LoginStatus {
    pub const NONE: Self = Self {
        state: LoginState::None,
        account: None,
        pending: None,
        error: None,
        until: None,
        ways: Vec::new(),
        quota: None,
    };
}

/// What a person needs to sign in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pending {
    pub way: LoginWay,
    /// The code that the person enters; a browser that returns on its own has none.
    pub user_code: Option<String>,
    pub verification_uri: String,
    pub verification_uri_complete: Option<String>,
    pub expires_at: Timestamp,
}
