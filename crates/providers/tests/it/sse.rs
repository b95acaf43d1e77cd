use onyx_providers::wire::sse::{SseError, SseEvent, SseSplitter};
use proptest::prelude::*;

fn event(name: Option<&str>, data: &str) -> SseEvent {
    SseEvent { name: name.map(str::to_owned), data: data.to_owned() }
}

fn split(bytes: &[u8]) -> Vec<SseEvent> {
    let mut splitter = SseSplitter::new(1024);
    let mut events = splitter.push(bytes).unwrap();
    events.extend(splitter.end().unwrap());
    events
}

#[test]
fn fields_comments_and_line_ends_are_read_as_the_standard_says() {
    let text = "\u{feff}: comment\nevent: ping\ndata:one\ndata: two\nid: 7\nretry: 1\n\n\
                event: nothing\n\ndata\n\ndata:  spaced\r\n\r\ndata: cr\r\rdata: open";
    let expected = [
        event(Some("ping"), "one\ntwo"),
        event(None, ""),
        event(None, " spaced"),
        event(None, "cr"),
        event(None, "open"),
    ];
    assert_eq!(split(text.as_bytes()), expected);
}

#[test]
fn an_event_longer_than_the_bound_is_refused_however_it_comes() {
    let mut in_one_line = SseSplitter::new(16);
    assert_eq!(in_one_line.push(&[b'x'; 17]), Err(SseError::TooLong(16)));
    let mut in_bytes = SseSplitter::new(16);
    let results: Vec<_> = (0..17).map(|_| in_bytes.push(b"x")).collect();
    assert_eq!(results.last(), Some(&Err(SseError::TooLong(16))));
    let mut in_lines = SseSplitter::new(16);
    let result = in_lines.push(b"data: 123456\ndata: 123456\ndata: 123456\n");
    assert_eq!(result, Err(SseError::TooLong(16)));
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    assert_eq!(SseSplitter::new(64).push(b"data: \xc3\n"), Err(SseError::NotUtf8));
}

proptest! {
    /// Events come out as they went in, whatever the line ends and wherever the chunks are cut.
    #[test]
    fn any_cutting_gives_the_same_events(
        texts in proptest::collection::vec("[a-zäß€𝄞: ]{0,12}", 1..6),
        ending in prop_oneof![Just("\n"), Just("\r\n"), Just("\r")],
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let text: String =
            texts.iter().map(|text| format!("data: {text}{ending}{ending}")).collect();
        let bytes = text.as_bytes();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len())).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let mut splitter = SseSplitter::new(1024);
        let mut events = Vec::new();
        for pair in cuts.windows(2) {
            events.extend(splitter.push(&bytes[pair[0]..pair[1]]).unwrap());
        }
        events.extend(splitter.end().unwrap());
        let expected: Vec<SseEvent> = texts.iter().map(|text| event(None, text)).collect();
        prop_assert_eq!(events, expected);
    }
}
