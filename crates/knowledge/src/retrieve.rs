//! What a message is answered from without the model asking for it.

use std::collections::HashSet;

use futures::future::try_join_all;
use onyx_storage::SourceKind;
use onyx_types::{PersonId, Scope, ScopeSet, estimate_tokens};

use crate::search::{Hit, Search};
use crate::{Index, KnowledgeError};

/// Retrieval for one message: each scope is searched on its own, so that none drowns the others.
#[derive(Clone, Debug)]
pub struct Retrieval {
    pub person: PersonId,
    pub scopes: Vec<Scope>,
    pub text: String,
    pub max_tokens: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Retrieved {
    /// Best first, no chunk twice, within the budget.
    pub hits: Vec<Hit>,
    pub degraded: Option<String>,
    /// Not everything is indexed yet.
    pub partial: bool,
}

const HITS_A_SCOPE: usize = 12;
/// Never more, however large the window is.
const MOST_TOKENS: usize = 6_000;
/// What stands around a piece and its source's name costs about this.
const FENCE_TOKENS: usize = 40;

impl Retrieval {
    /// What a piece of text takes of the budget, with what stands around it.
    pub fn cost(source: &str, text: &str) -> usize {
        estimate_tokens(text) + estimate_tokens(source) + FENCE_TOKENS
    }

    /// A fifth of the window, and never more than 6,000 tokens.
    pub fn budget(context_window: usize) -> usize {
        (context_window / 5).min(MOST_TOKENS)
    }
}

impl Index {
    pub async fn retrieve(&self, retrieval: &Retrieval) -> Result<Retrieved, KnowledgeError> {
        let kinds = SourceKind::ALL.into_iter().filter(|kind| *kind != SourceKind::Session);
        let searches: Vec<Search> = retrieval
            .scopes
            .iter()
            .map(|scope| Search {
                text: retrieval.text.clone(),
                scopes: ScopeSet::new(retrieval.person.clone(), vec![scope.clone()]),
                // What was said here stands before the model already, and what was said
                // elsewhere is for whoever asks for it.
                kinds: kinds.clone().collect(),
                limit: HITS_A_SCOPE,
            })
            .collect();
        let answers = try_join_all(searches.iter().map(|search| self.search_said(search))).await?;
        let partial = answers.iter().any(|answer| answer.partial);
        let degraded = answers.iter().find_map(|answer| answer.degraded.clone());
        let mut hits: Vec<Hit> = answers.into_iter().flat_map(|answer| answer.hits).collect();
        hits.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.chunk.cmp(&b.chunk)));
        let mut seen = HashSet::new();
        let mut left = retrieval.max_tokens;
        hits.retain(|hit| {
            let cost = Retrieval::cost(&hit.path(), &hit.text);
            // A shorter one further down may still fit.
            let fits = cost <= left && seen.insert(hit.chunk);
            left -= if fits { cost } else { 0 };
            fits
        });
        Ok(Retrieved { hits, degraded, partial })
    }
}
