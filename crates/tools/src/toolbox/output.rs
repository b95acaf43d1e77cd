//! Shortens the outputs of tools for the model, the person and the log.

use onyx_types::{Origin, ToolOutcome};

use crate::ToolCx;
use crate::artifacts::{Artifacts, EarlierArtifacts};

/// The most bytes of one output that a model is given.
const OUTPUT_BYTES: usize = 32 * 1024;

/// How many bytes of the end of a long output are kept, because the end often matters most. The
/// beginning is kept too, with a marker between the two.
const TAIL_BYTES: usize = 7 * 1024;
const MARKER_BYTES: usize = 512;

/// Shortens an output that is too long and stores all of it. Also stores what the call attached to
/// it, of which a model is only told. Returns whether these are the person's first artifacts.
pub(super) async fn bound(
    mut outcome: ToolOutcome,
    artifacts: &Artifacts,
    cx: &ToolCx,
) -> (ToolOutcome, EarlierArtifacts) {
    let mut before = EarlierArtifacts::Some;
    for attached in std::mem::take(&mut outcome.attached) {
        let (kept, first) = keep(&attached.text, outcome.origin, artifacts, cx).await;
        if first == EarlierArtifacts::None {
            before = EarlierArtifacts::None;
        }
        let (name, size) = (&attached.name, attached.text.len());
        outcome.output.push_str(&format!("\n[{name}: {size} bytes; {}]", kept.note));
        outcome.artifact = kept.artifact.or(outcome.artifact);
    }
    if outcome.output.len() > OUTPUT_BYTES {
        let whole = std::mem::take(&mut outcome.output);
        let (kept, first) = keep(&whole, outcome.origin, artifacts, cx).await;
        if first == EarlierArtifacts::None {
            before = EarlierArtifacts::None;
        }
        outcome.output = shorten(&whole, &kept.note);
        outcome.artifact = kept.artifact.or(outcome.artifact);
    }
    outcome.report.artifact = outcome.artifact.clone();
    (outcome, before)
}

struct ShortenedOutput {
    /// The note for the model.
    note: String,
    artifact: Option<onyx_types::Artifact>,
}

async fn keep(
    text: &str,
    origin: Origin,
    artifacts: &Artifacts,
    cx: &ToolCx,
) -> (ShortenedOutput, EarlierArtifacts) {
    match artifacts.keep(&cx.key, cx.run, text, origin).await {
        Ok((artifact, before)) => {
            let note = format!(
                "the whole is kept as artifact {}, which read_artifact opens and searches",
                artifact.key
            );
            (ShortenedOutput { note, artifact: Some(artifact) }, before)
        }
        Err(error) => {
            tracing::warn!(run = %cx.run, %error, "an output could not be kept whole");
            let note = format!("the whole could not be kept: {error}");
            (ShortenedOutput { note, artifact: None }, EarlierArtifacts::Some)
        }
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
