//! What the object store refuses for lack of rights. `object_store` gives a refused listing no kind of its own, so the
//! status of the answer is looked at where it arrives.

use std::error::Error as _;
use std::fmt;

use async_trait::async_trait;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
    ReqwestConnector,
};
use object_store::{ClientOptions, Error};

/// What the key of the store must be allowed to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectsRight {
    Put,
    Get,
    GetRange,
    List,
    Delete,
}

impl ObjectsRight {
    /// A sentence that says which right to give to the key.
    pub const fn hint(self) -> &'static str {
        match self {
            Self::Put => {
                "Give the key of storage.s3 the rights to put, get, list and delete objects under the prefix; s3:PutObject is missing."
            }
            Self::Get => {
                "Give the key of storage.s3 the rights to put, get, list and delete objects under the prefix; s3:GetObject is missing."
            }
            Self::GetRange => {
                "Give the key of storage.s3 the rights to put, get, list and delete objects under the prefix; s3:GetObject is missing for requests with a Range header."
            }
            Self::List => {
                "Give the key of storage.s3 the rights to put, get, list and delete objects under the prefix; s3:ListBucket is missing."
            }
            Self::Delete => {
                "Give the key of storage.s3 the rights to put, get, list and delete objects under the prefix; s3:DeleteObject is missing."
            }
        }
    }
}

impl fmt::Display for ObjectsRight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Put => "put objects",
            Self::Get => "get objects",
            Self::GetRange => "get parts of objects",
            Self::List => "list objects",
            Self::Delete => "delete objects",
        })
    }
}

/// The store answered a listing with a status that means that the key may not list.
#[derive(Debug, thiserror::Error)]
#[error("the store refused to list objects with status {status}")]
struct ListRefused {
    status: u16,
}

/// Connects to the store like `object_store` itself, and names refused listings.
#[derive(Debug, Default)]
pub(super) struct NamingConnector(ReqwestConnector);

impl HttpConnector for NamingConnector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(NamingService(self.0.connect(options)?)))
    }
}

#[derive(Debug)]
struct NamingService(HttpClient);

#[async_trait]
impl HttpService for NamingService {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let is_listing = request.uri().query().is_some_and(|query| query.contains("list-type="));
        let response = self.0.execute(request).await?;
        let status = response.status().as_u16();
        if is_listing && matches!(status, 401 | 403) {
            // Errors of this kind are not repeated: the answer would be the same.
            return Err(HttpError::new(HttpErrorKind::Unknown, ListRefused { status }));
        }
        Ok(response)
    }
}

/// Whether the store refused a request for lack of rights.
pub(super) fn is_refusal(error: &Error) -> bool {
    if matches!(error, Error::PermissionDenied { .. } | Error::Unauthenticated { .. }) {
        return true;
    }
    let mut cause = error.source();
    while let Some(error) = cause {
        if error.is::<ListRefused>() {
            return true;
        }
        cause = error.source();
    }
    false
}
