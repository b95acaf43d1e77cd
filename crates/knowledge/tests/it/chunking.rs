use onyx_knowledge::{Chunking, Document, Piece, Ruler};
use onyx_types::estimate_tokens;
use proptest::prelude::*;

fn pieces(text: &str) -> Vec<Piece> {
    Document::read(text, &Chunking::default(), &Ruler::estimate()).pieces
}

fn lines(text: &str, piece: &Piece) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[piece.start_line as usize - 1..piece.end_line as usize].join("\n")
}

fn paragraph(word: &str, words: usize) -> String {
    (0..words).map(|n| format!("{word}{n}")).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_short_note_is_one_chunk_with_its_title() {
    let text = "# Garden\n\nPlant in May.\n\n- tomatoes\n- basil\n";
    let document = Document::read(text, &Chunking::default(), &Ruler::estimate());
    assert_eq!(document.title.as_deref(), Some("Garden"));
    let whole = Piece {
        start_line: 1,
        end_line: 6,
        heading: "Garden".into(),
        text: text.trim_end().into(),
    };
    assert_eq!(document.pieces, [whole]);
}

#[test]
fn front_matter_gives_title_and_date() {
    let text = "---\ntitle: \"Trip\"\ncreated: 2026-03-04T10:00:00Z\n---\nWe went.\n";
    let document = Document::read(text, &Chunking::default(), &Ruler::estimate());
    assert_eq!(
        (document.title.as_deref(), document.date.as_deref()),
        (Some("Trip"), Some("2026-03-04"))
    );
}

#[test]
fn sections_are_parted_where_headings_stand_and_say_under_which() {
    let text = format!(
        "# House\n\n## Roof\n\n{}\n\n## Cellar\n\n{}\n\n### Wine\n\n{}\n",
        paragraph("roof", 150),
        paragraph("cellar", 150),
        paragraph("wine", 150)
    );
    let mut headings: Vec<_> = pieces(&text).into_iter().map(|piece| piece.heading).collect();
    headings.dedup();
    assert_eq!(headings, ["House", "House > Cellar", "House > Cellar > Wine"]);
}

#[test]
fn fences_and_tables_stay_whole() {
    let code = (0..60).map(|n| format!("let value_{n} = compute({n});")).collect::<Vec<_>>();
    let table = (0..30).map(|n| format!("| row {n} | value {n} |")).collect::<Vec<_>>();
    let text = format!(
        "{}\n\n```rust\n# no heading\n{}\n```\n\n{}\n\n{}\n",
        paragraph("before", 200),
        code.join("\n"),
        table.join("\n"),
        paragraph("after", 200)
    );
    let pieces = pieces(&text);
    let holding = |part: &str| pieces.iter().filter(|p| p.text.contains(part)).collect::<Vec<_>>();
    let fence = holding("let value_0 =");
    assert!(
        fence[0].text.contains("```rust") && fence[0].text.contains("value_59 = compute(59);\n```")
    );
    assert_eq!((fence.len(), fence[0].heading.as_str()), (1, ""));
    let rows = holding("| row 0 |");
    assert!(rows.len() == 1 && rows[0].text.contains("| row 29 |"));
}

#[test]
fn chunks_of_a_long_text_overlap_a_little() {
    let text =
        (0..120).map(|n| paragraph(&format!("line{n}word"), 8)).collect::<Vec<_>>().join("\n");
    let pieces = pieces(&text);
    assert!(pieces.len() > 3);
    for pair in pieces.windows(2) {
        assert!(pair[1].start_line <= pair[0].end_line, "no overlap");
        assert!(pair[1].start_line > pair[0].start_line && pair[1].end_line > pair[0].end_line);
        let shared = pair[0].end_line - pair[1].start_line + 1;
        assert!(shared < 12, "{shared} lines of overlap");
    }
}

#[test]
fn a_line_without_an_end_is_cut_between_words() {
    let text = format!("# T\n\n{}\n", paragraph("endless", 3_000));
    let pieces = pieces(&text);
    assert!(pieces.len() > 5);
    let cut: Vec<_> = pieces.iter().filter(|piece| piece.start_line == 3).collect();
    let words: Vec<&str> = cut.iter().flat_map(|piece| piece.text.split(' ')).collect();
    assert_eq!(words.join(" "), paragraph("endless", 3_000));
}

proptest! {
    #[test]
    fn every_line_with_words_is_in_a_chunk_that_names_exactly_its_lines(
        text in "(#{1,3} [a-z ]{1,20}\n|[a-zäö猫 ]{0,300}\n|```\n|\\| a \\| b \\|\n|- [a-z ]{1,40}\n|---\n|\n){0,60}"
    ) {
        let pieces = pieces(&text);
        for piece in &pieces {
            if piece.start_line < piece.end_line || lines(&text, piece) == piece.text {
                prop_assert_eq!(&lines(&text, piece), &piece.text);
            }
            prop_assert!(estimate_tokens(&piece.text) <= 4 * 400 + 400);
        }
        for (number, line) in (1..).zip(text.lines()) {
            let covered = pieces.iter().any(|p| p.start_line <= number && number <= p.end_line);
            prop_assert!(covered || line.trim().is_empty(), "line {} is lost: {:?}", number, line);
        }
    }
}
