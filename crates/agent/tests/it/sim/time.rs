//! A clock that moves only when the schedule says so.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures::future::BoxFuture;
use onyx_types::{Clock, Now, Timestamp};

const EPOCH_MILLIS: i64 = 1_767_225_600_000;

#[derive(Clone, Debug, Default)]
pub(super) struct SimClock(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    now: Duration,
    sleepers: Vec<(Duration, Waker)>,
}

impl SimClock {
    pub(super) fn advance(&self, by: Duration) {
        let due: Vec<Waker> = {
            let mut state = self.0.lock().unwrap();
            state.now += by;
            let now = state.now;
            let due = state.sleepers.extract_if(.., |(at, _)| *at <= now);
            due.map(|(_, waker)| waker).collect()
        };
        // Wakers are called without the lock, because a waker may drop a sleep, which takes the
        // lock.
        due.into_iter().for_each(Waker::wake);
    }
}

impl Clock for SimClock {
    fn now(&self) -> Now {
        let mono = self.0.lock().unwrap().now;
        Now { wall: Timestamp::from_millis(EPOCH_MILLIS).saturating_add(mono), mono }
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        let until = self.now().mono.saturating_add(duration);
        Box::pin(Sleep { clock: self.clone(), until, asleep: false })
    }
}

struct Sleep {
    clock: SimClock,
    until: Duration,
    asleep: bool,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let clock = self.clock.clone();
        let mut state = clock.0.lock().unwrap();
        if state.now >= self.until {
            return Poll::Ready(());
        }
        if !self.asleep {
            self.asleep = true;
            state.sleepers.push((self.until, context.waker().clone()));
        }
        Poll::Pending
    }
}
