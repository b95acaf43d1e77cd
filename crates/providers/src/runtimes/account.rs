//! The last known state of a program's own sign-in, learnt from its calls or from asking it.

use std::sync::{Mutex, PoisonError};

use onyx_types::{ModelFailure, ModelFailureClass};

use crate::oauth::{LoginState, LoginStatus, Quota};

/// The last known state; empty before the first call or test.
#[derive(Debug, Default)]
pub(super) struct AccountBook(Mutex<Option<LoginStatus>>);

impl AccountBook {
    pub(super) fn status(&self) -> Option<LoginStatus> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set(&self, status: LoginStatus) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(status);
    }

    /// A name is known; whether the sign-in is still valid shows with the next call.
    pub(super) fn note_name(&self, account: String) {
        let before = self.status().unwrap_or(LoginStatus::NONE);
        let (state, quota, until) = (before.state, before.quota, before.until);
        let account = Some(account);
        self.set(LoginStatus { state, account, quota, until, ..LoginStatus::NONE });
    }

    pub(super) fn note_success(&self) {
        let before = self.status().unwrap_or(LoginStatus::NONE);
        let (account, quota, until) = (before.account, before.quota, before.until);
        let state = LoginState::SignedIn;
        self.set(LoginStatus { state, account, quota, until, ..LoginStatus::NONE });
    }

    pub(super) fn note_quota(&self, quota: Quota) {
        let before = self.status().unwrap_or(LoginStatus::NONE);
        self.set(LoginStatus { quota: Some(quota), ..before });
    }

    pub(super) fn note_failure(&self, failure: &ModelFailure) {
        if let ModelFailureClass::SignIn { .. } = failure.class {
            let account = self.status().and_then(|status| status.account);
            let error = Some(failure.message.clone());
            let state = LoginState::SignInAgain;
            self.set(LoginStatus { state, account, error, ..LoginStatus::NONE });
        }
    }
}
