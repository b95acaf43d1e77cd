mod threads;

use std::any::Any;
use std::cell::Cell;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::StoreError;

use threads::{Threads, Work};

/// How many file operations may wait for the disk at once: enough for the file system to combine
/// many syncs into one journal commit, few enough that a burst does not need one thread per
/// session.
const AT_ONCE: usize = 32;
/// The time until starting a thread is tried again when the system had none left.
const NEXT_TRY: Duration = Duration::from_millis(50);

/// Takes file and database work off the async threads.
#[derive(Clone, Debug)]
pub(crate) struct Blocking {
    permits: Arc<Semaphore>,
    /// The permits for series of steps. They are separate from the others, because a step may wait
    /// for a task that needs one of the others; tasks with one of those wait for nothing but the
    /// disk.
    step_permits: Arc<Semaphore>,
    threads: Arc<Threads>,
}

impl Blocking {
    pub(crate) fn new() -> Self {
        let permits = || Arc::new(Semaphore::new(AT_ONCE));
        Self { permits: permits(), step_permits: permits(), threads: Arc::default() }
    }

    /// Runs the work. It runs to its end even if the caller goes away, so that no write is left
    /// half done.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        if may_wait_here() {
            return work();
        }
        let failed = |_| StoreError::Failed("work on the disk broke off".to_owned());
        let permit = acquire(&self.permits).await;
        self.elsewhere(permit, work).await.unwrap_or_else(|panic| Err(failed(panic)))
    }

    /// Runs several steps on one thread, which itself waits for each of them, because handing over
    /// each step and its result costs more than most steps. It runs to the end as `run` does.
    async fn follow<T: Send + 'static>(
        &self,
        steps: impl Future<Output = T> + Send + 'static,
    ) -> T {
        if may_wait_here() {
            return steps.await;
        }
        let permit = acquire(&self.step_permits).await;
        self.follow_with(permit, steps).await
    }

    /// Runs several steps as `follow` does if a thread is free for them, else where they are.
    async fn follow_if_free<T: Send + 'static>(
        &self,
        steps: impl Future<Output = T> + Send + 'static,
    ) -> T {
        if may_wait_here() {
            return steps.await;
        }
        match Arc::clone(&self.step_permits).try_acquire_owned() {
            Ok(permit) => self.follow_with(Some(permit), steps).await,
            Err(_) => steps.await,
        }
    }

    async fn follow_with<T: Send + 'static>(
        &self,
        permit: Option<OwnedSemaphorePermit>,
        steps: impl Future<Output = T> + Send + 'static,
    ) -> T {
        let runtime = Handle::current();
        let work = move || {
            let _here = WaitHere::new();
            runtime.block_on(steps)
        };
        let followed = self.elsewhere(permit, work).await;
        followed.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    async fn elsewhere<T: Send + 'static>(
        &self,
        permit: Option<OwnedSemaphorePermit>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> std::thread::Result<T> {
        let (sender, told) = oneshot::channel();
        let task = Task { _permit: permit, state: Some(State::Waiting(work)), sender };
        let mut task: Box<dyn Work> = Box::new(task);
        while let Err((back, error)) = self.threads.start(task) {
            tracing::warn!(%error, "no thread could be started to wait for the disk; trying again");
            task = back;
            tokio::time::sleep(NEXT_TRY).await;
        }
        told.await.unwrap_or_else(|error| Err(Box::new(error)))
    }
}

/// Acquiring cannot fail, because the semaphores are never closed.
async fn acquire(permits: &Arc<Semaphore>) -> Option<OwnedSemaphorePermit> {
    Arc::clone(permits).acquire_owned().await.ok()
}

struct Task<T, F> {
    _permit: Option<OwnedSemaphorePermit>,
    state: Option<State<T, F>>,
    sender: oneshot::Sender<std::thread::Result<T>>,
}

enum State<T, F> {
    Waiting(F),
    Done(Result<T, Box<dyn Any + Send>>),
}

impl<T: Send, F: FnOnce() -> T + Send> Work for Task<T, F> {
    fn work(&mut self) {
        if let Some(State::Waiting(work)) = self.state.take() {
            self.state = Some(State::Done(std::panic::catch_unwind(AssertUnwindSafe(work))));
        }
    }

    fn tell(self: Box<Self>) {
        if let Some(State::Done(result)) = self.state {
            // Sending fails only if the caller has gone away, and then nobody needs the result.
            drop(self.sender.send(result));
        }
    }
}

thread_local! {
    static WAITS: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread runs a series of steps and may therefore wait for the disk.
pub(crate) fn may_wait_here() -> bool {
    WAITS.get()
}

struct WaitHere;

impl WaitHere {
    fn new() -> Self {
        WAITS.set(true);
        Self
    }
}

impl Drop for WaitHere {
    fn drop(&mut self) {
        WAITS.set(false);
    }
}

/// The way in which a series of steps is run.
#[derive(Clone, Debug)]
pub struct Steps(Option<Blocking>);

impl Steps {
    pub(crate) fn on_one_thread(blocking: Blocking) -> Self {
        Self(Some(blocking))
    }

    /// Makes steps for stores that never wait for a disk of this machine.
    pub fn as_they_come() -> Self {
        Self(None)
    }

    /// Whether the steps run to their end even if the caller goes away.
    pub fn are_kept_together(&self) -> bool {
        self.0.is_some()
    }

    /// Runs the steps with the caller's runtime. A panic in a step becomes a panic of the caller.
    pub async fn follow<T: Send + 'static>(
        &self,
        steps: impl Future<Output = T> + Send + 'static,
    ) -> T {
        match &self.0 {
            Some(blocking) => blocking.follow(steps).await,
            None => steps.await,
        }
    }

    /// Runs the steps as `follow` does if that can begin at once, else as they come. Steps that hold
    /// a lock must be run so, because steps on all of the threads may be waiting for it.
    pub async fn follow_if_free<T: Send + 'static>(
        &self,
        steps: impl Future<Output = T> + Send + 'static,
    ) -> T {
        match &self.0 {
            Some(blocking) => blocking.follow_if_free(steps).await,
            None => steps.await,
        }
    }
}

/// Locks the mutex, also if a thread panicked while it held the lock. That is safe, because every
/// state behind these locks is checked against the file before it is used, or is consistent after
/// each statement.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread() -> std::thread::ThreadId {
        std::thread::current().id()
    }

    #[tokio::test]
    async fn the_thread_that_worked_last_works_next() {
        let blocking = Blocking::new();
        let (begun, waiting) = std::sync::mpsc::sync_channel::<()>(1);
        let busy = {
            let blocking = blocking.clone();
            tokio::spawn(async move {
                blocking.run(move || Ok((thread(), waiting.recv().is_ok()))).await
            })
        };
        tokio::task::yield_now().await;
        let second = blocking.run(|| Ok(thread())).await.unwrap();
        begun.send(()).unwrap();
        let (first, _) = busy.await.unwrap().unwrap();
        assert_ne!(first, second, "one was busy");
        for _ in 0..10 {
            assert_eq!(blocking.run(|| Ok(thread())).await.unwrap(), first);
        }
    }

    #[tokio::test]
    async fn steps_that_follow_each_other_wait_on_one_thread() {
        let blocking = Blocking::new();
        let inner = blocking.clone();
        let steps = Steps::on_one_thread(blocking.clone());
        let threads = steps
            .follow(async move {
                let first = inner.run(|| Ok(thread())).await.unwrap();
                tokio::task::yield_now().await;
                (thread(), first, inner.run(|| Ok(thread())).await.unwrap())
            })
            .await;
        assert_ne!(threads.0, thread());
        assert_eq!((threads.0, threads.0), (threads.1, threads.2));
        let after = blocking.run(|| Ok(may_wait_here())).await.unwrap();
        assert!(!after, "only the steps wait where they are");
    }

    #[tokio::test]
    async fn steps_that_wait_for_somebody_leave_them_the_disk() {
        let blocking = Blocking::new();
        let steps = Steps::on_one_thread(blocking.clone());
        let held = Arc::new(tokio::sync::Mutex::new(()));
        let holder = Arc::clone(&held).lock_owned().await;
        let mut waiting = tokio::task::JoinSet::new();
        for _ in 0..2 * AT_ONCE {
            let (steps, held) = (steps.clone(), Arc::clone(&held));
            waiting
                .spawn(async move { steps.follow(async move { drop(held.lock().await) }).await });
        }
        tokio::task::yield_now().await;
        let free = move || {
            drop(holder);
            Ok(())
        };
        blocking.run(free).await.unwrap();
        waiting.join_all().await;
    }

    #[tokio::test]
    async fn steps_that_hold_a_lock_go_on_although_all_threads_wait_for_it() {
        let steps = Steps::on_one_thread(Blocking::new());
        let elsewhere = steps.follow_if_free(async { thread() }).await;
        assert_ne!(elsewhere, thread());
        let held = Arc::new(tokio::sync::Mutex::new(()));
        let holder = Arc::clone(&held).lock_owned().await;
        let mut waiting = tokio::task::JoinSet::new();
        for _ in 0..AT_ONCE {
            let (steps, held) = (steps.clone(), Arc::clone(&held));
            waiting
                .spawn(async move { steps.follow(async move { drop(held.lock().await) }).await });
        }
        tokio::task::yield_now().await;
        let answer = steps.follow_if_free(async move {
            drop(holder);
            thread()
        });
        let answered = tokio::time::timeout(Duration::from_secs(60), answer).await;
        assert_eq!(answered, Ok(thread()));
        waiting.join_all().await;
    }

    #[tokio::test]
    async fn what_began_ends_although_nobody_waits_for_it() {
        let steps = Steps::on_one_thread(Blocking::new());
        let (sender, ended) = oneshot::channel();
        let (go, gone) = oneshot::channel::<()>();
        let asked = steps.follow(async move {
            gone.await.unwrap();
            sender.send(()).unwrap();
        });
        let gave_up = tokio::time::timeout(Duration::ZERO, asked).await;
        assert!(gave_up.is_err());
        go.send(()).unwrap();
        ended.await.unwrap();
    }

    #[tokio::test]
    async fn a_panic_on_a_thread_is_the_callers_and_leaves_the_thread_in_service() {
        let blocking = Blocking::new();
        let failed = blocking.run(|| -> Result<(), StoreError> { panic!("on purpose") }).await;
        assert!(matches!(failed, Err(StoreError::Failed(_))), "{failed:?}");
        for steps in [Steps::on_one_thread(blocking.clone()), Steps::as_they_come()] {
            let steps = tokio::spawn(async move { steps.follow(async { panic!("again") }).await });
            let joined: Result<(), _> = steps.await;
            assert!(joined.unwrap_err().is_panic());
        }
        assert!(blocking.run(|| Ok(())).await.is_ok());
    }
}
