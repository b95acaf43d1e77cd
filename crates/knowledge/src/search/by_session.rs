//! Finds conversations by what was said in them, for a list in which each appears once.

use std::collections::HashSet;

use onyx_storage::{ChunkId, SourceKind};
use onyx_types::PersonId;

use super::ranking::{Match, RankedChunk};
use super::{Hit, Search, Searcher};
use crate::KnowledgeError;
use crate::follow::outline::ConversationId;
use crate::sync::UpToDate;
use crate::text::query::TextQuery;

/// The most messages that are looked at. They yield a longer list than anybody reads.
const MOST_MESSAGES: usize = 2_000;
const MOST_SESSIONS: usize = 200;

impl Searcher {
    /// The conversations of a person in which all of these words were said, best first. Each is
    /// represented by the message that matches best. Only words are searched for, because the list
    /// must contain what was typed.
    pub(crate) async fn search_sessions(
        &self,
        person: &PersonId,
        text: &str,
    ) -> Result<Vec<Hit>, KnowledgeError> {
        let UpToDate { position, .. } = self.sync.bring_all_up_to_date().await?;
        let search = Search {
            text: text.to_owned(),
            scopes: self.all_scopes_at(person, &position).await?,
            kinds: vec![SourceKind::Session],
            limit: MOST_SESSIONS,
        };
        let wanted = TextQuery::all_of(text);
        let (mut tables, _) = self.follower.tables_for(person, &position).await?;
        let seen = self.visible(&search);
        let found = match &mut tables.text {
            Some(text) if !seen.is_empty() => text.search(&wanted, &seen, MOST_MESSAGES)?,
            Some(_) | None => Vec::new(),
        };
        let outline = tables.people.of(person).outline();
        let conversation_of = |chunk: ChunkId| -> Option<ConversationId> {
            Some(outline.position_of(chunk)?.message?.conversation)
        };
        let mut told = HashSet::new();
        let is_first = |chunk: ChunkId| conversation_of(chunk).is_some_and(|of| told.insert(of));
        let best = best_of_each(&found, is_first);
        drop(tables);
        self.hits(&search, &wanted, best, MOST_SESSIONS).await
    }
}

fn best_of_each(
    found: &[(ChunkId, f32)],
    mut is_first: impl FnMut(ChunkId) -> bool,
) -> Vec<RankedChunk> {
    let most = found.first().map_or(1.0, |(_, best)| best.max(f32::MIN_POSITIVE));
    let firsts = found.iter().filter(|(chunk, _)| is_first(*chunk)).take(MOST_SESSIONS);
    firsts
        .map(|(chunk, score)| {
            let score = score / most;
            RankedChunk { score, chunk: *chunk, found: Match::by_words(score) }
        })
        .collect()
}
