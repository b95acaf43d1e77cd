use std::fmt;
#[cfg(debug_assertions)]
use std::pin::Pin;
use std::sync::{Arc, PoisonError, RwLock};

/// Named points in background work at which a test can pause it: after the work was requested and
/// before it begins, and after its end and before the end is recorded. While it is paused, a reader
/// must see the same as without the pause. Release builds contain no pauses.
#[derive(Clone, Default)]
pub struct Pauses {
    #[cfg(debug_assertions)]
    pause: Option<Pause>,
}

#[cfg(debug_assertions)]
type Pause = Arc<dyn Fn(&'static str) -> Waiting + Send + Sync>;
#[cfg(debug_assertions)]
type Waiting = Pin<Box<dyn Future<Output = ()> + Send>>;

impl Pauses {
    /// Waits at each point for the future that `pause` returns for its name.
    #[cfg(debug_assertions)]
    pub fn new<F>(pause: impl Fn(&'static str) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let pause = move |point| -> Waiting { Box::pin(pause(point)) };
        Self { pause: Some(Arc::new(pause)) }
    }

    /// Ignores `pause`, because a release build never waits. It exists so that the same callers
    /// compile in both builds.
    #[cfg(not(debug_assertions))]
    pub fn new<F>(_: impl Fn(&'static str) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        Self::default()
    }

    /// Marks that work has reached this point.
    #[cfg(debug_assertions)]
    pub async fn at(&self, point: &'static str) {
        if let Some(pause) = &self.pause {
            pause(point).await;
        }
    }

    #[cfg(not(debug_assertions))]
    #[expect(clippy::unused_async, reason = "in debug builds it waits")]
    pub async fn at(&self, _: &'static str) {}
}

/// The pauses of work that is already opened when a test sets them. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct SharedPauses(Arc<RwLock<Pauses>>);

impl SharedPauses {
    pub fn set(&self, pauses: Pauses) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = pauses;
    }

    /// Marks that work has reached this point.
    pub async fn at(&self, point: &'static str) {
        let pauses = self.0.read().unwrap_or_else(PoisonError::into_inner).clone();
        pauses.at(point).await;
    }
}

impl fmt::Debug for Pauses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pauses").finish_non_exhaustive()
    }
}
