use std::task::Poll;

use onyx_agent::{EventReader, Feed};
use onyx_types::{Event, LaneId, RunId, StatusCode, ToolUseId, TurnId};
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

fn many(pieces: usize) -> Vec<String> {
    (0..pieces).map(|number| format!("{number} ü")).collect()
}

async fn texts(mut reader: EventReader) -> Vec<(u64, String)> {
    let mut texts = Vec::new();
    while let Some(envelope) = reader.next().await {
        match &envelope.event {
            Event::TextDelta { text, .. } | Event::ToolOutput { chunk: text, .. } => {
                texts.push((envelope.seq, text.clone()));
            }
            other => panic!("{other:?}"),
        }
    }
    texts
}

#[tokio::test]
async fn beyond_its_bound_a_feed_gives_late_readers_pieces_together_and_live_ones_each() {
    let feed = Feed::new(id().parse().unwrap());
    let pieces = many(700_000);
    let length: usize = pieces.iter().map(String::len).sum();
    assert!(length > 5 * 1024 * 1024);
    let mut live = feed.read_after(0);
    for (piece, seq) in pieces.iter().zip(1..) {
        feed.tell(LaneId(0), delta(piece));
        let Poll::Ready(Some(told)) = live.next_now() else { panic!("it is there") };
        assert_eq!((told.seq, &told.event), (seq, &delta(piece)));
    }
    feed.close();
    let weight = feed.weight();
    assert!(weight < length * 3 / 2, "{weight} bytes for a text of {length}");

    let starts: Vec<usize> = pieces
        .iter()
        .scan(0, |at, piece| {
            let start = *at;
            *at += piece.len();
            Some(start)
        })
        .collect();
    let whole = pieces.concat();
    for after in [0, 1, 4_711, 350_000, 699_999, 700_000] {
        let told = texts(feed.read_after(after as u64)).await;
        let rest = &whole[starts.get(after).copied().unwrap_or(whole.len())..];
        assert!(told.len() < 200, "{} pieces", told.len());
        assert_eq!(told.iter().map(|(_, text)| text.as_str()).collect::<String>(), rest);
        assert!(told.is_sorted_by_key(|(seq, _)| *seq));
        assert_eq!(told.last().map_or(after as u64, |(seq, _)| *seq), 700_000);
        // A reader may continue from any number that it was sent.
        if let Some((seq, first)) = told.first() {
            let more: String =
                texts(feed.read_after(*seq)).await.into_iter().map(|(_, text)| text).collect();
            assert_eq!(format!("{first}{more}"), rest);
        }
    }
    let parted = texts(feed.read_after(0).parted_at(4_711)).await;
    let (old, new): (Vec<_>, Vec<_>) = parted.into_iter().partition(|(seq, _)| *seq <= 4_711);
    let joined = |told: Vec<(u64, String)>| told.into_iter().map(|(_, text)| text);
    assert_eq!(joined(old).collect::<String>(), whole[..starts[4_711]]);
    assert_eq!(joined(new).collect::<String>(), whole[starts[4_711]..]);
}

#[tokio::test]
async fn live_output_beyond_the_bound_is_seen_by_those_who_watch() {
    let feed = Feed::new(id().parse().unwrap());
    let mut live = feed.read_after(0);
    let chunks: Vec<String> = (0..3_000).map(|n| format!("{n} {}", "x".repeat(4_096))).collect();
    for chunk in &chunks {
        let tool_use_id = ToolUseId("a".to_owned());
        let event = Event::ToolOutput { tool_use_id, chunk: chunk.clone() };
        feed.tell(LaneId(0), event.clone());
        let Poll::Ready(Some(told)) = live.next_now() else { panic!("it is there") };
        assert_eq!(told.event, event);
    }
    feed.close();
    let weight = feed.weight();
    assert!(weight < 5 * 1024 * 1024, "{weight} bytes are kept");
    let late = texts(feed.read_after(0)).await;
    assert_eq!(late.last().unwrap().0, 3_000);
    let kept: String = late.into_iter().map(|(_, text)| text).collect();
    assert!(kept.len() > 3 * 1024 * 1024 && chunks.concat().ends_with(&kept));
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
