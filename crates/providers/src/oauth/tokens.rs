//! Where the token of a request comes from, in place of a key in its headers.

use std::sync::Arc;

use onyx_types::{ModelFailure, ModelFailureClass};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};

use super::login::Login;
use super::machine::Credential;
use crate::Secret;
use crate::failure::failure;

#[derive(Clone, Debug)]
pub(crate) enum TokenSource {
    /// A person signed in.
    Login(Arc<Login>),
    /// A machine's own identity.
    Machine(Arc<Credential>),
}

impl TokenSource {
    /// Whether both are the same source, with the same tokens.
    pub(crate) fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Login(own), Self::Login(others)) => Arc::ptr_eq(own, others),
            (Self::Machine(own), Self::Machine(others)) => Arc::ptr_eq(own, others),
            (Self::Login(_), Self::Machine(_)) | (Self::Machine(_), Self::Login(_)) => false,
        }
    }

    /// The text with all tokens of this source masked.
    pub(crate) fn mask(&self, text: String) -> String {
        match self {
            Self::Login(login) => login.mask(text),
            Self::Machine(credential) => credential.mask(text),
        }
    }

    /// A token and the headers that carry it, different from the refused one.
    pub(crate) async fn pass(
        &self,
        refused: Option<&Secret>,
    ) -> Result<(Secret, HeaderMap), ModelFailure> {
        let (token, beside) = match (self, refused) {
            (Self::Login(login), None) => (login.token().await?, login.account_header()),
            (Self::Login(login), Some(refused)) => {
                (login.token_after(refused).await?, login.account_header())
            }
            (Self::Machine(credential), refused) => {
                let pass = credential.pass(refused).await?;
                let project = pass.quota_project.map(|project| ("x-goog-user-project", project));
                (pass.token, project)
            }
        };
        let mut headers = HeaderMap::new();
        let mut bearer = header(&format!("Bearer {}", token.reveal()))?;
        bearer.set_sensitive(true);
        headers.insert(AUTHORIZATION, bearer);
        if let Some((name, value)) = beside {
            headers.insert(HeaderName::from_static(name), header(&value)?);
        }
        Ok((token, headers))
    }
}

fn header(text: &str) -> Result<HeaderValue, ModelFailure> {
    HeaderValue::from_str(text).map_err(|_| {
        failure(ModelFailureClass::Auth, "the token of the sign-in fits into no header")
    })
}
