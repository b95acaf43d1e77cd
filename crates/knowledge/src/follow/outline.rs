//! Knows the author and time of each chunk, and the messages before and after it. It is kept in
//! memory, because ranking asks for hundreds of chunks in each search.

use std::collections::{HashMap, HashSet};

use onyx_storage::{ChunkId, GroupId, OutlinedChunk, SourceId};
use onyx_types::{PersonId, Timestamp};

use super::positions::Positions;
use crate::visible::VisibleGroups;

/// The number by which the outline refers to an author.
pub(crate) type AuthorId = u32;
/// The number by which the outline refers to a conversation.
pub(crate) type ConversationId = u32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChunkPosition {
    pub(crate) group: GroupId,
    pub(crate) at: Timestamp,
    pub(crate) message: Option<MessagePosition>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MessagePosition {
    pub(crate) conversation: ConversationId,
    pub(crate) author: AuthorId,
    pub(super) position: u64,
}

#[derive(Debug, Default)]
pub(super) struct Outline {
    positions: Positions,
    by_source: HashMap<SourceId, Vec<ChunkId>>,
    names: HashMap<(Option<PersonId>, String), ConversationId>,
    /// The messages of each conversation, in order.
    conversations: Vec<Vec<(u64, ChunkId)>>,
    authors: Vec<Author>,
    author_ids: HashMap<String, AuthorId>,
    /// The authors whose names contain a word.
    by_word: HashMap<String, Vec<AuthorId>>,
}

/// The approximate bytes that a chunk takes beside its position: its entries among the chunks of
/// its source and among the messages of its conversation.
const BYTES_A_CHUNK: usize = 64;

/// The groups in which an author has written.
#[derive(Debug, Default)]
struct Author {
    groups: HashSet<GroupId>,
}

/// Words that name a speaker's role and not a person.
const NO_NAMES: &[&str] = &[
    "agent",
    "ai",
    "assistant",
    "human",
    "main",
    "me",
    "owner",
    "person",
    "system",
    "user",
    "you",
];
/// Words of at least this length are taken for names in any case; shorter ones only if they begin
/// with a capital, such as `An` but not `an`.
const SURE_NAME: usize = 3;
const SHORTEST_NAME: usize = 2;

impl Outline {
    pub(super) fn position_of(&self, chunk: ChunkId) -> Option<&ChunkPosition> {
        self.positions.get(chunk)
    }

    /// The approximate number of bytes of memory that the outline takes.
    pub(super) fn memory(&self) -> usize {
        self.positions.memory() + self.positions.count() * BYTES_A_CHUNK
    }

    /// How many conversations have a number, which are those below this one.
    pub(super) fn conversation_count(&self) -> ConversationId {
        ConversationId::try_from(self.conversations.len()).unwrap_or(ConversationId::MAX)
    }

    /// How many authors have a number, which are those below this one.
    pub(super) fn author_count(&self) -> AuthorId {
        AuthorId::try_from(self.authors.len()).unwrap_or(AuthorId::MAX)
    }

    pub(super) fn add(&mut self, chunk: &OutlinedChunk) {
        let message = chunk.message.as_ref().map(|message| {
            let conversation = self.conversation(&message.person, &message.conversation);
            let author = self.author(&message.author, chunk.group);
            let order = &mut self.conversations[conversation as usize];
            let entry = (message.position, chunk.chunk);
            // A new message nearly always belongs at the end.
            let place = order.partition_point(|before| *before < entry);
            order.insert(place, entry);
            MessagePosition { conversation, author, position: message.position }
        });
        self.by_source.entry(chunk.source).or_default().push(chunk.chunk);
        self.positions
            .insert(chunk.chunk, ChunkPosition { group: chunk.group, at: chunk.at, message });
    }

    fn author(&mut self, name: &str, group: GroupId) -> AuthorId {
        let name = name.to_lowercase();
        let author = match self.author_ids.get(&name) {
            Some(known) => *known,
            None => {
                let new = self.author_count();
                self.authors.push(Author::default());
                for word in name_words(&name) {
                    self.by_word.entry(word.to_owned()).or_default().push(new);
                }
                self.author_ids.insert(name, new);
                new
            }
        };
        self.authors[author as usize].groups.insert(group);
        author
    }

    fn conversation(&mut self, person: &Option<PersonId>, name: &str) -> ConversationId {
        let key = (person.clone(), name.to_owned());
        if let Some(known) = self.names.get(&key) {
            return *known;
        }
        let new = self.conversation_count();
        self.conversations.push(Vec::new());
        self.names.insert(key, new);
        new
    }

    pub(super) fn remove(&mut self, source: SourceId) {
        for chunk in self.by_source.remove(&source).unwrap_or_default() {
            let Some(known) = self.positions.remove(chunk) else { continue };
            if let Some(message) = known.message {
                let order = &mut self.conversations[message.conversation as usize];
                if let Ok(place) = order.binary_search(&(message.position, chunk)) {
                    order.remove(place);
                }
            }
        }
    }

    /// The messages that are at most `reach` messages away from one, each with its distance, which
    /// is negative for earlier messages. Other parts of the same message are left out.
    pub(super) fn around(&self, chunk: ChunkId, reach: i32) -> Vec<(i32, ChunkId)> {
        let mut around = Vec::new();
        if let Some(message) = self.positions.get(chunk).and_then(|known| known.message) {
            self.around_message(message, reach, |away, chunk| around.push((away, chunk)));
        }
        around
    }

    /// Calls `found` for each chunk that [`Self::around`] would return for this message.
    pub(super) fn around_message(
        &self,
        message: MessagePosition,
        reach: i32,
        mut found: impl FnMut(i32, ChunkId),
    ) {
        let order = &self.conversations[message.conversation as usize];
        let first = order.partition_point(|(position, _)| *position < message.position);
        let before = order[..first].iter().rev();
        walk(before, message.position, reach, |away, chunk| found(-away, chunk));
        let after = order[first..].iter().skip_while(|(position, _)| *position == message.position);
        walk(after, message.position, reach, found);
    }

    /// How many messages of the conversation came after this one.
    pub(super) fn messages_after(&self, chunk: ChunkId) -> usize {
        let Some(message) = self.positions.get(chunk).and_then(|known| known.message) else {
            return 0;
        };
        let order = &self.conversations[message.conversation as usize];
        order.len() - order.partition_point(|(position, _)| *position <= message.position)
    }

    /// The number of a message in its conversation, counted from 1.
    pub(super) fn number_of(&self, chunk: ChunkId) -> Option<u32> {
        let message = self.positions.get(chunk)?.message?;
        let order = &self.conversations[message.conversation as usize];
        let through = order.iter().take_while(|(position, _)| *position <= message.position);
        // The parts of one message are counted once.
        let mut last = None;
        let messages = through.filter(|(position, _)| last.replace(*position) != Some(*position));
        u32::try_from(messages.count()).ok()
    }

    /// The authors whose names occur among the words, if a message of theirs may be seen.
    pub(super) fn named_in(&self, words: &str, seen: &VisibleGroups) -> HashSet<AuthorId> {
        let is_meant =
            |word: &&str| word.chars().count() >= SURE_NAME || word.starts_with(char::is_uppercase);
        let named = name_words(words).filter(is_meant).map(str::to_lowercase);
        let authors = named.filter_map(|word| self.by_word.get(&word)).flatten();
        let is_seen = |author: &&AuthorId| {
            let groups = &self.authors[**author as usize].groups;
            groups.iter().any(|group| seen.allows(*group))
        };
        authors.filter(is_seen).copied().collect()
    }
}

/// The words of a text that may be a person's name.
fn name_words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.chars().count() >= SHORTEST_NAME)
        .filter(|word| !NO_NAMES.contains(&word.to_lowercase().as_str()))
}

/// Visits messages until `reach` of them were passed.
fn walk<'a>(
    messages: impl Iterator<Item = &'a (u64, ChunkId)>,
    from: u64,
    reach: i32,
    mut found: impl FnMut(i32, ChunkId),
) {
    let (mut away, mut last) = (0, from);
    for (position, chunk) in messages {
        if *position != last {
            away += 1;
            last = *position;
        }
        if away > reach {
            return;
        }
        found(away, *chunk);
    }
}

#[cfg(test)]
mod tests {
    use onyx_storage::OutlinedMessage;

    use super::*;

    fn chunk(id: u64, source: u64, position: u64, author: &str) -> OutlinedChunk {
        OutlinedChunk {
            chunk: ChunkId(id),
            source: SourceId(source),
            group: GroupId(0),
            at: Timestamp::from_millis(0),
            message: Some(OutlinedMessage {
                person: None,
                conversation: "talk".to_owned(),
                author: author.to_owned(),
                position,
            }),
        }
    }

    #[test]
    fn messages_around_one_are_counted_by_message_and_not_by_part() {
        let mut outline = Outline::default();
        // The later run is added first, and message 20 has two parts.
        for (id, source, position) in [(1, 2, 30), (2, 2, 40), (3, 1, 10), (4, 1, 20), (5, 1, 20)] {
            outline.add(&chunk(id, source, position, "Ana"));
        }
        let around = |id: u64| {
            let mut around = outline.around(ChunkId(id), 2);
            around.sort_unstable();
            around.into_iter().map(|(away, chunk)| (away, chunk.0)).collect::<Vec<_>>()
        };
        assert_eq!(around(4), [(-1, 3), (1, 1), (2, 2)]);
        assert_eq!(around(1), [(-2, 3), (-1, 4), (-1, 5), (1, 2)]);
        outline.remove(SourceId(1));
        assert_eq!(outline.around(ChunkId(1), 2), [(1, ChunkId(2))]);
        assert!(outline.position_of(ChunkId(4)).is_none());
    }

    #[test]
    fn names_are_found_whole_and_roles_are_none() {
        let mut outline = Outline::default();
        for (id, author) in [(1, "Ana Li"), (2, "user"), (3, "Benedikt")] {
            outline.add(&chunk(id, 1, id, author));
        }
        let named = |words: &str, group: u32| {
            let seen = VisibleGroups::from_iter([GroupId(group)]);
            let mut named: Vec<_> = outline.named_in(words, &seen).into_iter().collect();
            named.sort_unstable();
            named
        };
        assert_eq!(named("What did Ana's user say to Ben?", 0), [0]);
        assert_eq!(named("benedikt and Li", 0), [0, 2]);
        assert_eq!(named("benedikt and li", 0), [2], "too short to be told from a word");
        assert_eq!(named("analysis", 0), [0; 0]);
        assert_eq!(named("Ana", 1), [0; 0], "nobody else is told who speaks here");
    }
}
