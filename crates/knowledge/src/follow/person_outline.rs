//! The outline that a search of one person reads: that of their own chunks and that of the shared
//! documents. Authors and conversations of the shared documents are numbered after the person's
//! own, so that each number means one thing.

use std::collections::HashSet;

use onyx_storage::ChunkId;

use super::outline::{AuthorId, ChunkPosition, MessagePosition, Outline};
use crate::visible::VisibleGroups;

#[derive(Clone, Copy, Default)]
pub(crate) struct PersonOutline<'a> {
    own: Option<&'a Outline>,
    shared: Option<&'a Outline>,
}

impl<'a> PersonOutline<'a> {
    pub(super) const fn new(own: Option<&'a Outline>, shared: Option<&'a Outline>) -> Self {
        Self { own, shared }
    }

    pub(crate) fn position_of(&self, chunk: ChunkId) -> Option<ChunkPosition> {
        if let Some(position) = self.own.and_then(|own| own.position_of(chunk)) {
            return Some(*position);
        }
        let position = *self.shared?.position_of(chunk)?;
        let message = position.message.map(|message| MessagePosition {
            conversation: self.own.map_or(0, Outline::conversation_count) + message.conversation,
            author: self.own.map_or(0, Outline::author_count) + message.author,
            ..message
        });
        Some(ChunkPosition { message, ..position })
    }

    /// The messages that are at most `reach` messages away from one, each with its distance, which
    /// is negative for earlier messages. Other parts of the same message are left out.
    pub(crate) fn around(&self, chunk: ChunkId, reach: i32) -> Vec<(i32, ChunkId)> {
        self.outline_with(chunk).map_or_else(Vec::new, |outline| outline.around(chunk, reach))
    }

    /// Calls `found` for each chunk that [`Self::around`] would return for this message.
    pub(crate) fn around_message(
        &self,
        message: MessagePosition,
        reach: i32,
        found: impl FnMut(i32, ChunkId),
    ) {
        let own_conversations = self.own.map_or(0, Outline::conversation_count);
        let (outline, conversation) = match message.conversation.checked_sub(own_conversations) {
            Some(shared) => (self.shared, shared),
            None => (self.own, message.conversation),
        };
        if let Some(outline) = outline {
            let message = MessagePosition { conversation, ..message };
            outline.around_message(message, reach, found);
        }
    }

    /// How many messages of the conversation came after this one.
    pub(crate) fn messages_after(&self, chunk: ChunkId) -> usize {
        self.outline_with(chunk).map_or(0, |outline| outline.messages_after(chunk))
    }

    /// The number of a message in its conversation, counted from 1.
    pub(crate) fn number_of(&self, chunk: ChunkId) -> Option<u32> {
        self.outline_with(chunk)?.number_of(chunk)
    }

    /// The authors whose names occur among the words, if a message of theirs may be seen.
    pub(crate) fn named_in(&self, words: &str, seen: &VisibleGroups) -> HashSet<AuthorId> {
        let mut named = self.own.map_or_else(HashSet::new, |own| own.named_in(words, seen));
        let own_authors = self.own.map_or(0, Outline::author_count);
        if let Some(shared) = self.shared {
            named.extend(
                shared.named_in(words, seen).into_iter().map(|author| own_authors + author),
            );
        }
        named
    }

    fn outline_with(&self, chunk: ChunkId) -> Option<&'a Outline> {
        let mut outlines = [self.own, self.shared].into_iter().flatten();
        outlines.find(|outline| outline.position_of(chunk).is_some())
    }
}

#[cfg(test)]
mod tests {
    use onyx_storage::{GroupId, OutlinedChunk, OutlinedMessage, SourceId};
    use onyx_types::Timestamp;

    use super::*;

    /// The outline of a conversation of three messages.
    fn outline(group: u32, first: u64, author: &str) -> Outline {
        let mut outline = Outline::default();
        for chunk in first..first + 3 {
            outline.add(&OutlinedChunk {
                chunk: ChunkId(chunk),
                source: SourceId(u64::from(group)),
                group: GroupId(group),
                at: Timestamp::from_millis(0),
                message: Some(OutlinedMessage {
                    person: None,
                    conversation: "talk".to_owned(),
                    author: author.to_owned(),
                    position: chunk,
                }),
            });
        }
        outline
    }

    #[test]
    fn own_and_shared_messages_keep_apart_although_their_outlines_count_alike() {
        let (own, shared) = (outline(0, 10, "Rosa"), outline(1, 20, "Tom"));
        let both = PersonOutline::new(Some(&own), Some(&shared));
        let message = |chunk: u64| both.position_of(ChunkId(chunk)).unwrap().message.unwrap();
        assert_ne!(message(11).conversation, message(21).conversation);
        let around = |chunk: u64| {
            let mut around = Vec::new();
            both.around_message(message(chunk), 1, |away, near| around.push((away, near.0)));
            around
        };
        assert_eq!(around(11), [(-1, 10), (1, 12)]);
        assert_eq!(around(21), [(-1, 20), (1, 22)]);
        assert_eq!(both.around(ChunkId(22), 1), [(-1, ChunkId(21))]);
        assert_eq!((both.messages_after(ChunkId(20)), both.number_of(ChunkId(22))), (2, Some(3)));
        let named =
            |words: &str| both.named_in(words, &[GroupId(0), GroupId(1)].into_iter().collect());
        assert_eq!(named("Rosa"), HashSet::from([message(10).author]));
        assert_eq!(named("Tom"), HashSet::from([message(20).author]));
        assert!(both.position_of(ChunkId(30)).is_none());
        assert!(PersonOutline::default().around(ChunkId(10), 1).is_empty());
    }
}
