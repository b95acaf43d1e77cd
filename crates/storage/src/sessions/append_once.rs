//! Decides what became of an append whose answer was lost, the same way for every log in which answers can be lost:
//! PostgreSQL's, and the simulation's model of it. The logs of a home do not use this. There, only a failed sync leaves an
//! append in doubt, and reading the file back would show what the system remembers, not what the disk holds; such a log
//! is read-only until the next process reads it.

use async_trait::async_trait;

use crate::{LogState, StoreError};

/// What one attempt to append came to.
#[derive(Debug)]
pub enum Attempt<W, E> {
    Written(W),
    /// The fence is not the log's any more, so nothing was written.
    ShutOut,
    /// Nothing was written.
    Failed(E),
    /// The answer was lost: the lines are in the log, or will be, or never will.
    Unanswered(E),
}

/// The end of a log, read after an attempt that was not answered.
#[derive(Debug)]
pub struct LogTail {
    pub state: LogState,
    /// The lines from where the log ended before the append, oldest first.
    pub lines: Vec<Vec<u8>>,
}

/// One append to one log: some lines that get there together or not at all, under the fence of whoever holds the log.
#[async_trait]
pub trait OneAppend: Sync {
    type Fence: Copy + Send;
    type Written: Send;
    type Error: From<StoreError> + Send;

    async fn attempt(&self, fence: Self::Fence) -> Attempt<Self::Written, Self::Error>;

    /// Gives the log a new fence. When this returns one, every attempt with the fence before is in the log or never
    /// will be.
    async fn raise_fence(&self) -> Result<Self::Fence, StoreError>;

    /// `Conflict`: the log ends before the place where the append began.
    async fn tail(&self) -> Result<LogTail, StoreError>;

    fn lines(&self) -> Vec<Vec<u8>>;

    /// What the append left, where the lines of the tail up to this many are all that there was when it was done.
    fn found(&self, tail: &LogTail, through: usize) -> Self::Written;

    /// The holder must write nothing more: what the log holds is not known.
    fn give_up(&self);
}

/// Appends the lines once. When the answer is lost, the fence is raised and the log is read: lines that are there were
/// appended, and lines that are not there are appended once more, under the new fence. `None`: the fence is not the log's
/// any more. After an error the lines may be in the log only if the holder has given the log up.
pub async fn append_once<A: OneAppend>(
    append: &A,
    fence: A::Fence,
) -> Result<Option<A::Written>, A::Error> {
    let unanswered = match append.attempt(fence).await {
        Attempt::Written(written) => return Ok(Some(written)),
        Attempt::ShutOut => return Ok(None),
        Attempt::Failed(error) => return Err(error),
        Attempt::Unanswered(error) => error,
    };
    // One of the two mistakes that `make cluster-broken` compiles in.
    if cfg!(onyx_broken = "reappend") {
        return attempt_again(append, fence).await;
    }
    let settled = settle(append, unanswered).await;
    settled.inspect_err(|_| append.give_up())
}

async fn settle<A: OneAppend>(
    append: &A,
    unanswered: A::Error,
) -> Result<Option<A::Written>, A::Error> {
    let lines = append.lines();
    if lines.is_empty() {
        // There is nothing to look for.
        return Err(unanswered);
    }
    let raised = append.raise_fence().await;
    let tail = append.tail().await?;
    match (look_for(&lines, &tail.lines), raised) {
        // The lines were written, even if another gateway holds the log now.
        (TailMatch::All { through }, _) => Ok(Some(append.found(&tail, through))),
        (TailMatch::Other, _) => Err(StoreError::Conflict.into()),
        (TailMatch::Nothing, Err(error)) => Err(error.into()),
        (TailMatch::Nothing, Ok(fence)) => attempt_again(append, fence).await,
    }
}

/// There is one more attempt: if that is not answered either, the caller gets the error.
async fn attempt_again<A: OneAppend>(
    append: &A,
    fence: A::Fence,
) -> Result<Option<A::Written>, A::Error> {
    match append.attempt(fence).await {
        Attempt::Written(written) => Ok(Some(written)),
        Attempt::ShutOut => Ok(None),
        Attempt::Failed(error) | Attempt::Unanswered(error) => Err(error),
    }
}

/// What the end of a log has of some lines.
#[derive(Debug, PartialEq, Eq)]
enum TailMatch {
    /// All of them, in their order, up to this line of the tail.
    All {
        through: usize,
    },
    Nothing,
    /// Some of them, or in another order. No append does that.
    Other,
}

/// Lines before the first one are the holder's own: an earlier append for which nobody waited to the end.
fn look_for(lines: &[Vec<u8>], tail: &[Vec<u8>]) -> TailMatch {
    let begin = tail.iter().position(|line| lines.contains(line));
    match begin {
        None => TailMatch::Nothing,
        Some(begin) if tail[begin..].starts_with(lines) => {
            TailMatch::All { through: begin + lines.len() }
        }
        Some(_) => TailMatch::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<Vec<u8>> {
        text.split_whitespace().map(|line| line.as_bytes().to_vec()).collect()
    }

    #[test]
    fn lines_count_as_written_only_when_all_of_them_are_there_in_their_order() {
        let cases = [
            ("", TailMatch::Nothing),
            ("a b", TailMatch::All { through: 2 }),
            ("a b others", TailMatch::All { through: 2 }),
            ("before a b", TailMatch::All { through: 3 }),
            ("others more", TailMatch::Nothing),
            ("a", TailMatch::Other),
            ("b", TailMatch::Other),
            ("b a", TailMatch::Other),
            ("a between b", TailMatch::Other),
        ];
        for (tail, expected) in cases {
            assert_eq!(look_for(&lines("a b"), &lines(tail)), expected, "{tail:?}");
        }
    }
}
