//! Deletes what belongs to a space, a channel or a thread: its conversations, and the sources
//! attached to it.

use onyx_sources::SourceError;
use onyx_storage::{Channel, Thread};
use onyx_types::{Fault, Scope, SessionId};

use crate::{ApiState, AuthContext, Problem};

/// Stops and deletes conversations; missing ones are ignored.
pub(in crate::routes) async fn close(
    state: &ApiState,
    caller: &AuthContext,
    sessions: impl IntoIterator<Item = SessionId>,
) -> Result<(), Problem> {
    for session in sessions {
        state.agent.conversations.close(&caller.person, session).await?;
    }
    Ok(())
}

/// Deletes the sources attached to any of these scopes; running imports are stopped.
pub(in crate::routes) async fn detach(
    state: &ApiState,
    caller: &AuthContext,
    scopes: &[Scope],
) -> Result<(), Problem> {
    let all = state.sources.list(&caller.person).await.map_err(Fault::from)?;
    for source in all.iter().filter(|source| scopes.contains(&source.scope)) {
        match state.sources.remove(&caller.person, source.id).await {
            Ok(()) | Err(SourceError::NotFound) => {}
            Err(error) => return Err(Fault::from(error).into()),
        }
    }
    Ok(())
}

pub(in crate::routes) fn sessions_of(channel: &Channel) -> impl Iterator<Item = SessionId> {
    channel.card.threads.iter().filter_map(Thread::session)
}

/// The scopes of the channel and its threads.
pub(in crate::routes) fn scopes_of(channel: &Channel) -> impl Iterator<Item = Scope> {
    let threads = channel.card.threads.iter().map(|thread| Scope::Thread(thread.id.clone()));
    threads.chain([Scope::Channel(channel.id.clone())])
}
