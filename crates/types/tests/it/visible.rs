use onyx_types::{Preview, VisiblePieces, visible, visible_json, visible_line};
use proptest::prelude::{any, proptest};
use serde::Deserialize;

#[derive(Deserialize)]
struct Case {
    text: String,
    shown: String,
}

fn cases() -> Vec<Case> {
    serde_json::from_str(include_str!("../visible.json")).unwrap()
}

#[test]
fn what_deceives_is_written_out_and_what_people_write_stays() {
    for Case { text, shown } in cases() {
        assert_eq!(visible(&text), shown);
        assert_eq!(visible(&shown), shown, "twice is as once");
        assert_eq!(visible_line(&text), shown.replace('\n', "\\n").replace('\t', "\\t"));
    }
}

#[test]
fn a_text_in_pieces_is_shown_as_the_whole() {
    for Case { text, shown } in cases() {
        let mut pieces = VisiblePieces::default();
        let each: String = text.chars().map(|c| pieces.add(&c.to_string()).into_owned()).collect();
        assert_eq!(each, shown);
    }
}

#[test]
fn json_stays_json_and_means_the_same() {
    for Case { text, .. } in cases() {
        let json = serde_json::to_string_pretty(&[&text, "\u{e0041}"]).unwrap();
        let shown = visible_json(&json);
        let read: Vec<String> = serde_json::from_str(&shown).unwrap();
        assert_eq!(read, [text.as_str(), "\u{e0041}"]);
        assert_eq!(visible(&shown), shown, "nothing in it deceives");
    }
}

#[test]
fn no_preview_leaves_with_a_hidden_character() {
    let hostile = "a\u{202e}b\u{1b}[2K";
    let text = Preview::Text { text: hostile.to_owned() };
    let diff = Preview::diff(hostile, hostile);
    for preview in [text, diff] {
        let json = serde_json::to_string(&preview).unwrap();
        assert!(!json.contains('\u{202e}') && !json.contains("\\u001b"), "{json}");
        assert!(json.contains(r"a\\u{202e}b\\u{1b}[2K"), "{json}");
    }
}

proptest! {
    #[test]
    fn showing_twice_changes_nothing_more(text in any::<String>()) {
        let once = visible(&text).into_owned();
        assert_eq!(visible(&once), once);
        let line = visible_line(&text);
        assert!(!line.contains(char::is_control), "{line:?}");
    }
}
