use onyx_types::Timestamp;

use super::plan::LoginWay;

/// How it stands with a sign-in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginState {
    None,
    /// A code waits to be entered.
    Waiting,
    SignedIn,
    Failed,
    /// What was got by an earlier sign-in is no longer taken.
    SignInAgain,
}

impl LoginState {
    /// The word as JSON has it.
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
    /// The word as JSON has it.
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

/// What people are shown of a sign-in. Holds no token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoginStatus {
    pub state: LoginState,
    pub account: Option<String>,
    pub pending: Option<Pending>,
    /// Why the last try came to nothing, or why it must be made again.
    pub error: Option<String>,
    /// When it ends, where it cannot be renewed.
    pub until: Option<Timestamp>,
    /// How a person can sign in here.
    pub ways: Vec<LoginWay>,
    /// What was last told of how much of a plan is used.
    pub quota: Option<Quota>,
}

/// How much of a plan is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Which limit it is, in words.
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
    /// To be entered; a browser that comes back by itself has none.
    pub user_code: Option<String>,
    pub verification_uri: String,
    pub verification_uri_complete: Option<String>,
    pub expires_at: Timestamp,
}
