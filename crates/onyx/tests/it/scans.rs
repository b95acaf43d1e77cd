//! Scanned PDFs and pictures, read by the installed `tesseract` (`scripts/setup` installs it). The
//! fixtures show three lines in three formats: a PNG of one bit a pixel, the coded lines of a fax of
//! group 4, and a JPEG.

use std::fs::File;
use std::path::Path;
use std::process::Command;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use onyx_extract::{ExtractError, ExtractedText, Kind, Reader};
use onyx_test_support::{OnyxProcess, ScriptedModel, wait_for};
use serde_json::{Value, json};

use crate::documents::{assembled, stream};
use crate::sources::{attach, found, server};
use crate::{BINARY, SOON, builder, command};

const PNG: &[u8] = include_bytes!("../fixtures/scans/warranty.png");
const FAX: &[u8] = include_bytes!("../fixtures/scans/warranty.g4");
const JPEG: &[u8] = include_bytes!("../fixtures/scans/warranty.jpg");

const TESSERACT: &str = "/usr/bin/tesseract";
const SAYS: &str = "Warranty for the Quastenflosser";

/// What a page of a test's document shows.
enum Shown {
    Text(&'static str),
    Picture {
        head: &'static str,
        data: Vec<u8>,
    },
    /// A text, and below it a picture of these gray pixels.
    Illustrated {
        text: &'static str,
        pixels: &'static [u8],
    },
    Nothing,
}

/// The compressed pixels of the PNG: a PDF packs them in the same way.
fn pixels() -> Shown {
    let (mut rest, mut data) = (&PNG[8..], Vec::new());
    while let [a, b, c, d, kind @ ..] = rest {
        let length = u32::from_be_bytes([*a, *b, *c, *d]) as usize;
        if kind.starts_with(b"IDAT") {
            data.extend_from_slice(&kind[4..4 + length]);
        }
        rest = &kind[4 + length + 4..];
    }
    let head = "/Width 720 /Height 200 /ColorSpace /DeviceGray /BitsPerComponent 1 /Filter /FlateDecode \
                /DecodeParms << /Predictor 15 /Columns 720 /BitsPerComponent 1 >>";
    Shown::Picture { head, data }
}

fn fax() -> Shown {
    let head = "/Width 720 /Height 200 /ImageMask true /Filter [/CCITTFaxDecode] \
                /DecodeParms [<< /K -1 /Columns 720 /Rows 200 >>]";
    Shown::Picture { head, data: FAX.to_vec() }
}

fn jpeg() -> Shown {
    let head =
        "/Width 720 /Height 200 /ColorSpace /DeviceGray /BitsPerComponent 8 /Filter /DCTDecode";
    Shown::Picture { head, data: JPEG.to_vec() }
}

/// A document of these pages. Each page lists the pictures of all pages, as some programs write it,
/// and draws only its own.
fn document(pages: &[Shown]) -> Vec<u8> {
    let number = |index: usize, part: usize| 4 + 3 * index + part;
    let all = 0..pages.len();
    let kids: String = all.clone().map(|index| format!("{} 0 R ", number(index, 0))).collect();
    let images: String = all.map(|index| format!("/Im{index} {} 0 R ", number(index, 2))).collect();
    let mut objects = vec![
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        format!(
            "<< /Type /Pages /Kids [{kids}] /Count {} /MediaBox [0 0 720 200] \
             /Resources << /Font << /F1 3 0 R >> /XObject << {images} >> >> >>",
            pages.len()
        )
        .into_bytes(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_vec(),
    ];
    for (index, page) in pages.iter().enumerate() {
        let content = number(index, 1);
        let head = format!("<< /Type /Page /Parent 2 0 R /Contents {content} 0 R >>");
        let (draws, picture) = match page {
            Shown::Text(text) => (format!("BT /F1 12 Tf 20 100 Td ({text}) Tj ET"), None),
            Shown::Picture { head, data } => {
                let picture = stream(&format!("/Type /XObject /Subtype /Image {head}"), data);
                (format!("q 720 0 0 200 0 0 cm /Im{index} Do Q"), Some(picture))
            }
            Shown::Illustrated { text, pixels } => {
                let head = format!(
                    "/Type /XObject /Subtype /Image /Width {} /Height 1 /ColorSpace /DeviceGray \
                     /BitsPerComponent 8",
                    pixels.len()
                );
                let draws = format!("BT /F1 12 Tf 20 100 Td ({text}) Tj ET /Im{index} Do");
                (draws, Some(stream(&head, pixels)))
            }
            Shown::Nothing => (String::new(), None),
        };
        let picture = picture.unwrap_or_else(|| b"null".to_vec());
        objects.extend([head.into_bytes(), stream("", draws.as_bytes()), picture]);
    }
    assembled(&objects)
}

fn reader() -> Reader {
    Reader::new(BINARY, &["read-document"]).with_tesseract(Some(TESSERACT.into()), None)
}

async fn read(reader: Reader, bytes: Vec<u8>) -> Result<ExtractedText, ExtractError> {
    reader.extract("scan".to_owned(), None, bytes).await
}

async fn attach_file(onyx: &OnyxProcess, name: &str, bytes: &[u8]) -> Value {
    let data = BASE64_STANDARD.encode(bytes);
    attach(onyx, json!({"kind": "file", "name": name, "data": data})).await
}

#[tokio::test]
async fn scans_of_every_format_and_pictures_are_found_by_search() {
    let (_model, onyx) = server().await;
    let files = [
        ("pixels.pdf", document(&[pixels()])),
        ("fax.pdf", document(&[fax()])),
        ("jpeg.pdf", document(&[jpeg()])),
        ("warranty.png", PNG.to_vec()),
    ];
    for (index, (name, bytes)) in files.iter().enumerate() {
        let source = attach_file(&onyx, name, bytes).await;
        assert_eq!(source["state"], "ready", "{name}: {source}");
        let hits = found(&onyx, "Quastenflosser").await;
        assert_eq!(hits.len(), index + 1, "{name}: {hits:?}");
    }
}

#[tokio::test]
async fn pages_with_text_and_scanned_pages_keep_their_numbers() {
    let pages = [
        Shown::Text("The first page"),
        fax(),
        Shown::Nothing,
        Shown::Picture { head: "/Width 9 /Height 9 /Filter /JBIG2Decode", data: b"bits".to_vec() },
        pixels(),
        Shown::Text("The last page"),
    ];
    let read = read(reader(), document(&pages)).await.unwrap();
    let (markdown, lacks) = (read.markdown, read.lacks);
    let sections: Vec<(&str, &str)> = markdown
        .split("## Page ")
        .skip(1)
        .filter_map(|section| section.split_once('\n'))
        .map(|(number, text)| (number, text.trim().lines().next().unwrap_or_default()))
        .collect();
    let refused = "*This page could not be read: its picture is compressed with JBIG2, which is not \
                   supported.*";
    let expected =
        [("1", "The first page"), ("2", SAYS), ("4", refused), ("5", SAYS), ("6", "The last page")];
    assert_eq!((sections, lacks), (expected.to_vec(), None), "{markdown}");
}

/// The pixels of a picture may spell an operator without its operands.
#[tokio::test]
async fn a_picture_does_not_hide_the_text_of_its_page() {
    let page = Shown::Illustrated { text: "The first page", pixels: b"w " };
    let read = read(reader(), document(&[page])).await.unwrap();
    assert_eq!(read.markdown, "## Page 1\n\nThe first page\n");
}

#[tokio::test]
async fn a_document_of_which_no_page_can_be_read_says_why() {
    let broken = Shown::Picture {
        head: "/Width 720 /Height 200 /ColorSpace /DeviceGray /BitsPerComponent 1 /Filter /FlateDecode",
        data: b"not packed".to_vec(),
    };
    let said = read(reader(), document(&[Shown::Nothing, broken])).await;
    assert_eq!(said, Err(ExtractError::Damaged("its picture cannot be unpacked".to_owned())));
    let said = read(reader(), PNG[..900].to_vec()).await;
    assert_eq!(said, Err(ExtractError::Damaged("`tesseract` cannot open the picture".to_owned())));
    let said = read(reader(), document(&[Shown::Nothing])).await;
    assert_eq!(said, Err(ExtractError::NoText));
}

/// `tesseract` takes bytes that are no picture for a list of files to read.
#[tokio::test]
async fn a_picture_cannot_make_tesseract_open_another_file() {
    let folder = tempfile::tempdir().unwrap();
    let (private, list) = (folder.path().join("private.png"), folder.path().join("list"));
    std::fs::write(&private, PNG).unwrap();
    std::fs::write(&list, format!("{}\n", private.display())).unwrap();
    let ran = |command: &mut Command| {
        let input = File::open(&list).unwrap();
        let ended = command.env_clear().stdin(input).output().unwrap();
        (ended.status.success(), String::from_utf8(ended.stdout).unwrap().contains(SAYS))
    };
    let arguments = ["stdin", "stdout", "-l", "eng"];
    let unconfined = ran(Command::new(TESSERACT).args(arguments));
    assert_eq!(unconfined, (true, true), "without confinement it reads the file of the list");
    let words = ["read-document", "recognise", TESSERACT];
    assert_eq!(ran(Command::new(BINARY).args(words).args(arguments)), (false, false));

    // Such bytes do not even reach it.
    let (head, data) = ("/Width 720 /Height 200 /Filter /DCTDecode", std::fs::read(&list).unwrap());
    let said = read(reader(), document(&[Shown::Picture { head, data }])).await;
    assert_eq!(said, Err(ExtractError::Damaged("its picture is no JPEG".to_owned())));
}

#[tokio::test]
async fn a_scan_waits_for_tesseract_and_is_read_once_it_is_installed() {
    let model = ScriptedModel::start().await;
    let programs = tempfile::tempdir().unwrap();
    let mut onyx = builder(&model)
        .file("people/owner/spaces/home/space.json", "{\"name\": \"Home\"}")
        .env("PATH", programs.path().to_str().unwrap())
        .start()
        .await;
    let scan = attach_file(&onyx, "scan.pdf", &document(&[fax()])).await;
    assert_eq!(scan["state"], "failed", "{scan}");
    let error = scan["documents"][0]["error"].as_str().unwrap();
    assert!(error.contains("install `tesseract`"), "{error}");

    // Of this one the page with text is read at once.
    let mixed = document(&[Shown::Text("The Grottenolm page"), pixels()]);
    let source = attach_file(&onyx, "mixed.pdf", &mixed).await;
    assert_eq!(source["state"], "partial", "{source}");
    let error = source["documents"][0]["error"].as_str().unwrap();
    assert!(error.starts_with("some of its pages are missing: "), "{error}");
    assert!(error.contains("install `tesseract`"), "{error}");
    assert_eq!(found(&onyx, "Grottenolm").await.len(), 1);
    assert!(found(&onyx, "Quastenflosser").await.is_empty());

    std::os::unix::fs::symlink(TESSERACT, programs.path().join("tesseract")).unwrap();
    onyx.restart().await;
    let path = format!("/api/sources/{}", source["id"].as_str().unwrap());
    let _ = onyx.client().post(&path, &json!({})).await.expect(200);
    let synced = wait_for("the sync", SOON * 3, async || {
        let source = onyx.client().get(&path).await.expect(200).json();
        (source["state"] != "importing").then_some(source)
    });
    assert_eq!(synced.await["state"], "ready");
    assert_eq!(found(&onyx, "Quastenflosser").await.len(), 1);
}

#[tokio::test]
async fn a_page_that_waits_for_tesseract_says_so_in_its_place() {
    let mixed = document(&[Shown::Text("The first page"), pixels()]);
    let read = read(Reader::new(BINARY, &["read-document"]), mixed).await.unwrap();
    let markdown = "## Page 1\n\nThe first page\n\n## Page 2\n\n*This page could not be read: it is a \
                    picture or a scan; install `tesseract` to have the text on it read.*\n";
    let (kind, title, lacks) = (Kind::Pdf, None, Some(ExtractError::NeedsOcr));
    assert_eq!(read, ExtractedText { kind, title, markdown: markdown.to_owned(), lacks });
}

#[tokio::test]
async fn the_doctor_says_whether_scans_can_be_read() {
    let (home, empty) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for (path, says) in [
        (Path::new("/usr/bin"), ["tesseract ", "reads scanned PDFs and pictures in ", "eng"]),
        (empty.path(), ["off: ", "not installed", "apt install tesseract-ocr"]),
    ] {
        let ran = command(home.path(), &["doctor", "--json"]).env("PATH", path).output().await;
        let checks: Vec<Value> = serde_json::from_slice(&ran.unwrap().stdout).unwrap();
        let scans = checks.iter().find(|check| check["name"] == "scans").unwrap();
        assert_eq!(scans["state"], "ok", "{scans}");
        let detail = scans["detail"].as_str().unwrap();
        assert!(says.iter().all(|part| detail.contains(part)), "{detail}");
    }
}
