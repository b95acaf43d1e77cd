//! A clock that stands still until a test moves it, and then wakes the tasks that sleep by it.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use onyx_types::{Clock, Now, Timestamp};
use tokio::sync::watch;

#[derive(Debug)]
pub(crate) struct SteppedClock {
    mono: watch::Sender<Duration>,
}

impl SteppedClock {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { mono: watch::Sender::new(Duration::ZERO) })
    }

    pub(crate) fn advance(&self, by: Duration) {
        self.mono.send_modify(|mono| *mono += by);
    }
}

impl Clock for SteppedClock {
    fn now(&self) -> Now {
        let mono = *self.mono.borrow();
        Now { wall: Timestamp::from_millis(1_767_225_600_000).saturating_add(mono), mono }
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        let mut mono = self.mono.subscribe();
        let until = *mono.borrow() + duration;
        Box::pin(async move {
            // Waiting fails only if the clock is gone, and then the test is over too.
            let _ = mono.wait_for(|now| *now >= until).await;
        })
    }
}
