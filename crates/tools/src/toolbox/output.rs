//! What of an output reaches a model, a person, a log.

use onyx_storage::{Expect, ObjectKey, Objects, StoreError};
use onyx_types::{Artifact, Hash, NotYetAt, ToolOutcome, not_yet};

use crate::ToolCx;

/// What a model is given of one output.
const OUTPUT_BYTES: usize = 32 * 1024;

/// Of what is cut, the end often says most; the marker between takes the rest.
const TAIL_BYTES: usize = 7 * 1024;
const MARKER_BYTES: usize = 512;

/// Shortens an output that is too long and keeps the whole of it beside the session.
pub(crate) async fn bound(mut outcome: ToolOutcome, keep: &ArtifactStore<'_>) -> ToolOutcome {
    if outcome.output.len() <= OUTPUT_BYTES {
        return outcome;
    }
    let whole = std::mem::take(&mut outcome.output);
    let kept = match keep.artifact(&whole).await {
        Ok(artifact) => {
            let note = format!("the whole is kept as artifact {}", artifact.key);
            let note = match not_yet(NotYetAt::Artifacts) {
                Some(sentence) => format!("{note}. {sentence}"),
                None => note,
            };
            outcome.artifact = Some(artifact);
            note
        }
        Err(error) => {
            tracing::warn!(run = %keep.cx.run, %error, "an output could not be kept whole");
            format!("the whole could not be kept: {error}")
        }
    };
    outcome.output = shorten(&whole, &kept);
    outcome
}

/// Where whole outputs go: under the person, the session and the run.
pub(crate) struct ArtifactStore<'a> {
    pub(crate) artifacts: &'a dyn Objects,
    pub(crate) cx: &'a ToolCx,
}

impl ArtifactStore<'_> {
    async fn artifact(&self, whole: &str) -> Result<Artifact, StoreError> {
        let hash = Hash::of(whole.as_bytes()).to_string();
        let (key, cx) = (&self.cx.key, self.cx);
        let path = format!("{}/{}/{}/{}.txt", key.person, key.session, cx.run, &hash[..16]);
        let key: ObjectKey = path.parse().map_err(|error: onyx_storage::ObjectKeyError| {
            StoreError::Refused(error.to_string())
        })?;
        self.artifacts.put(&key, whole.as_bytes(), Expect::Anything).await?;
        Ok(Artifact { key: key.to_string(), bytes: whole.len() as u64 })
    }
}

fn shorten(whole: &str, kept: &str) -> String {
    let head = &whole[..whole.floor_char_boundary(OUTPUT_BYTES - TAIL_BYTES - MARKER_BYTES)];
    let tail = &whole[whole.ceil_char_boundary(whole.len() - TAIL_BYTES)..];
    let left_out = whole.len() - head.len() - tail.len();
    format!("{head}\n[{left_out} of {} bytes left out here; {kept}]\n{tail}", whole.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shortened_output_keeps_both_ends_and_counts_what_is_missing() {
        let whole = format!("start{}end", "ü".repeat(40_000));
        let short = shorten(&whole, &"k".repeat(300));
        assert!(short.len() <= OUTPUT_BYTES);
        assert!(short.starts_with("startü") && short.ends_with("üend"));
        let kept = short.matches('ü').count() * 2;
        assert!(short.contains(&format!("[{} of 80008 bytes left out here; kkk", 80_000 - kept)));
    }
}
