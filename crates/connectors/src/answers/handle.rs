use std::sync::Arc;
use std::time::Duration;

use onyx_storage::{
    ConversationRow, InboxUpdate, PairingCode, PeerChange, PeerKind, PeerRow, PeerState,
};
use onyx_types::{ErrorCode, Fault, PersonId};

use super::commands::{Command, HELP};
use super::decision::{MessageAction, PeerStanding, decide};
use super::proposals::pressed;
use super::pursue::{PeerMessage, answering_agent, is_passing, pursue};
use crate::connector::{Incoming, Press};
use crate::context::AccountContext;
use crate::outbox::{Destination, plain_part, press_answer};
use crate::peers::{CODE_LIFE, MOST_WAITING, fresh_code, same_code};
use crate::port::{Decision, DraftVerdict};

/// How old the stored time at which a peer was last seen may be before it is written again. A write
/// for every message would be wasteful.
const SEEN_ANEW: Duration = Duration::from_secs(600);

/// The result of an attempt to handle an update.
#[derive(Debug)]
pub(crate) enum HandleResult {
    Done,
    /// The update cannot be handled at the moment. This does not count as an attempt.
    Later(Fault),
    Failed(Fault),
}

/// Handles one update. The result says whether it is done, has to wait, or failed.
pub(crate) async fn handle(context: &Arc<AccountContext>, update: &InboxUpdate) -> HandleResult {
    let incoming: Incoming = match serde_json::from_str(&update.body) {
        Ok(incoming) => incoming,
        Err(error) => {
            return HandleResult::Failed(Fault::new(ErrorCode::Internal, error.to_string()));
        }
    };
    match act(context, update, &incoming).await {
        Ok(()) => HandleResult::Done,
        Err(fault) if is_passing(fault.code) => HandleResult::Later(fault),
        Err(fault) => HandleResult::Failed(fault),
    }
}

async fn act(
    context: &Arc<AccountContext>,
    update: &InboxUpdate,
    incoming: &Incoming,
) -> Result<(), Fault> {
    let known = context.ledger.peer(&update.peer).await?;
    let is_allowed = context.allows(&incoming.peer);
    let standing = PeerStanding::of(known.as_ref(), is_allowed);
    match decide(incoming, standing, context.account.groups) {
        MessageAction::Ignore => context.finish(update.id, Vec::new()).await,
        MessageAction::GiveCode => give_code(context, update, incoming, known).await,
        MessageAction::Command(command) => {
            let (peer, person) = acquainted(context, update, incoming, known).await?;
            obey(context, update, incoming, &peer, &person, command).await
        }
        MessageAction::Press(press) => {
            let (peer, person) = acquainted(context, update, incoming, known).await?;
            press_button(context, update, incoming, &peer, &person, &press).await
        }
        MessageAction::Answer => {
            let (peer, person) = acquainted(context, update, incoming, known).await?;
            pursue(context, PeerMessage { update, incoming, peer: &peer, person }).await
        }
    }
}

/// Returns the row of a peer that may talk to agents, and the person whose agents those are.
async fn acquainted(
    context: &AccountContext,
    update: &InboxUpdate,
    incoming: &Incoming,
    known: Option<PeerRow>,
) -> Result<(PeerRow, PersonId), Fault> {
    let now = context.clock.wall();
    let paired = known.as_ref().filter(|peer| peer.state == PeerState::Paired);
    let person = paired.and_then(|peer| peer.person.clone());
    if let (Some(peer), Some(person)) = (paired, &person) {
        if peer.last_seen.saturating_add(SEEN_ANEW) > now {
            return Ok((peer.clone(), person.clone()));
        }
    } else if context.is_visitor(&incoming.peer) {
        context.make_room_for_visitor().await?;
    }
    let person = match person {
        Some(person) => person,
        None => context.port.owner()?,
    };
    let change = PeerChange {
        key: update.peer.clone(),
        kind: incoming.kind,
        name: incoming.peer_name.clone(),
        state: PeerState::Paired,
        person: Some(person.clone()),
        code: None,
        at: now,
    };
    let peer = context.ledger.put_peer(change, MOST_WAITING).await?;
    let peer = peer.ok_or_else(|| Fault::plain(ErrorCode::Internal))?;
    Ok((peer, person))
}

/// Sends a stranger a pairing code, once for as long as the code is valid. When too many strangers
/// wait already, nothing is sent.
async fn give_code(
    context: &AccountContext,
    update: &InboxUpdate,
    incoming: &Incoming,
    known: Option<PeerRow>,
) -> Result<(), Fault> {
    let now = context.clock.wall();
    let has_code = known.and_then(|peer| peer.code).is_some_and(|code| code.expires > now);
    if has_code {
        return context.finish(update.id, Vec::new()).await;
    }
    let code = fresh_code()?;
    let change = PeerChange {
        key: update.peer.clone(),
        kind: incoming.kind,
        name: incoming.peer_name.clone(),
        state: PeerState::Waiting,
        person: None,
        code: Some(PairingCode { code: code.clone(), expires: now.saturating_add(CODE_LIFE) }),
        at: now,
    };
    let met = context.ledger.put_peer(change, MOST_WAITING).await?;
    // The code was not stored, because too many strangers wait or another message of this stranger
    // was handled first.
    let is_ours = met.and_then(|peer| peer.code).is_some_and(|kept| kept.code == code);
    if !is_ours {
        return context.finish(update.id, Vec::new()).await;
    }
    context.home.tell(format!(
        "{} wants to talk to your agents over {} (code {code}).",
        incoming.peer_name, context.account.key
    ));
    let text = format!(
        "I do not know you yet. Your pairing code is {code}. Give it to the owner of this Onyx, \
         who can approve it within the hour."
    );
    say(context, update, incoming, &text).await
}

/// Ends the update with a short reply.
async fn say(
    context: &AccountContext,
    update: &InboxUpdate,
    incoming: &Incoming,
    text: &str,
) -> Result<(), Fault> {
    let name = format!("in:{}", update.id);
    let to = Destination { peer: &update.peer, thread: &incoming.thread, name: &name };
    let part = plain_part(&context.connector.traits(), to, text)?;
    context.finish(update.id, vec![part]).await
}

async fn obey(
    context: &Arc<AccountContext>,
    update: &InboxUpdate,
    incoming: &Incoming,
    peer: &PeerRow,
    person: &PersonId,
    command: Command,
) -> Result<(), Fault> {
    if incoming.kind == PeerKind::Group
        && speaker(context, incoming).await?.as_ref() != Some(person)
    {
        let text = "Only people who are paired with me can give commands here.";
        return say(context, update, incoming, text).await;
    }
    let outcome = perform(context, incoming, peer, person, command).await;
    let text = match outcome {
        Ok(text) => text,
        Err(fault) if is_passing(fault.code) => return Err(fault),
        Err(fault) => format!("{} {}", fault.message, fault.hint()),
    };
    say(context, update, incoming, &text).await
}

async fn perform(
    context: &Arc<AccountContext>,
    incoming: &Incoming,
    peer: &PeerRow,
    person: &PersonId,
    command: Command,
) -> Result<String, Fault> {
    let (ledger, port) = (&context.ledger, &context.port);
    let conversation = ledger.conversation(peer.id, &incoming.thread).await?;
    let keep =
        async |row: ConversationRow| ledger.put_conversation(peer.id, &incoming.thread, row).await;
    match command {
        Command::Help => Ok(HELP.to_owned()),
        Command::Malformed(text) => Ok(text.to_owned()),
        Command::New => {
            keep(ConversationRow { session: None, ..conversation }).await?;
            Ok("Your next message starts a new conversation.".to_owned())
        }
        Command::Stop => match conversation.session {
            Some(session) if port.stop(person, session).await? => Ok("Stopped.".to_owned()),
            Some(_) | None => Ok("Nothing was running.".to_owned()),
        },
        Command::Status => {
            let agent = answering_agent(context, incoming, &conversation);
            port.status(person, conversation.session, &agent).await
        }
        Command::Undo => match conversation.session {
            Some(session) => port.undo(person, session).await,
            None => Ok("There is nothing to undo.".to_owned()),
        },
        Command::Agent(None) => {
            let names: Vec<_> = port.agents().iter().map(ToString::to_string).collect();
            let agent = answering_agent(context, incoming, &conversation);
            Ok(format!("{agent} answers here. Agents: {}.", names.join(", ")))
        }
        Command::Agent(Some(name)) => {
            match port.agents().into_iter().find(|a| a.as_str() == name) {
                Some(agent) => {
                    let text = format!("{agent} answers here from your next message on.");
                    keep(ConversationRow { session: None, agent: Some(agent), ..conversation })
                        .await?;
                    Ok(text)
                }
                None => Ok(format!("There is no agent named {name}.")),
            }
        }
        Command::Model(None) => Ok(match &conversation.model {
            Some(model) => format!("This conversation uses {model}."),
            None => "This conversation uses the agent's own model.".to_owned(),
        }),
        Command::Model(Some(model)) => {
            let text = format!("This conversation uses {model} from your next message on.");
            let model = (model != "default").then_some(model);
            keep(ConversationRow { model, ..conversation }).await?;
            Ok(text)
        }
        Command::Approve { number, reason } => {
            decide_number(context, peer, person, number, DraftVerdict::Approve, reason).await
        }
        Command::Reject { number, reason } => {
            decide_number(context, peer, person, number, DraftVerdict::Reject, reason).await
        }
        Command::Pair(code) => pair(context, person, &code).await,
    }
}

async fn decide_number(
    context: &AccountContext,
    peer: &PeerRow,
    person: &PersonId,
    number: u64,
    verdict: DraftVerdict,
    reason: Option<String>,
) -> Result<String, Fault> {
    match context.ledger.proposal(peer.id, number).await? {
        Some(draft) => {
            let decision = Decision { person: person.clone(), draft, verdict, reason };
            context.port.decide(decision).await
        }
        None => Ok(format!("There is no approval {number} here.")),
    }
}

/// The person who is paired with the author's private chat in this account.
async fn speaker(context: &AccountContext, incoming: &Incoming) -> Result<Option<PersonId>, Fault> {
    let key = context.peer_key(&incoming.author.id);
    let row = context.ledger.peer(&key).await?;
    if let Some(row) = row.filter(|row| row.state == PeerState::Paired) {
        return Ok(row.person);
    }
    if context.allows(&incoming.author.id) {
        return context.port.owner().map(Some);
    }
    Ok(None)
}

async fn press_button(
    context: &Arc<AccountContext>,
    update: &InboxUpdate,
    incoming: &Incoming,
    peer: &PeerRow,
    person: &PersonId,
    press: &Press,
) -> Result<(), Fault> {
    let is_person = speaker(context, incoming).await?.as_ref() == Some(person);
    let text = match pressed(&press.data) {
        _ if !is_person => "Only people who are paired with me can decide here.".to_owned(),
        None => "This button no longer works.".to_owned(),
        Some((verdict, draft)) => {
            let decision = Decision { person: person.clone(), draft, verdict, reason: None };
            match context.port.decide(decision).await {
                Ok(text) => text,
                Err(fault) if is_passing(fault.code) => return Err(fault),
                Err(fault) => format!("{} {}", fault.message, fault.hint()),
            }
        }
    };
    let name = format!("in:{}", update.id);
    let to = Destination { peer: &peer.key, thread: &incoming.thread, name: &name };
    let mut parts = vec![press_answer(to, &press.id, &text)?];
    if is_person {
        parts.push(plain_part(&context.connector.traits(), to, &text)?);
    }
    context.finish(update.id, parts).await
}

/// Carries out `/pair`: the owner approves a pairing code from a chat that is already paired.
async fn pair(context: &AccountContext, person: &PersonId, code: &str) -> Result<String, Fault> {
    if *person != context.port.owner()? {
        return Ok("Only the owner of this Onyx can approve a pairing code.".to_owned());
    }
    let now = context.clock.wall();
    let peers = context.ledger.peers(&context.account.key).await?;
    let waiting = peers.into_iter().find(|peer| {
        peer.code.as_ref().is_some_and(|had| had.expires > now && same_code(&had.code, code))
    });
    match waiting {
        Some(peer) => {
            let name = peer.name.clone();
            context.approve(peer, person.clone()).await?;
            Ok(format!("{name} can talk to your agents now."))
        }
        None => Ok("This code is not known, or it has expired.".to_owned()),
    }
}
