use onyx_sandbox::Bounds;

use crate::support::{KINDS, Place};

const MIB: u64 = 1024 * 1024;

#[tokio::test]
async fn a_fork_bomb_is_stopped() {
    for kind in KINDS {
        let mut place = Place::on(kind);
        place.bounds = Bounds { processes: 40, ..place.bounds };
        // The script doubles up to 2,047 processes, so that the machine survives if the bound does
        // not work.
        let script = "b() { [ $1 = 0 ] || { b $(($1-1)) & b $(($1-1)) & }; sleep 30; }; b 10";
        let ended = place.run(script).await;
        assert_ne!(ended.code, Some(0), "{kind:?}");
        assert!(ended.output.contains("stopped: more than 40 processes"), "{kind:?}");
    }
}

#[tokio::test]
async fn a_file_of_ten_gigabytes_is_stopped_at_the_bound() {
    for kind in KINDS {
        let mut place = Place::on(kind);
        place.bounds = Bounds { file_size: 8 * MIB, ..place.bounds };
        let ended = place.run("exec dd if=/dev/zero of=big bs=1M count=10240").await;
        assert_ne!(ended.code, Some(0), "{kind:?}: {}", ended.output);
        assert_eq!(std::fs::metadata(place.path("vault/big")).unwrap().len(), 8 * MIB);
    }
}

#[tokio::test]
async fn many_files_are_stopped_when_the_disk_has_lost_too_much() {
    for kind in KINDS {
        let mut place = Place::on(kind);
        place.bounds = Bounds { disk: 48 * MIB, ..place.bounds };
        let script = "n=0; while :; do dd if=/dev/zero of=f$n bs=1M count=4 conv=fsync 2>/dev/null; \
                      n=$((n+1)); done";
        let ended = place.run(script).await;
        assert_ne!(ended.code, Some(0), "{kind:?}");
        assert!(ended.output.contains("stopped: the disk lost"), "{kind:?}: {}", ended.output);
    }
}

#[tokio::test]
async fn too_much_memory_is_stopped() {
    for kind in KINDS {
        let mut place = Place::on(kind);
        place.bounds = Bounds { memory: 64 * MIB, ..place.bounds };
        let script = "exec python3 -I -c 'import time; x = bytearray(200 << 20); time.sleep(60)'";
        let ended = place.run(script).await;
        assert!(ended.output.contains("stopped: more than 64 MiB"), "{kind:?}: {}", ended.output);
    }
}

#[tokio::test]
async fn limits_cannot_be_raised_again() {
    for kind in KINDS {
        let place = Place::on(kind);
        let ended = place.run("(ulimit -f unlimited) || (ulimit -n 5000) || echo no").await;
        assert!(ended.output.lines().any(|line| line == "no"), "{kind:?}: {}", ended.output);
    }
}
