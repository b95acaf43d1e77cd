//! How a route is declared: once, with its handler, what it asks of its caller, what it reads and
//! what it answers. The router and `/openapi.json` are both made from these rows.
//!
//! Every folder of `routes` comes here to declare its rows, and `openapi` to read them. No route of
//! its own is declared here, and nothing is known of what the handlers do.

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

/// A type's schema, made when the document is.
pub(crate) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

pub(crate) fn schema_of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// Everything that is declared of one route, but for its handler.
#[derive(Clone, Debug)]
pub struct Route {
    pub method: &'static str,
    /// As the router knows it: the rest of a path is `{*name}`.
    pub path: &'static str,
    pub access: Access,
    pub(crate) description: Description,
    pub(crate) reply: Reply,
}

/// What a route says of itself, and what it reads.
#[derive(Clone, Debug)]
pub(crate) struct Description {
    pub(crate) summary: &'static str,
    /// The chapter of the document that it stands in. `None`: that of its group.
    pub(crate) tag: Option<&'static str>,
    /// Kept for clients of before; another route does it now.
    pub(crate) deprecated: bool,
    /// Pieces of the path that are more than any text.
    pub(crate) path_values: Vec<(&'static str, PathValue)>,
    pub(crate) query: Option<SchemaOf>,
    pub(crate) body: Option<SchemaOf>,
}

/// A route that nobody has described. It can only be described: there is no way to serve it as it
/// is.
pub(crate) struct Undescribed {
    method: &'static str,
    path: &'static str,
    access: Access,
    handler: MethodRouter<ApiState>,
}

impl Undescribed {
    /// One line that says what the route does.
    pub(crate) fn summary(self, summary: &'static str) -> Described {
        let description = Description {
            summary,
            tag: None,
            deprecated: false,
            path_values: Vec::new(),
            query: None,
            body: None,
        };
        Described { route: self, description }
    }
}

/// A route of which it is not said yet what it answers. One of the methods that begin with
/// `answers` says so and makes it whole.
pub(crate) struct Described {
    route: Undescribed,
    description: Description,
}

impl Described {
    pub(crate) fn tag(mut self, tag: &'static str) -> Self {
        self.description.tag = Some(tag);
        self
    }

    pub(crate) fn deprecated(mut self) -> Self {
        self.description.deprecated = true;
        self
    }

    /// What a piece of the path has to be, where that is more than any text.
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

    fn declared(self, reply: Reply) -> Declared {
        let Self { route: Undescribed { method, path, access, handler }, description } = self;
        Declared { route: Route { method, path, access, description, reply }, handler }
    }
}

/// A route with its handler: a row of [`Routes`].
#[derive(Debug)]
pub(crate) struct Declared {
    route: Route,
    handler: MethodRouter<ApiState>,
}

macro_rules! methods {
    ($($name:ident $method:ident;)*) => {$(
        pub(crate) fn $name<H, T>(path: &'static str, access: Access, handler: H) -> Undescribed
        where
            H: Handler<T, ApiState>,
            T: 'static,
        {
            let handler = on(MethodFilter::$method, handler);
            Undescribed { method: stringify!($method), path, access, handler }
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

    /// The names of the pieces of its path that vary.
    pub(crate) fn path_names(&self) -> impl Iterator<Item = &'static str> {
        let pieces = self.path.split('/');
        let names = pieces.filter_map(|piece| piece.strip_prefix('{')?.strip_suffix('}'));
        names.map(|name| name.trim_start_matches('*'))
    }

    /// A GET whose handler has layers of its own.
    pub(crate) fn get_with(
        path: &'static str,
        access: Access,
        handler: MethodRouter<ApiState>,
    ) -> Undescribed {
        Undescribed { method: "GET", path, access, handler }
    }
}

/// The table of routes.
#[derive(Debug, Default)]
pub struct Routes(Vec<Declared>);

impl Routes {
    pub fn new() -> Self {
        Self::default()
    }

    /// Rows that stand in one chapter of the document, unless a row names another.
    pub(crate) fn tagged(tag: &'static str, rows: impl IntoIterator<Item = Declared>) -> Self {
        let mut rows: Vec<Declared> = rows.into_iter().collect();
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
        self.0.into_iter().fold(Router::new(), |router, Declared { route, handler }| {
            router.route(route.path, guarded(handler, state, route.access))
        })
    }
}
