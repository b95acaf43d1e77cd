use std::collections::BTreeSet;

use onyx_types::{AgentId, Author, IdGenerator, SessionId, Timestamp};

#[test]
fn names_that_could_leave_a_folder_are_refused() {
    for bad in ["", "..", "a/b", "A", "-a", "a b", ".hidden", "ä", &"a".repeat(65), "a\0"] {
        assert!(bad.parse::<AgentId>().is_err(), "{bad:?} was accepted");
    }
    assert_eq!("main-2_x".parse::<AgentId>().unwrap().as_str(), "main-2_x");
}

#[test]
fn an_id_has_one_spelling() {
    let id = "0197f3a0-0000-7000-8000-000000000001";
    assert_eq!(id.parse::<SessionId>().unwrap().to_string(), id);
    for other in
        ["0197F3A0-0000-7000-8000-000000000001", "0197f3a0000070008000000000000001", "../x"]
    {
        assert!(other.parse::<SessionId>().is_err(), "{other:?} was accepted");
    }
}

#[test]
fn authors_round_trip() {
    for text in ["person:ana", "agent:main", "system"] {
        assert_eq!(text.parse::<Author>().unwrap().to_string(), text);
    }
    assert!("person:".parse::<Author>().is_err());
}

#[test]
fn minted_ids_sort_in_order_even_when_the_clock_goes_back() {
    let mut mint = IdGenerator::new(7);
    let times = [5_000, 5_000, 4_000, 5_001, 0, 6_000];
    let ids: Vec<_> =
        (0..20_000).map(|i| mint.turn(Timestamp::from_millis(times[i % times.len()]))).collect();
    assert!(ids.windows(2).all(|pair| pair[0] < pair[1]));
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
    assert_eq!(ids[0].as_uuid().get_version_num(), 7);
    assert_eq!(ids[0].as_uuid().get_variant(), uuid::Variant::RFC4122);
}

#[test]
fn timestamps_are_written_in_utc_milliseconds() {
    let at: Timestamp = "2026-11-15T02:53:00.123Z".parse().unwrap();
    assert_eq!(at.to_string(), "2026-11-15T02:53:00.123Z");
    assert_eq!("2026-11-15T03:53:00.123+01:00".parse::<Timestamp>().unwrap(), at);
    assert_eq!(at.utc_date(), "2026-11-15");
}

#[test]
fn a_moment_is_written_as_rfc_3339_wherever_it_lies() {
    let day = 24 * 60 * 60 * 1_000;
    let moments = (0..4_000).map(|step| -200 * 365 * day + step * (37 * day + 3_723_004));
    for millis in moments.chain([0, -1, 951_782_399_999, i64::MAX]) {
        let at = Timestamp::from_millis(millis);
        let known = jiff::Timestamp::from_millisecond(millis).unwrap_or(jiff::Timestamp::MAX);
        let text = known.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string();
        let shown = (at.to_string(), serde_json::to_value(at).unwrap());
        assert_eq!(shown, (text.clone(), text.clone().into()));
        assert_eq!((at.utc_date(), at.utc_time()), (text[..10].into(), text[11..16].into()));
    }
}
