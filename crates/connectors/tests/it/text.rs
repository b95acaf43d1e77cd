//! Tests how networks show what agents write.

use onyx_connectors::{TextFormat, TextLimits};
use onyx_test_support::networks::{discord_text, telegram_text};
use proptest::prelude::*;

const TELEGRAM: TextLimits = TextLimits { length: 4_000, styles: 90 };
const DISCORD: TextLimits = TextLimits { length: 2_000, styles: 90 };

fn telegram(text: &str) -> Vec<String> {
    TextFormat::TelegramHtml.messages(text, TELEGRAM).into_iter().map(|m| m.marked).collect()
}

#[test]
fn markdown_becomes_telegrams_html_and_text_stays_text() {
    let shown = telegram(
        "# Title\n\nSome **bold**, *italic*, ~~gone~~ and `code <b>` with [a link](https://a.b/?x=1&y=2).\n\n\
         - one\n  - nested & deep\n- two\n\n1. first\n2. second\n\n> quoted\n> words\n\n\
         ```rust\nfn a() -> Vec<u8> {}\n```\n\n<script>alert(1)</script>\n\n- [x] done\n",
    );
    assert_eq!(
        shown,
        [
            "<b>Title</b>\n\nSome <b>bold</b>, <i>italic</i>, <s>gone</s> and <code>code &lt;b&gt;</code> with \
          <a href=\"https://a.b/?x=1&amp;y=2\">a link</a>.\n\n• one\n    • nested &amp; deep\n• two\n\n1. first\n2. second\n\n\
          <blockquote>quoted\nwords</blockquote>\n\n<pre><code class=\"language-rust\">fn a() -&gt; Vec&lt;u8&gt; {}</code></pre>\n\n\
          &lt;script&gt;alert(1)&lt;/script&gt;\n\n• ☑ done"
        ]
    );
    assert!(telegram_text(&shown[0]).is_ok());
}

#[test]
fn markdown_becomes_discords_and_text_stays_text() {
    let text = "# Title\n\nSome **bold***italic* and ***both*** in `co*de` with [a link](https://a.b/x_y), \
                see https://c.d/e_f. @everyone <#1>\n\n- one\n- two\n\n> quoted\n\n```rust\nfn a() {}\n```";
    let shown = TextFormat::DiscordMarkdown.messages(text, DISCORD);
    assert_eq!(
        shown[0].marked,
        "**Title**\n\nSome **bold**\u{200b}*italic* and **\u{200b}*both*\u{200b}** in `co*de` with \
         [a link](<https://a.b/x_y>), see <https://c.d/e_f>. \\@everyone \\<\\#1\\>\n\n• one\n• two\n\n\
         > quoted\n\n```rust\nfn a() {}\n```"
    );
    assert_eq!(
        discord_text(&shown[0].marked).unwrap(),
        "Title\n\nSome bolditalic and both in co*de with a link, see https://c.d/e_f. @everyone <#1>\n\n\
         • one\n• two\n\nquoted\n\nfn a() {}"
    );
}

#[test]
fn narrow_tables_are_columns_and_wide_ones_records() {
    let narrow = telegram("| a | b |\n|---|---|\n| 1 | two |\n");
    assert_eq!(narrow, ["<pre>a │ b\n──┼────\n1 │ two</pre>"]);
    let long = "w".repeat(60);
    let wide =
        telegram(&format!("| Name | What |\n|---|---|\n| First | {long} |\n| Second | b |\n"));
    assert_eq!(wide, [format!("<b>First</b>\n• What: {long}\n\n<b>Second</b>\n• What: b")]);
}

#[test]
fn columns_stand_under_each_other_whatever_is_in_them() {
    let shown = telegram("| name | n |\n|---|---|\n| 👩‍👩‍👧‍👦 | 1 |\n| 日本 | 2 |\n| abcd | 3 |\n");
    // The emoji of a family is as wide as two ordinary letters, and two Japanese letters as four.
    assert_eq!(shown, ["<pre>name │ n\n─────┼──\n👩‍👩‍👧‍👦   │ 1\n日本 │ 2\nabcd │ 3</pre>"]);
    // Every cell is drawn from the left, even if its script runs the other way.
    let mixed = telegram("| a | b |\n|---|---|\n| שלום | 1 |\n");
    assert!(mixed[0].contains("\u{200e}שלום\u{200e} │ \u{200e}1"), "{mixed:?}");
}

#[test]
fn a_heading_goes_with_what_it_is_the_heading_of_and_a_quote_stays_one() {
    let filler = "word ".repeat(790);
    let shown = telegram(&format!("{filler}\n\n## Next\n\n{}", "other ".repeat(100)));
    assert_eq!(shown.len(), 2);
    assert!(!shown[0].contains("Next") && shown[1].starts_with("<b>Next</b>\n\nother"));
    // A heading alone in a message, before a block too long for one message, is not moved again and
    // again.
    let long = telegram(&format!("# Title\n\n{}", "w".repeat(9_000)));
    assert_eq!((long.len(), long[0].as_str()), (4, "<b>Title</b>"));
    let quote = telegram("> one\n>\n> two\n\nafter");
    assert_eq!(quote, ["<blockquote>one\n\ntwo</blockquote>\n\nafter"]);
    let item = telegram("- one\n\n  more of it\n- two\n");
    assert_eq!(item, ["• one\n  more of it\n• two"]);
}

#[test]
fn a_long_fence_is_closed_and_opened_again() {
    let code = (0..400).map(|line| format!("line number {line}")).collect::<Vec<_>>().join("\n");
    let shown = telegram(&format!("before\n\n```python\n{code}\n```\n\nafter"));
    assert!(shown.len() > 1);
    for message in &shown[1..shown.len() - 1] {
        assert!(
            message.starts_with("<pre><code class=\"language-python\">line number"),
            "{message}"
        );
        assert!(message.ends_with("</code></pre>"), "{message}");
    }
    let seen: String = shown.iter().map(|m| telegram_text(m).unwrap() + "\n").collect();
    for line in 0..400 {
        assert!(seen.contains(&format!("line number {line}\n")), "{line}");
    }
}

/// A text of 100 kB with everything that is hard to split. Each `part-N.` occurs once, so that
/// lost, doubled or swapped parts are noticed.
pub(crate) fn everything() -> String {
    let (mut text, mut part) = (String::new(), 0);
    while text.len() < 100 * 1024 {
        let mut mark = || {
            part += 1;
            format!("part-{part}.")
        };
        text.push_str(&format!(
            "## Überschrift {} 👩‍👩‍👧‍👦\n\nA paragraph with **bold {}**, `code` and שלום עולם, مرحبا, <b>not html</b> & \
             more, [a link](https://example.org/?a=1&b=\"2\") {}\n\n",
            mark(), mark(), mark(),
        ));
        text.push_str(&format!(
            "| k | v |\n|---|---|\n| {} | 1 |\n| שלום | {} 🇫🇷 |\n\n1. one {}\n   - deep {}\n     - deeper {}\n\n       \
             and more of it\n   - [x] done {}\n2. two\n\n   ```sh\n   echo {}\n   ```\n\n",
            mark(), mark(), mark(), mark(), mark(), mark(), mark(),
        ));
        text.push_str(&format!(
            "| Name | What it is about |\n|---|---|\n| {} | {} |\n| {} | **b** & <i> |\n\n",
            mark(),
            "a long cell ".repeat(6),
            mark(),
        ));
        let code: Vec<String> =
            (0..40).map(|line| format!("let a{line} = \"<b>\" && `x`; // {}", mark())).collect();
        text.push_str(&format!(
            "```js\n{}\n```\n\n> quote *here* {}\n>\n> שורה\n\n",
            code.join("\n"),
            mark()
        ));
        text.push_str(&format!(
            "<details open>\n<summary>{}</summary>\n</details>\n\n---\n\n",
            mark()
        ));
    }
    text
}

/// The numbers of the parts, in the order in which they are shown.
pub(crate) fn parts(text: &str) -> Vec<usize> {
    let pieces = text.split("part-").skip(1);
    pieces.map(|piece| piece.split('.').next().unwrap().parse().unwrap()).collect()
}

#[test]
fn a_hundred_kilobytes_arrive_whole_and_every_message_is_valid() {
    let text = everything();
    let whole: Vec<usize> = (1..=parts(&text).len()).collect();
    assert_eq!(parts(&text), whole);
    let mut seen = String::new();
    for message in TextFormat::TelegramHtml.messages(&text, TELEGRAM) {
        let shown = telegram_text(&message.marked).unwrap();
        assert!(shown.encode_utf16().count() <= 4_096);
        assert!(!shown.trim().is_empty());
        // No message ends with a heading whose text is in the next message.
        let last = shown.trim_end().lines().last().unwrap_or_default();
        assert!(!last.contains("Überschrift"), "{shown}");
        seen.push_str(&shown);
    }
    assert_eq!(parts(&seen), whole);
    let mut seen = String::new();
    for message in TextFormat::DiscordMarkdown.messages(&text, DISCORD) {
        assert!(message.marked.chars().count() <= 2_000, "{}", message.marked.chars().count());
        let shown = discord_text(&message.marked);
        seen.push_str(&shown.unwrap_or_else(|why| panic!("{why}: {}", message.marked)));
    }
    assert_eq!(parts(&seen), whole);
}

#[test]
fn a_family_and_a_flag_are_not_torn_apart() {
    let text = "👩‍👩‍👧‍👦".repeat(700) + &"🇫🇷".repeat(1_500);
    for message in TextFormat::TelegramHtml.messages(&text, TELEGRAM) {
        let seen = telegram_text(&message.marked).unwrap();
        assert!(!seen.starts_with('\u{200d}') && !seen.ends_with('\u{200d}'));
        let flags = seen.chars().filter(|c| ('\u{1f1e6}'..='\u{1f1ff}').contains(c)).count();
        assert_eq!(flags % 2, 0);
    }
}

fn words(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Whatever a model writes, Telegram's parser accepts every message, each is within the limits,
    /// and no plain word is lost.
    #[test]
    fn whatever_is_written_is_valid_and_within_limits(
        pieces in prop::collection::vec(prop_oneof![
            "[a-z <>&*_`#|\\[\\]()!~>-]{0,40}", Just("\n\n".to_owned()), Just("\n- ".to_owned()),
            Just("```\n".to_owned()), Just("**".to_owned()), Just("| a | b |\n|---|---|\n".to_owned()),
            Just("🇫🇷👩‍👧".to_owned()), "\\PC{0,30}",
        ], 0..60),
        length in 40_usize..400,
    ) {
        let text = pieces.concat();
        let limits = TextLimits { length, styles: 20 };
        for message in TextFormat::TelegramHtml.messages(&text, limits) {
            let seen = telegram_text(&message.marked).map_err(TestCaseError::fail)?;
            prop_assert!(seen.encode_utf16().count() <= length, "{} > {length}: {seen:?}", seen.encode_utf16().count());
        }
        for message in TextFormat::DiscordMarkdown.messages(&text, limits) {
            prop_assert!(message.marked.chars().count() <= length, "{} > {length}: {:?}", message.marked.chars().count(), message.marked);
            discord_text(&message.marked).map_err(|why| TestCaseError::fail(format!("{why}: {:?}", message.marked)))?;
        }
    }

    #[test]
    fn no_word_is_lost_by_splitting(paragraphs in prop::collection::vec("[a-z]{1,60}( [a-z]{1,60}){0,40}", 1..20), length in 50_usize..300) {
        let text = paragraphs.join("\n\n");
        for text_format in [TextFormat::TelegramHtml, TextFormat::DiscordMarkdown, TextFormat::Markdown] {
            let messages = text_format.messages(&text, TextLimits { length, styles: 20 });
            let seen: String = messages.iter().map(|message| message.plain.clone() + " ").collect();
            prop_assert_eq!(words(&seen), words(&text));
        }
    }
}
