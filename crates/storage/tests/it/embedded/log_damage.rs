use std::fs;

use onyx_storage::{Damage, DamageKind, Page, Pos};
use onyx_types::{SessionKey, Turn};
use serde_json::Value;

use crate::support::{Maker, TempStore};

/// Writes a few turns of different shapes, and returns them with the bytes of their log.
async fn sample(temp: &TempStore, make: &mut Maker) -> (Vec<Turn>, Vec<u8>) {
    let key = make.key();
    let mut turns = make.users(["one", "zwei \"ü\" 🦀\n", ""]);
    turns.insert(1, make.future_turn());
    let lease = temp.lease(&key).await;
    temp.store.turns.append(&lease, &turns).await.unwrap();
    (turns, fs::read(temp.log_path(&key)).unwrap())
}

fn plant(temp: &TempStore, make: &mut Maker, bytes: &[u8]) -> SessionKey {
    let key = make.key();
    let path = temp.log_path(&key);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
    key
}

async fn tail(temp: &TempStore, key: &SessionKey) -> Page {
    temp.store.turns.tail(key, None, 100).await.unwrap()
}

/// Returns what a file beside the log holds, as pairs of offset and bytes.
fn aside(temp: &TempStore, key: &SessionKey, extension: &str) -> Vec<(u64, Vec<u8>)> {
    let path = temp.log_path(key).with_extension(format!("jsonl.{extension}"));
    let Ok(text) = fs::read_to_string(path) else { return Vec::new() };
    let records = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let bytes = |record: &Value| match record["text"].as_str() {
        Some(text) => text.as_bytes().to_vec(),
        None => unhex(record["hex"].as_str().unwrap()),
    };
    records.map(|record| (record["at"].as_u64().unwrap(), bytes(&record))).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    let digit = |byte: u8| u8::try_from((byte as char).to_digit(16).unwrap()).unwrap();
    text.as_bytes().chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

#[tokio::test]
async fn a_log_cut_at_any_byte_keeps_its_whole_lines_and_sets_the_rest_aside() {
    let temp = TempStore::unsynced().await;
    let mut make = Maker::new();
    let (turns, bytes) = sample(&temp, &mut make).await;
    for cut in 0..=bytes.len() {
        let head = &bytes[..cut];
        let key = plant(&temp, &mut make, head);
        let mut whole = head.iter().filter(|byte| **byte == b'\n').count();
        let mut end = head.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        // A line that lacks only its newline is complete.
        if bytes.get(cut) == Some(&b'\n') {
            (whole, end) = (whole + 1, cut);
        }
        let rest = &head[end..];

        let page = tail(&temp, &key).await;
        assert_eq!(page.turns, turns[..whole], "cut at {cut}");
        if rest.is_empty() {
            assert_eq!((page.damage, aside(&temp, &key, "torn")), (vec![], vec![]));
        } else {
            let Damage { at, kind, .. } = &page.damage[0];
            assert_eq!((at, kind, page.damage.len()), (&Pos(end as u64), &DamageKind::TornTail, 1));
            assert_eq!(aside(&temp, &key, "torn"), [(end as u64, rest.to_vec())]);
        }

        let next = make.user("after the crash");
        let lease = temp.lease(&key).await;
        temp.store.turns.append(&lease, std::slice::from_ref(&next)).await.unwrap();
        let expected: Vec<Turn> = turns[..whole].iter().cloned().chain([next]).collect();
        assert_eq!(tail(&temp, &key).await.turns, expected, "appended after a cut at {cut}");
        assert!(fs::read(temp.log_path(&key)).unwrap().starts_with(&bytes[..end]));
    }
}

#[tokio::test]
async fn a_torn_tail_of_zeros_or_broken_letters_is_set_aside_too() {
    let temp = TempStore::unsynced().await;
    let mut make = Maker::new();
    let (turns, bytes) = sample(&temp, &mut make).await;
    for rest in [&[0_u8; 4096][..], b"{\"id\":\"\xff\xfe", b"   "] {
        let key = plant(&temp, &mut make, &[&bytes[..], rest].concat());
        assert_eq!(tail(&temp, &key).await.turns, turns);
        assert_eq!(aside(&temp, &key, "torn"), [(bytes.len() as u64, rest.to_vec())]);
        assert_eq!(fs::read(temp.log_path(&key)).unwrap(), bytes);
    }
}

#[tokio::test]
async fn any_changed_bit_of_a_middle_line_is_reported_and_nothing_else_is_lost() {
    let temp = TempStore::unsynced().await;
    let mut make = Maker::new();
    let (turns, bytes) = sample(&temp, &mut make).await;
    let line_ends: Vec<usize> =
        (0..bytes.len()).filter(|at| bytes[*at] == b'\n').map(|at| at + 1).collect();
    let middle = line_ends[1]..line_ends[2];
    let others = [&turns[0], &turns[1], &turns[3]];
    for at in middle.clone() {
        for bit in 0..8 {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << bit;
            let key = plant(&temp, &mut make, &changed);
            let page = tail(&temp, &key).await;
            let what = format!("bit {bit} of byte {at}: {:?}", page.damage);
            assert!(!page.damage.is_empty(), "{what}");
            assert!(
                page.damage
                    .iter()
                    .all(|damage| middle.contains(&usize::try_from(damage.at.0).unwrap())),
                "{what}"
            );
            assert!(page.turns.iter().all(|turn| !turn.extra.contains_key("crc")), "{what}");
            let kept: Vec<&Turn> = page.turns.iter().filter(|turn| others.contains(turn)).collect();
            assert_eq!(kept, others, "{what}");
            // The changed line is either in the page or in the quarantine file, and is never lost.
            let quarantined: usize =
                aside(&temp, &key, "quarantine").iter().map(|(_, bytes)| bytes.len()).sum();
            if page.damage.iter().any(|damage| damage.kind == DamageKind::Unreadable) {
                // A bit that turns a byte into a newline splits the line in two.
                assert!(quarantined >= middle.len() - 2, "{what}");
                assert_eq!(page.turns.len(), 3, "{what}");
            } else {
                assert_eq!((page.turns.len(), quarantined), (4, 0), "{what}");
            }
            fs::remove_file(temp.log_path(&key)).unwrap();
        }
    }
}

#[tokio::test]
async fn a_damaged_line_is_set_aside_once_and_reported_every_time() {
    let temp = TempStore::unsynced().await;
    let mut make = Maker::new();
    let (turns, mut bytes) = sample(&temp, &mut make).await;
    bytes.splice(0..1, *b"}");
    let line = bytes[..bytes.iter().position(|byte| *byte == b'\n').unwrap()].to_vec();
    let key = plant(&temp, &mut make, &bytes);
    let first = tail(&temp, &key).await;
    assert_eq!(first.turns, turns[1..]);
    assert_eq!((first.damage[0].at, first.damage[0].kind), (Pos(0), DamageKind::Unreadable));
    assert_eq!(tail(&temp, &key).await, first);
    let temp = temp.reopen().await;
    assert_eq!(tail(&temp, &key).await, first);
    assert_eq!(aside(&temp, &key, "quarantine"), [(0, line)]);
    // The log itself stays as it is, and can be appended to.
    assert_eq!(fs::read(temp.log_path(&key)).unwrap(), bytes);
    let lease = temp.lease(&key).await;
    temp.store.turns.append(&lease, &make.users(["next"])).await.unwrap();
    assert_eq!(tail(&temp, &key).await.turns.len(), 4);
}

#[tokio::test]
async fn lines_that_somebody_else_wrote_are_read() {
    let temp = TempStore::unsynced().await;
    let mut make = Maker::new();
    let turns = make.users(["by hand", "spaced out"]);
    let plain = serde_json::to_string(&turns[0]).unwrap();
    let spaced = serde_json::to_string_pretty(&turns[1]).unwrap().replace('\n', " ");
    // Editors may leave out the last newline, add blank lines and use Windows line ends.
    let key = plant(&temp, &mut make, format!("\n{plain}\r\n\r\n{spaced}").as_bytes());
    let page = tail(&temp, &key).await;
    assert_eq!((page.turns, page.damage), (turns, vec![]));
}

#[tokio::test]
async fn a_last_field_that_only_looks_like_a_checksum_is_kept() {
    let temp = TempStore::unsynced().await;
    let mut make = Maker::new();
    let mut turn = make.user("by hand");
    turn.extra.insert("src".into(), "abcdefgh".into());
    let line = serde_json::to_string(&turn).unwrap();
    assert!(line.ends_with(",\"src\":\"abcdefgh\"}"));
    let key = plant(&temp, &mut make, format!("{line}\n").as_bytes());
    let page = tail(&temp, &key).await;
    assert_eq!((page.turns, page.damage), (vec![turn], vec![]));
}

#[tokio::test]
async fn a_line_of_ours_that_was_written_anew_is_kept_and_reported() {
    let temp = TempStore::unsynced().await;
    let mut make = Maker::new();
    let (turns, bytes) = sample(&temp, &mut make).await;
    let spaced = String::from_utf8(bytes).unwrap().replace("\"crc\":", "\"crc\" : ");
    let key = plant(&temp, &mut make, spaced.as_bytes());
    let page = tail(&temp, &key).await;
    assert_eq!(page.turns, turns);
    let kinds: Vec<DamageKind> = page.damage.iter().map(|damage| damage.kind).collect();
    assert_eq!(kinds, [DamageKind::Altered; 4]);
}

#[tokio::test]
async fn a_copy_leaves_damaged_lines_behind() {
    let temp = TempStore::unsynced().await;
    let mut make = Maker::new();
    let (turns, mut bytes) = sample(&temp, &mut make).await;
    bytes.splice(0..1, *b"}");
    let key = plant(&temp, &mut make, &bytes);
    let target = make.key();
    let lease = temp.lease(&target).await;
    temp.store.turns.copy_through(&key, turns[2].id, &lease).await.unwrap();
    let page = tail(&temp, &target).await;
    assert_eq!((&page.turns[..], page.damage), (&turns[1..3], vec![]));
}

#[tokio::test]
async fn a_place_that_is_no_line_start_is_refused() {
    let temp = TempStore::unsynced().await;
    let mut make = Maker::new();
    let (_, bytes) = sample(&temp, &mut make).await;
    let key = plant(&temp, &mut make, &bytes);
    let page = temp.store.turns.tail(&key, Some(Pos(10)), 5).await;
    assert!(matches!(page, Err(onyx_storage::StoreError::Refused(_))));
    assert_eq!(aside(&temp, &key, "quarantine"), []);
}
