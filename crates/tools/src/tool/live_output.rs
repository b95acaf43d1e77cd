use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc;

use crate::mask::{MaskedPieces, Masker};

/// Where a long tool shows its output while it works. Bounded; output that is not read in time is
/// dropped, since the whole comes with the result.
#[derive(Clone, Default)]
pub struct LiveOutput {
    sender: Option<mpsc::Sender<String>>,
    /// The pieces are shared by clones, which show one text.
    masked: Option<Arc<Mutex<MaskedPieces>>>,
}

impl LiveOutput {
    pub fn to(sender: mpsc::Sender<String>) -> Self {
        Self { sender: Some(sender), masked: None }
    }

    pub fn nowhere() -> Self {
        Self::default()
    }

    /// The same without the secrets that the masker knows, also where pieces cut them.
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

    /// Shows what was held back, because nothing more comes.
    pub(crate) fn finish(&self) {
        if let Some(pieces) = &self.masked {
            self.show(lock(pieces).finish());
        }
    }

    fn show(&self, text: String) {
        if let Some(sender) = self.sender.as_ref().filter(|_| !text.is_empty()) {
            // If the channel is full or closed, live output may be lost; the result never is.
            let _ = sender.try_send(text);
        }
    }
}

fn lock(pieces: &Mutex<MaskedPieces>) -> MutexGuard<'_, MaskedPieces> {
    pieces.lock().unwrap_or_else(PoisonError::into_inner)
}
