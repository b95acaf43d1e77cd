use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc;

use crate::mask::{MaskedPieces, Masker};

/// Shows the output of a long call while it works. The queue is bounded and output may be dropped,
/// because the result holds all of it.
#[derive(Clone, Default)]
pub struct LiveOutput {
    sender: Option<mpsc::Sender<String>>,
    /// Masks the pieces. Clones share it, because they show one text.
    masked: Option<Arc<Mutex<MaskedPieces>>>,
}

impl LiveOutput {
    pub fn to(sender: mpsc::Sender<String>) -> Self {
        Self { sender: Some(sender), masked: None }
    }

    pub fn nowhere() -> Self {
        Self::default()
    }

    /// A copy that masks the secrets that the masker knows, even if they are split between pieces.
    #[must_use]
    pub(crate) fn masked_by(&self, masker: &Masker) -> Self {
        let pieces = MaskedPieces::new(masker.clone());
        Self { sender: self.sender.clone(), masked: Some(Arc::new(Mutex::new(pieces))) }
    }

    pub fn send(&self, chunk: impl Into<String>) {
        let chunk = chunk.into();
        self.show(match &self.masked {
            Some(pieces) => lock(pieces).add(&chunk),
            None => chunk,
        });
    }

    /// Shows the text that was held back, because nothing follows.
    pub(crate) fn finish(&self) {
        if let Some(pieces) = &self.masked {
            self.show(lock(pieces).finish());
        }
    }

    fn show(&self, text: String) {
        if let Some(sender) = self.sender.as_ref().filter(|_| !text.is_empty()) {
            // If the queue is full or closed, live output is dropped; the result holds all of it.
            let _ = sender.try_send(text);
        }
    }
}

fn lock(pieces: &Mutex<MaskedPieces>) -> MutexGuard<'_, MaskedPieces> {
    pieces.lock().unwrap_or_else(PoisonError::into_inner)
}
