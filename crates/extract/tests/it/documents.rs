use std::io::Write as _;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use onyx_extract::{Document, ExtractError, ExtractedText, Kind, LARGEST_DOCUMENT};

fn extract(name: &str, bytes: &[u8]) -> Result<ExtractedText, ExtractError> {
    Document { name, media_type: None, bytes }.extract()
}

fn extracted(
    kind: Kind,
    title: Option<&str>,
    markdown: &str,
) -> Result<ExtractedText, ExtractError> {
    let (title, markdown) = (title.map(str::to_owned), markdown.to_owned());
    Ok(ExtractedText { kind, title, markdown, lacks: None })
}

#[test]
fn markdown_and_plain_text_stay_as_they_are() {
    let note = "---\ntags: [x]\n---\n# Garden plan #\n\n- beans\n";
    assert_eq!(
        extract("plan.md", note.as_bytes()),
        extracted(Kind::Markdown, Some("Garden plan"), note)
    );
    assert_eq!(
        extract("notes", "One\r\ntwo\rthree\n".as_bytes()),
        extracted(Kind::Plain, None, "One\ntwo\nthree\n")
    );
}

#[test]
fn old_encodings_are_read_and_what_is_no_text_is_refused() {
    let latin = b"Caf\xe9 am See\n";
    assert_eq!(extract("alt.txt", latin), extracted(Kind::Plain, None, "Café am See\n"));
    let wide: Vec<u8> =
        [0xff, 0xfe].into_iter().chain("Grüße".encode_utf16().flat_map(u16::to_le_bytes)).collect();
    assert_eq!(extract("wide.txt", &wide), extracted(Kind::Plain, None, "Grüße"));
    let cyrillic = Document {
        name: "old.txt",
        media_type: Some("text/plain; charset=\"windows-1251\""),
        bytes: b"\xcf\xf0\xe8\xe2\xe5\xf2",
    };
    assert_eq!(cyrillic.extract(), extracted(Kind::Plain, None, "Привет"));

    assert_eq!(extract("photo.txt", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"), Err(ExtractError::NeedsOcr));
    let noise: Vec<u8> = (1..=255).cycle().take(4_000).collect();
    assert_eq!(extract("noise.md", &noise), Err(ExtractError::NotText));
    assert_eq!(extract("empty.md", b" \n"), Err(ExtractError::NoText));
}

#[test]
fn the_first_bytes_are_believed_before_the_name() {
    let html = "<!DOCTYPE html><title>T</title><p>Plain words.</p>";
    let page = extracted(Kind::Html, Some("T"), "Plain words.\n");
    assert_eq!(extract("page.txt", html.as_bytes()), page);
    assert_eq!(extract("notes.md", &pdf(&["Hidden in a note"])).unwrap().kind, Kind::Pdf);
    let declared = Document {
        name: "https://example.org/table",
        media_type: Some("text/csv; charset=utf-8"),
        bytes: b"a,b\n1,2\n",
    };
    assert_eq!(declared.extract(), extracted(Kind::Csv, None, "- a: 1; b: 2\n"));
    assert!(matches!(extract("fake.pdf", b"just words"), Err(ExtractError::Damaged(_))));
}

#[test]
fn a_text_that_begins_as_a_bitmap_does_is_a_text() {
    let note = "BMW: winter tyres until April\n";
    assert_eq!(extract("car.txt", note.as_bytes()), extracted(Kind::Plain, None, note));
    assert_eq!(extract("scan", b"BM\x46\0\0\0\0\0\0\0\x36"), Err(ExtractError::NeedsOcr));
}

#[test]
fn a_row_names_its_columns() {
    let csv = "Name;Born;\"Said, once\"\nAda;1815;\"a \"\"note\"\"\nof two lines\"\nBob;;\n;;\n";
    let expected = "- Name: Ada; Born: 1815; Said, once: a \"note\" of two lines\n- Name: Bob\n";
    assert_eq!(extract("people.csv", csv.as_bytes()), extracted(Kind::Csv, None, expected));
    assert_eq!(
        extract("one.csv", b"just,one,line"),
        extracted(Kind::Csv, None, "- just; one; line\n")
    );
}

#[test]
fn code_is_fenced_in_pieces_that_say_their_lines() {
    let function = |index: usize| format!("fn f{index}() {{\n{}}}\n\n", "    step();\n".repeat(20));
    let code = format!("{}// ```\n", (0..3).map(function).collect::<String>());
    let markdown = extract("src/steps.rs", code.as_bytes()).unwrap().markdown;

    let headings: Vec<&str> = markdown.lines().filter(|line| line.starts_with("## ")).collect();
    assert_eq!(headings, ["## steps.rs, lines 1–46", "## steps.rs, lines 47–70"]);
    let original: Vec<&str> = code.lines().collect();
    assert!(markdown.contains(&format!("```rs\n{}\n```\n", original[..46].join("\n"))));
    assert!(markdown.contains("````rs\nfn f2() {"), "{markdown}");
}

#[test]
fn a_document_over_the_limit_is_refused_unread() {
    let large = vec![b'a'; LARGEST_DOCUMENT + 1];
    assert_eq!(extract("a.txt", &large), Err(ExtractError::TooLarge { limit: LARGEST_DOCUMENT }));
}

#[test]
fn pages_of_a_pdf_become_sections() {
    let document = pdf(&["The boiler was serviced", "Next visit in May"]);
    let expected = "## Page 1\n\nThe boiler was serviced\n\n## Page 2\n\nNext visit in May\n";
    assert_eq!(extract("boiler.pdf", &document), extracted(Kind::Pdf, None, expected));
    assert_eq!(extract("scan.pdf", &pdf(&[""])), Err(ExtractError::NoText));
}

#[test]
fn a_damaged_pdf_is_an_error_wherever_it_is_cut() {
    let document = pdf(&["The boiler was serviced"]);
    for length in (5..document.len()).step_by(13) {
        // A file may lose its end without losing its text.
        if let Ok(read) = extract("cut.pdf", &document[..length]) {
            assert_eq!(read.markdown, "## Page 1\n\nThe boiler was serviced\n", "cut at {length}");
        }
    }
}

/// A PDF of one line a page, with compressed streams.
pub(crate) fn pdf(pages: &[&str]) -> Vec<u8> {
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".as_bytes().to_vec(),
        Vec::new(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_vec(),
    ];
    let mut kids = String::new();
    for text in pages {
        let number = objects.len() + 1;
        kids.push_str(&format!("{number} 0 R "));
        objects.push(
            format!(
                "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 300] /Contents {} 0 R \
                 /Resources << /Font << /F1 3 0 R >> >> >>",
                number + 1
            )
            .into_bytes(),
        );
        objects.push(stream(format!("BT /F1 12 Tf 20 200 Td ({text}) Tj ET").as_bytes()));
    }
    objects[1] = format!("<< /Type /Pages /Kids [{kids}] /Count {} >>", pages.len()).into_bytes();
    assemble(&objects)
}

fn stream(content: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(content).unwrap();
    let deflated = encoder.finish().unwrap();
    let mut object =
        format!("<< /Length {} /Filter /FlateDecode >>\nstream\n", deflated.len()).into_bytes();
    object.extend_from_slice(&deflated);
    object.extend_from_slice(b"\nendstream");
    object
}

fn assemble(objects: &[Vec<u8>]) -> Vec<u8> {
    let mut file = b"%PDF-1.5\n".to_vec();
    let mut table = String::from("0000000000 65535 f \n");
    for (index, object) in objects.iter().enumerate() {
        table.push_str(&format!("{:010} 00000 n \n", file.len()));
        file.extend_from_slice(format!("{} 0 obj\n", index + 1).as_bytes());
        file.extend_from_slice(object);
        file.extend_from_slice(b"\nendobj\n");
    }
    let start = file.len();
    let size = objects.len() + 1;
    let trailer = format!(
        "xref\n0 {size}\n{table}trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n"
    );
    file.extend_from_slice(trailer.as_bytes());
    file
}
