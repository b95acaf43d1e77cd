//! Retrieval: what is found for a message and given to the model without the model asking.

use std::collections::HashSet;

use futures::future::try_join_all;
use onyx_storage::{ChunkId, SourceKind, StoredChunk};
use onyx_types::{PersonId, Scope, ScopeSet, SessionId, estimate_tokens};

use crate::KnowledgeError;
use crate::search::{Hit, Search, Searcher};

/// Retrieval for one message: each scope is searched on its own, so that none drowns the others.
#[derive(Clone, Debug)]
pub struct Retrieval {
    pub person: PersonId,
    pub scopes: Vec<Scope>,
    /// Where the message is said: what was said there last stands before the model already.
    pub session: Option<SessionId>,
    pub text: String,
    pub max_tokens: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Retrieved {
    /// Best first, no chunk twice, within the budget. A message comes with those around it.
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
/// Messages of the session itself that are taken to be in the prompt.
const RECENT_MESSAGES: usize = 40;
/// Messages before and after one that was found.
const AROUND: i32 = 2;

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

impl Searcher {
    pub(crate) async fn retrieve(
        &self,
        retrieval: &Retrieval,
    ) -> Result<Retrieved, KnowledgeError> {
        let searches: Vec<Search> = retrieval
            .scopes
            .iter()
            .map(|scope| Search {
                text: retrieval.text.clone(),
                scopes: ScopeSet::new(retrieval.person.clone(), vec![scope.clone()]),
                kinds: kinds_in(scope),
                limit: HITS_A_SCOPE,
            })
            .collect();
        let answers = try_join_all(searches.iter().map(|search| self.search_said(search))).await?;
        let partial = answers.iter().any(|answer| answer.partial);
        let degraded = answers.iter().find_map(|answer| answer.degraded.clone());
        let mut hits: Vec<Hit> = answers.into_iter().flat_map(|answer| answer.hits).collect();
        hits.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.chunk.cmp(&b.chunk)));
        let hits = self.within_budget(hits, retrieval).await?;
        Ok(Retrieved { hits, degraded, partial })
    }

    /// Adds the messages around each hit as long as they fit the budget, else the hit alone; no chunk
    /// comes twice.
    async fn within_budget(
        &self,
        hits: Vec<Hit>,
        retrieval: &Retrieval,
    ) -> Result<Vec<Hit>, KnowledgeError> {
        let mut seen = HashSet::new();
        let mut left = retrieval.max_tokens;
        let mut kept = Vec::new();
        for hit in hits {
            if seen.contains(&hit.chunk) || self.is_recent(&hit, retrieval.session).await {
                continue;
            }
            let (whole, chunks) = self.with_around(&hit, &seen).await?;
            // Where neither fits, a shorter hit further down may.
            for (piece, chunks) in [(whole, chunks), (hit.clone(), vec![hit.chunk])] {
                let cost = cost_of(&piece);
                if cost <= left {
                    left -= cost;
                    seen.extend(chunks);
                    kept.push(piece);
                    break;
                }
            }
        }
        Ok(kept)
    }

    async fn is_recent(&self, hit: &Hit, session: Option<SessionId>) -> bool {
        if session.is_none() || hit.session().map(|(of, _)| of) != session {
            return false;
        }
        let tables = self.follower.lock().await;
        let outline = tables.outline.as_ref().map(|followed| &followed.outline);
        outline.is_none_or(|outline| outline.messages_after(hit.chunk) < RECENT_MESSAGES)
    }

    /// A message with those around it of the same run, as one piece, and the chunks it is made of.
    async fn with_around(
        &self,
        hit: &Hit,
        seen: &HashSet<ChunkId>,
    ) -> Result<(Hit, Vec<ChunkId>), KnowledgeError> {
        let mut ids: Vec<ChunkId> = {
            let tables = self.follower.lock().await;
            let outline = tables.outline.as_ref().map(|followed| &followed.outline);
            let around = outline.map(|outline| outline.around(hit.chunk, AROUND));
            around.unwrap_or_default().into_iter().map(|(_, chunk)| chunk).collect()
        };
        ids.retain(|chunk| !seen.contains(chunk));
        let mut whole = hit.clone();
        if ids.is_empty() {
            return Ok((whole, vec![hit.chunk]));
        }
        ids.push(hit.chunk);
        let mut around = self.chunks.stored(&ids).await?;
        // The same run and no other: its path and messages are what the piece is cited by.
        around.retain(|chunk| chunk.source.key == hit.key && chunk.source.scope == hit.scope);
        around.sort_by_key(|chunk| (chunk.row.start_line, chunk.id));
        let text = |chunk: &StoredChunk| chunk.row.text.clone();
        whole.text = around.iter().map(text).collect::<Vec<_>>().join("\n\n");
        whole.origin = around.iter().map(|chunk| chunk.row.origin).fold(hit.origin, Ord::max);
        let lines = around.iter().map(|chunk| (chunk.row.start_line, chunk.row.end_line));
        for (start, end) in lines {
            whole.start_line = whole.start_line.min(start);
            whole.end_line = whole.end_line.max(end);
        }
        Ok((whole, around.into_iter().map(|chunk| chunk.id).collect()))
    }
}

/// Conversations are given unasked only in the space, channel or thread where they were held. Others
/// are found when the model searches for them.
fn kinds_in(scope: &Scope) -> Vec<SourceKind> {
    let is_place = match scope {
        Scope::Space(_) | Scope::Channel(_) | Scope::Thread(_) => true,
        Scope::Person | Scope::Agent(_) | Scope::Shared => false,
    };
    let kinds = SourceKind::ALL.into_iter();
    kinds.filter(|kind| is_place || *kind != SourceKind::Session).collect()
}

fn cost_of(hit: &Hit) -> usize {
    Retrieval::cost(&hit.path(), &hit.text)
}
