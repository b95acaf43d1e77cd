use onyx_agent::Feed;
use onyx_types::{Event, LaneId, RunId, StatusCode, TurnId};
use proptest::prelude::*;

fn id() -> &'static str {
    "0197f3a0-0000-7000-8000-000000000001"
}

fn delta(text: &str) -> Event {
    let turn_id: TurnId = id().parse().unwrap();
    Event::TextDelta { turn_id, agent: "main".parse().unwrap(), text: text.to_owned() }
}

#[tokio::test]
async fn a_reader_may_come_late_or_early_and_sees_the_same() {
    let run: RunId = id().parse().unwrap();
    let feed = Feed::new(run);
    let mut early = feed.read_after(0);
    let waiting = tokio::spawn(async move {
        let mut seen = Vec::new();
        while let Some(envelope) = early.next().await {
            seen.push(envelope);
        }
        seen
    });
    for text in ["Grü", "ße ", "🌍"] {
        feed.tell(LaneId(0), delta(text));
        tokio::task::yield_now().await;
    }
    feed.tell(LaneId(0), Event::Status { message: "m".to_owned(), code: StatusCode::Retry });
    feed.close();
    let early = waiting.await.unwrap();
    let mut late = feed.read_after(0);
    for expected in &early {
        assert_eq!(late.next().await.as_ref(), Some(expected));
    }
    assert!(late.next().await.is_none());
    assert_eq!(early.len(), 4);
}

#[tokio::test]
async fn a_complete_text_is_kept_once_and_told_whole() {
    let complete = |text: &str| Event::TextComplete {
        turn_id: id().parse().unwrap(),
        agent: "main".parse().unwrap(),
        text: text.to_owned(),
    };
    let told = async |events: Vec<Event>| {
        let feed = Feed::new(id().parse().unwrap());
        events.into_iter().for_each(|event| feed.tell(LaneId(0), event));
        feed.close();
        let mut reader = feed.read_after(1);
        let event = reader.next().await.unwrap().event.clone();
        (event, feed.weight())
    };
    let long = "ü".repeat(100_000);
    let (same, weight) = told(vec![delta(&long), complete(&long)]).await;
    assert_eq!(same, complete(&long));
    assert!(weight < 2 * long.len(), "{weight} bytes for a text of {}", long.len());
    let (other, _) = told(vec![delta("a"), complete("another")]).await;
    assert_eq!(other, complete("another"), "what differs is told as it is");
}

proptest! {
    #[test]
    fn continuing_after_any_number_gives_no_gap_and_no_repeat(
        pieces in prop::collection::vec("\\PC{0,6}", 1..30),
        cut in any::<prop::sample::Index>(),
    ) {
        let feed = Feed::new(id().parse().unwrap());
        for piece in &pieces {
            feed.tell(LaneId(0), delta(piece));
        }
        feed.close();
        let cut = cut.index(pieces.len() + 1);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let rest = runtime.block_on(async {
            let mut reader = feed.read_after(cut as u64);
            let mut texts = Vec::new();
            while let Some(envelope) = reader.next().await {
                if let Event::TextDelta { text, .. } = &envelope.event {
                    texts.push(text.clone());
                }
            }
            texts
        });
        prop_assert_eq!(&rest[..], &pieces[cut..]);
    }
}
