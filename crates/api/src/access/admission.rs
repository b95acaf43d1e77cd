//! The access that each route requires. A route is declared through `Routes` only, and that needs
//! an [`Access`]: there is no way to add a route without saying who may use it.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::MethodRouter;
use onyx_types::{ErrorCode, Grant};

use super::authentication::{AuthContext, nobody};
use super::revocation::until_revoked;
use crate::serve::ConnectionSlot;
use crate::wire::write_json;
use crate::{ApiState, Problem};

/// Who may use a route. All but `Public` require a person's credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Anyone who passes the checks of Host and Origin. The handler has no caller.
    Public,
    /// Anyone. The first frame must carry a credential unless the upgrade request carried a good
    /// one, because a browser may send an outdated cookie. The handler takes an
    /// `Option<AuthContext>`.
    FirstFrame,
    /// Any person with any valid credential.
    Person,
    /// A person who reads their own data.
    Read,
    /// A person who changes their own data.
    Write,
    /// A person who uses agents and models.
    Chat,
    /// The owner, with a credential for administration.
    Owner,
}

/// Wraps a route's handler in the access check.
pub(crate) fn guarded(
    route: MethodRouter<ApiState>,
    state: &ApiState,
    access: Access,
) -> MethodRouter<ApiState> {
    let gate = Gate { state: state.clone(), access };
    route.route_layer(from_fn_with_state(gate, admit))
}

#[derive(Clone)]
struct Gate {
    state: ApiState,
    access: Access,
}

/// Authenticates the caller, checks the access and passes the caller on to the handler. The answer
/// ends when the credential is revoked.
async fn admit(State(gate): State<Gate>, request: Request, next: Next) -> Response {
    let handled =
        async |request| write_json(request, async |request| next.run(request).await).await;
    if gate.access == Access::Public {
        return handled(request).await;
    }
    let (mut parts, body) = request.into_parts();
    let caller = match gate.state.auth.authenticate(&parts).await {
        Ok(Some(caller)) => caller,
        Ok(None) if gate.access == Access::FirstFrame => {
            return handled(Request::from_parts(parts, body)).await;
        }
        Err(_) if gate.access == Access::FirstFrame && came_by_itself(&parts.headers) => {
            return handled(Request::from_parts(parts, body)).await;
        }
        Ok(None) => return nobody().into_response(),
        Err(problem) => return problem.into_response(),
    };
    let slot = parts.extensions.get::<Arc<ConnectionSlot>>();
    if let Some(Err(problem)) = slot.map(|slot| slot.sign_in()) {
        return problem.into_response();
    }
    if let Err(problem) = may(&caller, gate.access) {
        return problem.into_response();
    }
    let revoked = caller.revoked.clone();
    parts.extensions.insert(caller);
    tokio::select! {
        response = handled(Request::from_parts(parts, body)) => until_revoked(response, revoked),
        () = revoked.cancelled() => revoked_meanwhile().into_response(),
    }
}

/// Whether the browser's cookie is the only credential. A browser sends it automatically, even when
/// it is outdated; every other credential is sent on purpose.
fn came_by_itself(headers: &HeaderMap) -> bool {
    !headers.contains_key(header::AUTHORIZATION) && !headers.contains_key("x-api-key")
}

pub(crate) fn may(caller: &AuthContext, access: Access) -> Result<(), Problem> {
    let needed = match access {
        Access::Public | Access::FirstFrame | Access::Person => return Ok(()),
        Access::Read => Grant::Read,
        Access::Write => Grant::Write,
        Access::Chat => Grant::Chat,
        Access::Owner if caller.is_owner => Grant::Admin,
        Access::Owner => {
            return Err(Problem::new(ErrorCode::Forbidden, "only the owner may do this"));
        }
    };
    if caller.grants().has(needed) {
        return Ok(());
    }
    let why = format!("this credential lacks the scope `{}`", needed.as_str());
    Err(Problem::new(ErrorCode::Forbidden, why))
}

fn revoked_meanwhile() -> Problem {
    Problem::new(ErrorCode::Unauthenticated, "the credential was revoked")
}
