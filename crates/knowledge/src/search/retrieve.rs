//! Retrieval: texts are found for a message and given to the model without it asking.

use std::collections::HashSet;
use std::sync::Arc;

use futures::future::try_join_all;
use onyx_storage::{ChunkId, SourceKind, SourceRow, StoredChunk};
use onyx_types::{PersonId, Scope, ScopeSet, SessionId, estimate_tokens};

use crate::KnowledgeError;
use crate::search::{Hit, Search, Searcher};
use crate::text::query::TextQuery;

/// The retrieval for one message.
#[derive(Clone, Debug)]
pub struct Retrieval {
    pub person: PersonId,
    /// Groups of scopes. Each group is one search, so that no group crowds out the others.
    pub groups: Vec<Vec<Scope>>,
    /// The session of the message. Its latest messages are left out, because the prompt contains
    /// them already.
    pub session: Option<SessionId>,
    pub text: String,
    pub max_tokens: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub struct RetrievedHits {
    /// The hits within the budget, best first and each chunk only once. A message is joined with
    /// those around it.
    pub hits: Vec<Hit>,
    pub degraded: Option<String>,
    /// Whether not everything is indexed yet.
    pub partial: bool,
}

const HITS_A_SCOPE: usize = 12;
/// A group gets as many hits as this many scopes that are searched separately. A companion's space
/// is thus found in as much as the space, the channel and the thread of a thread's message.
const MOST_SCOPES_COUNTED: usize = 3;
/// The most tokens of a retrieval, however large the window of the model is.
const MOST_TOKENS: usize = 6_000;
/// The approximate tokens of the fence around a piece and of the name of its source.
const FENCE_TOKENS: usize = 40;
/// How many of the latest messages of a session are assumed to be in its prompt.
const RECENT_MESSAGES: usize = 40;
/// How many messages before and after a found message are added.
const AROUND: i32 = 2;

impl Retrieval {
    /// Groups of one scope each.
    pub fn separately(scopes: impl IntoIterator<Item = Scope>) -> Vec<Vec<Scope>> {
        scopes.into_iter().map(|scope| vec![scope]).collect()
    }

    /// How many tokens of the budget a piece takes, with its fence and the name of its source.
    pub fn cost(source: &str, text: &str) -> usize {
        estimate_tokens(text) + estimate_tokens(source) + FENCE_TOKENS
    }

    /// Whether a hit is from the session of the message.
    fn is_in_session_of(&self, hit: &Hit) -> bool {
        self.session.is_some() && hit.session().map(|(of, _)| of) == self.session
    }

    /// The token budget for a window: a fifth of it, but at most 6,000 tokens.
    pub fn budget(context_window: usize) -> usize {
        (context_window / 5).min(MOST_TOKENS)
    }
}

impl Searcher {
    pub(crate) async fn retrieve(
        &self,
        retrieval: &Retrieval,
    ) -> Result<RetrievedHits, KnowledgeError> {
        // The searches and the messages around their hits read the same tables.
        let _in_use = self.follower.hold(&retrieval.person);
        let searches: Vec<Search> = retrieval
            .groups
            .iter()
            .map(|group| Search {
                text: retrieval.text.clone(),
                scopes: ScopeSet::new(retrieval.person.clone(), group.clone()),
                kinds: kinds_in(group),
                limit: HITS_A_SCOPE * group.len().min(MOST_SCOPES_COUNTED),
            })
            .collect();
        let wanted = TextQuery::said(&retrieval.text);
        // The question is embedded once for all groups.
        let question = Arc::new(self.question(&retrieval.text, &wanted).await?);
        let answers = searches.iter().map(|search| self.answer(search, &wanted, &question));
        let answers = try_join_all(answers).await?;
        let partial = answers.iter().any(|answer| answer.partial);
        let degraded = answers.iter().find_map(|answer| answer.degraded.clone());
        let mut hits: Vec<Hit> = answers.into_iter().flat_map(|answer| answer.hits).collect();
        hits.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.chunk.cmp(&b.chunk)));
        let hits = self.within_budget(hits, retrieval).await?;
        Ok(RetrievedHits { hits, degraded, partial })
    }

    /// Adds the messages around each hit if they fit into the budget, else only the hit. No chunk
    /// is added twice.
    async fn within_budget(
        &self,
        hits: Vec<Hit>,
        retrieval: &Retrieval,
    ) -> Result<Vec<Hit>, KnowledgeError> {
        let mut seen = HashSet::new();
        let mut left = retrieval.max_tokens;
        let mut kept = Vec::new();
        for hit in hits {
            if seen.contains(&hit.chunk) || self.is_recent(&hit, retrieval).await {
                continue;
            }
            let (whole, chunks) = self.with_around(&hit, &seen, retrieval).await?;
            // If neither fits, a shorter hit further down may still fit.
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

    async fn is_recent(&self, hit: &Hit, retrieval: &Retrieval) -> bool {
        if !retrieval.is_in_session_of(hit) {
            return false;
        }
        let tables = self.follower.lock().await;
        let outline = tables.people.of(&retrieval.person).outline();
        outline.messages_after(hit.chunk) < RECENT_MESSAGES
    }

    /// A message joined with those around it in its conversation, and the chunks of the joined
    /// piece.
    async fn with_around(
        &self,
        hit: &Hit,
        seen: &HashSet<ChunkId>,
        retrieval: &Retrieval,
    ) -> Result<(Hit, Vec<ChunkId>), KnowledgeError> {
        let is_here = retrieval.is_in_session_of(hit);
        let mut ids: Vec<ChunkId> = {
            let tables = self.follower.lock().await;
            let outline = tables.people.of(&retrieval.person).outline();
            let mut around = outline.around(hit.chunk, AROUND);
            around
                .retain(|(_, chunk)| !is_here || outline.messages_after(*chunk) >= RECENT_MESSAGES);
            around.into_iter().map(|(_, chunk)| chunk).collect()
        };
        ids.retain(|chunk| !seen.contains(chunk));
        if ids.is_empty() {
            return Ok((hit.clone(), vec![hit.chunk]));
        }
        ids.push(hit.chunk);
        let mut around = self.chunks.stored(&ids).await?;
        let Some(own) = around.iter().find(|chunk| chunk.id == hit.chunk) else {
            return Ok((hit.clone(), vec![hit.chunk]));
        };
        let (own, conversation) = (own.source.clone(), conversation_of(&own.source).to_owned());
        around.retain(|StoredChunk { source, .. }| {
            source.key.person == own.key.person
                && source.scope == own.scope
                && conversation_of(source) == conversation
        });
        around.sort_by_key(|chunk| {
            (chunk.row.message.as_ref().map(|message| message.position), chunk.id)
        });
        let piece = self.piece(hit, &around, &retrieval.person).await;
        Ok((piece, around.into_iter().map(|chunk| chunk.id).collect()))
    }

    /// One piece of consecutive messages. It is cited by the first and the last of them: within
    /// their run, or within the conversation if they are from several runs.
    async fn piece(&self, hit: &Hit, around: &[StoredChunk], person: &PersonId) -> Hit {
        let mut piece = hit.clone();
        let text = |chunk: &StoredChunk| chunk.row.text.clone();
        piece.text = around.iter().map(text).collect::<Vec<_>>().join("\n\n");
        piece.origin = around.iter().map(|chunk| chunk.row.origin).fold(hit.origin, Ord::max);
        if around.iter().all(|chunk| chunk.source.key == hit.key) {
            for row in around.iter().map(|chunk| &chunk.row) {
                piece.start_line = piece.start_line.min(row.start_line);
                piece.end_line = piece.end_line.max(row.end_line);
            }
            return piece;
        }
        let tables = self.follower.lock().await;
        let outline = tables.people.of(person).outline();
        let number = |chunk: Option<&StoredChunk>| outline.number_of(chunk?.id);
        if let (Some((session, _)), Some(first), Some(last)) =
            (hit.session(), number(around.first()), number(around.last()))
        {
            piece.key.path = format!("sessions/{session}");
            (piece.start_line, piece.end_line) = (first, last);
        }
        piece
    }
}

/// The key that the messages of a conversation share; a note has only itself.
fn conversation_of(source: &SourceRow) -> &str {
    source.conversation.as_deref().unwrap_or(&source.key.path)
}

/// The kinds of sources that are retrieved from a group of scopes. Conversations are retrieved only
/// in the space, channel or thread in which they were held; others are found when the model searches
/// for them.
fn kinds_in(group: &[Scope]) -> Vec<SourceKind> {
    let is_place = |scope: &Scope| match scope {
        Scope::Space(_) | Scope::Channel(_) | Scope::Thread(_) => true,
        Scope::Person | Scope::Agent(_) | Scope::Shared => false,
    };
    let with_conversations = group.iter().all(is_place);
    let kinds = SourceKind::ALL.into_iter();
    kinds.filter(|kind| with_conversations || *kind != SourceKind::Session).collect()
}

fn cost_of(hit: &Hit) -> usize {
    Retrieval::cost(&hit.path(), &hit.text)
}
