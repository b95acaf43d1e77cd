//! The answers that models are streaming, at most one for each lane.

use std::task::{Context, Poll};

use futures::stream::{BoxStream, StreamExt};
use onyx_types::{LaneId, ModelEvent, ModelFailure, ModelFailureClass};

/// Merges the streams. A stream that ends without saying so counts as a failure, never as an
/// answer.
#[derive(Default)]
pub(crate) struct ModelStreams {
    /// There are few streams, so each poll looks at all of them.
    coming: Vec<ModelStream>,
    /// Index of the stream that is polled first. It changes with each event, so that no stream is
    /// starved.
    first: usize,
}

struct ModelStream {
    lane: LaneId,
    events: BoxStream<'static, ModelEvent>,
    /// Whether the model said that it is done.
    ended: bool,
}

impl ModelStreams {
    pub(crate) fn add(&mut self, lane: LaneId, events: BoxStream<'static, ModelEvent>) {
        self.coming.push(ModelStream { lane, events, ended: false });
    }

    /// Drops an answer and its connection, which also stops a model that ignores its cancel.
    pub(crate) fn remove(&mut self, lane: LaneId) {
        self.coming.retain(|answer| answer.lane != lane);
    }

    /// The next event of any stream; `None` when there are no streams.
    pub(crate) async fn next(&mut self) -> Option<(LaneId, ModelEvent)> {
        std::future::poll_fn(|cx| self.poll_next(cx)).await
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<(LaneId, ModelEvent)>> {
        let mut asked = 0;
        while asked < self.coming.len() {
            let at = (self.first + asked) % self.coming.len();
            let answer = &mut self.coming[at];
            match answer.events.poll_next_unpin(cx) {
                Poll::Ready(Some(event)) => {
                    answer.ended |= matches!(event, ModelEvent::Finish(_) | ModelEvent::Failed(_));
                    self.first = at + 1;
                    return Poll::Ready(Some((answer.lane, event)));
                }
                Poll::Ready(None) => {
                    let ModelStream { lane, ended, .. } = self.coming.remove(at);
                    if !ended {
                        return Poll::Ready(Some((lane, broke_off())));
                    }
                }
                Poll::Pending => asked += 1,
            }
        }
        if self.coming.is_empty() { Poll::Ready(None) } else { Poll::Pending }
    }
}

fn broke_off() -> ModelEvent {
    ModelEvent::Failed(ModelFailure::new(
        ModelFailureClass::Truncated,
        "The model's answer broke off before its end.",
    ))
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use futures::stream::{self, pending};
    use onyx_types::FinishReason;

    use super::*;

    fn text(words: &str) -> ModelEvent {
        ModelEvent::TextDelta(words.to_owned())
    }

    fn all(answers: &mut ModelStreams) -> Vec<(u16, ModelEvent)> {
        let next = || answers.next().now_or_never().flatten();
        std::iter::from_fn(next).map(|(lane, event)| (lane.0, event)).collect()
    }

    #[test]
    fn no_lane_waits_for_another_to_end() {
        let mut answers = ModelStreams::default();
        let finish = || ModelEvent::Finish(FinishReason::Stop);
        answers.add(LaneId(0), stream::iter([text("a"), text("b"), finish()]).boxed());
        answers.add(LaneId(1), stream::iter([text("c"), text("d"), finish()]).boxed());
        answers.add(LaneId(2), pending().boxed());
        let told = all(&mut answers);
        let lanes: Vec<u16> = told.iter().map(|(lane, _)| *lane).collect();
        assert_eq!(lanes, [0, 1, 0, 1, 0, 1]);
        assert_eq!(answers.next().now_or_never(), None, "one is still coming");
    }

    #[test]
    fn an_answer_that_just_stops_has_failed_and_one_that_was_dropped_says_nothing() {
        let mut answers = ModelStreams::default();
        answers.add(LaneId(0), stream::iter([text("a")]).boxed());
        assert_eq!(all(&mut answers), [(0, text("a")), (0, broke_off())]);
        answers.add(LaneId(0), stream::iter([text("a")]).boxed());
        answers.remove(LaneId(0));
        assert_eq!(answers.next().now_or_never(), Some(None));
    }
}
