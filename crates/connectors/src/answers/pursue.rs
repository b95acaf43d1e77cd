//! Answers a message with a run. The run is promised in the ledger before it is started, so that
//! even after a crash there is at most one run for a message. The answer and the end of the update
//! are written in one transaction.

use std::sync::Arc;

use onyx_storage::{ConversationRow, InboxUpdate, PeerKind, PeerRow};
use onyx_types::{AgentId, ErrorCode, Fault, ModelId, PersonId, RunId, SessionId};

use super::content::content;
use super::files::file_parts;
use super::fold::{AnswerFold, AnswerStep};
use super::growing_message::{GrowingMessage, GrowingPlace};
use super::proposals::proposal_parts;
use crate::connector::Incoming;
use crate::context::AccountContext;
use crate::outbox::{Destination, answer_parts, plain_part};
use crate::peers::{Asker, agent_for};
use crate::port::{Privacy, PromisedRun, RunEvents, StartRun, StartedRun};

/// A message of a peer that agents may answer.
pub(super) struct PeerMessage<'a> {
    pub(super) update: &'a InboxUpdate,
    pub(super) incoming: &'a Incoming,
    pub(super) peer: &'a PeerRow,
    pub(super) person: PersonId,
}

impl PeerMessage<'_> {
    fn thread(&self) -> &str {
        &self.incoming.thread
    }
}

pub(super) async fn pursue(
    context: &Arc<AccountContext>,
    message: PeerMessage<'_>,
) -> Result<(), Fault> {
    let ledger = &context.ledger;
    let update = message.update;
    let place = context.line_up((update.peer.peer.clone(), message.thread().to_owned()), update.id);
    let promised = ledger.promise_run(update.id, &message.person, context.fresh_run()).await?;
    // No run was promised, because the message is answered already.
    let Some((person, run)) = promised else { return Ok(()) };
    let conversation = ledger.conversation(message.peer.id, message.thread()).await?;
    let promised = PromisedTo { person, session: conversation.session, run };
    let answering = match begin_answer(context, &message, &conversation, &promised).await? {
        AnswerSource::Run(answering) => answering,
        AnswerSource::Elsewhere => return context.finish(update.id, Vec::new()).await,
        AnswerSource::Refused(fault) => return refuse(context, &message, &fault).await,
    };
    if conversation.session != Some(answering.session) {
        let row = ConversationRow { session: Some(answering.session), ..conversation };
        ledger.put_conversation(message.peer.id, message.thread(), row).await?;
    }
    place.is_first().await;
    context.note_followed(answering.run);
    follow(context, &message, answering.events).await
}

/// How a message is answered.
enum AnswerSource {
    /// The answer of this run is sent as the reply.
    Run(AnsweringRun),
    /// The reply to an earlier message covers this one, because the run of that reply has read it
    /// too.
    Elsewhere,
    /// There is no answer, for this reason.
    Refused(Fault),
}

struct AnsweringRun {
    run: RunId,
    session: SessionId,
    events: Box<dyn RunEvents>,
}

async fn begin_answer(
    context: &Arc<AccountContext>,
    message: &PeerMessage<'_>,
    conversation: &ConversationRow,
    promised: &PromisedTo,
) -> Result<AnswerSource, Fault> {
    let was_promised = message.update.run.is_some();
    let promised_run = if was_promised {
        promised.promised_run(context, promised.run).await?
    } else {
        PromisedRun::Unknown
    };
    match promised_run {
        PromisedRun::Found { run, session, events } => {
            return Ok(AnswerSource::Run(AnsweringRun { run, session, events }));
        }
        PromisedRun::Read => return Ok(AnswerSource::Elsewhere),
        PromisedRun::Waits => return Err(Fault::plain(ErrorCode::SessionBusy)),
        PromisedRun::Unknown => {}
    }
    let run = promised.run;
    let started = match start(context, message, conversation, promised).await {
        Ok(started) => started,
        Err(fault) if is_passing(fault.code) => return Err(fault),
        Err(fault) => return Ok(AnswerSource::Refused(fault)),
    };
    match started {
        StartedRun::Own { session, events } => {
            Ok(AnswerSource::Run(AnsweringRun { run, session, events }))
        }
        StartedRun::Joined { run: other } if context.has_followed(other) => {
            join(context, message.update.id, promised, other).await?;
            Ok(AnswerSource::Elsewhere)
        }
        // The run was started from another surface, so no other task sends its answer to this chat.
        StartedRun::Joined { run: other } => match promised.promised_run(context, other).await? {
            PromisedRun::Found { run, session, events } => {
                Ok(AnswerSource::Run(AnsweringRun { run, session, events }))
            }
            PromisedRun::Read | PromisedRun::Waits | PromisedRun::Unknown => {
                Err(Fault::plain(ErrorCode::SessionBusy))
            }
        },
    }
}

/// The run that was promised to a message, and the person and session that it belongs to.
struct PromisedTo {
    person: PersonId,
    session: Option<SessionId>,
    run: RunId,
}

impl PromisedTo {
    async fn promised_run(
        &self,
        context: &AccountContext,
        run: RunId,
    ) -> Result<PromisedRun, Fault> {
        context.port.promised_run(&self.person, self.session, run).await
    }
}

/// Waits for a run at work that was given the message. The message is handled if that run has read
/// it; if it ended without reading it, another attempt starts a run.
async fn join(
    context: &Arc<AccountContext>,
    update: i64,
    promised: &PromisedTo,
    other: RunId,
) -> Result<(), Fault> {
    context.takes_words(update);
    if let PromisedRun::Found { mut events, .. } = promised.promised_run(context, other).await? {
        while events.next().await.is_some() {}
    }
    context.takes_no_words(update);
    match promised.promised_run(context, promised.run).await? {
        PromisedRun::Read => Ok(()),
        PromisedRun::Found { .. } | PromisedRun::Waits | PromisedRun::Unknown => {
            Err(Fault::plain(ErrorCode::SessionBusy))
        }
    }
}

/// Whether a fault is likely to pass soon, so that the message can wait.
pub(super) fn is_passing(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::SessionBusy | ErrorCode::Overloaded | ErrorCode::RateLimited)
}

async fn start(
    context: &Arc<AccountContext>,
    message: &PeerMessage<'_>,
    conversation: &ConversationRow,
    promised: &PromisedTo,
) -> Result<StartedRun, Fault> {
    let incoming = message.incoming;
    let content = content(context, incoming).await;
    let mut request = StartRun {
        person: promised.person.clone(),
        session: conversation.session,
        agent: answering_agent(context, incoming, conversation),
        model: conversation.model.as_deref().map(ModelId::new),
        run: promised.run,
        title: format!("{} ({})", incoming.peer_name, context.account.key.network),
        text: content.text,
        pictures: content.pictures,
        privacy: match incoming.kind {
            PeerKind::Person => Privacy::Private,
            PeerKind::Group => Privacy::Group,
        },
    };
    match context.port.start(request.clone()).await {
        // The conversation was deleted in the app, so the message begins a new one.
        Err(fault) if fault.code == ErrorCode::NotFound && request.session.is_some() => {
            request.session = None;
            context.port.start(request).await
        }
        other => other,
    }
}

/// The agent that was chosen in the chat, else the one that the config binds, else the default
/// agent.
pub(super) fn answering_agent(
    context: &AccountContext,
    incoming: &Incoming,
    conversation: &ConversationRow,
) -> AgentId {
    let known = context.port.agents();
    let chosen = conversation.agent.clone().filter(|agent| known.contains(agent));
    chosen
        .or_else(|| {
            let key = &context.account.key;
            let asker = Asker {
                network: &key.network,
                account: &key.account,
                guild: incoming.guild.as_deref(),
                peer: &incoming.peer,
                thread: &incoming.thread,
            };
            agent_for(&context.home.bindings(), asker)
        })
        .unwrap_or_else(|| context.port.default_agent())
}

async fn follow(
    context: &Arc<AccountContext>,
    message: &PeerMessage<'_>,
    mut events: Box<dyn RunEvents>,
) -> Result<(), Fault> {
    let update = message.update;
    let place = GrowingPlace {
        update: update.id,
        peer: update.peer.clone(),
        thread: message.thread().to_owned(),
        message: update.growing.clone(),
    };
    let growing_message = GrowingMessage::start(Arc::clone(context), place);
    let mut fold = AnswerFold::default();
    context.takes_words(update.id);
    while let Some(envelope) = events.next().await {
        for step in fold.read(&envelope) {
            match step {
                AnswerStep::Grew => growing_message.show(fold.growing()),
                AnswerStep::Proposal(proposal) => {
                    let parts = proposal_parts(
                        context,
                        message.peer,
                        message.thread(),
                        update.id,
                        &proposal,
                    )
                    .await?;
                    context.queue(parts).await?;
                }
                AnswerStep::Ended => {}
            }
        }
    }
    context.takes_no_words(update.id);
    fold.finish();
    let growing = growing_message.finish().await;
    let name = format!("in:{}", update.id);
    let to = Destination { peer: &update.peer, thread: message.thread(), name: &name };
    let answer = fold.answer();
    let mut parts = answer_parts(&context.connector.traits(), to, &answer, growing.as_deref())?;
    parts.extend(file_parts(context, to, message.incoming.kind, &message.person, &answer).await?);
    context.finish(update.id, parts).await
}

/// Tells the person why there is no answer. The run cannot be started, and trying again would not
/// help.
async fn refuse(
    context: &Arc<AccountContext>,
    message: &PeerMessage<'_>,
    fault: &Fault,
) -> Result<(), Fault> {
    let name = format!("in:{}", message.update.id);
    let to = Destination { peer: &message.update.peer, thread: message.thread(), name: &name };
    let text = format!("⚠ {} {}", fault.message, fault.hint());
    let part = plain_part(&context.connector.traits(), to, &text)?;
    context.finish(message.update.id, vec![part]).await
}
