//! A message that is answered by a run: the run is promised in the ledger before it is started, so
//! that whatever happens there is at most one; its answer and the end of the update are written in
//! one transaction.

use std::sync::Arc;

use onyx_storage::{ConversationRow, InboxUpdate, PeerKind, PeerRow};
use onyx_types::{AgentId, ErrorCode, Fault, PersonId, RunId, SessionId};

use super::content::content;
use super::files::file_parts;
use super::fold::{AnswerFold, AnswerStep};
use super::grower::{Grower, GrowingPlace};
use super::proposals::proposal_parts;
use super::words::{Destination, answer_parts};
use crate::connector::Incoming;
use crate::hub::AccountContext;
use crate::peers::{Asker, agent_for};
use crate::port::{Company, RunEvents, RunFate, StartRun};

/// A message of a peer that agents may answer.
pub(super) struct Asked<'a> {
    pub(super) update: &'a InboxUpdate,
    pub(super) incoming: &'a Incoming,
    pub(super) peer: &'a PeerRow,
    pub(super) person: PersonId,
}

impl Asked<'_> {
    fn thread(&self) -> &str {
        &self.incoming.thread
    }
}

pub(super) async fn pursue(context: &Arc<AccountContext>, asked: Asked<'_>) -> Result<(), Fault> {
    let ledger = &context.ledger;
    let was_promised = asked.update.run.is_some();
    let promised = ledger.promise_run(asked.update.id, &asked.person, context.fresh_run()).await?;
    // Somebody else has answered it.
    let Some((person, run)) = promised else { return Ok(()) };
    let conversation = ledger.conversation(asked.peer.id, asked.thread()).await?;
    let told = if was_promised {
        match context.port.fate(&person, run).await? {
            RunFate::Unknown => None,
            RunFate::Told { session, events } => Some((session, events)),
        }
    } else {
        None
    };
    let started = match told {
        Some(told) => Ok(told),
        None => start(context, &asked, &conversation, &person, run).await,
    };
    let (session, events) = match started {
        Ok(started) => started,
        Err(fault) if is_passing(fault.code) => return Err(fault),
        Err(fault) => return refuse(context, &asked, &fault).await,
    };
    if conversation.session != Some(session) {
        let row = ConversationRow { session: Some(session), ..conversation };
        ledger.put_conversation(asked.peer.id, asked.thread(), row).await?;
    }
    follow(context, &asked, events).await
}

/// What may be over in a moment; the message waits and is no worse for it.
pub(super) fn is_passing(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::SessionBusy | ErrorCode::Overloaded | ErrorCode::RateLimited)
}

type Told = (SessionId, Box<dyn RunEvents>);

async fn start(
    context: &Arc<AccountContext>,
    asked: &Asked<'_>,
    conversation: &ConversationRow,
    person: &PersonId,
    run: RunId,
) -> Result<Told, Fault> {
    let incoming = asked.incoming;
    let content = content(context, incoming).await;
    let mut request = StartRun {
        person: person.clone(),
        session: conversation.session,
        agent: answering_agent(context, incoming, conversation),
        model: conversation.model.clone(),
        run,
        title: format!("{} ({})", incoming.peer_name, context.account.key.network),
        text: content.text,
        pictures: content.pictures,
        company: match incoming.kind {
            PeerKind::Person => Company::Private,
            PeerKind::Group => Company::Group,
        },
    };
    let started = match context.port.start(request.clone()).await {
        // The conversation was deleted in the app: the next message begins another.
        Err(fault) if fault.code == ErrorCode::NotFound && request.session.is_some() => {
            request.session = None;
            context.port.start(request).await?
        }
        other => other?,
    };
    Ok((started.session, started.events))
}

/// Chosen in the chat, else bound by the config, else the default one.
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
            agent_for(&context.bindings(), asker)
        })
        .unwrap_or_else(|| context.port.default_agent())
}

async fn follow(
    context: &Arc<AccountContext>,
    asked: &Asked<'_>,
    mut events: Box<dyn RunEvents>,
) -> Result<(), Fault> {
    let update = asked.update;
    let place = GrowingPlace {
        update: update.id,
        peer: update.peer.clone(),
        thread: asked.thread().to_owned(),
        message: update.growing.clone(),
    };
    let grower = Grower::start(Arc::clone(context), place);
    let mut fold = AnswerFold::default();
    while let Some(envelope) = events.next().await {
        for step in fold.read(&envelope) {
            match step {
                AnswerStep::Grew => grower.show(fold.growing()),
                AnswerStep::Proposal(proposal) => {
                    let parts =
                        proposal_parts(context, asked.peer, asked.thread(), update.id, &proposal)
                            .await?;
                    context.queue(parts).await?;
                }
                AnswerStep::Ended => {}
            }
        }
    }
    fold.finish();
    let growing = grower.finish().await;
    let name = format!("in:{}", update.id);
    let to = Destination { peer: &update.peer, thread: asked.thread(), name: &name };
    let answer = fold.answer();
    let mut parts = answer_parts(&context.connector.traits(), to, &answer, growing.as_deref())?;
    parts.extend(file_parts(context, to, asked.incoming.kind, &asked.person, &answer).await?);
    context.finish(update.id, parts).await
}

/// The run cannot be had, and trying again would not help: the person is told why.
async fn refuse(
    context: &Arc<AccountContext>,
    asked: &Asked<'_>,
    fault: &Fault,
) -> Result<(), Fault> {
    let name = format!("in:{}", asked.update.id);
    let to = Destination { peer: &asked.update.peer, thread: asked.thread(), name: &name };
    let text = format!("⚠ {} {}", fault.message, fault.hint());
    let part = super::words::plain_part(&context.connector.traits(), to, &text)?;
    context.finish(asked.update.id, vec![part]).await
}
