//! PDFs through the real helper: whatever a document holds, the gateway gets an answer in time.

use std::io::Write as _;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use onyx_extract::{ExtractError, Reader};
use onyx_test_support::{Dice, fuzz_time};

use crate::BINARY;

const PATIENCE: Duration = Duration::from_secs(10);

fn reader() -> Reader {
    Reader::new(BINARY, &["read-document"]).within(PATIENCE)
}

/// A document with a correct table of objects, so that a reader looks at the objects themselves.
fn document(objects: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = b"%PDF-1.7\n".to_vec();
    let mut offsets = Vec::new();
    for (index, object) in objects.iter().enumerate() {
        offsets.push(bytes.len());
        bytes.extend(format!("{} 0 obj\n", index + 1).bytes());
        bytes.extend(object);
        bytes.extend(b"\nendobj\n");
    }
    let table = bytes.len();
    bytes.extend(format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1).bytes());
    for offset in offsets {
        bytes.extend(format!("{offset:010} 00000 n \n").bytes());
    }
    let size = objects.len() + 1;
    bytes.extend(
        format!("trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n").bytes(),
    );
    bytes
}

fn stream(head: &str, content: &[u8]) -> Vec<u8> {
    let mut bytes = format!("<< /Length {} {head} >>\nstream\n", content.len()).into_bytes();
    bytes.extend(content);
    bytes.extend(b"\nendstream");
    bytes
}

fn packed(content: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn objects(content: Vec<u8>) -> Vec<Vec<u8>> {
    vec![
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_vec(),
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 300] /Contents 4 0 R /Resources << /Font << /F 5 0 R >> >> >>".to_vec(),
        content,
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_vec(),
    ]
}

const TEXT: &[u8] = b"BT /F 12 Tf 10 10 Td (Hello there) Tj ET";

async fn read(bytes: Vec<u8>) -> Result<String, ExtractError> {
    let began = Instant::now();
    let read = reader().extract("a.pdf".to_owned(), None, bytes).await;
    assert!(began.elapsed() < PATIENCE + Duration::from_secs(5), "{:?}", began.elapsed());
    read.map(|read| read.markdown)
}

#[tokio::test]
async fn bombs_and_circles_are_given_up_and_a_plain_document_reads() {
    let plain = read(document(&objects(stream("", TEXT)))).await.unwrap();
    assert!(plain.contains("Hello there"), "{plain}");
    let zeros = vec![b' '; 64 * 1024 * 1024];
    let bomb = stream("/Filter [/FlateDecode /FlateDecode]", &packed(&packed(&zeros)));
    let mut circle = objects(stream("", TEXT));
    circle[1] = b"<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 99999999 >>".to_vec();
    let mut parent = objects(stream("", TEXT));
    parent[3] = stream("/Length 4 0 R", TEXT);
    let deep = [b"[".repeat(200_000), b"]".repeat(200_000)].concat();
    let mut nested = objects(stream("", TEXT));
    nested[4] = deep;
    for (what, bytes) in [
        ("bomb", document(&objects(bomb))),
        ("circle", document(&circle)),
        ("parent", document(&parent)),
        ("nested", document(&nested)),
    ] {
        // A text and an error are both allowed, as long as the gateway gets an answer and survives.
        let read = read(bytes).await;
        assert!(read.as_ref().map_or(true, |text| text.len() < 20_000_000), "{what}");
    }
    let plain = read(document(&objects(stream("", TEXT)))).await.unwrap();
    assert!(plain.contains("Hello there"), "the next document is read as ever");
}

#[tokio::test]
async fn documents_with_a_right_table_and_wrong_objects() {
    let words: [&[u8]; 12] = [
        b"1 0 R",
        b"4 0 R",
        b"<<",
        b">>",
        b"[",
        b"]",
        b"/Filter /FlateDecode",
        b"-1",
        b"99999999999",
        b"(\\777",
        b"/Kids",
        b"/Length",
    ];
    let mut dice = Dice::new(7);
    let (began, mut tried) = (Instant::now(), 0);
    while began.elapsed() < fuzz_time() {
        let mut all = objects(stream("/Filter /FlateDecode", &packed(TEXT)));
        for _ in 0..=dice.below(4) {
            let index = dice.below(all.len());
            let object = &mut all[index];
            let at = dice.below(object.len() + 1);
            match dice.below(3) {
                0 => drop(object.splice(at..at, dice.pick(&words).to_vec())),
                1 => object.truncate(at),
                _ => drop(object.drain(at..(at + dice.below(12)).min(object.len()))),
            }
        }
        drop(read(document(&all)).await);
        tried += 1;
    }
    assert!(tried > 0);
}
