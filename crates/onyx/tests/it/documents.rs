//! PDFs are read in a process of their own. Whatever they do to it, the caller gets an error and
//! the server continues.

use std::io::Write as _;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use flate2::write::ZlibEncoder;
use flate2::{Compress, Compression, FlushCompress};
use onyx_extract::{ExtractError, ExtractedText, Kind, Reader};

const PAGE: &str = "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 300] /Contents 5 0 R /Resources << /Font << /F1 3 0 R >> >> >>";

fn reader() -> Reader {
    Reader::new(env!("CARGO_BIN_EXE_onyx"), &["read-document"])
}

async fn read(pdf: Vec<u8>) -> Result<ExtractedText, ExtractError> {
    reader().extract("paper.pdf".to_owned(), None, pdf).await
}

#[tokio::test]
async fn a_pdf_is_read_by_a_process_of_its_own() {
    let words = deflated(b"BT /F1 12 Tf 20 200 Td (Warranty until March) Tj ET");
    let markdown = "## Page 1\n\nWarranty until March\n".to_owned();
    assert_eq!(
        read(pdf(PAGE, &words)).await,
        Ok(ExtractedText { kind: Kind::Pdf, title: None, markdown, lacks: None })
    );
}

#[tokio::test]
async fn a_stream_that_unpacks_to_gigabytes_does_not_reach_the_caller() {
    let bomb = bomb(3_000);
    assert!(bomb.len() < 8 * 1024 * 1024, "it is small: {}", bomb.len());
    let read = read(pdf(PAGE, &bomb)).await;
    assert!(
        matches!(
            read,
            Err(ExtractError::TooCostly { .. } | ExtractError::NoText | ExtractError::Damaged(_))
        ),
        "{read:?}"
    );
}

#[tokio::test]
async fn a_pdf_that_keeps_its_reader_busy_for_ever_is_given_up() {
    // The page is its own parent, so the search for an inherited size never ends.
    let page = "<< /Type /Page /Parent 4 0 R /Contents 5 0 R >>";
    let endless = pdf(page, &deflated(b"BT (x) Tj ET"));
    let reader = reader().within(Duration::from_secs(3));
    let read = reader.extract("endless.pdf".to_owned(), None, endless).await;
    assert_eq!(read, Err(ExtractError::TooCostly { seconds: 3 }));
}

/// A program in the place of `tesseract` that prints its arguments and how many bytes it got. Like
/// the real one it needs one process.
const PROGRAM: &str = "#!/bin/sh
case $1 in
--list-langs) echo 'List of available languages (1):'; echo eng ;;
*) echo \"$*:\"; exec /usr/bin/wc -c ;;
esac
";

#[tokio::test]
async fn what_is_written_on_a_picture_or_a_scan_is_read_where_tesseract_is_installed() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("tesseract");
    std::fs::write(&program, PROGRAM).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let picture = b"\x89PNG\r\n\x1a\n and more".to_vec();
    let extract = async |reader: Reader, bytes: &[u8]| {
        reader.extract("scan".to_owned(), None, bytes.to_vec()).await
    };
    let recognising = || reader().with_tesseract(Some(program.clone()), None);
    let markdown = format!("stdin stdout -l eng:\n{}\n", picture.len());
    assert_eq!(
        extract(recognising(), &picture).await,
        Ok(ExtractedText { kind: Kind::Picture, title: None, markdown, lacks: None })
    );
    assert_eq!(extract(reader(), &picture).await, Err(ExtractError::NeedsOcr));

    let page = "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 300] /Contents 5 0 R /Resources << /XObject << /Im1 6 0 R >> >> >>";
    let jpeg = b"\xff\xd8\xff and more";
    let image = stream("/Type /XObject /Subtype /Image /Filter /DCTDecode", jpeg);
    let scan = pdf_with(page, &deflated(b"/Im1 Do"), vec![image]);
    let read = extract(recognising(), &scan).await.unwrap();
    assert_eq!(read.markdown, format!("## Page 1\n\nstdin stdout -l eng:\n{}\n", jpeg.len()));
    assert_eq!(extract(reader(), &scan).await, Err(ExtractError::NeedsOcr));
}

#[tokio::test]
async fn a_reader_that_never_answers_is_given_up() {
    let stuck = Reader::new("/bin/sleep", &["3600"]).within(Duration::from_millis(100));
    let read = stuck.extract("a.pdf".to_owned(), None, b"%PDF-1.5".to_vec()).await;
    assert_eq!(read, Err(ExtractError::TooCostly { seconds: 0 }));
}

#[tokio::test]
async fn a_reader_that_cannot_start_says_so() {
    let absent = Reader::new("/nowhere/onyx", &[]);
    let read = absent.extract("a.pdf".to_owned(), None, b"%PDF-1.5".to_vec()).await;
    assert!(matches!(read, Err(ExtractError::Reader(_))), "{read:?}");
}

/// A PDF with one page and one line, as base64.
pub(crate) fn one_page_pdf(line: &str) -> String {
    let words = deflated(format!("BT /F1 12 Tf 20 200 Td ({line}) Tj ET").as_bytes());
    BASE64_STANDARD.encode(pdf(PAGE, &words))
}

fn deflated(content: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

/// A compressed stream of this many megabytes of spaces. It is made without compressing all of
/// them, because after a full flush each megabyte compresses to the same bytes.
fn bomb(megabytes: usize) -> Vec<u8> {
    let spaces = vec![b' '; 1024 * 1024];
    let mut packer = Compress::new(Compression::best(), true);
    let mut pack = |flush| {
        let mut packed = Vec::with_capacity(64 * 1024);
        packer.compress_vec(&spaces, &mut packed, flush).unwrap();
        packed
    };
    let first = pack(FlushCompress::Full);
    let again = pack(FlushCompress::Full);
    [first, again.repeat(megabytes)].concat()
}

fn pdf(page: &str, stream: &[u8]) -> Vec<u8> {
    pdf_with(page, stream, Vec::new())
}

/// A PDF with further objects, beginning with the sixth.
fn pdf_with(page: &str, content: &[u8], more: Vec<Vec<u8>>) -> Vec<u8> {
    let objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        b"<< /Type /Pages /Kids [4 0 R] /Count 1 >>".to_vec(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_vec(),
        page.as_bytes().to_vec(),
        stream("/Filter /FlateDecode", content),
    ];
    assembled(&[objects.to_vec(), more].concat())
}

/// An object that is a stream.
pub(crate) fn stream(head: &str, content: &[u8]) -> Vec<u8> {
    let head = format!("<< {head} /Length {} >>\nstream\n", content.len());
    [head.as_bytes(), content, b"\nendstream"].concat()
}

/// The file of these objects, of which the first is the catalog.
pub(crate) fn assembled(objects: &[Vec<u8>]) -> Vec<u8> {
    let size = objects.len() + 1;
    let mut file = b"%PDF-1.5\n".to_vec();
    let mut table = String::from("0000000000 65535 f \n");
    for (index, object) in objects.iter().enumerate() {
        table.push_str(&format!("{:010} 00000 n \n", file.len()));
        file.extend_from_slice(format!("{} 0 obj\n", index + 1).as_bytes());
        file.extend_from_slice(object);
        file.extend_from_slice(b"\nendobj\n");
    }
    let start = file.len();
    let trailer = format!(
        "xref\n0 {size}\n{table}trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n"
    );
    file.extend_from_slice(trailer.as_bytes());
    file
}
