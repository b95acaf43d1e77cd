//! Transcribes with a program of this machine. The program is started in the sandbox with the
//! recording in a folder of its own. It can reach no other files of the home and no network, and
//! its output is the transcript.

use std::path::Path;
use std::process::Stdio;

use onyx_sandbox::{Bounds, CommandInput, Network, Running, SandboxedCommand, Scratch};
use tokio::io::{AsyncRead, AsyncReadExt as _};

use super::PATIENCE;
use crate::connector::NetworkError;
use crate::settings::TranscriberCommand;
use crate::setup::CommandPlace;

/// The placeholder for the recording's path in an argument.
const FILE: &str = "{file}";
/// The longest output that is accepted: about the text of an hour of speech.
const LONGEST: usize = 64 * 1024;
const LONGEST_COMPLAINT: usize = 300;

pub(crate) struct CommandTranscriber {
    settings: TranscriberCommand,
    place: CommandPlace,
}

#[allow(clippy::needless_pass_by_value, reason = "errors come by value")]
fn failed(why: impl ToString) -> NetworkError {
    NetworkError::Refused(why.to_string())
}

impl CommandTranscriber {
    pub(super) fn new(settings: TranscriberCommand, place: CommandPlace) -> Self {
        Self { settings, place }
    }

    pub(super) async fn words(&self, name: &str, audio: &[u8]) -> Result<String, NetworkError> {
        let folder = self.folder(name, audio.to_vec()).await?;
        let recording = folder.path().join(file_name(name));
        let sandboxed = SandboxedCommand {
            argv: arguments(&self.settings.argv, &recording),
            folder: folder.path().to_owned(),
            readable: self.settings.readable.clone(),
            writable: vec![folder.path().to_owned()],
            scratch: folder.path().to_owned(),
            network: Network::None,
            input: CommandInput::Given,
            bounds: Bounds::default(),
        };
        let started = self.place.sandbox.start(sandboxed, Stdio::null()).await.map_err(failed)?;
        match tokio::time::timeout(PATIENCE, listen(started)).await {
            Ok(words) => words,
            Err(_) => Err(failed(format!("it took longer than {} s", PATIENCE.as_secs()))),
        }
    }

    /// A folder that holds only the recording. It is removed when the value is dropped.
    async fn folder(&self, name: &str, audio: Vec<u8>) -> Result<Scratch, NetworkError> {
        let (root, name) = (self.place.scratch.clone(), file_name(name));
        let make = move || {
            let folder = Scratch::make(&root)?;
            std::fs::write(folder.path().join(name), audio)?;
            Ok::<_, std::io::Error>(folder)
        };
        let made = tokio::task::spawn_blocking(make).await.map_err(failed)?;
        made.map_err(|error| failed(format!("the recording cannot be saved: {error}")))
    }
}

/// The name of the file in the folder. The name that the recording came with is never part of a
/// path.
fn file_name(name: &str) -> String {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let is_plain = !ending.is_empty() && ending.len() <= 5;
    if is_plain && ending.chars().all(|c| c.is_ascii_alphanumeric()) {
        format!("recording.{ending}")
    } else {
        "recording".to_owned()
    }
}

/// The configured arguments with the recording's path in place of the placeholder, or at the end if
/// there is none.
fn arguments(argv: &[String], recording: &Path) -> Vec<String> {
    let path = recording.to_string_lossy();
    let mut words: Vec<String> = argv.iter().map(|word| word.replace(FILE, &path)).collect();
    if !argv.iter().any(|word| word.contains(FILE)) {
        words.push(path.into_owned());
    }
    words
}

async fn listen(mut running: Running) -> Result<String, NetworkError> {
    let (output, complained) = running.take_voices();
    let words = async {
        let words = read(output).await;
        if words.as_ref().is_ok_and(|words| words.len() > LONGEST) {
            running.kill();
        }
        words
    };
    let (words, complaint) = tokio::join!(words, read_to_end(complained));
    let words = words.map_err(failed)?;
    if words.len() > LONGEST {
        return Err(failed(format!("the command wrote more than {LONGEST} bytes")));
    }
    let status = running.wait().await.map_err(failed)?;
    if !status.success() {
        let complaint = String::from_utf8_lossy(&complaint).into_owned();
        let complaint = complaint.trim();
        let end = complaint.floor_char_boundary(LONGEST_COMPLAINT);
        return Err(failed(format!("the command failed ({status}): {}", &complaint[..end])));
    }
    Ok(String::from_utf8_lossy(&words).trim().to_owned())
}

/// Reads at most one byte more than the limit from an output stream, so that the caller can see
/// that it is too long.
async fn read(voice: Option<impl AsyncRead + Unpin>) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(voice) = voice {
        voice.take(LONGEST as u64 + 1).read_to_end(&mut bytes).await?;
    }
    Ok(bytes)
}

/// Reads like [`read`], and discards the rest, so that the command never blocks on a full pipe.
async fn read_to_end(voice: Option<impl AsyncRead + Unpin>) -> Vec<u8> {
    let Some(mut voice) = voice else { return Vec::new() };
    let mut bytes = read(Some(&mut voice)).await.unwrap_or_default();
    bytes.truncate(LONGEST);
    let mut rest = [0; 8 * 1024];
    while voice.read(&mut rest).await.is_ok_and(|count| count > 0) {}
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_recording_stands_where_the_config_says_or_last() {
        let path = Path::new("/scratch/recording.ogg");
        let words = |argv: &[&str]| {
            arguments(&argv.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>(), path)
        };
        assert_eq!(words(&["hear", "-v"]), ["hear", "-v", "/scratch/recording.ogg"]);
        assert_eq!(
            words(&["hear", "-f={file}", "-q"]),
            ["hear", "-f=/scratch/recording.ogg", "-q"]
        );
        for (name, kept) in [
            ("voice.ogg", "recording.ogg"),
            ("../../x.sh;rm", "recording"),
            ("a/b.mp3", "recording.mp3"),
            ("none", "recording"),
        ] {
            assert_eq!(file_name(name), kept);
        }
    }
}
