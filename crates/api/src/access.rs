//! What each route asks of its caller. A route is registered through [`Routes`] only, and that
//! needs an [`Access`]: there is no way to add a door without saying who may use it.

use axum::Router;
use axum::extract::{Request, State};
use axum::handler::Handler;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, MethodRouter, on};
use onyx_types::ErrorCode;

use crate::auth::AuthContext;
use crate::revoked::until_revoked;
use crate::{ApiState, Problem};

/// Who may use a route. All but `Public` need a credential of a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Anybody who passes the checks of Host and Origin. The handler has no caller.
    Public,
    /// A person who looks at what is theirs.
    Read,
    /// A person who changes what is theirs.
    Write,
    /// A person who sets agents and models to work.
    Chat,
    /// The owner, with a credential that is good for administration.
    Owner,
}

/// One door: a method, a path as the router knows it, and who may use it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Route {
    pub method: &'static str,
    pub path: &'static str,
    pub access: Access,
}

/// Collects routes with what they ask of their caller.
#[derive(Debug, Default)]
pub struct Routes(Vec<(Route, MethodRouter<ApiState>)>);

macro_rules! methods {
    ($($name:ident $method:ident;)*) => {$(
        #[must_use]
        pub fn $name<H, T>(self, path: &'static str, access: Access, handler: H) -> Self
        where
            H: Handler<T, ApiState>,
            T: 'static,
        {
            let route = Route { method: stringify!($method), path, access };
            self.with(route, on(MethodFilter::$method, handler))
        }
    )*};
}

impl Routes {
    pub fn new() -> Self {
        Self::default()
    }

    methods! {
        get GET;
        post POST;
        put PUT;
        patch PATCH;
        delete DELETE;
    }

    /// For a method router that was made elsewhere, such as with its documentation.
    #[must_use]
    pub fn with(mut self, route: Route, methods: MethodRouter<ApiState>) -> Self {
        self.0.push((route, methods));
        self
    }

    #[must_use]
    pub fn merge(mut self, more: Self) -> Self {
        self.0.extend(more.0);
        self
    }

    pub fn table(&self) -> Vec<Route> {
        self.0.iter().map(|(route, _)| route.clone()).collect()
    }

    pub(crate) fn into_router(self, state: &ApiState) -> Router<ApiState> {
        self.0.into_iter().fold(Router::new(), |router, (route, methods)| {
            let gate = Gate { state: state.clone(), access: route.access };
            router.route(route.path, methods.route_layer(from_fn_with_state(gate, admit)))
        })
    }
}

#[derive(Clone)]
struct Gate {
    state: ApiState,
    access: Access,
}

/// Finds out who is asking, checks that they may, and tells the handler. What is answered ends
/// when the credential does.
async fn admit(State(gate): State<Gate>, mut request: Request, next: Next) -> Response {
    if gate.access == Access::Public {
        return next.run(request).await;
    }
    let caller = match gate.state.auth.authenticate(&request).and_then(|caller| {
        may(&caller, gate.access)?;
        Ok(caller)
    }) {
        Ok(caller) => caller,
        Err(problem) => return problem.into_response(),
    };
    let revoked = caller.revoked.clone();
    request.extensions_mut().insert(caller);
    tokio::select! {
        response = next.run(request) => until_revoked(response, revoked),
        () = revoked.cancelled() => revoked_meanwhile().into_response(),
    }
}

fn may(caller: &AuthContext, access: Access) -> Result<(), Problem> {
    match access {
        Access::Public | Access::Read | Access::Write | Access::Chat => Ok(()),
        Access::Owner if caller.is_owner => Ok(()),
        Access::Owner => Err(Problem::new(ErrorCode::Forbidden, "only the owner may do this")),
    }
}

fn revoked_meanwhile() -> Problem {
    Problem::new(ErrorCode::Unauthenticated, "the credential was revoked")
}
