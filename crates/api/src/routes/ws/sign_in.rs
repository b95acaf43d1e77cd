//! Authentication of a connection whose upgrade carried no credential: the first frame brings a
//! token, or the page key for the cookie that the browser sent automatically.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::WebSocket;
use futures::stream::SplitStream;
use onyx_identity::Proof;
use onyx_types::ErrorCode;
use tokio::time::timeout;

use super::command::{Auth, Command, Frame};
use super::outbox::{CloseReason, Outbox, receive};
use super::result::{self, Empty};
use crate::serve::ConnectionSlot;
use crate::{ApiState, AuthContext, Problem};

/// The time for the first frame, unless `gateway.connections.signInSeconds` sets another.
const LIMIT: Duration = Duration::from_secs(5);

/// What the upgrade request tells about its sender.
#[derive(Clone)]
pub(super) struct Sender {
    /// The browser's cookie, which is accepted only together with the page key.
    pub(super) cookie: Option<String>,
    pub(super) from: Option<IpAddr>,
    /// The connection's slot among those without sign-in, until a person signs in.
    pub(super) slot: Option<Arc<ConnectionSlot>>,
}

impl Sender {
    /// Checks the credential of an `auth` frame. A wrong credential counts as a failure like any
    /// other.
    pub(super) async fn show(&self, state: &ApiState, auth: &Auth) -> Result<AuthContext, Problem> {
        let proof = match (&auth.token, &auth.page_key, &self.cookie) {
            (Some(token), _, _) => Proof::Bearer(token.as_str()),
            (None, key, Some(cookie)) => {
                Proof::Session { cookie, page_key: key.as_ref().map(|key| key.as_str()) }
            }
            (None, Some(_), None) => {
                let why = "a `pageKey` needs the browser's cookie, and none was sent";
                return Err(Problem::new(ErrorCode::Unauthenticated, why));
            }
            (None, None, None) => return Err(no_auth()),
        };
        let caller = state.auth.by_proof(proof, self.from).await?;
        self.slot.as_ref().map_or(Ok(()), |slot| slot.sign_in())?;
        Ok(caller)
    }
}

pub(super) async fn first_frame(
    state: &ApiState,
    sender: &Sender,
    source: &mut SplitStream<WebSocket>,
    outbox: &Outbox,
) -> Option<AuthContext> {
    let limit = sender.slot.as_ref().map_or(LIMIT, |slot| slot.limits().sign_in);
    // The reader's own limit is longer, so that a silent client still gets the error.
    let text = timeout(limit, receive(source, outbox, limit * 2)).await.ok().flatten();
    let answered = match text.as_deref().map(Frame::parse) {
        None => Err(Problem::new(ErrorCode::Unauthenticated, "no first frame arrived in time")),
        Some(Err(problem)) => Err(problem),
        Some(Ok(frame)) => {
            let id = frame.id.clone();
            match frame.command() {
                Ok(Command::Auth(auth)) => {
                    sender.show(state, &auth).await.map(|caller| (caller, id))
                }
                Ok(_) | Err(_) => Err(no_auth()),
            }
        }
    };
    match answered {
        Ok((caller, id)) => {
            outbox.tell(result::success("auth", id.as_ref(), &Empty {})).await;
            Some(caller)
        }
        Err(problem) => {
            outbox.tell(result::failure(None, None, &problem)).await;
            outbox.close(CloseReason::Unauthenticated).await;
            None
        }
    }
}

fn no_auth() -> Problem {
    Problem::new(
        ErrorCode::Unauthenticated,
        "the first frame must be `auth` with a `token`, or with the `pageKey` of a signed-in browser",
    )
}
