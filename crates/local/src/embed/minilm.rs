//! all-MiniLM-L6-v2, run by ONNX Runtime.

use std::path::Path;

use onyx_types::TokenVectors;
use ort::session::Session;
use ort::session::builder::GraphOptimizationLevel;
use ort::value::TensorRef;

use super::wordpiece::WordPiece;
use super::{DIMS, WINDOW};
use crate::weights::{LIBRARY, MINILM, ONNX, TOKENIZER, Weights, sha256_of};
use crate::worker::{FailedClass, Refusal};

pub(super) struct MiniLm {
    session: Session,
    tokenizer: WordPiece,
}

impl MiniLm {
    pub(super) fn load(folder: &Path, threads: usize) -> Result<Self, Refusal> {
        let library = folder.join(LIBRARY);
        check_library(&library)?;
        let tokenizer = WordPiece::load(&folder.join(TOKENIZER)).map_err(unusable(TOKENIZER))?;
        let runtime = ort::init_from(&library).map_err(unusable(LIBRARY))?;
        let environment =
            runtime.with_name("onyx").with_telemetry(false).build().map_err(unusable(LIBRARY))?;
        let session = Session::builder(&environment)
            .and_then(|builder| Ok(builder.with_optimization_level(GraphOptimizationLevel::All)?))
            .and_then(|builder| Ok(builder.with_intra_threads(threads)?))
            // Threads that wait by spinning would burn a core between two texts.
            .and_then(|builder| Ok(builder.with_intra_op_spinning(false)?))
            .and_then(|mut builder| builder.commit_from_file(folder.join(ONNX)))
            .map_err(unusable(ONNX))?;
        Ok(Self { session, tokenizer })
    }

    pub(super) fn tokens(&self, text: &str) -> usize {
        self.tokenizer.count(text)
    }

    /// The mean of the last layer, normalised to length one.
    pub(super) fn vector(&mut self, text: &str) -> Result<Vec<f32>, String> {
        let tokens = self.tokenizer.sequence(text, usize::from(WINDOW));
        let states = self.states(&tokens)?;
        mean(&states)
    }

    /// The vector of a text, and the last layer itself as bytes, for each token that is a word or a
    /// part of one.
    pub(super) fn token_vectors(&mut self, text: &str) -> Result<(Vec<f32>, TokenVectors), String> {
        let (tokens, words) = self.tokenizer.sequence_of_words(text, usize::from(WINDOW));
        let states = self.states(&tokens)?;
        let mut made = TokenVectors::default();
        for (state, word) in states.chunks_exact(DIMS).zip(words) {
            let Some(word) = word else { continue };
            made.words.push(word);
            let largest = state.iter().fold(f32::MIN_POSITIVE, |most, x| most.max(x.abs()));
            made.values.extend(state.iter().map(|x| (x / largest * 127.0).round() as i8));
        }
        Ok((mean(&states)?, made))
    }

    /// The last layer: the numbers of one token after the other.
    fn states(&mut self, tokens: &[u32]) -> Result<Vec<f32>, String> {
        let ids: Vec<i64> = tokens.iter().copied().map(i64::from).collect();
        let (ones, zeros) = (vec![1_i64; ids.len()], vec![0_i64; ids.len()]);
        self.run(&ids, &ones, &zeros).map_err(|error| error.to_string())
    }

    fn run(&mut self, ids: &[i64], mask: &[i64], types: &[i64]) -> ort::Result<Vec<f32>> {
        let shape = [1, ids.len()];
        let outputs = self.session.run(ort::inputs! {
            "input_ids" => TensorRef::from_array_view((shape, ids))?,
            "attention_mask" => TensorRef::from_array_view((shape, mask))?,
            "token_type_ids" => TensorRef::from_array_view((shape, types))?,
        })?;
        let (_, states) = outputs[0].try_extract_tensor::<f32>()?;
        Ok(states.to_vec())
    }
}

fn mean(states: &[f32]) -> Result<Vec<f32>, String> {
    let mut mean = vec![0.0; DIMS];
    for state in states.chunks_exact(DIMS) {
        mean.iter_mut().zip(state).for_each(|(sum, number)| *sum += number);
    }
    let tokens = states.len() / DIMS;
    mean.iter_mut().for_each(|sum| *sum /= tokens as f32);
    let length = mean.iter().map(|number| number * number).sum::<f32>().sqrt();
    if !length.is_finite() || length == 0.0 {
        return Err("the model returned no vector for this text".to_owned());
    }
    Ok(mean.into_iter().map(|number| number / length).collect())
}

/// Checks the library before each use, because it is run as code.
fn check_library(path: &Path) -> Result<(), Refusal> {
    let wheel_files = Weights::named(MINILM).and_then(Weights::wheel_files).unwrap_or_default();
    let expected = wheel_files
        .iter()
        .find(|wheel_file| wheel_file.file == LIBRARY)
        .map(|wheel_file| wheel_file.sha256);
    match sha256_of(path) {
        Ok(found) if Some(found.as_str()) == expected => Ok(()),
        Ok(_) => Err(refused(LIBRARY, "it is not the library that was installed")),
        Err(error) => Err(refused(LIBRARY, error)),
    }
}

fn unusable<E: std::fmt::Display>(file: &'static str) -> impl Fn(E) -> Refusal {
    move |error| refused(file, error)
}

fn refused(file: &str, why: impl std::fmt::Display) -> Refusal {
    let message = format!(
        "{MINILM}/{file} cannot be used: {why}. Fetch it again: onyx models rm {MINILM}, then \
         onyx models pull {MINILM}"
    );
    (FailedClass::Invalid, message)
}
