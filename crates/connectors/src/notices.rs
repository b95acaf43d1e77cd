//! The notices that the owner got recently, as the app shows them.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use onyx_types::Timestamp;

/// The most notices that are kept; older ones are forgotten.
const MOST: usize = 50;

/// A notice to the owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnerNotice {
    pub at: Timestamp,
    pub text: String,
}

#[derive(Default)]
pub(crate) struct OwnerNotices(Mutex<VecDeque<OwnerNotice>>);

impl OwnerNotices {
    pub(crate) fn add(&self, notice: OwnerNotice) {
        let mut notices = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if notices.len() >= MOST {
            notices.pop_front();
        }
        notices.push_back(notice);
    }

    /// All notices, newest first.
    pub(crate) fn all(&self) -> Vec<OwnerNotice> {
        let notices = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        notices.iter().rev().cloned().collect()
    }
}
