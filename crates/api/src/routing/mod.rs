//! How a route is declared: once, with its handler, its access, what it reads and what it answers.
//! The router and `/openapi.json` are both made from these rows.
//!
//! Every folder of `routes` declares its rows with this module, and `openapi` reads them. No route
//! is declared here, and nothing here knows what the handlers do.

mod path_value;
mod reply;

use axum::Router;
use axum::handler::Handler;
use axum::routing::{MethodFilter, MethodRouter, on};
use schemars::generate::SchemaGenerator;
use schemars::{JsonSchema, Schema};

use crate::access::guarded;
use crate::{Access, ApiState};
pub(crate) use path_value::PathValue;
pub(crate) use reply::Reply;

/// The schema of a type, generated together with the document.
pub(crate) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

pub(crate) fn schema_of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// The declaration of a route without its handler.
#[derive(Clone, Debug)]
pub struct Route {
    pub method: &'static str,
    /// The path as the router has it: the rest of a path is `{*name}`.
    pub path: &'static str,
    pub access: Access,
    pub(crate) description: Description,
    pub(crate) reply: Reply,
}

/// The description of a route, and what it reads.
#[derive(Clone, Debug)]
pub(crate) struct Description {
    pub(crate) summary: &'static str,
    /// The chapter of the document; `None` for that of its group.
    pub(crate) tag: Option<&'static str>,
    /// Kept for older clients; another route replaces it.
    pub(crate) deprecated: bool,
    /// Rules for pieces of the path that may not be any text.
    pub(crate) path_values: Vec<(&'static str, PathValue)>,
    pub(crate) query: Option<SchemaOf>,
    pub(crate) body: Option<SchemaOf>,
}

/// A route without a description. It can only be described next, so no route is served without one.
pub(crate) struct UndescribedRoute {
    method: &'static str,
    path: &'static str,
    access: Access,
    handler: MethodRouter<ApiState>,
}

impl UndescribedRoute {
    /// One line that says what the route does.
    pub(crate) fn summary(self, summary: &'static str) -> DescribedRoute {
        let description = Description {
            summary,
            tag: None,
            deprecated: false,
            path_values: Vec::new(),
            query: None,
            body: None,
        };
        DescribedRoute { route: self, description }
    }
}

/// A route whose answer is not declared yet. One of the methods that begin with `answers` declares
/// it and completes the route.
pub(crate) struct DescribedRoute {
    route: UndescribedRoute,
    description: Description,
}

impl DescribedRoute {
    pub(crate) fn tag(mut self, tag: &'static str) -> Self {
        self.description.tag = Some(tag);
        self
    }

    pub(crate) fn deprecated(mut self) -> Self {
        self.description.deprecated = true;
        self
    }

    /// Sets the rule for a piece of the path that may not be any text.
    pub(crate) fn path_value(mut self, name: &'static str, value: PathValue) -> Self {
        self.description.path_values.push((name, value));
        self
    }

    pub(crate) fn query<T: JsonSchema>(mut self) -> Self {
        self.description.query = Some(schema_of::<T>);
        self
    }

    pub(crate) fn body<T: JsonSchema>(mut self) -> Self {
        self.description.body = Some(schema_of::<T>);
        self
    }

    fn declared(self, reply: Reply) -> DeclaredRoute {
        let Self { route: UndescribedRoute { method, path, access, handler }, description } = self;
        DeclaredRoute { route: Route { method, path, access, description, reply }, handler }
    }
}

/// A route with its handler: a row of [`Routes`].
#[derive(Debug)]
pub(crate) struct DeclaredRoute {
    route: Route,
    handler: MethodRouter<ApiState>,
}

macro_rules! methods {
    ($($name:ident $method:ident;)*) => {$(
        pub(crate) fn $name<H, T>(path: &'static str, access: Access, handler: H) -> UndescribedRoute
        where
            H: Handler<T, ApiState>,
            T: 'static,
        {
            let handler = on(MethodFilter::$method, handler);
            UndescribedRoute { method: stringify!($method), path, access, handler }
        }
    )*};
}

/// Begins the declaration of a route.
impl Route {
    methods! {
        get GET;
        post POST;
        put PUT;
        patch PATCH;
        delete DELETE;
    }

    /// The names of the variable pieces of its path.
    pub(crate) fn path_names(&self) -> impl Iterator<Item = &'static str> {
        let pieces = self.path.split('/');
        let names = pieces.filter_map(|piece| piece.strip_prefix('{')?.strip_suffix('}'));
        names.map(|name| name.trim_start_matches('*'))
    }

    /// A GET whose handler has its own layers.
    pub(crate) fn get_with(
        path: &'static str,
        access: Access,
        handler: MethodRouter<ApiState>,
    ) -> UndescribedRoute {
        UndescribedRoute { method: "GET", path, access, handler }
    }
}

/// The table of routes.
#[derive(Debug, Default)]
pub struct Routes(Vec<DeclaredRoute>);

impl Routes {
    pub fn new() -> Self {
        Self::default()
    }

    /// Rows of one chapter of the document, unless a row names another.
    pub(crate) fn tagged(tag: &'static str, rows: impl IntoIterator<Item = DeclaredRoute>) -> Self {
        let mut rows: Vec<DeclaredRoute> = rows.into_iter().collect();
        for row in &mut rows {
            row.route.description.tag.get_or_insert(tag);
        }
        Self(rows)
    }

    #[must_use]
    pub fn merge(mut self, more: Self) -> Self {
        self.0.extend(more.0);
        self
    }

    pub fn table(&self) -> Vec<Route> {
        self.0.iter().map(|row| row.route.clone()).collect()
    }

    pub(crate) fn into_router(self, state: &ApiState) -> Router<ApiState> {
        self.0.into_iter().fold(Router::new(), |router, DeclaredRoute { route, handler }| {
            router.route(route.path, guarded(handler, state, route.access))
        })
    }
}
