//! Tests backups in a bucket of a real S3 server: the same as in a folder, and failures that only a
//! store can have.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use onyx_backup::{
    BackupError, BackupPlace, BackupRequest, Damage, Encryption, Passphrase, Repair,
    SessionRequest, Source, back_up, is_encrypted, list, restore_file, restore_session, verify,
};
use onyx_types::{Cancel, ErrorCode, Fault};

use crate::killed::start;
use crate::test_bucket::{PREFIX, place_at};
use crate::world::{SESSION, World, restored, rows, turn};

fn source(place: &BackupPlace) -> Source<'_> {
    Source { place, snapshot: None, passphrase: None }
}

#[test]
fn a_home_comes_back_from_a_bucket_byte_for_byte_whole_by_file_and_by_session() {
    let world = World::with_bucket();
    let bucket = world.bucket.as_ref().unwrap();
    let report = world.back_up();
    assert_eq!(report.to, Path::new(&format!("s3://{}/{PREFIX}", bucket.name)));
    let kept = world.kept();
    world.restore("again").unwrap();
    assert_eq!(restored(&world.other("again")), kept);
    assert_eq!(rows(&world.other("again/onyx.db")), ["kept"]);
    assert_eq!(bucket.names("locks"), [] as [&str; 0], "nothing is held when it is done");
    assert_eq!(bucket.names("probe"), [] as [&str; 0]);

    let (place, home) = (world.place(), world.home());
    let note = Path::new("people/owner/vault/note.md");
    std::fs::remove_file(home.join(note)).unwrap();
    assert_eq!(restore_file(source(&place), &home, note).unwrap().path, note);
    assert_eq!(std::fs::read_to_string(home.join(note)).unwrap(), "one\n");
    let log = home.join(format!("{SESSION}.jsonl"));
    std::fs::remove_file(&log).unwrap();
    let id = SESSION.rsplit('/').next().unwrap().parse().unwrap();
    let request = SessionRequest {
        source: source(&place),
        home: &home,
        session: id,
        clock: &world.clock,
        seed: 7,
    };
    assert_eq!(restore_session(&request).unwrap().session, id);
    assert_eq!(std::fs::read_to_string(&log).unwrap(), turn("hello") + &turn("again"));
}

/// Forwards everything to the S3 server, counts the bytes that are sent, and calls a function when
/// a number is reached.
struct Counter {
    host: String,
    sent: Arc<AtomicU64>,
}

impl Counter {
    fn before(server: &str, tell_at: u64, tell: impl Fn() + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let sent = Arc::new(AtomicU64::new(0));
        let (server, tell, counted) = (server.to_owned(), Arc::new(tell), Arc::clone(&sent));
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let (server, tell, sent) =
                    (server.clone(), Arc::clone(&tell), Arc::clone(&counted));
                std::thread::spawn(move || {
                    let upstream = TcpStream::connect(server).unwrap();
                    let (from, to) = (upstream.try_clone().unwrap(), client.try_clone().unwrap());
                    std::thread::spawn(move || pass_on(from, to, &|_| {}));
                    pass_on(client, upstream, &|count| {
                        let before = sent.fetch_add(count, Ordering::SeqCst);
                        if before < tell_at && tell_at <= before + count {
                            tell();
                        }
                    });
                });
            }
        });
        Self { host, sent }
    }

    fn sent(&self) -> u64 {
        self.sent.load(Ordering::SeqCst)
    }
}

fn pass_on(mut from: TcpStream, mut to: TcpStream, count: &dyn Fn(u64)) {
    let mut buffer = [0; 16 * 1024];
    while let Ok(got @ 1..) = from.read(&mut buffer) {
        count(got as u64);
        if to.write_all(&buffer[..got]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}

fn new_noise(world: &World) {
    let noise = (0..90_000_u32).flat_map(|n| n.wrapping_mul(77_777_771).to_le_bytes());
    world.write("people/owner/vault/new.bin", noise.collect::<Vec<u8>>());
    world.write("people/owner/vault/note.md", "two\n");
}

/// Takes a first snapshot, then runs a second backup whose process is killed after it has sent this
/// many bytes. Returns how many bytes were sent.
fn killed_after(bytes: u64) -> u64 {
    let world = World::with_bucket();
    let bucket = world.bucket.as_ref().unwrap();
    let first = world.back_up();
    let kept = world.kept();
    new_noise(&world);
    let mut child = start();
    let process = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    let counter = Counter::before(&bucket.servers.objects, bytes, move || {
        rustix::process::kill_process(process, rustix::process::Signal::KILL).unwrap();
    });
    let order =
        format!("backup\t{}\ts3://{}/{}", world.home().display(), counter.host, bucket.name);
    writeln!(child.stdin.take().unwrap(), "{order}").unwrap();
    let lived = child.wait().unwrap().success();
    assert_eq!(lived, bytes == u64::MAX, "after {bytes} bytes");

    let place = world.place();
    let listed = list(&place, None).unwrap();
    assert!(listed.damaged.is_empty(), "after {bytes} bytes: {listed:?}");
    let sound = verify(&place, None, Repair::No).unwrap();
    assert!(sound.damage.is_empty(), "after {bytes} bytes: {sound:?}");
    world.restore_snapshot("first", Some(&first.snapshot), None).unwrap();
    assert_eq!(restored(&world.other("first")), kept, "after {bytes} bytes");
    // The next backup continues at once, even if the lock of the killed one still exists.
    world.later();
    let next = world.try_back_up(None, Some(2)).unwrap();
    world.restore_snapshot("next", Some(&next.snapshot), None).unwrap();
    assert_eq!(restored(&world.other("next")), world.kept(), "after {bytes} bytes");
    assert!(verify(&place, None, Repair::No).unwrap().is_sound(), "after {bytes} bytes");
    counter.sent()
}

#[test]
fn a_backup_killed_while_it_sends_leaves_earlier_snapshots_whole_and_the_next_one_goes_on() {
    let all = killed_after(u64::MAX);
    assert!(all > 300_000, "{all}");
    // The places cover the whole large pack, and are dense at the small requests before and after
    // it.
    let places = (1..8).map(|part| all * part / 8);
    let ends = [1_000, 3_000, 5_000].into_iter().flat_map(|bytes| [bytes, all - bytes]);
    for bytes in places.chain(ends) {
        killed_after(bytes);
    }
}

#[test]
fn a_second_backup_sends_little() {
    let world = World::with_bucket();
    let first = world.back_up();
    world.later();
    let bucket = world.bucket.as_ref().unwrap();
    let counter = Counter::before(&bucket.servers.objects, u64::MAX, || {});
    let through = place_at(&counter.host, &bucket.name);
    let again = |to: &BackupPlace| {
        let report = back_up(&BackupRequest {
            home: &world.home(),
            server: None,
            to,
            passphrase: None,
            encryption: Encryption::AsItIs,
            keep: None,
            clock: &world.clock,
            stop: &Cancel::new(),
        });
        world.later();
        report.unwrap()
    };
    let second = again(&through);
    assert!(first.new_bytes > 2_500_000 && second.new_bytes < 2_000, "{first:?} {second:?}");
    assert_eq!(second.read_files, 1, "the note of the first backup: {second:?}");
    assert!(counter.sent() < 20_000, "{} bytes were sent", counter.sent());
    let before = counter.sent();
    new_noise(&world);
    again(&through);
    let sent = counter.sent() - before;
    assert!(sent > 360_000 && sent < 400_000, "{sent} bytes were sent for 360,004 new ones");
    world.restore("again").unwrap();
    assert_eq!(restored(&world.other("again")), world.kept());
}

#[test]
fn a_flipped_bit_in_a_bucket_is_found_named_and_made_good_by_the_next_backup() {
    let world = World::with_bucket();
    world.write("people/owner/vault/random.txt", "DAMAGE-ME");
    let first = world.back_up();
    let bucket = world.bucket.as_ref().unwrap();
    let packs = bucket.names("packs");
    let [pack] = packs.as_slice() else { panic!("{packs:?}") };
    let bytes = bucket.objects().get(pack).unwrap().unwrap();
    let at = bytes.windows(9).position(|window| window == b"DAMAGE-ME").unwrap();
    bucket.flip(pack, at + 4);
    let place = world.place();
    let path = Some("people/owner/vault/random.txt".to_owned());
    let named = [Damage { snapshot: first.snapshot.clone(), path }];
    assert_eq!(verify(&place, None, Repair::No).unwrap().damage, named);
    let refused = world.restore("again").unwrap_err().to_string();
    assert!(refused.contains("people/owner/vault/random.txt"), "{refused}");
    assert!(!world.other("again").exists());
    assert_eq!(verify(&place, None, Repair::Yes).unwrap().damage, named);
    world.later();
    world.back_up();
    assert!(verify(&place, None, Repair::No).unwrap().is_sound());
    world.restore_snapshot("again", Some(&first.snapshot), None).unwrap();
    assert_eq!(restored(&world.other("again")), world.kept());

    // These are the list at the end of a pack, and a manifest.
    let pack = &bucket.names("packs")[0];
    let length = bucket.objects().get(pack).unwrap().unwrap().len();
    bucket.flip(pack, length - 50);
    let report = verify(&place, None, Repair::No).unwrap();
    assert!(report.damage.is_empty() && report.flaws.len() == 1, "{report:?}");
    let manifests: BTreeSet<String> = bucket.names("snapshots").into_iter().collect();
    bucket.flip(manifests.first().unwrap(), 30);
    let report = verify(&place, None, Repair::No).unwrap();
    assert!(report.damage.contains(&Damage { snapshot: first.snapshot, path: None }), "{report:?}");
}

#[test]
fn nothing_of_the_home_stands_in_an_encrypted_bucket() {
    let world = World::with_bucket();
    world.write("people/owner/vault/canary-file-name.txt", "q7Xp-CANARY-93kd");
    let right = Passphrase::new("correct horse battery staple");
    world.try_back_up(Some(&right), None).unwrap();
    assert_eq!(is_encrypted(&world.place()).unwrap(), Some(true));
    let bucket = world.bucket.as_ref().unwrap();
    let objects = bucket.objects();
    let names = ["packs", "snapshots"].into_iter().flat_map(|folder| bucket.names(folder));
    for name in names.collect::<Vec<_>>() {
        let bytes = objects.get(&name).unwrap().unwrap();
        for canary in ["CANARY", "canary-file-name", "people/owner"] {
            assert!(!bytes.windows(canary.len()).any(|part| part == canary.as_bytes()), "{name}");
        }
    }
    let wrong = world.restore_snapshot("again", None, Some(&Passphrase::new("wrong")));
    assert!(matches!(wrong, Err(BackupError::WrongPassphrase { .. })), "{wrong:?}");
    world.restore_snapshot("again", None, Some(&right)).unwrap();
    assert_eq!(restored(&world.other("again")), world.kept());
}

#[test]
fn old_snapshots_go_from_a_bucket_with_what_no_other_names() {
    let world = World::with_bucket();
    world.keep_two_snapshots_of(4, || {
        let packs = world.bucket.as_ref().unwrap().objects().list("packs").unwrap();
        packs.iter().map(|pack| pack.size).sum()
    });
}

#[test]
fn two_writers_do_not_meet_and_a_lock_of_a_machine_that_is_gone_ends() {
    let world = World::with_bucket();
    world.back_up();
    world.later();
    let bucket = world.bucket.as_ref().unwrap();
    let objects = bucket.objects();
    let theirs = r#"{"machine":"another","process":1,"began":"1"}"#;
    objects.put("locks/theirs.lock", theirs.into()).unwrap();
    let refused = world.try_back_up(None, None);
    assert!(matches!(refused, Err(BackupError::Busy { .. })), "{refused:?}");
    let refused = verify(&world.place(), None, Repair::No);
    assert!(matches!(refused, Err(BackupError::Busy { .. })), "{refused:?}");
    assert_eq!(bucket.names("locks"), ["locks/theirs.lock"], "ours went again");
    // This is the lock that a killed process of this machine leaves.
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let space = std::fs::read_link("/proc/self/ns/pid").unwrap();
    let dead = format!(
        r#"{{"machine":"{} {}","process":{},"began":"1"}}"#,
        boot.trim(),
        space.display(),
        std::process::id()
    );
    objects.put("locks/theirs.lock", dead.into()).unwrap();
    assert!(verify(&world.place(), None, Repair::No).unwrap().is_sound());
    world.back_up();
    assert_eq!(bucket.names("locks"), [] as [&str; 0]);
}

fn told(place: &BackupPlace, world: &World) -> Fault {
    let refused = back_up(&BackupRequest {
        home: &world.home(),
        server: None,
        to: place,
        passphrase: None,
        encryption: Encryption::AsItIs,
        keep: None,
        clock: &world.clock,
        stop: &Cancel::new(),
    });
    Fault::from(refused.unwrap_err())
}

#[test]
fn a_bucket_that_is_missing_closed_foreign_or_unreachable_is_told_with_what_to_do() {
    let world = World::with_bucket();
    let bucket = world.bucket.as_ref().unwrap();
    let host = &bucket.servers.objects;
    let hint = |fault: &Fault| fault.hint().to_owned();

    let missing = told(&place_at(host, "no-such-bucket"), &world);
    assert!(missing.message.contains("no bucket \"no-such-bucket\""), "{missing:?}");
    assert!(hint(&missing).contains("Create the bucket"), "{missing:?}");
    let unread = list(&place_at(host, "no-such-bucket"), None).unwrap_err();
    assert!(unread.to_string().contains("no bucket"), "{unread}");

    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let nobody = told(&place_at(&free, &bucket.name), &world);
    assert_eq!(nobody.code, ErrorCode::StorageUnavailable, "{nobody:?}");
    assert!(hint(&nobody).contains("jobs.backup.s3"), "{nobody:?}");

    bucket.objects().put("photo.jpg", b"photo".to_vec()).unwrap();
    let foreign = told(&world.place(), &world);
    assert!(foreign.message.contains("is not empty"), "{foreign:?}");
    bucket.objects().delete("photo.jpg").unwrap();
    let empty = list(&world.place(), None).unwrap_err();
    assert!(matches!(empty, BackupError::NotABackup { .. }), "{empty:?}");

    let policy = format!(
        r#"{{"Version":"2012-10-17","Statement":[{{"Effect":"Deny","Principal":"*","Action":"s3:PutObject","Resource":"arn:aws:s3:::{}/*"}}]}}"#,
        bucket.name
    );
    let status = bucket.servers.http("PUT", &format!("/{}?policy", bucket.name), &policy);
    assert!((200..300).contains(&status), "{status}");
    let closed = told(&world.place(), &world);
    assert!(closed.message.contains("does not let this key put"), "{closed:?}");
    assert!(hint(&closed).contains("rights"), "{closed:?}");
}
