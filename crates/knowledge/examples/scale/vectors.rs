//! Serves the vectors of the corpus as an embedder. If the model made no vector for a text, one is
//! mixed from two others and a little noise.

use std::collections::HashMap;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use onyx_types::{Embedder, EmbedderIdentity, ModelFailure};

use crate::corpus::{Corpus, DIMS, QUESTIONS};

pub(crate) struct Kept {
    real: Vec<Vec<f32>>,
    questions: HashMap<String, Vec<f32>>,
}

impl Kept {
    /// An embedder that knows only the questions, which is all that searches ask for.
    pub(crate) fn for_questions(questions: &[String], corpus: &Corpus) -> Self {
        let questions = questions.iter().cloned().zip(corpus.vectors()).collect();
        Self { real: Vec::new(), questions }
    }

    pub(crate) fn for_texts(corpus: &Corpus) -> Self {
        let real: Vec<_> = corpus.vectors().skip(QUESTIONS).collect();
        assert!(!real.is_empty(), "there are no vectors");
        Self { real, questions: HashMap::new() }
    }

    pub(crate) fn real(&self) -> usize {
        self.real.len()
    }

    pub(crate) fn of(&self, text: &str) -> Vec<f32> {
        match self.questions.get(text) {
            Some(vector) => vector.clone(),
            None => self.of_text(number_in(text)),
        }
    }

    fn of_text(&self, number: usize) -> Vec<f32> {
        if let Some(vector) = self.real.get(number) {
            return vector.clone();
        }
        let mut random = Random(number as u64);
        let mut pick = || &self.real[random.next() as usize % self.real.len()];
        let (near, other) = (pick(), pick());
        let noise = 0.3 / (DIMS as f32).sqrt();
        let sum = near.iter().zip(other).map(|(near, other)| {
            let uniform = random.next() as f32 / (1_u64 << 30) as f32 - 1.0;
            near + 0.5 * other + noise * 1.7 * uniform
        });
        let sum: Vec<f32> = sum.collect();
        let length = sum.iter().map(|value| value * value).sum::<f32>().sqrt();
        sum.iter().map(|value| value / length).collect()
    }
}

/// The heading of a text, which contains the number of the text.
pub(crate) fn heading(number: usize) -> String {
    format!("# text {number}")
}

/// The number of a text. Before the text are two lines: the title of its file, which is its first
/// heading, and its own heading.
fn number_in(text: &str) -> usize {
    let headings = text.lines().take(2).filter_map(|line| line.strip_prefix("text "));
    headings.last().unwrap().parse().unwrap()
}

impl Embedder for Kept {
    fn identity(&self) -> EmbedderIdentity {
        EmbedderIdentity { provider: "bench".into(), model: "minilm".into(), dims: DIMS }
    }

    fn embed(&self, texts: Vec<String>) -> BoxFuture<'_, Result<Vec<Vec<f32>>, ModelFailure>> {
        async move { Ok(texts.iter().map(|text| self.of(text)).collect()) }.boxed()
    }
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }
}
