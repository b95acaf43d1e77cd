use std::cell::RefCell;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use onyx_local::{GgufLocation, ModelsFolder, StoredWeights};
use onyx_types::{ErrorCode, Fault};

use crate::file::gguf;

const SUM_OF_NOTHING: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// A server of one file that records the requests, and breaks off its first answer half-way.
struct Hub {
    address: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Hub {
    fn of(file: Vec<u8>, first_answer: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&asked);
        std::thread::spawn(move || {
            for (turn, connection) in listener.incoming().enumerate() {
                let most = if turn == 0 { first_answer } else { usize::MAX };
                answer(&connection.unwrap(), &file, most, &kept);
            }
        });
        Self { address, asked }
    }

    fn place(&self) -> GgufLocation {
        GgufLocation::named("someone/models/tiny.gguf", &self.address)
    }
}

fn answer(mut connection: &TcpStream, file: &[u8], most: usize, asked: &Mutex<Vec<String>>) {
    let mut lines = BufReader::new(connection).lines().map(Result::unwrap);
    let request = lines.next().unwrap();
    let headers: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
    let range = headers.iter().find_map(|line| line.strip_prefix("range: bytes="));
    let from: usize = range.map_or(0, |range| range.strip_suffix('-').unwrap().parse().unwrap());
    asked.lock().unwrap().push(format!("{request} from {from}"));
    let rest = &file[from..];
    let (status, range) = match from {
        0 => ("200 OK", String::new()),
        _ => (
            "206 Partial Content",
            format!("content-range: bytes {from}-{}/{}\r\n", file.len() - 1, file.len()),
        ),
    };
    let length = rest.len();
    write!(connection, "HTTP/1.1 {status}\r\n{range}content-length: {length}\r\n\r\n").unwrap();
    connection.write_all(&rest[..rest.len().min(most)]).unwrap();
}

fn folder() -> (tempfile::TempDir, ModelsFolder) {
    let home = tempfile::tempdir().unwrap();
    let folder = ModelsFolder::at(home.path().join("models"));
    (home, folder)
}

#[tokio::test]
async fn a_download_that_breaks_off_goes_on_where_it_stopped() {
    let (_home, folder) = folder();
    let hub = Hub::of(gguf(), 100);
    let seen = RefCell::new(Vec::new());

    let pulled = folder
        .pull("tiny", &hub.place(), None, &|done, total| seen.borrow_mut().push((done, total)))
        .await
        .unwrap();

    let path = folder.path().join("tiny.gguf");
    let bytes = gguf().len() as u64;
    let expected =
        StoredWeights { name: "tiny".to_owned(), path: path.clone(), bytes, known: None };
    assert_eq!(pulled, expected);
    assert_eq!(fs::read(path).unwrap(), gguf());
    let line = "GET /someone/models/resolve/main/tiny.gguf HTTP/1.1 from";
    assert_eq!(*hub.asked.lock().unwrap(), [format!("{line} 0"), format!("{line} 100")]);
    assert_eq!(seen.borrow().last(), Some(&(bytes, Some(bytes))));
    assert!(!folder.path().join("tiny.gguf.part").exists());
}

#[tokio::test]
async fn what_is_no_model_or_has_another_sum_is_not_taken() {
    let (home, folder) = folder();
    let page = Hub::of(b"<html>".to_vec(), usize::MAX);
    let fault = folder.pull("tiny", &page.place(), None, &|_, _| {}).await.unwrap_err();
    assert_eq!(fault.code, ErrorCode::InvalidRequest);
    assert!(fault.message.contains("not a GGUF model"), "{fault}");

    let file = home.path().join("own.gguf");
    fs::write(&file, gguf()).unwrap();
    let place = GgufLocation::named(file.to_str().unwrap(), "");
    let sum = Some(SUM_OF_NOTHING);
    let fault = folder.pull("tiny", &place, sum, &|_, _| {}).await.unwrap_err();
    assert!(fault.message.contains(SUM_OF_NOTHING), "{fault}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    assert!(folder.pull("tiny", &place, None, &|_, _| {}).await.is_ok());
}

#[tokio::test]
async fn a_place_that_is_not_there_says_so() {
    let (_home, folder) = folder();
    let nobody = GgufLocation::Address("http://127.0.0.1:9/tiny.gguf".to_owned());
    let fault = folder.pull("tiny", &nobody, None, &|_, _| {}).await.unwrap_err();
    assert_eq!(fault.code, ErrorCode::ProviderUnavailable);
    let missing = GgufLocation::named("/nowhere/tiny.gguf", "");
    let fault: Fault = folder.pull("tiny", &missing, None, &|_, _| {}).await.unwrap_err();
    assert!(fault.message.contains("/nowhere/tiny.gguf"), "{fault}");
}
