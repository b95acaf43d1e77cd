//! The main loop of a model's process: the other end of [`crate::worker`].

use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, sync_channel};

use crate::embed;
use crate::llama::{self, Load};
use crate::worker::{FailedClass, Replies, Reply, WorkerRequest, WorkerTask};

/// How many requests may wait for the engine.
const REQUESTS: usize = 256;

/// Runs the process from start to end; the first line of stdin is its task. `hold` restricts the
/// process to the files that it is given, before any of them is opened.
pub fn serve(hold: impl FnOnce(&[PathBuf])) {
    be_the_first_to_go();
    let mut replies = Replies::to_starter();
    let mut line = String::new();
    if std::io::stdin().lock().read_line(&mut line).is_err() {
        return;
    }
    let task = serde_json::from_str::<WorkerTask>(&line);
    if let Ok(task) = &task {
        hold(&inputs(task));
    }
    let requests = requests();
    let done = match task {
        Ok(WorkerTask::Embed { folder, threads }) => {
            embed::work(&folder, threads, &requests, &mut replies)
        }
        Ok(WorkerTask::Generate { file, library, window, threads }) => {
            let load = Load { file: &file, library: library.as_deref(), window, threads };
            load.check().and_then(|()| llama::work(&load, &requests, &mut replies))
        }
        Err(error) => Err((FailedClass::Invalid, format!("the task could not be parsed: {error}"))),
    };
    if let Err((class, message)) = done {
        // If nobody reads this reply, the gateway is gone.
        let _ = replies.send(&Reply::Broken { class, message });
    }
}

/// Every file and folder that the task needs, with links resolved.
fn inputs(task: &WorkerTask) -> Vec<PathBuf> {
    let named: Vec<&Path> = match task {
        WorkerTask::Embed { folder, .. } => vec![folder.as_path()],
        WorkerTask::Generate { file, library, .. } => {
            [Some(file), library.as_ref()].into_iter().flatten().map(PathBuf::as_path).collect()
        }
    };
    let inside = |path: &Path| {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let entries: Vec<PathBuf> = named.iter().flat_map(|path| inside(path)).collect();
    let all = named.iter().map(|path| path.to_path_buf()).chain(entries);
    // A missing file cannot be read either way, and loading it reports that.
    all.filter_map(|path| path.canonicalize().ok()).collect()
}

/// Receives requests. When stdin ends, the gateway is gone, so this process exits at once, even in
/// the middle of its work.
fn requests() -> Receiver<WorkerRequest> {
    let (sender, receiver) = sync_channel(REQUESTS);
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            let Ok(request) = serde_json::from_str(&line) else { break };
            if sender.send(request).is_err() {
                return;
            }
        }
        leave();
    });
    receiver
}

#[allow(clippy::disallowed_methods, reason = "nobody is left to tell, and nothing to save")]
fn leave() -> ! {
    std::process::exit(0)
}

/// Asks the system to end this process and not the gateway if memory runs out.
fn be_the_first_to_go() {
    // Only Linux has this setting; elsewhere the system chooses by its own rules.
    let _ = std::fs::write("/proc/self/oom_score_adj", "800");
}
