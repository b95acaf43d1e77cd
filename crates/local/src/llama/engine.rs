//! Reads and generates the tokens of several conversations at once, one batch after the other.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, TryRecvError};

use super::cache_slot::{CacheSlot, Task};
use super::native::{
    Batch, Context, First, Llama, Marks, Model, Output, Room, Sampler, Sampling, Token,
};
use super::pace::Pace;
use super::words::Utf8;
use super::{Load, grammar};
use crate::chat::Template;
use crate::worker::{
    AnswerEnd, Chat, FailedClass, NobodyListens, Refusal, Replies, Reply, WorkerRequest,
};

/// How many answers are generated at once; others wait for a slot.
const SLOTS: i32 = 4;

/// How many tokens are read at once: few enough that a stop takes effect soon and that other
/// conversations do not wait long behind a long prompt.
const BATCH: usize = 128;

/// Runs the process's work: it receives conversations and sends words.
pub(super) fn work(
    llama: Llama,
    load: &Load<'_>,
    requests: &Receiver<WorkerRequest>,
    replies: &mut Replies,
) -> Result<(), Refusal> {
    let unusable = |why: String| (FailedClass::Invalid, format!("{}: {why}", load.file.display()));
    let model = Model::load(llama, load.file)
        .ok_or_else(|| unusable("llama.cpp cannot load this model".to_owned()))?;
    let room = Room {
        window: load.window,
        batch: BATCH as u32,
        sequences: SLOTS as u32,
        threads: i32::try_from(load.threads).unwrap_or(1),
    };
    let context = Context::new(&model, &room).ok_or_else(|| {
        let message = format!("there is not enough memory for a window of {} tokens", load.window);
        (FailedClass::Unavailable, message)
    })?;
    let word =
        |token: Token| String::from_utf8_lossy(&model.bytes_of(token, Marks::Written)).into_owned();
    let source = model.chat_template();
    let template = Template::new(source.as_deref(), word(model.first()), word(model.last()));
    let marks = model.tokens().filter(|token| model.is_control(*token)).map(word).collect();
    let mut engine = Engine {
        model: &model,
        context,
        template: template.map_err(unusable)?,
        marks,
        window: load.window as usize,
        slots: (0..SLOTS).map(CacheSlot::new).collect(),
        waiting: VecDeque::new(),
        uses: 0,
        pace: Pace::new(load.threads),
    };
    if replies.send(&Reply::Ready).is_ok() {
        // The engine returns when its reader is gone, which is not a failure.
        let NobodyListens = engine.run(requests, replies);
    }
    Ok(())
}

struct Engine<'m> {
    model: &'m Model,
    context: Context<'m>,
    template: Template,
    /// The marks that structure a conversation: only the template may write them.
    marks: Vec<String>,
    window: usize,
    slots: Vec<CacheSlot>,
    waiting: VecDeque<Task>,
    uses: u64,
    pace: Pace,
}

impl Engine<'_> {
    fn run(&mut self, requests: &Receiver<WorkerRequest>, replies: &mut Replies) -> NobodyListens {
        let mut batch = Batch::default();
        loop {
            if let Err(end) = self.receive(requests, replies) {
                return end;
            }
            self.admit();
            if let Err(end) = self.step(&mut batch, replies) {
                return end;
            }
        }
    }

    /// Receives the waiting requests; if there is no other work, waits for one.
    fn receive(
        &mut self,
        requests: &Receiver<WorkerRequest>,
        replies: &mut Replies,
    ) -> Result<(), NobodyListens> {
        let idle = self.waiting.is_empty() && self.slots.iter().all(|slot| slot.task.is_none());
        if idle {
            let request = requests.recv().map_err(|_| NobodyListens)?;
            self.pace.look_around();
            self.take(request, replies)?;
        }
        loop {
            match requests.try_recv() {
                Ok(request) => self.take(request, replies)?,
                Err(TryRecvError::Empty) => return Ok(()),
                Err(TryRecvError::Disconnected) => return Err(NobodyListens),
            }
        }
    }

    fn take(&mut self, request: WorkerRequest, replies: &mut Replies) -> Result<(), NobodyListens> {
        match request {
            WorkerRequest::Generate { id, chat } => match self.task(id, &chat) {
                Ok(task) => self.waiting.push_back(task),
                Err((class, message)) => {
                    replies.send(&Reply::Failed { id, class, message })?;
                }
            },
            WorkerRequest::Cancel { id } => {
                self.waiting.retain(|task| task.id != id);
                for slot in &mut self.slots {
                    slot.task.take_if(|task| task.id == id);
                }
            }
            WorkerRequest::Embed { id, .. }
            | WorkerRequest::EmbedTokens { id, .. }
            | WorkerRequest::Count { id, .. } => {
                let message = "this model makes no vectors".to_owned();
                replies.send(&Reply::Failed { id, class: FailedClass::Invalid, message })?;
            }
        }
        Ok(())
    }

    fn task(&self, id: u64, chat: &Chat) -> Result<Task, Refusal> {
        let invalid = |message: String| (FailedClass::Invalid, message);
        let mut messages = chat.messages.clone();
        for message in &mut messages {
            self.defuse(&mut message.content);
        }
        let text = self.template.render(&messages, &chat.tools).map_err(invalid)?;
        let begin = self.model.bytes_of(self.model.first(), Marks::Written);
        // Most templates write the first mark themselves.
        let add = self.model.begins_with_first() && !text.as_bytes().starts_with(&begin);
        let prompt = self.model.tokenize(&text, if add { First::Added } else { First::InTheText });
        if prompt.len() >= self.window {
            let message = format!(
                "the conversation has {} tokens, and the model's window {}",
                prompt.len(),
                self.window
            );
            return Err((FailedClass::ContextLength, message));
        }
        let most = (chat.max_tokens as usize).min(self.window - prompt.len());
        let sampler = self.sampler(chat).map_err(invalid)?;
        let (next, text) = (None, Utf8::default());
        Ok(Task { id, prompt, cached: 0, sampler, next, said: 0, most, text })
    }

    /// Changes the words of a person or a document so that they cannot pass for marks of the
    /// conversation.
    fn defuse(&self, content: &mut String) {
        for mark in &self.marks {
            if !mark.is_empty() && content.contains(mark.as_str()) {
                let mut broken = mark.clone();
                let first = broken.chars().next().map_or(0, char::len_utf8);
                broken.insert(first, '\u{200b}');
                *content = content.replace(mark.as_str(), &broken);
            }
        }
    }

    fn sampler(&self, chat: &Chat) -> Result<Sampler, String> {
        let mut steps = Vec::new();
        match &chat.schema {
            Some(schema) => {
                let grammar = grammar::of_schema(schema)
                    .map_err(|error| format!("the schema makes no grammar: {error}"))?;
                steps.push(Sampling::Grammar(grammar));
            }
            // Small models tend to repeat themselves endlessly. An answer in JSON gets no penalty,
            // because JSON needs repetitions.
            None => steps.push(Sampling::Penalty { last_tokens: LAST_TOKENS, repeated: REPEATED }),
        }
        if chat.temperature > 0.0 {
            steps.push(Sampling::TopK(40));
            steps.push(Sampling::TopP(0.95));
            steps.push(Sampling::Temperature(chat.temperature));
            steps.push(Sampling::Chance { seed: SEED });
        } else {
            steps.push(Sampling::MostLikely);
        }
        Sampler::new(self.model, &steps).map_err(|error| format!("the schema's grammar: {error}"))
    }

    /// Gives waiting tasks a slot, in the order they came, as long as the cache has room.
    fn admit(&mut self) {
        while let Some(task) = self.waiting.pop_front() {
            let at_work = self.slots.iter().filter(|slot| slot.task.is_some());
            let taken: usize = at_work.map(CacheSlot::cells).sum();
            let free = (0..self.slots.len())
                .filter(|place| self.slots[*place].task.is_none())
                .max_by_key(|place| {
                    let slot = &self.slots[*place];
                    (slot.shared(&task.prompt), std::cmp::Reverse(slot.used))
                });
            match free.filter(|_| taken == 0 || taken + task.reserved() <= self.window) {
                Some(place) => self.begin(place, task),
                None => {
                    self.waiting.push_front(task);
                    return;
                }
            }
        }
    }

    fn begin(&mut self, place: usize, mut task: Task) {
        self.uses += 1;
        let keep = self.slots[place].shared(&task.prompt);
        task.cached = self.cut(place, keep);
        self.slots[place].used = self.uses;
        self.slots[place].task = Some(task);
        // Idle conversations make room for those at work, the oldest first.
        while self.slots.iter().map(CacheSlot::cells).sum::<usize>() > self.window {
            let resting = (0..self.slots.len())
                .filter(|other| self.slots[*other].task.is_none())
                .filter(|other| !self.slots[*other].tokens.is_empty())
                .min_by_key(|other| self.slots[*other].used);
            match resting {
                Some(other) => self.cut(other, 0),
                None => return,
            };
        }
    }

    /// Forgets what a slot holds beyond a length, and returns the length that it then holds.
    fn cut(&mut self, place: usize, keep: usize) -> usize {
        let slot = &mut self.slots[place];
        let from = i32::try_from(keep).unwrap_or(0);
        // Some kinds of models cannot drop a part of their cache: it is cleared and read again.
        let cut = self.context.forget(slot.sequence, from);
        let keep = if cut { keep } else { 0 };
        if !cut {
            self.context.forget(slot.sequence, 0);
        }
        slot.tokens.truncate(keep);
        keep
    }

    /// Runs one batch: a token for each conversation that is generating, and as much of the prompts
    /// as there is room for.
    fn step(&mut self, batch: &mut Batch, replies: &mut Replies) -> Result<(), NobodyListens> {
        batch.clear();
        let mut room = BATCH;
        // Generating conversations go first, so that a long prompt does not make the others
        // stutter.
        let mut order: Vec<usize> =
            (0..self.slots.len()).filter(|place| self.slots[*place].task.is_some()).collect();
        order.sort_by_key(|place| {
            self.slots[*place].task.as_ref().is_some_and(|task| task.next.is_none())
        });
        let mut heard: Vec<(usize, i32)> = Vec::new();
        for place in order {
            let CacheSlot { sequence, tokens, task: Some(task), .. } = &mut self.slots[place]
            else {
                continue;
            };
            let from = tokens.len();
            let fresh: Vec<Token> = match task.next.take() {
                Some(token) => vec![token],
                None => task.prompt[from..].iter().take(room).copied().collect(),
            };
            let whole = from + fresh.len() >= task.prompt.len();
            for (index, token) in fresh.iter().enumerate() {
                let last = whole && index + 1 == fresh.len();
                let position = i32::try_from(from + index).unwrap_or(i32::MAX);
                let output = if last { Output::Wanted } else { Output::NotNeeded };
                batch.add(*token, position, *sequence, output);
            }
            room = room.saturating_sub(fresh.len());
            tokens.extend(fresh);
            if whole {
                heard.push((place, batch.len() - 1));
            }
        }
        if batch.is_empty() {
            return Ok(());
        }
        let measured = self.pace.begin();
        self.context.set_threads(measured.threads());
        let decoded = self.context.decode(batch);
        self.pace.end(&measured);
        if let Err(error) = decoded {
            return self.fail_all(&format!("llama.cpp could not go on (error {error})"), replies);
        }
        for (place, index) in heard {
            self.speak(place, index, replies)?;
        }
        Ok(())
    }

    /// Emits the next word of a slot, and the end of its answer if it has one.
    fn speak(
        &mut self,
        place: usize,
        index: i32,
        replies: &mut Replies,
    ) -> Result<(), NobodyListens> {
        let Some(task) = &mut self.slots[place].task else { return Ok(()) };
        let token = task.sampler.next(&self.context, index);
        if self.model.ends_answer(token) {
            return self.end(place, AnswerEnd::Stop, replies);
        }
        let text = task.text.add(&self.model.bytes_of(token, Marks::LeftOut));
        task.said += 1;
        task.next = Some(token);
        let full = task.said >= task.most;
        if !text.is_empty() {
            replies.send(&Reply::Piece { id: task.id, text })?;
        }
        if full { self.end(place, AnswerEnd::Length, replies) } else { Ok(()) }
    }

    fn end(
        &mut self,
        place: usize,
        how: AnswerEnd,
        replies: &mut Replies,
    ) -> Result<(), NobodyListens> {
        let Some(task) = self.slots[place].task.take() else { return Ok(()) };
        replies.send(&Reply::End {
            id: task.id,
            how,
            prompt: task.prompt.len() as u64,
            cached: task.cached as u64,
            output: task.said as u64,
        })
    }

    fn fail_all(&mut self, why: &str, replies: &mut Replies) -> Result<(), NobodyListens> {
        for place in 0..self.slots.len() {
            if let Some(task) = self.slots[place].task.take() {
                let (id, message) = (task.id, why.to_owned());
                replies.send(&Reply::Failed { id, class: FailedClass::Unavailable, message })?;
            }
            self.cut(place, 0);
        }
        Ok(())
    }
}

/// A token becomes less likely if it was among this many last tokens.
const LAST_TOKENS: i32 = 64;
const REPEATED: f32 = 1.1;

/// The seed is fixed, so that the same request gives the same answer.
const SEED: u32 = 1;
