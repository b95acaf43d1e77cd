//! Changes by the owner: people, passwords, revocation, and the config.

use onyx_storage::{CredentialRow, PersonRow, Role, StoreError};
use onyx_types::{CredentialId, ErrorCode, Fault, Grants, PersonId};

use super::Identity;
use super::making::no_person;
use crate::caller::Caller;
use crate::issuing::Permit;
use crate::people::Person;
use crate::settings::DeclaredPeople;

impl Identity {
    pub fn owner(&self) -> Result<PersonId, Fault> {
        let owner = self.read().owner().cloned();
        owner.ok_or_else(|| Fault::new(ErrorCode::Internal, "there is no owner"))
    }

    pub fn people(&self) -> Vec<Person> {
        self.read().people()
    }

    pub fn credentials(&self) -> Vec<CredentialRow> {
        self.read().rows(self.clock.wall())
    }

    /// Whether there is a password, or a token that a person created.
    pub fn has_chosen_credentials(&self) -> bool {
        self.read().has_chosen_credentials()
    }

    /// Applies the config. A person who was removed from it is signed out at once.
    pub async fn declare(&self, declared: DeclaredPeople) -> Result<(), Fault> {
        let _order = self.changing.lock().await;
        self.change(|register| register.declare(declared)).await
    }

    pub async fn add_person(&self, id: PersonId, name: Option<String>) -> Result<Person, Fault> {
        let _order = self.changing.lock().await;
        if self.read().is_person(&id) {
            let message = format!("the person `{id}` already exists");
            return Err(Fault::new(ErrorCode::InvalidRequest, message));
        }
        let added_at = self.clock.wall();
        let row = PersonRow { person: id.clone(), name, role: Role::Member, added_at };
        self.accounts.add_person(row.clone()).await?;
        self.change(|register| {
            register.add_person(row);
            Vec::new()
        })
        .await?;
        self.people().into_iter().find(|person| person.id == id).ok_or_else(|| no_person(&id))
    }

    /// Deletes the account: its credentials, its password and its open connections. Files stay.
    pub async fn remove_person(&self, id: &PersonId) -> Result<(), Fault> {
        let _order = self.changing.lock().await;
        if self.owner().is_ok_and(|owner| owner == *id) {
            return Err(Fault::new(ErrorCode::Forbidden, "the owner cannot be removed"));
        }
        if self.read().added(id).is_none() {
            return Err(if self.read().is_person(id) {
                Fault::new(
                    ErrorCode::InvalidRequest,
                    format!("`{id}` is named in onyx.json or VALID_PERSONS; remove them there"),
                )
            } else {
                no_person(id)
            });
        }
        match self.accounts.remove_person(id).await {
            Ok(()) | Err(StoreError::NotFound) => {}
            Err(error) => return Err(error.into()),
        }
        self.change(|register| register.remove_person(id)).await
    }

    pub fn has_password(&self, id: &PersonId) -> bool {
        self.read().password(id).is_some()
    }

    /// Sets a password. A password gives all rights of its person, so the maker must have all of
    /// them. Sessions that were signed in with the old password end.
    pub async fn set_password(
        &self,
        maker: &Caller,
        id: &PersonId,
        password: &str,
    ) -> Result<(), Fault> {
        if !self.read().is_person(id) {
            return Err(no_person(id));
        }
        let permit = Permit::new(maker, vec![id.clone()], self.all_grants_of(id))?;
        let phc = self.passwords.hash(password).await?;
        let _order = self.changing.lock().await;
        self.accounts.set_password(id, phc.clone()).await?;
        self.change(|register| register.set_password(&permit, &phc)).await
    }

    /// Checks that the maker may set the owner's token. A person who edits the config could write
    /// that token into it, and it has every right.
    pub fn may_set_owner_token(&self, maker: &Caller) -> Result<(), Fault> {
        Permit::new(maker, vec![self.owner()?], Grants::all()).map(|_| ())
    }

    pub async fn remove_password(&self, id: &PersonId) -> Result<(), Fault> {
        let _order = self.changing.lock().await;
        if !self.read().is_person(id) {
            return Err(no_person(id));
        }
        self.accounts.remove_password(id).await?;
        self.change(|register| register.remove_password(id)).await
    }

    /// Revokes a credential and the credentials made with it, and ends their requests under way.
    pub async fn revoke(&self, id: CredentialId) -> Result<(), Fault> {
        if self.read().by_id(id, self.clock.wall()).is_none() {
            self.catch_up().await?;
        }
        let _order = self.changing.lock().await;
        if self.read().by_id(id, self.clock.wall()).is_none() {
            return Err(Fault::new(ErrorCode::NotFound, format!("there is no credential {id}")));
        }
        self.change(|register| register.drop_credentials(&[id])).await
    }
}
