//! Word documents and books.

use std::io::{Cursor, Write as _};

use onyx_extract::{Document, ExtractError, ExtractedText, Kind};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

fn archive(files: &[(&str, &str)]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in files {
        writer.start_file(*name, SimpleFileOptions::default()).unwrap();
        writer.write_all(text.as_bytes()).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn extract(bytes: &[u8]) -> Result<ExtractedText, ExtractError> {
    Document { name: "file", media_type: None, bytes }.extract()
}

fn word(body: &str) -> Vec<u8> {
    let xml = format!(
        "<?xml version=\"1.0\"?><w:document xmlns:w=\"w\"><w:body>{body}</w:body></w:document>"
    );
    archive(&[("[Content_Types].xml", "<x/>"), ("word/document.xml", &xml)])
}

fn paragraph(style: &str, text: &str) -> String {
    format!("<w:p><w:pPr>{style}</w:pPr><w:r><w:t xml:space=\"preserve\">{text}</w:t></w:r></w:p>")
}

#[test]
fn a_word_document_keeps_its_headings_lists_and_tables() {
    let item = "<w:numPr><w:ilvl w:val=\"1\"/><w:numId w:val=\"1\"/></w:numPr>";
    let cell = |text: &str| format!("<w:tc>{}</w:tc>", paragraph("", text));
    let row = |a: &str, b: &str| format!("<w:tr>{}{}</w:tr>", cell(a), cell(b));
    let body = [
        paragraph("<w:pStyle w:val=\"Heading1\"/>", "Lease"),
        paragraph("", "Tom &amp; Ida rent it. "),
        paragraph(item, "no pets"),
        format!("<w:tbl>{}{}</w:tbl>", row("month", "rent"), row("May", "4|5")),
        "<w:p><w:del><w:r><w:delText>taken out</w:delText></w:r></w:del></w:p>".to_owned(),
        paragraph("", "Signed."),
    ];
    let markdown = "# Lease\n\nTom & Ida rent it.\n\n  - no pets\n| month | rent |\n| --- | --- |\n\
                    | May | 4\\|5 |\n\nSigned.\n\n";
    let (title, markdown) = (Some("Lease".into()), markdown.into());
    let expected = ExtractedText { kind: Kind::Docx, title, markdown, lacks: None };
    assert_eq!(extract(&word(&body.concat())), Ok(expected));
}

#[test]
fn a_book_is_read_in_its_order() {
    let container =
        "<container><rootfiles><rootfile full-path=\"OEBPS/book.opf\"/></rootfiles></container>";
    let opf = "<package xmlns:dc=\"dc\"><metadata><dc:title>Of Martens</dc:title></metadata><manifest>\
               <item id=\"b\" href=\"text/two%20b.xhtml\"/><item id=\"a\" href=\"one.xhtml\"/></manifest>\
               <spine><itemref idref=\"a\"/><itemref idref=\"b\"/></spine></package>";
    let page = |text: &str| format!("<html><body><h1>{text}</h1><p>Words.</p></body></html>");
    let (one, two) = (page("First"), page("Second"));
    let mut files = vec![
        ("mimetype", "application/epub+zip"),
        ("META-INF/container.xml", container),
        ("OEBPS/book.opf", opf),
        ("OEBPS/text/two b.xhtml", two.as_str()),
        ("OEBPS/one.xhtml", one.as_str()),
    ];
    let book = extract(&archive(&files)).unwrap();
    assert_eq!((book.kind, book.title.as_deref()), (Kind::Epub, Some("Of Martens")));
    let (first, second) =
        (book.markdown.find("First").unwrap(), book.markdown.find("Second").unwrap());
    assert!(first < second && book.markdown.contains("Words."), "{}", book.markdown);

    files.push(("META-INF/encryption.xml", "<e><r URI=\"OEBPS/one.xhtml\"/></e>"));
    assert_eq!(extract(&archive(&files)), Err(ExtractError::Encrypted));
}

#[test]
fn archives_that_would_become_huge_or_deep_are_refused() {
    let deep = format!("{}{}", "<w:sdt>".repeat(2_000), "</w:sdt>".repeat(2_000));
    assert_eq!(extract(&word(&deep)), Err(ExtractError::TooComplex("document")));
    let blank = " ".repeat(70 * 1024 * 1024);
    let bomb = word(&blank);
    assert!(matches!(extract(&bomb), Err(ExtractError::TooLarge { .. })));
    assert!(matches!(
        extract(&word("<w:p>")[..200]),
        Err(ExtractError::Damaged(_) | ExtractError::NotText)
    ));
}

#[test]
fn a_picture_says_what_is_missing_to_read_it() {
    assert_eq!(extract(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"), Err(ExtractError::NeedsOcr));
}
